// Tests that vectors of doubles compute the same certain means as 128-bit integers. Also tests that means relative to
// the middle are equal to the means of a plain loop.
#include "kmeans/means/certain_means.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/exact_sum.hpp"
#include "cpu/forced_target.hpp"

namespace gradus::kmeans_detail {
namespace {

template <class T>
class CertainMeans : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(CertainMeans, Elements);

template <class T>
class Columns {
 public:
  Columns(std::int64_t count, std::int64_t summands) : count_(count), summands_(summands) {}

  /// Adds a column whose sum differs from `mean` times count by `off` steps of the grid.
  void add(int exponent, double mean, std::int64_t off) {
    const core::Grid grid(exponent, summands_);
    bits_ = grid.bits;
    const auto steps = static_cast<core::Int128>(std::ldexp(mean, -grid.unit - 24)) << 24;
    const core::Int128 sum = steps * count_ + off;
    const auto high = static_cast<std::int64_t>(sum >> grid.bits);
    put(high_, high);
    put(low_, static_cast<std::int64_t>(sum - (static_cast<core::Int128>(high) << grid.bits)));
    to_high_.push_back(grid.to_high);
    sums_.push_back(sum);
    units_.push_back(grid.unit);
  }

  /// Returns the number of columns whose means are certain. Fails if a mean is incorrect, or is reported as certain but
  /// is not.
  std::int64_t check(bool exact) const {
    const auto columns = std::ssize(sums_);
    std::vector<T> means(sums_.size());
    std::vector<std::int32_t> open(sums_.size() + 16);
    const std::int64_t left =
        certain_means({high_.data(), low_.data(), count_, columns, std::ldexp(1.0, bits_), to_high_.data(), exact},
                      means.data(), open.data());
    std::int64_t next = 0;
    for (std::int64_t column = 0; column < columns; ++column) {
      if (next < left && open[static_cast<std::size_t>(next)] == column) {
        ++next;
        continue;
      }
      const auto at = static_cast<std::size_t>(column);
      const core::Certified<T> truth =
          core::certified_quotient<T>(sums_[at], exact ? 0 : count_, count_, 0, units_[at]);
      EXPECT_TRUE(truth.certain) << column;
      EXPECT_EQ(means[at], truth.value) << column;
    }
    EXPECT_EQ(next, left);
    return columns - left;
  }

  /// Returns true if means_from_middle() supports the sums. Fails if its result differs from the result of the
  /// functions that it replaces.
  bool check_from_middle() const {
    std::vector<double> middle;
    for (std::size_t column = 0; column < sums_.size(); ++column)
      middle.push_back(
          std::ldexp(column % 3 == 0 ? 0.0 : 0.3 * static_cast<double>(column), units_[column] + 2 * bits_));
    std::vector<double> out(sums_.size() + 1, 7.0);
    const bool taken = means_from_middle(
        {high_.data(), low_.data(), count_, std::ssize(sums_), std::ldexp(1.0, bits_), to_high_.data(), false},
        middle.data(), out.data());
    EXPECT_EQ(out.back(), 7.0);
    for (std::size_t column = 0; taken && column < sums_.size(); ++column) {
      core::Grid grid;
      grid.to_low = std::ldexp(1.0, bits_);
      const auto plain = [&](std::int64_t limb) {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(limb) -
                                         static_cast<std::uint64_t>(count_) *
                                             static_cast<std::uint64_t>(core::integer_magic_bits));
      };
      const double expected = core::quotient_less(core::two_doubles(grid, {plain(high_[column]), plain(low_[column])}),
                                                  {static_cast<double>(count_), 0}, units_[column], middle[column]);
      EXPECT_EQ(std::bit_cast<std::uint64_t>(out[column] + 0.0), std::bit_cast<std::uint64_t>(expected + 0.0))
          << column;
    }
    return taken;
  }

 private:
  void put(std::vector<std::int64_t>& limbs, std::int64_t value) const {
    limbs.push_back(static_cast<std::int64_t>(static_cast<std::uint64_t>(value) +
                                              static_cast<std::uint64_t>(count_) *
                                                  static_cast<std::uint64_t>(core::integer_magic_bits)));
  }

  std::int64_t count_, summands_;
  int bits_ = 0;
  std::vector<std::int64_t> high_, low_;
  std::vector<double> to_high_;
  std::vector<core::Int128> sums_;
  std::vector<int> units_;
};

TYPED_TEST(CertainMeans, AreThoseOfIntegers) {
  using T = TypeParam;
  std::mt19937_64 random(5);
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  std::int64_t certain = 0;
  std::int64_t all = 0;
  std::int64_t decided = 0;  // number of means that would be certain if no point lost anything to the grid
  std::int64_t from_middle = 0;
  for (const std::int64_t target : cpu::compiled_targets()) {
    const cpu::ForcedTarget forced(target);
    for (int round = 0; round < 400; ++round) {
      const std::int64_t summands = std::int64_t{1} << between(0, 36);
      const std::int64_t count = between(1, summands);
      Columns<T> columns(
          round % 3 == 0 ? static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(count))) : count,
          summands);
      const std::int64_t d = between(1, 40);
      for (std::int64_t column = 0; column < d; ++column) {
        const int exponent = static_cast<int>(round % 4 == 0 ? between(-984, 500) : between(-20, 20));
        // The mean is a number of type T, or halfway between two adjacent numbers.
        T mean = static_cast<T>(std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random),
                                           exponent - static_cast<int>(between(0, 30))));
        double exact = static_cast<double>(mean);
        if (between(0, 1) == 0) {
          const T above = std::nextafter(mean, std::numeric_limits<T>::infinity());
          // For double, the midpoint cannot be represented and is rounded to a double.
          exact = 0.5 * (exact + static_cast<double>(above));
        }
        const std::int64_t off =
            between(0, 2) == 0 ? between(-3, 3) : between(-(std::int64_t{1} << 40), std::int64_t{1} << 40);
        columns.add(exponent, exact, between(0, 3) == 0 ? off : off * 1000);
      }
      certain += columns.check(false);
      EXPECT_LE(certain, all += d);
      decided += columns.check(true);
      from_middle += columns.check_from_middle() ? 1 : 0;
    }
  }
  const std::vector<std::int64_t> targets = cpu::compiled_targets();
  const bool has_vectors =
      std::ranges::any_of(targets, [](std::int64_t target) { return target == HWY_AVX3 || target == HWY_AVX2; });
  EXPECT_EQ(has_vectors, certain > 0);  // without vectors, no mean is certain, and all means are computed with integers
  EXPECT_EQ(has_vectors, certain < decided);
  EXPECT_EQ(has_vectors, from_middle > 0);
  EXPECT_LT(decided, all);
}

}  // namespace
}  // namespace gradus::kmeans_detail
