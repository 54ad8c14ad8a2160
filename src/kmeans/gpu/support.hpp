// Functions with which the GPU variants state whether a machine supports them and how much memory they need.
#pragma once

#include "core/checked.hpp"
#include "cuda/sizes.hpp"
#include "execution/gpu_support.hpp"
#include "kmeans/gpu/limits.hpp"
#include "kmeans/means/exact_sums.hpp"
#include "kmeans/means/float_sums.hpp"

namespace gradus::kmeans_detail {

/// Returns Support::yes() if the machine has a usable GPU and the GPU can number the points.
inline core::Support on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (core::Support gpu = execution::on_gpu(shape, machine); !gpu) return gpu;
  return at_most(most_points_on_gpu, "points", shape.points);
}

inline core::Support centroids_in_shared(const Shape& shape, const execution::Machine& machine) {
  if (core::Support gpu = on_gpu(shape, machine); !gpu) return gpu;
  return execution::fits_shared(
      core::checked_multiply(shape.clusters * shape.dimensions, std::int64_t{shape.element_bytes}, "centroids"),
      "the centroids", machine);
}

inline core::Support sums_in_shared(const Shape& shape, const execution::Machine& machine) {
  if (core::Support gpu = on_gpu(shape, machine); !gpu) return gpu;
  const std::int64_t bytes = shape.clusters * ((8 + shape.element_bytes) * shape.dimensions + 16);
  return execution::fits_shared(static_cast<std::uint64_t>(bytes), "the centroids and their sums", machine);
}

inline std::uint64_t label_bytes(const Shape& shape) { return 4 * static_cast<std::uint64_t>(shape.points); }

// Returns the memory of a variant that updates the centroids on the CPU. The update needs labels and sums in host
// memory.
inline core::Memory gpu_labels(const Shape& shape, int threads) {
  return {.host = label_bytes(shape) + float_sums_per_thread(shape, threads).host + cuda::staging_bytes,
          .device =
              label_bytes(shape) + static_cast<std::uint64_t>(shape.clusters * shape.dimensions * shape.element_bytes)};
}

inline core::Memory gpu_labels_and_columns(const Shape& shape, int threads) {
  core::Memory memory = gpu_labels(shape, threads);
  memory.device += static_cast<std::uint64_t>(shape.bytes());  // a second copy of the points, stored by columns
  return memory;
}

inline core::Memory gpu_float_sums(const Shape& shape, int) {
  const std::uint64_t sums = 2 * FloatSums<double>::bytes(shape);
  return {.host = sums + cuda::staging_bytes,
          .device = static_cast<std::uint64_t>(shape.bytes()) + label_bytes(shape) + sums};
}

/// Returns the memory of a variant with exact sums. `bytes(shape)` is the GPU memory that it needs in addition to
/// points, weights and labels.
template <std::uint64_t bytes(const Shape&)>
core::Memory gpu_exact_sums(const Shape& shape, int) {
  return {.host = 2 * ExactSums<double>::bytes(shape) + cuda::staging_bytes,
          .device = bytes(shape) + label_bytes(shape)};
}

}  // namespace gradus::kmeans_detail
