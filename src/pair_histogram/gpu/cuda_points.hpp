// The GPU that a job runs on, its stream and its memory there, and the points: GpuPoints (gpu_points.hpp) with CUDA.
#pragma once

#include "cuda/arena.hpp"
#include "cuda/transfer.hpp"
#include "pair_histogram/gpu/gpu_points.hpp"

namespace gradus::pair_histogram_detail {

/// Reads weights on the current GPU once. `scratch`: two words there.
template <class T>
WeightSpan find_weight_span(VectorView<const T> weights, unsigned long long* scratch, const cuda::Stream& stream);

template <class T>
class CudaPoints : public GpuPoints<T> {
 public:
  CudaPoints(Problem<T>& problem, const Execution& execution, std::uint64_t job_bytes);

  core::FoundRanges find_ranges(MatrixView<const T> rows) override;
  WeightSpan find_weight_span(VectorView<const T> weights) override;
  Matrix<T> copy_to_host(MatrixView<const T> rows) const override;

  const execution::Gpu& gpu() const { return gpu_; }
  const cuda::Stream& stream() const { return stream_; }
  /// What the variant said that it needs.
  cuda::Arena& memory() { return memory_; }

 private:
  static std::uint64_t copied_bytes(const Problem<T>& problem);
  MatrixView<const T> bring(MatrixView<const T> rows, const char* what);
  VectorView<const T> bring(VectorView<const T> weights, const char* what);

  const execution::Gpu& gpu_;
  int threads_;  ///< of the processor, for transfers
  cuda::CurrentDevice device_;
  cuda::Arena memory_;
  cuda::Staging staging_;
  cuda::Stream stream_;  ///< ends first, and waits for what still uses the memory
  unsigned long long* scratch_ = nullptr;
};

}  // namespace gradus::pair_histogram_detail
