// Forces ranks to share the update of the centroids, or not, in tests with few centroids.
#pragma once

#include "kmeans/means/cluster_shares.hpp"

namespace gradus::tests {

/// Forces or forbids sharing during its lifetime.
class ForceSharedUpdate {
 public:
  explicit ForceSharedUpdate(bool shared) { kmeans_detail::update_is_shared = shared; }
  ForceSharedUpdate(const ForceSharedUpdate&) = delete;
  ForceSharedUpdate& operator=(const ForceSharedUpdate&) = delete;
  ~ForceSharedUpdate() { kmeans_detail::update_is_shared.reset(); }
};

}  // namespace gradus::tests
