// Canonical distances of points on a GPU, either from each point to its own centroid or from each point to all
// centroids.
#include <algorithm>

#include "kmeans/gpu/cuda_common.hpp"

namespace gradus::kmeans_detail {

namespace {

/// Returns an element of rows of type T. These kernels read no stored rows.
template <class T>
__device__ T element_at(const DeviceRows<T>& rows, std::int64_t row, int column) {
  return rows.data[row * rows.stride + column];
}

// Computes the distance of each point to its own centroid.
// Launch: one thread per row.
template <class T>
__global__ void measure_own_centroid(const DeviceRows<T> rows, const T* centroids, const std::int32_t* labels,
                                     double* out) {
  const std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= rows.count) return;
  const T* centroid = centroids + std::int64_t{labels[row]} * rows.columns;
  double squares = 0;
  for (int dim = 0; dim < rows.columns; ++dim) {
    const double difference = static_cast<double>(element_at(rows, row, dim)) - static_cast<double>(centroid[dim]);
    squares = fma(difference, difference, squares);
  }
  out[row] = squares;
}

constexpr int square_side = 64;   // find_distances: number of points per block, and also of centroids
constexpr int square_depth = 16;  // number of columns that a block processes at a time
constexpr std::int64_t centroids_of_a_launch = std::int64_t{65535} * square_side;  // limited by the height of a grid

/// Computes the distances of kmeans_transform() by the canonical chain. Each thread computes the distances of four
/// points to four centroids. Launch: blocks of 16 x 16 threads, one per 64 points (x) and 64 centroids (y).
template <class T>
__global__ void find_distances(const DeviceRows<T> points, const DeviceRows<T> centroids, bool cosine, T* out,
                               std::int64_t out_stride) {
  __shared__ double some_points[square_depth][square_side + 1];
  __shared__ double some_centroids[square_depth][square_side + 1];
  const std::int64_t first_point = std::int64_t{blockIdx.x} * square_side;
  const std::int64_t first_centroid = std::int64_t{blockIdx.y} * square_side;
  const int x = static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(threadIdx.y);
  double squares[4][4] = {};
  for (int dim = 0; dim < points.columns; dim += square_depth) {
    __syncthreads();  // all threads have used the previous columns
    for (int row = y; row < square_side; row += 16) {
      const bool column_is_there = dim + x < points.columns;
      const bool point_is_there = column_is_there && first_point + row < points.count;
      const bool centroid_is_there = column_is_there && first_centroid + row < centroids.count;
      some_points[x][row] = point_is_there ? static_cast<double>(element_at(points, first_point + row, dim + x)) : 0.0;
      some_centroids[x][row] =
          centroid_is_there ? static_cast<double>(element_at(centroids, first_centroid + row, dim + x)) : 0.0;
    }
    __syncthreads();  // the columns are complete
    for (int column = 0; column < min(square_depth, points.columns - dim); ++column)
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const double difference = some_points[column][y + 16 * i] - some_centroids[column][x + 16 * j];
          squares[i][j] = fma(difference, difference, squares[i][j]);
        }
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const std::int64_t point = first_point + y + 16 * i;
      const std::int64_t centroid = first_centroid + x + 16 * j;
      if (point >= points.count || centroid >= centroids.count) continue;
      out[point * out_stride + centroid] = static_cast<T>(cosine ? 0.5 * squares[i][j] : sqrt(squares[i][j]));
    }
}

}  // namespace

template <class T>
void GpuPoints<T>::own_squared_distances(MatrixView<const T> centroids, const std::int32_t* labels, double* out) const {
  if (are_in_blocks()) return measure_on_host(centroids, labels, out);
  const cuda::Stream& stream = job_->stream();
  const DeviceRows<T> points = device_rows(*this);
  const std::int64_t n = points.count;
  const cuda::DeviceBuffer<T> device_centroids = contiguous_copy(centroids, *job_);
  cuda::DeviceBuffer<std::int32_t> device_labels(n);
  cuda::DeviceBuffer<double> distances(n);
  device_labels.copy_from_host(labels, n, stream);
  measure_own_centroid<T>
      <<<blocks_for(n, 256), 256, 0, stream>>>(points, device_centroids.data(), device_labels.data(), distances.data());
  cuda::check_launch("measure_own_centroid");
  cuda::download(distances, out, n, job_->staging(), job_->threads(), stream);
}

template <class T>
void GpuPoints<T>::distances(MatrixView<const T> centroids, Metric metric, MatrixView<T> distances,
                             const typename PointSource<T>::Done& progress) const {
  const cuda::Stream& stream = job_->stream();
  const DeviceRows<T> points = device_rows(*this);
  const std::int64_t n = points.count;
  const std::int64_t d = centroids.columns();
  const std::int64_t k = centroids.rows();
  const cuda::DeviceBuffer<T> device_centroids = contiguous_copy(centroids, *job_);
  const bool stays = !distances.place().is_host();
  // If the result is in host memory, it is computed in parts of at most 256 MiB.
  constexpr std::int64_t most_elements = (std::int64_t{256} << 20) / static_cast<std::int64_t>(sizeof(T));
  // The computation of a part takes some milliseconds, or tenths of a second on a GPU with slow double precision.
  constexpr double most_operations = 0x1p36;
  const double of_a_point = static_cast<double>(k) * static_cast<double>(d);
  const auto in_time = static_cast<std::int64_t>(std::clamp(most_operations / of_a_point, 64.0, 0x1p40));
  const std::int64_t at_once = std::clamp<std::int64_t>(stays ? in_time : std::min(in_time, most_elements / k), 1, n);
  cuda::DeviceBuffer<T> piece(stays ? 0 : at_once * k);
  for (std::int64_t first = 0; first < n; first += at_once) {
    if (first > 0) stream.wait();  // waits for earlier launches, so that stop requests take effect between launches
    core::honour_stop(job_->stop(), "stopped while the GPU was at work");
    progress(first);
    const std::int64_t count = std::min(at_once, n - first);
    const DeviceRows<T> rows = points.slice(first, count);
    for (std::int64_t cluster = 0; cluster < k; cluster += centroids_of_a_launch) {
      const std::int64_t some = std::min(centroids_of_a_launch, k - cluster);
      const DeviceRows<T> columns{device_centroids.data() + cluster * d, some, d, static_cast<int>(d)};
      const dim3 grid(blocks_for(count, square_side), blocks_for(some, square_side));
      find_distances<T><<<grid, dim3(16, 16), 0, stream>>>(rows, columns, metric == Metric::cosine,
                                                           (stays ? distances.data() : piece.data()) + cluster,
                                                           stays ? distances.row_stride() : k);
      cuda::check_launch("find_distances");
    }
    if (stays) continue;
    job_->copy_back(MatrixView<const T>(piece.data(), count, k, job_->place()), distances.slice(first, count));
  }
  stream.wait();
}

#define GRADUS_INSTANTIATE(T)                                                                                 \
  template void GpuPoints<T>::own_squared_distances(MatrixView<const T>, const std::int32_t*, double*) const; \
  template void GpuPoints<T>::distances(MatrixView<const T>, Metric, MatrixView<T>,                           \
                                        const typename PointSource<T>::Done&) const
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
