// What k-means++ and k-means|| ask for again and again: the points' squared distances to the nearest of some chosen
// rows, a draw of rows by them, and how much the choice of another row would lower their sum. How few distances that
// takes is the business of the classes behind it, which give the same integers: Cover (few columns), FilteredCover
// (many) and DenseCover (few clusters).
//
// On ranks each has the distances of its own rows, while row numbers, and the rows that are chosen or tried, are of
// all: KnownRows brings the latter. Between two additions the ranks know each other's totals.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "core/exact_sum.hpp"
#include "core/failure.hpp"
#include "core/philox.hpp"
#include "core/stop.hpp"
#include "kmeans/lloyd/row_sums.hpp"
#include "kmeans/problem.hpp"
#include "kmeans/seeding/known_rows.hpp"

namespace gradus::kmeans_detail {

template <class T>
class Potential {
 public:
  Potential(const Potential&) = delete;
  Potential& operator=(const Potential&) = delete;
  virtual ~Potential() = default;

  const std::int64_t most_candidates;  ///< of one call of gains()

  /// The sum of w * D to the nearest chosen row, in integers.
  std::uint64_t total() const { return known_ == nullptr ? sums_.total() : totals_.total(); }
  /// For each target the row in which the prefix sum passes it.
  std::vector<std::int64_t> rows_at(std::span<const std::uint64_t> targets) const {
    std::vector<std::int64_t> rows;
    if (known_ != nullptr) {
      for (const std::uint64_t target : targets) {
        const RankTotals::Place place = totals_.find(target);
        rows.push_back(place.rank == known_->ranks().rank() ? row_at(place.target) : -1);
      }
      return known_->bring_own(rows);
    }
    for (const std::uint64_t target : targets) rows.push_back(row_at(target));
    return rows;
  }
  const std::vector<std::int64_t>& chosen() const { return chosen_; }

  /// Each row by itself with probability min(1, wanted * integer(row) / total()), ascending.
  std::vector<std::int64_t> sample(std::uint64_t wanted, const core::Philox& random, int round) const {
    if (known_ == nullptr) return own_sample(wanted, random, round, 0);
    return known_->bring_all([&] { return own_sample(wanted, random, round, known_->ranks().first_row()); });
  }

  /// By how much total() would fall, for each of the candidates, if it alone were chosen too.
  std::vector<std::uint64_t> gains(std::span<const std::int64_t> candidates) {
    if (known_ == nullptr) return own_gains(candidates);
    const std::span<const std::uint64_t> sums = known_->ranks().sum(
        candidates.size(),
        [&](std::span<std::uint64_t> words) { std::ranges::copy(own_gains(candidates), words.begin()); });
    return {sums.begin(), sums.end()};
  }

  /// Chooses rows: all of a step or a round, for what follows depends on the integers, and they are made anew after a
  /// call only. A point goes to the first of the nearest, in the order in which they were chosen.
  void add(std::span<const std::int64_t> rows) {
    refresh([&] {
      while (!rows.empty()) {
        honour_stop();
        const auto some = rows.first(std::min(rows.size(), static_cast<std::size_t>(most_candidates)));
        own_add(some);
        chosen_.insert(chosen_.end(), some.begin(), some.end());
        rows = rows.subspan(some.size());
      }
    });
    if (total() < total_at_rescale_ / 4) rescale();
  }

  /// For each chosen row the sum of the weights of its points, in integers; without weights their number.
  std::vector<std::uint64_t> weights_of_chosen() const {
    if (known_ == nullptr) return own_weights_of_chosen();
    const std::span<const std::uint64_t> sums = known_->ranks().sum(
        chosen_.size(),
        [&](std::span<std::uint64_t> words) { std::ranges::copy(own_weights_of_chosen(), words.begin()); });
    return {sums.begin(), sums.end()};
  }

 protected:
  static constexpr std::int64_t stretch = 16 * RowSums::block_rows;  // rows between two looks

  /// This and all that works on all rows ends with InterruptedError after a stop request. The derived class calls
  /// begin(). `known`: on ranks, where `points` and `weights` are this one's; it outlives this object.
  Potential(MatrixView<const T> points, VectorView<const T> weights, std::int64_t first, int threads,
            const std::stop_token& stop, std::int64_t candidates_of_a_call, KnownRows<T>* known)
      : most_candidates(candidates_of_a_call), points_(points), weights_(weights), stop_(stop), closest_(points.rows()),
        sums_(points.rows()), chosen_{first}, known_(known) {
    // Waking a thread costs about as much as 16384 differences.
    const double differences = static_cast<double>(points_.rows()) * static_cast<double>(points_.columns());
    threads_ = static_cast<int>(std::clamp(differences / 16384, 1.0, static_cast<double>(threads)));
    largest_weight_ = greatest([&] {
      double largest = 0;
      for (std::int64_t row = 0; row < weights_.size(); ++row) {
        if (row % core::operations_between_looks == 0) honour_stop();
        largest = std::max(largest, static_cast<double>(weights_[row]));
      }
      return largest;
    });
    weight_unit_ = weights_.empty() ? 1.0 : weight_unit(largest_weight_);
  }

  /// `cover` measures the distances to the first row.
  template <class Cover>
  void begin(const Cover& cover) {
    core::agree(known_ == nullptr ? nullptr : &known_->ranks(), cover);
    rescale();
  }

  /// The same of this rank's points.
  virtual std::vector<std::uint64_t> own_gains(std::span<const std::int64_t> candidates) = 0;
  /// At most most_candidates.
  virtual void own_add(std::span<const std::int64_t> rows) = 0;
  virtual std::vector<std::uint64_t> own_weights_of_chosen() const = 0;

  /// Of a row that is chosen or tried, by its number.
  const T* row_of(std::int64_t number) const { return known_ == nullptr ? points_.row(number) : known_->row(number); }
  /// Of all ranks together.
  std::int64_t all_rows() const { return known_ == nullptr ? points_.rows() : known_->ranks().rows(); }

  // From here on rows are counted from this rank's first one.

  std::uint64_t integer(std::int64_t row) const { return quantize_(weight(row) * closest_[row]); }

  double weight(std::int64_t row) const {
    return weights_.empty() ? 1.0 : static_cast<double>(weights_[row]) * weight_unit_;
  }
  void honour_stop() const { core::honour_stop(stop_, "stopped while choosing the first centroids"); }

  /// Sets a row's distance to a smaller one. Threads must not share a block of the sums.
  void lower(std::int64_t row, double distance) {
    const std::uint64_t before = integer(row);
    closest_[row] = distance;
    sums_.block_of(row) -= before - integer(row);
  }

 private:
  std::int64_t row_at(std::uint64_t target) const {
    return sums_.row_at(target, [this](std::int64_t row) { return integer(row); });
  }

  std::vector<std::int64_t> own_sample(std::uint64_t wanted, const core::Philox& random, int round,
                                       std::int64_t first_row) const {
    const std::uint64_t all = total();
    std::vector<std::int64_t> rows;
    core::FirstFailure failure;
#pragma omp parallel num_threads(threads_)
    {
      std::vector<std::int64_t> partial;
#pragma omp for schedule(static)
      for (std::int64_t first = 0; first < points_.rows(); first += stretch) {
        if (stop_.stop_requested() || failure.happened()) continue;
        failure.run([&] {
          for (std::int64_t row = first; row < std::min(first + stretch, points_.rows()); ++row) {
            const std::uint64_t share = integer(row);
            if (share > 0 && is_drawn(wanted, share, all, random.bits(draw_index(round, first_row + row))))
              partial.push_back(first_row + row);
          }
        });
      }
#pragma omp critical(gradus_sample_rows)
      failure.run([&] { rows.insert(rows.end(), partial.begin(), partial.end()); });
    }
    failure.rethrow();
    honour_stop();
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  /// The greatest of work()'s numbers, which are not negative, on all ranks.
  template <class Work>
  double greatest(const Work& work) {
    if (known_ == nullptr) return work();
    return known_->ranks().greatest(1, [&](std::span<double> numbers) { numbers[0] = work(); })[0];
  }

  /// Brings the sums up to date after work(), which changes blocks of them.
  template <class Work>
  void refresh(const Work& work) {
    const auto change = [&] {
      work();
      sums_.refresh();
      return sums_.total();
    };
    if (known_ == nullptr) change();
    else totals_ = RankTotals(known_->ranks().gather(change));
  }

  /// Integers relative to the largest w * D of now. Done again only when the total has fallen to a quarter: until then
  /// the sums are kept up to date where they change.
  void rescale() {
    const std::int64_t n = points_.rows();
    const double most = greatest([&] {
      double largest = 0;
#pragma omp parallel for num_threads(threads_) schedule(static) reduction(max : largest)
      for (std::int64_t first = 0; first < n; first += stretch) {
        if (stop_.stop_requested()) continue;
        for (std::int64_t row = first; row < std::min(first + stretch, n); ++row)
          largest = std::max(largest, weight(row) * closest_[row]);
      }
      return largest;
    });
    quantize_ = Quantizer(most, all_rows());
    refresh([&] {
#pragma omp parallel for num_threads(threads_) schedule(static)
      for (std::int64_t first = 0; first < n; first += RowSums::block_rows) {
        if (stop_.stop_requested()) continue;
        std::uint64_t sum = 0;
        for (std::int64_t row = first; row < std::min(first + RowSums::block_rows, n); ++row) sum += integer(row);
        sums_.block_of(first) = sum;
      }
      honour_stop();
    });
    total_at_rescale_ = total();
  }

 protected:
  MatrixView<const T> points_;
  VectorView<const T> weights_;
  std::stop_token stop_;
  int threads_ = 1;
  double largest_weight_ = 0;
  double weight_unit_ = 1;  ///< a power of two that brings the weights below 1, so that no product overflows
  Buffer<double> closest_;  ///< per row: the squared distance to the nearest chosen row
  Quantizer quantize_;
  RowSums sums_;
  std::vector<std::int64_t> chosen_;

 private:
  std::uint64_t total_at_rescale_ = 0;
  KnownRows<T>* known_;  ///< null: all rows are here
  RankTotals totals_;    ///< on ranks
};

}  // namespace gradus::kmeans_detail
