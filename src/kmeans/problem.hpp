// What all k-means variants share: the problem they are given, its shape, and the row of the table.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/exact_total.hpp"
#include "core/ladder.hpp"
#include "execution/machine.hpp"
#include "gradus/kmeans.hpp"
#include "kmeans/points/point_source.hpp"

namespace gradus::core {
class ExactAccumulator;
}

namespace gradus::kmeans_detail {

// In their own room they need no surname.
using EmptyCluster = KMeansEmptyCluster;
using Metric = KMeansMetric;
using StopReason = KMeansStopReason;

/// The sizes on which the choice of a variant and the estimates of work and memory depend.
struct Shape {
  std::int64_t points = 0;
  std::int64_t dimensions = 0;
  std::int64_t clusters = 0;
  int element_bytes = 4;  ///< 4: float, 8: double
  bool weighted = false;
  double first_distances = 0;  ///< of each point, to choose the first centroids

  /// Multiply-adds of one assignment without any pruning.
  double operations() const {
    return static_cast<double>(points) * static_cast<double>(dimensions) * static_cast<double>(clusters);
  }
  /// Multiply-adds of the choice of the first centroids, likewise.
  double first_operations() const {
    return static_cast<double>(points) * static_cast<double>(dimensions) * first_distances;
  }
  /// Bytes of one reading of the points.
  double bytes() const { return static_cast<double>(points) * static_cast<double>(dimensions) * element_bytes; }
};

/// What is known of the points before the first iteration, all of it independent of their order.
///
/// Weights are counted in units of 2^weight_exponent, so that the largest is below 1: `scaled` ones. Only their ratios
/// matter to a mean, and none of their products can leave the range of double.
struct Statistics {
  std::vector<double> lowest;  ///< per column, over points and initial centroids
  std::vector<double> highest;
  std::vector<double> middle;       ///< of lowest and highest, rounded
  std::vector<core::Grid> columns;  ///< grid of x, and so of x times a scaled weight
  std::vector<double> to_high;      ///< Grid::to_high of each column, side by side for vector instructions
  core::Grid weight;                ///< grid of scaled weights
  int weight_exponent = 0;          ///< 0 where there are no weights
  double weight_scale = 1;          ///< 2^-weight_exponent
  core::TotalGrid inertia;  ///< for D(x, c) with any c in the columns' ranges, and for its product with a scaled weight
  double coordinate_scale = 1;  ///< a power of two that brings differences of coordinates to at most 1

  /// The least exponent of a bit of any value: of the scaled weights, and of each column. Of the columns it is looked
  /// up when it is first asked for (where it does not come with the ranges), and then known to all copies.
  int finest_weight = 0;
  std::shared_ptr<std::vector<int>> finest = std::make_shared<std::vector<int>>();

  /// Whether the limbs hold the column's values, times scaled weights, without loss. False also where it is not known.
  bool is_on_grid(std::int64_t dim) const {
    const auto column = static_cast<std::size_t>(dim);
    return !finest->empty() && (*finest)[column] + finest_weight >= columns[column].unit;
  }
  bool weights_are_on_grid() const { return finest_weight >= weight.unit; }
};

template <class T>
struct FitState;
template <class T>
class Checkpoints;

template <class T>
struct Problem {
  MatrixView<const T> points;             ///< n x d, finite
  VectorView<const T> weights;            ///< n, or empty; in host memory
  MatrixView<const T> initial_centroids;  ///< k x d
  Statistics statistics;
  int max_iterations = 300;
  double shift_limit = 0;          ///< stop when the squared movement is at most this; 0: never
  std::int64_t changed_limit = 0;  ///< stop when at most this many labels changed; 0: none changed
  EmptyCluster empty = EmptyCluster::relocate;
  /// Of positive weight, where they are fewer than the clusters (KMeansFewerDistinct::accept); else any larger number.
  std::int64_t different_points = std::numeric_limits<std::int64_t>::max();
  Metric metric = Metric::euclidean;
  /// Where `points` are, and which of all rows they are on ranks (lloyd/lloyd.hpp says who brings the ranks together);
  /// null: the problem is not for a variant.
  const PointSource<T>* source = nullptr;
  std::int32_t* labels_on_gpu = nullptr;  ///< where the labels are wanted, if the engine can leave them there
  std::shared_ptr<ByteRows<T>> bytes;     ///< a copy of the points in bytes, where the choice of centroids left one
  bool may_copy = true;                   ///< whether there is memory for what RowFacts::copy_bytes counts
  core::ExactAccumulator* rank_inertia = nullptr;  ///< of an engine on ranks: where finish() leaves its points' inertia
  Checkpoints<T>* checkpoints = nullptr;    ///< told of the fit's state; null: nobody asks (lloyd/checkpoints.hpp)
  const FitState<T>* fit_so_far = nullptr;  ///< where the fit goes on; null: at its beginning
  std::stop_token stop;                     ///< the job's; see core/stop.hpp for how to look at it
  /// Told by the calling thread, now and then, how many points the last assignment has labelled; empty: nobody asks.
  std::function<void(std::int64_t)> progress;

  std::int64_t n() const { return points.rows(); }
  std::int64_t d() const { return points.columns(); }
  std::int64_t k() const { return initial_centroids.rows(); }
  core::Ranks& ranks() const { return source->ranks(); }
  /// Whether some clusters cannot have points: see KMeansFewerDistinct.
  bool has_surplus() const { return different_points < k(); }
  double weight(std::int64_t point) const { return weights.empty() ? 1.0 : static_cast<double>(weights[point]); }
  /// See Statistics.
  double scaled_weight(std::int64_t point) const { return weight(point) * statistics.weight_scale; }
};

template <class T>
Shape shape_of(const Problem<T>& problem) {
  return {problem.n(), problem.d(), problem.k(), static_cast<int>(sizeof(T)), !problem.weights.empty()};
}

/// A point that is taken out of a sum: its coordinates in host memory, and its weight.
template <class T>
struct TakenPoint {
  const T* row = nullptr;
  double weight = 1;
  double scaled_weight = 1;
};

/// What core/ladder.hpp wants to know of this room. A run does a whole fit from the problem's initial centroids; a
/// variant that takes views of GPU memory gets its points there (Problem::source).
struct Room {
  static constexpr std::string_view name = "kmeans";
  using Shape = kmeans_detail::Shape;
  using Elements = core::Elements<float, double>;
  template <class T>
  using Problem = kmeans_detail::Problem<T>;
  template <class T>
  using Result = KMeansResult<T>;
  /// What a row says beside.
  struct RowFacts {
    /// Bytes in host memory of a copy of the points that makes iterations faster, taken where there is room for it;
    /// null: none.
    std::uint64_t (*copy_bytes)(const Shape&) = nullptr;
  };
};
using Variant = core::Variant<Room>;

// For the rows of variants.

inline constexpr core::Contract exact{core::Contract::same_bits};
inline constexpr core::Contract textbook{core::Contract::within, 1e-4, "inertia"};

inline core::Support at_most(std::int64_t most, const char* what, std::int64_t wanted, const std::string& others = "") {
  if (wanted <= most) return core::Support::yes();
  return core::Support::no("it takes at most " + std::to_string(most) + " " + what + ", not " + std::to_string(wanted) +
                           others);
}

core::Rows<Variant> variants();
/// The same for those who know no problem.
extern const core::Ladder ladder;

/// The variant for `Execution::variant` empty: a pure function of the shape, the machine and the device asked for.
/// UnsupportedError where a GPU is asked for and none can be used.
const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device = Device::automatic);

/// What one core takes about for a pass of a production variant, and for the distances of all points to all centroids.
double nanoseconds_of_a_pass(const Shape& shape);
double nanoseconds_of_distances(const Shape& shape);

/// The canonical squared distance.
template <class T>
double squared_distance(const T* point, const T* centroid, std::int64_t dimensions) {
  double sum = 0;
  for (std::int64_t dim = 0; dim < dimensions; ++dim) {
    const double difference = static_cast<double>(point[dim]) - static_cast<double>(centroid[dim]);
    sum = __builtin_fma(difference, difference, sum);
  }
  return sum;
}

}  // namespace gradus::kmeans_detail
