// What the vectorised variants share outside their kernels: how a float filter sees the bins and what its error can
// be, the counters of a thread, and the queue of pairs that only the canonical rule can decide. simd_filter.cpp
// explains the method.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/stop.hpp"
#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

/// The longest vectors. Kernels may read `overshoot` elements past the end of a column.
constexpr std::int64_t filter_block = 16;
constexpr std::int64_t overshoot = 4 * filter_block;

constexpr std::int64_t padded(std::int64_t points) {
  return (points + overshoot + filter_block - 1) / filter_block * filter_block;
}

/// Of a map from cells to slots (FilterPlan::by_cell).
constexpr std::int64_t filter_cells_limit = 65536;

/// Integer coordinates of points in open space take this many bits, so that their differences do not wrap.
constexpr int open_span_bits = 30;

/// A pair in doubt: the numbers of its points, and the slot to which it was added for the time being.
struct DoubtfulPair {
  std::int32_t first;
  std::int32_t second;
  std::uint32_t slot;
};

constexpr std::int64_t doubt_limit = 2048;  // in the queue
constexpr std::int64_t doubt_room = 256;    // beyond the limit: what a step of a kernel may add

/// As a kernel's number of dimensions: three, in a triclinic cell.
constexpr int in_a_cell = 4;

/// In what form the kernels get the coordinates.
enum class FilterCoordinates : std::uint8_t {
  floats,    ///< in cells from the middle of all points; open space
  integers,  ///< 2^32 of them around the periodic box, so that a difference that wraps is that to the nearest image;
             ///< along the vectors of a triclinic cell
  local,     ///< integers, which a variant turns into floats relative to a place nearby; along the axes of a triclinic
             ///< cell's brick, and in it
  wrapped    ///< on a GPU: floats, and in a periodic box the lesser of a separation and what the box leaves of it; in a
             ///< triclinic cell those in its brick, and its vectors are taken away
};

/// What a kernel needs of the bins, the counters and the queue. Plain data: it crosses into code compiled for other
/// instruction sets. Distances are counted in cells, which are the bins, or finer (`by_cell`).
struct FilterView {
  int dimensions = 3;
  bool periodic = false;      ///< coordinates are integers
  bool triclinic = false;     ///< along the vectors of a cell
  float scale[3] = {};        ///< cells to an integer's step
  float steps[3][3] = {};     ///< of an integer along each vector, in cells
  float edge_square = 0;      ///< leaves a pair in doubt
  float greatest_square = 0;  ///< all squared distances above it count as this one
  float magic = 0;            ///< added to a distance it leaves a fixed-point number in the low bits
  int fraction_bits = 0;      ///< of that number
  std::uint32_t certain = 0;  ///< the pair is certain where one of these bits is set
  int joint = 0;              ///< pairs that share an increment; 0: one at a time, by_cell
  std::uint32_t radix = 1;    ///< bins, in the number of a joint counter
  std::uint32_t ahead = 0;    ///< what stands above the fraction is so much more than the cell
  /// For each lane, by how much a joint number passes its counter's place; by_cell, where the lane's copy begins.
  std::uint32_t base[filter_block] = {};
  std::uint32_t* counters = nullptr;
  const std::uint16_t* by_cell = nullptr;  ///< slot of a cell; `doubtful` where the cell does not decide it
  std::uint32_t doubtful = 0;
  WeightSums sums;
  std::uint64_t* weights = nullptr;  ///< sums of the slots, one after another; null without weights
  DoubtfulPair* queue = nullptr;
  std::int64_t queued = 0;
  void (*settle)(void* owner) = nullptr;  ///< empties the queue
  void* owner = nullptr;
};

/// How a filter sees the bins. A pair whose float distance is farther than `error` from all edges is certain.
struct FilterPlan {
  bool usable = false;  ///< else too many pairs would be in doubt
  FilterCoordinates coordinates = FilterCoordinates::floats;
  double cells_per_length = 1;
  std::array<double, dimension_limit> steps_per_length{};  ///< integers to a unit of length
  std::array<double, dimension_limit> origin{};            ///< of coordinates
  Brick brick;                                             ///< of a triclinic cell, but for `integers`
  std::int64_t first_step = 0;                             ///< the integer coordinate of the origin
  double error = 0;                                        ///< of a distance, in cells
  std::int64_t cells = 1;                                  ///< the last is for all pairs beyond
  bool joint = false;                                      ///< cells are bins
  std::vector<std::uint16_t> by_cell;                      ///< where not `joint`
  std::uint32_t doubtful = 0;

  FilterPlan() = default;
  /// `local_reach`: a local coordinate is at most so far from its origin.
  template <class T>
  FilterPlan(const Problem<T>& problem, FilterCoordinates coordinates, double local_reach = 0);

 private:
  template <class T>
  bool take_cell(const Problem<T>& problem);
  bool keeps_images_apart(double reach, double half_height) const;
  double error_at(double cells_per_length, double cells) const;
  bool lay_joint(const Bins& bins);
  bool lay_cells(const Bins& bins);
  std::array<double, dimension_limit>
      half_{};  ///< no coordinate is farther from the origin; `wrapped` in a box: no separation is longer
  double local_reach_ = 0;
  bool triclinic_ = false;
  std::array<double, dimension_limit> spread_{};  ///< of a triclinic cell: its vectors, added up as magnitudes
  double placing_ = 0;                            ///< what a place in a triclinic cell may be off, in units of length
};

inline constexpr std::string_view while_sorting = "stopped while sorting the points";

/// Coordinates for the kernels, column by column, padded: in cells from the plan's origin, or the plan's integers.
template <class T>
class FilterColumns {
 public:
  FilterColumns() = default;
  /// Row order[i] of the points goes to place i; their own order where `order` is empty. InterruptedError after a stop
  /// request.
  FilterColumns(const Problem<T>& problem, const FilterPlan& plan, MatrixView<const T> points,
                std::span<const std::int32_t> order, int threads);
  const float* const* columns() const { return pointers_.data(); }

 private:
  Buffer<float> columns_;
  std::array<const float*, dimension_limit> pointers_{};
};

/// Weights as WeightSums wants them, padded with zeros as the columns are.
class FilterWeights {
  static constexpr std::int64_t stretch = core::chunk_length(std::int64_t{1} << 30, 16);

 public:
  FilterWeights() = default;
  /// encode(row) is the weight of a row. InterruptedError after a stop request.
  template <class Encode>
  FilterWeights(std::int64_t count, std::span<const std::int32_t> order, const std::stop_token& stop,
                const Encode& encode)
      : weights_(count > 0 ? padded(count) : 0) {
    for (std::int64_t place = 0; place < count; ++place) {
      if (place % stretch == 0) core::honour_stop(stop, while_sorting);
      weights_[place] = encode(order.empty() ? place : std::int64_t{order[static_cast<std::size_t>(place)]});
    }
    std::fill(weights_.begin() + count, weights_.end(), 0);
  }
  const std::int64_t* data() const { return weights_.size() > 0 ? weights_.data() : nullptr; }

 private:
  Buffer<std::int64_t> weights_;
};

/// Of the first points of pairs, and of the second ones, which are the same unless the problem is `cross`.
template <class T>
FilterWeights first_weights(const Problem<T>& problem, std::span<const std::int32_t> order = {}) {
  return {problem.weights.size(), order, problem.stop, [&](std::int64_t row) { return problem.first_weight(row); }};
}
template <class T>
FilterWeights second_weights(const Problem<T>& problem, std::span<const std::int32_t> order = {}) {
  return {problem.second_weights().size(), order, problem.stop,
          [&](std::int64_t row) { return problem.second_weight(row); }};
}

/// The counters of one thread.
template <class T>
class FilterCounters {
 public:
  FilterCounters(const Problem<T>& problem, const FilterPlan& plan, const std::int32_t* first_order,
                 const std::int32_t* second_order);
  FilterCounters(const FilterCounters&) = delete;
  FilterCounters& operator=(const FilterCounters&) = delete;

  FilterView& view() { return view_; }
  /// Tells that at most so many more pairs will be counted before the next call.
  void expect(std::uint64_t pairs) {
    if ((expected_ += pairs) > counter_limit) empty_counters(pairs);
  }
  void add(std::int64_t slot, std::uint64_t pairs) { histogram_.counts[static_cast<std::size_t>(slot)] += pairs; }
  Histogram finish();

  static std::uint64_t bytes(const Shape& shape);

 private:
  static constexpr std::uint64_t counter_limit = 0xf0000000;
  void lay_counters();
  void settle();
  void empty_counters(std::uint64_t pairs);

  const Problem<T>& problem_;
  const FilterPlan& plan_;
  const std::int32_t* first_order_;
  const std::int32_t* second_order_;
  Histogram histogram_;
  FilterView view_;
  std::int64_t counters_to_a_copy_ = 1;
  std::int64_t copies_ = 1;
  std::uint64_t expected_ = 0;
  Buffer<std::uint32_t> counters_;
  std::vector<DoubtfulPair> queue_;
};

/// The counters of all threads.
template <class T>
class FilterTeam {
 public:
  FilterTeam(const Problem<T>& problem, const FilterPlan& plan, int threads, const std::int32_t* first_order = nullptr,
             const std::int32_t* second_order = nullptr)
      : stop_(problem.stop) {
    for (int part = 0; part < threads; ++part)
      counters_.push_back(std::make_unique<FilterCounters<T>>(problem, plan, first_order, second_order));
  }
  FilterCounters<T>& operator[](int part) { return *counters_[static_cast<std::size_t>(part)]; }

  Histogram finish() {
    Histogram total = counters_.front()->finish();
    for (std::size_t part = 1; part < counters_.size(); ++part) total.add(counters_[part]->finish(), stop_);
    return total;
  }

 private:
  std::stop_token stop_;
  std::vector<std::unique_ptr<FilterCounters<T>>> counters_;
};

/// Counts all pairs in double by the canonical rule: simd_brute_force, to which the others turn where no filter helps.
template <class T>
Histogram count_in_double(const Problem<T>& problem, const Execution& execution, int threads);
/// The rung to which others turn for what they do not take.
template <class T>
Histogram simd_filter(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases);

std::uint64_t bytes_to_count_in_double(const Shape& shape, int threads);
/// Of the filter's columns, weights and counters.
std::uint64_t bytes_to_filter(const Shape& shape, int threads);
/// Of what simd_cells takes beside these.
std::uint64_t bytes_to_sort_into_cells(const Shape& shape, int threads);
/// Of what simd_dual_tree takes beside these.
std::uint64_t bytes_to_build_trees(const Shape& shape, int threads);

/// Memory of a variant that filters and takes `more` for itself: with the double columns, to which the filter turns
/// where it does not help.
inline core::Memory memory_to_filter(const Shape& shape, int threads, std::uint64_t more) {
  return {.host = std::max(bytes_to_count_in_double(shape, threads), bytes_to_filter(shape, threads) + more)};
}

}  // namespace gradus::pair_histogram_detail
