// Points that lie in the memory of a GPU, and what the host side of a job asks of them. Plain C++; a build without CUDA
// has make_gpu_points() alone, which refuses.
#pragma once

#include <memory>

#include "core/column_ranges.hpp"
#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

template <class T>
class GpuPoints {
 public:
  GpuPoints() = default;
  GpuPoints(const GpuPoints&) = delete;
  GpuPoints& operator=(const GpuPoints&) = delete;
  virtual ~GpuPoints() = default;

  /// Of rows on this GPU.
  virtual core::FoundRanges find_ranges(MatrixView<const T> rows) = 0;
  /// Of weights on this GPU.
  virtual WeightSpan find_weight_span(VectorView<const T> weights) = 0;
  /// A copy in host memory of rows on this GPU.
  virtual Matrix<T> copy_to_host(MatrixView<const T> rows) const = 0;
};

/// Brings the problem to the GPU of `execution`: points and weights are used where they lie if they lie there, after
/// what is in Execution::stream; of others copies are made. The problem's views then name memory of the GPU, and
/// Problem::gpu the object. `job_bytes`: what the variant will take there beside them (Variant::memory).
/// UsageError for a view that does not lie where it says, Error with both numbers where the memory does not suffice.
template <class T>
std::unique_ptr<GpuPoints<T>> make_gpu_points(Problem<T>& problem, const Execution& execution, std::uint64_t job_bytes);

}  // namespace gradus::pair_histogram_detail
