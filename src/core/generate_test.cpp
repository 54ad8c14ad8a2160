// Tests that generated points have the defined bits, with any number of threads and however the points are divided into
// blocks.
#include "core/generate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>

namespace gradus::core {
namespace {

template <class T>
Matrix<T> make(const PointSpecification& specification, std::int64_t rows, std::int64_t columns, int threads) {
  Matrix<T> points(rows, columns);
  generate_points(specification, 0, points.view(), threads);
  return points;
}

template <class T>
bool same_bits(const Matrix<T>& a, const T* b) {
  return std::memcmp(a.data(), b, static_cast<std::size_t>(a.rows() * a.columns()) * sizeof(T)) == 0;
}

#if defined(__GLIBC__)
TEST(Generate, LabRandomIsRandROfGlibc) {
  for (std::uint64_t step = 0; step < 200000; ++step) {
    const auto seed = static_cast<std::uint32_t>(step < 100000 ? step : step * 0x9E3779B97F4A7C15u >> 32);
    std::uint32_t ours = seed;
    unsigned theirs = seed;
    for (int draw = 0; draw < 3; ++draw) {
      ASSERT_EQ(lab_random(ours), rand_r(&theirs)) << "seed " << seed << ", draw " << draw;
      ASSERT_EQ(ours, theirs) << "seed " << seed << ", draw " << draw;
    }
  }
}

TEST(Generate, LabPointsAreThoseOfTheLaboratory) {
  const std::int64_t rows = 5000;
  const std::int64_t columns = 16;
  const Matrix<float> singles = make<float>({.kind = Generator::lab_points}, rows, columns, 2);
  const Matrix<double> doubles = make<double>({.kind = Generator::lab_points}, rows, columns, 3);
  for (std::int64_t row = 0; row < rows; ++row) {
    auto seed = static_cast<unsigned>(row);
    for (std::int64_t column = 0; column < columns; ++column) {
      const float expected = rand_r(&seed) / (float)RAND_MAX * 10;
      ASSERT_EQ(singles(row, column), expected) << row << ", " << column;
      ASSERT_EQ(doubles(row, column), static_cast<double>(expected)) << row << ", " << column;
    }
  }
}
#endif

// The expected numbers are constants, so the test does not call rand_r() and also passes on systems with a different
// rand_r().
TEST(Generate, LabPointsGolden) {
  std::uint32_t state = 0;
  EXPECT_EQ(lab_random(state), 1012484);
  state = 1;
  EXPECT_EQ(lab_random(state), 476707713);
}

// The expected numbers come from a C program on glibc 2.36: srand(seed), then rand().
TEST(Generate, LabSequenceIsThatOfTheCLibrary) {
  LabSequence sequence(1);
  EXPECT_EQ(sequence.next(), 1804289383);
  EXPECT_EQ(sequence.next(), 846930886);
  EXPECT_EQ(sequence.next(), 1681692777);
  for (int skipped = 3; skipped < 1000; ++skipped) sequence.next();
  EXPECT_EQ(sequence.next(), 981914693);
  EXPECT_EQ(LabSequence(0).next(), 1804289383);
  EXPECT_EQ(LabSequence(4294967295u).next(), 254925627);
}

TEST(Generate, LabAtomsAreThePublishedOnes) {
  const Matrix<double> points = make<double>({.kind = Generator::lab_atoms}, 2, 3, 1);
  EXPECT_EQ(points(0, 0), 19324.31749455832);
  EXPECT_EQ(points(0, 1), 9070.8073168391402);
  EXPECT_EQ(points(0, 2), 18011.282146447935);
}

TEST(Generate, SameBitsForAnyThreadsAndAnyCut) {
  for (const Generator kind : {Generator::uniform, Generator::blobs, Generator::lab_points, Generator::lab_atoms}) {
    const PointSpecification specification{.kind = kind, .seed = 7, .low = -3, .high = 5};
    const Matrix<double> whole = make<double>(specification, 1001, 5, 1);
    for (const int threads : {2, 3, 7})
      EXPECT_TRUE(same_bits(make<double>(specification, 1001, 5, threads), whole.data()));
    Matrix<double> part(400, 5);
    generate_points(specification, 601, part.view(), 2);
    EXPECT_TRUE(same_bits(part, whole.row(601))) << to_string(kind);
  }
}

TEST(Generate, SeedsGiveDifferentPoints) {
  for (const Generator kind : {Generator::uniform, Generator::blobs}) {
    const Matrix<float> one = make<float>({.kind = kind, .seed = 1}, 10, 2, 1);
    EXPECT_FALSE(same_bits(make<float>({.kind = kind, .seed = 2}, 10, 2, 1), one.data())) << to_string(kind);
  }
}

TEST(Generate, UniformFillsItsRange) {
  const Matrix<double> points = make<double>({.kind = Generator::uniform, .low = -2, .high = 6}, 100000, 1, 2);
  double sum = 0;
  double lowest = 100;
  double highest = -100;
  for (std::int64_t row = 0; row < points.rows(); ++row) {
    sum += points(row, 0);
    lowest = std::min(lowest, points(row, 0));
    highest = std::max(highest, points(row, 0));
  }
  EXPECT_GE(lowest, -2);
  EXPECT_LT(lowest, -1.99);
  EXPECT_LT(highest, 6);
  EXPECT_GT(highest, 5.99);
  EXPECT_NEAR(sum / 100000, 2, 0.04);  // the tolerance is five standard errors
}

TEST(Generate, BlobsHaveTheirSpreadAndCentres) {
  const PointSpecification specification{.kind = Generator::blobs, .seed = 3, .clusters = 1, .spread = 0.25};
  const Matrix<double> points = make<double>(specification, 100000, 2, 2);
  for (std::int64_t column = 0; column < 2; ++column) {
    double sum = 0;
    double squares = 0;
    for (std::int64_t row = 0; row < points.rows(); ++row) sum += points(row, column);
    const double mean = sum / 100000;
    for (std::int64_t row = 0; row < points.rows(); ++row) squares += std::pow(points(row, column) - mean, 2);
    EXPECT_NEAR(std::sqrt(squares / 100000), 0.25, 0.005);
    EXPECT_GE(mean, -0.01);
    EXPECT_LE(mean, 10.01);
  }
  const PointSpecification exact{.kind = Generator::blobs, .seed = 3, .clusters = 4, .spread = 0};
  const Matrix<double> centres = make<double>(exact, 1000, 1, 2);
  EXPECT_EQ(std::set<double>(centres.data(), centres.data() + 1000).size(), 4u);
}

}  // namespace
}  // namespace gradus::core
