// The values of a column, sorted, with sums from which the cost of any range of values follows in constant time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stop_token>
#include <vector>

#include "core/exact_sum.hpp"
#include "gradus/array.hpp"

namespace gradus::kmeans_detail {

/// The values of positive weight, ascending. Equal values form one group, and so do -0 and 0.
struct LineValues {
  std::vector<double> values;       ///< the m different values
  std::vector<std::int32_t> first;  ///< m + 1: position in the sorted order of the first member of each group
  std::vector<double> weights;      ///< weight of each member in the sorted order; empty: 1 each

  std::int64_t groups() const { return std::ssize(values); }
};

/// Sorts the rows of an n x 1 matrix. All values are finite, and at least one weight is positive.
template <class T>
LineValues sorted_line(MatrixView<const T> points, VectorView<const T> weights, const std::stop_token& stop);

/// Sets labels[index] to the number of the last range that starts at or before values[index], or to 0. The first values
/// of the ranges ascend. The values are read up to a multiple of `values_together`.
inline constexpr std::int64_t values_together = 8;
void ranges_of(const std::vector<double>& starts, const double* values, std::int64_t count, std::int32_t* labels);

/// The cost of a range of groups: its weighted sum of squared distances to its mean, in the units of LineSums.
struct LineCost {
  double cost = 0;
  double squares = 0;  ///< sum of the squared offsets from the origin, which scales the rounding errors of `cost`
};

/// The mean of a range of groups, as a pair of doubles, and a bound of its error.
struct LineMean {
  core::TwoDoubles value;
  double error = 0;
};

/// Sums over a range of groups: weights, and weighted offsets from some value and their squares.
struct LineMoments {
  double weight = 0;
  double sum = 0;
  double squares = 0;

  void add(double of_weight, double offset) {
    weight += of_weight;
    sum += of_weight * offset;
    squares += of_weight * offset * offset;
  }
};

/// Sums over the groups between a position and the origin of LineSums, as pairs of doubles. They are negative before
/// the origin.
struct LineNode {
  std::int32_t position = 0;
  core::TwoDoubles weight;
  core::TwoDoubles sum;
  core::TwoDoubles squares;
};

/// Sums over ranges of groups. Values are scaled by a power of two to at most 1/2, and weights to at most 1. The sums
/// are of offsets from an origin, the weighted median, and start there, so that values far from the origin cause no
/// errors in sums near it. The weight of the origin is left out, so that it causes no errors either, however large it
/// is. Sums are stored for some positions, and the groups between them are added when needed.
class LineSums {
 public:
  static constexpr int spacing = 4;  ///< of the positions whose sums are stored

  LineSums(const LineValues& line, const std::stop_token& stop);

  std::int64_t groups() const { return line_.groups(); }

  LineNode node(std::int64_t position) const;

  /// Returns the cost of the groups between two positions. The error is at most 2^-49 `squares` + slack().
  LineCost cost(const LineNode& a, const LineNode& b) const {
    if (b.position - a.position == 1) return {};
    const double weight = (b.weight.high - a.weight.high) + (b.weight.low - a.weight.low) + origin_weight(a, b);
    const double sum = (b.sum.high - a.sum.high) + (b.sum.low - a.sum.low);
    const double squares = (b.squares.high - a.squares.high) + (b.squares.low - a.squares.low);
    return {weight > least_weight ? std::clamp(squares - sum * sum / weight, 0.0, std::max(squares, 0.0)) : 0, squares};
  }

  /// Returns the same cost as a pair of doubles. The error is at most 2^-95 `squares` + slack().
  core::TwoDoubles precise_cost(const LineNode& a, const LineNode& b) const;

  /// Returns a bound of the errors of a cost that come from the sums.
  double slack(std::int64_t first, std::int64_t last) const;

  /// Returns the weight of a group, with a relative error of at most 2^-53.
  double weight(std::int64_t group) const {
    const auto index = static_cast<std::size_t>(group);
    return line_.weights.empty() ? line_.first[index + 1] - line_.first[index] : weights_[index].high;
  }
  double weight(std::int64_t first, std::int64_t last) const { return between(node(first), node(last)).weight.high; }

  /// Returns the difference of two values.
  double extent(std::int64_t from, std::int64_t to) const {
    return (line_.values[static_cast<std::size_t>(to)] - line_.values[static_cast<std::size_t>(from)]) * scale_;
  }

  /// Returns the position from `first` to `last` behind the widest gap between values.
  std::int32_t widest_gap(std::int32_t first, std::int32_t last) const;

  /// Returns the sums of the groups first to last - 1, with offsets from the value of the group `about`.
  LineMoments moments(std::int64_t first, std::int64_t last, std::int64_t about) const;

  LineMean mean(std::int64_t first, std::int64_t last) const;

  std::int64_t origin() const { return origin_; }

 private:
  struct Sums {
    core::TwoDoubles weight;
    core::TwoDoubles sum;
    core::TwoDoubles squares;
  };

  Sums between(const LineNode& a, const LineNode& b) const;
  void add(Sums& sums, std::int64_t group, double sign) const;
  double offset(std::int64_t group) const {
    return line_.values[static_cast<std::size_t>(group)] * scale_ - origin_value_;
  }
  double origin_weight(const LineNode& a, const LineNode& b) const {
    return a.position <= origin_ && origin_ < b.position ? weight_of_origin_.high : 0;
  }
  /// Returns a bound of the weight from the origin to both ends of a range, without the weight of the origin.
  double weight_about(std::int64_t first, std::int64_t last) const {
    const auto to = [&](std::int64_t position) {
      const auto place = static_cast<std::size_t>(position / spacing);
      return std::max(std::abs(nodes_[place].weight.high), std::abs(nodes_[place + 1].weight.high));
    };
    return to(first) + to(last);
  }

  static constexpr double least_weight = 0x1p-900;
  static constexpr double least_slack = 0x1p-880;  ///< covers underflow, and ranges of at most the least weight

  const LineValues& line_;
  std::vector<Sums> nodes_;
  std::vector<core::TwoDoubles> weights_;  ///< of the groups; empty: numbers of members
  double scale_ = 1;
  std::int64_t origin_ = 0;  ///< a group
  double origin_value_ = 0;  ///< scaled
  core::TwoDoubles weight_of_origin_;
  double unit_ = 0;  ///< relative error of the sums
};

/// Returns the mean of the groups first to last - 1, rounded once.
template <class T>
T rounded_mean(const LineValues& line, const LineSums& sums, std::int64_t first, std::int64_t last);

}  // namespace gradus::kmeans_detail
