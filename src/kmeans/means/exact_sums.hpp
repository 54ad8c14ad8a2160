// Integer sums of the clusters' points. Points can be added, moved and merged in any order and by any number of
// threads. The result always has the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/exact_sum.hpp"
#include "core/stop.hpp"
#include "kmeans/means/certain_means.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// The result of presence(): whether a cluster has a point of positive weight.
enum class Presence : std::uint8_t { none, some, unknown };

/// Returns the number of high limbs per cluster for d columns, which is also the number of low limbs. The number is d,
/// but three columns have four limbs, so that the limbs of a row fill one vector.
constexpr std::int64_t limb_columns(std::int64_t d) { return d == 3 ? 4 : d; }

/// For each cluster, holds 2 limb_columns(d) limbs of coordinates (all high limbs, then all low limbs), two limbs of
/// the weight, and the count. A limb is a wrapping sum of raw bit patterns. Every pattern includes the bits of the
/// magic number. These bits are subtracted once, when the sum is read.
template <class T>
class ExactSums {
 public:
  /// `extra` is the number of additional words in words(). They follow the sums.
  explicit ExactSums(const Problem<T>& problem, std::int64_t extra = 0)
      : problem_(&problem), words_(count_words(problem) + extra),
        limbs_(words_.data(), 2 * problem.k() * limb_columns(problem.d())),
        weights_(limbs_.end(), problem.weights.empty() ? 0 : 2 * problem.k()), counts_(weights_.end(), problem.k()) {
    clear();
  }

  void clear() {
    core::fill_until_stopped(problem_->stop, limbs_.begin(), limbs_.end(), std::int64_t{0});
    std::fill(weights_.begin(), weights_.end(), std::int64_t{0});
    std::fill(counts_.begin(), counts_.end(), std::int64_t{0});
  }

  void add(std::int64_t point, const T* row, std::int64_t cluster) { accumulate(point, row, cluster, 1); }
  void remove(std::int64_t point, const T* row, std::int64_t cluster) { accumulate(point, row, cluster, -1); }

  /// Returns the number of coordinate limbs of all clusters together.
  std::int64_t limbs() const { return limbs_.size(); }

  void merge_limbs(const ExactSums& other, std::int64_t first, std::int64_t last) {
    std::int64_t* const to = limbs_.data();
    const std::int64_t* const from = other.limbs_.data();
    for (std::int64_t index = first; index < last; ++index) wrapping_add(to[index], from[index]);
  }

  void merge_counts(const ExactSums& other) {
    for (std::int64_t index = 0; index < weights_.size(); ++index) wrapping_add(weights_[index], other.weights_[index]);
    for (std::int64_t cluster = 0; cluster < counts_.size(); ++cluster) counts_[cluster] += other.counts_[cluster];
  }

  std::int64_t count(std::int64_t cluster) const { return counts_[cluster]; }

  /// Returns the unscaled weight for the history, with one rounding error.
  double weight(std::int64_t cluster) const {
    if (weights_.size() == 0) return static_cast<double>(counts_[cluster]);
    const Statistics& statistics = problem_->statistics;
    return core::round_quotient<double>(total_weight(cluster), 1, statistics.weight.unit + statistics.weight_exponent);
  }

  /// Returns `some` if a point of the cluster has positive weight, `none` if no point has, and `unknown` if the sums do
  /// not determine this.
  Presence presence(std::int64_t cluster) const {
    if (counts_[cluster] == 0) return Presence::none;
    return total_weight(cluster) > weight_slack(cluster) ? Presence::some : Presence::unknown;
  }

  /// Computes the mean of the cluster without the points `without`, and rounds each coordinate once to T. If the sums
  /// do not determine the mean in a column, appends this column to `doubtful`.
  void mean(std::int64_t cluster, T* out, std::span<const RemovedPoint<T>> without,
            std::vector<std::int32_t>& doubtful) const {
    const std::int64_t d = problem_->d();
    const Statistics& statistics = problem_->statistics;
    core::Int128 weight = total_weight(cluster);
    for (const RemovedPoint<T>& point : without)
      weight -= weights_.size() > 0 ? statistics.weight.total(statistics.weight.split(point.scaled_weight)) : 1;
    // Processes a block of columns at a time. `open` receives the columns whose means need more precision than vectors
    // of doubles have.
    constexpr std::int64_t at_once = 256;
    std::int32_t open[at_once + 16];
    for (std::int64_t first = 0; first < d; first += at_once) {
      const std::int64_t columns = std::min(at_once, d - first);
      const std::int64_t count = find_open(cluster, first, columns, out, !without.empty(), open);
      for (std::int64_t index = 0; index < count; ++index) {
        const std::int64_t dim = first + open[index];
        core::Int128 sum = total(cluster, dim);
        for (const RemovedPoint<T>& point : without) sum -= plain_total(dim, point);
        const core::Certified<T> mean =
            core::certified_quotient<T>(sum, slack(cluster, dim), weight, weight_slack(cluster), unit_of_mean(dim));
        out[dim] = mean.value;
        if (!mean.certain) doubtful.push_back(static_cast<std::int32_t>(dim));
      }
    }
  }

  /// Computes the difference between the mean and the middle of each column for the history, with a few rounding
  /// errors. The weight of the cluster must be positive.
  void mean_from_middle(std::int64_t cluster, double* out) const {
    const Statistics& statistics = problem_->statistics;
    if (weights_.size() == 0 &&
        means_from_middle(cluster_sums(cluster, 0, problem_->d(), false), statistics.middle.data(), out))
      return;
    const core::TwoDoubles weight =
        weights_.size() == 0 ? core::TwoDoubles{static_cast<double>(counts_[cluster]), 0}
                             : core::two_doubles(statistics.weight, {weights_[2 * cluster], weights_[2 * cluster + 1]});
    for (std::int64_t dim = 0; dim < problem_->d(); ++dim) {
      const auto column = static_cast<std::size_t>(dim);
      out[dim] = core::quotient_less(core::two_doubles(statistics.columns[column], limbs(cluster, dim)), weight,
                                     unit_of_mean(dim), statistics.middle[column]);
    }
  }

  /// Returns the raw limbs of a cluster, for kernels that add rows themselves. Such kernels also update raw_count().
  std::int64_t* raw(std::int64_t cluster) { return limbs_.data() + cluster * 2 * limb_columns(problem_->d()); }
  std::int64_t& raw_count(std::int64_t cluster) { return counts_[cluster]; }

  /// Copies sums that were computed elsewhere. `words` holds d high limbs and d low limbs per cluster (without the
  /// padding of raw()), then the limbs of the weights (if there are any), then the counts.
  void set(const std::int64_t* words) {
    const std::int64_t d = problem_->d();
    for (std::int64_t cluster = 0; cluster < problem_->k(); ++cluster, words += 2 * d) {
      std::copy_n(words, d, raw(cluster));
      std::copy_n(words + d, d, raw(cluster) + limb_columns(d));
    }
    std::copy_n(words, weights_.size(), weights_.data());
    std::copy_n(words + weights_.size(), counts_.size(), counts_.data());
  }

  /// Returns all words: limbs, weights, counts, and the additional words. To add up two objects, add the words of one
  /// object to the words of the other object, word by word.
  std::span<std::uint64_t> words() {
    return {reinterpret_cast<std::uint64_t*>(words_.data()), static_cast<std::size_t>(words_.size())};
  }
  /// Copies the words of another object for the same problem, except the additional words.
  void copy(const ExactSums& other) { std::copy_n(other.words_.data(), count_words(*problem_), words_.data()); }

  static std::uint64_t bytes(const Shape& shape) {
    return static_cast<std::uint64_t>(shape.clusters) *
           (16 * static_cast<std::uint64_t>(limb_columns(shape.dimensions)) + 24);
  }

 private:
  static std::int64_t count_words(const Problem<T>& problem) {
    return problem.k() * (2 * limb_columns(problem.d()) + (problem.weights.empty() ? 0 : 2) + 1);
  }

  static void wrapping_add(std::int64_t& sum, std::int64_t addend) {
    sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(addend));
  }

  // Processes the columns [first, first + columns). If doubles are precise enough for the mean of a column, writes the
  // mean to `out`. Otherwise stores the column in `open`, because its mean must be computed with integers. Returns the
  // number of columns in `open`.
  std::int64_t find_open(std::int64_t cluster, std::int64_t first, std::int64_t columns, T* out, bool all,
                         std::int32_t* open) const {
    if (!all && weights_.size() == 0 && counts_[cluster] > 0) {
      const Statistics& statistics = problem_->statistics;
      bool exact = !statistics.finest->empty();
      for (std::int64_t dim = first; exact && dim < first + columns; ++dim) exact = statistics.is_on_grid(dim);
      return certain_means(cluster_sums(cluster, first, columns, exact), out + first, open);
    }
    for (std::int64_t column = 0; column < columns; ++column) open[column] = static_cast<std::int32_t>(column);
    return columns;
  }

  ClusterSums cluster_sums(std::int64_t cluster, std::int64_t first, std::int64_t columns, bool exact) const {
    const Statistics& statistics = problem_->statistics;
    const std::int64_t* const high = limbs_.data() + cluster * 2 * limb_columns(problem_->d());
    return {high + first,
            high + limb_columns(problem_->d()) + first,
            counts_[cluster],
            columns,
            statistics.weight.to_low,
            statistics.to_high.data() + first,
            exact};
  }

  core::RawLimbs raw_limbs(std::int64_t dim, T coordinate, double scaled_weight) const {
    const core::Grid& grid = problem_->statistics.columns[static_cast<std::size_t>(dim)];
    const double on_grid = static_cast<double>(coordinate) * grid.to_high;
    if (weights_.size() == 0) return core::raw_limbs(on_grid, grid.to_low);
    // The product of two floats is exact in double.
    if constexpr (sizeof(T) == 4) return core::raw_limbs(scaled_weight * on_grid, grid.to_low);
    else return core::raw_limbs(scaled_weight, on_grid, grid.to_low);
  }

  void accumulate(std::int64_t point, const T* row, std::int64_t cluster, int sign) {
    const std::int64_t d = problem_->d();
    std::int64_t* high = raw(cluster);
    std::int64_t* low = high + limb_columns(d);
    const double weight = problem_->scaled_weight(point);
    const auto put = [sign](std::int64_t& sum, std::uint64_t bits) {
      wrapping_add(sum, static_cast<std::int64_t>(sign > 0 ? bits : -bits));
    };
    for (std::int64_t dim = 0; dim < d; ++dim) {
      const core::RawLimbs limbs = raw_limbs(dim, row[dim], weight);
      put(high[dim], limbs.high);
      put(low[dim], limbs.low);
    }
    if (weights_.size() > 0) {
      const core::Limbs limbs = problem_->statistics.weight.split(weight);
      wrapping_add(weights_[2 * cluster], sign * limbs.high);
      wrapping_add(weights_[2 * cluster + 1], sign * limbs.low);
    }
    counts_[cluster] += sign;
  }

  // Each addend loses less than one step of the grid. It loses nothing if the grid can represent all values of its
  // column.
  std::int64_t slack(std::int64_t cluster, std::int64_t dim) const {
    return problem_->statistics.is_on_grid(dim) ? 0 : counts_[cluster];
  }
  std::int64_t weight_slack(std::int64_t cluster) const {
    return weights_.size() == 0 || problem_->statistics.weights_are_on_grid() ? 0 : counts_[cluster];
  }

  int unit_of_mean(std::int64_t dim) const {
    const Statistics& statistics = problem_->statistics;
    return statistics.columns[static_cast<std::size_t>(dim)].unit - (weights_.size() > 0 ? statistics.weight.unit : 0);
  }

  core::Limbs limbs(std::int64_t cluster, std::int64_t dim) const {
    return {plain(cluster, dim), plain(cluster, limb_columns(problem_->d()) + dim)};
  }

  core::Int128 total(std::int64_t cluster, std::int64_t dim) const {
    return problem_->statistics.columns[static_cast<std::size_t>(dim)].total(limbs(cluster, dim));
  }

  core::Int128 plain_total(std::int64_t dim, const RemovedPoint<T>& point) const {
    const core::Grid& grid = problem_->statistics.columns[static_cast<std::size_t>(dim)];
    const core::RawLimbs limbs = raw_limbs(dim, point.row[dim], point.scaled_weight);
    constexpr auto magic = static_cast<std::uint64_t>(core::integer_magic_bits);
    return grid.total({static_cast<std::int64_t>(limbs.high - magic), static_cast<std::int64_t>(limbs.low - magic)});
  }

  /// Returns a limb without the bits of the magic number.
  std::int64_t plain(std::int64_t cluster, std::int64_t index) const {
    const std::uint64_t sum = static_cast<std::uint64_t>(limbs_[cluster * 2 * limb_columns(problem_->d()) + index]);
    return static_cast<std::int64_t>(sum - static_cast<std::uint64_t>(counts_[cluster]) *
                                               static_cast<std::uint64_t>(core::integer_magic_bits));
  }

  core::Int128 total_weight(std::int64_t cluster) const {
    if (weights_.size() == 0) return counts_[cluster];
    return problem_->statistics.weight.total({weights_[2 * cluster], weights_[2 * cluster + 1]});
  }

  const Problem<T>* problem_;
  Buffer<std::int64_t> words_;
  VectorView<std::int64_t> limbs_;  ///< views of words_
  VectorView<std::int64_t> weights_;
  VectorView<std::int64_t> counts_;
};

}  // namespace gradus::kmeans_detail
