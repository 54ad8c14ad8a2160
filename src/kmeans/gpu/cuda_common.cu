#include <cuda_runtime.h>

#include "kmeans/gpu/cuda_common.hpp"

namespace gradus::kmeans_detail {

namespace {

// Transposes rows into columns.
// Launch shape: one thread per element, grid-stride loop over the elements.
template <class T>
__global__ void transpose(const T* rows, std::int64_t row_stride, std::int64_t n, std::int64_t d, T* columns) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; index < n * d; index += stride)
    columns[index] = rows[index % n * row_stride + index / n];  // neighbouring threads write adjacent elements
}

constexpr int inertia_threads = 256;

// Computes the inertia of the points of each block. The order of additions is the same in every run. Launch shape:
// blocks of inertia_threads, grid-stride loop over the points.
template <class T>
__global__ void add_inertia(const T* points, std::int64_t point_stride, std::int64_t dim_stride, const T* weights,
                            std::int64_t n, std::int64_t d, const T* centroids, const std::int32_t* labels,
                            double* sums) {
  double sum = 0;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t point = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; point < n; point += stride) {
    const T* centroid = centroids + labels[point] * d;
    double squares = 0;
    for (std::int64_t dim = 0; dim < d; ++dim) {
      const double difference =
          static_cast<double>(points[point * point_stride + dim * dim_stride]) - static_cast<double>(centroid[dim]);
      squares = fma(difference, difference, squares);
    }
    sum += weights ? static_cast<double>(weights[point]) * squares : squares;
  }
  __shared__ double parts[inertia_threads];
  parts[threadIdx.x] = sum;
  for (unsigned int half = inertia_threads / 2; half > 0; half /= 2) {
    __syncthreads();  // all partial sums of the previous step are stored
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = parts[0];
}

/// Returns true if kernels may read the rows in 16-byte units. The last unit may extend past the last element.
template <class T>
bool readable_by_quads(const GpuPoints<T>& points) {
  const MatrixView<const T> rows = points.rows();
  const std::int64_t bytes = rows.rows() * rows.columns() * static_cast<std::int64_t>(sizeof(T));
  return points.has_room_behind() ||
         (rows.contiguous() && bytes % 16 == 0 && reinterpret_cast<std::uintptr_t>(rows.data()) % 16 == 0);
}

}  // namespace

template <class T>
CudaFit<T>::CudaFit(const Problem<T>& problem, const Execution& execution, Layout layout, GpuNeeds needs)
    : problem_(problem), gpu_(execution::require_gpu(execution::this_machine(), execution.gpu)), layout_(layout) {
  const auto start = core::Clock::now();
  const auto area = static_cast<std::uint64_t>(problem.n() * problem.d()) * sizeof(T);
  needs.bytes += 4 * static_cast<std::uint64_t>(problem.n()) + (layout == Layout::columns ? area : 0);
  const GpuPoints<T>* const there = problem.source->gpu();
  if (there == nullptr)
    own_ =
        std::make_unique<GpuPoints<T>>(problem.points, problem.weights, execution, needs, problem.source->rank_rows());
  const GpuPoints<T>& on_gpu = own_ ? *own_ : *there;
  gpu_job_ = on_gpu.job();
  points_ = on_gpu.rows().data();
  weights_ = on_gpu.weights().data();
  if (on_gpu.are_in_blocks()) {
    in_blocks_ = &on_gpu;
  } else if (layout == Layout::columns) {
    lay_out_columns(on_gpu.rows());
  } else if (!readable_by_quads(on_gpu)) {
    cuda::require_free_memory(area + needs.bytes);
    copy_ = contiguous_copy(on_gpu.rows(), *gpu_job_);
    points_ = copy_.data();
  }
  stream().wait();
  upload_seconds_ = core::seconds_since(start);
}

template <class T>
void CudaFit<T>::lay_out_columns(MatrixView<const T> rows) {
  copy_ = cuda::DeviceBuffer<T>(rows.rows() * rows.columns());
  transpose<<<static_cast<unsigned int>(8 * gpu_.multiprocessors), 256, 0, stream()>>>(
      rows.data(), rows.row_stride(), rows.rows(), rows.columns(), copy_.data());
  cuda::check_launch("transpose");
  points_ = copy_.data();
}

template <class T>
double float_inertia(const CudaFit<T>& job, const T* centroids, const std::int32_t* labels) {
  const std::int64_t n = job.problem().n();
  const std::int64_t d = job.problem().d();
  const auto blocks = static_cast<unsigned int>(8 * job.gpu().multiprocessors);
  cuda::DeviceBuffer<double> sums(blocks);
  const bool rows = job.layout() == Layout::rows;
  add_inertia<<<blocks, inertia_threads, 0, job.stream()>>>(job.points(), rows ? d : 1, rows ? 1 : n, job.weights(), n,
                                                            d, centroids, labels, sums.data());
  cuda::check_launch("add_inertia");
  Buffer<double> parts(blocks);
  sums.copy_to_host(parts.data(), parts.size(), job.stream());
  job.stream().wait();
  double result = 0;
  for (const double part : parts) result += part;
  return result;
}

template <class T>
void add_by_labels(const Problem<T>& problem, const std::int32_t* labels, std::span<FloatSums<T>> copies,
                   FloatSums<T>& total) {
  const int parts = static_cast<int>(copies.size());
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int part = 0; part < parts; ++part) {
    FloatSums<T>& own = copies[static_cast<std::size_t>(part)];
    own.clear();
    const cpu::Range range = cpu::share(problem.n(), part, parts);
    const std::int64_t stretch = core::chunk_length(problem.n(), problem.d());
    for (std::int64_t first = range.begin; first < range.end && !problem.stop.stop_requested(); first += stretch)
      for (std::int64_t point = first; point < std::min(first + stretch, range.end); ++point)
        own.add(point, labels[point]);
  }
  core::honour_stop(problem.stop, "stopped while adding up points");
  total.clear();
  for (const FloatSums<T>& copy : copies) total.merge(copy);
}

#define GRADUS_INSTANTIATE(T)                                                      \
  template class CudaFit<T>;                                                       \
  template double float_inertia(const CudaFit<T>&, const T*, const std::int32_t*); \
  template void add_by_labels(const Problem<T>&, const std::int32_t*, std::span<FloatSums<T>>, FloatSums<T>&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
