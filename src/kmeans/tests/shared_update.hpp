// Forces ranks to share the update of the centroids, or not, in tests with few centroids.
#pragma once

#include "kmeans/means/cluster_shares.hpp"

namespace gradus::tests {

/// Forces or forbids sharing during its lifetime.
class UpdateIs {
 public:
  explicit UpdateIs(bool shared) { kmeans_detail::update_is_shared = shared; }
  UpdateIs(const UpdateIs&) = delete;
  UpdateIs& operator=(const UpdateIs&) = delete;
  ~UpdateIs() { kmeans_detail::update_is_shared.reset(); }
};

}  // namespace gradus::tests
