// The memory of the GPU variants.
#pragma once

#include <cstdint>

#include "core/checked.hpp"
#include "cuda/sizes.hpp"
#include "execution/gpu_support.hpp"
#include "life/problem.hpp"

namespace gradus::life_detail {

/// Returns the GPU memory for the cells, for the result, and for `grids` further grids with `bits` bits per cell.
template <int grids, int bits>
core::Memory grids_on_gpu(const Shape& shape, int) {
  const auto height = static_cast<std::uint64_t>(shape.height);
  const auto rounded = (static_cast<std::uint64_t>(shape.width) + 63) / 64 * 64;
  const std::uint64_t grid = core::checked_multiply(height, rounded, "a grid");
  const std::uint64_t bytes = core::checked_multiply(grid, std::uint64_t{2 + grids * bits}, "grids") / 8;
  return {.host = cuda::staging_bytes, .device = core::checked_add(bytes, std::uint64_t{4096}, "grids")};
}

}  // namespace gradus::life_detail
