#include "kmeans/tests/attack_reference.hpp"
#include "kmeans/tests/job.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/attack/exact.hpp"

namespace gradus::attack {

namespace {

template <class T>
using Rows = std::vector<std::vector<T>>;

template <class T>
Rows<T> rows_of(MatrixView<const T> view) {
  Rows<T> rows;
  for (std::int64_t row = 0; row < view.rows(); ++row) rows.emplace_back(view.row(row), view.row(row) + view.columns());
  return rows;
}

/// Scales a row to unit length. A row of zeros stays unchanged, and the function returns false.
template <class T>
bool to_unit_length(std::vector<T>& row) {
  double largest = 0;
  for (const T value : row) largest = std::max(largest, std::abs(static_cast<double>(value)));
  if (largest == 0) return false;
  int exponent = 0;
  std::frexp(largest, &exponent);
  double squares = 0;
  for (const T value : row) {
    const double scaled = std::ldexp(static_cast<double>(value), -exponent);
    squares = std::fma(scaled, scaled, squares);
  }
  for (T& value : row) value = static_cast<T>(std::ldexp(static_cast<double>(value), -exponent) / std::sqrt(squares));
  return true;
}

constexpr double limit = 0x1p500;

/// Throws InputError if a value is NaN, infinite or too large for any fit.
template <class T>
void check_values(const Rows<T>& rows) {
  for (const std::vector<T>& row : rows)
    for (const T value : row)
      if (!(std::abs(static_cast<double>(value)) <= limit)) throw InputError("a value is not finite or too large");
}

/// Returns the rows that the fit uses: with the cosine metric, the rows scaled to unit length; otherwise, the rows
/// themselves.
template <class T>
Rows<T> prepared(MatrixView<const T> view, KMeansMetric metric) {
  Rows<T> rows = rows_of(view);
  check_values(rows);
  if (metric == KMeansMetric::cosine)
    for (std::vector<T>& row : rows)
      if (!to_unit_length(row)) throw InputError("a row of zeros");
  return rows;
}

/// Prepares centroids for the metric. If they are from a fit, leaves them unchanged, because they already have unit
/// length, up to rounding.
template <class T>
Rows<T> prepared_centroids(MatrixView<const T> view, KMeansMetric metric) {
  Rows<T> rows = prepared(view, metric);
  if (metric != KMeansMetric::cosine) return rows;
  const Rows<T> given = rows_of(view);
  for (std::size_t index = 0; index < rows.size(); ++index) {
    double squares = 0;
    for (const T value : given[index])
      squares = std::fma(static_cast<double>(value), static_cast<double>(value), squares);
    const double rounding =
        std::ldexp(1.0, sizeof(T) == 4 ? -22 : -51) + std::ldexp(static_cast<double>(given[index].size()), -52);
    if (std::abs(squares - 1) <= rounding) rows[index] = given[index];
  }
  return rows;
}

template <class T>
double squared_distance(const std::vector<T>& x, const std::vector<T>& c) {
  double sum = 0;
  for (std::size_t dim = 0; dim < x.size(); ++dim) {
    const double difference = static_cast<double>(x[dim]) - static_cast<double>(c[dim]);
    sum = std::fma(difference, difference, sum);
  }
  return sum;
}

template <class T>
std::int32_t nearest(const std::vector<T>& point, const Rows<T>& centroids) {
  std::size_t best = 0;
  double least = squared_distance(point, centroids[0]);
  for (std::size_t cluster = 1; cluster < centroids.size(); ++cluster)
    if (const double distance = squared_distance(point, centroids[cluster]); distance < least) {
      best = cluster;
      least = distance;
    }
  return static_cast<std::int32_t>(best);
}

/// Throws an error if rows differ but all their squared distances are zero in double.
template <class T>
void check_distances(const Rows<T>& points, const Rows<T>& centroids) {
  bool differ = false;
  for (std::size_t dim = 0; dim < points[0].size(); ++dim) {
    double lowest = static_cast<double>(points[0][dim]);
    double highest = lowest;
    for (const Rows<T>* rows : {&points, &centroids})
      for (const std::vector<T>& row : *rows) {
        lowest = std::min(lowest, static_cast<double>(row[dim]));
        highest = std::max(highest, static_cast<double>(row[dim]));
      }
    if (std::pow(highest - lowest, 2) > 0) return;
    differ = differ || highest > lowest;
  }
  if (differ) throw InputError("squared distances are zero in double");
}

template <class T>
class Fit {
 public:
  Fit(const Rows<T>& points, std::vector<double> weights, Rows<T> centroids, const KMeansJob<T>& options)
      : points_(points), weights_(std::move(weights)), centroids_(std::move(centroids)), options_(options),
        n_(points.size()), d_(points[0].size()), k_(centroids_.size()), labels_(n_, -1) {}

  KMeansAnswer<T> run() {
    KMeansAnswer<T> answer;
    examine();
    const double shift_limit = options_.tolerance > 0 ? options_.tolerance * mean_column_variance() : 0;
    const auto changed_limit = static_cast<std::int64_t>(options_.changed_fraction * static_cast<double>(n_));
    for (int iteration = 0; iteration < options_.max_iterations && !answer.converged; ++iteration) {
      KMeansStep step;
      step.changed = assign();
      step.inertia = inertia();
      step.inertia_bound = inertia_bound();
      const Rows<T> before = centroids_;
      const bool relocated = update();
      for (std::size_t cluster = 0; cluster < k_; ++cluster)
        step.shift += movement(before[cluster], centroids_[cluster]);
      answer.history.push_back(step);
      answer.converged = true;
      if (step.changed == 0 && (!relocated || centroids_ == before))
        answer.stop_reason = KMeansStopReason::labels_unchanged;
      else if (shift_limit > 0 && step.shift <= shift_limit) answer.stop_reason = KMeansStopReason::centroids_settled;
      else if (changed_limit > 0 && step.changed <= changed_limit)
        answer.stop_reason = KMeansStopReason::few_labels_changed;
      else answer.converged = false;
    }
    finish(answer);
    return answer;
  }

  /// Assigns the points to the final centroids and fills in the answer.
  void finish(KMeansAnswer<T>& answer) {
    assign();
    answer.inertia = inertia();
    if (std::isinf(answer.inertia)) throw InputError("the inertia is beyond the range of double");
    answer.labels = labels_;
    answer.counts.assign(k_, 0);
    for (const std::int32_t label : labels_) ++answer.counts[at(label)];
    for (const std::vector<T>& centroid : centroids_)
      answer.centroids.insert(answer.centroids.end(), centroid.begin(), centroid.end());
  }

 private:
  static std::size_t at(std::int32_t label) { return static_cast<std::size_t>(label); }

  double own_distance(std::size_t point) const {
    return squared_distance(points_[point], centroids_[at(labels_[point])]);
  }

  /// Stores the exact weights, and the exact products of weights and coordinates. The sums below use them.
  void examine() {
    std::set<std::vector<T>> different;  // -0 and 0 are equal in this comparison
    for (std::size_t point = 0; point < n_; ++point) {
      if (weights_[point] > 0) different.insert(points_[point]);
      exact_weights_.push_back(in_steps(weights_[point]));
      for (const T value : points_[point])
        products_.emplace_back(exact_weights_.back() * in_steps(static_cast<double>(value)));
    }
    different_ = different.size();
    if (different_ < k_ && options_.fewer_distinct == KMeansFewerDistinct::error)
      throw InputError("fewer different points of positive weight than clusters");
  }

  std::int64_t assign() {
    std::int64_t changed = 0;
    for (std::size_t point = 0; point < n_; ++point) {
      const std::int32_t label = nearest(points_[point], centroids_);
      changed += label != labels_[point];
      labels_[point] = label;
    }
    return changed;
  }

  /// Returns the inertia, or infinity if it exceeds the range of double.
  double inertia() const {
    mpz_class sum = 0;
    for (std::size_t point = 0; point < n_; ++point)
      sum += round_to_53_bits(in_steps(weights_[point]) * in_steps(own_distance(point)));
    const auto rounded = round_once<double>(sum, product_exponent);
    return options_.metric == KMeansMetric::cosine ? 0.5 * rounded : rounded;
  }

  /// Returns the error bound of the history's inertia, as the header gradus/kmeans.hpp promises it.
  double inertia_bound() {
    if (extents_.empty()) {
      Rows<T> all = points_;
      all.insert(all.end(), centroids_.begin(), centroids_.end());
      for (std::size_t dim = 0; dim < d_; ++dim) {
        const auto below = [dim](const std::vector<T>& a, const std::vector<T>& b) { return a[dim] < b[dim]; };
        const auto [low, high] = std::minmax_element(all.begin(), all.end(), below);
        const double extent = static_cast<double>((*high)[dim]) - static_cast<double>((*low)[dim]);
        extents_.push_back(options_.metric == KMeansMetric::cosine ? std::max(2.0, extent) : extent);
        magnitudes_.push_back(
            std::max(std::abs(static_cast<double>((*low)[dim])), std::abs(static_cast<double>((*high)[dim]))));
      }
    }
    double weight = 0;
    for (const double one : weights_) weight += one;
    const double largest = std::max(*std::max_element(weights_.begin(), weights_.end()), 0x1p-1000);
    const auto terms = static_cast<double>(options_.clusters) + static_cast<double>(d_) + 8;
    double bound = std::numeric_limits<double>::min();
    for (std::size_t dim = 0; dim < d_; ++dim)
      bound += 0x1p-51 * terms * extents_[dim] * weight * extents_[dim] +
               0x1p-72 * extents_[dim] * static_cast<double>(n_) * largest * magnitudes_[dim] +
               2 * weight * std::numeric_limits<double>::min();  // covers squares that underflow
    return bound;
  }

  static double movement(const std::vector<T>& from, const std::vector<T>& to) {
    double sum = 0;
    for (std::size_t dim = 0; dim < from.size(); ++dim) {
      const double moved = static_cast<double>(to[dim]) - static_cast<double>(from[dim]);
      sum += moved * moved;
    }
    return sum;
  }

  /// Computes new centroids. Returns true if a point was moved to an empty cluster.
  bool update() {
    std::vector<std::int64_t> members(k_);  // for each cluster: number of points with positive weight that stay in it
    for (std::size_t point = 0; point < n_; ++point) members[at(labels_[point])] += weights_[point] > 0;
    std::vector<std::size_t> empty;
    for (std::size_t cluster = 0; cluster < k_; ++cluster)
      if (members[cluster] == 0) empty.push_back(cluster);
    if (!empty.empty() && options_.empty == KMeansEmptyCluster::error) throw Error("a cluster became empty");

    std::vector<bool> taken(n_);
    Rows<T> next = centroids_;
    const std::vector<std::int64_t> before = members;
    std::vector<std::size_t> surplus;
    bool relocated = false;
    if (!empty.empty() && options_.empty == KMeansEmptyCluster::relocate) {
      std::vector<double> distances;
      std::vector<std::size_t> farthest_first;
      for (std::size_t point = 0; point < n_; ++point) {
        distances.push_back(own_distance(point));
        farthest_first.push_back(point);
      }
      std::stable_sort(farthest_first.begin(), farthest_first.end(),
                       [&](std::size_t a, std::size_t b) { return distances[a] > distances[b]; });
      // The number of positions that are not yet occupied by a cluster: different points minus clusters with points,
      // but at least 0.
      const std::size_t missing = different_ - std::min(different_, k_ - empty.size());
      while (empty.size() > missing && different_ < k_) {
        surplus.push_back(empty.back());
        empty.pop_back();
      }
      auto empty_cluster = empty.begin();
      for (const std::size_t point : farthest_first) {
        if (empty_cluster == empty.end()) break;
        // The search for the next empty cluster continues after this point. So if a point is skipped here, it is not
        // tried again.
        if (!(weights_[point] > 0) || members[at(labels_[point])] < 2) continue;
        --members[at(labels_[point])];
        taken[point] = true;
        relocated = true;
        next[*empty_cluster++] = points_[point];
      }
    }
    for (std::size_t cluster = 0; cluster < k_; ++cluster)
      if (members[cluster] > 0) next[cluster] = mean(cluster, taken);
    for (const std::size_t cluster : surplus) {
      std::size_t repeated = 0;
      while (repeated < k_ && (before[repeated] == 0 || centroids_[repeated] != centroids_[cluster])) ++repeated;
      if (repeated == k_)
        for (repeated = 0; before[repeated] == 0;) ++repeated;
      next[cluster] = next[repeated];
    }
    centroids_ = next;
    return relocated;
  }

  std::vector<T> mean(std::size_t cluster, const std::vector<bool>& taken) const {
    mpz_class weight = 0;
    std::vector<mpz_class> sums(d_);
    for (std::size_t point = 0; point < n_; ++point) {
      if (at(labels_[point]) != cluster || taken[point]) continue;
      weight += exact_weights_[point];
      for (std::size_t dim = 0; dim < d_; ++dim) sums[dim] += products_[point * d_ + dim];
    }
    std::vector<T> mean;
    for (const mpz_class& sum : sums) mean.push_back(round_quotient<T>(sum, weight, product_exponent - step_exponent));
    if (options_.metric == KMeansMetric::cosine && !to_unit_length(mean)) return centroids_[cluster];
    return mean;
  }

  /// Returns the mean variance of the columns, without weights.
  double mean_column_variance() const {
    std::vector<T> mean;
    for (std::size_t dim = 0; dim < d_; ++dim) {
      mpz_class sum = 0;
      for (const std::vector<T>& point : points_) sum += in_steps(static_cast<double>(point[dim]));
      mean.push_back(round_quotient<T>(sum, n_, step_exponent));
    }
    mpz_class squares = 0;
    for (const std::vector<T>& point : points_) squares += in_steps(squared_distance(point, mean));
    return round_quotient<double>(squares, n_, step_exponent) / static_cast<double>(d_);
  }

  const Rows<T>& points_;
  std::vector<double> weights_;
  Rows<T> centroids_;
  const KMeansJob<T>& options_;
  std::size_t n_;
  std::size_t d_;
  std::size_t k_;
  std::size_t different_ = 0;  // number of different points among the points of positive weight
  std::vector<std::int32_t> labels_;
  std::vector<mpz_class> exact_weights_;
  std::vector<mpz_class> products_;  // n x d: exact products of weights and coordinates
  std::vector<double> extents_;      // for each column: extent of the points and initial centroids
  std::vector<double> magnitudes_;   // for each column: largest magnitude
};

template <class T>
std::vector<double> weights_of(VectorView<const T> weights, std::int64_t n) {
  if (weights.empty()) return std::vector<double>(static_cast<std::size_t>(n), 1.0);
  bool some = false;
  for (const T weight : weights) {
    if (!(weight >= 0 && static_cast<double>(weight) <= limit)) throw InputError("a weight is negative or not finite");
    some = some || weight > 0;
  }
  if (!some) throw InputError("all weights are zero");
  return {weights.begin(), weights.end()};
}

}  // namespace

template <class T>
KMeansAnswer<T> kmeans_reference(MatrixView<const T> points, const KMeansJob<T>& options) {
  if (options.clusters > points.rows()) throw InputError("fewer points than clusters");
  const Rows<T> rows = prepared(points, options.metric);
  Rows<T> first = options.init == KMeansInit::given
                      ? prepared_centroids(options.initial_centroids, options.metric)
                      : Rows<T>(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(options.clusters));
  std::vector<double> weights = weights_of(options.weights, points.rows());
  if (options.clusters > 1) check_distances(rows, first);
  return Fit<T>(rows, std::move(weights), std::move(first), options).run();
}

template <class T>
KMeansAnswer<T> predict_reference(MatrixView<const T> centroids, MatrixView<const T> points,
                                  VectorView<const T> weights, KMeansMetric metric) {
  const Rows<T> rows = prepared(points, metric);
  KMeansJob<T> options;
  options.metric = metric;
  KMeansAnswer<T> answer;
  const Rows<T> to = prepared_centroids(centroids, metric);
  if (to.size() > 1) check_distances(rows, to);
  Fit<T>(rows, weights_of(weights, points.rows()), to, options).finish(answer);
  return answer;
}

template <class T>
std::vector<T> transform_reference(MatrixView<const T> centroids, MatrixView<const T> points, KMeansMetric metric) {
  std::vector<T> distances;
  const Rows<T> to = prepared_centroids(centroids, metric);
  for (const std::vector<T>& point : prepared(points, metric))
    for (const std::vector<T>& centroid : to) {
      const double squared = squared_distance(point, centroid);
      distances.push_back(static_cast<T>(metric == KMeansMetric::cosine ? 0.5 * squared : std::sqrt(squared)));
    }
  return distances;
}

#define GRADUS_INSTANTIATE(T)                                                                               \
  template KMeansAnswer<T> kmeans_reference(MatrixView<const T>, const KMeansJob<T>&);                      \
  template KMeansAnswer<T> predict_reference(MatrixView<const T>, MatrixView<const T>, VectorView<const T>, \
                                             KMeansMetric);                                                 \
  template std::vector<T> transform_reference(MatrixView<const T>, MatrixView<const T>, KMeansMetric)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::attack
