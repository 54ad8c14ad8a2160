#include "pair_histogram/simd/edge_table.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace gradus::pair_histogram_detail {

float rounded_down(double value) {
  const auto rounded = static_cast<float>(value);
  return rounded > value ? std::nextafter(rounded, 0.0F) : rounded;
}

float rounded_up(double value) {
  const auto rounded = static_cast<float>(std::min(value, 0x1p126));
  return rounded < value ? std::nextafter(rounded, std::numeric_limits<float>::infinity()) : rounded;
}

EdgeTable::EdgeTable(const std::vector<float>& reached, const std::vector<float>& passed, std::int64_t step,
                     std::int64_t most_intervals)
    : step_(static_cast<std::int32_t>(step)) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto first = std::ranges::upper_bound(passed, 0.0F) - passed.begin();  // edges at zero are always passed
  const auto edges = std::ssize(reached);
  const auto bits = [](float value) { return std::bit_cast<std::int32_t>(value); };
  const auto at = [](const std::vector<float>& values, std::ptrdiff_t edge) {
    return values[static_cast<std::size_t>(edge)];
  };
  const float least = at(reached, first) > 0 ? at(reached, first) : at(passed, first) / 2;
  for (int bits_left_out = 23;; --bits_left_out) {
    const std::int32_t begin = bits(least) >> bits_left_out;
    const std::int64_t intervals = std::int64_t{bits(passed.back()) >> bits_left_out} - begin + 1;
    if (intervals > most_intervals && !place_.empty()) break;
    intervals_ = intervals;
    shift_ = bits_left_out;
    base_ = begin;
    place_.clear();
    low_.clear();
    high_.clear();
    separates_edges_ = true;
    std::ptrdiff_t edge = first;
    for (std::int64_t interval = 0; interval < intervals; ++interval) {
      const auto border = [&](std::int64_t number) {
        return std::bit_cast<float>(static_cast<std::int32_t>((base_ + number) << shift_));
      };
      const float begins = interval == 0 ? 0 : border(interval);
      const float ends = interval + 1 == intervals ? infinity : border(interval + 1);
      while (edge < edges && at(passed, edge) <= begins) ++edge;
      const bool has_edge = edge < edges && at(reached, edge) < ends;
      const bool has_more = has_edge && edge + 1 < edges && at(reached, edge + 1) < ends;
      separates_edges_ = separates_edges_ && !has_more;
      place_.push_back(static_cast<std::int32_t>(edge * step));
      low_.push_back(!has_edge ? infinity : has_more ? -infinity : at(reached, edge));
      high_.push_back(!has_edge || has_more ? infinity : at(passed, edge));
    }
    if (separates_edges_ || shift_ == 8) break;
  }
  const auto room = static_cast<std::size_t>(std::max(intervals_, intervals_in_registers));
  place_.resize(room);
  low_.resize(room);
  high_.resize(room);
}

EdgeTableView EdgeTable::view() const {
  return {.place = place_.data(),
          .low = low_.data(),
          .high = high_.data(),
          .base = base_,
          .last = static_cast<std::int32_t>(intervals_) - 1,
          .step = step_,
          .shift = shift_};
}

}  // namespace gradus::pair_histogram_detail
