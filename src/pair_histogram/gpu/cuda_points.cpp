// Points on a GPU: where the caller keeps them, or copied there, and their validation.
#include "pair_histogram/gpu/cuda_points.hpp"

#include "cpu/threads.hpp"
#include "cuda/callers_memory.hpp"
#include "cuda/column_ranges.hpp"
#include "pair_histogram/gpu/cuda_limits.hpp"

namespace gradus::pair_histogram_detail {

template <class T>
CudaPoints<T>::CudaPoints(Problem<T>& problem, const Execution& execution, std::uint64_t job_bytes)
    : gpu_(execution::require_gpu(execution::this_machine(), execution.gpu)), threads_(cpu::thread_count(execution)),
      device_(execution.gpu), memory_(copied_bytes(problem) + job_bytes), staging_(execution.stop),
      scratch_(memory_.take<unsigned long long>(cuda::column_range_words(dimension_limit))) {
  const bool on_host = problem.points.place().is_host() && problem.others.place().is_host() &&
                       problem.weights.place().is_host() && problem.other_weights.place().is_host();
  if (!on_host) cuda::wait_for_caller(execution);
  problem.points = bring(problem.points, "points");
  if (problem.cross) problem.others = bring(problem.others, "others");
  problem.weights = bring(problem.weights, "weights");
  problem.other_weights = bring(problem.other_weights, "other weights");
  problem.gpu = this;
}

template <class T>
std::uint64_t CudaPoints<T>::copied_bytes(const Problem<T>& problem) {
  std::uint64_t bytes = 0;
  for (const MatrixView<const T>& rows : {problem.points, problem.others})
    if (rows.place().is_host()) bytes += cuda::part_bytes(rows.rows() * rows.columns(), sizeof(T));
  for (const VectorView<const T>& weights : {problem.weights, problem.other_weights})
    if (weights.place().is_host()) bytes += cuda::part_bytes(weights.size(), sizeof(T));
  return bytes;
}

template <class T>
MatrixView<const T> CudaPoints<T>::bring(MatrixView<const T> rows, const char* what) {
  if (!rows.place().is_host()) {
    if (rows.rows() > 0) cuda::require_memory_of(rows.data(), gpu_.index, what);
    return rows;
  }
  T* const copy = memory_.take<T>(rows.rows() * rows.columns());
  if (rows.rows() > 0) cuda::upload(rows, copy, staging_, threads_, stream_);
  return {copy, rows.rows(), rows.columns(), MemoryPlace::on_gpu(gpu_.index)};
}

template <class T>
VectorView<const T> CudaPoints<T>::bring(VectorView<const T> weights, const char* what) {
  if (weights.empty()) return weights;
  const MatrixView<const T> column(weights.data(), weights.size(), 1, weights.place());
  return {bring(column, what).data(), weights.size(), MemoryPlace::on_gpu(gpu_.index)};
}

template <class T>
core::FoundRanges CudaPoints<T>::find_ranges(MatrixView<const T> rows) {
  return cuda::find_column_ranges(rows, scratch_, stream_);
}

template <class T>
WeightSpan CudaPoints<T>::find_weight_span(VectorView<const T> weights) {
  return pair_histogram_detail::find_weight_span(weights, scratch_, stream_);
}

template <class T>
Matrix<T> CudaPoints<T>::copy_to_host(MatrixView<const T> rows) const {
  Matrix<T> copy(rows.rows(), rows.columns());
  cuda::copy_rows(rows, copy.data(), cudaMemcpyDeviceToHost, stream_);
  stream_.wait();
  return copy;
}

template <class T>
std::unique_ptr<GpuPoints<T>> make_gpu_points(Problem<T>& problem, const Execution& execution,
                                              std::uint64_t job_bytes) {
  return std::make_unique<CudaPoints<T>>(problem, execution, job_bytes);
}

#define GRADUS_INSTANTIATE(T)   \
  template class CudaPoints<T>; \
  template std::unique_ptr<GpuPoints<T>> make_gpu_points(Problem<T>&, const Execution&, std::uint64_t)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::pair_histogram_detail
