#include "kmeans/check/result_check.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "core/checked.hpp"
#include "core/evenly_spread.hpp"
#include "core/stop.hpp"
#include "gradus/error.hpp"
#include "kmeans/points/unit_length.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr const char* while_checking = "stopped while checking the result";

/// Returns the number of steps between adjacent numbers of type T from `a` to `b`.
template <class T>
double steps_between(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  const auto place = [](T value) {
    const Bits bits = std::bit_cast<Bits>(std::abs(value));
    return static_cast<core::Int128>(value < 0 ? -bits : bits);
  };
  return static_cast<double>(std::max(place(a), place(b)) - std::min(place(a), place(b)));
}

/// Returns the distance from a number to the next larger magnitude.
template <class T>
double ulp_of(T value) {
  const T magnitude = std::abs(value);
  return static_cast<double>(std::nextafter(magnitude, std::numeric_limits<T>::infinity())) -
         static_cast<double>(magnitude);
}

/// Adds what `other` found to `sum`. Keeps the description of the first row.
void merge(KMeansLabelCheck& sum, const KMeansLabelCheck& other) {
  KMeansLabelCheck all = other.row >= 0 && (sum.row < 0 || other.row < sum.row) ? other : sum;
  all.incorrect = sum.incorrect + other.incorrect;
  all.within_tolerance = sum.within_tolerance + other.within_tolerance;
  all.largest_excess = std::max(sum.largest_excess, other.largest_excess);
  sum = all;
}

/// The oracle's search: the lowest index among the nearest centroids.
template <class T>
std::int32_t nearest_by_plain_loop(const T* point, MatrixView<const T> centroids) {
  std::int32_t nearest = 0;
  double least = squared_distance(point, centroids.row(0), centroids.columns());
  for (std::int32_t cluster = 1; cluster < centroids.rows(); ++cluster) {
    const double distance = squared_distance(point, centroids.row(cluster), centroids.columns());
    if (!(distance < least)) continue;
    least = distance;
    nearest = cluster;
  }
  return nearest;
}

}  // namespace

/// The findings of a thread in its rows.
template <class T>
class ResultCheck<T>::Differences {
 public:
  Differences(const ResultCheck& check, const Rows& rows) : check_(check), rows_(rows) {}

  void compare(std::int64_t row, std::int32_t nearest) {
    const std::int32_t label = rows_.labels[row];
    const double distance = distance_to(row, label);
    const double least = distance_to(row, nearest);
    const double excess = distance > 0 ? (distance - least) / distance : 0;
    found_.largest_excess = std::max(found_.largest_excess, excess);
    if (check_.tolerance_ > 0 && excess <= check_.tolerance_) {
      ++found_.within_tolerance;
      return;
    }
    ++found_.incorrect;
    if (found_.row >= 0) return;
    found_.row = rows_.first + row;
    found_.label = label;
    found_.nearest = nearest;
    found_.distance = distance;
    found_.nearest_distance = least;
  }

  void add_inertia(std::int64_t row, std::int32_t label) { inertia_.add(term(row, label)); }
  void subtract_inertia(std::int64_t row, std::int32_t label) {
    core::Scaled negative = term(row, label);
    negative.negative = true;
    inertia_.add(negative);
  }

  const KMeansLabelCheck& found() const { return found_; }
  const core::ExactAccumulator& inertia() const { return inertia_; }

 private:
  double distance_to(std::int64_t row, std::int32_t cluster) const {
    const MatrixView<const T>& centroids = check_.centroids_;
    return squared_distance(rows_.points.row(row), centroids.row(cluster), centroids.columns());
  }
  core::Scaled term(std::int64_t row, std::int32_t label) const {
    const double weight = rows_.weights.empty() ? 1 : static_cast<double>(rows_.weights[row]);
    return core::rounded_product(weight, distance_to(row, label));
  }

  const ResultCheck& check_;
  const Rows& rows_;
  KMeansLabelCheck found_;
  core::ExactAccumulator inertia_;
};

template <class T>
ResultCheck<T>::ResultCheck(MatrixView<const T> centroids, KMeansMetric metric, const KMeansCheckOptions& options,
                            std::int64_t all_rows)
    : centroids_(centroids), metric_(metric), tolerance_(options.tolerance), all_rows_(all_rows),
      sums_(centroids.rows(), centroids.columns()) {
  const auto clusters = static_cast<std::size_t>(centroids.rows());
  result_.counts.resize(clusters);
  result_.reference_rows = std::min(options.reference_rows, all_rows);
  if (!is_reference()) return;
  plain_sums_.resize(core::checked_multiply(clusters, static_cast<std::size_t>(centroids.columns()), "centroids"));
  plain_weights_.resize(clusters);
}

template <class T>
std::vector<std::int32_t> ResultCheck<T>::compare_with_reference(const Rows& rows, int threads,
                                                                 const std::stop_token& stop) {
  const std::int64_t count = rows.points.rows();
  std::vector<std::int64_t> numbers;
  while (next_reference_ < result_.reference_rows) {
    const std::int64_t row = core::evenly_spread(next_reference_, result_.reference_rows, all_rows_);
    if (row >= rows.first + count) break;
    ++next_reference_;
    if (row >= rows.first) numbers.push_back(row - rows.first);
  }
  std::vector<std::int32_t> nearest(rows.nearest, rows.nearest + count);
  std::int64_t differences = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : differences)
  for (std::size_t index = 0; index < numbers.size(); ++index) {
    if (stop.stop_requested()) continue;
    const auto row = static_cast<std::size_t>(numbers[index]);
    const std::int32_t found = nearest_by_plain_loop(rows.points.row(numbers[index]), centroids_);
    if (nearest[row] != found) ++differences;
    nearest[row] = found;
  }
  core::honour_stop(stop, while_checking);
  result_.reference_differences += differences;
  return nearest;
}

template <class T>
void ResultCheck<T>::add(const Rows& rows, int threads, const std::stop_token& stop) {
  const std::int64_t count = rows.points.rows();
  const std::int64_t columns = centroids_.columns();
  std::vector<std::int32_t> by_reference;
  const std::int32_t* nearest = rows.nearest;
  if (result_.reference_rows > 0) {
    by_reference = compare_with_reference(rows, threads, stop);
    nearest = by_reference.data();
  }
  const std::int64_t chunk = core::chunk_length(count, 2 * columns, threads);
#pragma omp parallel num_threads(threads)
  {
    Differences own(*this, rows);
#pragma omp for schedule(static)
    for (std::int64_t first = 0; first < count; first += chunk) {
      if (stop.stop_requested()) continue;
      for (std::int64_t row = first; row < std::min(first + chunk, count); ++row) {
        const std::int32_t label = rows.labels[row];
        if (is_reference() || label != rows.nearest[row]) own.add_inertia(row, label);
        if (!is_reference() && label != rows.nearest[row]) own.subtract_inertia(row, rows.nearest[row]);
        if (label != nearest[row]) own.compare(row, nearest[row]);
      }
    }
#pragma omp critical(gradus_result_check)
    {
      merge(result_.labels, own.found());
      correction_.merge(own.inertia());
    }
  }
  core::honour_stop(stop, while_checking);
  if (!is_reference()) return sums_.add(rows.points, rows.weights, rows.labels, threads);
  const auto weight_of = [&](std::int64_t row) {
    return rows.weights.empty() ? 1 : static_cast<double>(rows.weights[row]);
  };
  for (std::int64_t row = 0; row < count; ++row) {
    const auto cluster = static_cast<std::size_t>(rows.labels[row]);
    ++result_.counts[cluster];
    plain_weights_[cluster].add(weight_of(row));
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t column = 0; column < columns; ++column)
    for (std::int64_t row = 0; row < count && !stop.stop_requested(); ++row)
      plain_sums_[static_cast<std::size_t>(rows.labels[row] * columns + column)].add_product(
          weight_of(row), static_cast<double>(rows.points(row, column)));
  core::honour_stop(stop, while_checking);
}

template <class T>
void ResultCheck<T>::add_up(core::Ranks& ranks) {
  if (ranks.is_alone()) return;
  const std::vector<KMeansLabelCheck> found = ranks.gather([&] { return result_.labels; });
  result_.labels = {};
  for (const KMeansLabelCheck& one : found) merge(result_.labels, one);
  const std::vector<std::uint64_t> sums = ranks.sum(result_.counts.size() + 1, [&](std::span<std::uint64_t> words) {
    words[0] = static_cast<std::uint64_t>(result_.reference_differences);
    for (std::size_t cluster = 0; cluster < result_.counts.size(); ++cluster)
      words[cluster + 1] = static_cast<std::uint64_t>(result_.counts[cluster]);
  });
  result_.reference_differences = static_cast<std::int64_t>(sums[0]);
  for (std::size_t cluster = 0; cluster < result_.counts.size(); ++cluster)
    result_.counts[cluster] = static_cast<std::int64_t>(sums[cluster + 1]);
  const auto add_up = [&](std::span<core::ExactAccumulator> accumulators) {
    ranks.add_up(
        accumulators.size() * core::accumulator_limbs, [] {},
        [&](std::span<std::uint64_t> words) { core::Ranks::put(accumulators, words); },
        [&](std::span<const std::uint64_t> words) { core::Ranks::take(words, accumulators); });
  };
  add_up(std::span(&correction_, 1));
  add_up(plain_sums_);
  add_up(plain_weights_);
  if (!is_reference()) sums_.add_up(ranks);
}

template <class T>
KMeansCheck ResultCheck<T>::result(core::ExactAccumulator inertia, int threads) const {
  KMeansCheck result = result_;
  inertia.merge(correction_);
  const double rounded = inertia.round<double>();
  result.inertia = metric_ == KMeansMetric::cosine ? 0.5 * rounded : rounded;
  if (!std::isfinite(result.inertia))
    throw InputError(about("points") +
                     "the inertia is beyond the range of double; scale the points or their weights down");
  if (!is_reference()) result.counts = sums_.counts();
  check_means(result, threads);
  return result;
}

/// Computes the correct centroid. Returns false if the cluster has no mean.
template <class T>
bool ResultCheck<T>::mean_of(std::int64_t cluster, T* mean) const {
  const auto index = static_cast<std::size_t>(cluster);
  if (is_reference()) {
    if (plain_weights_[index].sign() <= 0) return false;
    for (std::int64_t column = 0; column < centroids_.columns(); ++column)
      mean[column] =
          plain_sums_[static_cast<std::size_t>(cluster * centroids_.columns() + column)].template quotient<T>(
              plain_weights_[index]);
  } else {
    if (!sums_.has_weight(cluster)) return false;
    sums_.mean(cluster, mean);
  }
  return metric_ == KMeansMetric::euclidean || scale_to_unit_length(mean, centroids_.columns());
}

template <class T>
void ResultCheck<T>::check_means(KMeansCheck& result, int threads) const {
  const std::int64_t columns = centroids_.columns();
  Matrix<T> means = Matrix<T>::copy_of(centroids_);
  std::vector<char> has_mean(static_cast<std::size_t>(centroids_.rows()));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
  for (std::int64_t cluster = 0; cluster < centroids_.rows(); ++cluster)
    has_mean[static_cast<std::size_t>(cluster)] = mean_of(cluster, means.row(cluster));
  std::vector<double> magnitude(static_cast<std::size_t>(columns));
  for (std::int64_t cluster = 0; cluster < centroids_.rows(); ++cluster)
    for (std::int64_t column = 0; column < columns; ++column)
      for (const T value : {centroids_(cluster, column), means(cluster, column)}) {
        double& largest = magnitude[static_cast<std::size_t>(column)];
        largest = std::max(largest, std::abs(static_cast<double>(value)));
      }
  KMeansMeanCheck& found = result.means;
  for (std::int64_t cluster = 0; cluster < centroids_.rows(); ++cluster) {
    if (has_mean[static_cast<std::size_t>(cluster)] == 0) {
      ++found.without_mean;
      continue;
    }
    std::int64_t fault = -1;
    double excess = 0;
    bool differs = false;
    for (std::int64_t column = 0; column < columns; ++column) {
      const auto value = static_cast<double>(centroids_(cluster, column));
      const auto mean = static_cast<double>(means(cluster, column));
      if (value == mean) continue;
      differs = true;
      const double deviation = std::abs(value - mean);
      // The exact mean is within half an ulp of `mean`, so the squares of the distances from it differ at least by
      // this.
      excess += deviation * (deviation - ulp_of(means(cluster, column)));
      found.largest_deviation = std::max(found.largest_deviation, deviation);
      if (fault < 0 && !(deviation <= tolerance_ * magnitude[static_cast<std::size_t>(column)])) fault = column;
    }
    if (!differs) continue;
    if (metric_ == KMeansMetric::euclidean)
      found.excess_inertia +=
          std::max(0.0, excess) * (is_reference()
                                       ? plain_weights_[static_cast<std::size_t>(cluster)].template round<double>()
                                       : sums_.weight(cluster));
    if (fault < 0) {
      ++found.within_tolerance;
      continue;
    }
    if (found.incorrect++ > 0) continue;
    found.cluster = cluster;
    found.column = fault;
    found.value = static_cast<double>(centroids_(cluster, fault));
    found.mean = static_cast<double>(means(cluster, fault));
    found.ulps = steps_between(centroids_(cluster, fault), means(cluster, fault));
  }
}

template class ResultCheck<float>;
template class ResultCheck<double>;

}  // namespace gradus::kmeans_detail
