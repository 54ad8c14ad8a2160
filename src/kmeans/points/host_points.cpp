#include "kmeans/points/host_points.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "core/failure.hpp"
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "cpu/column_ranges.hpp"
#include "cpu/threads.hpp"
#include "kmeans/assign/distance.hpp"
#include "kmeans/points/unit_rows.hpp"
#include "kmeans/seeding/cover.hpp"
#include "kmeans/seeding/dense_cover.hpp"
#include "kmeans/seeding/filtered_cover.hpp"
#include "kmeans/seeding/idle_cover.hpp"
#include "kmeans/seeding/plan.hpp"

namespace gradus::kmeans_detail {

void refuse_results_on_gpu(const char* what) {
  throw UnsupportedError(std::string(what) +
                         ": they are on a GPU, but the points are not; keep both there, or both in "
                         "host memory");
}

namespace {

/// Widens `count` rows to `to`, without gaps. Returns early after a stop request.
template <class T>
void widen_rows(const PointRows<T>& rows, std::int64_t first, std::int64_t count, T* to, int threads,
                const std::stop_token& stop) {
  const std::int64_t stretch = core::chunk_length(count, rows.columns(), threads);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t row = 0; row < count; row += stretch)
    if (!stop.stop_requested()) rows.copy(first + row, std::min(stretch, count - row), to + row * rows.columns());
}

/// Returns the number of stored rows that are widened for one visit. At most 64 visits are needed, unless the rows of a
/// visit would not fit in the cache of a CPU.
std::int64_t visited_rows(std::int64_t rows, std::int64_t columns) {
  const std::int64_t values = std::clamp(rows * columns / 64, std::int64_t{1} << 16, std::int64_t{1} << 21);
  return std::clamp<std::int64_t>(values / columns, 1, std::max<std::int64_t>(rows, 1));
}

}  // namespace

std::uint64_t visit_bytes(std::int64_t rows, std::int64_t columns) {
  return static_cast<std::uint64_t>(visited_rows(rows, columns) * columns) * sizeof(float);
}

template <class T>
Matrix<T> widened(const PointRows<T>& rows, int threads, const std::stop_token& stop) {
  Matrix<T> copy(rows.rows(), rows.columns());
  widen_rows(rows, 0, rows.rows(), copy.data(), threads, stop);
  core::honour_stop(stop, "stopped while widening the points");
  return copy;
}

template <class T>
void HostPoints<T>::visit(const typename PointSource<T>::Visit& visit) const {
  const PointRows<T> rows = own();
  if (!rows.is_stored()) {
    visit(0, points_);
    return;
  }
  const std::int64_t most = visited_rows(rows.rows(), rows.columns());
  Buffer<T> room(rows.room(most));
  for (std::int64_t first = 0; first < rows.rows(); first += most) {
    const std::int64_t count = std::min(most, rows.rows() - first);
    widen_rows(rows, first, count, room.data(), this->threads(), this->stop());
    core::honour_stop(this->stop(), "stopped while reading the points");
    if (!visit(first, {room.data(), count, rows.columns()})) return;
  }
}

void extend(core::ColumnRanges& ranges, const core::ColumnRanges& more) {
  if (ranges.lowest.empty()) {
    ranges = more;
    return;
  }
  for (std::size_t column = 0; column < more.lowest.size(); ++column) {
    ranges.lowest[column] = std::min(ranges.lowest[column], more.lowest[column]);
    ranges.highest[column] = std::max(ranges.highest[column], more.highest[column]);
  }
  for (std::size_t column = 0; column < ranges.finest.size(); ++column)
    ranges.finest[column] = std::min(ranges.finest[column], more.finest[column]);
}

namespace {

/// Returns the ranges of stored rows. Each thread widens a part of the rows, block by block. `first` is the number of
/// the first row, for errors.
template <class T>
core::ColumnRanges ranges_of_stored(const PointRows<T>& rows, int threads, const std::stop_token& stop,
                                    std::int64_t first) {
  const std::int64_t block = std::max<std::int64_t>(1, cached_values / rows.columns());
  std::vector<core::ColumnRanges> parts(static_cast<std::size_t>(threads));
  std::vector<core::FirstFailure> failures(parts.size());
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (std::size_t part = 0; part < parts.size(); ++part)
    failures[part].run([&] {
      const cpu::Range own = cpu::share(rows.rows(), static_cast<int>(part), threads);
      Buffer<T> room(rows.room(std::min(block, own.size())));
      for (std::int64_t row = own.begin; row < own.end; row += block)
        extend(parts[part], cpu::column_ranges(rows.block(row, std::min(block, own.end - row), room.data()), "points",
                                               1, stop, first + row));
    });
  for (const core::FirstFailure& failure : failures) failure.rethrow();  // reports the first row with an invalid value
  core::ColumnRanges all;
  for (const core::ColumnRanges& part : parts) extend(all, part);
  return all;
}

}  // namespace

template <class T>
core::ColumnRanges HostPoints<T>::own_column_ranges() const {
  const std::int64_t first = this->rank_rows().first();
  if (own().is_stored()) return ranges_of_stored(own(), this->threads(), this->stop(), first);
  return cpu::column_ranges(points_, "points", this->threads(), this->stop(), first);
}

template <class T>
void HostPoints<T>::to_unit_rows() {
  owned_ = this->ranks().agree(
      [&] { return unit_rows<T>(own(), "points", this->threads(), this->stop(), this->rank_rows().first()); });
  points_ = std::as_const(owned_).view();
  stored_ = {};
}

template <class T>
Matrix<T> rows_at(const core::RankRows& rank_rows, const PointRows<T>& own, std::span<const std::int64_t> numbers) {
  return rank_rows.rows_at<T>(numbers, own.columns(), [&](std::span<const std::int64_t> wanted) {
    Matrix<T> copies(std::ssize(wanted), own.columns());
    for (std::int64_t index = 0; index < copies.rows(); ++index)
      own.copy(wanted[static_cast<std::size_t>(index)] - rank_rows.first(), 1, copies.row(index));
    return copies;
  });
}

template <class T>
Matrix<T> HostPoints<T>::rows_at(std::span<const std::int64_t> numbers) const {
  return kmeans_detail::rows_at(this->rank_rows(), own(), numbers);
}

template <class T>
std::vector<const T*> HostPoints<T>::addresses_of(std::span<const std::int64_t> numbers, Matrix<T>& copies) const {
  const PointRows<T> rows = own();
  if (rows.is_stored()) copies = Matrix<T>(std::ssize(numbers), rows.columns());
  std::vector<const T*> addresses;
  addresses.reserve(numbers.size());
  for (const std::int64_t number : numbers) addresses.push_back(rows.row(number, copies.data(), std::ssize(addresses)));
  return addresses;
}

template <class T>
void HostPoints<T>::own_squared_distances(MatrixView<const T> centroids, const std::int32_t* labels,
                                          double* out) const {
  visit([&](std::int64_t first, MatrixView<const T> rows) {
    kmeans_detail::own_squared_distances(rows, centroids, labels + first, out + first, this->threads(), this->stop());
    return true;
  });
}

namespace {

/// Computes the distances of kmeans_transform() in tiles. Without tiles, long rows of the result would not stay in the
/// cache.
template <class T>
class DistanceTiles {
 public:
  DistanceTiles(MatrixView<const T> centroids, MatrixView<const T> points, KMeansMetric metric,
                const std::stop_token& stop, const std::function<void(std::int64_t)>& progress)
      : centroids_(centroids), points_(points), metric_(metric), stop_(stop), progress_(progress) {}

  void find(MatrixView<T> distances, int threads) {
    cpu::SharedWork work((points_.rows() + tile - 1) / tile, threads, 1);
    core::FirstFailure failure;
    if (threads == 1) {  // even for one thread, a parallel region makes system calls, which take as long as a small job
      find_part(0, work, failure, distances);
    } else {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
      for (int part = 0; part < threads; ++part) failure.run([&] { find_part(part, work, failure, distances); });
    }
    failure.rethrow();
    core::honour_stop(stop_, "stopped while computing distances");
  }

 private:
  static constexpr std::int64_t tile = 64;

  void find_part(int part, cpu::SharedWork& work, const core::FirstFailure& failure, MatrixView<T> distances) {
    core::RateLimiter limiter;
    double squared[tile * tile];
    const T* some_points[tile];
    const T* some_centroids[tile];
    for (cpu::Range one = work.next(part); one.size() > 0; one = work.next(part)) {
      const std::int64_t first = one.begin * tile;
      const std::int64_t count = std::min(tile, points_.rows() - first);
      for (std::int64_t row = 0; row < count; ++row) some_points[row] = points_.row(first + row);
      for (std::int64_t cluster = 0; cluster < centroids_.rows(); cluster += tile) {
        if (stop_.stop_requested() || failure.happened()) return;  // polls once per tile
        const std::int64_t clusters = std::min(tile, centroids_.rows() - cluster);
        for (std::int64_t row = 0; row < clusters; ++row) some_centroids[row] = centroids_.row(cluster + row);
        squared_distances<T>(some_points, count, some_centroids, clusters, points_.columns(), squared);
        const double* next = squared;
        for (std::int64_t column = cluster; column < cluster + clusters; ++column)
          for (std::int64_t row = first; row < first + count; ++row, ++next)
            distances(row, column) = static_cast<T>(metric_ == KMeansMetric::cosine ? 0.5 * *next : std::sqrt(*next));
      }
      // relaxed, because only progress reports use the number
      const std::int64_t finished = done_.fetch_add(count, std::memory_order_relaxed) + count;
      if (part == 0 && limiter.ready()) progress_(finished);  // part 0 runs on the calling thread
    }
  }

  MatrixView<const T> centroids_;
  MatrixView<const T> points_;
  KMeansMetric metric_;
  const std::stop_token& stop_;
  const std::function<void(std::int64_t)>& progress_;
  std::atomic<std::int64_t> done_{0};
};

}  // namespace

template <class T>
void HostPoints<T>::distances(MatrixView<const T> centroids, KMeansMetric metric, MatrixView<T> distances,
                              const typename PointSource<T>::Done& progress) const {
  visit([&](std::int64_t first, MatrixView<const T> rows) {
    const typename PointSource<T>::Done done = [&](std::int64_t finished) { progress(first + finished); };
    DistanceTiles<T>(centroids, rows, metric, this->stop(), done)
        .find(distances.slice(first, rows.rows()), this->threads());
    return true;
  });
}

template <class T>
std::unique_ptr<SeedingCover> HostPoints<T>::cover(std::int64_t first, std::int64_t expected, bool groups,
                                                   const SeedingMemory<T>& memory) const {
  const core::RankRows& rows = this->rank_rows();
  const PointRows<T> points = own();
  const auto make_bytes = [&] {
    auto bytes = std::make_shared<ByteRows<T>>(points);
    if (memory.copy != nullptr) *memory.copy = bytes;
    return bytes;
  };
  switch (cover_kind(points_.columns(), !host_weights_.empty(), expected, groups, memory.filter)) {
    case CoverKind::dense:
      return std::make_unique<DenseCover<T>>(points, first, trials_of_a_step(expected), this->threads(), this->stop(),
                                             memory.copy != nullptr ? make_bytes().get() : nullptr, rows);
    case CoverKind::filtered:
      return std::make_unique<FilteredCover<T>>(points, host_weights_, make_bytes(), first, groups, this->threads(),
                                                this->stop(), rows);
    case CoverKind::plain: break;
  }
  return std::make_unique<Cover<T>>(points, host_weights_, first, expected, this->threads(), this->stop(), rows);
}

namespace {

/// The points of a rank without rows. At least one other rank of the job has rows.
template <class T>
class IdlePoints final : public HostPoints<T> {
 public:
  using HostPoints<T>::HostPoints;

  std::unique_ptr<SeedingCover> cover(std::int64_t first, std::int64_t expected, bool groups,
                                      const SeedingMemory<T>& memory) const override {
    return std::make_unique<IdleCover<T>>(this->points_, this->host_weights_, first,
                                          candidates_of_a_call(expected, groups, memory.filter), this->stop(),
                                          this->rank_rows());
  }

 private:
  /// Returns how many candidates are compared per call on those ranks that have rows.
  std::int64_t candidates_of_a_call(std::int64_t expected, bool groups, SeedingFilter filter) const {
    const std::int64_t columns = this->points_.columns();
    switch (cover_kind(columns, !this->host_weights_.empty(), expected, groups, filter)) {
      case CoverKind::dense: return DenseCover<T>::most_trials;
      case CoverKind::filtered: return FilteredCover<T>::candidates_of_a_call(columns);
      case CoverKind::plain: break;
    }
    return Cover<T>::candidates_of_a_call;
  }
};

}  // namespace

template <class T>
std::unique_ptr<PointSource<T>> HostPoints<T>::sample(std::span<const std::int64_t> numbers,
                                                      VectorView<const T> weights) const {
  Matrix<T> all = rows_at(numbers);
  core::Ranks& ranks = this->ranks();
  // All ranks hold the whole sample, and each rank processes a share of it.
  const cpu::Range share = cpu::share(all.rows(), ranks.rank(), ranks.size());
  const VectorView<const T> own_weights(weights.data() + share.begin, share.size());
  auto own = points_in_host_memory<T>(std::as_const(all).view().slice(share.begin, share.size()),
                                      own_weights.empty() ? weights_of_no_rows<T>() : own_weights, this->threads(),
                                      this->stop(), core::RankRows(ranks, share.size()));
  static_cast<HostPoints&>(*own).owned_ = std::move(all);
  return own;
}

template <class T>
std::unique_ptr<PointSource<T>> points_in_host_memory(const PointRows<T>& points, VectorView<const T> weights,
                                                      int threads, std::stop_token stop,
                                                      const core::RankRows& rank_rows) {
  if (points.rows() == 0)
    return std::make_unique<IdlePoints<T>>(points.shape(), weights, threads, std::move(stop), rank_rows);
  return std::make_unique<HostPoints<T>>(points, weights, threads, std::move(stop), rank_rows);
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define GRADUS_INSTANTIATE(T)                                                                                   \
  template class HostPoints<T>;                                                                                 \
  template Matrix<T> rows_at(const core::RankRows&, const PointRows<T>&, std::span<const std::int64_t>);        \
  template Matrix<T> widened(const PointRows<T>&, int, const std::stop_token&);                                 \
  template std::unique_ptr<PointSource<T>> points_in_host_memory(const PointRows<T>&, VectorView<const T>, int, \
                                                                 std::stop_token, const core::RankRows&)
// NOLINTEND(bugprone-macro-parentheses)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
