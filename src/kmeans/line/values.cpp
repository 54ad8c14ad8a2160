#include "kmeans/line/values.hpp"

#include <array>
#include <bit>
#include <limits>
#include <string_view>
#include <utility>

#include "core/exact_accumulator.hpp"
#include "core/stop.hpp"
#include "cpu/memory.hpp"
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

template <class Vector>
void reserve_large(Vector& vector, std::size_t size) {
  vector.reserve(size);
  cpu::prefer_large_pages(vector.data(), size * sizeof(vector[0]));
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
  std::vector<Key> sorted;
  reserve_large(sorted, keys.size());
  sorted.resize(keys.size());
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
  reserve_large(keys, static_cast<std::size_t>(points.rows()));
  line.weights.reserve(static_cast<std::size_t>(weights.size()));
  for (std::int64_t row = 0; row < points.rows(); ++row) {
    if (!weights.empty()) {
      if (!(weights[row] > 0)) continue;
      line.weights.push_back(static_cast<double>(weights[row]));
    }
    keys.push_back(key_of(points(row, 0)));
  }
  sort_keys(keys, line.weights, stop);
  reserve_large(line.values, keys.size());
  reserve_large(line.first, keys.size() + 1);
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

void ranges_of(const std::vector<double>& starts, const double* values, std::int64_t count, std::int32_t* labels) {
  // Independent searches hide the time that each load takes.
  for (std::int64_t first = 0; first < count; first += values_together) {
    std::array<const double*, values_together> start;
    start.fill(starts.data());
    for (std::size_t many = starts.size(); many > 1; many -= many / 2)  // without branches that depend on the value
      for (std::size_t index = 0; index < values_together; ++index)
        start[index] += start[index][many / 2] <= values[first + static_cast<std::int64_t>(index)] ? many / 2 : 0;
    for (std::int64_t index = first; index < std::min(first + values_together, count); ++index)
      labels[index] = static_cast<std::int32_t>(start[static_cast<std::size_t>(index - first)] - starts.data());
  }
}

LineSums::LineSums(const LineValues& line, const std::stop_token& stop) : line_(line) {
  const std::int64_t groups = line.groups();
  const double largest = std::max(std::abs(line.values.front()), std::abs(line.values.back()));
  scale_ = std::ldexp(1.0, -1 - core::exponent_above(largest, -1000));
  if (line.weights.empty()) {
    origin_ = std::ranges::upper_bound(line.first, line.first.back() / 2) - line.first.begin() - 1;
    weight_of_origin_ = {weight(origin_), 0};
  } else {
    const double scale = std::ldexp(1.0, -core::exponent_above(*std::ranges::max_element(line.weights), -1000));
    reserve_large(weights_, static_cast<std::size_t>(groups));
    double total = 0;
    for (std::int64_t group = 0; group < groups; ++group) {
      if (group % core::operations_between_polls == 0) core::honour_stop(stop, while_sorting);
      core::TwoDoubles sum;
      for (auto member = line.first[static_cast<std::size_t>(group)];
           member < line.first[static_cast<std::size_t>(group) + 1]; ++member)
        sum = plus(sum, {line.weights[static_cast<std::size_t>(member)] * scale, 0});
      weights_.push_back(sum);
      total += sum.high;
    }
    double before = 0;
    while (origin_ + 1 < groups && (before += weight(origin_)) < total / 2) ++origin_;
    weight_of_origin_ = weights_[static_cast<std::size_t>(origin_)];
  }
  origin_value_ = line.values[static_cast<std::size_t>(origin_)] * scale_;

  reserve_large(nodes_, static_cast<std::size_t>(groups / spacing + 2));
  nodes_.resize(static_cast<std::size_t>(groups / spacing + 2));
  const auto renormalize = [](Sums& sums) {
    sums = {renormalized(sums.weight), renormalized(sums.sum), renormalized(sums.squares)};
  };
  for (const std::int64_t side : {1, -1}) {
    Sums sums;
    std::int64_t position = side > 0 ? origin_ + 1 : origin_;
    for (;; position += side) {
      if (position % spacing == 0) {
        if (position % core::operations_between_polls == 0) core::honour_stop(stop, while_sorting);
        renormalize(sums);
        nodes_[static_cast<std::size_t>(position / spacing)] = sums;
      }
      if (position == (side > 0 ? groups : 0)) break;
      add(sums, side > 0 ? position : position - 1, static_cast<double>(side));
    }
    if (side < 0) continue;
    renormalize(sums);
    for (auto place = static_cast<std::size_t>(position / spacing + 1); place < nodes_.size(); ++place)
      nodes_[place] = sums;
  }
  // Each term and each addition has a relative error of at most 2^-100. A mean is not farther from the origin than the
  // values. A cost therefore has at most six times the error of its weight, times the square of the largest offset.
  unit_ = (static_cast<double>(line.first.back()) + 64) * 0x1p-97;
}

/// Adds a group. The low parts are added without renormalizing them, which is faster, but in short runs, so that they
/// stay small.
inline void LineSums::add(Sums& sums, std::int64_t group, double sign) const {
  const auto plus_term = [&](core::TwoDoubles& sum, core::TwoDoubles term) {
    const core::TwoDoubles high = two_sum(sum.high, sign * term.high);
    sum = {high.high, sum.low + (high.low + sign * term.low)};
  };
  const auto index = static_cast<std::size_t>(group);
  const core::TwoDoubles offset = two_sum(line_.values[index] * scale_, -origin_value_);
  const core::TwoDoubles weight =
      !weights_.empty() ? weights_[index] : core::TwoDoubles{1.0 * (line_.first[index + 1] - line_.first[index]), 0};
  const bool is_one = weight.high == 1 && weight.low == 0;
  const core::TwoDoubles product = is_one ? offset : times(offset, weight);
  plus_term(sums.weight, weight);
  plus_term(sums.sum, product);
  plus_term(sums.squares, times(product, offset));
}

LineNode LineSums::node(std::int64_t position) const {
  const bool behind = position > origin_;
  Sums sums;
  std::int64_t from = (behind ? position : position + spacing - 1) / spacing * spacing;
  if ((from > origin_) == behind) sums = nodes_[static_cast<std::size_t>(from / spacing)];
  else from = behind ? origin_ + 1 : origin_;
  for (; from != position; from += behind ? 1 : -1) add(sums, behind ? from : from - 1, behind ? 1 : -1);
  return {static_cast<std::int32_t>(position), renormalized(sums.weight), renormalized(sums.sum),
          renormalized(sums.squares)};
}

LineSums::Sums LineSums::between(const LineNode& a, const LineNode& b) const {
  const core::TwoDoubles weight = minus(b.weight, a.weight);
  return {origin_weight(a, b) > 0 ? plus(weight, weight_of_origin_) : weight, minus(b.sum, a.sum),
          minus(b.squares, a.squares)};
}

double LineSums::slack(std::int64_t first, std::int64_t last) const {
  if (last - first == 1) return 0;  // a group has no cost
  const double reach = std::max(std::abs(offset(first)), std::abs(offset(last - 1)));
  return unit_ * reach * reach * weight_about(first, last) + least_slack;
}

core::TwoDoubles LineSums::precise_cost(const LineNode& a, const LineNode& b) const {
  if (b.position - a.position == 1) return {};
  const auto [weight, sum, squares] = between(a, b);
  if (!(weight.high > least_weight)) return {};
  const core::TwoDoubles cost = minus(squares, over(times(sum, sum), weight));
  if (!(cost.high > 0)) return {};
  return cost.high > squares.high ? squares : cost;
}

std::int32_t LineSums::widest_gap(std::int32_t first, std::int32_t last) const {
  const double* const values = line_.values.data();
  std::int32_t widest = last;
  for (std::int32_t at = first; at < last; ++at)
    if (values[at] - values[at - 1] > values[widest] - values[widest - 1]) widest = at;
  return widest;
}

LineMoments LineSums::moments(std::int64_t first, std::int64_t last, std::int64_t about) const {
  const auto [weight, sum, squares] = between(node(first), node(last));
  const core::TwoDoubles origin = two_sum(line_.values[static_cast<std::size_t>(about)] * scale_, -origin_value_);
  const core::TwoDoubles moved = minus(sum, times(origin, weight));
  return {weight.high, moved.high, std::max(minus(squares, times(origin, plus(sum, moved))).high, 0.0)};
}

LineMean LineSums::mean(std::int64_t first, std::int64_t last) const {
  const auto [weight, sum, squares] = between(node(first), node(last));
  const core::TwoDoubles mean = plus(over(sum, weight), {origin_value_, 0});
  const double reach = std::max(std::abs(offset(first)), std::abs(offset(last - 1)));
  const double error = (unit_ * reach * weight_about(first, last) + least_slack) / weight.high +
                       0x1p-95 * (reach + std::abs(origin_value_));
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
