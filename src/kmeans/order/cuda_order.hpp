// Orders points along a space-filling curve.
#pragma once

#include <cstdint>

#include "cuda/memory.hpp"

namespace gradus::kmeans_detail {

/// Maps each coordinate to [-1, 1].
template <class T>
struct UnitCube {
  static constexpr int most_columns = 4;
  T middle[most_columns];
  T scale;
};

/// Returns the order of the rows of `points` (n x d, d at most 4) along a Hilbert curve through the cube. Element i is
/// the number of the row at place i. Rows that are close in the order are close in space. The function takes O(n) time
/// and order_bytes() bytes of memory.
template <class T>
cuda::DeviceBuffer<unsigned int> order_along_curve(const T* points, std::int64_t n, int d, const UnitCube<T>& cube,
                                                   const cuda::Stream& stream);

}  // namespace gradus::kmeans_detail
