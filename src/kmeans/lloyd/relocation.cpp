#include "kmeans/lloyd/relocation.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "core/stop.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr std::string_view while_relocating = "stopped while moving empty clusters";

bool is_farther(const FarPoint& a, const FarPoint& b) {
  return a.distance != b.distance ? a.distance > b.distance : a.point < b.point;
}

/// Selects the points to relocate.
class Moves {
 public:
  /// `members`: for each cluster, the number of its points with positive weight.
  explicit Moves(std::vector<std::uint64_t> members) : members_(std::move(members)) {
    for (std::size_t cluster = 0; cluster < members_.size(); ++cluster)
      if (members_[cluster] == 0) empty_.push_back(static_cast<std::int32_t>(cluster));
  }

  /// Limits the number of relocations.
  void limit(std::int64_t most) { most_ = std::min<std::int64_t>(most, std::ssize(empty_)); }
  std::int64_t empty_clusters() const { return std::ssize(empty_); }
  bool are_enough() const { return std::ssize(moves_) >= most_; }

  /// Relocates the point to the next empty cluster, unless it is the last point with weight in its cluster.
  void take(const FarPoint& point) {
    std::uint64_t& left_behind = members_[static_cast<std::size_t>(point.label)];
    if (left_behind < 2) return;
    --left_behind;
    moves_.push_back({point.point, point.label, empty_[moves_.size()], point.weight});
  }

  std::vector<Relocation> moves() { return std::move(moves_); }

 private:
  std::vector<std::uint64_t> members_;
  std::vector<std::int32_t> empty_;
  std::int64_t most_ = 0;
  std::vector<Relocation> moves_;
};

}  // namespace

void sort_by_distance(std::span<FarPoint> points) { std::ranges::sort(points, is_farther); }

template <class T>
void HostFarPoints<T>::measure(std::int64_t /*count*/, std::span<std::uint64_t> members) {
  distances_ = Buffer<double>(problem_.n());
  problem_.source->own_squared_distances(centroids_, labels_, distances_.data());
  for (std::int64_t point = 0; point < problem_.n(); ++point) {
    if (point % core::operations_between_polls == 0) core::honour_stop(problem_.stop, while_relocating);
    if (!(problem_.weight(point) > 0)) continue;
    ++members[static_cast<std::size_t>(labels_[point])];
    ++size_;
  }
}

template <class T>
FarPoint HostFarPoints<T>::at(std::int64_t place, std::int64_t ahead) {
  if (place >= std::ssize(order_)) sort_more(std::min(size_, place + ahead) - std::ssize(order_));
  const std::int64_t point = order_[static_cast<std::size_t>(place)];
  return {distances_[point], problem_.weight(point), problem_.source->rank_rows().first() + point, labels_[point]};
}

/// Appends the next `count` points to the sorted part.
template <class T>
void HostFarPoints<T>::sort_more(std::int64_t count) {
  const auto precedes = [&](std::int64_t a, std::int64_t b) {
    return distances_[a] != distances_[b] ? distances_[a] > distances_[b] : a < b;
  };
  // The farthest points so far among the points that follow the sorted part. The nearest of them is at the front.
  std::vector<std::int64_t> heap;
  for (std::int64_t point = 0; point < problem_.n(); ++point) {
    if (point % core::operations_between_polls == 0) core::honour_stop(problem_.stop, while_relocating);
    if (!(problem_.weight(point) > 0) || (!order_.empty() && !precedes(order_.back(), point))) continue;
    if (std::ssize(heap) == count) {
      if (!precedes(point, heap.front())) continue;
      std::ranges::pop_heap(heap, precedes);
      heap.pop_back();
    }
    heap.push_back(point);
    std::ranges::push_heap(heap, precedes);
  }
  std::ranges::sort_heap(heap, precedes);
  order_.insert(order_.end(), heap.begin(), heap.end());
}

// In each round, every rank sends a batch of its farthest points. A rank that sends a full batch may have more points,
// which follow the last point of this batch in the order. Let P be the farthest among the last points of all full
// batches. The merged order is complete only down to P.
template <class T>
std::vector<Relocation> relocate(const Problem<T>& problem, std::int64_t empty, FarPoints& points) {
  if (problem.different_points <= problem.k() - empty) return {};
  // The batch has a few more points than there are empty clusters, because some points must stay in their clusters.
  const std::int64_t batch = empty + 64;
  core::Ranks& ranks = problem.ranks();
  Moves moves(ranks.sum(static_cast<std::size_t>(problem.k()),
                        [&](std::span<std::uint64_t> members) { points.measure(batch, members); }));
  moves.limit(problem.different_points - (problem.k() - moves.empty_clusters()));
  for (std::int64_t next = 0; !moves.are_enough();) {
    std::vector<FarPoint> candidates;
    bool all_told = true;
    std::optional<FarPoint> end;  // the merged order is complete down to this point
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const std::vector<FarPoint> some = ranks.from(rank, [&] {
        std::vector<FarPoint> own;
        for (std::int64_t place = next; place < std::min(points.size(), next + batch); ++place)
          own.push_back(points.at(place, batch));
        return own;
      });
      candidates.insert(candidates.end(), some.begin(), some.end());
      if (std::ssize(some) < batch) continue;
      all_told = false;
      if (!end || is_farther(some.back(), *end)) end = some.back();
    }
    sort_by_distance(candidates);
    for (const FarPoint& candidate : candidates) {
      if (moves.are_enough() || (end && is_farther(*end, candidate))) break;
      moves.take(candidate);
      next += problem.source->rank_rows().is_own(candidate.point);
    }
    if (all_told) break;
  }
  return moves.moves();
}

template <class T>
Matrix<T> rows_of(const Problem<T>& problem, std::span<const Relocation> moves) {
  std::vector<std::int64_t> points;
  for (const Relocation& move : moves) points.push_back(move.point);
  return problem.source->rows_at(points);
}

#define GRADUS_INSTANTIATE(T)                                                             \
  template class HostFarPoints<T>;                                                        \
  template std::vector<Relocation> relocate(const Problem<T>&, std::int64_t, FarPoints&); \
  template Matrix<T> rows_of(const Problem<T>&, std::span<const Relocation>)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
