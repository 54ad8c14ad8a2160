// Types that all k-means variants share: the problem, its shape, and the row of the table.
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

// Short names for this room.
using EmptyCluster = KMeansEmptyCluster;
using Metric = KMeansMetric;
using StopReason = KMeansStopReason;

/// The sizes that determine the choice of a variant and the estimates of work and memory.
struct Shape {
  std::int64_t points = 0;
  std::int64_t dimensions = 0;
  std::int64_t clusters = 0;
  int element_bytes = 4;  ///< 4: float, 8: double
  bool weighted = false;
  double first_distances = 0;  ///< distances per point to choose the initial centroids

  /// Returns the multiply-adds of one assignment without pruning.
  double operations() const {
    return static_cast<double>(points) * static_cast<double>(dimensions) * static_cast<double>(clusters);
  }
  /// Returns the multiply-adds of choosing the initial centroids without pruning.
  double first_operations() const {
    return static_cast<double>(points) * static_cast<double>(dimensions) * first_distances;
  }
  /// Returns the bytes of one read of the points.
  double bytes() const { return static_cast<double>(points) * static_cast<double>(dimensions) * element_bytes; }
};

/// Facts about the points that are known before the first iteration and do not depend on the order of points.
///
/// A scaled weight is a weight in units of 2^weight_exponent, which is below 1. Means depend only on the ratios of
/// weights, and no product of scaled weights overflows.
struct Statistics {
  std::vector<double> lowest;  ///< per column, over points and initial centroids
  std::vector<double> highest;
  std::vector<double> middle;       ///< rounded middle of lowest and highest
  std::vector<core::Grid> columns;  ///< grid of x, and of x times a scaled weight
  std::vector<double> to_high;      ///< Grid::to_high of each column, contiguous for vector instructions
  core::Grid weight;                ///< grid of scaled weights
  int weight_exponent = 0;          ///< 0 without weights
  double weight_scale = 1;          ///< 2^-weight_exponent
  core::TotalGrid inertia;          ///< for D(x, c) with c in the columns' ranges, also times a scaled weight
  double coordinate_scale = 1;      ///< a power of two that scales coordinate differences to at most 1

  /// The least exponent of any bit: of the scaled weights, and of the values in each column. The exponents of the
  /// columns are computed on first use, unless they come with the ranges, and all copies share them.
  int finest_weight = 0;
  std::shared_ptr<std::vector<int>> finest = std::make_shared<std::vector<int>>();

  /// Returns true if the limbs hold the column's values times scaled weights exactly; false also if that is unknown.
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
  double shift_limit = 0;          ///< stop if the squared movement is at most this; 0: never
  std::int64_t changed_limit = 0;  ///< stop if at most this many labels changed; 0: none changed
  EmptyCluster empty = EmptyCluster::relocate;
  /// The number of different points of positive weight if it is below the number of clusters
  /// (KMeansFewerDistinct::accept); otherwise any larger number.
  std::int64_t different_points = std::numeric_limits<std::int64_t>::max();
  Metric metric = Metric::euclidean;
  /// The place of `points`, and their position among the rows of all ranks. Null if the problem is not for a variant.
  const PointSource<T>* source = nullptr;
  std::int32_t* labels_on_gpu = nullptr;           ///< where to leave the labels on the GPU, if the engine can
  std::shared_ptr<ByteRows<T>> bytes;              ///< a copy of the points in bytes, if seeding made one
  bool may_copy = true;                            ///< true if there is memory for RowFacts::copy_bytes
  core::ExactAccumulator* rank_inertia = nullptr;  ///< receives this rank's inertia from finish()
  Checkpoints<T>* checkpoints = nullptr;    ///< receives the state of the fit; may be null (lloyd/checkpoints.hpp)
  const FitState<T>* fit_so_far = nullptr;  ///< state to resume from; null: start at the beginning
  std::stop_token stop;                     ///< stop request of the job; core/stop.hpp says how to poll it
  /// Called now and then by the calling thread with the number of points labelled in the last assignment. May be empty.
  std::function<void(std::int64_t)> progress;

  std::int64_t n() const { return points.rows(); }
  std::int64_t d() const { return points.columns(); }
  std::int64_t k() const { return initial_centroids.rows(); }
  core::Ranks& ranks() const { return source->ranks(); }
  /// Returns true if some clusters cannot have points: see KMeansFewerDistinct.
  bool has_surplus() const { return different_points < k(); }
  double weight(std::int64_t point) const { return weights.empty() ? 1.0 : static_cast<double>(weights[point]); }
  double scaled_weight(std::int64_t point) const { return weight(point) * statistics.weight_scale; }
};

template <class T>
Shape shape_of(const Problem<T>& problem) {
  return {problem.n(), problem.d(), problem.k(), static_cast<int>(sizeof(T)), !problem.weights.empty()};
}

/// A point to subtract from a sum: its coordinates in host memory, and its weight.
template <class T>
struct RemovedPoint {
  const T* row = nullptr;
  double weight = 1;
  double scaled_weight = 1;
};

/// The interface of this room for core/ladder.hpp. A run performs a whole fit from the problem's initial centroids. A
/// variant that supports views of GPU memory gets its points there (Problem::source).
struct Room {
  static constexpr std::string_view name = "kmeans";
  using Shape = kmeans_detail::Shape;
  using Elements = core::Elements<float, double>;
  template <class T>
  using Problem = kmeans_detail::Problem<T>;
  template <class T>
  using Result = KMeansResult<T>;
  /// Additional fields of a row.
  struct RowFacts {
    /// Returns the host memory of a copy of the points that makes iterations faster; null if there is no copy.
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
/// The rows for code that does not know the problem's types.
extern const core::Ladder ladder;

/// Returns the variant for an empty `Execution::variant`. It is a pure function of shape, machine and requested device.
/// Throws UnsupportedError if a GPU is requested and none can be used.
const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device = Device::automatic);

/// Estimates the time of one core for a pass of a production variant, and for all distances of points to centroids.
double nanoseconds_of_a_pass(const Shape& shape);
double nanoseconds_of_distances(const Shape& shape);

/// Returns the canonical squared distance.
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
