// For tests with few centroids: forces the ranks to share the update of the centroids, or forbids it.
#pragma once

#include "kmeans/means/cluster_shares.hpp"

namespace gradus::tests {

/// While the object exists, the ranks are forced to share the update, or forbidden to share it.
class ForceSharedUpdate {
 public:
  explicit ForceSharedUpdate(bool shared) { kmeans_detail::update_is_shared = shared; }
  ForceSharedUpdate(const ForceSharedUpdate&) = delete;
  ForceSharedUpdate& operator=(const ForceSharedUpdate&) = delete;
  ~ForceSharedUpdate() { kmeans_detail::update_is_shared.reset(); }
};

}  // namespace gradus::tests
