// Data that the ranks exchange while they choose the first centroids. Every rank compares its rows with the chosen or
// tried rows, so it needs their coordinates. To draw rows, it needs the sums of all ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <unordered_map>
#include <vector>

#include "gradus/array.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

/// Returns the weights of a rank without rows, for the case that other ranks have weights. The view holds one number
/// that belongs to no row, because an empty view would mean that there are no weights.
template <class T>
VectorView<const T> weights_of_no_rows() {
  static constexpr T none = 0;
  return {&none, 1};
}

/// The totals of the integers of each rank's rows. To draw a row, a prefix sum of these totals first selects the rank.
class RankTotals {
 public:
  RankTotals() = default;
  explicit RankTotals(std::vector<std::uint64_t> totals) : totals_(std::move(totals)) {
    for (const std::uint64_t one : totals_) total_ += one;
  }

  std::uint64_t total() const { return total_; }
  void take(int rank, std::uint64_t amount) {
    totals_[static_cast<std::size_t>(rank)] -= amount;
    total_ -= amount;
  }

  /// Identifies a row by a prefix sum: the rank that has the row, and the part of the prefix sum within this rank's
  /// rows.
  struct Place {
    int rank;
    std::uint64_t target;
  };
  Place find(std::uint64_t target) const {
    std::size_t rank = 0;
    while (target >= totals_[rank]) target -= totals_[rank++];
    return {static_cast<int>(rank), target};
  }

 private:
  std::vector<std::uint64_t> totals_;
  std::uint64_t total_ = 0;
};

/// Chosen or tried rows of all ranks, by global row number.
template <class T>
class KnownRows {
 public:
  KnownRows(const core::RankRows& rows, MatrixView<const T> own) : rows_(rows), own_(own) {}
  KnownRows(const KnownRows&) = delete;
  KnownRows& operator=(const KnownRows&) = delete;

  const core::RankRows& rank_rows() const { return rows_; }
  core::Ranks& ranks() const { return rows_.ranks(); }

  /// Returns the address of a row. Unless the row is one of this rank's rows, bring() must have fetched it.
  const T* row(std::int64_t number) const {
    return rows_.is_own(number) ? own_.row(number - rows_.first()) : others_.at(number).data();
  }

  // All ranks must call the functions below together. A single rank already has all rows, so nothing is fetched.

  void bring(std::span<const std::int64_t> numbers) {
    if (ranks().is_alone()) return;
    const Matrix<T> rows = rows_.rows_at(numbers, own_);
    for (std::size_t index = 0; index < numbers.size(); ++index)
      if (!rows_.is_own(numbers[index])) keep(numbers[index], rows.row(static_cast<std::int64_t>(index)));
  }

  /// Fetches one row per element of `numbers`. For each element, the rank that has the row passes the row's number, and
  /// all other ranks pass -1. Returns the row numbers on all ranks.
  std::vector<std::int64_t> bring_own(std::vector<std::int64_t> numbers) {
    ranks().add_up(
        numbers.size(), [] {},
        [&](std::span<std::uint64_t> words) {
          for (std::size_t index = 0; index < words.size(); ++index)
            if (numbers[index] >= 0) words[index] = static_cast<std::uint64_t>(numbers[index]);
        },
        [&](std::span<const std::uint64_t> words) { numbers.assign(words.begin(), words.end()); });
    bring(numbers);
    return numbers;
  }

  /// On each rank, calls work(), which returns global row numbers in ascending order. Fetches the rows with these
  /// numbers from all ranks, and returns the numbers of all ranks.
  template <class Work>
  std::vector<std::int64_t> bring_all(const Work& work) {
    std::vector<std::int64_t> numbers;
    const std::vector<std::uint64_t> counts = ranks().gather([&] {
      numbers = work();
      return std::uint64_t{numbers.size()};
    });
    std::size_t all = 0;
    std::size_t before = 0;
    for (std::size_t rank = 0; rank < counts.size(); all += counts[rank++])
      if (static_cast<int>(rank) == ranks().rank()) before = all;
    ranks().add_up(
        all, [] {},
        [&](std::span<std::uint64_t> words) {
          std::ranges::copy(numbers, words.begin() + static_cast<std::ptrdiff_t>(before));
        },
        [&](std::span<const std::uint64_t> words) { numbers.assign(words.begin(), words.end()); });
    bring(numbers);
    return numbers;
  }

  void forget(std::int64_t number) { others_.erase(number); }

 private:
  void keep(std::int64_t number, const T* row) { others_.try_emplace(number, row, row + own_.columns()); }

  core::RankRows rows_;
  MatrixView<const T> own_;
  std::unordered_map<std::int64_t, std::vector<T>> others_;
};

}  // namespace gradus::kmeans_detail
