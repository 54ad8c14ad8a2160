#include "kmeans/quality/swaps.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "core/failure.hpp"
#include "core/philox.hpp"
#include "core/stop.hpp"
#include "cpu/threads.hpp"
#include "kmeans/assign/distance.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr std::string_view while_swapping = "stopped while improving the clustering";
constexpr std::int64_t points_of_tile = 64;
constexpr std::int64_t most_neighbours = 16;
constexpr std::int64_t most_candidates = 64;
constexpr double no_key = std::numeric_limits<double>::infinity();

/// Returns the largest number of points that are examined for a transfer.
std::int64_t most_transfers(std::int64_t points, std::int64_t dimensions) {
  constexpr std::int64_t most = std::int64_t{1} << 14;
  constexpr std::int64_t elements = std::int64_t{1} << 22;
  return std::min(
      {most, std::max<std::int64_t>(points / 4, 512), std::max<std::int64_t>(elements / dimensions, 64), points});
}

/// Returns the bytes of the points of a local search, and of a copy of the search.
std::uint64_t search_bytes(std::int64_t points, std::int64_t dimensions, std::int64_t clusters) {
  const std::int64_t rows =
      searches_all_points(points, dimensions, clusters) ? points : most_transfers(points, dimensions);
  return static_cast<std::uint64_t>(rows * (dimensions * 12 + 256) + clusters * (dimensions * 64 + 2048));
}

std::int64_t neighbour_count(std::int64_t clusters) { return std::min(most_neighbours, clusters - 1); }

/// Returns a number that grows about as -log2 of the random bits, from additions and a division by a power of two
/// alone, so that it has the same bits on every machine.
double about_exponential(std::uint64_t bits) {
  const double uniform = static_cast<double>((bits >> 11) + 1) * 0x1p-53;  // in (0, 1]
  int exponent = 0;
  const double mantissa = std::frexp(uniform, &exponent);  // in [1/2, 1)
  return -static_cast<double>(exponent) + 2 * (1 - mantissa);
}

/// A point that may become a centroid.
struct DrawnRow {
  double key;  ///< infinite if the candidate is no point
  std::int64_t row;
};

bool precedes(const DrawnRow& a, const DrawnRow& b) { return a.key != b.key ? a.key < b.key : a.row < b.row; }

/// Adds a candidate to a heap of the `count` smallest keys. The largest of them is at the front.
void add(std::vector<DrawnRow>& heap, const DrawnRow& one, std::int64_t count) {
  if (std::ssize(heap) == count) {
    if (!precedes(one, heap.front())) return;
    std::ranges::pop_heap(heap, precedes);
    heap.pop_back();
  }
  heap.push_back(one);
  std::ranges::push_heap(heap, precedes);
}

/// Returns the numbers of the `count` rows with the smallest key(point), smallest first, or of all rows with a finite
/// key if these are fewer. Collective.
std::vector<std::int64_t> with_least_keys(const core::RankRows& rows, const std::function<double(std::int64_t)>& key,
                                          std::int64_t count, int threads, const std::stop_token& stop) {
  constexpr std::int64_t chunk = core::operations_between_polls / 16;
  const DrawnRow none{no_key, 0};
  std::vector<DrawnRow> all;
  const auto draw_own = [&](std::span<std::byte> bytes) {
    std::vector<DrawnRow> own;
    core::FirstFailure failure;
#pragma omp parallel num_threads(threads)
    {
      std::vector<DrawnRow> some;
#pragma omp for schedule(static)
      for (std::int64_t first = 0; first < rows.own(); first += chunk) {
        if (stop.stop_requested()) continue;
        failure.run([&] {
          for (std::int64_t point = first; point < std::min(first + chunk, rows.own()); ++point) {
            const double of_point = key(point);
            if (of_point < none.key) add(some, {of_point, rows.first() + point}, count);
          }
        });
      }
#pragma omp critical(gradus_swap_candidates)
      failure.run([&] {
        for (const DrawnRow& one : some) add(own, one, count);
      });
    }
    failure.rethrow();
    core::honour_stop(stop, while_swapping);
    own.resize(static_cast<std::size_t>(count), none);
    std::memcpy(bytes.data(), own.data(), bytes.size());
  };
  rows.ranks().exchange(static_cast<std::size_t>(count) * sizeof(DrawnRow), draw_own,
                        [&](int, std::span<const std::byte> bytes) {
                          std::vector<DrawnRow> some(static_cast<std::size_t>(count));
                          std::memcpy(some.data(), bytes.data(), bytes.size());
                          for (const DrawnRow& one : some)
                            if (one.key < none.key) add(all, one, count);
                        });
  std::ranges::sort_heap(all, precedes);
  std::vector<std::int64_t> numbers;
  for (const DrawnRow& one : all) numbers.push_back(one.row);
  return numbers;
}

/// Returns the indices of `values`, in ascending order of the values.
std::vector<std::int32_t> order_of(std::span<const std::uint64_t> values) {
  std::vector<std::int32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::less{}, [&](std::int32_t one) { return values[static_cast<std::size_t>(one)]; });
  return order;
}

/// Pairs the rows of the largest gains with the centroids of the least prices. `homes` has the clusters of the rows,
/// and `heirs` the nearest other cluster of each cluster. No row is in a cluster of `closed`.
std::vector<Swap> pair_up(std::span<const std::int64_t> rows, std::span<const std::int32_t> homes,
                          std::span<const std::uint64_t> gains, std::span<const std::uint64_t> prices,
                          std::span<const std::int32_t> heirs, const std::vector<bool>& closed, std::int64_t most) {
  const std::vector<std::int32_t> worst_first = order_of(gains);
  const std::vector<std::int32_t> cheapest = order_of(prices);
  // A cluster takes part in one swap only, because the estimates assume that all other centroids stay. The fit after
  // the swaps lowers the inertia further, so that a swap may pay although its price exceeds its gain.
  std::vector<bool> is_used(prices.size(), false);
  std::vector<Swap> swaps;
  auto next = cheapest.begin();
  for (auto one = worst_first.rbegin(); one != worst_first.rend() && std::ssize(swaps) < most; ++one) {
    const auto row = static_cast<std::size_t>(*one);
    const std::int32_t home = homes[row];
    if (is_used[static_cast<std::size_t>(home)] || closed[static_cast<std::size_t>(home)]) continue;
    while (next != cheapest.end() && (is_used[static_cast<std::size_t>(*next)] || *next == home)) ++next;
    if (next == cheapest.end()) break;
    const auto removed = static_cast<std::size_t>(*next);
    if (!swaps.empty() && gains[row] < prices[removed] / 4) break;
    swaps.push_back({*next, home, rows[row]});
    for (const std::int32_t cluster : {home, *next, heirs[removed]}) is_used[static_cast<std::size_t>(cluster)] = true;
  }
  return swaps;
}

/// Keeps the nearest `count` clusters, each with its distance, in ascending order.
void keep_nearest(std::vector<std::pair<double, std::int32_t>>& clusters, std::int64_t count) {
  const auto end = clusters.begin() + std::min<std::ptrdiff_t>(count, std::ssize(clusters));
  std::ranges::partial_sort(clusters, end);
  clusters.erase(end, clusters.end());
}

}  // namespace

bool searches_all_points(std::int64_t points, std::int64_t dimensions, std::int64_t clusters) {
  constexpr std::int64_t most = std::int64_t{1} << 16;
  constexpr std::int64_t elements = std::int64_t{1} << 23;
  if (points > most || points > elements / dimensions || clusters * clusters > 16 * points) return false;
  return points < 1024 || (clusters > 16 && clusters * dimensions >= 96);
}

template <class T>
Swaps<T>::Swaps(const Problem<T>& problem, int threads)
    : problem_(problem), threads_(threads), order_(problem.n()), nearest_(problem.n()), ratios_(problem.n()),
      farthest_(static_cast<std::size_t>(problem.k())), masses_(farthest_.size()) {
  double square = 0;
  for (std::size_t column = 0; column < problem.statistics.lowest.size(); ++column) {
    const double extent = problem.statistics.highest[column] - problem.statistics.lowest[column];
    square += extent * extent;
  }
  int points = 0;
  while ((problem.source->rank_rows().all() >> points) > 0) ++points;
  mass_scale_ = std::ldexp(1.0, 62 - points);
  scale_ = std::ldexp(1.0, std::min(62 - points - core::exponent_above(2 * square), 1000));
}

template <class T>
std::uint64_t Swaps<T>::integer(double squared, std::int64_t point) const {
  return static_cast<std::uint64_t>(squared * problem_.scaled_weight(point) * scale_);
}

template <class T>
void Swaps<T>::measure(MatrixView<const T> centroids, const std::int32_t* labels) {
  labels_ = labels;
  const std::int64_t neighbours = neighbour_count(problem_.k());
  measure_masses();
  prices_ = problem_.ranks().sum(masses_.size(), [&](std::span<std::uint64_t> prices) {
    sort_by_cluster();
    find_neighbours(centroids);
    for_each_tile(1 + neighbours, [&](const Tile& tile, const T** rows, const T** others, double* squared) {
      others[0] = centroids.row(tile.cluster);
      for (std::int64_t place = 0; place < neighbours; ++place)
        others[1 + place] = centroids.row(neighbours_[static_cast<std::size_t>(tile.cluster * neighbours + place)]);
      squared_distances<T>(rows, tile.count, others, 1 + neighbours, problem_.d(), squared);
      std::uint64_t price = 0;
      double farthest = 0;
      for (std::int64_t index = 0; index < tile.count; ++index) {
        const std::int64_t point = order_[tile.begin + index];
        double second = std::numeric_limits<double>::infinity();
        for (std::int64_t place = 1; place <= neighbours; ++place)
          second = std::min(second, squared[place * tile.count + index]);
        nearest_[point] = squared[index];
        ratios_[point] = transfer_ratio(tile, squared + index, point);
        farthest = std::max(farthest, squared[index]);
        if (second > squared[index]) price += integer(second - squared[index], point);
      }
      const auto cluster = static_cast<std::size_t>(tile.cluster);
      std::atomic_ref(prices[cluster]).fetch_add(price, std::memory_order_relaxed);  // read after the barrier
      std::atomic_ref<double> most(farthest_[cluster]);
      for (double before = most.load(std::memory_order_relaxed); before < farthest;)
        if (most.compare_exchange_weak(before, farthest, std::memory_order_relaxed)) break;
    });
  });
}

template <class T>
void Swaps<T>::measure_masses() {
  const std::vector<std::uint64_t> masses = problem_.ranks().sum(masses_.size(), [&](std::span<std::uint64_t> sums) {
    core::RarePoll look(problem_.stop, while_swapping);
    for (std::int64_t point = 0; point < problem_.n(); ++point, look.honour_stop())
      sums[static_cast<std::size_t>(labels_[point])] +=
          static_cast<std::uint64_t>(problem_.scaled_weight(point) * mass_scale_);
  });
  for (std::size_t cluster = 0; cluster < masses_.size(); ++cluster)
    masses_[cluster] = static_cast<double>(masses[cluster]) / mass_scale_;
}

/// Returns the least cost of a point in a neighbouring cluster, divided by its cost in its own cluster (transfers.hpp).
/// squared[place * tile.count] are the squared distances to its own centroid and to the neighbours.
template <class T>
double Swaps<T>::transfer_ratio(const Tile& tile, const double* squared, std::int64_t point) const {
  const std::int64_t neighbours = neighbour_count(problem_.k());
  const double weight = problem_.scaled_weight(point);
  double joins = no_key;
  for (std::int64_t place = 0; place < neighbours; ++place) {
    const auto other =
        static_cast<std::size_t>(neighbours_[static_cast<std::size_t>(tile.cluster * neighbours + place)]);
    joins = std::min(joins, squared[(1 + place) * tile.count] * (masses_[other] / (masses_[other] + weight)));
  }
  const double mass = masses_[static_cast<std::size_t>(tile.cluster)];
  return joins / (squared[0] * (mass / (mass - weight)));
}

template <class T>
void Swaps<T>::sort_by_cluster() {
  const std::int64_t n = problem_.n();
  core::RarePoll look(problem_.stop, while_swapping);
  std::vector<std::int64_t> next(static_cast<std::size_t>(problem_.k()) + 1, 0);
  for (std::int64_t point = 0; point < n; ++point, look.honour_stop())
    ++next[static_cast<std::size_t>(labels_[point]) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  tiles_.clear();
  for (std::int64_t cluster = 0; cluster < problem_.k(); ++cluster) {
    const std::int64_t end = next[static_cast<std::size_t>(cluster) + 1];
    for (std::int64_t begin = next[static_cast<std::size_t>(cluster)]; begin < end; begin += points_of_tile)
      tiles_.push_back({begin, static_cast<std::int32_t>(std::min(points_of_tile, end - begin)),
                        static_cast<std::int32_t>(cluster)});
  }
  for (std::int64_t point = 0; point < n; ++point, look.honour_stop())
    order_[next[static_cast<std::size_t>(labels_[point])]++] = point;
  std::ranges::fill(farthest_, 0.0);
}

template <class T>
void Swaps<T>::find_neighbours(MatrixView<const T> centroids) {
  const std::int64_t k = problem_.k();
  const std::int64_t neighbours = neighbour_count(k);
  neighbours_.assign(static_cast<std::size_t>(k * neighbours), 0);
  core::FirstFailure failure;
#pragma omp parallel for num_threads(threads_) schedule(dynamic, 1)
  for (std::int64_t first = 0; first < k; first += points_of_tile)
    failure.run([&] {
      const std::int64_t count = std::min(points_of_tile, k - first);
      std::vector<std::pair<double, std::int32_t>> found[points_of_tile];
      double squared[points_of_tile * points_of_tile];
      for (std::int64_t other = 0; other < k && !problem_.stop.stop_requested(); other += points_of_tile) {
        const std::int64_t others = std::min(points_of_tile, k - other);
        squared_distances(centroids.slice(first, count), centroids.slice(other, others), squared);
        for (std::int64_t cluster = 0; cluster < count; ++cluster) {
          auto& nearest = found[cluster];
          for (std::int64_t index = 0; index < others; ++index)
            if (other + index != first + cluster)
              nearest.emplace_back(squared[index * count + cluster], static_cast<std::int32_t>(other + index));
          keep_nearest(nearest, neighbours);
        }
      }
      if (problem_.stop.stop_requested()) return;
      for (std::int64_t cluster = 0; cluster < count; ++cluster)
        for (std::int64_t place = 0; place < neighbours; ++place)
          neighbours_[static_cast<std::size_t>((first + cluster) * neighbours + place)] =
              found[cluster][static_cast<std::size_t>(place)].second;
    });
  failure.rethrow();
  core::honour_stop(problem_.stop, while_swapping);
}

/// Calls work(tile, rows, others, squared) for all tiles. `rows` are the addresses of the tile's points. There is room
/// for `centroids` addresses in `others` and for as many distances per point in `squared`.
template <class T>
template <class Work>
void Swaps<T>::for_each_tile(std::int64_t centroids, const Work& work) {
  const PointRows<T> points = problem_.rows();
  core::FirstFailure failure;
#pragma omp parallel num_threads(threads_)
  failure.run([&] {
    Buffer<T> room(points.room(points_of_tile));
    std::vector<const T*> rows(points_of_tile);
    std::vector<const T*> others(static_cast<std::size_t>(centroids));
    std::vector<double> squared(static_cast<std::size_t>(points_of_tile * centroids));
#pragma omp for schedule(dynamic, 8) nowait
    for (std::size_t index = 0; index < tiles_.size(); ++index) {
      if (problem_.stop.stop_requested()) continue;
      const Tile& tile = tiles_[index];
      for (std::int64_t place = 0; place < tile.count; ++place)
        rows[static_cast<std::size_t>(place)] = points.row(order_[tile.begin + place], room.data(), place);
      work(tile, rows.data(), others.data(), squared.data());
    }
  });
  failure.rethrow();
  core::honour_stop(problem_.stop, while_swapping);
}

template <class T>
void Swaps<T>::draw(MatrixView<const T> centroids, const core::Philox& random, std::int64_t most) {
  const std::int64_t k = problem_.k();
  const std::int64_t wanted = std::clamp<std::int64_t>(std::max(4 * most, k), 16, most_candidates);
  const core::RankRows& own = problem_.source->rank_rows();
  // If a key is an exponential random number divided by a share, the rows with the smallest keys are drawn without
  // replacement in proportion to their shares (P. Efraimidis and P. Spirakis, "Weighted random sampling with a
  // reservoir", 2006).
  const auto key = [&](std::int64_t point) {
    const double share = nearest_[point] * problem_.scaled_weight(point);
    return share > 0 ? about_exponential(random.bits(static_cast<std::uint64_t>(own.first() + point))) / share : no_key;
  };
  candidates_ = with_least_keys(own, key, wanted, threads_, problem_.stop);
  const std::vector<std::int64_t>& numbers = candidates_;
  const std::int64_t count = std::ssize(numbers);
  const Matrix<T> rows = problem_.source->rows_at(numbers);
  // The distances from the candidates to all centroids.
  std::vector<double> apart(static_cast<std::size_t>(count * k));
  homes_.assign(numbers.size(), 0);
  gains_ = problem_.ranks().sum(numbers.size(), [&](std::span<std::uint64_t> sums) {
    if (count == 0) return;
    core::RarePoll look(problem_.stop, while_swapping);
    for (std::int64_t cluster = 0; cluster < k; cluster += points_of_tile, look.honour_stop())
      squared_distances(rows.view(), centroids.slice(cluster, std::min(points_of_tile, k - cluster)),
                        apart.data() + cluster * count);
    for (std::int64_t one = 0; one < count; ++one)
      for (std::int64_t cluster = 1; cluster < k; ++cluster) {
        std::int32_t& home = homes_[static_cast<std::size_t>(one)];
        if (apart[static_cast<std::size_t>(cluster * count + one)] <
            apart[static_cast<std::size_t>(home * count + one)])
          home = static_cast<std::int32_t>(cluster);
      }
    for_each_tile(count, [&](const Tile& tile, const T** points, const T** others, double* squared) {
      // A point can be nearer to the candidate only if the candidate is less than twice as far from the centroid.
      const double reach = 4.0001 * farthest_[static_cast<std::size_t>(tile.cluster)];
      std::int32_t near[most_candidates];
      std::int64_t some = 0;
      for (std::int64_t one = 0; one < count; ++one) {
        if (apart[static_cast<std::size_t>(tile.cluster * count + one)] > reach) continue;
        near[some] = static_cast<std::int32_t>(one);
        others[some++] = rows.row(one);
      }
      if (some == 0) return;
      squared_distances<T>(points, tile.count, others, some, problem_.d(), squared);
      for (std::int64_t place = 0; place < some; ++place) {
        std::uint64_t gain = 0;
        for (std::int64_t index = 0; index < tile.count; ++index) {
          const std::int64_t point = order_[tile.begin + index];
          const double less = nearest_[point] - squared[place * tile.count + index];
          if (less > 0) gain += integer(less, point);
        }
        std::atomic_ref(sums[static_cast<std::size_t>(near[place])]).fetch_add(gain, std::memory_order_relaxed);
      }
    });
  });
}

template <class T>
std::vector<Swap> Swaps<T>::propose(const std::vector<bool>& closed, std::int64_t most) const {
  std::vector<std::int32_t> heirs;
  for (std::int64_t cluster = 0; cluster < problem_.k(); ++cluster)
    heirs.push_back(neighbours_[static_cast<std::size_t>(cluster * neighbour_count(problem_.k()))]);
  return pair_up(candidates_, homes_, gains_, prices_, heirs, closed, most);
}

template <class T>
LocalSearch Swaps<T>::search(MatrixView<const T> centroids, const std::int32_t* labels, bool all, LocalRows& local) {
  const core::RankRows& own = problem_.source->rank_rows();
  const Statistics& statistics = problem_.statistics;
  labels_ = labels;
  if (all) measure_masses();
  std::vector<std::int64_t> numbers;
  if (all) {
    numbers.resize(static_cast<std::size_t>(own.all()));
    std::iota(numbers.begin(), numbers.end(), 0);
  } else {
    // Transfers that do not pay yet may pay after others.
    const auto key = [&](std::int64_t point) {
      return ratios_[point] > 0 && ratios_[point] < 1.04 ? ratios_[point] : no_key;
    };
    numbers = with_least_keys(own, key, most_transfers(own.all(), problem_.d()), threads_, problem_.stop);
  }
  const auto centred = [&](MatrixView<const T> rows, auto* to) {
    for (std::int64_t row = 0; row < rows.rows(); ++row)
      for (std::size_t column = 0; column < statistics.middle.size(); ++column)
        *to++ = static_cast<std::remove_reference_t<decltype(*to)>>(
            (static_cast<double>(rows.row(row)[column]) - statistics.middle[column]) * statistics.coordinate_scale);
  };
  if (!all || local.weights.empty()) {
    const Matrix<T> rows = problem_.source->rows_at(numbers);
    local.rows = Matrix<float>(rows.rows(), rows.columns());
    centred(rows.view(), local.rows.data());
  }
  // The label and the weight of each row, from the rank that has it.
  const std::vector<std::uint64_t> facts =
      problem_.ranks().sum(2 * numbers.size(), [&](std::span<std::uint64_t> words) {
        for (std::size_t index = 0; index < numbers.size(); ++index) {
          const std::int64_t point = numbers[index] - own.first();
          if (point < 0 || point >= own.own()) continue;
          words[2 * index] = static_cast<std::uint64_t>(labels_[point]);
          words[2 * index + 1] = std::bit_cast<std::uint64_t>(problem_.scaled_weight(point));
        }
      });
  std::vector<std::int32_t> found;
  local.weights.clear();
  for (std::size_t index = 0; index < numbers.size(); ++index) {
    found.push_back(static_cast<std::int32_t>(facts[2 * index]));
    local.weights.push_back(std::bit_cast<double>(facts[2 * index + 1]));
  }
  std::vector<double> means(static_cast<std::size_t>(problem_.k() * problem_.d()));
  centred(centroids, means.data());
  return problem_.ranks().agree([&] {
    LocalSearch search(local, found, std::move(means), masses_, problem_.stop);
    search.polish();
    return search;
  });
}

template <class T>
std::uint64_t Swaps<T>::bytes(const Shape& shape, int threads) {
  const auto n = static_cast<std::uint64_t>(shape.points);
  const auto k = static_cast<std::uint64_t>(shape.clusters);
  const auto d = static_cast<std::uint64_t>(shape.dimensions);
  const std::uint64_t tiles = (n / points_of_tile + k) * sizeof(Tile) * 2;  // a vector that grows
  const std::uint64_t of_thread =
      points_of_tile * (most_candidates * 8 + d * sizeof(T)) + points_of_tile * (points_of_tile + most_neighbours) * 24;
  return 24 * n + tiles + search_bytes(shape.points, shape.dimensions, shape.clusters) + 8 * k * (d + 4) +
         k * (most_candidates * 8 + most_neighbours * 4 + 64) + most_candidates * d * sizeof(T) +
         static_cast<std::uint64_t>(threads) * of_thread;
}

template class Swaps<float>;
template class Swaps<double>;

}  // namespace gradus::kmeans_detail
