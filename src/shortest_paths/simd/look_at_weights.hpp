// The vectorised inner loop that scans a matrix of weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace gradus::shortest_paths_detail {

/// Facts about some weights. Weights that mean "no edge" do not count.
template <class T>
struct WeightFacts {
  std::int64_t edges = 0;
  T least = std::numeric_limits<T>::max();  ///< least weight of an edge
  T greatest = std::numeric_limits<T>::lowest();
  bool impossible = false;  ///< true if some weight is NaN or -inf

  void add(const WeightFacts& other) {
    edges += other.edges;
    least = std::min(least, other.least);
    greatest = std::max(greatest, other.greatest);
    impossible |= other.impossible;
  }
};

/// Scans weights. `no_edge` and no_route<T>() mean that there is no edge.
WeightFacts<std::int32_t> look_at_weights(const std::int32_t* weights, std::int64_t count, std::int32_t no_edge);
WeightFacts<std::int64_t> look_at_weights(const std::int64_t* weights, std::int64_t count, std::int64_t no_edge);
WeightFacts<float> look_at_weights(const float* weights, std::int64_t count, float no_edge);
WeightFacts<double> look_at_weights(const double* weights, std::int64_t count, double no_edge);

}  // namespace gradus::shortest_paths_detail
