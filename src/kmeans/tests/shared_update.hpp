// For tests with few centroids: forces the ranks to share the update of the centroids, or forbids it.
#pragma once

#include "kmeans/means/cluster_shares.hpp"

namespace gradus::tests {

/// Forces or forbids sharing the update, as long as the object exists.
class ForceSharedUpdate {
 public:
  explicit ForceSharedUpdate(bool shared) { kmeans_detail::update_is_shared = shared; }
  ForceSharedUpdate(const ForceSharedUpdate&) = delete;
  ForceSharedUpdate& operator=(const ForceSharedUpdate&) = delete;
  ~ForceSharedUpdate() { kmeans_detail::update_is_shared.reset(); }
};

}  // namespace gradus::tests
