// Sizes of operands that are packed for the copy engine of a GPU. This file is plain C++, so that builds without CUDA
// can estimate memory.
//
// A panel holds 128 rows of A or 128 columns of B and is divided along k into tiles. The tiles of a panel are
// contiguous. Each tile has the layout of shared memory, so one instruction copies it. The code that packs and
// multiplies the elements chooses their type and their order within a tile. Past the borders, panels are padded with
// elements whose products change no sum.
#pragma once

#include <cstdint>

#include "core/host_device.hpp"
#include "cuda/sizes.hpp"

namespace gradus::matmul_detail {

inline constexpr int panel_lines = 128;  ///< rows of A or columns of B in a panel

/// The panels of all matrices A or of all matrices B.
struct Panels {
  std::int64_t matrices;
  std::int64_t lines;  ///< rows of A or columns of B in one matrix
  std::int64_t depth;  ///< length of a line, which is k
  int tile_depth;
  int tile_bytes;

  GRADUS_HOST_DEVICE std::int64_t of_a_matrix() const { return (lines + panel_lines - 1) / panel_lines; }
  GRADUS_HOST_DEVICE std::int64_t tiles_deep() const { return (depth + tile_depth - 1) / tile_depth; }
  std::int64_t tiles() const { return matrices * of_a_matrix() * tiles_deep(); }
  std::int64_t bytes() const { return tiles() * tile_bytes; }
};

/// The length along k of a tile of unmodified elements: 64 for float, 16 for double.
template <class T>
constexpr int plain_tile_depth = sizeof(T) == sizeof(float) ? 64 : 16;
template <class T>
constexpr int plain_tile_bytes = panel_lines* plain_tile_depth<T>* static_cast<int>(sizeof(T));

template <class T>
Panels plain_panels(std::int64_t matrices, std::int64_t lines, std::int64_t depth) {
  return {matrices, lines, depth, plain_tile_depth<T>, plain_tile_bytes<T>};
}

/// Returns the bytes of GPU memory for the panels of A and B if every product of the batch has a separate A and B.
inline std::uint64_t plain_panel_bytes(std::int64_t batches, std::int64_t m, std::int64_t n, std::int64_t k,
                                       int element_bytes) {
  std::uint64_t bytes = 0;
  for (const std::int64_t lines : {m, n})
    bytes += cuda::part_bytes((element_bytes == sizeof(float) ? plain_panels<float>(batches, lines, k)
                                                              : plain_panels<double>(batches, lines, k))
                                  .bytes(),
                              1);
  return bytes;
}

}  // namespace gradus::matmul_detail
