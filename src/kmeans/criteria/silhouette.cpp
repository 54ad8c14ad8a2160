#include "kmeans/criteria/silhouette.hpp"

#include <omp.h>

#include <algorithm>
#include <limits>

#include "core/stop.hpp"
#include "cpu/threads.hpp"
#include "kmeans/assign/distance.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kmeans/criteria/silhouette.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#ifndef GRADUS_SILHOUETTE_TILE
#define GRADUS_SILHOUETTE_TILE
namespace gradus::kmeans_detail {
constexpr std::int64_t tile_points = 32;
}
#endif

HWY_BEFORE_NAMESPACE();
namespace gradus::kmeans_detail {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Computes the distances from each of `tile_points` points to `others` other points. For each labeling, adds the
// distance to the sum of the point for the other point's cluster. `squared` has the squared distances, one row per
// other point. `rows`[labeling][other] is the row of `sums` for the other point's cluster.
void add_distances(const double* squared, std::int64_t others, bool half_of_squares, const std::int32_t* const* rows,
                   std::int64_t labelings, double* HWY_RESTRICT sums) {
  const hn::CappedTag<double, tile_points> lanes;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  double distances[tile_points];
  const auto half = hn::Set(lanes, 0.5);
  for (std::int64_t other = 0; other < others; ++other) {
    for (std::int64_t at = 0; at < tile_points; at += width) {
      const auto square = hn::LoadU(lanes, squared + other * tile_points + at);
      hn::StoreU(half_of_squares ? hn::Mul(half, square) : hn::Sqrt(square), lanes, distances + at);
    }
    for (std::int64_t labeling = 0; labeling < labelings; ++labeling) {
      double* const row = sums + rows[labeling][other] * tile_points;
      for (std::int64_t at = 0; at < tile_points; at += width)
        hn::StoreU(hn::Add(hn::LoadU(lanes, row + at), hn::LoadU(lanes, distances + at)), lanes, row + at);
    }
  }
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::kmeans_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::kmeans_detail {

HWY_EXPORT(add_distances);

namespace {

constexpr std::int64_t most_others = 64;
constexpr std::int64_t clusters_at_once = 4096;  // the sums for this number of clusters take 1 MiB

struct Group {
  std::size_t first = 0;
  std::size_t count = 0;
  std::int64_t clusters = 0;
};

std::vector<Group> groups_of(std::span<const Labeling> labelings) {
  std::vector<Group> groups;
  for (std::size_t index = 0; index < labelings.size(); ++index) {
    if (groups.empty() || groups.back().clusters + labelings[index].clusters > clusters_at_once)
      groups.push_back({index, 0, 0});
    ++groups.back().count;
    groups.back().clusters += labelings[index].clusters;
  }
  return groups;
}

// Returns the silhouette (b - a) / max(a, b) of a point. Here a is the mean distance to the other points of its
// cluster, and b the smallest mean distance to the points of another cluster. `sums[cluster * tile_points]` is the sum
// of the point's distances to the points of a cluster.
double silhouette_of(const double* sums, const std::vector<std::int64_t>& counts, std::int32_t own) {
  const std::int64_t mates = counts[static_cast<std::size_t>(own)] - 1;
  if (mates == 0) return 0;
  double nearest = std::numeric_limits<double>::infinity();
  for (std::size_t cluster = 0; cluster < counts.size(); ++cluster)
    if (counts[cluster] > 0 && cluster != static_cast<std::size_t>(own))
      nearest = std::min(nearest,
                         sums[static_cast<std::int64_t>(cluster) * tile_points] / static_cast<double>(counts[cluster]));
  const double within = sums[own * tile_points] / static_cast<double>(mates);
  const double larger = std::max(within, nearest);
  return larger > 0 ? (nearest - within) / larger : 0;
}

std::vector<std::int64_t> counts_of(const Labeling& labeling) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(labeling.clusters));
  for (const std::int32_t label : labeling.labels) ++counts[static_cast<std::size_t>(label)];
  return counts;
}

template <class T>
class Measurement {
 public:
  Measurement(MatrixView<const T> points, std::span<const Labeling> labelings, const Group& group)
      : points_(points), labelings_(labelings.subspan(group.first, group.count)), clusters_(group.clusters) {
    std::int32_t offset = 0;
    for (const Labeling& labeling : labelings_) {
      counts_.push_back(counts_of(labeling));
      offsets_.push_back(offset);
      rows_.emplace_back(labeling.labels);
      for (std::int32_t& row : rows_.back()) row += offset;
      offset += static_cast<std::int32_t>(labeling.clusters);
    }
  }

  std::int64_t tiles() const { return (points_.rows() + tile_points - 1) / tile_points; }

  struct Scratch {
    std::vector<double> sums;  ///< clusters x tile_points

    /// For each labeling: its row indices in rows_, from the first point of the current block of `others`.
    std::vector<const std::int32_t*> rows;
  };
  Scratch scratch() const {
    return {std::vector<double>(static_cast<std::size_t>(clusters_ * tile_points)),
            std::vector<const std::int32_t*>(rows_.size())};
  }

  /// Writes the sum of the silhouettes of a tile's points, for each labeling.
  void measure(std::int64_t tile, bool half_of_squares, const std::stop_token& stop, Scratch& scratch,
               double* results) const {
    auto& [sums, rows] = scratch;
    const std::int64_t first = tile * tile_points;
    const std::int64_t present = std::min(tile_points, points_.rows() - first);
    const T* own[tile_points];
    // If the tile is incomplete, fills it with copies of its last point.
    for (std::int64_t point = 0; point < tile_points; ++point)
      own[point] = points_.row(first + std::min(point, present - 1));
    std::ranges::fill(sums, 0.0);
    double squared[most_others * tile_points];
    const T* others[most_others];
    for (std::int64_t other = 0; other < points_.rows() && !stop.stop_requested(); other += most_others) {
      const std::int64_t count = std::min(most_others, points_.rows() - other);
      for (std::int64_t index = 0; index < count; ++index) others[index] = points_.row(other + index);
      squared_distances<T>(own, tile_points, others, count, points_.columns(), squared);
      for (std::size_t labeling = 0; labeling < rows.size(); ++labeling)
        rows[labeling] = rows_[labeling].data() + other;
      HWY_DYNAMIC_DISPATCH(add_distances)
      (squared, count, half_of_squares, rows.data(), std::ssize(rows), sums.data());
    }
    for (std::size_t labeling = 0; labeling < rows.size(); ++labeling) {
      results[labeling] = 0;
      for (std::int64_t point = 0; point < present; ++point)
        results[labeling] +=
            silhouette_of(sums.data() + std::int64_t{offsets_[labeling]} * tile_points + point, counts_[labeling],
                          labelings_[labeling].labels[static_cast<std::size_t>(first + point)]);
    }
  }

  bool is_defined(std::size_t labeling) const {
    const auto& counts = counts_[labeling];
    const auto present = std::ranges::count_if(counts, [](std::int64_t count) { return count > 0; });
    return present >= 2 && present < points_.rows();
  }

 private:
  MatrixView<const T> points_;
  std::span<const Labeling> labelings_;
  std::int64_t clusters_;
  std::vector<std::vector<std::int64_t>> counts_;
  std::vector<std::int32_t> offsets_;  ///< for each labeling: the total number of clusters of the labelings before it

  /// For each labeling and point: the row of `sums` that belongs to the point's cluster.
  std::vector<std::vector<std::int32_t>> rows_;
};

}  // namespace

std::uint64_t silhouette_bytes(std::int64_t points, std::span<const Labeling> labelings, int threads) {
  std::uint64_t most = 0;
  for (const Group& group : groups_of(labelings)) {
    const auto n = static_cast<std::uint64_t>(points);
    const std::uint64_t results = (n / tile_points + 1) * 8 * group.count;
    most = std::max(most,
                    static_cast<std::uint64_t>(threads) * 8 * tile_points * static_cast<std::uint64_t>(group.clusters) +
                        4 * n * group.count + results);
  }
  return most;
}

template <class T>
std::vector<std::optional<double>> silhouettes(MatrixView<const T> points, std::span<const Labeling> labelings,
                                               bool half_of_squares, int threads, const std::stop_token& stop) {
  std::vector<std::optional<double>> means;
  for (const Group& group : groups_of(labelings)) {
    const Measurement<T> measurement(points, labelings, group);
    const std::int64_t tiles = measurement.tiles();
    const auto width = static_cast<std::int64_t>(group.count);
    std::vector<double> results(static_cast<std::size_t>(tiles * width));
    std::vector<typename Measurement<T>::Scratch> scratch;
    for (int thread = 0; thread < threads; ++thread) scratch.push_back(measurement.scratch());
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (threads > 1)
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      if (stop.stop_requested()) continue;
      measurement.measure(tile, half_of_squares, stop, scratch[static_cast<std::size_t>(omp_get_thread_num())],
                          results.data() + tile * width);
    }
    core::honour_stop(stop, "stopped while measuring silhouettes");
    for (std::int64_t labeling = 0; labeling < width; ++labeling) {
      double sum = 0;
      for (std::int64_t tile = 0; tile < tiles; ++tile)
        sum += results[static_cast<std::size_t>(tile * width + labeling)];
      means.push_back(measurement.is_defined(static_cast<std::size_t>(labeling))
                          ? std::optional(sum / static_cast<double>(points.rows()))
                          : std::nullopt);
    }
  }
  return means;
}

template std::vector<std::optional<double>> silhouettes(MatrixView<const float>, std::span<const Labeling>, bool, int,
                                                        const std::stop_token&);
template std::vector<std::optional<double>> silhouettes(MatrixView<const double>, std::span<const Labeling>, bool, int,
                                                        const std::stop_token&);

}  // namespace gradus::kmeans_detail
#endif  // HWY_ONCE
