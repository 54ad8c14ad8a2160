// Tests the public functions, except for the numbers in their results, which matmul_test.cpp compares.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#if defined(__x86_64__)
#endif

#include "core/philox.hpp"
#include "cpu/forced_target.hpp"
#include "matmul/variants.hpp"
#include "tests/helpers.hpp"
#include "tests/lies.hpp"

namespace gradus::matmul_detail {
namespace {

using tests::expect_usage;

template <class T>
Matrix<T> random_matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  Matrix<T> matrix(rows, columns);
  const core::Philox random(seed);
  for (std::int64_t index = 0; index < rows * columns; ++index)
    matrix.data()[index] = static_cast<T>(2 * random.uniform(static_cast<std::uint64_t>(index)) - 1);
  return matrix;
}

template <class T>
std::uint64_t hash_of(const Matrix<T>& matrix) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  std::uint64_t hash = 1469598103934665603U;
  for (std::int64_t index = 0; index < matrix.rows() * matrix.columns(); ++index)
    hash = (hash ^ std::bit_cast<Bits>(matrix.data()[index])) * 1099511628211U;
  return hash;
}

/// Returns a hash of the results for many shapes. The sizes of the matrices are just below, equal to, and just above
/// the sizes of blocks.
template <class T>
std::uint64_t sweep_hash(int threads, bool deep) {
  std::uint64_t hash = 0;
  Execution execution;
  execution.device = Device::cpu;
  execution.threads = threads;
  const auto add = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    const Matrix<T> a = random_matrix<T>(m, k, static_cast<std::uint64_t>(m + 100 * k));
    const Matrix<T> b = random_matrix<T>(k, n, static_cast<std::uint64_t>(n + 77 * k));
    hash = hash * 31 + hash_of(matmul(a, b, {}, execution).product);
  };
  for (const std::int64_t m : {1, 3, 4, 5, 11, 12, 13, 25, 48, 49, 65})
    for (const std::int64_t n : {1, 2, 7, 8, 15, 16, 17, 31, 33, 47, 69})
      for (const std::int64_t k : {1, 2, 15, 16, 17, 70}) add(m, n, k);
  for (const std::int64_t k : {255, 256, 257, 513, 1025}) add(13, 33, k);
  if (deep) add(200, 300, 600);
  return hash;
}

TEST(Matmul, StrictGivesOneHashOnAnyNumberOfThreadsAndInAnyInstructions) {
  const std::uint64_t single = sweep_hash<float>(1, true);
  const std::uint64_t twice = sweep_hash<double>(1, true);
  for (const int threads : {2, 3, 5, 8, 16}) {
    EXPECT_EQ(sweep_hash<float>(threads, true), single) << threads << " threads";
    EXPECT_EQ(sweep_hash<double>(threads, true), twice) << threads << " threads";
  }
  const std::uint64_t single_few = sweep_hash<float>(1, false);
  const std::uint64_t twice_few = sweep_hash<double>(1, false);
  for (const std::int64_t target : cpu::compiled_targets()) {
    const cpu::ForcedTarget forced(target);
    EXPECT_EQ(sweep_hash<float>(2, false), single_few) << hwy::TargetName(target);
    EXPECT_EQ(sweep_hash<double>(2, false), twice_few) << hwy::TargetName(target);
  }
}

/// Small and large matrices take different code paths. Products with few rows or columns and products with many rows
/// and columns also take different paths.
template <class T>
void compare_alone_and_among_others(std::int64_t many, std::int64_t k, double beta) {
  const std::int64_t among = 20;
  MatmulOptions options;
  options.alpha = beta == 0 ? 1 : -1.5;
  options.beta = beta;
  const Execution execution{.device = Device::cpu, .threads = 2};
  for (const bool columns : {false, true}) {
    Matrix<T> a = random_matrix<T>(columns ? many : among, k, 1);
    Matrix<T> b = random_matrix<T>(k, columns ? among : many, 2);
    a(0, k / 2) = std::numeric_limits<T>::infinity();
    b(k / 3, 0) = -std::numeric_limits<T>::quiet_NaN();
    const std::int64_t m = a.rows();
    const std::int64_t n = b.columns();
    Matrix<T> all = random_matrix<T>(m, n, 3);
    const Matrix<T> before = Matrix<T>::copy_of(all.view());
    matmul(a, b, options, MatmulMemory<T>{all.view()}, execution);
    for (const std::int64_t few : {1, 2, 3, 4, 5, 7, 8, 9}) {
      Matrix<T> part = Matrix<T>::copy_of(before.view());
      const std::int64_t rows = columns ? m : few;
      const std::int64_t of_row = columns ? few : n;
      matmul(MatmulView<const T>(a.data(), rows, k, k, 1), MatmulView<const T>(b.data(), k, of_row, n, 1), options,
             MatmulMemory<T>{MatmulView<T>(part.data(), rows, of_row, n, 1)}, execution);
      for (std::int64_t row = 0; row < rows; ++row)
        ASSERT_EQ(std::memcmp(&part(row, 0), &all(row, 0), static_cast<std::size_t>(of_row) * sizeof(T)), 0)
            << few << (columns ? " columns" : " rows") << ", row " << row << ", beta " << beta;
    }
  }
}

TEST(Matmul, AFewRowsOrColumnsHaveTheBitsThatTheyHaveAmongOthers) {
  for (const double beta : {0.0, 0.5}) {
    compare_alone_and_among_others<float>(37, 700, beta);
    compare_alone_and_among_others<double>(37, 700, beta);
    compare_alone_and_among_others<float>(2100, 2100, beta);
    compare_alone_and_among_others<double>(1100, 1500, beta);
  }
}

TEST(Matmul, RefusesMatricesThatDoNotFitEachOther) {
  const Matrix<float> a = random_matrix<float>(4, 6, 1);
  expect_usage([&] { matmul(a, a); }, "A (4 x 6) has 6 columns, and B (4 x 6) 4 rows");
  const MatmulView<const float> batch = MatmulView<const float>(a.data(), 2, 2, 2, 1).batch(3, 4);
  expect_usage([&] { matmul(batch, batch.batch(2, 4)); }, "batch of 3 matrices and B one of 2");
  EXPECT_EQ(matmul(batch, batch.batch(1, 0)).product.rows(), 6);
  EXPECT_EQ(matmul(batch.batch(1, 0), batch).product.rows(), 6);
  EXPECT_EQ(matmul(batch, batch).product.columns(), 2);
  MatmulOptions adds;
  adds.beta = 2;
  const Matrix<float> b = random_matrix<float>(6, 4, 2);
  expect_usage([&] { matmul(a, b, adds); }, "no C");
}

TEST(Matmul, RefusesAResultOverWhatIsRead) {
  Matrix<float> all = random_matrix<float>(6, 18, 3);
  const auto block = [&](std::int64_t column) { return MatrixView<float>(all.data() + column, 6, 6, 18); };
  const MatmulOptions options;
  EXPECT_NO_THROW(matmul(block(0), block(6), options, MatmulMemory<float>{block(12)})) << "they interleave";
  for (const std::int64_t column : {0, 3, 6, 9, 11})
    expect_usage([&] { matmul(block(0), block(6), options, MatmulMemory<float>{block(column)}); }, "overlaps");
  expect_usage(
      [&] { matmul(block(0), block(6), options, MatmulMemory<float>{MatmulView<float>(block(0)).transposed()}); },
      "overlaps");
}

TEST(Matmul, AnAccuracyIsThatOfTheVariant) {
  const Matrix<float> a = random_matrix<float>(4, 4, 1);
  const Matrix<double> wide = random_matrix<double>(4, 4, 1);
  MatmulOptions options;
  const auto with = [&](const char* variant) {
    return [&, variant] { matmul(a, a, options, Execution{.variant = variant}); };
  };
  options.accuracy = MatmulAccuracy::strict;
  EXPECT_NO_THROW(with("simd_packed")());
  expect_usage(with("openmp"), "one by one");
  options.accuracy = MatmulAccuracy::split;
  expect_usage(with("simd_packed"), "has the accuracy 'strict'");
  const Execution on_cpu{.device = Device::cpu};
  EXPECT_TRUE(tests::same_bits(matmul(a, a, options, on_cpu).product, matmul(a, a, {}, on_cpu).product));
  EXPECT_THROW(matmul(wide, wide, options), UnsupportedError);
  EXPECT_THROW(matmul_error_bound(MatmulAccuracy::fast, 10, 8), UnsupportedError);
}

TEST(Matmul, TheBoundGrowsByOneRoundingForEachBlock) {
  const double unit = std::ldexp(1.0, -24);
  EXPECT_DOUBLE_EQ(matmul_error_bound(MatmulAccuracy::strict, 1, 4), 3 * unit / (1 - 3 * unit));
  EXPECT_DOUBLE_EQ(matmul_error_bound(MatmulAccuracy::automatic, 512, 4), 259 * unit / (1 - 259 * unit));
  EXPECT_LT(matmul_error_bound(MatmulAccuracy::strict, 512, 8), 1e-13);
  expect_usage([] { matmul_error_bound(MatmulAccuracy::strict, -1, 4); }, "depth");
}

TEST(Matmul, OneOfFloatAndOneOfDoubleAreMultipliedInDouble) {
  const Matrix<float> a = random_matrix<float>(5, 7, 1);
  const Matrix<double> b = random_matrix<double>(7, 3, 2);
  Matrix<double> wide(5, 7);
  for (std::int64_t index = 0; index < 35; ++index) wide.data()[index] = double{a.data()[index]};
  const auto product = matmul(a, b);
  static_assert(std::is_same_v<decltype(product), const MatmulResult<double>>);
  EXPECT_TRUE(tests::same_bits(product.product, matmul(wide, b).product));
}

// A and B are in unreadable memory here. No step of the call may read them, not even the steps before the product.
TEST(Matmul, WhereAlphaIsZeroNeitherFactorIsReadInAnyTypes) {
  constexpr std::size_t page = 4096;
  void* const unreadable = mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(unreadable, MAP_FAILED);
  MatmulOptions options;
  options.alpha = 0;
  options.beta = 3;
  options.measure_error = true;
  const auto check = [&]<class A, class B>(A, B) {
    using T = std::common_type_t<A, B>;
    Matrix<T> c(4, 4);
    std::fill_n(c.data(), 16, T{2});
    const MatmulView<const A> a(static_cast<const A*>(unreadable), 4, 4, 4, 1);
    const MatmulView<const B> b(static_cast<const B*>(unreadable), 4, 4, 4, 1);
    // A and B are in unreadable memory. The limit leaves no memory for copies, because the call must not copy A and B.
    Execution execution{.device = Device::cpu, .threads = 1};
    execution.memory_limit =
        16 * sizeof(T) +
        matmul_memory({.rows = 4, .columns = 4, .depth = 4, .element_bytes = sizeof(T)}, options, execution).host;
    matmul(a, b, options, MatmulMemory<T>{c.view()}, execution);
    for (std::int64_t index = 0; index < 16; ++index) EXPECT_EQ(c.data()[index], T{6});
  };
  check(float{}, float{});
  check(double{}, double{});
  check(float{}, double{});
  check(double{}, float{});
  munmap(unreadable, page);
}

TEST(Matmul, ARepeatedMatrixIsWidenedOnce) {
  const Matrix<float> a = random_matrix<float>(50, 60, 1);
  const Matrix<double> b = random_matrix<double>(180, 4, 2);
  const MatmulView<const float> repeated = MatmulView<const float>(a.data(), 50, 60, 60, 1).batch(3, 0);
  const MatmulView<const double> batch = MatmulView<const double>(b.data(), 60, 4, 4, 1).batch(3, 240);
  Execution execution{.device = Device::cpu, .threads = 1};
  const std::uint64_t product = std::uint64_t{3} * 50 * 4 * 8;
  const std::uint64_t own =
      matmul_memory({.rows = 50, .columns = 4, .depth = 60, .batches = 3, .element_bytes = 8}, {}, execution).host;
  execution.memory_limit = product + own + std::uint64_t{50} * 60 * 8;
  const Matrix<double> mixed = matmul(repeated, batch, {}, execution).product;
  Matrix<double> wide(50, 60);
  for (std::int64_t index = 0; index < std::int64_t{50} * 60; ++index) wide.data()[index] = double{a.data()[index]};
  const MatmulView<const double> same = MatmulView<const double>(wide.data(), 50, 60, 60, 1).batch(3, 0);
  EXPECT_TRUE(tests::same_bits(mixed, matmul(same, batch).product));
  // The copy of `large` in double needs more memory than the rest of the job. The copy and the rest both count towards
  // the limit.
  const Matrix<float> large = random_matrix<float>(1000, 1000, 3);
  const Matrix<double> column = random_matrix<double>(1000, 1, 4);
  execution.memory_limit = std::uint64_t{1000 * 1000 + 1000} * 8 - 1;
  EXPECT_THROW(matmul(large, column, {}, execution), OutOfMemoryError);
  execution.memory_limit = std::uint64_t{2} * 1000 * 1000 * 8;
  EXPECT_NO_THROW(matmul(large, column, {}, execution));
  // Shapes are checked before anything is copied. A copy of `huge` would need more memory than exists.
  const float one = 1;
  const MatmulView<const float> huge(&one, std::int64_t{1} << 22, std::int64_t{1} << 22, 0, 0);
  expect_usage([&] { matmul(huge, b); }, "these numbers must be the same");
  expect_usage([&] { matmul(b, huge); }, "these numbers must be the same");
}

TEST(Matmul, MatricesOfABatchMayOverlap) {
  const Matrix<float> a = random_matrix<float>(9, 20, 1);
  const Matrix<float> b = random_matrix<float>(20, 6, 2);
  // In the first batch, each matrix begins one row below the previous matrix. In the second batch, each matrix begins
  // one column to the right of the previous matrix.
  const MatmulView<const float> below = MatmulView<const float>(a.data(), 5, 20, 20, 1).batch(4, 20);
  const MatmulView<const float> beside = MatmulView<const float>(b.data(), 20, 3, 6, 1).batch(4, 1);
  const Matrix<float> of_below = matmul(below, b).product;
  const Matrix<float> of_beside = matmul(a, beside).product;
  for (std::int64_t one = 0; one < 4; ++one) {
    const Matrix<float> first = matmul(MatmulView<const float>(&a(one, 0), 5, 20, 20, 1), b).product;
    const Matrix<float> second = matmul(a, MatmulView<const float>(&b(0, one), 20, 3, 6, 1)).product;
    EXPECT_EQ(std::memcmp(&of_below(one * 5, 0), first.data(), std::size_t{5} * 6 * sizeof(float)), 0);
    EXPECT_EQ(std::memcmp(&of_beside(one * 9, 0), second.data(), std::size_t{9} * 3 * sizeof(float)), 0);
  }
}

TEST(Matmul, MeasuresItsError) {
  const Matrix<float> a = random_matrix<float>(40, 300, 1);
  const Matrix<float> b = random_matrix<float>(300, 30, 2);
  MatmulOptions options;
  options.measure_error = true;
  const MatmulResult<float> result = matmul(a, b, options);
  double greatest = 0;
  for (std::int64_t row = 0; row < 40; ++row)
    for (std::int64_t column = 0; column < 30; ++column) {
      long double exact = 0;
      long double magnitude = 0;
      for (std::int64_t inner = 0; inner < 300; ++inner) {
        const long double term = static_cast<long double>(a(row, inner)) * b(inner, column);
        exact += term;
        magnitude += std::abs(term);
      }
      greatest = std::max(greatest, static_cast<double>(std::abs(result.product(row, column) - exact) / magnitude));
    }
  EXPECT_EQ(result.error.elements, 40 * 30);
  EXPECT_NEAR(result.error.greatest, greatest, greatest * 1e-6);
  EXPECT_GT(result.error.greatest, 0);
  EXPECT_LT(result.error.greatest, matmul_error_bound(MatmulAccuracy::strict, 300, 4));
}

TEST(Matmul, KeepsToItsMemory) {
  const Matrix<double> a = random_matrix<double>(300, 300, 1);
  Execution execution;
  execution.device = Device::cpu;
  execution.threads = 2;
  const std::uint64_t needed =
      matmul_memory({.rows = 300, .columns = 300, .depth = 300, .element_bytes = 8}, {}, execution).host;
  EXPECT_GT(needed, 0U);
  execution.memory_limit = needed + std::uint64_t{300} * 300 * 8;
  EXPECT_NO_THROW(matmul(a, a, {}, execution));
  execution.memory_limit = needed / 2;
  EXPECT_THROW(matmul(a, a, {}, execution), OutOfMemoryError);
  // If a result can never fit in memory, it is refused before any part of it is allocated.
  const double one = 1;
  const MatmulView<const double> column(&one, std::int64_t{1} << 24, 1, 0, 1);
  execution.memory_limit = 1 << 30;
  EXPECT_THROW(matmul(column, column.transposed(), {}, execution), OutOfMemoryError);
}

// With more than eight threads, a product with few or moderately many rows is divided by columns. Each thread may then
// have a private packed part of B.
template <class T>
void check_large_team() {
  for (const std::int64_t rows : {7, 45, 61, 150, 285, 300}) {
    const Matrix<T> a = random_matrix<T>(rows, 1100, 1);
    const Matrix<T> b = random_matrix<T>(1100, 901, 2);
    const auto product = [&](int threads) {
      return matmul(a, b, {}, Execution{.device = Device::cpu, .variant = "simd_packed", .threads = threads}).product;
    };
    const Matrix<T> right = product(1);
    for (const int threads : {4, 9, 16})
      EXPECT_TRUE(tests::same_bits(product(threads), right)) << rows << ", " << threads;
  }
}
TEST(Matmul, LargeTeamsHaveTheBitsOfOneThread) {
  check_large_team<float>();
  check_large_team<double>();
}

TEST(Matmul, ReportsWhatItDid) {
  const Matrix<float> a = random_matrix<float>(200, 200, 1);
  const RunReport report = matmul(a, a, {}, Execution{.device = Device::cpu, .threads = 2}).report;
  EXPECT_EQ(report.variant, "simd_packed");
  EXPECT_EQ(report.threads, 2);
  EXPECT_EQ(report.phases.back().name, "total");
}

}  // namespace
}  // namespace gradus::matmul_detail
