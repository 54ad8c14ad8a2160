// Code that the vectorised variants share outside their kernels: the plan of a float filter with its error bound, the
// counters of a thread, and the queue of pairs that only the canonical rule can decide. simd_filter.cpp explains the
// method. A *cell* of a filter is an interval of distances. It is a bin, or one of many intervals of equal width that
// are narrower than the bins.
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
#include "pair_histogram/simd/edge_table.hpp"

namespace gradus::pair_histogram_detail {

/// The greatest number of lanes of a vector. Kernels may read `overshoot` elements past the end of a column.
constexpr std::int64_t filter_block = 16;
constexpr std::int64_t overshoot = 4 * filter_block;

constexpr std::int64_t padded(std::int64_t points) {
  return (points + overshoot + filter_block - 1) / filter_block * filter_block;
}

/// The greatest number of entries of FilterPlan::by_cell.
constexpr std::int64_t filter_cells_limit = 65536;

/// The number of bits of integer coordinates in open space. Differences of such coordinates do not wrap in 32 bits.
constexpr int open_span_bits = 30;

/// A doubtful pair: the numbers of its points, and the slot in which it is currently counted.
struct DoubtfulPair {
  std::int32_t first;
  std::int32_t second;
  std::uint32_t slot;
};

/// The greatest number of pairs of a row with weights.
constexpr std::int64_t row_limit = 2048 + 2 * overshoot;

constexpr std::int64_t doubt_limit = 2048;  // length at which the queue is emptied
constexpr std::int64_t doubt_room = 256;    // number of entries that one step of a kernel may add beyond the limit

/// The kernels' parameter D is the number of dimensions. This value of D selects a triclinic cell, which has three
/// dimensions.
constexpr int in_a_cell = 4;

enum class FilterCoordinates : std::uint8_t {
  floats,    ///< open space: floats relative to the centre of all points, in units of the cell width
  integers,  ///< 2^32 steps span the box or a triclinic cell's vector; wrapped differences give the nearest image
  /// Integers, which the variant converts to floats near an origin. In a triclinic cell, the floats are along the axes
  /// of the cell's brick.
  local,
  /// Floats for a GPU, whose kernel finds the nearest image in the box or in the brick of the triclinic cell.
  wrapped
};

/// The kernels' parameter `joint` is the number of pairs that share an increment. This value selects the table of
/// edges, and bins of four vectors of pairs as bytes of one.
constexpr int by_interval = 5;

/// The bins, counters and queue as kernels see them. The struct is plain data, because it is passed to code for other
/// instruction sets. Distances are in cell widths. If `by_cell` is used, the cells are narrower than the bins.
/// Otherwise the cells are the bins.
struct FilterView {
  int dimensions = 3;
  bool periodic = false;      ///< true if coordinates are integers
  bool triclinic = false;     ///< true if coordinates are along the vectors of a triclinic cell
  float scale[3] = {};        ///< number of cells per integer step
  float steps[3][3] = {};     ///< length of one step along each vector, in cell widths
  float edge_square = 0;      ///< a squared distance that makes a pair doubtful
  float greatest_square = 0;  ///< larger squared distances are replaced by this one
  bool by_interval = false;   ///< true if `edges` finds the bins
  EdgeTableView edges;        ///< the edges' squares
  float magic = 0;            ///< added to a distance, this number produces a fixed-point number in the low bits
  int fraction_bits = 0;      ///< number of fraction bits of the fixed-point number
  std::uint32_t beyond = 0;   ///< the fixed-point number of a pair that is certainly beyond the bins
  std::uint32_t certain = 0;  ///< a pair is certain if one of these bits is set
  int joint = 0;              ///< number of pairs that share an increment; 0 if each pair is counted by `by_cell`
  std::uint32_t radix = 1;    ///< number of bins, the base of the digits of a joint counter
  std::uint32_t ahead = 0;    ///< number that must be subtracted from the bits above the fraction to get the cell
  /// Per lane: the number that must be subtracted from a joint number to get its counter. If `by_cell` is used: the
  /// start of the lane's copy of the counters.
  std::uint32_t base[filter_block] = {};
  std::uint32_t* counters = nullptr;
  const std::uint16_t* by_cell = nullptr;  ///< slot of each cell, or `doubtful` for a cell that is too near an edge
  std::uint32_t doubtful = 0;
  /// With weights, the fixed-point numbers of a row's pairs, or their indices in `by_cell`. If `by_interval` is true,
  /// these numbers are the slot plus one, or zero for a doubtful pair.
  std::uint32_t* row = nullptr;
  DoubtfulPair* queue = nullptr;
  std::int64_t queued = 0;
  void (*settle)(void* owner) = nullptr;
  /// Adds the products of a weight with the weights of a row's pairs.
  void (*add_weights)(void* owner, std::int64_t first, const std::int64_t* second, std::int64_t pairs) = nullptr;
  void* owner = nullptr;
};

/// The bins as a filter sees them. A pair is certain if its float distance is farther than `error` from all edges.
struct FilterPlan {
  bool usable = false;  ///< false if too many pairs would be doubtful
  FilterCoordinates coordinates = FilterCoordinates::floats;
  double cells_per_length = 1;
  std::array<double, dimension_limit> steps_per_length{};  ///< number of integer steps per unit of length
  std::array<double, dimension_limit> origin{};            ///< origin of the coordinates
  Brick brick;                                             ///< brick of a triclinic cell; unused by `integers`
  std::int64_t first_step = 0;                             ///< the integer coordinate of the origin
  double error = 0;                                        ///< upper limit of the error of a distance, in cell widths
  std::int64_t cells = 1;              ///< number of cells; the last one holds all pairs beyond the bins
  bool joint = false;                  ///< true if the cells are the bins
  bool by_interval = false;            ///< true if `intervals` finds the cells, which then begin below the first bin
  EdgeTable intervals;                 ///< of the edges' squares
  std::vector<std::uint16_t> by_cell;  ///< empty if `joint` is true
  std::uint32_t doubtful = 0;

  FilterPlan() = default;
  /// `local_reach` is the greatest distance of a local coordinate from its origin. Bins of different widths become
  /// cells only if `knows_intervals` is true.
  template <class T>
  FilterPlan(const Problem<T>& problem, FilterCoordinates coordinates, double local_reach = 0,
             bool knows_intervals = false);

 private:
  template <class T>
  bool take_cell(const Problem<T>& problem);
  bool keeps_images_apart(double reach, double half_height) const;
  double error_at(double cells_per_length, double cells) const;
  bool use_bins_as_cells(const Bins& bins);
  bool use_intervals(const Bins& bins);
  bool use_fine_cells(const Bins& bins);
  /// The greatest distance of a coordinate from the origin. For `wrapped` coordinates in a box, this is twice that
  /// distance or the length of the box, whichever is greater.
  std::array<double, dimension_limit> half_{};
  double local_reach_ = 0;
  bool triclinic_ = false;
  /// For each column: the sum of the magnitudes that a triclinic cell's vectors have in this column.
  std::array<double, dimension_limit> spread_{};
  double placing_ = 0;  ///< upper limit of the error of a position in a triclinic cell, in units of length
};

inline constexpr std::string_view while_sorting = "stopped while sorting the points";

/// Coordinates for the kernels, stored by column and padded. The coordinates are either floats or the integers that
/// the plan defines. Floats are relative to the plan's origin, in units of the cell width.
template <class T>
class FilterColumns {
 public:
  FilterColumns() = default;
  /// Stores row order[i] at place i, or row i if there is no order. Throws InterruptedError after a stop request.
  FilterColumns(const Problem<T>& problem, const FilterPlan& plan, MatrixView<const T> points,
                std::span<const std::int32_t> order, int threads);
  const float* const* columns() const { return pointers_.data(); }

 private:
  Buffer<float> columns_;
  std::array<const float*, dimension_limit> pointers_{};
};

/// Weights as encoded by WeightSums, padded with zeros to the length of the columns.
class FilterWeights {
  static constexpr std::int64_t stretch = core::chunk_length(std::int64_t{1} << 30, 16);

 public:
  FilterWeights() = default;
  /// encode(row) must return the encoded weight of a row. Throws InterruptedError after a stop request.
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

/// Returns the weights of the first points of pairs. second_weights() returns the weights of the second points. Without
/// a second set, the two functions return the same weights.
template <class T>
FilterWeights first_weights(const Problem<T>& problem, std::span<const std::int32_t> order = {}) {
  return {problem.weights.size(), order, problem.stop, [&](std::int64_t row) { return problem.first_weight(row); }};
}
template <class T>
FilterWeights second_weights(const Problem<T>& problem, std::span<const std::int32_t> order = {}) {
  return {problem.second_weights().size(), order, problem.stop,
          [&](std::int64_t row) { return problem.second_weight(row); }};
}

template <class T>
class FilterCounters {
 public:
  FilterCounters(const Problem<T>& problem, const FilterPlan& plan, const std::int32_t* first_order,
                 const std::int32_t* second_order);
  FilterCounters(const FilterCounters&) = delete;
  FilterCounters& operator=(const FilterCounters&) = delete;

  FilterView& view() { return view_; }
  /// Announces that at most `pairs` more pairs follow before the next call of expect(). Empties the counters if they
  /// could overflow.
  void expect(std::uint64_t pairs) {
    if ((expected_ += pairs) > counter_limit) empty_counters(pairs);
  }
  void add(std::int64_t slot, std::uint64_t pairs) { histogram_.counts[static_cast<std::size_t>(slot)] += pairs; }
  Histogram finish();

  static std::uint64_t bytes(const Shape& shape);

 private:
  static constexpr std::uint64_t counter_limit = 0xf0000000;
  void set_up_counters();
  void set_up_weights();
  void settle();
  void find_slots(std::int64_t pairs);
  void add_weights(std::int64_t first, const std::int64_t* second, std::int64_t pairs);
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
  std::vector<std::uint32_t> row_;
  std::int64_t pairs_to_a_sum_ = 0;
  std::vector<std::uint64_t> row_sums_;  ///< sum_copies sums for each slot; empty if products are added one by one
};

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

/// Counts all pairs in double by the canonical rule (simd_brute_force). This is the fallback if filtering does not
/// help.
template <class T>
Histogram count_in_double(const Problem<T>& problem, const Execution& execution, int threads);
/// Runs `simd_filter`, to which other rungs pass the problems that they do not support.
template <class T>
Histogram simd_filter(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases);

std::uint64_t bytes_to_count_in_double(const Shape& shape, int threads);
/// Returns the bytes of the filter's columns, weights and counters.
std::uint64_t bytes_to_filter(const Shape& shape, int threads);
/// Returns the bytes that simd_cells needs in addition to bytes_to_filter().
std::uint64_t bytes_to_sort_into_cells(const Shape& shape, int threads);
/// Returns the bytes that simd_dual_tree needs in addition to bytes_to_filter().
std::uint64_t bytes_to_build_trees(const Shape& shape, int threads);

/// Returns the memory of a filtering variant that needs `more` bytes. If the fallback count_in_double() needs more
/// memory, returns the memory of the fallback.
inline core::Memory memory_to_filter(const Shape& shape, int threads, std::uint64_t more) {
  return {.host = std::max(bytes_to_count_in_double(shape, threads), bytes_to_filter(shape, threads) + more)};
}

}  // namespace gradus::pair_histogram_detail
