#include "kmeans/lloyd/lloyd.hpp"

#include <algorithm>

#include "core/exact_accumulator.hpp"
#include "core/stop.hpp"
#include "kmeans/gpu/gpu_points.hpp"

namespace gradus::kmeans_detail {

namespace {

/// The points of each wanted cluster.
template <class T>
std::vector<std::vector<std::int64_t>> members_of(const Problem<T>& problem, const std::int32_t* labels,
                                                  std::span<const Relocation> relocations,
                                                  std::span<const DoubtfulMean> wanted) {
  std::vector<std::int32_t> place(static_cast<std::size_t>(problem.k()), -1);
  for (std::size_t index = 0; index < wanted.size(); ++index)
    place[static_cast<std::size_t>(wanted[index].cluster)] = static_cast<std::int32_t>(index);
  std::vector<std::int64_t> gone;
  for (const Relocation& relocation : relocations) gone.push_back(relocation.point);
  std::sort(gone.begin(), gone.end());
  std::vector<std::vector<std::int64_t>> members(wanted.size());
  for (std::int64_t point = 0; point < problem.n(); ++point) {
    const std::int32_t index = place[static_cast<std::size_t>(labels[point])];
    if (index >= 0 && !std::binary_search(gone.begin(), gone.end(), point))
      members[static_cast<std::size_t>(index)].push_back(point);
  }
  return members;
}

/// The sums of one cluster.
class Sums {
 public:
  explicit Sums(const DoubtfulMean& wanted) : wanted_(&wanted), sums_(wanted.dims.size()) {}

  template <class T>
  void add(const Problem<T>& problem, std::int64_t point, const T* row) {
    const double weight = problem.weight(point);
    weight_.add(weight);
    for (std::size_t index = 0; index < sums_.size(); ++index) {
      const auto coordinate = static_cast<double>(row[wanted_->dims[index]]);
      if (problem.weights.empty()) sums_[index].add(coordinate);
      else sums_[index].add_product(weight, coordinate);
    }
  }

  template <class T>
  void write_means(T* centroid) const {
    for (std::size_t index = 0; index < sums_.size(); ++index)
      centroid[wanted_->dims[index]] = sums_[index].quotient<T>(weight_);
  }

 private:
  const DoubtfulMean* wanted_;
  std::vector<core::ExactAccumulator> sums_;
  core::ExactAccumulator weight_;
};

}  // namespace

template <class T>
void exact_means(const Problem<T>& problem, const std::int32_t* labels, std::span<const Relocation> relocations,
                 std::span<const DoubtfulMean> wanted, MatrixView<T> centroids, int threads) {
  constexpr std::size_t most_rows = 65536;  // looked at, and from a GPU copied, at a time
  constexpr std::size_t most_sums = 65536;
  const std::vector<std::vector<std::int64_t>> members = members_of(problem, labels, relocations, wanted);
  for (std::size_t begin = 0, end = 0; begin < wanted.size(); begin = end) {
    // Some clusters, and the points of them one after the other.
    std::vector<Sums> sums;
    std::vector<std::int64_t> points;
    std::vector<std::size_t> first_point;
    for (std::size_t dims = 0; end < wanted.size(); ++end) {
      dims += wanted[end].dims.size();
      if (end > begin && (points.size() + members[end].size() > most_rows || dims > most_sums)) break;
      sums.emplace_back(wanted[end]);
      first_point.push_back(points.size());
      points.insert(points.end(), members[end].begin(), members[end].end());
    }
    first_point.push_back(points.size());
    for (std::size_t first = 0; first < points.size(); first += most_rows) {
      core::honour_stop(problem.stop, "stopped while working out means");
      const std::size_t last = std::min(first + most_rows, points.size());
      Matrix<T> copies;
      if constexpr (cuda::is_compiled) {
        if (problem.gpu) copies = problem.gpu->copy_rows(std::span(points).subspan(first, last - first));
      }
#pragma omp parallel for num_threads(threads) schedule(dynamic)
      for (std::size_t index = 0; index < sums.size(); ++index)
        for (std::size_t place = std::max(first, first_point[index]); place < std::min(last, first_point[index + 1]);
             ++place)
          if (!problem.stop.stop_requested())
            sums[index].add(
                problem, points[place],
                problem.gpu ? copies.row(static_cast<std::int64_t>(place - first)) : problem.points.row(points[place]));
    }
    core::honour_stop(problem.stop, "stopped while working out means");
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (std::size_t index = 0; index < sums.size(); ++index)
      sums[index].write_means(centroids.row(wanted[begin + index].cluster));
  }
}

template <class T>
std::vector<bool> clusters_with_weight(const Problem<T>& problem, const std::int32_t* labels) {
  std::vector<bool> with_weight(static_cast<std::size_t>(problem.k()));
  for (std::int64_t point = 0; point < problem.n(); ++point)
    if (problem.weight(point) > 0) with_weight[static_cast<std::size_t>(labels[point])] = true;
  return with_weight;
}

#define GRADUS_INSTANTIATE(T)                                                                    \
  template void exact_means(const Problem<T>&, const std::int32_t*, std::span<const Relocation>, \
                            std::span<const DoubtfulMean>, MatrixView<T>, int);                  \
  template std::vector<bool> clusters_with_weight(const Problem<T>&, const std::int32_t*)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
