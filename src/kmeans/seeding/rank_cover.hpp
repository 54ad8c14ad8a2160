// The steps of a SeedingCover in which all ranks take part. The derived class has the distances of this rank's rows, in
// host memory or on a GPU. From these distances, the derived class computes this rank's share of each result. This
// class combines the shares of all ranks, keeps their totals, and decides when the integers need a new scale.
//
// Row numbers are global. All ranks must call the public functions together. The covers of different ranks may be of
// different classes. A step of k-means++ takes two exchanges: one for the drawn rows, and one for their gains on each
// rank. From the gains, every rank can compute the totals of all ranks after the addition of any of these rows.
// Therefore, the distances are not decreased before the next exchange. In a job without ranks, nothing is exchanged.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "core/philox.hpp"
#include "core/stop.hpp"
#include "gradus/array.hpp"
#include "kmeans/means/row_sums.hpp"
#include "kmeans/seeding/known_rows.hpp"
#include "kmeans/seeding/seeding_cover.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

template <class T>
class RankCover : public SeedingCover {
 public:
  std::uint64_t total() const final { return totals_.total(); }
  const std::vector<std::int64_t>& chosen() const final { return chosen_; }

  std::vector<std::int64_t> rows_at(std::span<const std::uint64_t> targets) final {
    std::vector<std::size_t> places;  // indices of the targets whose rows are on this rank
    const auto find = [&](Matrix<T>* copies) {
      settle();
      std::vector<std::uint64_t> own;
      for (std::size_t index = 0; index < targets.size(); ++index) {
        const RankTotals::Place place = totals_.find(targets[index]);
        if (place.rank != ranks().rank()) continue;
        own.push_back(place.target);
        places.push_back(index);
      }
      return own.empty() ? std::vector<std::int64_t>() : own_rows_at(own, copies);
    };
    if (ranks().is_alone()) {
      std::vector<std::int64_t> rows = find(nullptr);
      keep_own(rows);
      return rows;
    }
    // The ranks add up the numbers and coordinates of the rows. If a rank does not have a row, it adds zeros.
    const std::size_t count = targets.size();
    const std::vector<std::uint64_t> words = ranks().sum(count * (1 + row_words()), [&](std::span<std::uint64_t> to) {
      Matrix<T> copies;
      const std::vector<std::int64_t> rows = find(&copies);
      for (std::size_t index = 0; index < rows.size(); ++index) {
        to[places[index]] = static_cast<std::uint64_t>(rows[index]);
        put_row(copies.row(static_cast<std::int64_t>(index)), to.subspan(count), places[index]);
      }
    });
    std::vector<std::int64_t> rows(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count));
    keep(rows, rows_in(std::span(words).subspan(count), count));
    return rows;
  }

  std::vector<std::int64_t> sample(std::uint64_t wanted, const core::Philox& random, int round) final {
    std::vector<std::int64_t> own;
    const std::vector<std::uint64_t> counts = ranks().gather([&] {
      settle();
      own = own_sample(wanted, random, round);
      return std::uint64_t{own.size()};
    });
    if (!ranks().is_alone()) own = concatenated(own, counts);
    bring(own);
    return own;
  }

  std::vector<std::uint64_t> gains(std::span<const std::int64_t> candidates) final {
    compared_.assign(candidates.begin(), candidates.end());
    gains_of_ranks_.clear();
    std::vector<std::uint64_t> all(candidates.size());
    ranks().exchange(
        candidates.size() * sizeof(std::uint64_t),
        [&](std::span<std::byte> bytes) {
          settle();
          std::memcpy(bytes.data(), own_gains(candidates).data(), bytes.size());
        },
        [&](int, std::span<const std::byte> bytes) {
          std::vector<std::uint64_t>& gains = gains_of_ranks_.emplace_back(candidates.size());
          std::memcpy(gains.data(), bytes.data(), bytes.size());
          for (std::size_t index = 0; index < all.size(); ++index) all[index] += gains[index];
        });
    return all;
  }

  void add(std::span<const std::int64_t> rows) final {
    if (rows.empty()) return;
    const auto compared = std::ranges::find(compared_, rows.front());
    if (rows.size() == 1 && compared != compared_.end()) {
      const auto index = static_cast<std::size_t>(compared - compared_.begin());
      for (std::size_t rank = 0; rank < gains_of_ranks_.size(); ++rank)
        totals_.take(static_cast<int>(rank), gains_of_ranks_[rank][index]);
      pending_ = rows.front();
      chosen_.push_back(rows.front());
    } else {
      refresh([&] {
        settle();
        for (auto rest = rows; !rest.empty();) {
          honour_stop();
          const auto some = rest.first(std::min(rest.size(), static_cast<std::size_t>(most_added_)));
          own_add(some);
          chosen_.insert(chosen_.end(), some.begin(), some.end());
          rest = rest.subspan(some.size());
        }
      });
    }
    compared_.clear();
    rescale_if_small();
  }

  std::vector<std::uint64_t> weights_of_chosen() final {
    std::vector<std::uint64_t> weights;
    ranks().add_up(
        chosen_.size(),
        [&] {
          settle();
          weights = own_weights_of_chosen();
        },
        [&](std::span<std::uint64_t> words) { std::ranges::copy(weights, words.begin()); },
        [&](std::span<const std::uint64_t> words) { weights.assign(words.begin(), words.end()); });
    return weights;
  }

  void bring(std::span<const std::int64_t> rows) final {
    if (ranks().is_alone()) return keep_own(rows);
    if (rows.empty()) return;
    if (keeps_on_gpu(std::ssize(rows))) return keep_on_gpu(rows);
    keep(rows, rows_in(ranks().sum(rows.size() * row_words(),
                                   [&](std::span<std::uint64_t> to) {
                                     std::vector<std::int64_t> own;
                                     std::vector<std::size_t> places;
                                     for (std::size_t index = 0; index < rows.size(); ++index) {
                                       if (!rows_.is_own(rows[index])) continue;
                                       own.push_back(rows[index]);
                                       places.push_back(index);
                                     }
                                     if (own.empty()) return;
                                     const Matrix<T> copies = own_copies(own);
                                     for (std::size_t index = 0; index < own.size(); ++index)
                                       put_row(copies.row(static_cast<std::int64_t>(index)), to, places[index]);
                                   }),
                       rows.size()));
  }

 protected:
  /// `columns` is the number of columns of the points. `first` is the row that is chosen first. own_add() receives at
  /// most `most_added` rows per call.
  RankCover(const core::RankRows& rows, std::int64_t columns, std::int64_t first, std::int64_t most_added,
            std::stop_token stop)
      : stop_(std::move(stop)), chosen_{first}, rows_(rows), columns_(columns), most_added_(most_added) {}

  // The constructor of the derived class must call three functions, in this order: bring(chosen_), largest_weight_of()
  // and begin().

  /// Returns the largest weight of all ranks, or 0 if there are no weights.
  double largest_weight_of(VectorView<const T> weights) const {
    return ranks().greatest([&] {
      double largest = 0;
      for (std::int64_t row = 0; row < weights.size(); ++row) {
        if (row % core::operations_between_polls == 0) honour_stop();
        largest = std::max(largest, static_cast<double>(weights[row]));
      }
      return largest;
    });
  }
  /// Calls cover(), which computes the distances from this rank's rows to the first chosen row. Then computes the
  /// integers.
  template <class Cover>
  void begin(const Cover& cover) {
    ranks().agree(cover);
    rescale();
  }
  const RankTotals& totals() const { return totals_; }
  /// Sets the totals of all ranks. Used when the derived class has taken steps without this class.
  void replace_totals(std::vector<std::uint64_t> totals) {
    totals_ = RankTotals(std::move(totals));
    rescale_if_small();
  }
  /// Returns the smallest total with the current scale. If the total is less, the integers need a new scale.
  std::uint64_t least_total() const { return total_at_rescale_ / 4; }

  // Each of the functions below computes this rank's share of a result. A function may throw on some ranks only.

  /// Returns, for each target, the first row at which the prefix sum of this rank's integers exceeds the target. If
  /// `copies` is not null, stores copies of these rows in it.
  virtual std::vector<std::int64_t> own_rows_at(std::span<const std::uint64_t> targets, Matrix<T>* copies) = 0;
  /// Returns copies of rows of this rank.
  virtual Matrix<T> own_copies(std::span<const std::int64_t> rows) const = 0;
  /// Stores copies of rows of all ranks. own_gains() and own_add() compare with these copies. A job without ranks does
  /// not call keep().
  virtual void keep(std::span<const std::int64_t> rows, Matrix<T> copies) = 0;
  /// Stores copies of rows of this rank if they cannot be read in place. Replaces keep() in a job without ranks.
  virtual void keep_own(std::span<const std::int64_t> /*rows*/) {}
  /// Returns true if keep_on_gpu() replaces keep() for this number of rows. All ranks return the same.
  virtual bool keeps_on_gpu(std::int64_t /*count*/) const { return false; }
  /// Copies rows of all ranks to this rank's GPU, without a copy in host memory. Collective: if it fails on one rank,
  /// all ranks throw.
  virtual void keep_on_gpu(std::span<const std::int64_t> /*rows*/) {}
  /// Returns those rows of the sample that are on this rank, in ascending order.
  virtual std::vector<std::int64_t> own_sample(std::uint64_t wanted, const core::Philox& random, int round) = 0;
  virtual std::vector<std::uint64_t> own_gains(std::span<const std::int64_t> candidates) = 0;
  /// Decreases the distances of this rank's rows. chosen_ does not contain `rows` yet; they will follow the rows in
  /// chosen_.
  virtual void own_add(std::span<const std::int64_t> rows) = 0;
  virtual std::vector<std::uint64_t> own_weights_of_chosen() const = 0;
  /// Returns this rank's largest w * D (weight times squared distance), or 0 if this rank has no rows.
  virtual double own_largest() = 0;
  /// Computes this rank's integers again.
  virtual void own_requantize(const Quantizer& quantize) = 0;
  /// Updates the sums of integers. Called after own_add() and own_requantize().
  virtual void own_refresh() = 0;
  /// Returns the sum of this rank's integers. Called only after own_refresh().
  virtual std::uint64_t own_total() = 0;

  const core::RankRows& rank_rows() const { return rows_; }
  core::Ranks& ranks() const { return rows_.ranks(); }
  void honour_stop() const { core::honour_stop(stop_, "stopped while choosing the first centroids"); }

  std::stop_token stop_;
  std::vector<std::int64_t> chosen_;

 private:
  std::size_t row_words() const { return (static_cast<std::size_t>(columns_) * sizeof(T) + 7) / 8; }
  void put_row(const T* row, std::span<std::uint64_t> words, std::size_t place) const {
    std::memcpy(words.data() + place * row_words(), row, static_cast<std::size_t>(columns_) * sizeof(T));
  }
  Matrix<T> rows_in(std::span<const std::uint64_t> words, std::size_t count) const {
    Matrix<T> rows(static_cast<std::int64_t>(count), columns_);
    for (std::size_t index = 0; index < count; ++index)
      std::memcpy(rows.row(static_cast<std::int64_t>(index)), words.data() + index * row_words(),
                  static_cast<std::size_t>(columns_) * sizeof(T));
    return rows;
  }

  /// Returns the rows of all ranks, in the order of the ranks. `counts` contains the number of rows of each rank.
  std::vector<std::int64_t> concatenated(const std::vector<std::int64_t>& own,
                                         const std::vector<std::uint64_t>& counts) const {
    std::size_t all = 0;
    std::size_t before = 0;
    for (std::size_t rank = 0; rank < counts.size(); all += counts[rank++])
      if (static_cast<int>(rank) == ranks().rank()) before = all;
    const std::vector<std::uint64_t> rows = ranks().sum(all, [&](std::span<std::uint64_t> words) {
      std::ranges::copy(own, words.begin() + static_cast<std::ptrdiff_t>(before));
    });
    return {rows.begin(), rows.end()};
  }

  /// If the addition of a row is pending, decreases the distances for this row. Must be called before distances or
  /// integers are used.
  void settle() {
    if (!pending_) return;
    chosen_.pop_back();
    own_add(std::span(&*pending_, 1));
    chosen_.push_back(*pending_);
    pending_.reset();
    own_refresh();
  }

  /// Calls work(), which changes integers. Then updates the totals of all ranks.
  template <class Work>
  void refresh(const Work& work) {
    totals_ = RankTotals(ranks().gather([&] {
      work();
      own_refresh();
      return own_total();
    }));
  }

  void rescale_if_small() {
    if (total() < least_total()) rescale();
  }

  /// Computes all integers again, with a scale that fits the current largest w * D. Afterwards, each change of a
  /// distance updates the sums in place, until the total has fallen to a quarter. Then the integers get a new scale.
  void rescale() {
    const double largest = ranks().greatest([&] {
      settle();
      return own_largest();
    });
    const Quantizer quantize(largest, rows_.all());
    refresh([&] { own_requantize(quantize); });
    total_at_rescale_ = total();
  }

  core::RankRows rows_;
  std::int64_t columns_;
  std::int64_t most_added_;
  std::uint64_t total_at_rescale_ = 0;
  RankTotals totals_;
  std::vector<std::int64_t> compared_;                      ///< candidates of the last gains(), for the next add()
  std::vector<std::vector<std::uint64_t>> gains_of_ranks_;  ///< for each rank: its gains of these candidates
  std::optional<std::int64_t> pending_;  ///< the last row in chosen_, if the distances do not include it yet
};

}  // namespace gradus::kmeans_detail
