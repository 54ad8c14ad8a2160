#include "kmeans/line/values.hpp"

#include <array>
#include <bit>
#include <limits>
#include <string_view>
#include <utility>

#include "core/exact_accumulator.hpp"
#include "core/stop.hpp"
#include "kmeans/line/pairs.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr std::string_view while_sorting = "stopped while sorting the values";

/// Keys order as unsigned integers like the numbers that they encode.
template <class T>
struct KeyOf;
template <>
struct KeyOf<float> {
  using Type = std::uint32_t;
};
template <>
struct KeyOf<double> {
  using Type = std::uint64_t;
};

template <class T>
typename KeyOf<T>::Type key_of(T value) {
  using Key = typename KeyOf<T>::Type;
  constexpr Key sign = Key{1} << (8 * sizeof(Key) - 1);
  const auto bits = std::bit_cast<Key>(value + T{0});  // -0 becomes 0
  return bits ^ ((bits & sign) != 0 ? ~Key{0} : sign);
}
template <class T>
T value_of(typename KeyOf<T>::Type key) {
  using Key = typename KeyOf<T>::Type;
  constexpr Key sign = Key{1} << (8 * sizeof(Key) - 1);
  return std::bit_cast<T>(key ^ ((key & sign) != 0 ? sign : ~Key{0}));
}

/// Sorts the keys, and the weights with them if there are any: a radix sort that skips digits in which all keys agree.
template <class Key>
void sort_keys(std::vector<Key>& keys, std::vector<double>& weights, const std::stop_token& stop) {
  constexpr int bits = 11;
  constexpr int digits = (8 * sizeof(Key) + bits - 1) / bits;
  constexpr Key mask = (Key{1} << bits) - 1;
  std::vector<std::array<std::uint32_t, mask + 1>> counts(digits);
  for (const Key key : keys)
    for (int digit = 0; digit < digits; ++digit)
      ++counts[static_cast<std::size_t>(digit)][key >> (bits * digit) & mask];
  std::vector<Key> sorted(keys.size());
  std::vector<double> sorted_weights(weights.size());
  for (int digit = 0; digit < digits; ++digit) {
    core::honour_stop(stop, while_sorting);
    std::array<std::uint32_t, mask + 1>& places = counts[static_cast<std::size_t>(digit)];
    if (places[keys.front() >> (bits * digit) & mask] == keys.size()) continue;
    std::uint32_t place = 0;
    for (std::uint32_t& count : places) place += std::exchange(count, place);
    for (std::size_t index = 0; index < keys.size(); ++index) {
      const std::uint32_t to = places[keys[index] >> (bits * digit) & mask]++;
      sorted[to] = keys[index];
      if (!weights.empty()) sorted_weights[to] = weights[index];
    }
    keys.swap(sorted);
    weights.swap(sorted_weights);
  }
}

}  // namespace

template <class T>
LineValues sorted_line(MatrixView<const T> points, VectorView<const T> weights, const std::stop_token& stop) {
  LineValues line;
  std::vector<typename KeyOf<T>::Type> keys;
  keys.reserve(static_cast<std::size_t>(points.rows()));
  line.weights.reserve(static_cast<std::size_t>(weights.size()));
  for (std::int64_t row = 0; row < points.rows(); ++row) {
    if (!weights.empty()) {
      if (!(weights[row] > 0)) continue;
      line.weights.push_back(static_cast<double>(weights[row]));
    }
    keys.push_back(key_of(points(row, 0)));
  }
  sort_keys(keys, line.weights, stop);
  line.values.reserve(keys.size());
  line.first.reserve(keys.size() + 1);
  for (std::size_t index = 0; index < keys.size(); ++index) {
    if (index > 0 && keys[index] == keys[index - 1]) continue;
    line.values.push_back(static_cast<double>(value_of<T>(keys[index])));
    line.first.push_back(static_cast<std::int32_t>(index));
  }
  line.first.push_back(static_cast<std::int32_t>(keys.size()));
  return line;
}

template LineValues sorted_line(MatrixView<const float>, VectorView<const float>, const std::stop_token&);
template LineValues sorted_line(MatrixView<const double>, VectorView<const double>, const std::stop_token&);

LineSums::LineSums(const LineValues& line, const std::stop_token& stop) : values_(line.values) {
  const std::int64_t groups = line.groups();
  nodes_.resize(static_cast<std::size_t>(groups + 1));
  const double largest = std::max(std::abs(line.values.front()), std::abs(line.values.back()));
  scale_ = std::ldexp(1.0, -1 - core::exponent_above(largest, -1000));
  const double weight_scale =
      line.weights.empty() ? 1 : std::ldexp(1.0, -core::exponent_above(*std::ranges::max_element(line.weights), -1000));
  // Each term and each addition has a relative error of at most 2^-100. Sums of weights other than counts may cancel,
  // which multiplies the error of a mean.
  unit_ = (static_cast<double>(line.first.back()) + 64) * (line.weights.empty() ? 0x1p-97 : 0x1p-86);
  const auto middle = std::ranges::upper_bound(line.first, line.first.back() / 2) - line.first.begin() - 1;
  origin_ = line.values[static_cast<std::size_t>(middle)] * scale_;

  const auto terms_of = [&](std::int64_t group, double sign) {
    const auto index = static_cast<std::size_t>(group);
    core::TwoDoubles weight{sign * (line.first[index + 1] - line.first[index]), 0};
    if (!line.weights.empty()) {
      weight = {};
      for (auto member = line.first[index]; member < line.first[index + 1]; ++member)
        weight = plus(weight, {sign * line.weights[static_cast<std::size_t>(member)] * weight_scale, 0});
    }
    const core::TwoDoubles offset = two_sum(line.values[index] * scale_, -origin_);
    const core::TwoDoubles product = times(offset, weight);
    return Node{weight, product, times(product, offset)};
  };
  // The low parts are added without renormalizing them, which is faster, but in short runs, so that they stay small.
  const auto plus_term = [](core::TwoDoubles sum, core::TwoDoubles term) {
    const core::TwoDoubles high = two_sum(sum.high, term.high);
    return core::TwoDoubles{high.high, sum.low + (high.low + term.low)};
  };
  const auto place_sums = [&](std::int64_t from, std::int64_t group, double sign) {
    if (group % core::operations_between_polls == 0) core::honour_stop(stop, while_sorting);
    Node sums = nodes_[static_cast<std::size_t>(from)];
    if (group % 16 == 0) sums = {renormalized(sums.weight), renormalized(sums.sum), renormalized(sums.squares)};
    const Node term = terms_of(group, sign);
    nodes_[static_cast<std::size_t>(2 * group + 1 - from)] = {
        plus_term(sums.weight, term.weight), plus_term(sums.sum, term.sum), plus_term(sums.squares, term.squares)};
  };
  for (std::int64_t group = middle; group < groups; ++group) place_sums(group, group, 1);
  for (std::int64_t group = middle; group-- > 0;) place_sums(group + 1, group, -1);
  largest_slack_ = unit_ * weight(0, groups) + least_slack;
}

core::TwoDoubles LineSums::precise_cost(std::int64_t first, std::int64_t last) const {
  if (last - first == 1) return {};
  const Node& a = nodes_[static_cast<std::size_t>(first)];
  const Node& b = nodes_[static_cast<std::size_t>(last)];
  const core::TwoDoubles weight = minus(b.weight, a.weight);
  const core::TwoDoubles sum = minus(b.sum, a.sum);
  const core::TwoDoubles squares = minus(b.squares, a.squares);
  if (!(weight.high > least_weight)) return {};
  const core::TwoDoubles cost = minus(squares, over(times(sum, sum), weight));
  if (!(cost.high > 0)) return {};
  return cost.high > squares.high ? squares : cost;
}

LineMoments LineSums::moments(std::int64_t first, std::int64_t last) const {
  const Node& a = nodes_[static_cast<std::size_t>(first)];
  const Node& b = nodes_[static_cast<std::size_t>(last)];
  const core::TwoDoubles origin = two_sum(values_[static_cast<std::size_t>(last)] * scale_, -origin_);
  const core::TwoDoubles weight = minus(b.weight, a.weight);
  const core::TwoDoubles sum = minus(b.sum, a.sum);
  const core::TwoDoubles moved = minus(sum, times(origin, weight));
  const core::TwoDoubles squares = minus(minus(b.squares, a.squares), times(origin, plus(sum, moved)));
  return {weight.high, moved.high, std::max(squares.high, 0.0)};
}

LineMean LineSums::mean(std::int64_t first, std::int64_t last) const {
  const Node& a = nodes_[static_cast<std::size_t>(first)];
  const Node& b = nodes_[static_cast<std::size_t>(last)];
  const core::TwoDoubles weight = minus(b.weight, a.weight);
  const core::TwoDoubles mean = plus(over(minus(b.sum, a.sum), weight), {origin_, 0});
  const double reach = std::max(std::abs(offset(first)), std::abs(offset(last - 1)));
  const double error =
      (unit_ * reach * weight_about(first, last) + least_slack) / weight.high + 0x1p-95 * (reach + std::abs(origin_));
  return {{mean.high / scale_, mean.low / scale_}, error / scale_};
}

template <class T>
T rounded_mean(const LineValues& line, const LineSums& sums, std::int64_t first, std::int64_t last) {
  const LineMean mean = sums.mean(first, last);
  const double lower = mean.value.high + (mean.value.low - mean.error);
  const double upper = mean.value.high + (mean.value.low + mean.error);
  if constexpr (sizeof(T) == sizeof(double)) {
    if (lower == upper && std::abs(lower) > 0x1p-900) return lower;
  } else {  // the next doubles enclose the mean
    const auto least = static_cast<T>(std::nextafter(lower, -std::numeric_limits<double>::infinity()));
    const auto most = static_cast<T>(std::nextafter(upper, std::numeric_limits<double>::infinity()));
    if (least == most && least != 0) return least;
  }
  core::ExactAccumulator sum;
  core::ExactAccumulator weight;
  for (std::int64_t group = first; group < last; ++group) {
    const auto index = static_cast<std::size_t>(group);
    for (auto member = line.first[index]; member < line.first[index + 1]; ++member) {
      const double one = line.weights.empty() ? 1 : line.weights[static_cast<std::size_t>(member)];
      sum.add_product(one, line.values[index]);
      weight.add(one);
    }
  }
  return sum.quotient<T>(weight);
}

template float rounded_mean(const LineValues&, const LineSums&, std::int64_t, std::int64_t);
template double rounded_mean(const LineValues&, const LineSums&, std::int64_t, std::int64_t);

}  // namespace gradus::kmeans_detail
