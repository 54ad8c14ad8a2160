// Tests that folding is exact. The expected numbers are x - k * length in rational arithmetic, rounded once.
#include "pair_histogram/fold.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gradus/error.hpp"

namespace gradus::pair_histogram_detail {
namespace {

template <class T>
struct Moved {
  T x;
  double low;
  double length;
  T to;
};

template <class T>
T folded(T x, double low, double length) {
  return fold(MatrixView<const T>(&x, 1, 1), "points", {length}, {low}, {})(0, 0);
}

template <class T>
void expect_all(const std::vector<Moved<T>>& all) {
  for (const auto& [x, low, length, to] : all)
    EXPECT_EQ(folded(x, low, length), to) << x << " into " << low << " + " << length;
}

TEST(Fold, MovesDoublesByWholeLengths) {
  expect_all<double>({
      {1.7, 0, 0.1, 0x1.9999999999990p-4},
      {3.4, 0, 0.1, 0x1.9999999999986p-4},
      {7.7, 0, 1.1, 0x1.1999999999998p+0},
      {-3.0, 0, 1.1, 0x1.3333333333338p-2},
      {5e15, 0, 0.7, 0x1.bcd6cd77d7c58p-3},
      {1e12, 0, 0.7, 0x1.3343d4acb457cp-2},
      {1e14 + 0.5, 0, 2.3, 0x1.01fa275092164p+0},
      {1e10 + 0.05, 0, 0.1, 0x1.9996d5fa0e000p-5},
      {3806400175678624.5, 0, 0.1, 0x1.6b532636c3a4cp-4},
      {0.05, 0, 1e-320, 0x0.00000000003d0p-1022},
      {-1e-300, 0, 1.0, 1.0},  // rounds to the upper face, which belongs to the box
      {0x1p499, -0.3, 0.7, 0x1.0025f2732ac80p-4},
      {-0x1p499, 12345.678, 0.001, 0x1.81cd6d4560419p+13},
      {20.00000000000002, -20.0, 40.0, -0x1.3fffffffffffap+4},
      {-20.00000000000002, -20.0, 40.0, 0x1.3fffffffffffap+4},
      {5e-324, 1.0, 3.0, 3.0},
      {9007199254740992.0, 0.1, 0.3, 0x1.ddddddddddddep-3},
      {1e17, 1e16, 7.7, 1e16},
  });
}

TEST(Fold, MovesFloatsByWholeLengths) {
  expect_all<float>({
      {1.7F, 0, 0.1, 0x1.99999ap-25F},
      {7.7F, 0, 1.1, 0x1.199996p+0F},
      {-3.0F, 0, 1.1, 0x1.333334p-2F},
      {1e20F, 0.5, 0.7, 0x1.dd0750p-1F},
      {-1e-30F, 0, 1.0, 1.0F},
      {16777216.0F, -0.1, 0.2, -0x1p-30F},
      {3.4e38F, 0, 2.5, 0x1.8p+0F},
  });
}

TEST(Fold, LeavesWhatIsInside) {
  for (const double x : {0.0, 0.05, 0.1}) EXPECT_EQ(folded(x, 0, 0.1), x);
  EXPECT_EQ(folded(2.5, 2.5, 1.0), 2.5);
  EXPECT_EQ(folded(3.5, 2.5, 1.0), 3.5);
}

TEST(Fold, EndsInsideWhateverTheBox) {
  for (int exponent = -320; exponent <= 150; ++exponent)
    for (const double x : {1.0, -1.0, 0.3, 7e11, -1e150}) {
      const double length = 1.7 * std::pow(10.0, exponent);
      if (!(length > 0 && length <= 0x1p500)) continue;
      const double low = -0.4 * length;
      const double to = folded(x, low, length);
      EXPECT_TRUE(to >= low && to - low <= length) << x << " into " << length << ": " << to;
    }
}

template <class E, class T>
void expect_error(T x, double low, double length, const std::string& says) {
  try {
    ADD_FAILURE() << "moved to " << folded(x, low, length);
  } catch (const E& error) {
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
  }
}

TEST(Fold, MovesByWholeVectorsOfACell) {
  const std::vector<double> cell{10.1, 0, 0, 3.3, 9.7, 0, -2.2, 4.4, 11.3};
  const auto moved = [&](std::vector<double> row) {
    const Matrix<double> result = fold(MatrixView<const double>(row.data(), 1, 3), "points", cell, {}, {});
    return std::vector<double>(result.data(), result.data() + 3);
  };
  EXPECT_EQ(moved({123.456, -77.7, 1e6}),
            (std::vector{0x1.44fdf3b648652p+3, 0x1.1ffffffff7c1fp+3, 0x1.9fffffffeeb74p+2}));
  EXPECT_EQ(moved({-1e12, 5.5, 3e11 + 0.25}),
            (std::vector{0x1.8ccc528d4b3f4p+2, 0x1.39994e263c91cp+2, 0x1.1ccc7dadc5308p+2}));
  EXPECT_EQ(moved({0.1, 0.2, -0.3}), (std::vector{0x1.fffffffffffffp+2, 0x1.2666666666667p+2, 0x1.6p+3}));
  EXPECT_EQ(moved({40, 1, 1}), (std::vector{0x1.3666666666667p+3, 1.0, 1.0}));
  // Points in the box around the cell do not move, whether or not they are in the cell.
  for (const std::vector<double>& row : {std::vector{-2.2, 0.0, 0.0}, {13.3, 14.0, 11.2}, {5.0, 5.0, 5.0}})
    EXPECT_EQ(moved(row), row);
  EXPECT_THROW(moved({1e300, 0, 0}), InputError);
  EXPECT_THROW(moved({1e100, 0, 0}), InputError);
  EXPECT_THROW(moved({std::nan(""), 0, 0}), InputError);
}

TEST(Fold, RefusesWhatHasNoPlace) {
  const double infinity = std::numeric_limits<double>::infinity();
  expect_error<InputError>(1e300, 0, 1, "too large");
  expect_error<InputError>(infinity, 0, 1, "row 0, column 0 (counted from 0) is infinite");
  expect_error<InputError>(std::nan(""), 0, 1, "is NaN");
  expect_error<InputError>(0.0F, 16777217.5, 0.25, "no float near it");
  expect_error<UsageError>(1.0, 0, 1e200, "at most 2^500");
  expect_error<UsageError>(1.0, 0, -1, "above zero");
  expect_error<UsageError>(1.0, 1e300, 1, "at most 2^500");
}

}  // namespace
}  // namespace gradus::pair_histogram_detail
