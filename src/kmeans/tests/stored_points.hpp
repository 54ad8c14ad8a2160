// Points of 8 or 16 bits and the same points in float.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "core/half.hpp"
#include "core/philox.hpp"
#include "gradus/array.hpp"
#include "gradus/stored_matrix.hpp"

namespace gradus::tests {

inline constexpr StoredType all_types[] = {StoredType::u8, StoredType::i8, StoredType::f16, StoredType::bf16};

/// Points in a StoredType, with gaps between the rows, and the same points in float.
struct StoredPoints {
  StoredPoints(StoredType type, std::int64_t n, std::int64_t d, std::int64_t gap = 3)
      : type(type), stride(d + gap), bits(static_cast<std::size_t>(n * stride)), bytes(bits.size()), wide(n, d) {
    const core::Philox random(21, static_cast<std::uint64_t>(d));
    for (std::int64_t row = 0; row < n; ++row)
      for (std::int64_t dim = 0; dim < d; ++dim) {
        const auto index = static_cast<std::uint64_t>(row * d + dim);
        // Groups of rows around different centres; every eleventh row is a copy of another one.
        const std::int64_t group = (row % 11 == 0 ? row / 22 : row) % 9;
        const std::uint64_t noise = row % 11 == 0 ? static_cast<std::uint64_t>(dim % 7) : random.bits(index) % 40;
        set(row, dim, static_cast<std::int64_t>((group * 29 + dim * 17) % 200 + static_cast<std::int64_t>(noise)));
      }
  }
  /// Sets an element to a value that depends on `value`, an integer from 0 to 239.
  void set(std::int64_t row, std::int64_t dim, std::int64_t value) {
    const auto place = static_cast<std::size_t>(row * stride + dim);
    const float real = static_cast<float>(value) / 16 - 5;
    bytes[place] = static_cast<std::uint8_t>(value);
    bits[place] = type == StoredType::bf16 ? static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(real) >> 16)
                                           // Multiples of 1/1024: normal and subnormal numbers
                                           : static_cast<std::uint16_t>((value * 131) % 0x7c00 | (value % 2 << 15));
    switch (type) {
      case StoredType::u8: wide(row, dim) = static_cast<float>(bytes[place]); break;
      case StoredType::i8: wide(row, dim) = static_cast<float>(static_cast<std::int8_t>(bytes[place])); break;
      case StoredType::f16: wide(row, dim) = core::widen_f16(bits[place]); break;
      case StoredType::bf16: wide(row, dim) = core::widen_bf16(bits[place]); break;
    }
  }
  StoredMatrixView view() const {
    return {bytes_of(type) == 1 ? static_cast<const void*>(bytes.data()) : bits.data(), type, wide.rows(),
            wide.columns(), stride};
  }

  StoredType type;
  std::int64_t stride;
  std::vector<std::uint16_t> bits;
  std::vector<std::uint8_t> bytes;
  Matrix<float> wide;
};

}  // namespace gradus::tests
