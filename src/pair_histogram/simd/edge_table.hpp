// A table that finds a value's place among edges without comparing it with each of them.
#pragma once

#include <cstdint>
#include <vector>

namespace gradus::pair_histogram_detail {

/// Tables of at most this many intervals fit in vector registers. All tables have at least this many elements.
constexpr std::int64_t intervals_in_registers = 32;

/// The bits of a non-negative float, without their lowest `shift` bits, number intervals of values. Each interval
/// contains at most one edge: values below `low` are before it, values from `high` on are past it, and values between
/// are too near. An interval with several edges has only values that are too near.
struct EdgeTableView {
  const std::int32_t* place = nullptr;  ///< number of edges before the interval, times `step`
  const float* low = nullptr;
  const float* high = nullptr;
  std::int32_t base = 0;  ///< number of the first interval; smaller values belong to it, too
  std::int32_t last = 0;  ///< index of the last interval; greater values belong to it, too
  std::int32_t step = 1;
  int shift = 0;
};

class EdgeTable {
 public:
  EdgeTable() = default;
  /// Edge k is certainly passed from `passed[k]` on, and certainly not reached below `reached[k]`. Makes the intervals
  /// so narrow that none contains two edges, unless this takes more than `most_intervals`.
  EdgeTable(const std::vector<float>& reached, const std::vector<float>& passed, std::int64_t step,
            std::int64_t most_intervals);

  /// Returns true if no interval contains two edges.
  bool separates_edges() const { return separates_edges_; }
  std::int64_t intervals() const { return intervals_; }
  EdgeTableView view() const;

 private:
  std::vector<std::int32_t> place_;
  std::vector<float> low_;
  std::vector<float> high_;
  std::int64_t intervals_ = 0;
  std::int32_t base_ = 0;
  std::int32_t step_ = 1;
  int shift_ = 0;
  bool separates_edges_ = false;
};

/// Returns the nearest float at most (or at least) as large as the value.
float rounded_down(double value);
float rounded_up(double value);

}  // namespace gradus::pair_histogram_detail
