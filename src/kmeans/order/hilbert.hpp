// The Hilbert curve in plain C++, so that tests do not need a GPU.
#pragma once

#include <cstdint>

#include "core/host_device.hpp"

namespace gradus::kmeans_detail {

/// Number of bits per coordinate of a cell. It is chosen so that the place of a cell has at most 32 bits.
template <int Columns>
constexpr int curve_bits = 32 / Columns;

/// Returns the place of a grid cell along the curve. Each coordinate has `curve_bits` bits. Cells at consecutive places
/// are adjacent. Source: J. Skilling, "Programming the Hilbert curve" (2004). Each bit of the coordinates, from the
/// coarsest to the finest, rotates and mirrors their finer bits. The place is then computed from the result by a Gray
/// code.
template <int Columns>
GRADUS_HOST_DEVICE std::uint32_t place_on_curve(std::uint32_t (&cell)[Columns]) {
  constexpr int bits = curve_bits<Columns>;
  for (int bit = bits - 1; bit > 0; --bit) {
    const std::uint32_t finer = (std::uint32_t{1} << bit) - 1;
    for (int dim = 0; dim < Columns; ++dim) {
      if (cell[dim] >> bit & 1) {
        cell[0] ^= finer;  // mirrors the finer bits
      } else {
        const std::uint32_t swapped = (cell[0] ^ cell[dim]) & finer;
        cell[0] ^= swapped;
        cell[dim] ^= swapped;
      }
    }
  }
  for (int dim = 1; dim < Columns; ++dim) cell[dim] ^= cell[dim - 1];
  std::uint32_t flips = 0;
  for (int bit = bits - 1; bit > 0; --bit)
    if (cell[Columns - 1] >> bit & 1) flips ^= (std::uint32_t{1} << bit) - 1;
  std::uint32_t place = 0;
  for (int bit = bits - 1; bit >= 0; --bit)
    for (int dim = 0; dim < Columns; ++dim) place = place << 1 | ((cell[dim] ^ flips) >> bit & 1);
  return place;
}

}  // namespace gradus::kmeans_detail
