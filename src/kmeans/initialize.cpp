#include "kmeans/initialize.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/philox.hpp"
#include "cpu/threads.hpp"
#include "kmeans/cover.hpp"
#include "kmeans/row_sums.hpp"

namespace gradus::kmeans_detail {

namespace {

// Rounds of k-means|| and, in multiples of k, the rows that each is expected to choose: Bahmani et al. found that five
// rounds of 2k already give seeds as good as k-means++ does.
constexpr int oversampling_rounds = 5;
constexpr std::uint64_t oversampling_factor = 2;

void honour_stop(const Execution& execution) {
  if (execution.stop.stop_requested()) throw InterruptedError("stopped while choosing the first centroids");
}

template <class T>
Matrix<T> rows_of(MatrixView<const T> points, const std::vector<std::int64_t>& rows) {
  Matrix<T> chosen(static_cast<std::int64_t>(rows.size()), points.columns());
  for (std::size_t index = 0; index < rows.size(); ++index)
    std::copy_n(points.row(rows[index]), points.columns(), chosen.row(static_cast<std::int64_t>(index)));
  return chosen;
}

/// Draws rows by weight, none of them twice.
template <class T>
class WeightedRows {
 public:
  explicit WeightedRows(VectorView<const T> weights)
      : weights_(weights), sums_(weights.size()), drawn_(static_cast<std::size_t>(weights.size())) {
    rescale();
  }

  std::int64_t draw(const core::Philox& random, std::uint64_t index) {
    if (sums_.total() == 0) rescale();  // what is left is too light to count beside what was drawn
    if (sums_.total() == 0) throw InputError("weights: fewer rows have weight than there are clusters");
    const auto integer = [this](std::int64_t row) { return integer_of(row); };
    const std::int64_t row = sums_.row_at(random.below(index, sums_.total()), integer);
    sums_.take(row, integer_of(row));
    drawn_[static_cast<std::size_t>(row)] = true;
    return row;
  }

 private:
  double left(std::int64_t row) const {
    return drawn_[static_cast<std::size_t>(row)] ? 0.0 : static_cast<double>(weights_[row]);
  }
  std::uint64_t integer_of(std::int64_t row) const { return quantize_(left(row)); }

  void rescale() {
    double largest = 0;
    for (std::int64_t row = 0; row < weights_.size(); ++row) largest = std::max(largest, left(row));
    quantize_ = Quantizer(largest, weights_.size());
    for (std::int64_t row = 0; row < weights_.size(); row += RowSums::block_rows) sums_.block_of(row) = 0;
    for (std::int64_t row = 0; row < weights_.size(); ++row) sums_.block_of(row) += integer_of(row);
    sums_.refresh();
  }

  VectorView<const T> weights_;
  RowSums sums_;
  std::vector<bool> drawn_;
  Quantizer quantize_;
};

template <class T>
std::vector<std::int64_t> random_rows(std::int64_t n, VectorView<const T> weights, std::int64_t k,
                                      const core::Philox& random) {
  std::vector<std::int64_t> chosen;
  if (!weights.empty()) {
    WeightedRows<T> rows(weights);
    for (std::int64_t step = 0; step < k; ++step) chosen.push_back(rows.draw(random, static_cast<std::uint64_t>(step)));
    return chosen;
  }
  // Floyd's sampling without replacement: k draws, no table of n.
  std::unordered_set<std::int64_t> taken;
  for (std::int64_t last = n - k; last < n; ++last) {
    const auto draw = static_cast<std::int64_t>(
        random.below(static_cast<std::uint64_t>(last - (n - k)), static_cast<std::uint64_t>(last) + 1));
    const std::int64_t row = taken.insert(draw).second ? draw : last;
    taken.insert(row);
    chosen.push_back(row);
  }
  return chosen;
}

/// Greedy k-means++ and k-means|| over weighted points.
template <class T>
class Seeding {
 public:
  Seeding(MatrixView<const T> points, VectorView<const T> weights, std::int64_t k, const core::Philox& random,
          const Execution& execution, int threads)
      : points_(points), weights_(weights), k_(k), random_(random), execution_(execution), threads_(threads) {}

  /// `first_draw`: the index of the first random number; the draws count up from there.
  std::vector<std::int64_t> plus_plus(std::uint64_t first_draw) {
    draws_ = first_draw;
    Cover<T> cover(points_, weights_, first_row(), k_, threads_);
    std::vector<std::int64_t> chosen = cover.chosen();
    extend(cover, chosen);
    return chosen;
  }

  std::vector<std::int64_t> parallel() {
    const auto expected = static_cast<std::int64_t>(oversampling_factor) * oversampling_rounds * k_ + 1;
    Cover<T> cover(points_, weights_, first_row(), expected, threads_);
    for (int round = 0; round < oversampling_rounds && cover.total() > 0; ++round) {
      add_all(cover, sample(cover, round));
      if (execution_.progress) execution_.progress({"initialize", round + 1, oversampling_rounds + 1, "k-means||"});
    }
    // A row without points of its own repeats another one.
    const std::vector<std::uint64_t> weights = cover.weights_of_chosen();
    std::vector<std::int64_t> rows;
    std::vector<T> row_weights;
    for (std::size_t index = 0; index < weights.size(); ++index)
      if (weights[index] > 0) {
        rows.push_back(cover.chosen()[index]);
        row_weights.push_back(static_cast<T>(weights[index]));
      }
    if (static_cast<std::int64_t>(rows.size()) <= k_) {
      extend(cover, rows);
      return rows;
    }
    const Matrix<T> sample = rows_of(points_, rows);
    const VectorView<const T> sample_weights(row_weights.data(), static_cast<std::int64_t>(row_weights.size()));
    Execution quiet = execution_;
    quiet.progress = nullptr;
    Seeding of_sample(sample.view(), sample_weights, k_, random_, quiet, threads_);
    std::vector<std::int64_t> chosen = of_sample.plus_plus(draws_);
    for (std::int64_t& row : chosen) row = rows[static_cast<std::size_t>(row)];
    return chosen;
  }

 private:
  /// Numbers for a row in a round of k-means||, apart from those that count up from 0.
  static std::uint64_t index_of(int round, std::int64_t row) {
    return (static_cast<std::uint64_t>(round) + 1) << 48 | static_cast<std::uint64_t>(row);
  }

  std::int64_t first_row() {
    if (!weights_.empty()) return WeightedRows<T>(weights_).draw(random_, draws_++);
    return static_cast<std::int64_t>(random_.below(draws_++, static_cast<std::uint64_t>(points_.rows())));
  }

  /// Steps of greedy k-means++ until k rows are chosen.
  void extend(Cover<T>& cover, std::vector<std::int64_t>& chosen) {
    const int trials = 2 + static_cast<int>(std::log(static_cast<double>(k_)));
    std::vector<std::int64_t> candidates(static_cast<std::size_t>(trials));
    while (static_cast<std::int64_t>(chosen.size()) < k_) {
      honour_stop(execution_);
      if (cover.total() == 0) return extend_by_different_rows(chosen);
      for (std::int64_t& candidate : candidates) candidate = cover.row_at(random_.below(draws_++, cover.total()));
      const std::vector<std::uint64_t> gains = cover.gains(candidates);
      // The one that leaves the least; the first on ties.
      const auto best = std::max_element(gains.begin(), gains.end()) - gains.begin();
      chosen.push_back(candidates[static_cast<std::size_t>(best)]);
      cover.add(std::span(&chosen.back(), 1));
      if (execution_.progress)
        execution_.progress({"initialize", static_cast<std::int64_t>(chosen.size()), k_, "k-means++"});
    }
  }

  /// For rows that differ by so little that all squared distances are zero: the first ones that are not chosen yet.
  void extend_by_different_rows(std::vector<std::int64_t>& chosen) const {
    std::unordered_set<std::string> seen;
    const auto is_new = [&](std::int64_t row) {
      std::string bytes(static_cast<std::size_t>(points_.columns()) * sizeof(T), '\0');
      for (std::int64_t dim = 0; dim < points_.columns(); ++dim) {
        const T value = points_(row, dim) + T{0};  // -0 counts as 0
        std::memcpy(bytes.data() + static_cast<std::size_t>(dim) * sizeof(T), &value, sizeof(T));
      }
      return seen.insert(std::move(bytes)).second;
    };
    for (const std::int64_t row : chosen) is_new(row);
    for (std::int64_t row = 0; row < points_.rows() && static_cast<std::int64_t>(chosen.size()) < k_; ++row)
      if ((weights_.empty() || weights_[row] > 0) && is_new(row)) chosen.push_back(row);
    if (static_cast<std::int64_t>(chosen.size()) < k_)
      throw InputError("points: fewer different points of positive weight than clusters");
  }

  /// A round of k-means||: each row by itself with probability min(1, 2k w D / total), ascending.
  std::vector<std::int64_t> sample(const Cover<T>& cover, int round) const {
    const std::int64_t n = points_.rows();
    const auto wanted = static_cast<core::UInt128>(oversampling_factor * static_cast<std::uint64_t>(k_));
    const std::uint64_t total = cover.total();
    std::vector<std::int64_t> rows;
#pragma omp parallel num_threads(threads_)
    {
      std::vector<std::int64_t> partial;
#pragma omp for schedule(static)
      for (std::int64_t row = 0; row < n; ++row) {
        const core::UInt128 odds = wanted * cover.integer(row);
        if (odds == 0) continue;
        // bits / 2^64 < odds / total. Where odds < total < 2^62, neither product overflows.
        if (odds >= total || static_cast<core::UInt128>(random_.bits(index_of(round, row))) * total < odds << 64)
          partial.push_back(row);
      }
#pragma omp critical(gradus_sample_rows)
      rows.insert(rows.end(), partial.begin(), partial.end());
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  void add_all(Cover<T>& cover, const std::vector<std::int64_t>& rows) const {
    for (std::size_t first = 0; first < rows.size(); first += Cover<T>::most_candidates) {
      honour_stop(execution_);
      const std::size_t count = std::min<std::size_t>(Cover<T>::most_candidates, rows.size() - first);
      cover.add(std::span(rows).subspan(first, count));
    }
  }

  MatrixView<const T> points_;
  VectorView<const T> weights_;
  std::int64_t k_;
  const core::Philox& random_;
  const Execution& execution_;
  int threads_;
  std::uint64_t draws_ = 0;
};

}  // namespace

template <class T>
Matrix<T> initialize(MatrixView<const T> points, const KMeansOptions<T>& options, const Execution& execution,
                     int restart) {
  const core::Philox random(options.seed, static_cast<std::uint64_t>(restart));
  const std::int64_t k = options.clusters;
  Seeding<T> seeding(points, options.weights, k, random, execution, cpu::thread_count(execution));
  switch (options.init) {
    case KMeansInit::given: return Matrix<T>::copy_of(options.initial_centroids);
    case KMeansInit::first: return Matrix<T>::copy_of(points.slice(0, k));
    case KMeansInit::random: return rows_of(points, random_rows(points.rows(), options.weights, k, random));
    case KMeansInit::kmeans_plus_plus: return rows_of(points, seeding.plus_plus(0));
    case KMeansInit::kmeans_parallel: return rows_of(points, seeding.parallel());
  }
  throw UsageError("unknown initialization");
}

template Matrix<float> initialize(MatrixView<const float>, const KMeansOptions<float>&, const Execution&, int);
template Matrix<double> initialize(MatrixView<const double>, const KMeansOptions<double>&, const Execution&, int);

}  // namespace gradus::kmeans_detail
