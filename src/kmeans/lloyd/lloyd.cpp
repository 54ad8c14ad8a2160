#include "kmeans/lloyd/lloyd.hpp"

#include "core/stop.hpp"
#include "kmeans/gpu/gpu_points.hpp"
#include "kmeans/lloyd/distance.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr std::string_view while_relocating = "stopped while moving empty clusters";

/// On the GPU where the points lie there.
template <class T>
void find_own_distances(const Problem<T>& problem, MatrixView<const T> centroids, const std::int32_t* labels,
                        double* out, int threads) {
  if constexpr (cuda::is_compiled) {
    if (problem.gpu) return problem.gpu->own_squared_distances(centroids, labels, out);
  }
  own_squared_distances(problem.points, centroids, labels, out, threads, problem.stop);
}

}  // namespace

template <class T>
std::vector<Relocation> relocate(const Problem<T>& problem, MatrixView<const T> centroids, const std::int32_t* labels,
                                 const std::vector<std::int32_t>& empty, int threads) {
  const std::int64_t n = problem.n();
  const std::int64_t most = problem.different_points - (problem.k() - std::ssize(empty));
  if (most <= 0) return {};
  Buffer<double> distances(n);
  find_own_distances(problem, centroids, labels, distances.data(), threads);
  const auto has_weight = [&](std::int64_t point) { return problem.weight(point) > 0; };
  std::vector<std::int64_t> members(static_cast<std::size_t>(problem.k()));
  Buffer<std::int64_t> order(n);
  for (std::int64_t point = 0; point < n; ++point) {
    if (point % core::operations_between_looks == 0) core::honour_stop(problem.stop, while_relocating);
    members[static_cast<std::size_t>(labels[point])] += has_weight(point);
    order[point] = point;
  }

  // The order is total (distance descending, row ascending), so the selection does not depend on threads. Points that
  // cannot move make it look a little further than the number of empty clusters.
  core::RareLook look(problem.stop, while_relocating);
  const auto farther = [&](std::int64_t a, std::int64_t b) {
    look.honour_stop();
    return distances[a] != distances[b] ? distances[a] > distances[b] : a < b;
  };
  std::vector<Relocation> moves;
  std::int64_t sorted = 0;
  std::int64_t next = 0;
  for (const std::int32_t cluster : empty) {
    for (bool moved = false; !moved; ++next) {
      if (next == n || std::ssize(moves) == most) return moves;
      if (next == sorted) {
        sorted = std::min<std::int64_t>(n, sorted + static_cast<std::int64_t>(empty.size()) + 64);
        std::partial_sort(order.begin() + next, order.begin() + sorted, order.end(), farther);
      }
      const std::int64_t point = order[next];
      std::int64_t& left_behind = members[static_cast<std::size_t>(labels[point])];
      if (left_behind < 2 || !has_weight(point)) continue;
      --left_behind;
      moves.push_back({point, labels[point], cluster});
      moved = true;
    }
  }
  return moves;
}

template <class T>
Matrix<T> rows_of(const Problem<T>& problem, std::span<const Relocation> moves) {
  std::vector<std::int64_t> points;
  for (const Relocation& move : moves) points.push_back(move.point);
  if constexpr (cuda::is_compiled) {
    if (problem.gpu && !points.empty()) return problem.gpu->copy_rows(points);
  }
  Matrix<T> rows(static_cast<std::int64_t>(points.size()), problem.d());
  for (std::int64_t row = 0; row < rows.rows(); ++row)
    std::copy_n(problem.points.row(points[static_cast<std::size_t>(row)]), problem.d(), rows.row(row));
  return rows;
}

#define GRADUS_INSTANTIATE(T)                                                                            \
  template std::vector<Relocation> relocate(const Problem<T>&, MatrixView<const T>, const std::int32_t*, \
                                            const std::vector<std::int32_t>&, int);                      \
  template Matrix<T> rows_of(const Problem<T>&, std::span<const Relocation>)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
