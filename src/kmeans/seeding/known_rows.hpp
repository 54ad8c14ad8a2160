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
#include "kmeans/points/point_rows.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

/// Returns the weights of a rank without rows if other ranks have weights. The view contains one number that belongs to
/// no row. An empty view would mean that there are no weights.
template <class T>
VectorView<const T> weights_of_no_rows() {
  static constexpr T none = 0;
  return {&none, 1};
}

/// The totals of the ranks: each total is the sum of the integers of one rank's rows. To draw a row, a prefix sum of
/// these totals first selects the rank.
class RankTotals {
 public:
  RankTotals() = default;
  explicit RankTotals(std::vector<std::uint64_t> totals) : totals_(std::move(totals)) {
    for (const std::uint64_t one : totals_) total_ += one;
  }

  std::uint64_t total() const { return total_; }
  const std::vector<std::uint64_t>& of_ranks() const { return totals_; }
  void take(int rank, std::uint64_t amount) {
    totals_[static_cast<std::size_t>(rank)] -= amount;
    total_ -= amount;
  }

  /// The place of a row that was selected by a prefix sum: the rank that has the row, and the part of the prefix sum
  /// within this rank's rows.
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

/// Copies, in host memory, of chosen or tried rows that cannot be read in place: rows of other ranks, and stored rows
/// that must be widened. The key is the global row number.
template <class T>
class KnownRows {
 public:
  KnownRows(const core::RankRows& rows, const PointRows<T>& own) : rows_(rows), own_(own) {}
  KnownRows(const KnownRows&) = delete;
  KnownRows& operator=(const KnownRows&) = delete;

  bool is_in_place(std::int64_t number) const { return rows_.is_own(number) && !own_.is_stored(); }
  /// Returns the address of a row. If the row is not in place, keep() or keep_own() must have received it.
  const T* row(std::int64_t number) const {
    return is_in_place(number) ? own_.shape().row(number - rows_.first()) : others_.at(number).data();
  }

  void keep(std::span<const std::int64_t> numbers, const Matrix<T>& rows) {
    for (std::size_t index = 0; index < numbers.size(); ++index) {
      const T* const row = rows.row(static_cast<std::int64_t>(index));
      if (!is_in_place(numbers[index])) others_.try_emplace(numbers[index], row, row + rows.columns());
    }
  }
  /// Keeps rows of this rank.
  void keep_own(std::span<const std::int64_t> numbers) {
    for (const std::int64_t number : numbers) {
      if (is_in_place(number)) continue;
      const auto [place, is_new] = others_.try_emplace(number, static_cast<std::size_t>(own_.columns()));
      if (is_new) own_.copy(number - rows_.first(), 1, place->second.data());
    }
  }
  void forget(std::int64_t number) { others_.erase(number); }

 private:
  core::RankRows rows_;
  PointRows<T> own_;
  std::unordered_map<std::int64_t, std::vector<T>> others_;
};

}  // namespace gradus::kmeans_detail
