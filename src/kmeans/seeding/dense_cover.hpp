// k-means++ for few clusters: computes every distance. With few clusters, at least half of the points are nearer to a
// trial than to all chosen rows. It would take longer to find these points by bounds than to compute all distances.
// Points are processed in order, in blocks of 256. Vectors of points are compared with all trials of a step. The gains
// are summed while the block's distances are in the cache. Cover and FilteredCover compute the same sums.
//
// With few columns, distances are not stored. When a trial is chosen, its distances are computed a second time, because
// reading the points takes less time than writing the distances of all trials. With more columns, the distances of all
// trials are stored. With up to 24 columns and at least 5 trials, tiles of floats (dense_tiles.hpp) replace the
// distances of all trials but the best.
//
// Floor for a step with L trials: reading the points, and n d L double multiply-adds. Memory: 8 bytes per point. If
// distances are stored, 8 L bytes per point are added; for tiles, see dense_tiles.hpp. Supports neither weights nor the
// groups of points that k-means|| needs.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/failure.hpp"
#include "cpu/threads.hpp"
#include "kmeans/assign/distance.hpp"
#include "kmeans/seeding/byte_rows.hpp"
#include "kmeans/seeding/dense_tiles.hpp"

namespace gradus::kmeans_detail {

inline constexpr std::int64_t few_columns = 5;

/// Computes squared_distances() for at most 256 rows of at most few_columns columns. The rows are `stride` elements
/// apart.
template <class T>
void few_squared_distances(const T* rows, std::int64_t stride, std::int64_t count, const T* const* centroids,
                           std::int64_t clusters, std::int64_t columns, double* out);

/// Returns a sum of integers: each minimum min(closest[i], others[i]) is converted to an integer. If `keep` is true,
/// also stores the minima in `closest`.
std::uint64_t sum_of_lesser(double* closest, const double* others, std::int64_t count, const Quantizer& quantize,
                            bool keep);

template <class T>
class DenseCover final : public TileCover<T> {
 public:
  /// `copy` is the 8-bit copy of the points. The constructor fills it while it reads the points. `copy` may be null.
  DenseCover(const PointRows<T>& points, std::int64_t first, int trials, int threads, const std::stop_token& stop,
             ByteRows<T>* copy, const core::RankRows& rows)
      : TileCover<T>(points, {}, first, threads, stop, most_trials, rows),
        kept_(keeps(points.columns(), trials) ? trials * (points.rows() + block_rows) : 0) {
    const T* const chosen = this->row_of(first);
    constexpr std::int64_t panel_rows = ByteRows<T>::panel_rows;
    const std::int64_t of_a_thread = ByteRows<T>::scratch_floats(points.columns());
    std::vector<float> scratch(copy != nullptr ? static_cast<std::size_t>(threads_ * of_a_thread) : 0);
    this->begin([&] {
      for_all_blocks([&](std::int64_t row, std::int64_t count, T* room) {
        if (copy == nullptr) return measure(row, count, room, &chosen, 1, closest_.data() + row);
        for (std::int64_t at = row; at < row + count; at += panel_rows) {
          measure(at, std::min(panel_rows, row + count - at), room, &chosen, 1, closest_.data() + at);
          copy->copy_panel(at / panel_rows, scratch.data() + omp_get_thread_num() * of_a_thread);
        }
      });
      if (is_tiled(points.columns(), trials)) this->make_tiles(chosen);
    });
  }

  static bool takes(bool weighted, bool groups, int trials) { return !weighted && !groups && trials <= most_trials; }

  /// Returns the bytes of memory that are needed in addition to the points.
  static std::uint64_t bytes(std::int64_t rows, std::int64_t columns, int trials) {
    return 8 * static_cast<std::uint64_t>(rows + (keeps(columns, trials) ? trials * (rows + block_rows) : 0)) +
           (is_tiled(columns, trials) ? TileCover<T>::tile_bytes(rows, columns, trials) : 0);
  }

  static constexpr std::int64_t most_trials = 16;

 protected:
  std::vector<std::uint64_t> own_gains(std::span<const std::int64_t> candidates) override {
    if (this->has_tiles()) return this->tile_gains(candidates);
    const auto trials = std::ssize(candidates);
    const T* addresses[most_trials];
    for (std::int64_t trial = 0; trial < trials; ++trial)
      addresses[trial] = this->row_of(candidates[static_cast<std::size_t>(trial)]);
    const bool keep = trials * (points_.rows() + block_rows) <= kept_.size();
    typename TileCover<T>::template ThreadSums<std::uint64_t> sums(threads_, candidates.size());
    for_all_blocks([&](std::int64_t row, std::int64_t count, T* room) {
      double own[most_trials * block_rows];
      double* const distances = keep ? kept_.data() + trials * row : own;
      measure(row, count, room, addresses, trials, distances);
      const std::uint64_t before = sums_.block_of(row) + static_cast<std::uint64_t>(count) * Quantizer::raw_zero;
      for (std::int64_t trial = 0; trial < trials; ++trial)
        sums.own()[trial] +=
            before - sum_of_lesser(closest_.data() + row, distances + trial * count, count, quantize_, false);
    });
    tried_.clear();
    if (keep) tried_.assign(candidates.begin(), candidates.end());
    return sums.total();
  }

  void own_add(std::span<const std::int64_t> rows) override {
    for (const std::int64_t chosen : rows) {
      if (this->has_tiles()) {
        this->tile_add(chosen);
        continue;
      }
      const auto trials = std::ssize(tried_);
      const std::int64_t trial = std::find(tried_.begin(), tried_.end(), chosen) - tried_.begin();
      const T* const address = this->row_of(chosen);
      for_all_blocks([&](std::int64_t row, std::int64_t count, T* room) {
        double own[block_rows];
        const double* distances = kept_.data() + trials * row + trial * count;
        if (trial == trials) {
          measure(row, count, room, &address, 1, own);
          distances = own;
        }
        sums_.block_of(row) = sum_of_lesser(closest_.data() + row, distances, count, quantize_, true) -
                              static_cast<std::uint64_t>(count) * Quantizer::raw_zero;
      });
    }
    tried_.clear();
  }

  std::vector<std::uint64_t> own_weights_of_chosen() const override {
    std::vector<std::uint64_t> sums(chosen_.size());
    Buffer<T> room(points_.room(1));
    for (std::int64_t row = 0; row < points_.rows(); ++row) {
      if (row % this->rows_per_poll == 0) honour_stop();
      std::size_t owner = 0;
      const T* const point = points_.row(row, room.data());
      while (squared_distance(point, this->row_of(chosen_[owner]), points_.columns()) != closest_[row]) ++owner;
      ++sums[owner];
    }
    return sums;
  }

 private:
  using Potential<T>::points_, Potential<T>::threads_, Potential<T>::closest_, Potential<T>::sums_,
      Potential<T>::quantize_, Potential<T>::chosen_, Potential<T>::honour_stop;
  using TileCover<T>::block_rows, TileCover<T>::for_all_blocks;

  // Making the tiles takes as long as some steps without them (docs/decisions/0013-first-centroids.md).
  static constexpr bool is_tiled(std::int64_t columns, int trials) {
    return columns > few_columns && columns <= 24 && trials > 4;
  }
  static constexpr bool keeps(std::int64_t columns, int trials) {
    return columns > few_columns && !is_tiled(columns, trials);
  }

  void measure(std::int64_t row, std::int64_t count, T* room, const T* const* centroids, std::int64_t clusters,
               double* out) const {
    const MatrixView<const T> points = points_.block(row, count, room);
    if (points_.columns() <= few_columns)
      return few_squared_distances(points.data(), points.row_stride(), count, centroids, clusters, points_.columns(),
                                   out);
    const T* rows[block_rows];
    for (std::int64_t index = 0; index < count; ++index) rows[index] = points.row(index);
    squared_distances<T>(rows, count, centroids, clusters, points_.columns(), out);
  }

  Buffer<double> kept_;  ///< for each block of rows: the distances to the first trial, then to the second, and so on
  std::vector<std::int64_t> tried_;  ///< the trials whose distances are stored
};

}  // namespace gradus::kmeans_detail
