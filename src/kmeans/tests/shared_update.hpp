// Whether ranks share the update of the centroids, in tests with few of them.
#pragma once

#include "kmeans/means/cluster_shares.hpp"

namespace gradus::tests {

/// As long as it exists, they do, or do not, whatever it costs.
class UpdateIs {
 public:
  explicit UpdateIs(bool shared) { kmeans_detail::update_is_shared = shared; }
  UpdateIs(const UpdateIs&) = delete;
  UpdateIs& operator=(const UpdateIs&) = delete;
  ~UpdateIs() { kmeans_detail::update_is_shared.reset(); }
};

}  // namespace gradus::tests
