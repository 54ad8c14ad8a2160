// Functions for the `supports` and `memory` entries of the GPU variants' rows.
#pragma once

#include "cuda/sizes.hpp"
#include "execution/gpu_support.hpp"
#include "matmul/gpu/plan.hpp"
#include "matmul/problem.hpp"
#include "matmul/tensor/panels.hpp"

namespace gradus::matmul_detail {

/// Runs `cuda_pipelined`. Other rungs call this function for products that they cannot compute themselves.
template <class T>
Done cuda_pipelined(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases);

// Returns the memory for the matrices and for their transfer.
inline core::Memory gpu_memory(const Shape& shape, int) {
  return {.host = cuda::staging_bytes + shape.bring.host, .device = shape.bring.device};
}

inline std::uint64_t packed_bytes(const Shape& shape) {
  return plain_panel_bytes(shape.batches, shape.m, shape.n, shape.k, shape.element_bytes);
}

inline core::Support pipelined_on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (core::Support gpu = execution::on_gpu(shape, machine); !gpu) return gpu;
  return execution::fits_shared(most_shared_bytes, "tiles", machine);
}

// Like gpu_memory(), but includes more GPU memory: for packed operands if packing pays, otherwise for the sums of
// blocks of k that are summed in parallel.
inline core::Memory pipelined_memory(const Shape& shape, int threads) {
  core::Memory memory = gpu_memory(shape, threads);
  memory.device += shape.element_bytes == sizeof(float) && packing_pays(shape) ? packed_bytes(shape) : sum_bytes(shape);
  return memory;
}

inline core::Support on_tensor_cores(const Shape& shape, const execution::Machine& machine) {
  if (core::Support gpu = pipelined_on_gpu(shape, machine); !gpu) return gpu;
  if (shape.element_bytes != sizeof(float))
    return core::Support::no("supports only float; use cuda_tensor_f64 for double");
  return execution::has_warpgroup_products(machine);
}

// Like pipelined_memory(), but also includes the panels of a tensor-core rung. The rung needs both if it falls back to
// the accuracy `strict`, which `cuda_pipelined` computes.
template <int parts>
core::Memory tensor_memory(const Shape& shape, int threads) {
  core::Memory memory = pipelined_memory(shape, threads);
  if (shape.element_bytes == sizeof(float)) memory.device += tensor::bytes_of(shape, parts);
  return memory;
}

}  // namespace gradus::matmul_detail
