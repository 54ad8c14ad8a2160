// Types that all k-means variants share: the problem, its shape, and a row of the table of variants.
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

/// The sizes that determine which variant is chosen and how much work and memory is estimated.
struct Shape {
  std::int64_t points = 0;
  std::int64_t dimensions = 0;
  std::int64_t clusters = 0;
  int element_bytes = 4;  ///< 4 for float, 8 for double
  bool weighted = false;
  double first_distances = 0;  ///< number of distances that are computed per point to choose the initial centroids
  bool stored = false;         ///< true if the points are stored in a narrower type
  int kept_bytes = 0;          ///< bytes of an element on a GPU that keeps stored points in their type; 0 if none may

  /// Returns the number of multiply-adds of one assignment without pruning.
  double operations() const {
    return static_cast<double>(points) * static_cast<double>(dimensions) * static_cast<double>(clusters);
  }
  /// Returns the number of multiply-adds that are needed to choose the initial centroids without pruning.
  double first_operations() const {
    return static_cast<double>(points) * static_cast<double>(dimensions) * first_distances;
  }
  /// Returns the size of the points in bytes. One pass reads each byte once.
  double bytes() const { return static_cast<double>(points) * static_cast<double>(dimensions) * element_bytes; }
};

/// Facts about the points that are known before the first iteration. They do not depend on the order of the points.
///
/// A scaled weight is a weight divided by 2^weight_exponent, which makes it less than 1. This is possible because means
/// depend only on the ratios of the weights. It is useful because no product of scaled weights overflows.
struct Statistics {
  std::vector<double> lowest;  ///< least value of each column, over points and initial centroids
  std::vector<double> highest;
  std::vector<double> middle;       ///< the middle between `lowest` and `highest`, rounded
  std::vector<core::Grid> columns;  ///< per column: grid of the values x, and of their products with scaled weights
  std::vector<double> to_high;      ///< Grid::to_high of each column, contiguous for vector instructions
  core::Grid weight;                ///< grid of scaled weights
  int weight_exponent = 0;          ///< exponent of the scale; 0 if there are no weights
  double weight_scale = 1;          ///< 2^-weight_exponent
  core::TotalGrid inertia;          ///< grid of squared distances within the ranges of the columns, and of their
                                    ///< products with a scaled weight
  double coordinate_scale = 1;      ///< a power of two that scales coordinate differences to at most 1

  /// `finest_weight` is the exponent of the lowest bit of any scaled weight. `finest` holds the exponent of the lowest
  /// bit of any value in each column. It is computed together with the ranges or on first use. All copies of the
  /// statistics share it.
  int finest_weight = 0;
  std::shared_ptr<std::vector<int>> finest = std::make_shared<std::vector<int>>();

  /// Returns true if the limbs are known to represent exactly every product of a value of the column and a scaled
  /// weight.
  bool is_on_grid(std::int64_t dim) const {
    const auto column = static_cast<std::size_t>(dim);
    return !finest->empty() && (*finest)[column] + finest_weight >= columns[column].unit;
  }
  bool weights_are_on_grid() const { return finest_weight >= weight.unit; }
};

/// The number of points that a cluster may have.
struct SizeLimits {
  std::int64_t least = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

template <class T>
struct FitState;
template <class T>
class Checkpoints;

template <class T>
struct Problem {
  MatrixView<const T> points;             ///< n x d elements, all finite; without an address if they are stored
  StoredMatrixView stored;                ///< the points in the type in which they are stored; usually empty
  VectorView<const T> weights;            ///< n elements, or empty; in host memory
  MatrixView<const T> initial_centroids;  ///< k x d elements
  Statistics statistics;
  int max_iterations = 300;
  double shift_limit = 0;          ///< the fit stops if the squared movement is at most this value; 0 sets no limit
  std::int64_t changed_limit = 0;  ///< the fit stops if the number of changed labels is at most this number
  EmptyCluster empty = EmptyCluster::relocate;
  /// The number of different points of positive weight, if it is less than the number of clusters
  /// (KMeansFewerDistinct::accept). Otherwise some number that is at least the number of clusters.
  std::int64_t different_points = std::numeric_limits<std::int64_t>::max();
  Metric metric = Metric::euclidean;
  SizeLimits sizes;  ///< observed only by limited_sizes (sizes/limited_sizes.cpp)
  /// Provides `points` and their position among the rows of all ranks. Null if no variant runs the problem.
  const PointSource<T>* source = nullptr;
  std::int32_t* labels_on_gpu = nullptr;  ///< memory for labels that the engine writes on the GPU; may be null
  std::shared_ptr<ByteRows<T>> bytes;     ///< byte copy of the points, if seeding made one
  bool may_copy = true;                   ///< true if memory suffices for the copy that RowFacts::copy_bytes measures
  core::ExactAccumulator* rank_inertia = nullptr;  ///< finish() stores this rank's inertia here
  Checkpoints<T>* checkpoints = nullptr;           ///< saves the state of the fit; may be null (lloyd/checkpoints.hpp)
  const FitState<T>* fit_so_far = nullptr;  ///< the state from which the fit resumes; null: start at the beginning
  std::stop_token stop;                     ///< stop request of the job; core/stop.hpp describes how to poll it

  /// The calling thread occasionally calls this function with the number of points that the last assignment has
  /// labelled. May be empty.
  std::function<void(std::int64_t)> progress;

  /// Returns the points for variants that widen stored rows (RowFacts::widens_rows).
  PointRows<T> rows() const { return source_rows(points, stored); }
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

/// A point that must be subtracted from a sum. Its coordinates are in host memory.
template <class T>
struct RemovedPoint {
  const T* row = nullptr;
  double weight = 1;
  double scaled_weight = 1;
};

/// The interface of this room for core/ladder.hpp. A run of a variant is a whole fit from the problem's initial
/// centroids. If a variant supports views of GPU memory, Problem::source provides its points on the GPU.
struct Room {
  static constexpr std::string_view name = "kmeans";
  using Shape = kmeans_detail::Shape;
  using Elements = core::Elements<float, double>;
  template <class T>
  using Problem = kmeans_detail::Problem<T>;
  template <class T>
  using Result = KMeansResult<T>;
  /// Additional fields of a variant's row in the table.
  struct RowFacts {
    /// Returns the size, in bytes, of a copy of the points in host memory. Some variants make such a copy to make
    /// iterations faster. Null if the variant makes no copy.
    std::uint64_t (*copy_bytes)(const Shape&) = nullptr;
    /// True if the variant reads Problem::rows(). Other variants get a copy of stored points in the type of the job.
    bool widens_rows = false;
  };
};
using Variant = core::Variant<Room>;

// Constants and functions for the table rows of variants.

inline constexpr core::Contract exact{core::Contract::same_bits};
inline constexpr core::Contract textbook{core::Contract::within, 1e-4, "inertia"};

inline core::Support at_most(std::int64_t most, const char* what, std::int64_t wanted, const std::string& others = "") {
  if (wanted <= most) return core::Support::yes();
  return core::Support::no("it takes at most " + std::to_string(most) + " " + what + ", not " + std::to_string(wanted) +
                           others);
}

core::Rows<Variant> variants();
/// The table of variants, for code that does not use the types of the problem.
extern const core::Ladder ladder;

/// Returns the variant to use if `Execution::variant` is empty. The result depends only on shape, machine and requested
/// device. Throws UnsupportedError if a GPU is requested and none can be used.
const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device = Device::automatic);

/// Estimates how long a pass of a production variant takes on one core. nanoseconds_of_distances() estimates how long
/// it takes to compute the distances from all points to all centroids.
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
