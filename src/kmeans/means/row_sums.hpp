// Draws rows. Each row has an integer, and its probability is proportional to this integer. Prefix sums of integers do
// not depend on the order of additions, so the drawn row does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "core/exact_sum.hpp"

namespace gradus::kmeans_detail {

/// Converts non-negative values to integers: round(value * 2^shift). The shift is chosen so that sums over `rows`
/// values stay below 2^62.
class Quantizer {
 public:
  Quantizer() = default;
  Quantizer(double largest, std::int64_t rows) : scale_(core::Grid(core::exponent_above(largest), rows).to_high) {}
  GRADUS_HOST_DEVICE std::uint64_t operator()(double value) const { return raw(value) - raw_zero; }

  /// Returns the integer plus raw_zero. Code with vectors adds up many such numbers and then subtracts all their
  /// raw_zeros in one step.
  GRADUS_HOST_DEVICE std::uint64_t raw(double value) const {
#ifdef __CUDA_ARCH__
    return static_cast<std::uint64_t>(__double_as_longlong(value * scale_ + core::integer_magic));
#else
    return std::bit_cast<std::uint64_t>(value * scale_ + core::integer_magic);
#endif
  }
  static constexpr std::uint64_t raw_zero = core::integer_magic_bits;
  double scale() const { return scale_; }

 private:
  double scale_ = 1;
};

/// If all weights are at most this value, weight_unit() limits its exponent and weight_quantizer() uses a smaller
/// range. Without these two measures, all integers would be zero.
inline constexpr double tiny_weight = 0x1p-939;

/// Returns a power of two that scales weights of at most `largest` to numbers below 1. (Extremely small weights stay
/// far below 1, because a double cannot hold the power that would scale them near 1.)
inline double weight_unit(double largest) {
  return std::ldexp(1.0,
                    largest <= tiny_weight ? -core::exponent_above(largest, -1020) : -core::exponent_above(largest));
}

/// Returns a quantizer for sums of `rows` weights. The weights are in units of weight_unit(largest) and at most
/// `largest`.
inline Quantizer weight_quantizer(double largest, std::int64_t rows) {
  return {largest <= tiny_weight ? 2 * largest * weight_unit(largest) : 1.0, rows};
}

/// Returns the index of the random number for a row in a round of k-means||. These indices are at least 2^48. All other
/// draws have indices that count up from 0, so no index is used twice.
constexpr std::uint64_t draw_index(int round, std::int64_t row) {
  return (static_cast<std::uint64_t>(round) + 1) << 48 | static_cast<std::uint64_t>(row);
}

/// Returns true if the 64 random bits in `bits` select a row for a sample of about `wanted` rows. The probability is
/// min(1, wanted * integer / total), and the rows are drawn independently. Both wanted * integer and total * 2^64 must
/// be below 2^126.
GRADUS_HOST_DEVICE constexpr bool is_drawn(std::uint64_t wanted, std::uint64_t integer, std::uint64_t total,
                                           std::uint64_t bits) {
  const core::UInt128 odds = static_cast<core::UInt128>(wanted) * integer;
  if (odds == 0) return false;
  return odds >= total || static_cast<core::UInt128>(bits) * total < odds << 64;
}

/// Sums of the rows' integers: one sum for each block of 256 rows, and one sum for each group of 256 blocks. The caller
/// supplies the integers.
class RowSums {
 public:
  static constexpr std::int64_t block_rows = 256;

  explicit RowSums(std::int64_t rows)
      : blocks_(static_cast<std::size_t>((rows + block_rows - 1) / block_rows)),
        groups_((blocks_.size() + group_blocks - 1) / group_blocks) {}

  std::uint64_t& block_of(std::int64_t row) { return blocks_[static_cast<std::size_t>(row / block_rows)]; }

  /// Computes the sums of the groups and the total from the sums of the blocks.
  void refresh() {
    std::fill(groups_.begin(), groups_.end(), 0);
    for (std::size_t block = 0; block < blocks_.size(); ++block) groups_[block / group_blocks] += blocks_[block];
    total_ = 0;
    for (const std::uint64_t sum : groups_) total_ += sum;
  }

  /// Subtracts `amount` from the integer of one row.
  void take(std::int64_t row, std::uint64_t amount) {
    const auto block = static_cast<std::size_t>(row / block_rows);
    blocks_[block] -= amount;
    groups_[block / group_blocks] -= amount;
    total_ -= amount;
  }

  std::uint64_t total() const { return total_; }

  /// Returns the row at which the prefix sum first exceeds `target`. `target` must be less than total().
  template <class IntegerOfRow>
  std::int64_t row_at(std::uint64_t target, const IntegerOfRow& integer) const {
    std::size_t group = 0;
    while (target >= groups_[group]) target -= groups_[group++];
    std::size_t block = group * group_blocks;
    while (target >= blocks_[block]) target -= blocks_[block++];
    for (std::int64_t row = static_cast<std::int64_t>(block) * block_rows;; ++row) {
      const std::uint64_t step = integer(row);
      if (target < step) return row;
      target -= step;
    }
  }

 private:
  static constexpr std::size_t group_blocks = 256;
  std::vector<std::uint64_t> blocks_;
  std::vector<std::uint64_t> groups_;
  std::uint64_t total_ = 0;
};

}  // namespace gradus::kmeans_detail
