// Exact comparison of two clusterings of the same values, by integers of any length.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kmeans/line/values.hpp"

namespace gradus::kmeans_detail {

/// A signed integer of any length.
class LongInteger {
 public:
  LongInteger() = default;
  /// Returns mantissa * 2^shift.
  LongInteger(std::uint64_t mantissa, int shift, bool negative);

  int sign() const { return limbs_.empty() ? 0 : negative_ ? -1 : 1; }
  LongInteger operator-() const;
  LongInteger& operator+=(const LongInteger& other);
  friend LongInteger operator*(const LongInteger& a, const LongInteger& b);
  friend bool operator==(const LongInteger&, const LongInteger&) = default;
  bool operator<(const LongInteger& other) const { return compare_magnitudes(*this, other) < 0; }  ///< of magnitudes

 private:
  static int compare_magnitudes(const LongInteger& a, const LongInteger& b);
  void trim();

  std::vector<std::uint32_t> limbs_;  ///< least significant first; the last one is not 0
  bool negative_ = false;
};

/// A range of groups: first to last - 1.
struct LineRange {
  std::int32_t first = 0;
  std::int32_t last = 0;
};

/// Sums of values and weights as integers on a grid that holds every bit.
class ExactCosts {
 public:
  explicit ExactCosts(const LineValues& line) : line_(line) {}

  /// Returns the sign of the cost of the ranges `one` less the cost of the ranges `other`. Both cover the same groups.
  int compare(std::span<const LineRange> one, std::span<const LineRange> other);

 private:
  struct Sums {
    LongInteger weight;
    LongInteger sum;
  };
  /// Prepares the sums before some groups, at the first comparison.
  void prepare();
  void add(Sums& sums, std::int64_t group) const;
  Sums before(std::int64_t group) const;

  const LineValues& line_;
  std::vector<Sums> every_;  ///< the sums before each group whose number is a multiple of spacing_
  std::int64_t spacing_ = 1;
  int value_exponent_ = 0;
  int weight_exponent_ = 0;
};

}  // namespace gradus::kmeans_detail
