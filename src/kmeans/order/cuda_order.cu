#include "kmeans/order/cuda_order.hpp"

#include <cub/device/device_radix_sort.cuh>

#include <utility>

#include "kmeans/order/hilbert.hpp"

namespace gradus::kmeans_detail {

namespace {

// Computes each point's place along the curve. Launch shape: one thread per point.
template <class T, int Columns>
__global__ void place_points(const T* points, std::int64_t n, const UnitCube<T> cube, unsigned int* places,
                             unsigned int* rows) {
  const std::int64_t point = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (point >= n) return;
  constexpr double cells = static_cast<double>(std::uint64_t{1} << curve_bits<Columns>);
  std::uint32_t cell[Columns];
  for (int dim = 0; dim < Columns; ++dim) {
    const double coordinate =
        static_cast<double>(points[point * Columns + dim] - cube.middle[dim]) * static_cast<double>(cube.scale);
    cell[dim] = static_cast<std::uint32_t>(fmin(fmax((0.5 * coordinate + 0.5) * cells, 0.0), cells - 1));
  }
  places[point] = place_on_curve<Columns>(cell);
  rows[point] = static_cast<unsigned int>(point);
}

template <class T>
void launch_places(const T* points, std::int64_t n, int d, const UnitCube<T>& cube, unsigned int* places,
                   unsigned int* rows, const cuda::Stream& stream) {
  const auto blocks = static_cast<unsigned int>((n + 255) / 256);
  if (d == 1) place_points<T, 1><<<blocks, 256, 0, stream>>>(points, n, cube, places, rows);
  else if (d == 2) place_points<T, 2><<<blocks, 256, 0, stream>>>(points, n, cube, places, rows);
  else if (d == 3) place_points<T, 3><<<blocks, 256, 0, stream>>>(points, n, cube, places, rows);
  else place_points<T, 4><<<blocks, 256, 0, stream>>>(points, n, cube, places, rows);
  cuda::check_launch("place_points");
}

}  // namespace

template <class T>
cuda::DeviceBuffer<unsigned int> order_along_curve(const T* points, std::int64_t n, int d, const UnitCube<T>& cube,
                                                   const cuda::Stream& stream) {
  cuda::DeviceBuffer<unsigned int> places(n);
  cuda::DeviceBuffer<unsigned int> other_places(n);
  cuda::DeviceBuffer<unsigned int> rows(n);
  cuda::DeviceBuffer<unsigned int> other_rows(n);
  launch_places(points, n, d, cube, places.data(), rows.data(), stream);
  cub::DoubleBuffer<unsigned int> keys(places.data(), other_places.data());
  cub::DoubleBuffer<unsigned int> values(rows.data(), other_rows.data());
  std::size_t bytes = 0;
  cuda::check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, values, n, 0, 32, stream), "SortPairs");
  cuda::DeviceBuffer<unsigned char> room(static_cast<std::int64_t>(bytes));
  cuda::check(cub::DeviceRadixSort::SortPairs(room.data(), bytes, keys, values, n, 0, 32, stream), "SortPairs");
  stream.wait();
  return values.Current() == rows.data() ? std::move(rows) : std::move(other_rows);
}

template cuda::DeviceBuffer<unsigned int> order_along_curve(const float*, std::int64_t, int, const UnitCube<float>&,
                                                            const cuda::Stream&);
template cuda::DeviceBuffer<unsigned int> order_along_curve(const double*, std::int64_t, int, const UnitCube<double>&,
                                                            const cuda::Stream&);

}  // namespace gradus::kmeans_detail
