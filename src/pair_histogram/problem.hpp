// The problem, shape, histogram and table row that all variants of the pair-distance histogram share.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "core/exact_sum.hpp"
#include "core/ladder.hpp"
#include "execution/machine.hpp"
#include "gradus/pair_histogram.hpp"
#include "pair_histogram/bins.hpp"
#include "pair_histogram/cell.hpp"
#include "pair_histogram/weight_sums.hpp"

namespace gradus::cuda {
class Job;
}

namespace gradus::pair_histogram_detail {

inline constexpr int dimension_limit = 3;

/// The geometry of the space that contains the points.
enum class Space : std::uint8_t {
  open,
  box,  ///< a periodic axis-aligned box
  cell  ///< a triclinic periodic cell, in three dimensions
};

/// The sizes on which the choice of a variant and the estimates of work and memory depend.
struct Shape {
  std::int64_t points = 0;
  std::int64_t others = 0;  ///< 0 and not `cross`: pairs among the points
  std::int64_t dimensions = 3;
  std::int64_t bins = 1;
  int element_bytes = 4;  ///< 4: float, 8: double
  bool cross = false;
  bool uniform = true;  ///< bins of one width
  bool periodic = false;
  bool triclinic = false;  ///< and periodic
  bool weighted = false;
  int sum_words = 2;       ///< of a sum of weights; known once these were looked at
  double reach = 1;        ///< the last edge
  double least_width = 1;  ///< of a bin
  std::array<double, dimension_limit>
      extent{};  ///< of the points in each column, or of the box; of a cell the edges of its brick

  void take(const Bins& of_job);
  double pairs() const {
    const auto n = static_cast<double>(points);
    return cross ? n * static_cast<double>(others) : n * (n - 1) / 2;
  }
};

/// All views are of host memory, or, for a variant that runs on a GPU, all of them of memory there.
template <class T>
struct Problem {
  MatrixView<const T> points;         ///< n x d, finite, inside the box
  MatrixView<const T> others;         ///< m x d, where `cross`
  VectorView<const T> weights;        ///< n, or empty
  VectorView<const T> other_weights;  ///< m where `cross` and weighted, otherwise empty
  bool cross = false;
  bool periodic = false;
  bool triclinic = false;                     ///< and periodic
  std::array<double, dimension_limit> box{};  ///< lengths, where `periodic`; of a cell those of the box around it
  std::array<double, dimension_limit> box_origin{};
  Cell cell;                                     ///< where `triclinic`: the reduced one
  std::array<double, dimension_limit> lowest{};  ///< of all points and others in each column; 0 in missing columns
  std::array<double, dimension_limit> highest{};
  Bins bins;
  WeightSums sums;           ///< of the products of two weights
  cuda::Job* gpu = nullptr;  ///< on a GPU, where the points lie there
  std::stop_token stop;      ///< the job's; see core/stop.hpp for how to look at it

  std::int64_t n() const { return points.rows(); }
  std::int64_t m() const { return cross ? others.rows() : points.rows(); }
  std::int64_t d() const { return points.columns(); }
  bool weighted() const { return !weights.empty(); }
  int sum_words() const { return weighted() ? sums.words() : 0; }
  Space space() const { return triclinic ? Space::cell : periodic ? Space::box : Space::open; }
  Shape shape() const;
  /// The second points of pairs, and their weights: the points themselves unless `cross`.
  const MatrixView<const T>& second() const { return cross ? others : points; }
  const VectorView<const T>& second_weights() const { return cross ? other_weights : weights; }
  /// The weight of a first point and that of a second one, as `sums` wants them.
  std::int64_t first_weight(std::int64_t row) const { return sums.encode_first(static_cast<double>(weights[row])); }
  std::int64_t second_weight(std::int64_t row) const {
    return sums.encode_second(static_cast<double>(second_weights()[row]));
  }
};

inline constexpr std::string_view while_adding_up = "stopped while adding up the bins";

/// Counts, and sums of weights, of each slot of the bins (see Bins::slots).
struct Histogram {
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> weights;  ///< `sum_words` for each slot (WeightSums); empty without weights
  int sum_words = 0;
  std::uint64_t rechecked = 0;  ///< pairs that a fast filter left to the canonical rule

  Histogram() = default;
  /// sum_words: 0 without weights.
  Histogram(std::int64_t slots, int words_of_a_sum)
      : counts(static_cast<std::size_t>(slots)), weights(static_cast<std::size_t>(slots * words_of_a_sum)),
        sum_words(words_of_a_sum) {}
  std::uint64_t* sum(std::int64_t slot) { return weights.data() + slot * sum_words; }
  const std::uint64_t* sum(std::int64_t slot) const { return weights.data() + slot * sum_words; }
  /// InterruptedError after a stop request.
  void add(const Histogram& other, const std::stop_token& stop = {});
  /// Of a slot.
  static std::uint64_t slot_bytes(const Shape& shape) {
    return sizeof(std::uint64_t) * static_cast<std::uint64_t>(1 + (shape.weighted ? shape.sum_words : 0));
  }
  static std::uint64_t bytes(const Shape& shape) {
    return static_cast<std::uint64_t>(shape.bins + 2) * slot_bytes(shape);
  }
};

/// What core/ladder.hpp wants to know of this room. A run counts all pairs. A variant may leave the last slot (pairs
/// beyond the bins) wrong, and its weight: the frame sets it to what is missing from the number of all pairs.
struct Room {
  static constexpr std::string_view name = "pair_histogram";
  using Shape = pair_histogram_detail::Shape;
  using Elements = core::Elements<float, double>;
  template <class T>
  using Problem = pair_histogram_detail::Problem<T>;
  template <class T>
  using Result = Histogram;
};
using Variant = core::Variant<Room>;

// For the rows of variants.

inline core::Support along_axes(const Shape& shape, const char* others_take) {
  return shape.triclinic ? core::Support::no(std::string("its periodic boxes lie along the axes; ") + others_take +
                                             " triclinic cells")
                         : core::Support::yes();
}

inline core::Memory one_histogram(const Shape& shape, int) { return {.host = Histogram::bytes(shape)}; }

core::Rows<Variant> variants();
/// The same for those who know no problem.
extern const core::Ladder ladder;

/// The variant for `Execution::variant` empty: a pure function of the shape, the machine and the device asked for.
/// UnsupportedError where a GPU is asked for and none can be used.
const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device = Device::automatic);
/// Those that choose() may take for such sizes, whatever the points are like.
std::vector<const Variant*> choosable(const Shape& shape, const execution::Machine& machine, Device device);

/// The canonical squared distance of two rows.
template <Space space, class T>
double squared_distance(const Problem<T>& problem, const T* first, const T* second, std::int64_t dimensions) {
  if constexpr (space == Space::cell)
    return problem.cell.squared_distance(static_cast<double>(first[0]) - static_cast<double>(second[0]),
                                         static_cast<double>(first[1]) - static_cast<double>(second[1]),
                                         static_cast<double>(first[2]) - static_cast<double>(second[2]));
  double squares[dimension_limit] = {};
  for (std::int64_t dim = 0; dim < dimensions; ++dim) {
    double separation = std::abs(static_cast<double>(first[dim]) - static_cast<double>(second[dim]));
    if constexpr (space == Space::box)
      separation = std::min(separation, problem.box[static_cast<std::size_t>(dim)] - separation);
    squares[dim] = separation * separation;
  }
  return (squares[0] + squares[1]) + squares[2];
}
template <class T>
double squared_distance(const Problem<T>& problem, const T* first, const T* second) {
  switch (problem.space()) {
    case Space::open: return squared_distance<Space::open>(problem, first, second, problem.d());
    case Space::box: return squared_distance<Space::box>(problem, first, second, problem.d());
    case Space::cell: return squared_distance<Space::cell>(problem, first, second, problem.d());
  }
  __builtin_unreachable();
}

}  // namespace gradus::pair_histogram_detail
