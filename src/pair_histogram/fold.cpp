#include "pair_histogram/fold.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "core/column_ranges.hpp"
#include "core/exact_accumulator.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "pair_histogram/cell.hpp"
#include "pair_histogram/prepare.hpp"

namespace gradus::pair_histogram_detail {

namespace {

constexpr const char* while_folding = "stopped while folding the points into the box";

/// The rounded sum a + b, and the exact value of its rounding error (Knuth's two-sum).
struct TwoSum {
  TwoSum(double a, double b) : sum(a + b) {
    const double added = sum - a;
    lost = (a - (sum - added)) + (b - added);
  }
  double sum;
  double lost = 0;
};

/// Returns x - k * length, rounded once to T. The integer k is such that x - k * length is in [low, low + length).
template <class T>
T moved(double x, double low, double length) {
  const TwoSum offset(x, -low);
  const double remainder = std::fmod(offset.sum, length);  // exact
  if (offset.lost == 0) {
    // This fast path serves nearly all points. The result is rounded only once if both sums are exact, or if T is
    // double and one of the two sums is exact.
    const TwoSum above(remainder, remainder < 0 ? length : 0);
    const TwoSum position(above.sum, low);
    const bool is_rounded_once = sizeof(T) == 8 ? above.lost == 0 || low == 0 : above.lost == 0 && position.lost == 0;
    if (is_rounded_once) return static_cast<T>(position.sum);
  }
  core::ExactAccumulator position;
  position.add(remainder);
  position.add(std::fmod(offset.lost, length));
  // Both remainders are shorter than `length`, so at most two steps are needed in either direction.
  while (position.sign() < 0) position.add(length);
  for (core::ExactAccumulator lower = position;; position = lower) {
    lower.add(-length);
    if (lower.sign() < 0) break;
  }
  position.add(low);
  return position.round<T>();
}

template <class T>
[[noreturn]] void throw_unmovable(const char* what, std::int64_t row, std::int64_t column, double low, double high) {
  throw InputError(about(what) + "the value in row " + std::to_string(row) + ", column " + std::to_string(column) +
                       " (counted from 0) cannot be moved into the periodic box: no " +
                       (sizeof(T) == 4 ? "float" : "double") + " near it is between " + core::number_text(low) +
                       " and " + core::number_text(high),
                   {.code = error_code::outside_box, .row = row, .column = column});
}

/// Folds points into a triclinic cell. Points outside the box around the cell are moved by lattice vectors.
template <class T>
class CellFolding {
 public:
  CellFolding(const std::vector<double>& box, const std::vector<double>& origin, const char* what)
      : cell_(box), what_(what) {
    std::copy(origin.begin(), origin.end(), origin_.begin());
    bounds_ = bounding_box(cell_, origin_);
  }

  bool is_inside(std::size_t axis, T value) const {
    return static_cast<double>(value) >= bounds_.low[axis] &&
           static_cast<double>(value) - bounds_.low[axis] <= bounds_.length[axis];
  }

  void move(T* row, std::int64_t number) const {
    if (is_inside(0, row[0]) && is_inside(1, row[1]) && is_inside(2, row[2])) return;
    std::array<double, 3> place{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      place[axis] = static_cast<double>(row[axis]);
      if (!(std::abs(place[axis]) <= core::largest_magnitude))
        core::throw_bad_value(what_, number, static_cast<std::int64_t>(axis), place[axis]);
    }
    const std::array<double, 3> given = place;
    std::array<double, 3> whole{};
    // Far from the cell, the integer parts of the fractions may be inaccurate. Each round improves them.
    constexpr int most_rounds = 8;
    for (int round = 0; round < most_rounds; ++round) {
      bool is_moved = false;
      std::array<double, 3> more{};
      for (std::size_t vector = 0; vector < 3; ++vector) {
        const double* const share = cell_.reciprocal[vector];
        more[vector] = std::floor((place[0] - origin_[0]) * share[0] + (place[1] - origin_[1]) * share[1] +
                                  (place[2] - origin_[2]) * share[2]);
        is_moved = is_moved || more[vector] != 0;
        whole[vector] += more[vector];
        constexpr double most = 0x1p50;  // larger integers might be rounded in the sums
        if (!(std::abs(whole[vector]) <= most))
          throw InputError(
              about(what_) + "row " + std::to_string(number) + " (counted from 0) is more than 2^50 cells away",
              {.code = error_code::outside_box, .row = number});
      }
      if (!is_moved) break;
      for (std::size_t axis = 0; axis < 3; ++axis) place[axis] = exact(given, whole, axis).template round<double>();
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      T value = exact(given, whole, axis).template round<T>();
      // Rounding, including the rounding of fractions, may leave the value slightly outside a face.
      const double low = bounds_.low[axis];
      const double high = low + bounds_.length[axis];
      constexpr double little = 1e-9;
      if (!is_inside(axis, value) && static_cast<double>(value) > low - little * bounds_.length[axis] &&
          static_cast<double>(value) < high + little * bounds_.length[axis]) {
        value = static_cast<T>(static_cast<double>(value) < low ? low : high);
        for (int step = 0; step < 2 && !is_inside(axis, value); ++step)
          value = std::nextafter(value, static_cast<T>(low + bounds_.length[axis] / 2));
      }
      if (!is_inside(axis, value)) throw_unmovable<T>(what_, number, static_cast<std::int64_t>(axis), low, high);
      row[axis] = value;
    }
  }

 private:
  core::ExactAccumulator exact(const std::array<double, 3>& given, const std::array<double, 3>& whole,
                               std::size_t axis) const {
    core::ExactAccumulator sum;
    sum.add(given[axis]);
    for (std::size_t vector = 0; vector < 3; ++vector) sum.add_product(-whole[vector], cell_.vectors[vector][axis]);
    return sum;
  }

  Cell cell_;
  const char* what_;
  std::array<double, 3> origin_{};
  BoundingBox bounds_;
};

}  // namespace

template <class T>
Matrix<T> fold(MatrixView<const T> points, const char* what, const std::vector<double>& box,
               const std::vector<double>& origin, const std::stop_token& stop) {
  check_box(box, origin, points.columns());
  Matrix<T> folded = Matrix<T>::copy_of(points);
  // The number of rows between polls of the stop request. Moving one coordinate may take microseconds if the box is
  // tiny.
  constexpr std::int64_t rows_between_looks = 1024;
  if (is_triclinic(box)) {
    const CellFolding<T> cell(box, origin, what);
    for (std::int64_t row = 0; row < points.rows(); ++row) {
      if (row % rows_between_looks == 0) core::honour_stop(stop, while_folding);
      cell.move(folded.row(row), row);
    }
    return folded;
  }
  for (std::int64_t row = 0; row < points.rows(); ++row) {
    if (row % rows_between_looks == 0) core::honour_stop(stop, while_folding);
    for (std::int64_t column = 0; column < points.columns(); ++column) {
      const double length = box[static_cast<std::size_t>(column)];
      const double low = origin.empty() ? 0 : origin[static_cast<std::size_t>(column)];
      const auto is_inside = [&](T value) {
        return static_cast<double>(value) >= low && static_cast<double>(value) - low <= length;
      };
      const T given = points(row, column);
      if (is_inside(given)) continue;
      const auto x = static_cast<double>(given);
      if (!(std::abs(x) <= core::largest_magnitude)) core::throw_bad_value(what, row, column, x);
      T value = moved<T>(x, low, length);
      // Rounding may move the value across a face. The value then becomes the nearest T inside the box.
      if (!is_inside(value)) {
        const bool is_below = static_cast<double>(value) < low;
        value = std::nextafter(value, is_below ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest());
      }
      if (!is_inside(value)) throw_unmovable<T>(what, row, column, low, low + length);
      folded(row, column) = value;
    }
  }
  return folded;
}

template Matrix<float> fold(MatrixView<const float>, const char*, const std::vector<double>&,
                            const std::vector<double>&, const std::stop_token&);
template Matrix<double> fold(MatrixView<const double>, const char*, const std::vector<double>&,
                             const std::vector<double>&, const std::stop_token&);

}  // namespace gradus::pair_histogram_detail
