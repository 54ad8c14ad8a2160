// k-means++ and k-means|| over points with many columns, for which the triangle inequality avoids few distances. For
// most pairs of a point and a candidate, an 8-bit copy of the points (byte_rows.hpp) proves that the candidate is no
// nearer to the point than the nearest chosen row. Such a pair changes no sum, and only the remaining pairs need the
// canonical chain. In a step of k-means++, the number of remaining pairs is hardly larger than the number of points
// whose distance decreases. The results have the same bits as a plain loop.
//
// A step of k-means++ is one pass over the copy for all trials. The pass stores each distance that is smaller than the
// distance to the chosen rows. When a trial is chosen, its stored distances are looked up. In the first steps, there
// are too many smaller distances to store, so adding the trial takes another pass. A thread begins each pass with the
// rows that it processed last in the previous pass, because they may still be in its cache.
//
// With few columns, k-means++ without weights compares tiles of floats in the first steps (dense_tiles.hpp).
//
// In the first steps, most pairs of some points are undecided. All distances of these points are then computed
// together: vectors of points are compared with all candidates, at a quarter of the cost of single pairs.
//
// In later steps, short rows (short_rows.hpp) may exclude most pairs with fewer bytes. A sample of the rows shows
// whether they do.
//
// Floor for a step with L trials: n d bytes read and n d L byte products. Measured for K clusters: 0.4 to 0.7 n L ln K
// canonical chains in all steps together.
//
// Memory per point: a byte per coordinate, 24 bytes, up to 24 more for stored distances, 4 more for k-means||, and the
// tiles.
#pragma once

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/failure.hpp"
#include "cpu/threads.hpp"
#include "kmeans/assign/distance.hpp"
#include "kmeans/seeding/byte_rows.hpp"
#include "kmeans/seeding/dense_tiles.hpp"
#include "kmeans/seeding/short_rows.hpp"

namespace gradus::kmeans_detail {

template <class T>
class FilteredCover final : public TileCover<T> {
 public:
  /// `bytes` is the copy of the points; its panels must not be filled yet. `groups` is true if weights_of_chosen() will
  /// be called.
  FilteredCover(const PointRows<T>& points, VectorView<const T> weights, std::shared_ptr<ByteRows<T>> bytes,
                std::int64_t first, bool groups, int threads, const std::stop_token& stop, const core::RankRows& rows)
      : TileCover<T>(points, weights, first, threads, stop, candidates_of_a_call(points.columns()), rows),
        bytes_(std::move(bytes)), owners_(groups ? points.rows() : 0), workers_(static_cast<std::size_t>(threads_)) {
    const std::int64_t n = points_.rows();
    // A piece of work consists of whole blocks of the sums, so that only one thread changes a block.
    piece_ =
        std::clamp<std::int64_t>(n / (std::int64_t{16} * threads_) / RowSums::block_rows, 1, 16) * RowSums::block_rows;
    most_kept_ = static_cast<std::size_t>(n / threads_ + 1024);
    const bool is_tiled = points.columns() <= most_tiled_columns && weights.empty() && !groups;
    this->begin([&] {
      copied_ = !is_tiled || bytes_.use_count() > 1;
      cover_all_by(this->row_of(first));
      if (is_tiled) this->make_tiles(this->row_of(first));
    });
  }

  static constexpr std::int64_t most_of_a_call = 1024;
  // Returns the maximum number of candidates per call. If rows are very long, the number is lower, because it would
  // take too long to pack many such rows before a stop request is polled.
  static constexpr std::int64_t candidates_of_a_call(std::int64_t columns) {
    return std::clamp<std::int64_t>((std::int64_t{1} << 22) / columns, 64, most_of_a_call);
  }

  /// Returns an upper bound of the memory needed in addition to the points.
  static std::uint64_t bytes(std::int64_t rows, std::int64_t columns) {
    // There are 52 bytes per row. ByteRows::bytes() already includes 16 of them.
    return ByteRows<T>::bytes(rows, columns) + 36 * static_cast<std::uint64_t>(rows) +
           ShortRows<T>::bytes(rows, columns) +
           (columns <= most_tiled_columns ? TileCover<T>::tile_bytes(rows, columns, most_trials) : 0);
  }

 protected:
  std::vector<std::uint64_t> own_gains(std::span<const std::int64_t> candidates) override {
    if (this->has_tiles() && chosen_.size() < enough_for_bytes) return this->tile_gains(candidates);
    if (this->has_tiles()) leave_tiles();
    tried_.assign(candidates.begin(), candidates.end());
    take_candidates(candidates);
    by_short_rows_ = short_rows_pay();
    if (!by_short_rows_) make_trials();
    std::vector<std::uint64_t> gains(candidates.size());
    for_all_rows(
        [&](Worker& worker) {
          worker.kept.clear();
          worker.kept_all = true;
          worker.gains.clear();
          worker.pairs = 0;
        },
        [&](Worker& worker, std::int64_t row, std::int32_t candidate, double distance) {
          const double mine = closest_[row];
          if (!(distance < mine)) return;
          const double w = this->weight(row);
          worker.gains[static_cast<std::size_t>(candidate)] += quantize_.raw(w * mine) - quantize_.raw(w * distance);
          if (worker.kept.size() < most_kept_) worker.kept.push_back({distance, row, candidate});
          else worker.kept_all = false;
        },
        false);
    for (const Worker& worker : workers_)
      for (std::size_t index = 0; index < worker.gains.size(); ++index) gains[index] += worker.gains[index];
    if (by_short_rows_) {
      std::int64_t pairs = 0;
      for (const Worker& worker : workers_) pairs += worker.pairs;
      short_rows_paid_ = pairs <= most_short_pairs();
    }
    by_short_rows_ = false;
    return gains;
  }

  void own_add(std::span<const std::int64_t> rows) override {
    if (this->has_tiles()) {  // also the last row that tile_gains() compared
      for (const std::int64_t row : rows) this->tile_add(row);
      return;
    }
    if (!use_kept_distances(rows)) {
      take_candidates(rows);
      make_trials();
      for_all_rows([](Worker&) {},
                   [&](Worker&, std::int64_t row, std::int32_t candidate, double distance) {
                     if (distance < closest_[row]) settle(row, candidate, distance);
                   },
                   rows.size() > 1);
    }
    tried_.clear();
  }

  std::vector<std::uint64_t> own_weights_of_chosen() const override {
    const Quantizer quantize = weight_quantizer(largest_weight_, this->rank_rows().all());
    std::vector<std::uint64_t> sums(chosen_.size());
    for (std::int64_t row = 0; row < points_.rows(); ++row) {
      if (row % this->rows_per_poll == 0) honour_stop();
      sums[static_cast<std::size_t>(owners_[row])] += weights_.empty() ? 1 : quantize(this->weight(row));
    }
    return sums;
  }

 private:
  using Potential<T>::points_, Potential<T>::weights_, Potential<T>::stop_, Potential<T>::threads_,
      Potential<T>::closest_, Potential<T>::quantize_, Potential<T>::chosen_, Potential<T>::largest_weight_,
      Potential<T>::honour_stop;

  // In the first steps, most bytes leave a pair undecided, and tiles (dense_tiles.hpp) take half of the time or less.
  // In later steps, bytes are faster.
  static constexpr std::int64_t most_tiled_columns = 48;
  static constexpr std::size_t enough_for_bytes = 96;  // number of chosen rows from which on bytes replace tiles
  static constexpr int most_trials = 24;               // more than a step has for any number of clusters
  static constexpr std::int64_t panel_rows = ByteRows<T>::panel_rows;
  static constexpr std::int64_t most_distances = 32768;  // maximum number of distances that are computed at once
  static constexpr std::size_t most_pairs = 1024;
  static constexpr std::size_t enough_chosen = 48;  // number of chosen rows from which on short rows are tried
  static_assert(panel_rows * most_of_a_call <= most_distances && RowSums::block_rows % panel_rows == 0);

  struct SmallerDistance {
    double distance;
    std::int64_t row;
    std::int32_t candidate;
  };

  struct alignas(64) Worker {
    ByteScratch scratch;
    std::vector<std::int64_t> rows;
    std::vector<std::int32_t> candidates;
    Buffer<T> room;  ///< for widened rows
    std::vector<double> distances;
    std::vector<std::uint64_t> gains;
    std::vector<SmallerDistance> kept;
    bool kept_all = false;
    std::int64_t pairs = 0;  ///< that the filter left undecided
  };

  void cover_all_by(const T* chosen) {
    const MatrixView<const T> centroid(chosen, 1, points_.columns());
    for_all_panels([&](std::int64_t row, std::int64_t count, T* room, float* scratch) {
      squared_distances(points_.block(row, count, room), centroid, closest_.data() + row);
      if (copied_) take_panel(row, count, scratch);
    });
  }

  /// Replaces the tiles by the copy in bytes.
  void leave_tiles() {
    this->drop_tiles();
    for_all_panels([&](std::int64_t row, std::int64_t count, T*, float* scratch) {
      if (!copied_) take_panel(row, count, scratch);
      else
        for (std::int64_t index = row; index < row + count; ++index) limit(index);
    });
    copied_ = true;
  }

  void take_panel(std::int64_t row, std::int64_t count, float* scratch) {
    bytes_->copy_panel(row / panel_rows, scratch);
    for (std::int64_t index = row; index < row + count; ++index) {
      limit(index);
      if (owners_.size() > 0) owners_[index] = 0;
    }
  }

  /// Calls use(first row, number of rows, room for the rows, scratch for copy_panel()) for each panel.
  void for_all_panels(const std::function<void(std::int64_t, std::int64_t, T*, float*)>& use) {
    core::FirstFailure failure;
    cpu::SharedWork work(points_.rows(), threads_, piece_);
#pragma omp parallel num_threads(threads_)
    failure.run([&] {
      std::vector<float> scratch(static_cast<std::size_t>(ByteRows<T>::scratch_floats(points_.columns())));
      Buffer<T> room(points_.room(panel_rows));
      for (cpu::Range range = work.next(omp_get_thread_num()); range.size() > 0;
           range = work.next(omp_get_thread_num()))
        for (std::int64_t row = range.begin; row < range.end && !stop_.stop_requested(); row += panel_rows)
          use(row, std::min(panel_rows, range.end - row), room.data(), scratch.data());
    });
    failure.rethrow();
    honour_stop();
  }

  // Points of weight 0 never change a sum and need no group. Their initial limit, which excludes all candidates, stays
  // unchanged.
  void limit(std::int64_t row) {
    if (!weights_.empty() && weights_[row] == 0) return;
    bytes_->set_limit(row, closest_[row]);
    if (short_rows_) short_rows_->set_limit(row, closest_[row]);
  }

  /// Returns the number of undecided pairs up to which short rows save time. A pair takes about as long as 8 rows of
  /// the copy.
  std::int64_t most_short_pairs() const { return points_.rows() / 8; }

  /// Returns true if the current candidates are to be excluded by short rows. Makes the short rows when enough rows are
  /// chosen.
  bool short_rows_pay() {
    constexpr std::int64_t sampled = 64;  // one of this many panels is tried
    if (owners_.size() > 0 || !ShortRows<T>::pay(points_.rows(), points_.columns())) return false;
    const bool due = short_rows_always || chosen_.size() >= next_trial_;
    if (!due && !short_rows_paid_) return false;
    if (next_trial_ == enough_chosen || (short_rows_always && !short_rows_)) {
      short_rows_ = ShortRows<T>::make(points_, *bytes_, threads_, stop_);
      if (short_rows_) {
#pragma omp parallel for num_threads(threads_) schedule(static)
        for (std::int64_t row = 0; row < points_.rows(); ++row) limit(row);
      }
    }
    if (due) next_trial_ = chosen_.size() + chosen_.size() / 8 + 1;
    if (!short_rows_ || !short_rows_->take(std::span<const T* const>(candidates_))) return false;
    if (short_rows_paid_ || short_rows_always) return true;
    ByteScratch scratch;
    scratch.make(static_cast<std::int64_t>(candidates_.size()));
    std::int64_t pairs = 0;
    for (std::int64_t panel = 0; panel < bytes_->panels(); panel += sampled) {
      const std::int64_t found = short_rows_->find_nearer(panel, scratch);
      for (std::int64_t index = 0; index < found; ++index)
        pairs += std::popcount(scratch.undecided[static_cast<std::size_t>(index)].points);
    }
    return sampled * pairs <= most_short_pairs();
  }

  void settle(std::int64_t row, std::int32_t candidate, double distance) {
    this->lower(row, distance);
    limit(row);
    if (owners_.size() > 0) owners_[row] = static_cast<std::int32_t>(chosen_.size()) + candidate;
  }

  void take_candidates(std::span<const std::int64_t> rows) {
    candidates_.clear();
    for (const std::int64_t row : rows) candidates_.push_back(this->row_of(row));
  }

  void make_trials() { trials_.make(*bytes_, std::span<const T* const>(candidates_)); }

  /// Adds the chosen row with the stored distances. Returns false if this row was not a trial in the last call of
  /// gains(), or if some of its distances could not be stored.
  bool use_kept_distances(std::span<const std::int64_t> rows) {
    if (rows.size() != 1) return false;
    const auto at = std::find(tried_.begin(), tried_.end(), rows.front());
    if (at == tried_.end()) return false;
    std::size_t kept = 0;
    for (const Worker& worker : workers_) {
      if (!worker.kept_all) return false;
      kept += worker.kept.size();
    }
    const auto chosen = static_cast<std::int32_t>(at - tried_.begin());
    // All distances of a block of the sums were stored by one thread. The same thread also processes these distances
    // here, because its cache holds most of the data that is written. It would take longer to move this data to another
    // core than to wake the thread.
#pragma omp parallel for num_threads(threads_) schedule(static) if (kept > 64)
    for (std::size_t worker = 0; worker < workers_.size(); ++worker)
      for (const SmallerDistance& each : workers_[worker].kept)
        if (each.candidate == chosen) settle(each.row, 0, each.distance);
    return true;
  }

  /// Calls use(worker, row, candidate, distance) for each pair in which the candidate may be nearer to the row than the
  /// chosen rows are. For each row, the candidates are in ascending order. If `nearest` is true, omits candidates that
  /// are certainly farther than some other candidate.
  template <class Begin, class Use>
  void for_all_rows(const Begin& begin, const Use& use, bool nearest) {
    core::FirstFailure failure;
    cpu::SharedWork work(points_.rows(), threads_, piece_);
    for (Worker& worker : workers_) begin(worker);
#pragma omp parallel num_threads(threads_)
    failure.run([&] {
      Worker& worker = workers_[static_cast<std::size_t>(omp_get_thread_num())];
      // Each thread allocates its memory itself. So no cache line contains memory of two threads.
      worker.kept.reserve(most_kept_);
      worker.gains.assign(candidates_.size(), 0);
      worker.scratch.make(static_cast<std::int64_t>(candidates_.size()));
      worker.rows.clear();
      worker.candidates.clear();
      if (worker.room.size() == 0) worker.room = Buffer<T>(points_.room(RowSums::block_rows));
      const std::int64_t block = std::clamp(most_distances / static_cast<std::int64_t>(candidates_.size()) / panel_rows,
                                            std::int64_t{1}, RowSums::block_rows / panel_rows);
      while (!failure.happened()) {
        const cpu::Range range = work.next(omp_get_thread_num());
        if (range.size() == 0) break;
        const std::int64_t panels = (range.end + panel_rows - 1) / panel_rows;
        for (std::int64_t panel = range.begin / panel_rows; panel < panels; panel += block) {
          if (stop_.stop_requested()) return;
          filter_panels(worker, panel, std::min(panel + block, panels), nearest, use);
        }
      }
      measure_pairs(worker, use);
    });
    failure.rethrow();
    honour_stop();
  }

  template <class Use>
  void filter_panels(Worker& worker, std::int64_t first, std::int64_t last, bool nearest, const Use& use) {
    const std::size_t before = worker.rows.size();
    std::uint32_t open[RowSums::block_rows / panel_rows];
    std::int64_t open_rows = 0;
    for (std::int64_t panel = first; panel < last; ++panel) {
      const std::int64_t found = nearest          ? bytes_->find_nearest(trials_, panel, worker.scratch)
                                 : by_short_rows_ ? short_rows_->find_nearer(panel, worker.scratch)
                                                  : bytes_->find_nearer(trials_, panel, worker.scratch);
      std::uint32_t any = 0;
      for (std::int64_t index = 0; index < found; ++index) {
        const Undecided each = worker.scratch.undecided[static_cast<std::size_t>(index)];
        any |= each.points;
        for (std::uint32_t bits = each.points; bits != 0; bits &= bits - 1) {
          const std::int64_t row = panel * panel_rows + std::countr_zero(bits);
          worker.rows.push_back(row);
          worker.candidates.push_back(each.candidate);
        }
      }
      open[panel - first] = any;
      open_rows += std::popcount(any);
    }
    const std::size_t pairs = worker.rows.size() - before;
    worker.pairs += static_cast<std::int64_t>(pairs);
    if (pairs > 64 && 4 * pairs > static_cast<std::size_t>(open_rows) * candidates_.size()) {
      worker.rows.resize(before);
      worker.candidates.resize(before);
      measure_all(worker, first, std::span(open, static_cast<std::size_t>(last - first)), use);
    }
    if (worker.rows.size() >= most_pairs) measure_pairs(worker, use);
  }

  /// Computes the distances of the undecided pairs. For each row, the candidates are in ascending order.
  template <class Use>
  void measure_pairs(Worker& worker, const Use& use) {
    const std::size_t count = worker.rows.size();
    constexpr std::size_t together = 64;
    const T* row_addresses[together];
    const T* candidate_addresses[together];
    double distances[together];
    for (std::size_t first = 0; first < count && !stop_.stop_requested(); first += together) {
      const std::size_t some = std::min(together, count - first);
      for (std::size_t index = first + together; index < std::min(first + 2 * together, count); ++index)
        prefetch(worker.rows[index]);
      for (std::size_t index = 0; index < some; ++index) {
        row_addresses[index] =
            points_.row(worker.rows[first + index], worker.room.data(), static_cast<std::int64_t>(index));
        candidate_addresses[index] = candidates_[static_cast<std::size_t>(worker.candidates[first + index])];
      }
      squared_distances_of_pairs(row_addresses, candidate_addresses, static_cast<std::int64_t>(some), points_.columns(),
                                 distances);
      for (std::size_t index = 0; index < some; ++index)
        use(worker, worker.rows[first + index], worker.candidates[first + index], distances[index]);
    }
    worker.rows.clear();
    worker.candidates.clear();
  }

  /// Requests the beginning of a row, from which the CPU predicts the rest.
  void prefetch(std::int64_t row) const {
    constexpr std::int64_t most_lines = 8;
    constexpr auto line = static_cast<std::int64_t>(64 / sizeof(T));
    if (points_.is_stored()) return;
    const T* const from = points_.shape().row(row);
    for (std::int64_t dim = 0; dim < std::min(points_.columns(), most_lines * line); dim += line)
      __builtin_prefetch(from + dim);
  }

  /// Computes the distances between all candidates and the points that have undecided pairs. `open` selects these
  /// points, with one bit per row of each panel. `first` is the number of the first panel.
  template <class Use>
  void measure_all(Worker& worker, std::int64_t first, std::span<const std::uint32_t> open, const Use& use) {
    std::int64_t rows[RowSums::block_rows];
    const T* addresses[RowSums::block_rows];
    std::int64_t count = 0;
    for (std::size_t panel = 0; panel < open.size(); ++panel)
      for (std::uint32_t bits = open[panel]; bits != 0; bits &= bits - 1) {
        rows[count] = (first + static_cast<std::int64_t>(panel)) * panel_rows + std::countr_zero(bits);
        addresses[count] = points_.row(rows[count], worker.room.data(), count);
        ++count;
      }
    const auto candidates = static_cast<std::int64_t>(candidates_.size());
    worker.distances.resize(static_cast<std::size_t>(count * candidates));
    // Computes the distances block by block, and polls the stop request between the blocks.
    const std::int64_t together = core::chunk_length(candidates, count * points_.columns());
    for (std::int64_t candidate = 0; candidate < candidates && !stop_.stop_requested(); candidate += together) {
      const std::int64_t some = std::min(together, candidates - candidate);
      squared_distances<T>(addresses, count, candidates_.data() + candidate, some, points_.columns(),
                           worker.distances.data());
      for (std::int64_t index = 0; index < some; ++index)
        for (std::int64_t place = 0; place < count; ++place)
          use(worker, rows[place], static_cast<std::int32_t>(candidate + index),
              worker.distances[static_cast<std::size_t>(index * count + place)]);
    }
  }

  std::shared_ptr<ByteRows<T>> bytes_;
  bool copied_ = true;  ///< the panels of bytes_ are filled
  std::unique_ptr<ShortRows<T>> short_rows_;
  bool by_short_rows_ = false;              ///< the current pass reads the short rows
  bool short_rows_paid_ = false;            ///< the last pass read the short rows, and they left few pairs undecided
  std::size_t next_trial_ = enough_chosen;  ///< number of chosen rows at which a sample of the short rows is tried
  Buffer<std::int32_t> owners_;             ///< for each row: the number of its nearest chosen row
  std::vector<Worker> workers_;
  std::int64_t piece_ = 0;
  std::size_t most_kept_ = 0;  ///< maximum number of distances that a thread stores
  ByteTrials trials_;
  std::vector<const T*> candidates_;
  std::vector<std::int64_t> tried_;  ///< the candidates in the last call of gains()
};

}  // namespace gradus::kmeans_detail
