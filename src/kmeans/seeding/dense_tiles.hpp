// Steps of greedy k-means++ over points with few columns. A copy of the points in float bounds the gain of every trial.
// Usually the bounds show which trial is best. Canonical distances are then computed for this trial alone, and only for
// the points to which it may be nearer than the rows chosen before. The results have the same bits as a plain loop.
//
// Let m be the row that was chosen first, x' = x - m for a point x, y' = y - m for a trial y, and C the squared
// distance from x to its nearest chosen row. Then
//
//   (C - |x - y|^2) / 2 = (x'.y' - |y'|^2 / 2) - a,   a = (|x'|^2 - C) / 2.
//
// If this term is positive, it is half of what x contributes to the gain of y. A point stores x' and a lower bound of a
// in float. With u = 2^-24, the term x'.y' - |y'|^2 / 2, computed in float, has an error of at most
// (d + 8) u (|x'|^2 / 2 + |y'|^2). This also covers the rounding of x' and y', and products that are rounded before
// they are added. Both parts have a margin of at least twice their share of this error: e = (d + 16) u |x'|^2 for a
// point, and f = 2 (d + 16) u |y'|^2 for a trial. So a point that the comparison excludes is certainly not nearer to
// the trial, and the estimated gain exceeds the gain by at most 4 (e + f) per point, apart from the rounding of the
// sum. The stored bound of a is lowered by a relative 2^-22 for its own rounding, and by 2^-100 for products that
// underflow. Points and trials at a squared distance of 2^100 or more from m are never excluded.
//
// 32 points form a panel, in which equal coordinates are adjacent. Floor for a step with L trials: 4 n d bytes read and
// n d L float multiply-adds. Memory per point: 4 bytes per coordinate, 16 bytes, and one bit per trial.
#pragma once

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "core/failure.hpp"
#include "cpu/threads.hpp"
#include "kmeans/assign/distance.hpp"
#include "kmeans/seeding/potential.hpp"

namespace gradus::kmeans_detail {

inline constexpr std::int64_t points_of_dense_tile = 32;  ///< number of points per panel

/// The arguments of compare_tiles().
struct TileComparison {
  std::int64_t panels;
  std::int64_t columns;
  const float* tiles;   ///< [panel][column][point of the panel]
  const float* limits;  ///< per point: lower bound of a
  std::int64_t trials;
  const float* values;    ///< [trial][columns + 1]: y', then f - |y'|^2 / 2
  std::uint32_t* nearer;  ///< output, [panel][trial]: one bit per point, which is set if the trial may be nearer
};

/// Finds the points to which each trial may be nearer. Adds half the estimated gain of each trial to gains[].
void compare_tiles(const TileComparison& comparison, double* gains);

template <class T>
class TileCover : public Potential<T> {
 public:
  /// Returns the bytes of memory that the tiles need.
  static std::uint64_t tile_bytes(std::int64_t rows, std::int64_t columns, int trials) {
    return static_cast<std::uint64_t>(rows + points_of_dense_tile) *
           static_cast<std::uint64_t>(4 * columns + 16 + trials / 8 + 1);
  }

 protected:
  using Potential<T>::Potential;
  using Potential<T>::points_, Potential<T>::stop_, Potential<T>::threads_, Potential<T>::closest_, Potential<T>::sums_,
      Potential<T>::quantize_, Potential<T>::honour_stop;

  static constexpr std::int64_t block_rows = RowSums::block_rows;
  static_assert(block_rows % points_of_dense_tile == 0);

  bool has_tiles() const { return tiles_.size() > 0; }

  /// Copies the points. `closest_` must contain the distances to `middle`, the row that was chosen first.
  void make_tiles(const T* middle) {
    const std::int64_t padded =
        (points_.rows() + points_of_dense_tile - 1) / points_of_dense_tile * points_of_dense_tile;
    const std::int64_t d = points_.columns();
    middle_.assign(middle, middle + d);
    tiles_ = Buffer<float>(padded * d);
    limits_ = Buffer<float>(padded);
    bases_ = Buffer<float>(padded);
    kept_ = Buffer<double>(points_.rows());
    ThreadSums<double> squares(threads_, 1);
    for_all_blocks([&](std::int64_t row, std::int64_t count, T* room) {
      const MatrixView<const T> rows = points_.block(row, count, room);
      double sum = 0;
      for (std::int64_t place = 0;
           place < (count + points_of_dense_tile - 1) / points_of_dense_tile * points_of_dense_tile; ++place) {
        const std::int64_t at = row + place;
        float* const tile =
            tiles_.data() + at / points_of_dense_tile * points_of_dense_tile * d + at % points_of_dense_tile;
        const bool is_used = place < count && closest_[at] < farthest;
        for (std::int64_t dim = 0; dim < d; ++dim)
          tile[dim * points_of_dense_tile] = is_used ? static_cast<float>(difference(rows.row(place), dim)) : 0.0F;
        limits_[at] = infinity;
        if (place >= count) continue;
        sum += closest_[at];
        bases_[at] = is_used ? static_cast<float>((0.5 - margin()) * closest_[at]) : infinity;
        limit(at);
      }
      *squares.own() += sum;
    });
    squares_ = squares.total().front();
  }

  void drop_tiles() {
    tiles_ = {};
    limits_ = {};
    bases_ = {};
    kept_ = {};
    nearer_ = {};
  }

  /// Returns the gains of the trials. If no other rank has rows, some trials that certainly do not have the largest
  /// gain get 0 instead.
  std::vector<std::uint64_t> tile_gains(std::span<const std::int64_t> candidates) {
    const std::vector<bool> left = candidates_left(compare(candidates));
    const auto count = std::count(left.begin(), left.end(), true);
    kept_trial_ = count == 1 ? std::find(left.begin(), left.end(), true) - left.begin() : -1;
    ThreadSums<std::uint64_t> gains(threads_, candidates.size());
    for_all_blocks([&](std::int64_t row, std::int64_t rows, T* room) {
      for (std::size_t trial = 0; trial < left.size(); ++trial)
        if (left[trial]) gains.own()[trial] += gain_in_block(row, rows, static_cast<std::int64_t>(trial), room);
    });
    return gains.total();
  }

  void tile_add(std::int64_t chosen) {
    auto trial = static_cast<std::int64_t>(std::find(tried_.begin(), tried_.end(), chosen) - tried_.begin());
    if (trial == std::ssize(tried_)) {
      compare(std::span(&chosen, 1));
      trial = 0;
    }
    for_all_blocks([&](std::int64_t row, std::int64_t rows, T* room) {
      const double* next = kept_.data() + row;
      const auto settle = [&](std::int64_t at, double distance) {
        this->lower(at, distance);
        limit(at);
      };
      if (trial == kept_trial_) return for_nearer(row, rows, trial, [&](std::int64_t at) { settle(at, *next++); });
      measure(row, rows, trial, room, [&](std::int64_t at, double distance) {
        if (distance < closest_[at]) settle(at, distance);
      });
    });
    tried_.clear();
    kept_trial_ = -1;
  }

  /// Calls use(first row, number of rows, room of the thread) for each block of rows.
  void for_all_blocks(const std::function<void(std::int64_t, std::int64_t, T*)>& use) {
    const std::int64_t n = points_.rows();
    const std::int64_t piece =
        std::clamp<std::int64_t>(n / (std::int64_t{8} * threads_) / block_rows, 1, 16) * block_rows;
    cpu::SharedWork work(n, threads_, piece);
    core::FirstFailure failure;
#pragma omp parallel num_threads(threads_) if (threads_ > 1)
    failure.run([&] {
      Buffer<T> room(points_.room(block_rows));
      for (cpu::Range range = work.next(omp_get_thread_num()); range.size() > 0;
           range = work.next(omp_get_thread_num()))
        for (std::int64_t row = range.begin; row < range.end && !stop_.stop_requested(); row += block_rows)
          use(row, std::min(block_rows, range.end - row), room.data());
    });
    failure.rethrow();
    honour_stop();
  }

  /// Some sums of each thread. The sums of different threads are in different cache lines.
  template <class Sum>
  class ThreadSums {
   public:
    ThreadSums(int threads, std::size_t sums)
        : sums_(sums), stride_((sums + 15) / 8 * 8), partial_(stride_ * static_cast<std::size_t>(threads)) {}
    Sum* own() { return partial_.data() + static_cast<std::size_t>(omp_get_thread_num()) * stride_; }
    std::vector<Sum> total() const {
      std::vector<Sum> all(sums_);
      for (std::size_t first = 0; first < partial_.size(); first += stride_)
        for (std::size_t at = 0; at < sums_; ++at) all[at] += partial_[first + at];
      return all;
    }

   private:
    std::size_t sums_;
    std::size_t stride_;
    std::vector<Sum> partial_;
  };

 private:
  static constexpr double farthest = 0x1p100;
  static constexpr float infinity = std::numeric_limits<float>::infinity();

  /// Returns (d + 16) u.
  double margin() const { return static_cast<double>(points_.columns() + 16) * 0x1p-24; }
  double difference(const T* row, std::int64_t dim) const {
    return static_cast<double>(row[dim]) - static_cast<double>(middle_[static_cast<std::size_t>(dim)]);
  }

  void limit(std::int64_t row) {
    const double distance = closest_[row];
    if (distance == 0) {
      limits_[row] = infinity;  // no trial can be nearer
      return;
    }
    const double value = static_cast<double>(bases_[row]) - 0.5 * distance;
    limits_[row] =
        bases_[row] < infinity ? static_cast<float>(value - std::abs(value) * 0x1p-22 - 0x1p-100) : -0x1p120F;
  }

  /// An estimate of a gain, and an upper bound of its excess.
  struct Estimate {
    double gain = 0;
    double excess = 0;
  };

  /// Compares all points with the candidates, which become tried_.
  std::vector<Estimate> compare(std::span<const std::int64_t> candidates) {
    tried_.assign(candidates.begin(), candidates.end());
    kept_trial_ = -1;
    const std::int64_t d = points_.columns();
    const auto n = static_cast<double>(points_.rows());
    std::vector<Estimate> estimates;
    values_.clear();
    for (const std::int64_t candidate : candidates) {
      const T* const row = this->row_of(candidate);
      double squares = 0;
      for (std::int64_t dim = 0; dim < d; ++dim) squares += difference(row, dim) * difference(row, dim);
      const bool is_near = squares < farthest;
      for (std::int64_t dim = 0; dim < d; ++dim)
        values_.push_back(is_near ? static_cast<float>(difference(row, dim)) : 0.0F);
      values_.push_back(is_near ? static_cast<float>((2 * margin() - 0.5) * squares) : 0x1p110F);
      estimates.push_back({0, is_near && squares_ < farthest
                                  ? 4 * margin() * (squares_ + 2 * n * squares) + 0x1p-20 * squares_ + n * 0x1p-96
                                  : std::numeric_limits<double>::infinity()});
    }
    nearer_.resize(static_cast<std::size_t>(limits_.size() / points_of_dense_tile) * candidates.size());
    ThreadSums<double> gains(threads_, candidates.size());
    for_all_blocks([&](std::int64_t row, std::int64_t count, T*) {
      const std::int64_t panel = row / points_of_dense_tile;
      compare_tiles(
          {(count + points_of_dense_tile - 1) / points_of_dense_tile, d, tiles_.data() + row * d, limits_.data() + row,
           std::ssize(candidates), values_.data(), nearer_.data() + panel * std::ssize(candidates)},
          gains.own());
    });
    const std::vector<double> sums = gains.total();
    for (std::size_t trial = 0; trial < estimates.size(); ++trial) estimates[trial].gain = 2 * sums[trial];
    return estimates;
  }

  /// Returns, for each trial, false if some other trial certainly has a larger gain.
  std::vector<bool> candidates_left(const std::vector<Estimate>& estimates) const {
    std::vector<bool> left(estimates.size(), true);
    if (!this->ranks().is_alone()) return left;
    constexpr double rounding = 0x1p-16;                                              // of the sums of estimates
    const double integers = static_cast<double>(points_.rows()) / quantize_.scale();  // error of a sum of integers
    double least = 0;                                                                 // lower bound of the largest gain
    for (const Estimate& each : estimates) least = std::max(least, each.gain * (1 - rounding) - each.excess - integers);
    for (std::size_t trial = 0; trial < left.size(); ++trial)
      left[trial] = !(estimates[trial].gain * (1 + rounding) + integers < least);
    return left;
  }

  /// Calls use(row) for each row of a block to which the trial may be nearer.
  template <class Use>
  void for_nearer(std::int64_t first, std::int64_t count, std::int64_t trial, const Use& use) const {
    for (std::int64_t row = first; row < first + count; row += points_of_dense_tile)
      for (std::uint32_t bits = nearer_[nearer_at(row, trial)]; bits != 0; bits &= bits - 1)
        use(row + std::countr_zero(bits));
  }
  std::size_t nearer_at(std::int64_t row, std::int64_t trial) const {
    return static_cast<std::size_t>(row / points_of_dense_tile * std::ssize(tried_) + trial);
  }

  /// Calls use(row, distance to the trial) for each row of a block to which the trial may be nearer.
  template <class Use>
  void measure(std::int64_t first, std::int64_t count, std::int64_t trial, T* room, const Use& use) const {
    std::int64_t rows[block_rows];
    const T* addresses[block_rows];
    double distances[block_rows];
    std::int64_t found = 0;
    for_nearer(first, count, trial, [&](std::int64_t row) {
      rows[found] = row;
      addresses[found] = points_.row(row, room, found);
      ++found;
    });
    const T* const address = this->row_of(tried_[static_cast<std::size_t>(trial)]);
    squared_distances<T>(addresses, found, &address, 1, points_.columns(), distances);
    for (std::int64_t index = 0; index < found; ++index) use(rows[index], distances[index]);
  }

  /// Returns the gain of a trial in a block. If only this trial is left, also keeps the smaller distances.
  std::uint64_t gain_in_block(std::int64_t first, std::int64_t count, std::int64_t trial, T* room) {
    double* next = kept_.data() + first;
    std::uint64_t gain = 0;
    measure(first, count, trial, room, [&](std::int64_t row, double distance) {
      const double mine = closest_[row];
      const bool is_nearer = distance < mine;
      if (is_nearer) gain += quantize_.raw(mine) - quantize_.raw(distance);
      if (trial != kept_trial_) return;
      *next = distance;
      next += is_nearer;
      nearer_[nearer_at(row, trial)] &= ~(static_cast<std::uint32_t>(!is_nearer) << row % points_of_dense_tile);
    });
    return gain;
  }

  std::vector<T> middle_;
  Buffer<float> tiles_;
  Buffer<float> limits_;
  Buffer<float> bases_;                ///< per row: |x'|^2 / 2 - e, or infinity if the row is never excluded
  double squares_ = 0;                 ///< sum of |x'|^2
  std::vector<std::int64_t> tried_;    ///< the candidates of the last comparison
  std::vector<float> values_;          ///< see TileComparison
  std::vector<std::uint32_t> nearer_;  ///< see TileComparison
  std::int64_t kept_trial_ = -1;  ///< index of the trial for which nearer_ is exact and kept_ has the distances, or -1
  Buffer<double> kept_;           ///< for each block: the distances of the rows in nearer_, one after another
};

}  // namespace gradus::kmeans_detail
