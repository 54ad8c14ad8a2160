// A SeedingCover of points in host memory. The derived class measures the distances. From the distances, this class
// computes sums. It also draws rows and takes samples of rows.
//
// With several ranks, each rank has the distances of its rows. Row numbers are global. If chosen or tried rows are on
// other ranks, KnownRows fetches them. After each call of add(), every rank knows the totals of all ranks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "core/exact_sum.hpp"
#include "core/failure.hpp"
#include "core/philox.hpp"
#include "core/stop.hpp"
#include "kmeans/means/row_sums.hpp"
#include "kmeans/seeding/known_rows.hpp"
#include "kmeans/seeding/seeding_cover.hpp"

namespace gradus::kmeans_detail {

template <class T>
class Potential : public SeedingCover {
 public:
  const std::int64_t most_candidates;  ///< the largest number of candidates in one call of gains()

  std::uint64_t total() const final { return totals_.total(); }
  const std::vector<std::int64_t>& chosen() const final { return chosen_; }

  std::vector<std::int64_t> rows_at(std::span<const std::uint64_t> targets) final {
    std::vector<std::int64_t> rows;
    rows.reserve(targets.size());
    for (const std::uint64_t target : targets) {
      const RankTotals::Place place = totals_.find(target);
      rows.push_back(place.rank == known_.ranks().rank() ? known_.rank_rows().first() + row_at(place.target) : -1);
    }
    return known_.bring_own(std::move(rows));
  }

  std::vector<std::int64_t> sample(std::uint64_t wanted, const core::Philox& random, int round) final {
    return known_.bring_all([&] { return own_sample(wanted, random, round, known_.rank_rows().first()); });
  }

  std::vector<std::uint64_t> gains(std::span<const std::int64_t> candidates) final {
    return of_all(candidates.size(), [&] { return own_gains(candidates); });
  }

  void add(std::span<const std::int64_t> rows) final {
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

  std::vector<std::uint64_t> weights_of_chosen() const final {
    return of_all(chosen_.size(), [&] { return own_weights_of_chosen(); });
  }

  void bring(std::span<const std::int64_t> rows) final { known_.bring(rows); }
  void forget(std::span<const std::int64_t> candidates) final {
    for (const std::int64_t row : candidates)
      if (!known_.rank_rows().is_own(row) && std::ranges::find(chosen_, row) == chosen_.end()) known_.forget(row);
  }

 protected:
  // Number of rows between two polls of the stop token.
  static constexpr std::int64_t rows_per_poll = 16 * RowSums::block_rows;

  /// `points` and `weights`: this rank's part of all `rows`. The constructor of the derived class must call begin().
  /// The constructor, and every function that processes all rows, throw InterruptedError after a stop request.
  Potential(MatrixView<const T> points, VectorView<const T> weights, std::int64_t first, int threads,
            const std::stop_token& stop, std::int64_t candidates_of_a_call, const core::RankRows& rows)
      : most_candidates(candidates_of_a_call), points_(points), weights_(weights), stop_(stop), closest_(points.rows()),
        sums_(points.rows()), chosen_{first}, known_(rows, points) {
    known_.bring(chosen_);
    // Waking a thread costs about as much as 16384 coordinate differences.
    const double differences = static_cast<double>(points_.rows()) * static_cast<double>(points_.columns());
    threads_ = static_cast<int>(std::clamp(differences / 16384, 1.0, static_cast<double>(threads)));
    largest_weight_ = known_.ranks().greatest([&] {
      double largest = 0;
      for (std::int64_t row = 0; row < weights_.size(); ++row) {
        if (row % core::operations_between_polls == 0) honour_stop();
        largest = std::max(largest, static_cast<double>(weights_[row]));
      }
      return largest;
    });
    weight_unit_ = weights_.empty() ? 1.0 : weight_unit(largest_weight_);
  }

  /// Calls cover(), which computes the distances to the first row, and then computes the sums.
  template <class Cover>
  void begin(const Cover& cover) {
    known_.ranks().agree(cover);
    rescale();
  }

  virtual std::vector<std::uint64_t> own_gains(std::span<const std::int64_t> candidates) = 0;
  /// Adds at most most_candidates rows.
  virtual void own_add(std::span<const std::int64_t> rows) = 0;
  virtual std::vector<std::uint64_t> own_weights_of_chosen() const = 0;

  /// Returns a chosen or tried row by its global number.
  const T* row_of(std::int64_t number) const { return known_.row(number); }
  std::int64_t all_rows() const { return known_.rank_rows().all(); }

  // The functions below use row numbers relative to this rank.

  std::uint64_t integer(std::int64_t row) const { return quantize_(weight(row) * closest_[row]); }

  double weight(std::int64_t row) const {
    return weights_.empty() ? 1.0 : static_cast<double>(weights_[row]) * weight_unit_;
  }
  void honour_stop() const { core::honour_stop(stop_, "stopped while choosing the first centroids"); }

  /// Sets a row's distance to a smaller value. Threads may call it concurrently for rows in different blocks of the
  /// sums.
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
      for (std::int64_t first = 0; first < points_.rows(); first += rows_per_poll) {
        if (stop_.stop_requested() || failure.happened()) continue;
        failure.run([&] {
          for (std::int64_t row = first; row < std::min(first + rows_per_poll, points_.rows()); ++row) {
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

  /// On each rank, calls work(), which returns `count` integers. Returns the element-wise sums of these integers over
  /// all ranks.
  template <class Work>
  std::vector<std::uint64_t> of_all(std::size_t count, const Work& work) const {
    std::vector<std::uint64_t> integers;
    known_.ranks().add_up(
        count, [&] { integers = work(); },
        [&](std::span<std::uint64_t> words) { std::ranges::copy(integers, words.begin()); },
        [&](std::span<const std::uint64_t> words) { integers.assign(words.begin(), words.end()); });
    return integers;
  }

  /// Calls work(), which changes sums of blocks. Then updates the totals of the ranks.
  template <class Work>
  void refresh(const Work& work) {
    totals_ = RankTotals(known_.ranks().gather([&] {
      work();
      sums_.refresh();
      return sums_.total();
    }));
  }

  /// Recomputes all integers, with a scale for the current largest w * D (weight times squared distance). Afterwards,
  /// each change of a distance updates the sums in place. When the total has fallen to a quarter, rescale() is called
  /// again.
  void rescale() {
    const std::int64_t n = points_.rows();
    const double most = known_.ranks().greatest([&] {
      double largest = 0;
#pragma omp parallel for num_threads(threads_) schedule(static) reduction(max : largest)
      for (std::int64_t first = 0; first < n; first += rows_per_poll) {
        if (stop_.stop_requested()) continue;
        for (std::int64_t row = first; row < std::min(first + rows_per_poll, n); ++row)
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
  double weight_unit_ = 1;  ///< a power of two that scales the weights below 1, so that products do not overflow
  Buffer<double> closest_;  ///< for each row: the squared distance to the nearest chosen row
  Quantizer quantize_;
  RowSums sums_;
  std::vector<std::int64_t> chosen_;

 private:
  std::uint64_t total_at_rescale_ = 0;
  KnownRows<T> known_;
  RankTotals totals_;
};

}  // namespace gradus::kmeans_detail
