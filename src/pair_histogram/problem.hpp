// Types that all variants of the pair-distance histogram share: problem, shape, histogram and table row.
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

enum class Space : std::uint8_t {
  open,
  box,  ///< a periodic axis-aligned box
  cell  ///< a triclinic periodic cell, which requires three dimensions
};

/// The sizes that determine the choice of a variant and the estimates of work and memory.
struct Shape {
  std::int64_t points = 0;
  std::int64_t others = 0;  ///< 0 if `cross` is false, because pairs are then counted among the points
  std::int64_t dimensions = 3;
  std::int64_t bins = 1;
  int element_bytes = 4;  ///< 4 for float, 8 for double
  bool cross = false;
  bool uniform = true;  ///< true if all bins have the same width
  bool periodic = false;
  bool triclinic = false;  ///< implies `periodic`
  bool weighted = false;
  int sum_words = 2;       ///< number of words per sum of weights; exact once the weights are examined
  double reach = 1;        ///< the last edge
  double least_width = 1;  ///< width of the narrowest bin
  /// The size in each column: the extent of the points, the length of the box, or the edge of a triclinic cell's brick.
  std::array<double, dimension_limit> extent{};

  void take(const Bins& of_job);
  double pairs() const {
    const auto n = static_cast<double>(points);
    return cross ? n * static_cast<double>(others) : n * (n - 1) / 2;
  }
};

/// For a variant that runs on a GPU, all views are in the memory of that GPU, otherwise in host memory.
template <class T>
struct Problem {
  MatrixView<const T> points;         ///< n x d, finite, inside the box
  MatrixView<const T> others;         ///< m x d if `cross` is true, otherwise empty
  VectorView<const T> weights;        ///< n, or empty
  VectorView<const T> other_weights;  ///< m if `cross` is true and there are weights, otherwise empty
  bool cross = false;
  bool periodic = false;
  bool triclinic = false;  ///< true only if `periodic` is also true
  /// The lengths of the box, or of the box around a triclinic cell. Used only if `periodic` is true.
  std::array<double, dimension_limit> box{};
  std::array<double, dimension_limit> box_origin{};
  Cell cell;                                     ///< the reduced cell, if `triclinic` is true
  std::array<double, dimension_limit> lowest{};  ///< minimum over points and others per column; 0 in missing columns
  std::array<double, dimension_limit> highest{};
  Bins bins;
  WeightSums sums;           ///< the form in which sums of products of two weights are stored
  cuda::Job* gpu = nullptr;  ///< the job on the GPU if the points are on a GPU, otherwise null
  std::stop_token stop;      ///< the job's stop token; core/stop.hpp explains how to poll it

  std::int64_t n() const { return points.rows(); }
  std::int64_t m() const { return cross ? others.rows() : points.rows(); }
  std::int64_t d() const { return points.columns(); }
  bool weighted() const { return !weights.empty(); }
  int sum_words() const { return weighted() ? sums.words() : 0; }
  Space space() const { return triclinic ? Space::cell : periodic ? Space::box : Space::open; }
  Shape shape() const;
  /// Returns the second points of pairs: `others` if `cross` is true, otherwise the points themselves. second_weights()
  /// returns their weights.
  const MatrixView<const T>& second() const { return cross ? others : points; }
  const VectorView<const T>& second_weights() const { return cross ? other_weights : weights; }
  /// Returns the weight of a first point in the encoding that `sums` uses. second_weight() does the same for a second
  /// point.
  std::int64_t first_weight(std::int64_t row) const { return sums.encode_first(static_cast<double>(weights[row])); }
  std::int64_t second_weight(std::int64_t row) const {
    return sums.encode_second(static_cast<double>(second_weights()[row]));
  }
};

inline constexpr std::string_view while_adding_up = "stopped while adding up the bins";

/// For each slot (see Bins::slots): the number of its pairs and the sum of their weights.
struct Histogram {
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> weights;  ///< `sum_words` words per slot (WeightSums); empty without weights
  int sum_words = 0;
  std::uint64_t rechecked = 0;  ///< number of pairs that a fast filter left to the canonical rule

  Histogram() = default;
  /// `words_of_a_sum` must be 0 without weights.
  Histogram(std::int64_t slots, int words_of_a_sum)
      : counts(static_cast<std::size_t>(slots)), weights(static_cast<std::size_t>(slots * words_of_a_sum)),
        sum_words(words_of_a_sum) {}
  std::uint64_t* sum(std::int64_t slot) { return weights.data() + slot * sum_words; }
  const std::uint64_t* sum(std::int64_t slot) const { return weights.data() + slot * sum_words; }
  /// Adds another histogram. Throws InterruptedError after a stop request.
  void add(const Histogram& other, const std::stop_token& stop = {});
  static std::uint64_t slot_bytes(const Shape& shape) {
    return sizeof(std::uint64_t) * static_cast<std::uint64_t>(1 + (shape.weighted ? shape.sum_words : 0));
  }
  static std::uint64_t bytes(const Shape& shape) {
    return static_cast<std::uint64_t>(shape.bins + 2) * slot_bytes(shape);
  }
};

/// The types of this problem for core/ladder.hpp. A run counts all pairs, except that a variant may leave the last slot
/// (pairs beyond the bins) and its weight sum undefined. The caller of the variant then subtracts the other slots from
/// the number of all pairs.
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

inline core::Support along_axes(const Shape& shape, const char* others_support) {
  return shape.triclinic ? core::Support::no(std::string("its periodic boxes are along the axes; ") + others_support +
                                             " triclinic cells")
                         : core::Support::yes();
}

inline core::Memory one_histogram(const Shape& shape, int) { return {.host = Histogram::bytes(shape)}; }

core::Rows<Variant> variants();
/// The list of variants, for code that handles all problems.
extern const core::Ladder ladder;

/// Chooses the variant if `Execution::variant` is empty. The choice is a pure function of the shape, the machine and
/// the requested device. Throws UnsupportedError if a GPU is requested but none can be used.
const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device = Device::automatic);
/// Returns all variants that choose() may select for a problem of these sizes, whatever the values of its points.
std::vector<const Variant*> choosable(const Shape& shape, const execution::Machine& machine, Device device);

/// Returns the canonical squared distance of two rows.
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
