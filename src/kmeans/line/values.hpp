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

/// Sums over the groups before each position, as pairs of doubles. Values are scaled by a power of two to at most 1/2,
/// and weights to at most 1. The sums are of offsets from a value in the middle, and start there, so that values far
/// from the middle cause no errors in sums near it.
class LineSums {
 public:
  LineSums(const LineValues& line, const std::stop_token& stop);

  std::int64_t groups() const { return std::ssize(nodes_) - 1; }

  /// Returns the cost of the groups first to last - 1. The error is at most 2^-49 `squares` + slack(first, last).
  LineCost cost(std::int64_t first, std::int64_t last) const {
    if (last - first == 1) return {};
    const Node& a = nodes_[static_cast<std::size_t>(first)];
    const Node& b = nodes_[static_cast<std::size_t>(last)];
    const double weight = (b.weight.high - a.weight.high) + (b.weight.low - a.weight.low);
    const double sum = (b.sum.high - a.sum.high) + (b.sum.low - a.sum.low);
    const double squares = (b.squares.high - a.squares.high) + (b.squares.low - a.squares.low);
    return {weight > least_weight ? std::clamp(squares - sum * sum / weight, 0.0, std::max(squares, 0.0)) : 0, squares};
  }

  /// Returns the same cost as a pair of doubles. The error is at most 2^-95 `squares` + slack(first, last).
  core::TwoDoubles precise_cost(std::int64_t first, std::int64_t last) const;

  /// Returns a bound of the errors of a cost that come from the sums.
  double slack(std::int64_t first, std::int64_t last) const {
    const double reach = std::max(std::abs(offset(first)), std::abs(offset(last - 1)));
    return unit_ * reach * reach * weight_about(first, last) + least_slack;
  }

  double largest_slack() const { return largest_slack_; }

  /// Return sums over a range, and the difference of two values.
  double weight(std::int64_t first, std::int64_t last) const {
    const core::TwoDoubles a = nodes_[static_cast<std::size_t>(first)].weight;
    const core::TwoDoubles b = nodes_[static_cast<std::size_t>(last)].weight;
    return (b.high - a.high) + (b.low - a.low);
  }
  double squares(std::int64_t first, std::int64_t last) const {
    return nodes_[static_cast<std::size_t>(last)].squares.high - nodes_[static_cast<std::size_t>(first)].squares.high;
  }
  double extent(std::int64_t from, std::int64_t to) const {
    return (values_[static_cast<std::size_t>(to)] - values_[static_cast<std::size_t>(from)]) * scale_;
  }

  /// Returns the sums of the groups first to last - 1, with offsets from the value of the group `last`.
  LineMoments moments(std::int64_t first, std::int64_t last) const;

  LineMean mean(std::int64_t first, std::int64_t last) const;

 private:
  struct Node {
    core::TwoDoubles weight;
    core::TwoDoubles sum;
    core::TwoDoubles squares;
  };

  double offset(std::int64_t group) const { return values_[static_cast<std::size_t>(group)] * scale_ - origin_; }
  /// Returns a bound of the weight from the origin to both ends of a range.
  double weight_about(std::int64_t first, std::int64_t last) const {
    return std::abs(nodes_[static_cast<std::size_t>(first)].weight.high) +
           std::abs(nodes_[static_cast<std::size_t>(last)].weight.high);
  }

  static constexpr double least_weight = 0x1p-900;
  static constexpr double least_slack = 0x1p-880;  ///< covers underflow, and ranges of at most the least weight

  const std::vector<double>& values_;
  std::vector<Node> nodes_;
  double scale_ = 1;
  double origin_ = 0;  ///< scaled
  double largest_slack_ = 0;
  double unit_ = 0;  ///< relative error of the sums, times a factor for weights that cancel
};

/// Returns the mean of the groups first to last - 1, rounded once.
template <class T>
T rounded_mean(const LineValues& line, const LineSums& sums, std::int64_t first, std::int64_t last);

}  // namespace gradus::kmeans_detail
