// Computes the bytes of GPU memory that the CUDA rungs need. The table of variants and the allocations use these
// functions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/checked.hpp"
#include "cuda/sizes.hpp"
#include "execution/gpu_support.hpp"
#include "shortest_paths/problem.hpp"

namespace gradus::shortest_paths_detail {

inline std::uint64_t matrix_bytes(std::int64_t n, int element_bytes) {
  core::checked_multiply(
      core::checked_multiply(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(n), "a matrix"),
      static_cast<std::uint64_t>(element_bytes), "a matrix");
  return cuda::part_bytes(n * n, static_cast<std::size_t>(element_bytes));
}

/// cuda_dpx works on a copy of the matrix. For every carrier, the sides of the copy are a multiple of this number.
inline constexpr std::int64_t dpx_granule = 256;
inline constexpr std::int64_t dpx_widest_pivot = 128;

constexpr std::int64_t dpx_side(std::int64_t n) { return (n + dpx_granule - 1) / dpx_granule * dpx_granule; }

/// Returns the least shared memory per block with which cuda_dpx can run. Every GPU has at least 48 KiB.
constexpr std::uint64_t dpx_shared_bytes(int element_bytes) {
  return element_bytes == 8 ? std::uint64_t{96} << 10 : std::uint64_t{48} << 10;
}

/// Memory that cuda_dpx needs in addition to the matrix: the padded copy, the panels of two rounds, and a word for its
/// barrier. If distances are narrower than the elements, this is an upper bound.
inline std::uint64_t dpx_bytes(std::int64_t n, int element_bytes) {
  const std::int64_t side = dpx_side(n);
  const auto element = static_cast<std::size_t>(element_bytes);
  return matrix_bytes(side, element_bytes) + 4 * cuda::part_bytes(dpx_widest_pivot * side, element) +
         cuda::part_bytes(2, sizeof(unsigned int));
}

/// The search for predecessors has this many intermediate vertices in a panel, and this many sources in a slab.
inline constexpr std::int64_t predecessor_depth = 4096;
/// The sides of matrices in the search for predecessors are padded to a multiple of this number.
inline constexpr std::int64_t predecessor_granule = 256;
/// Number of rows whose edges one thread lists.
inline constexpr std::int64_t list_rows = 256;

/// Returns the bytes of the three panels of the search: two panels of words, and one with the compact form of each
/// element.
inline std::uint64_t predecessor_panel_bytes(std::int64_t n, std::size_t word_bytes, std::size_t kept_bytes) {
  const std::int64_t side = (n + predecessor_granule - 1) / predecessor_granule * predecessor_granule;
  const std::int64_t depth = std::min(predecessor_depth, side);
  return 2 * cuda::part_bytes(depth * side, word_bytes) + cuda::part_bytes(depth * side, kept_bytes);
}

/// Returns an upper bound of the memory that the search needs in addition to weights and distances. This is the matrix
/// of predecessors plus the larger of two amounts: the panels for dense graphs, or the memory for sparse graphs. For
/// sparse graphs, the search needs a slab, lists of at most a sixteenth of all edges, and the prefix sums of these
/// lists.
inline std::uint64_t predecessor_bytes(std::int64_t n, int element_bytes) {
  const auto element = static_cast<std::size_t>(element_bytes);
  const std::int64_t side = (n + predecessor_granule - 1) / predecessor_granule * predecessor_granule;
  const std::uint64_t lists = cuda::part_bytes(n * n / 16, 2 * element) +
                              2 * cuda::part_bytes(n * (n / list_rows + 1) + 1, sizeof(std::int64_t)) +
                              cuda::part_bytes(std::min(predecessor_depth, side) * n, element);
  return matrix_bytes(n, sizeof(std::int32_t)) + std::max(predecessor_panel_bytes(n, element, element), lists);
}

inline core::Support own_type_on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (core::Support gpu = execution::supported_on_gpu(machine); !gpu) return gpu;
  return in_own_type(shape, machine);
}

/// Returns the memory of a GPU rung. On the host, it consists of the staging buffers. On the GPU, it consists of the
/// matrix and the memory of the search for predecessors. Weights that the caller keeps on the GPU are not included. The
/// matrix replaces weights from the host once these weights are no longer needed.
inline core::Memory gpu_memory(const Shape& shape, int) {
  core::Memory memory{.host = cuda::staging_bytes, .device = matrix_bytes(shape.vertices, shape.element_bytes)};
  if (shape.predecessors && !shape.floating)
    memory.device = core::checked_add(core::checked_multiply(memory.device, std::uint64_t{2}, "matrices"),
                                      predecessor_bytes(shape.vertices, shape.element_bytes), "matrices");
  return memory;
}

}  // namespace gradus::shortest_paths_detail
