// Tests of the arithmetic and the small tools that every problem uses.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/checked.hpp"
#include "core/exact_accumulator.hpp"
#include "core/exact_conversion.hpp"
#include "core/exact_sum.hpp"
#include "core/exact_total.hpp"
#include "core/ladder.hpp"
#include "core/names.hpp"
#include "core/phases.hpp"
#include "core/philox.hpp"
#include "core/run_sum.hpp"
#include "core/stop.hpp"
#include "core/visit_copies.hpp"
#include "execution/machine.hpp"
#include "gradus/error.hpp"

namespace gradus::core {
namespace {

// Random numbers

using Words = std::array<std::uint32_t, 4>;

// Known answers for philox4x32-10, published by the authors of Philox (kat_vectors of Random123).
TEST(Philox, PublishedKnownAnswers) {
  EXPECT_EQ(Philox(0, 0).block(0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint64_t ones = ~std::uint64_t{0};
  EXPECT_EQ(Philox(ones, ones).block(ones), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  const Philox pi(0x299f31d0'a4093822, 0x03707344'13198a2e);
  EXPECT_EQ(pi.block(0x85a308d3'243f6a88), (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, WorksAtCompileTime) {
  static_assert(Philox(0).block(0)[0] == 0x6627e8d5);
  static_assert(Philox(0).bits(0) == 0xe169c58d'6627e8d5);
}

TEST(Philox, EveryArgumentMatters) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    for (std::uint64_t stream = 0; stream < 8; ++stream)
      for (std::uint64_t index = 0; index < 8; ++index) {
        seen.insert(Philox(seed, stream).bits(index));
        seen.insert(Philox(seed + 1, stream << 32 | 1 << 4).bits((index + 1) << 32));
      }
  EXPECT_EQ(seen.size(), 8U * 8U * 8U * 2U);
}

TEST(Philox, UniformIsInTheUnitIntervalWithTheRightMoments) {
  const Philox random(42);
  double sum = 0;
  double squares = 0;
  constexpr int draws = 100000;
  for (int index = 0; index < draws; ++index) {
    const double value = random.uniform(static_cast<std::uint64_t>(index));
    ASSERT_TRUE(value >= 0 && value < 1) << value;
    ASSERT_EQ(value * 0x1p53, std::floor(value * 0x1p53));
    sum += value;
    squares += value * value;
  }
  // The tolerances are five standard deviations of the two means: 5 * sqrt(1/12 / draws) and 5 * sqrt(4/45 / draws).
  EXPECT_TRUE(std::abs(sum / draws - 1.0 / 2) <= 0.0046) << sum / draws;
  EXPECT_TRUE(std::abs(squares / draws - 1.0 / 3) <= 0.0047) << squares / draws;
}

TEST(Philox, BelowCoversItsRangeEvenly) {
  const Philox random(7, 3);
  std::array<int, 10> counts{};
  for (std::uint64_t index = 0; index < 100000; ++index) ++counts.at(random.below(index, counts.size()));
  for (const int count : counts) EXPECT_TRUE(std::abs(count - 10000) <= 500) << count;  // five standard deviations
  EXPECT_EQ(random.below(0, 1), 0U);
  for (std::uint64_t index = 0; index < 100; ++index)
    EXPECT_LT(random.below(index, ~std::uint64_t{0}), ~std::uint64_t{0});
}

// Names, ladder

TEST(Names, HyphensBecomeUnderscores) {
  EXPECT_EQ(with_underscores("openmp-reduce-first_touch"), "openmp_reduce_first_touch");
  EXPECT_EQ(with_underscores(""), "");
}

TEST(Names, SuggestsTheNearest) {
  constexpr std::array<std::string_view, 3> names = {"sequential", "openmp_shared", "openmp_reduce"};
  EXPECT_EQ(did_you_mean("sequental", names), " (did you mean 'sequential'?)");
  EXPECT_EQ(did_you_mean("openmp_redcue", names), " (did you mean 'openmp_reduce'?)");
  EXPECT_EQ(did_you_mean("openmp_share", names), " (did you mean 'openmp_shared'?)");
  EXPECT_EQ(did_you_mean("seq", names), " (did you mean 'sequential'?)");
  EXPECT_EQ(did_you_mean("cuda_tiled", names), "");
  EXPECT_EQ(did_you_mean("", names), "");
  EXPECT_EQ(did_you_mean("sequential", {}), "");
}

constexpr std::array<VariantInfo, 2> table = {{
    {.name = "sequential", .summary = "one loop", .backend = Backend::sequential},
    {.name = "openmp_reduce", .summary = "private copies", .backend = Backend::openmp},
}};

TEST(Rows, FindsByEitherSpelling) {
  const std::span<const VariantInfo> variants(table);
  EXPECT_EQ(&find_variant(variants, "sequential", "sorting"), &table[0]);
  EXPECT_EQ(&find_variant(variants, "openmp_reduce", "sorting"), &table[1]);
  EXPECT_EQ(&find_variant(variants, "openmp-reduce", "sorting"), &table[1]);
}

std::string message_for(std::string_view name) {
  try {
    find_variant(std::span<const VariantInfo>(table), name, "sorting");
  } catch (const UsageError& error) {
    EXPECT_EQ(error.exit_status(), 2);
    return error.what();
  }
  ADD_FAILURE() << "'" << name << "' was found";
  return "";
}

TEST(Rows, AnUnknownNameIsAnErrorThatSuggests) {
  EXPECT_EQ(message_for("openmp-redcue"),
            "there is no sorting variant 'openmp-redcue' (did you mean 'openmp_reduce'?); "
            "'gradus list sorting' shows all of them");
  EXPECT_EQ(message_for("tensor_cores").find("did you mean"), std::string::npos);
  EXPECT_FALSE(message_for("").empty());
  EXPECT_FALSE(message_for("Sequential").empty());
}

TEST(Rows, SupportAndBackendNames) {
  EXPECT_TRUE(Support::yes());
  EXPECT_FALSE(Support::no("no GPU"));
  EXPECT_EQ(Support::no("no GPU").reason, "no GPU");
  EXPECT_EQ(to_string(Backend::simd), "simd");
  EXPECT_EQ(to_string(Backend::cuda), "cuda");
}

TEST(Rows, ContractsBoundWhatTheyNameAndNeverAllowNan) {
  const Contract contract = {Contract::within, 1e-4, "inertia"};
  EXPECT_TRUE(contract == Contract::within);
  EXPECT_TRUE(contract != Contract::same_bits);
  EXPECT_TRUE(contract.allows(1.0001, 1.00001));
  EXPECT_FALSE(contract.allows(1.0002, 1));
  EXPECT_FALSE(contract.allows(1e-9, 0));
  EXPECT_TRUE(contract.allows(1e-9, 0, 1e-4));
  EXPECT_FALSE(contract.allows(std::nan(""), 1));
  EXPECT_FALSE(contract.allows(1, std::nan("")));
  EXPECT_EQ(text(contract), "within 0.0001");
  EXPECT_EQ(text(Contract()), "same bits");
  EXPECT_EQ(text(Contract{.kind = Contract::same_bits, .of = "integers"}), "same bits of integers");
  EXPECT_EQ(kind_text(Contract{.kind = Contract::same_bits, .of = "integers"}), "same bits of integers");
  EXPECT_EQ(kind_text(Contract{.kind = Contract::within, .bound = 1e-4, .of = "inertia"}), "tolerance");
  EXPECT_EQ(text({Contract::invariants}), "invariants");
}

/// The smallest possible room: its problem has no points, no shape and no data, and its result is a count.
struct Counter {
  struct Shape {};
  using Elements = NoElements;
  template <class>
  using Problem = int;
  template <class>
  using Result = int;
};

int count_to(const int& most, const Execution&, std::vector<Phase>& phases) {
  add_phase(phases, "count", 1);
  return most;
}

TEST(Rows, ARoomNeedsNoElementType) {
  constexpr Variant<Counter> row = {.name = "plain",
                                    .summary = "counts",
                                    .contract = {Contract::invariants},
                                    .backend = Backend::sequential,
                                    .run = {count_to}};
  EXPECT_TRUE(row.supports({}, execution::this_machine()));
  EXPECT_EQ(row.memory({}, 3).host, 0U);
  std::vector<Phase> phases;
  EXPECT_EQ(row.run(7, {}, phases), 7);
  ASSERT_EQ(phases.size(), 1U);
  const VariantInfo info = row;
  EXPECT_EQ(info.name, "plain");
  EXPECT_TRUE(info.deterministic);
  EXPECT_FALSE(info.device_input);
}

TEST(Rows, WhatIsNotCompiledSaysSo) {
  constexpr Variant<Counter> row = {
      .name = "gpu", .summary = "counts there", .backend = Backend::cuda, .run = NotCompiled()};
  std::vector<Phase> phases;
  EXPECT_THROW(row.run(7, {}, phases), UnsupportedError);
}

TEST(Phases, AddUpInTheOrderOfTheirFirstUse) {
  std::vector<Phase> phases;
  add_phase(phases, "assign", 1);
  add_phase(phases, "update", 2);
  add_phase(phases, "assign", 4);
  { const PhaseTimer timer(phases, "update"); }
  ASSERT_EQ(phases.size(), 2U);
  EXPECT_EQ(phases[0].name, "assign");
  EXPECT_EQ(phases[0].seconds, 5);
  EXPECT_TRUE(phases[1].seconds >= 2 && phases[1].seconds < 3) << phases[1].seconds;
}

// Checked arithmetic

template <class Integer>
void check_limits() {
  constexpr Integer most = std::numeric_limits<Integer>::max();
  EXPECT_EQ(checked_add<Integer>(most - 1, 1, "x"), most);
  EXPECT_EQ(checked_multiply<Integer>(most / 3, 3, "x"), most / 3 * 3);
  EXPECT_EQ(checked_multiply<Integer>(0, most, "x"), 0);
  EXPECT_THROW(checked_add<Integer>(most, 1, "x"), OutOfMemoryError);
  EXPECT_THROW(checked_multiply<Integer>(most / 2 + 1, 2, "x"), OutOfMemoryError);
}

TEST(Checked, RefusesToWrap) {
  check_limits<std::int32_t>();
  check_limits<std::int64_t>();
  check_limits<std::uint64_t>();
  check_limits<std::size_t>();
  EXPECT_THROW(checked_add<std::int64_t>(std::numeric_limits<std::int64_t>::min(), -1, "x"), Error);
  EXPECT_THROW(checked_multiply<std::int64_t>(std::numeric_limits<std::int64_t>::min(), -1, "x"), Error);
}

// Compares is_exact_in() with 128-bit arithmetic, in which all integers and floating-point numbers of the test are
// exact.
template <class To, class From>
void expect_exact_where_nothing_is_rounded() {
  for (int bit = 0; bit < std::numeric_limits<From>::digits; ++bit)
    for (const int offset : {-3, -2, -1, 0, 1, 2, 3})
      for (const int sign : {-1, 1}) {
        const __int128 wide = sign * ((__int128{1} << bit) + offset);
        if (wide < std::numeric_limits<From>::min() || wide > std::numeric_limits<From>::max()) continue;
        const auto value = static_cast<From>(wide);
        EXPECT_EQ(is_exact_in<To>(value), static_cast<__int128>(static_cast<To>(value)) == wide)
            << bit << " " << offset;
      }
}

TEST(ExactConversion, OfIntegers) {
  expect_exact_where_nothing_is_rounded<float, std::int32_t>();
  expect_exact_where_nothing_is_rounded<float, std::uint32_t>();
  expect_exact_where_nothing_is_rounded<float, std::int64_t>();
  expect_exact_where_nothing_is_rounded<float, std::uint64_t>();
  expect_exact_where_nothing_is_rounded<double, std::int32_t>();
  expect_exact_where_nothing_is_rounded<double, std::int64_t>();
  expect_exact_where_nothing_is_rounded<double, std::uint64_t>();
  expect_exact_where_nothing_is_rounded<std::int32_t, std::int64_t>();
  expect_exact_where_nothing_is_rounded<std::int32_t, std::uint64_t>();
  expect_exact_where_nothing_is_rounded<std::int64_t, std::uint64_t>();
  EXPECT_TRUE(is_exact_in<double>(std::numeric_limits<std::int64_t>::min()));
  EXPECT_FALSE(is_exact_in<double>(std::numeric_limits<std::int64_t>::max()));
  EXPECT_FALSE(is_exact_in<double>(std::numeric_limits<std::uint64_t>::max()));
}

TEST(ExactConversion, OfFloatingPointNumbers) {
  using Double = std::numeric_limits<double>;
  for (const double value :
       {0.0, -0.0, 0.5, 0x1p-149, 0x1.fffffep127, Double::infinity(), -Double::infinity(), Double::quiet_NaN()})
    EXPECT_TRUE(is_exact_in<float>(value)) << value;
  for (const double value : {0.1, 0x1p-150, 0x1.8p-149, 0x1p128, 0x1.ffffffp127, Double::max(), Double::denorm_min(),
                             16777217.0, -16777217.0})
    EXPECT_FALSE(is_exact_in<float>(value)) << value;
  EXPECT_TRUE(is_exact_in<double>(0.1F));
}

TEST(Checked, NamesWhatOverflows) {
  try {
    checked_multiply<std::uint64_t>(1ULL << 40, 1ULL << 40, "points.npy");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("points.npy"), std::string::npos) << error.what();
  }
}

// Exact sums

TEST(Limbs, LeaveRoomForTheCount) {
  EXPECT_EQ(limb_bits(0), 38);
  EXPECT_EQ(limb_bits(1), 38);
  EXPECT_EQ(limb_bits(std::int64_t{1} << 24), 38);
  EXPECT_EQ(limb_bits((std::int64_t{1} << 24) + 1), 37);
  EXPECT_EQ(limb_bits(std::int64_t{1} << 40), 22);
}

TEST(ExponentAbove, IsTheLeastPowerOfTwoAbove) {
  EXPECT_EQ(exponent_above(0), 0);
  EXPECT_EQ(exponent_above(1), 1);
  EXPECT_EQ(exponent_above(0.75), 0);
  EXPECT_EQ(exponent_above(std::nextafter(8.0, 0.0)), 3);
  EXPECT_EQ(exponent_above(8), 4);
  EXPECT_EQ(exponent_above(std::numeric_limits<double>::denorm_min()), -900);
}

TEST(IntegerMagic, RoundsToAnIntegerInTheLowBits) {
  for (const double value : {0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 0.49999999999999994, 1e15 + 0.5, -0x1p51, 0x1p51 - 1}) {
    const std::int64_t bits = std::bit_cast<std::int64_t>(value + integer_magic);
    EXPECT_EQ(static_cast<double>(bits - integer_magic_bits), std::nearbyint(value)) << value;
  }
}

/// Returns `value` as a multiple of 2^unit, rounded to nearest (ties to even). Computes the multiple from the bits of
/// the mantissa.
Int128 in_steps(double value, int unit) {
  int exponent = 0;
  const auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(std::abs(value), &exponent), 53));
  if (mantissa == 0) return 0;
  const int drop = unit - (exponent - 53);
  Int128 steps = 0;
  if (drop <= 0) {
    steps = static_cast<Int128>(mantissa) << -drop;
  } else if (drop <= 54) {
    steps = mantissa >> drop;
    const std::int64_t rest = mantissa - static_cast<std::int64_t>(steps << drop);
    const std::int64_t half = std::int64_t{1} << (drop - 1);
    if (rest > half || (rest == half && steps % 2 != 0)) ++steps;
  }
  return value < 0 ? -steps : steps;
}

/// Returns a double below 2^exponent in magnitude. Small magnitudes, zeros and fractions with few bits are frequent.
double random_value(std::mt19937_64& random, int exponent) {
  std::int64_t mantissa = static_cast<std::int64_t>(random() >> 11);
  if (random() % 4 == 0) mantissa &= ~std::int64_t{0} << (random() % 53);
  const double value = std::ldexp(static_cast<double>(mantissa), exponent - 53 - static_cast<int>(random() % 90));
  return random() % 2 == 0 ? value : -value;
}

TEST(Grid, RoundsOnceToItsSteps) {
  std::mt19937_64 random(1);
  for (const int exponent : {-900, -149, -20, 0, 1, 4, 52, 127, 500, 1023})
    for (const std::int64_t summands : {std::int64_t{1}, std::int64_t{1} << 24, std::int64_t{1} << 33}) {
      const Grid grid(exponent, summands);
      for (int trial = 0; trial < 2000; ++trial) {
        const double value = random_value(random, exponent);
        const Limbs limbs = grid.split(value);
        ASSERT_TRUE(grid.total(limbs) == in_steps(value, grid.unit)) << value << " on a grid of " << exponent;
        ASSERT_LE(std::abs(limbs.high), std::int64_t{1} << grid.bits);
        ASSERT_LE(std::abs(limbs.low), std::int64_t{1} << (grid.bits - 1));
      }
    }
}

TEST(Grid, HoldsEveryBitOfNearbyValues) {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 20000; ++trial) {
    const int exponent = static_cast<int>(random() % 60) - 30;
    const Grid grid(exponent, std::int64_t{1} << 24);
    // The grid holds every bit of a float that is at least 2^-52 times the largest value, and every bit of a double
    // that is at least 2^-23 times the largest value.
    const double few =
        std::ldexp(static_cast<double>(random() >> 40 | 1 << 23), exponent - 24 - static_cast<int>(random() % 53));
    const double many =
        std::ldexp(static_cast<double>(random() >> 11 | 1ULL << 52), exponent - 53 - static_cast<int>(random() % 24));
    for (const double value : {few, -few, many, -many})
      ASSERT_EQ(round_quotient<double>(grid.total(grid.split(value)), 1, grid.unit), value);
  }
}

RC_GTEST_PROP(Grid, SumsInAnyOrderAgree, (const std::vector<std::int64_t>& mantissas, std::uint64_t seed)) {
  std::mt19937_64 random(seed);
  const int exponent = static_cast<int>(random() % 100) - 50;
  const Grid grid(exponent, static_cast<std::int64_t>(mantissas.size()));
  std::vector<double> values;
  Int128 expected = 0;
  for (const std::int64_t mantissa : mantissas) {
    values.push_back(std::ldexp(static_cast<double>(mantissa >> 11), exponent - 52 - static_cast<int>(random() % 70)));
    expected += in_steps(values.back(), grid.unit);
  }
  for (int order = 0; order < 3; ++order) {
    std::shuffle(values.begin(), values.end(), random);
    Limbs sum;
    for (const double value : values) {
      const Limbs limbs = grid.split(value);
      sum.high += limbs.high;
      sum.low += limbs.low;
    }
    RC_ASSERT(grid.total(sum) == expected);
  }
}

// Adds values to a run and removes values from it in random order. Leaves some places empty. After RunSum::excess() is
// subtracted, each limb of the run must equal the sum of two numbers. The first number is the sum of the limbs of the
// added values minus the sum of the limbs of the removed values, as Grid::split() returns them. The second number is n
// times the bits of integer_magic, where n is the number of added values minus the number of removed values.
TEST(RunSum, EqualsTheSumOfItsValues) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> anywhere(-1, 1);
  for (int round = 0; round < 2000; ++round) {
    const int exponent = static_cast<int>(random() % 60) - 30;
    const Grid grid(exponent, 1000);
    RunSum run;
    Limbs sum;
    std::uint64_t joined = 0;
    std::uint64_t leaving = 0;
    std::uint64_t empty = 0;
    for (std::uint64_t place = random() % 50; place > 0; --place) {
      const bool coarse = random() % 4 == 0;  // multiples of half a step, to test ties
      double value = std::ldexp(anywhere(random), exponent);
      if (coarse) value = std::ldexp(std::round(value * grid.to_high * 2), -1) / grid.to_high;
      const int sign = static_cast<int>(random() % 3) - 1;
      run.add(raw_limbs(sign * value * grid.to_high, grid.to_low));
      (sign > 0 ? joined : sign < 0 ? leaving : empty) += 1;
      const Limbs limbs = grid.split(value);
      sum.high += sign * limbs.high;
      sum.low += sign * limbs.low;
    }
    const std::uint64_t magic = (joined - leaving) * static_cast<std::uint64_t>(integer_magic_bits);
    const std::uint64_t excess = RunSum::excess(empty, leaving);
    EXPECT_EQ(static_cast<std::int64_t>(run.high - excess - magic), sum.high);
    EXPECT_EQ(static_cast<std::int64_t>(run.low - excess - magic), sum.low);
  }
}

TEST(Grid, TheLargestSumFits) {
  const double largest = std::nextafter(1.0, 0.0);
  const Grid grid(0, std::int64_t{1} << 24);
  const Limbs limbs = grid.split(largest);
  std::int64_t high = 0;
  EXPECT_FALSE(__builtin_mul_overflow(limbs.high, std::int64_t{1} << 24, &high));
  EXPECT_LE(high, std::int64_t{1} << 62);
}

// Rounding

/// A natural number of any length, with the operations that an exact comparison of products needs.
class Natural {
 public:
  explicit Natural(UInt128 value) {
    for (; value > 0; value >>= 32) digits_.push_back(static_cast<std::uint32_t>(value));
  }
  Natural operator*(const Natural& other) const {
    Natural product(0);
    product.digits_.assign(digits_.size() + other.digits_.size(), 0);
    for (std::size_t i = 0; i < digits_.size(); ++i) {
      std::uint64_t carry = 0;
      for (std::size_t j = 0; j < other.digits_.size() || carry > 0; ++j) {
        const std::uint64_t digit = j < other.digits_.size() ? other.digits_[j] : 0;
        carry += product.digits_[i + j] + std::uint64_t{digits_[i]} * digit;
        product.digits_[i + j] = static_cast<std::uint32_t>(carry);
        carry >>= 32;
      }
    }
    while (!product.digits_.empty() && product.digits_.back() == 0) product.digits_.pop_back();
    return product;
  }
  Natural operator<<(int bits) const {
    Natural shifted = *this * Natural(UInt128{1} << (bits % 32));
    if (!shifted.digits_.empty())
      shifted.digits_.insert(shifted.digits_.begin(), static_cast<std::size_t>(bits / 32), 0);
    return shifted;
  }
  friend std::strong_ordering operator<=>(const Natural& a, const Natural& b) {
    if (a.digits_.size() != b.digits_.size()) return a.digits_.size() <=> b.digits_.size();
    return std::lexicographical_compare_three_way(a.digits_.rbegin(), a.digits_.rend(), b.digits_.rbegin(),
                                                  b.digits_.rend());
  }

 private:
  std::vector<std::uint32_t> digits_;  ///< least significant first, without trailing zeros
};

/// Compares numerator * 2^exponent with point * 2^point_exponent * denominator.
std::strong_ordering compare(UInt128 numerator, UInt128 denominator, int exponent, UInt128 point, int point_exponent) {
  const Natural right = Natural(point) * Natural(denominator);
  const int shift = exponent - point_exponent;
  return shift >= 0 ? (Natural(numerator) << shift) <=> right : Natural(numerator) <=> (right << -shift);
}

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// Returns true if `result` is numerator / denominator * 2^exponent, rounded to the nearest T, ties to even. Compares
/// the exact value with the midpoints between `result` and its neighbours. Beyond the largest number, infinity takes
/// the place of the next power of two, as in IEEE 754.
template <class T>
bool is_nearest(T result, UInt128 numerator, UInt128 denominator, int exponent) {
  if (!(result >= 0)) return false;
  constexpr int fraction = std::numeric_limits<T>::digits - 1;
  constexpr int least = std::numeric_limits<T>::min_exponent - 1 - fraction;
  const auto midpoint_above = [&](Bits<T> pattern) {
    const int field = static_cast<int>(pattern >> fraction);
    const Bits<T> hidden = field == 0 ? 0 : Bits<T>{1} << fraction;
    const UInt128 mantissa = (pattern & ((Bits<T>{1} << fraction) - 1)) | hidden;
    return compare(numerator, denominator, exponent, 2 * mantissa + 1, least - 1 + std::max(0, field - 1));
  };
  const auto pattern = std::bit_cast<Bits<T>>(result);
  const bool even = pattern % 2 == 0;
  const bool infinite = std::isinf(result);
  const auto above = infinite ? std::strong_ordering::less : midpoint_above(pattern);
  const auto below = pattern == 0 ? std::strong_ordering::greater : midpoint_above(pattern - 1);
  return (std::is_lt(above) || (std::is_eq(above) && even)) && (std::is_gt(below) || (std::is_eq(below) && even));
}

TEST(IsNearest, TheCheckerRefusesNeighbours) {
  for (const double value : {1.0, 3.0, 0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp1023}) {
    int exponent = 0;
    const auto mantissa = static_cast<UInt128>(std::ldexp(std::frexp(value, &exponent), 53));
    exponent -= 53;
    EXPECT_TRUE(is_nearest(value, mantissa, 1, exponent)) << value;
    EXPECT_FALSE(is_nearest(std::nextafter(value, 0.0), mantissa, 1, exponent)) << value;
    EXPECT_FALSE(is_nearest(std::nextafter(value, HUGE_VAL), mantissa, 1, exponent)) << value;
    EXPECT_FALSE(is_nearest(-value, mantissa, 1, exponent));
    EXPECT_FALSE(is_nearest(std::numeric_limits<double>::quiet_NaN(), mantissa, 1, exponent));
  }
  EXPECT_TRUE(is_nearest(0x1p53, (UInt128{1} << 53) + 1, 1, 0));  // a tie is rounded to even
  EXPECT_FALSE(is_nearest(0x1p53 + 2, (UInt128{1} << 53) + 1, 1, 0));
}

UInt128 random_bits(std::mt19937_64& random, int most) {
  const int length = 1 + static_cast<int>(random() % static_cast<unsigned>(most));
  UInt128 value = static_cast<UInt128>(random()) << 64 | random();
  switch (random() % 4) {
    case 0: value = ~UInt128{0}; break;  // all bits are 1: rounding up carries through all of them
    case 1: value = UInt128{1} << 127 | (random() & 1); break;  // a power of two, or one more
    default: value |= UInt128{1} << 127; break;
  }
  return value >> (128 - length);
}

template <class T>
void expect_nearest_quotient(UInt128 numerator, UInt128 denominator, int exponent) {
  const auto signed_numerator = static_cast<Int128>(numerator);
  const T result = round_quotient<T>(signed_numerator, denominator, exponent);
  ASSERT_TRUE(is_nearest(result, numerator, denominator, exponent))
      << result << " from " << static_cast<double>(numerator) << " / " << static_cast<double>(denominator) << " * 2^"
      << exponent;
  ASSERT_EQ(round_quotient<T>(-signed_numerator, denominator, exponent), -result);
}

template <class T>
class Rounding : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Rounding, Types);

TYPED_TEST(Rounding, QuotientsAreTheNearest) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 20000; ++trial) {
    const UInt128 numerator = random_bits(random, 127);
    const UInt128 denominator = random_bits(random, trial % 2 == 0 ? 128 : 100);
    expect_nearest_quotient<TypeParam>(numerator, denominator, static_cast<int>(random() % 2600) - 1300);
    expect_nearest_quotient<TypeParam>(numerator, denominator, static_cast<int>(random() % 64) - 32);
    if (this->HasFatalFailure()) return;
  }
}

// Covers the smallest subnormals, the smallest normal numbers, and overflow to infinity.
TYPED_TEST(Rounding, QuotientsAtTheEndsOfTheRange) {
  using Limits = std::numeric_limits<TypeParam>;
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 20000; ++trial) {
    const UInt128 numerator = random_bits(random, 127);
    const UInt128 denominator = random_bits(random, 128);
    const int size =
        static_cast<int>(std::log2(static_cast<double>(numerator)) - std::log2(static_cast<double>(denominator)));
    const int jitter = static_cast<int>(random() % 7) - 3;
    for (const int target : {Limits::min_exponent - Limits::digits, Limits::min_exponent, Limits::max_exponent})
      expect_nearest_quotient<TypeParam>(numerator, denominator, target - size + jitter);
    if (this->HasFatalFailure()) return;
  }
}

// If numerator = denominator * midpoint, the quotient is a tie. The test also changes the numerator by 1 and by -1.
TYPED_TEST(Rounding, TiesGoToEven) {
  constexpr int digits = std::numeric_limits<TypeParam>::digits;
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 20000; ++trial) {
    const UInt128 midpoint = UInt128{random() >> (64 - digits) | std::uint64_t{1} << (digits - 1)} * 2 + 1;
    const UInt128 denominator = random_bits(random, 126 - digits);
    const int exponent = static_cast<int>(random() % 100) - 50;
    for (const int step : {-1, 0, 1})
      expect_nearest_quotient<TypeParam>(midpoint * denominator + static_cast<UInt128>(step), denominator, exponent);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(Rounding, SpecialCases) {
  using Limits = std::numeric_limits<TypeParam>;
  constexpr int least = Limits::min_exponent - Limits::digits;
  EXPECT_EQ(round_quotient<TypeParam>(0, 5, 100), 0);
  EXPECT_EQ(round_quotient<TypeParam>(6, 2, 0), 3);
  EXPECT_EQ(round_quotient<TypeParam>(-6, 2, 0), -3);
  EXPECT_EQ(round_quotient<TypeParam>(1, 1, least), Limits::denorm_min());
  EXPECT_EQ(round_quotient<TypeParam>(1, 2, least), 0);  // a tie is rounded to even, here to zero
  EXPECT_EQ(round_quotient<TypeParam>(3, 4, least), Limits::denorm_min());
  EXPECT_EQ(round_quotient<TypeParam>(3, 2, least), 2 * Limits::denorm_min());
  EXPECT_EQ(round_quotient<TypeParam>(1, 1, -100000), 0);
  EXPECT_EQ(round_quotient<TypeParam>(1, 1, 100000), Limits::infinity());
  EXPECT_EQ(round_quotient<TypeParam>(1, 1, Limits::max_exponent), Limits::infinity());
  EXPECT_EQ(round_quotient<TypeParam>(1, 1, Limits::max_exponent - 1),
            std::ldexp(TypeParam{1}, Limits::max_exponent - 1));
  constexpr auto lowest = static_cast<Int128>(UInt128{1} << 127);
  EXPECT_EQ(round_quotient<TypeParam>(lowest, 1, -127), -1);
  EXPECT_EQ(round_quotient<TypeParam>(lowest, ~UInt128{0}, 1), -1);
}

TYPED_TEST(Rounding, ScaledWithASticky) {
  std::mt19937_64 random(6);
  for (int trial = 0; trial < 20000; ++trial) {
    const UInt128 mantissa = random_bits(random, 126);
    const int exponent = static_cast<int>(random() % 2400) - 1300;
    ASSERT_TRUE(is_nearest(round_scaled<TypeParam>(mantissa, false, exponent), mantissa, 1, exponent));
    // A sticky bit stands for an unknown fraction in (0, 1). The test uses 1/2. If there is a sticky bit, the mantissa
    // must have more bits than the type. Shorter mantissas are therefore skipped.
    if (mantissa >> 64 == 0) continue;
    ASSERT_TRUE(is_nearest(round_scaled<TypeParam>(mantissa, true, exponent), 2 * mantissa + 1, 2, exponent));
  }
}

RC_GTEST_PROP(Rounding, SmallQuotientsAgreeWithTheProcessor, (std::int64_t a, std::int64_t b)) {
  // Both operands are exact in double, so IEEE division rounds only once.
  const std::int64_t numerator = a >> 11;
  const std::int64_t denominator = std::max<std::int64_t>(1, std::abs(b >> 11));
  RC_ASSERT(round_quotient<double>(numerator, static_cast<UInt128>(denominator), 0) ==
            static_cast<double>(numerator) / static_cast<double>(denominator));
}

TEST(Rounding, RandomQuotientsAgreeWithTheProcessor) {
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 100000; ++trial) {
    const auto a = static_cast<std::int64_t>(random() >> (11 + random() % 52));
    const auto b = static_cast<std::int64_t>(random() >> (11 + random() % 52)) + 1;
    const double quotient = static_cast<double>(a) / static_cast<double>(b);
    ASSERT_EQ(round_quotient<double>(a, static_cast<UInt128>(b), 0), quotient) << a << " / " << b;
    ASSERT_EQ(round_quotient<double>(-a, static_cast<UInt128>(b), 0), -quotient) << a << " / " << b;
    const auto c = static_cast<std::int64_t>(random() >> (40 + random() % 24));
    const auto d = static_cast<std::int64_t>(random() >> (40 + random() % 24)) + 1;
    if (d >= 1 << 24) continue;
    ASSERT_EQ(round_quotient<float>(c, static_cast<UInt128>(d), 0), static_cast<float>(c) / static_cast<float>(d));
  }
}

// Sums of limbs, and exact accumulators

TEST(RawLimbs, LoseLessThanAStepOfAProduct) {
  std::mt19937_64 random(21);
  std::uniform_real_distribution<double> anywhere(-1, 1);
  constexpr auto magic = static_cast<std::uint64_t>(integer_magic_bits);
  for (int turn = 0; turn < 5000; ++turn) {
    const int exponent = static_cast<int>(random() % 1400) - 900;
    const Grid grid(exponent, 1000);
    const double value = std::ldexp(anywhere(random), exponent);
    const double weight = std::ldexp(std::abs(anywhere(random)), -static_cast<int>(random() % 30));
    const RawLimbs raw = raw_limbs(weight, value * grid.to_high, grid.to_low);
    ExactAccumulator error;
    error.add_product(weight, value);
    error.add(-grid.total({static_cast<std::int64_t>(raw.high - magic), static_cast<std::int64_t>(raw.low - magic)}),
              grid.unit);
    EXPECT_LT(std::abs(std::ldexp(error.round<double>(), -grid.unit)), 0.51);
  }
}

TEST(QuotientLess, KeepsTheDigitsOfADifference) {
  std::mt19937_64 random(23);
  const Grid grid(0, 1000);
  for (int turn = 0; turn < 5000; ++turn) {
    // Covers limbs of every size, positive and negative; the high limb may be zero.
    const auto limb = [&](int bits) { return static_cast<std::int64_t>(random() >> (64 - bits)); };
    const Limbs above{limb(60) >> (random() % 60), limb(60) - (std::int64_t{1} << 59)};
    const Limbs below{limb(60) >> (random() % 61), 1 + (limb(60) >> (random() % 59))};
    ExactAccumulator numerator;
    numerator.add(grid.total(above), 0);
    ExactAccumulator denominator;
    denominator.add(grid.total(below), 0);
    const double from = numerator.quotient<double>(denominator);
    numerator.subtract_product(from, static_cast<double>(below.high) * 0x1p38);
    numerator.subtract_product(
        from, static_cast<double>(below.high - static_cast<std::int64_t>(static_cast<double>(below.high))) * 0x1p38);
    numerator.subtract_product(from, static_cast<double>(below.low));
    numerator.subtract_product(
        from, static_cast<double>(below.low - static_cast<std::int64_t>(static_cast<double>(below.low))));
    const double truth = numerator.quotient<double>(denominator);
    const double found = quotient_less(two_doubles(grid, above), two_doubles(grid, below), 0, from);
    ASSERT_LE(std::abs(found - truth), 0x1p-48 * std::abs(truth) + 0x1p-98 * std::abs(from));
  }
}

TEST(CertifiedQuotient, IsCertainWhereTheIntervalDecides) {
  // The midpoint between 1 and the next float is 2^22 steps of 2^-46 above 1.
  const Int128 middle = (Int128{1} << 46) + (Int128{1} << 22);
  const auto of = [](Int128 numerator, std::int64_t slack) {
    return certified_quotient<float>(numerator, slack, 1, 0, -46);
  };
  EXPECT_TRUE(of(middle, 0).certain);
  EXPECT_EQ(of(middle, 0).value, 1.0F);
  EXPECT_FALSE(of(middle, 1).certain);
  EXPECT_FALSE(of(middle - 5, 6).certain);
  EXPECT_TRUE(of(middle - 5, 4).certain);
  EXPECT_EQ(of(middle - 5, 4).value, 1.0F);
  EXPECT_TRUE(of(middle + 5, 4).certain);
  EXPECT_EQ(of(middle + 5, 4).value, 1.0F + 0x1p-23F);
  EXPECT_TRUE(of(-middle - 5, 4).certain);
  EXPECT_EQ(of(-middle - 5, 4).value, -1.0F - 0x1p-23F);
  EXPECT_FALSE(of(0, 1).certain);
  EXPECT_TRUE(of(0, 0).certain);
  EXPECT_FALSE(certified_quotient<float>(5, 0, 3, 3, 0).certain);  // the denominator may be zero
  EXPECT_FALSE(certified_quotient<double>(5, 0, 3, 1, 0).certain);
  EXPECT_TRUE(certified_quotient<double>(0, 0, 3, 0, 0).certain);
}

TEST(ExactTotal, AddsWhatTheLimbsHoldAndWhatTheyDoNot) {
  std::mt19937_64 random(22);
  for (int turn = 0; turn < 300; ++turn) {
    const int exponent = static_cast<int>(random() % 1900) - 950;
    const TotalGrid grid(exponent, 1000);
    ExactTotal total;
    ExactAccumulator truth;
    for (int index = 0; index < 50; ++index) {
      const double significand = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -63);
      const double value = std::ldexp(significand, exponent - static_cast<int>(random() % 150));
      total.add(grid, value);
      truth.add(value);
    }
    ExactAccumulator error = total.sum(grid);
    const double rounded = truth.round<double>();
    EXPECT_EQ(error.round<double>(), rounded);
    error.add(-rounded);
    truth.add(-rounded);
    EXPECT_EQ(error.round<double>(), truth.round<double>());
  }
}

ExactAccumulator sum_of(const std::vector<double>& values) {
  ExactAccumulator sum;
  for (const double value : values) sum.add(value);
  return sum;
}

TEST(ExactAccumulator, LosesNothingToCancellationAtAnyScale) {
  constexpr double least = std::numeric_limits<double>::denorm_min();
  constexpr double largest = std::numeric_limits<double>::max();
  EXPECT_EQ(sum_of({}).round<double>(), 0);
  EXPECT_EQ(sum_of({largest, least, -largest}).round<double>(), least);
  EXPECT_EQ(sum_of({-largest, 1, least, largest, -1}).round<double>(), least);
  EXPECT_EQ(sum_of({largest, largest, -largest}).round<double>(), largest);
  EXPECT_EQ(sum_of({largest, largest}).round<double>(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(sum_of({-largest, -largest}).round<double>(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(sum_of({1e30, -1e30, -least}).sign(), -1);
  EXPECT_EQ(sum_of({1e30, -1e30}).sign(), 0);
  ExactAccumulator products;
  products.add_product(largest, largest);  // about 2^2048: beyond every double
  products.add_product(least, least);      // 2^-2148: below every double
  products.subtract_product(largest, largest);
  EXPECT_EQ(products.sign(), 1);
  EXPECT_EQ(products.round<double>(), 0);
}

TEST(ExactAccumulator, RoundsOnceToEven) {
  const double half_step = 0x1p-53;
  EXPECT_EQ(sum_of({1, half_step}).round<double>(), 1);
  EXPECT_EQ(sum_of({1, half_step, 1e-300}).round<double>(), 1 + 0x1p-52);
  EXPECT_EQ(sum_of({1, half_step, -1e-300}).round<double>(), 1);
  EXPECT_EQ(sum_of({1 + 0x1p-52, half_step}).round<double>(), 1 + 0x1p-51);
  EXPECT_EQ(sum_of({1, 0x1p-24}).round<float>(), 1.0F);
  for (const double count : {1.0, 4.0}) {
    EXPECT_EQ(sum_of({1, half_step}).quotient<double>(sum_of({count})), 1 / count);
    EXPECT_EQ(sum_of({1, half_step, 1e-300}).quotient<double>(sum_of({count})), (1 + 0x1p-52) / count);
    EXPECT_EQ(sum_of({1, half_step, -1e-300}).quotient<double>(sum_of({count})), 1 / count);
  }
  // rounded only once, to float; rounding to double first would give another result
  EXPECT_EQ(sum_of({1, 0x1p-24, 0x1p-1074}).round<float>(), 1.0F + 0x1p-23F);
}

TEST(ExactAccumulator, QuotientsAgreeWithThoseOfSmallIntegers) {
  std::mt19937_64 random(11);
  for (int turn = 0; turn < 2000; ++turn) {
    const auto numerator = static_cast<double>(static_cast<std::int64_t>(random() >> (random() % 63)));
    const auto denominator = static_cast<double>(1 + (random() >> (1 + random() % 62)));
    ExactAccumulator above;
    above.add(numerator);
    ExactAccumulator below;
    below.add(denominator);
    ASSERT_EQ(above.quotient<double>(below), numerator / denominator) << numerator << " / " << denominator;
    ASSERT_EQ(above.quotient<float>(below),
              round_quotient<float>(static_cast<Int128>(numerator), static_cast<UInt128>(denominator), 0));
  }
}

TEST(ExactAccumulator, QuotientsByCountsAreThoseOfLongerNumbers) {
  std::mt19937_64 random(13);
  constexpr double factor = 0x1p40 + 1;  // makes the divisor longer than a digit
  for (int turn = 0; turn < 2000; ++turn) {
    const auto count = static_cast<double>(1 + (random() >> (32 + random() % 32)));
    const int spread = static_cast<int>(1 + random() % 300);
    ExactAccumulator sum;
    ExactAccumulator product;
    for (std::uint64_t term = 0; term <= random() % 5; ++term) {
      const double value = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())),
                                      static_cast<int>(random() % static_cast<unsigned>(spread)) - spread / 2);
      sum.add(value);
      product.add_product(value, factor);
    }
    ExactAccumulator divisor;
    divisor.add(count);
    ExactAccumulator longer;
    longer.add_product(count, factor);
    ASSERT_EQ(sum.quotient<double>(divisor), product.quotient<double>(longer)) << count;
    ASSERT_EQ(sum.quotient<float>(divisor), product.quotient<float>(longer)) << count;
  }
}

TEST(ExactAccumulator, PartsMayBeMergedInAnyOrder) {
  std::mt19937_64 random(12);
  ExactAccumulator whole;
  std::array<ExactAccumulator, 3> parts;
  for (int turn = 0; turn < 3000; ++turn) {
    const double value =
        std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), static_cast<int>(random() % 1800) - 900);
    whole.add(value);
    parts[random() % 3].add(value);
  }
  parts[2].merge(parts[0]);
  parts[2].merge(parts[1]);
  EXPECT_EQ(parts[2].round<double>(), whole.round<double>());
  const double rounded = whole.round<double>();
  whole.add(-rounded);
  parts[2].add(-rounded);
  EXPECT_EQ(parts[2].round<double>(), whole.round<double>());  // compares the remainders: the next 53 bits of the sum
}

TEST(RoundedProduct, IsTheProcessorsWithoutItsLimits) {
  std::mt19937_64 random(13);
  for (int turn = 0; turn < 2000; ++turn) {
    const double a = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -63);
    const double b = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -63);
    const auto shifted = [&](int exponent) {
      ExactAccumulator sum;
      Scaled product = rounded_product(std::ldexp(a, exponent), std::ldexp(b, exponent));
      product.exponent -= 2 * exponent;
      sum.add(product);
      return sum.round<double>();
    };
    ASSERT_EQ(shifted(0), a * b);
    ASSERT_EQ(shifted(-800), a * b);  // here a double product would underflow to zero
    ASSERT_EQ(shifted(800), a * b);   // here a double product would overflow to infinity
  }
}

// Copies of rows

TEST(VisitCopies, SeesEveryRowOnceInOrder) {
  for (const std::int64_t count : {0, 1, 1023, 1024, 1025, 3072, 200001}) {
    std::int64_t next = 0;
    std::int64_t largest = 0;
    const auto copy = [&](std::int64_t first, std::int64_t number) {
      EXPECT_LE(first + number, count);
      Matrix<double> rows(number, 2);
      for (std::int64_t row = 0; row < number; ++row) rows(row, 1) = static_cast<double>(first + row);
      return rows;
    };
    visit_copies<double>(count, copy, [&](std::int64_t first, MatrixView<const double> rows) {
      EXPECT_EQ(first, next);
      for (std::int64_t row = 0; row < rows.rows(); ++row) EXPECT_EQ(rows(row, 1), static_cast<double>(next++));
      largest = std::max(largest, rows.rows());
      return true;
    });
    EXPECT_EQ(next, count);
    EXPECT_LE(largest, 65536);
  }
}

TEST(VisitCopies, EndsWhenTheVisitSaysSo) {
  std::int64_t copied = 0;
  const auto copy = [&](std::int64_t, std::int64_t number) {
    copied += number;
    return Matrix<float>(number, 1);
  };
  visit_copies<float>(1000000, copy, [](std::int64_t first, MatrixView<const float>) { return first == 0; });
  EXPECT_EQ(copied, 1024 + 2048);
}

// Stop requests

TEST(Stop, AChunkIsAMillisecondsWorkOrAThreadsShare) {
  EXPECT_EQ(chunk_length(0, 1), 1);
  EXPECT_EQ(chunk_length(1'000'000'000, 1), operations_between_polls);
  EXPECT_EQ(chunk_length(1'000'000'000, operations_between_polls / 8), 8);
  EXPECT_EQ(chunk_length(1'000'000'000, std::numeric_limits<std::int64_t>::max()), 1);
  EXPECT_EQ(chunk_length(10, 1, 4), 3);
  EXPECT_EQ(chunk_length(10, 0, 16), 1);
}

TEST(Stop, IsHonoured) {
  std::stop_source source;
  EXPECT_NO_THROW(honour_stop(source.get_token(), "stopped"));
  EXPECT_NO_THROW(honour_stop({}, "stopped"));
  const std::stop_token token = source.get_token();
  RarePoll rare(token, "stopped");
  const StopPoll plain = stop_poll(token);
  EXPECT_FALSE(plain.look(plain.token));
  std::vector<int> values(3'000'000, 1);
  fill_until_stopped(token, values.data(), values.data() + values.size(), 2);
  EXPECT_EQ(std::count(values.begin(), values.end(), 2), std::ssize(values));
  source.request_stop();
  EXPECT_TRUE(plain.look(plain.token));
  fill_until_stopped(token, values.data(), values.data() + values.size(), 3);
  EXPECT_EQ(std::count(values.begin(), values.end(), 3), 0);
  EXPECT_THROW(honour_stop(token, "stopped"), InterruptedError);
  EXPECT_THROW(
      {
        for (int call = 0; call < 100'000; ++call) rare.honour_stop();
      },
      InterruptedError);
}

}  // namespace
}  // namespace gradus::core
