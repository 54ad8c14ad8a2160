// A SeedingCover for points in host memory. The derived class computes the distances. This class computes sums of the
// distances, draws rows and takes samples of rows. KnownRows holds those chosen and tried rows that are on other ranks.
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
#include "kmeans/seeding/rank_cover.hpp"

namespace gradus::kmeans_detail {

template <class T>
class Potential : public RankCover<T> {
 public:
  void forget(std::span<const std::int64_t> candidates) final {
    for (const std::int64_t row : candidates)
      if (!known_.is_in_place(row) && std::ranges::find(chosen_, row) == chosen_.end()) known_.forget(row);
  }

 protected:
  using RankCover<T>::chosen_, RankCover<T>::honour_stop, RankCover<T>::rank_rows, RankCover<T>::stop_;

  // Number of rows between two polls of the stop token.
  static constexpr std::int64_t rows_per_poll = 16 * RowSums::block_rows;

  /// `points` and `weights` are this rank's part of all `rows`. The constructor of the derived class must call begin().
  /// The constructor, and every function that processes all rows, throw InterruptedError after a stop request.
  /// `candidates_of_a_call` is the maximum number of candidates per call of own_gains() or own_add().
  Potential(const PointRows<T>& points, VectorView<const T> weights, std::int64_t first, int threads,
            const std::stop_token& stop, std::int64_t candidates_of_a_call, const core::RankRows& rows)
      : RankCover<T>(rows, points.columns(), first, candidates_of_a_call, stop), points_(points), weights_(weights),
        closest_(points.rows()), sums_(points.rows()), known_(rows, points) {
    this->bring(chosen_);
    // It takes about as long to wake a thread as to compute 16384 coordinate differences.
    const double differences = static_cast<double>(points_.rows()) * static_cast<double>(points_.columns());
    threads_ = static_cast<int>(std::clamp(differences / 16384, 1.0, static_cast<double>(threads)));
    largest_weight_ = this->largest_weight_of(weights_);
    weight_unit_ = weights_.empty() ? 1.0 : weight_unit(largest_weight_);
  }

  /// Returns a chosen or tried row by its global number.
  const T* row_of(std::int64_t number) const { return known_.row(number); }

  // The functions below use row numbers relative to this rank.

  std::uint64_t integer(std::int64_t row) const { return quantize_(weight(row) * closest_[row]); }

  double weight(std::int64_t row) const {
    return weights_.empty() ? 1.0 : static_cast<double>(weights_[row]) * weight_unit_;
  }

  /// Sets a row's distance to a smaller value. Threads may call it concurrently for rows in different blocks of the
  /// sums.
  void lower(std::int64_t row, double distance) {
    const std::uint64_t before = integer(row);
    closest_[row] = distance;
    sums_.block_of(row) -= before - integer(row);
  }

 private:
  std::vector<std::int64_t> own_rows_at(std::span<const std::uint64_t> targets, Matrix<T>* copies) final {
    std::vector<std::int64_t> rows;
    rows.reserve(targets.size());
    for (const std::uint64_t target : targets)
      rows.push_back(rank_rows().first() + sums_.row_at(target, [this](std::int64_t row) { return integer(row); }));
    if (copies != nullptr) *copies = own_copies(rows);
    return rows;
  }

  Matrix<T> own_copies(std::span<const std::int64_t> rows) const final {
    Matrix<T> copies(std::ssize(rows), points_.columns());
    for (std::int64_t index = 0; index < copies.rows(); ++index)
      points_.copy(rows[static_cast<std::size_t>(index)] - rank_rows().first(), 1, copies.row(index));
    return copies;
  }

  void keep(std::span<const std::int64_t> rows, Matrix<T> copies) final { known_.keep(rows, copies); }
  void keep_own(std::span<const std::int64_t> rows) final { known_.keep_own(rows); }

  std::vector<std::int64_t> own_sample(std::uint64_t wanted, const core::Philox& random, int round) final {
    const std::int64_t first_row = rank_rows().first();
    const std::uint64_t all = this->total();
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

  void own_refresh() final { sums_.refresh(); }
  std::uint64_t own_total() final { return sums_.total(); }

  double own_largest() final {
    const std::int64_t n = points_.rows();
    double largest = 0;
#pragma omp parallel for num_threads(threads_) schedule(static) reduction(max : largest)
    for (std::int64_t first = 0; first < n; first += rows_per_poll) {
      if (stop_.stop_requested()) continue;
      for (std::int64_t row = first; row < std::min(first + rows_per_poll, n); ++row)
        largest = std::max(largest, weight(row) * closest_[row]);
    }
    return largest;
  }

  void own_requantize(const Quantizer& quantize) final {
    const std::int64_t n = points_.rows();
    quantize_ = quantize;
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t first = 0; first < n; first += RowSums::block_rows) {
      if (stop_.stop_requested()) continue;
      std::uint64_t sum = 0;
      for (std::int64_t row = first; row < std::min(first + RowSums::block_rows, n); ++row) sum += integer(row);
      sums_.block_of(first) = sum;
    }
    honour_stop();
  }

 protected:
  PointRows<T> points_;
  VectorView<const T> weights_;
  int threads_ = 1;
  double largest_weight_ = 0;
  double weight_unit_ = 1;  ///< a power of two that scales the weights below 1, so that products do not overflow
  Buffer<double> closest_;  ///< for each row: the squared distance to the nearest chosen row
  Quantizer quantize_;
  RowSums sums_;

 private:
  KnownRows<T> known_;
};

}  // namespace gradus::kmeans_detail
