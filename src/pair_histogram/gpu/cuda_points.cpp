// Provides points on a GPU, either in place or as a copy.
#include "execution/gpu_job.hpp"
#include "pair_histogram/gpu/cuda_limits.hpp"
#include "pair_histogram/gpu/gpu_points.hpp"

namespace gradus::pair_histogram_detail {

template <class T>
std::shared_ptr<cuda::Job> bring_to_gpu(Problem<T>& problem, const Execution& execution, std::uint64_t job_bytes) {
  const std::uint64_t bytes = cuda::Job::bytes_to_bring(problem.points) + cuda::Job::bytes_to_bring(problem.others) +
                              cuda::Job::bytes_to_bring(problem.weights) +
                              cuda::Job::bytes_to_bring(problem.other_weights) + job_bytes;
  std::shared_ptr<cuda::Job> job = execution::start_gpu_job(execution, bytes);
  job->reserve_scratch(scratch_words);
  problem.points = job->bring(problem.points, "points");
  if (problem.cross) problem.others = job->bring(problem.others, "others");
  problem.weights = job->bring(problem.weights, "weights");
  problem.other_weights = job->bring(problem.other_weights, "other weights");
  problem.gpu = job.get();
  return job;
}

template <class T>
core::ColumnRanges column_ranges_on_gpu(MatrixView<const T> rows, const char* what, cuda::Job& job) {
  return job.column_ranges(rows, what);
}

template <class T>
core::FoundRanges find_ranges_on_gpu(VectorView<const T> weights, cuda::Job& job) {
  return job.find_ranges(weights);
}

#define GRADUS_INSTANTIATE(T)                                                                     \
  template std::shared_ptr<cuda::Job> bring_to_gpu(Problem<T>&, const Execution&, std::uint64_t); \
  template core::ColumnRanges column_ranges_on_gpu(MatrixView<const T>, const char*, cuda::Job&); \
  template core::FoundRanges find_ranges_on_gpu(VectorView<const T>, cuda::Job&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::pair_histogram_detail
