#include "pair_histogram/fold.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "core/column_ranges.hpp"
#include "core/exact_accumulator.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "pair_histogram/prepare.hpp"

namespace gradus::pair_histogram_detail {

namespace {

/// a + b as a rounded sum and what it lost, without error (Knuth's two-sum).
struct TwoSum {
  TwoSum(double a, double b) : sum(a + b) {
    const double added = sum - a;
    lost = (a - (sum - added)) + (b - added);
  }
  double sum;
  double lost = 0;
};

/// x - k * length for the whole number k that brings it to [low, low + length), rounded once to T.
template <class T>
T moved(double x, double low, double length) {
  const TwoSum offset(x, -low);
  const double remainder = std::fmod(offset.sum, length);  // exact
  if (offset.lost == 0) {
    // Nearly all points: the sums are exact, or only the last one is not and rounds to T.
    const TwoSum above(remainder, remainder < 0 ? length : 0);
    const TwoSum position(above.sum, low);
    const bool is_rounded_once = sizeof(T) == 8 ? above.lost == 0 || low == 0 : above.lost == 0 && position.lost == 0;
    if (is_rounded_once) return static_cast<T>(position.sum);
  }
  core::ExactAccumulator position;
  position.add(remainder);
  position.add(std::fmod(offset.lost, length));
  // Two remainders, each less than a length: at most two steps either way.
  while (position.sign() < 0) position.add(length);
  for (core::ExactAccumulator lower = position;; position = lower) {
    lower.add(-length);
    if (lower.sign() < 0) break;
  }
  position.add(low);
  return position.round<T>();
}

}  // namespace

template <class T>
Matrix<T> fold(MatrixView<const T> points, const char* what, const std::vector<double>& box,
               const std::vector<double>& origin, const std::stop_token& stop) {
  check_box(box, origin, points.columns());
  Matrix<T> folded = Matrix<T>::copy_of(points);
  for (std::int64_t row = 0; row < points.rows(); ++row) {
    // A coordinate may take microseconds where the box is tiny.
    if (row % 1024 == 0) core::honour_stop(stop, "stopped while folding the points into the box");
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
      // Rounding may carry it over a face; between the exact position and the number rounded to there is no other.
      if (!is_inside(value)) {
        const bool is_below = static_cast<double>(value) < low;
        value = std::nextafter(value, is_below ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest());
      }
      if (!is_inside(value))
        throw InputError(std::string(what) + ": the value in row " + std::to_string(row) + ", column " +
                         std::to_string(column) + " (counted from 0) cannot be moved into the periodic box: no " +
                         (sizeof(T) == 4 ? "float" : "double") + " near it lies between " + core::number_text(low) +
                         " and " + core::number_text(low + length));
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
