#include "kmeans/lloyd/relocation.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "core/stop.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr std::string_view while_relocating = "stopped while moving empty clusters";

/// A point that may be relocated.
struct Candidate {
  double distance;  ///< squared distance to the point's centroid
  double weight;
  std::int64_t point;  ///< index among the points of all ranks
  std::int32_t label;
};

/// Defines a total order of all candidates. Therefore, the choice does not depend on the number of threads or ranks.
bool is_farther(const Candidate& a, const Candidate& b) {
  return a.distance != b.distance ? a.distance > b.distance : a.point < b.point;
}

/// The points of this rank, ordered by their distances to their centroids, farthest first. Only the part of the order
/// that is needed is sorted.
template <class T>
class Farthest {
 public:
  Farthest(const Problem<T>& problem, MatrixView<const T> centroids, const std::int32_t* labels)
      : problem_(problem), labels_(labels), first_(problem.source->rank_rows().first()), distances_(problem.n()) {
    problem.source->own_squared_distances(centroids, labels, distances_.data());
  }

  /// For each cluster, adds the number of its points with positive weight to `members`.
  void count_members(std::span<std::uint64_t> members) const {
    for (std::int64_t point = 0; point < problem_.n(); ++point) {
      if (point % core::operations_between_polls == 0) core::honour_stop(problem_.stop, while_relocating);
      members[static_cast<std::size_t>(labels_[point])] += problem_.weight(point) > 0;
    }
  }

  std::int64_t size() const { return distances_.size(); }

  /// Returns the candidate at index `place` of the order. If the sorted part ends before this index, sorts at least
  /// `ahead` more candidates.
  Candidate at(std::int64_t place, std::int64_t ahead) {
    if (place >= std::ssize(order_)) sort_more(std::min(size(), place + ahead) - std::ssize(order_));
    const std::int64_t point = order_[static_cast<std::size_t>(place)];
    return {distances_[point], problem_.weight(point), first_ + point, labels_[point]};
  }

 private:
  /// Appends the next `count` points to the sorted part.
  void sort_more(std::int64_t count) {
    const auto precedes = [&](std::int64_t a, std::int64_t b) {
      return distances_[a] != distances_[b] ? distances_[a] > distances_[b] : a < b;
    };
    // The farthest points so far among the points that follow the sorted part. The nearest of them is at the front.
    std::vector<std::int64_t> heap;
    for (std::int64_t point = 0; point < size(); ++point) {
      if (point % core::operations_between_polls == 0) core::honour_stop(problem_.stop, while_relocating);
      if (!order_.empty() && !precedes(order_.back(), point)) continue;
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

  const Problem<T>& problem_;
  const std::int32_t* labels_;
  std::int64_t first_;
  Buffer<double> distances_;
  std::vector<std::int64_t> order_;  ///< the sorted part
};

/// Selects the points to relocate.
class Moves {
 public:
  Moves(std::span<const std::uint64_t> members, const std::vector<std::int32_t>& empty, std::int64_t most)
      : members_(members.begin(), members.end()), empty_(empty),
        most_(std::min(most, static_cast<std::int64_t>(empty.size()))) {}

  bool are_enough() const { return std::ssize(moves_) == most_; }

  /// Relocates the candidate's point to the next empty cluster. Does not relocate a point that has no weight, or that
  /// is the last point with weight in its cluster.
  void take(const Candidate& candidate) {
    std::uint64_t& left_behind = members_[static_cast<std::size_t>(candidate.label)];
    if (left_behind < 2 || !(candidate.weight > 0)) return;
    --left_behind;
    moves_.push_back({candidate.point, candidate.label, empty_[moves_.size()], candidate.weight});
  }

  std::vector<Relocation> moves() { return std::move(moves_); }

 private:
  std::vector<std::uint64_t> members_;  ///< for each cluster: the number of its points with positive weight
  const std::vector<std::int32_t>& empty_;
  std::int64_t most_;
  std::vector<Relocation> moves_;
};

}  // namespace

// In each round, every rank sends a batch of its farthest points. A rank that sends a full batch may have more points,
// which follow the last point of this batch in the order. Let P be the farthest among the last points of all full
// batches. The merged order is complete only down to P.
template <class T>
std::vector<Relocation> relocate(const Problem<T>& problem, MatrixView<const T> centroids, const std::int32_t* labels,
                                 const std::vector<std::int32_t>& empty) {
  const std::int64_t most = problem.different_points - (problem.k() - std::ssize(empty));
  if (most <= 0) return {};
  // The batch has a few more candidates than there are empty clusters, because some candidates must stay in their
  // clusters.
  const std::int64_t batch = std::ssize(empty) + 64;
  core::Ranks& ranks = problem.ranks();
  std::optional<Farthest<T>> farthest;
  Moves moves(ranks.sum(static_cast<std::size_t>(problem.k()),
                        [&](std::span<std::uint64_t> members) {
                          farthest.emplace(problem, centroids, labels);
                          farthest->count_members(members);
                        }),
              empty, most);
  for (std::int64_t next = 0; !moves.are_enough();) {
    std::vector<Candidate> candidates;
    bool all_told = true;
    std::optional<Candidate> end;  // the merged order is complete down to this candidate
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const std::vector<Candidate> some = ranks.from(rank, [&] {
        std::vector<Candidate> own;
        for (std::int64_t place = next; place < std::min(farthest->size(), next + batch); ++place)
          own.push_back(farthest->at(place, batch));
        return own;
      });
      candidates.insert(candidates.end(), some.begin(), some.end());
      if (std::ssize(some) < batch) continue;
      all_told = false;
      if (!end || is_farther(some.back(), *end)) end = some.back();
    }
    std::ranges::sort(candidates, is_farther);
    for (const Candidate& candidate : candidates) {
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

#define GRADUS_INSTANTIATE(T)                                                                            \
  template std::vector<Relocation> relocate(const Problem<T>&, MatrixView<const T>, const std::int32_t*, \
                                            const std::vector<std::int32_t>&);                           \
  template Matrix<T> rows_of(const Problem<T>&, std::span<const Relocation>)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
