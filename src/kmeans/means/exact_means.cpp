#include "kmeans/means/exact_means.hpp"

#include <algorithm>
#include <span>

#include "core/checked.hpp"
#include "core/exact_accumulator.hpp"
#include "core/stop.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

namespace {

/// Returns the points of each wanted cluster, except the relocated points.
template <class T>
std::vector<std::vector<std::int64_t>> members_of(const Problem<T>& problem, const std::int32_t* labels,
                                                  std::span<const Relocation> relocations,
                                                  std::span<const DoubtfulMean> wanted) {
  std::vector<std::int32_t> place(static_cast<std::size_t>(problem.k()), -1);
  for (std::size_t index = 0; index < wanted.size(); ++index)
    place[static_cast<std::size_t>(wanted[index].cluster)] = static_cast<std::int32_t>(index);
  const std::int64_t first = problem.source->rank_rows().first();
  std::vector<std::int64_t> gone;
  for (const Relocation& relocation : relocations) gone.push_back(relocation.point - first);
  std::sort(gone.begin(), gone.end());
  std::vector<std::vector<std::int64_t>> members(wanted.size());
  for (std::int64_t point = 0; point < problem.n(); ++point) {
    const std::int32_t index = place[static_cast<std::size_t>(labels[point])];
    if (index >= 0 && !std::binary_search(gone.begin(), gone.end(), point))
      members[static_cast<std::size_t>(index)].push_back(point);
  }
  return members;
}

constexpr std::size_t most_sums = 16384;  // number of sums that are computed at a time

/// Up to `most_sums` columns of one wanted mean.
struct PieceOfMean {
  std::size_t wanted;  ///< index of the mean in `wanted`
  std::span<const std::int32_t> dims;
};

std::vector<PieceOfMean> pieces_of(std::span<const DoubtfulMean> wanted) {
  std::vector<PieceOfMean> pieces;
  for (std::size_t index = 0; index < wanted.size(); ++index) {
    const std::span<const std::int32_t> dims = wanted[index].dims;
    for (std::size_t first = 0; first < dims.size(); first += most_sums)
      pieces.push_back({index, dims.subspan(first, std::min(most_sums, dims.size() - first))});
  }
  return pieces;
}

class Sums {
 public:
  explicit Sums(std::span<const std::int32_t> dims) : dims_(dims), sums_(dims.size()) {}

  template <class T>
  void add(const Problem<T>& problem, std::int64_t point, const T* row) {
    const double weight = problem.weight(point);
    weight_.add(weight);
    for (std::size_t index = 0; index < sums_.size(); ++index) {
      const auto coordinate = static_cast<double>(row[dims_[index]]);
      if (problem.weights.empty()) sums_[index].add(coordinate);
      else sums_[index].add_product(weight, coordinate);
    }
  }

  /// Returns the number of words that put() writes and take() reads. The ranks exchange these words to add up their
  /// sums.
  std::size_t words() const { return (sums_.size() + 1) * core::accumulator_limbs; }
  void put(std::span<std::uint64_t> words) {
    core::Ranks::put(sums_, words);
    core::Ranks::put(std::span(&weight_, 1), words.last(core::accumulator_limbs));
  }
  void take(std::span<const std::uint64_t> words) {
    core::Ranks::take(words, sums_);
    core::Ranks::take(words.last(core::accumulator_limbs), std::span(&weight_, 1));
  }

  template <class T>
  void write_means(T* centroid) const {
    for (std::size_t index = 0; index < sums_.size(); ++index)
      centroid[dims_[index]] = sums_[index].quotient<T>(weight_);
  }

 private:
  std::span<const std::int32_t> dims_;
  std::vector<core::ExactAccumulator> sums_;
  core::ExactAccumulator weight_;
};

/// Calls work(), which computes sums, and replaces them by their totals over all ranks.
void add_up(core::Ranks& ranks, std::vector<Sums>& sums, const auto& work) {
  std::size_t count = 0;
  for (const Sums& one : sums) count += one.words();
  const auto each = [&](auto words, const auto& use) {
    for (Sums& one : sums) {
      use(one, words.first(one.words()));
      words = words.subspan(one.words());
    }
  };
  ranks.add_up(
      count, work,
      [&](std::span<std::uint64_t> words) {
        each(words, [](Sums& one, std::span<std::uint64_t> own) { one.put(own); });
      },
      [&](std::span<const std::uint64_t> words) {
        each(words, [](Sums& one, std::span<const std::uint64_t> own) { one.take(own); });
      });
}

}  // namespace

template <class T>
void exact_means(const Problem<T>& problem, const std::int32_t* labels, std::span<const Relocation> relocations,
                 std::span<const DoubtfulMean> wanted, MatrixView<T> centroids, int threads) {
  // Number of rows that are read at a time. If the points are on a GPU, the rows are copied to host memory.
  constexpr std::size_t most_rows = 65536;
  core::Ranks& ranks = problem.ranks();
  const std::vector<std::vector<std::int64_t>> members =
      ranks.agree([&] { return members_of(problem, labels, relocations, wanted); });
  const std::vector<PieceOfMean> pieces = pieces_of(wanted);
  for (std::size_t begin = 0, end = 0; begin < pieces.size(); begin = end) {
    // Selects the next pieces, and the points of the pieces' clusters. With several ranks, the selection must not
    // depend on the number of this rank's points, because all ranks must select the same pieces.
    std::vector<Sums> sums;
    std::vector<std::int64_t> points;
    std::vector<std::size_t> first_point;
    for (std::size_t dims = 0; end < pieces.size(); ++end) {
      const std::vector<std::int64_t>& own = members[pieces[end].wanted];
      dims += pieces[end].dims.size();
      const bool many_rows = ranks.size() == 1 && points.size() + own.size() > most_rows;
      if (end > begin && (many_rows || dims > most_sums)) break;
      sums.emplace_back(pieces[end].dims);
      first_point.push_back(points.size());
      points.insert(points.end(), own.begin(), own.end());
    }
    first_point.push_back(points.size());
    const auto add = [&] {
      for (std::size_t first = 0; first < points.size(); first += most_rows) {
        core::honour_stop(problem.stop, "stopped while working out means");
        const std::size_t last = std::min(first + most_rows, points.size());
        Matrix<T> copies;
        const std::vector<const T*> rows =
            problem.source->addresses_of(std::span(points).subspan(first, last - first), copies);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
        for (std::size_t index = 0; index < sums.size(); ++index)
          for (std::size_t place = std::max(first, first_point[index]); place < std::min(last, first_point[index + 1]);
               ++place)
            if (!problem.stop.stop_requested()) sums[index].add(problem, points[place], rows[place - first]);
      }
      core::honour_stop(problem.stop, "stopped while working out means");
    };
    add_up(ranks, sums, add);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (std::size_t index = 0; index < sums.size(); ++index)
      sums[index].write_means(centroids.row(wanted[pieces[begin + index].wanted].cluster));
  }
}

std::uint64_t exact_means_bytes(const Shape& shape) {
  const std::uint64_t means = core::checked_multiply(static_cast<std::uint64_t>(shape.clusters),
                                                     static_cast<std::uint64_t>(shape.dimensions), "centroids");
  // The lists of doubtful columns double their capacity when they grow, hence the factor 2.
  return static_cast<std::uint64_t>(shape.clusters) * sizeof(DoubtfulMean) +
         core::checked_multiply(means, 2 * std::uint64_t{sizeof(std::int32_t)}, "centroids") +
         std::min<std::uint64_t>(means, most_sums) * sizeof(core::ExactAccumulator);
}

template <class T>
std::vector<bool> clusters_with_weight(const Problem<T>& problem, const std::int32_t* labels) {
  const std::vector<std::uint64_t> points =
      problem.ranks().sum(static_cast<std::size_t>(problem.k()), [&](std::span<std::uint64_t> own) {
        for (std::int64_t point = 0; point < problem.n(); ++point)
          if (problem.weight(point) > 0) own[static_cast<std::size_t>(labels[point])] = 1;
      });
  std::vector<bool> with_weight(points.size());
  std::transform(points.begin(), points.end(), with_weight.begin(), [](std::uint64_t some) { return some > 0; });
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
