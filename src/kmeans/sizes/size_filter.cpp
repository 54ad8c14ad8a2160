// The filter. Let m be the middle of the points, y = x - m and b = c - m, scaled by a power of two so that coordinates
// are at most 1. Let p be the price of a cluster in the same units. Then D(x, c) + p = |y|^2 + 2 s with the score
// s = (|b|^2 + p) / 2 - y.b. The filter computes the scores in float: a chain of d fused multiply-adds that begins with
// (|b|^2 + p) / 2.
//
// Error bound. Rounding y and b to float, the first term and every step of the chain have relative errors of 2^-24 of
// magnitudes of at most |y| |b| + |b|^2 / 2 + |p| / 2 (by Cauchy-Schwarz), and so have the subtraction of a price and
// the addition of another one in a list. The error of a score is therefore at most (d + 8) 2^-24 times this magnitude,
// up to products of errors and underflow. The code doubles the bound and adds d 2^-100. The doubling also covers the
// canonical chain, whose steps have relative errors of 2^-53, and the rounding of the limit. Let w be the width of a
// price's interval in scaled units. A cluster is a candidate unless s - w / 2 exceeds the least s + w / 2 by more than
// twice the bound; the magnitude above then includes w / 2.
//
// Bounds. For each point with one candidate, the filter keeps a lower bound g of the gap between its two least sums,
// and an upper bound u of the distance to its centroid. If centroids move by m_c and prices change by q_c, then D(x, c)
// decreases by at most 2 m_c d for the distance d to any other centroid. So, with M = max m_c,
//   g' = g - 2 M max(M, sqrt(u^2 + p_l + g - min p)) - 2 u m_l - m_l^2 + min q - q_l   and   u' = u + m_l.
// Points whose gap exceeds the widths of the intervals are not read. (Source: G. Hamerly, "Making k-means even faster",
// 2010, for bounds without prices.)
//
// Lists. For each point whose gap is too small, the filter keeps the scores of the nearest clusters, without prices,
// and a lower bound of the scores of all other clusters. Other prices then need no products, unless the bound admits a
// cluster that is not in the list.
//
// Panels of 64 centroids stay in the first-level cache while four points at a time pass over them; the sums of 4 points
// and 4 vectors of clusters are in registers.
#include "kmeans/sizes/size_filter.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/failure.hpp"
#include "core/stop.hpp"
#define GRADUS_WITHOUT_SSE4
#include "cpu/simd.hpp"
#include "cpu/threads.hpp"
#include "kmeans/assign/distance.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kmeans/sizes/size_filter.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gradus::kmeans_detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t clusters_of_panel = 64;
constexpr std::int64_t rows_of_panel = 4;

// Computes scores[row * width + cluster] for `vectors` vectors of clusters.
template <int vectors, class D>
void score(D tag, const float* HWY_RESTRICT rows, std::int64_t dimensions, const float* HWY_RESTRICT panel,
           const float* HWY_RESTRICT first, std::int64_t width, float* HWY_RESTRICT scores) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  hn::Vec<D> sums[rows_of_panel][vectors];
  for (int vector = 0; vector < vectors; ++vector) {
    const auto start = hn::LoadU(tag, first + vector * lanes);
    for (std::int64_t row = 0; row < rows_of_panel; ++row) sums[row][vector] = start;
  }
  for (std::int64_t dim = 0; dim < dimensions; ++dim) {
    hn::Vec<D> coordinates[vectors];
    for (int vector = 0; vector < vectors; ++vector)
      coordinates[vector] = hn::LoadU(tag, panel + dim * clusters_of_panel + vector * lanes);
    for (std::int64_t row = 0; row < rows_of_panel; ++row) {
      const auto value = hn::Set(tag, rows[row * dimensions + dim]);
      for (int vector = 0; vector < vectors; ++vector)
        sums[row][vector] = hn::NegMulAdd(value, coordinates[vector], sums[row][vector]);
    }
  }
  for (std::int64_t row = 0; row < rows_of_panel; ++row)
    for (int vector = 0; vector < vectors; ++vector)
      hn::StoreU(sums[row][vector], tag, scores + row * width + vector * lanes);
}

// Returns a score that at least NearClusters::most + 1 clusters do not exceed, or infinity.
float limit_of_list(const float* scores, std::int64_t width) {
  const hn::CappedTag<float, 16> tag;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  constexpr std::int64_t groups = 64;
  HWY_ALIGN float minima[groups];
  std::fill_n(minima, groups, std::numeric_limits<float>::infinity());
  for (std::int64_t cluster = 0; cluster < width; cluster += lanes) {
    float* const group = minima + cluster % groups;
    hn::Store(hn::Min(hn::Load(tag, group), hn::LoadU(tag, scores + cluster)), tag, group);
  }
  std::nth_element(minima, minima + NearClusters::most, minima + groups);
  return minima[NearClusters::most];
}

void find_candidates_here(ScoredRows& search) {
  const hn::CappedTag<float, 16> tag;
  using D = decltype(tag);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  constexpr std::int64_t most_vectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;  // as many as there are registers
  const std::int64_t width = search.width;
  for (std::int64_t cluster = 0; cluster < width;) {
    const std::int64_t in_panel = cluster % clusters_of_panel;
    const float* const panel = search.panels + (cluster - in_panel) * search.dimensions + in_panel;
    std::int64_t vectors = most_vectors;
    while (vectors * lanes > width - cluster || vectors * lanes > clusters_of_panel - in_panel) --vectors;
    const auto run = vectors == 1 ? score<1, D> : vectors == 2 ? score<2, D> : vectors == 3 ? score<3, D> : score<4, D>;
    run(tag, search.rows, search.dimensions, panel, search.first + cluster, width, search.scores + cluster);
    cluster += vectors * lanes;
  }
  const auto infinity = hn::Set(tag, std::numeric_limits<float>::infinity());
  for (std::int64_t row = 0; row < rows_of_panel; ++row) {
    const float* const own = search.scores + row * width;
    auto least = infinity;
    auto least_wide = infinity;
    for (std::int64_t cluster = 0; cluster < width; cluster += lanes) {
      const auto score = hn::LoadU(tag, own + cluster);
      least = hn::Min(least, hn::Add(score, hn::LoadU(tag, search.reach + cluster)));
      least_wide = hn::Min(least_wide, hn::Add(score, hn::LoadU(tag, search.wide + cluster)));
    }
    const auto slack = hn::Set(tag, search.slack[row]);
    const auto limit = hn::Add(hn::MinOfLanes(tag, least), slack);
    const auto limit_wide = hn::Add(hn::MinOfLanes(tag, least_wide), slack);
    const auto listed =
        hn::Set(tag, search.has_lists ? limit_of_list(own, width) : -std::numeric_limits<float>::infinity());
    auto others = infinity;
    std::int64_t count = 0;
    for (std::int64_t cluster = 0; cluster < width; cluster += lanes) {
      const auto score = hn::LoadU(tag, own + cluster);
      const auto is_near = hn::Or(
          hn::Le(hn::Sub(score, hn::LoadU(tag, search.reach + cluster)), limit),
          hn::And(hn::Le(score, listed), hn::Le(hn::Sub(score, hn::LoadU(tag, search.wide + cluster)), limit_wide)));
      others = hn::Min(others, hn::IfThenElse(is_near, infinity, score));
      if (hn::AllFalse(tag, is_near)) continue;
      std::uint8_t bits[8] = {};
      hn::StoreMaskBits(tag, is_near, bits);
      for (std::int64_t lane = 0; lane < lanes; ++lane)
        if (bits[lane / 8] >> (lane % 8) & 1)
          search.found[row * width + count++] = static_cast<std::int32_t>(cluster + lane);
    }
    search.counts[row] = count;
    search.others[row] = hn::GetLane(hn::MinOfLanes(tag, others));
  }
}

}  // namespace gradus::kmeans_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::kmeans_detail {

HWY_EXPORT(find_candidates_here);

namespace {

constexpr std::int64_t clusters_of_panel = 64;
constexpr std::int64_t rows_of_panel = 4;
constexpr std::int64_t pairs_at_once = 256;
constexpr double most_reach = 1e30;  ///< scaled scores are far below this number
constexpr float no_gap = -1;
constexpr float most_score = 1e30F;
constexpr float infinity = std::numeric_limits<float>::infinity();

/// Returns the number of clusters in multiples of the longest vector.
std::int64_t padded(std::int64_t clusters) { return (clusters + 15) / 16 * 16; }

/// Rounds up to float.
float above(double value) {
  const auto rounded = static_cast<float>(value);
  return static_cast<double>(rounded) < value ? std::nextafter(rounded, std::numeric_limits<float>::infinity())
                                              : rounded;
}

}  // namespace

template <class T>
struct SizeFilter<T>::Search {
  std::vector<float> first;    ///< for each cluster: the first term of its score
  std::vector<float> half;     ///< for each cluster: half of its price, scaled
  std::vector<float> reach;    ///< for each cluster: half of the width of its interval, scaled
  std::vector<float> wide;     ///< for each cluster: the larger of this and the last reach of list()
  bool only_lists = false;     ///< true if the search makes lists, but needs no candidates
  std::vector<float> prices;   ///< scaled, like the following members
  std::vector<float> changes;  ///< of prices since the last search
  float most_move = 0;
  float least_change = 0;
  float least_price = 0;    ///< of the last search
  float largest_price = 0;  ///< magnitude, of both searches
  float most_width = 0;
  std::int64_t stride = 1;
  std::int32_t* labels = nullptr;
};

template <class T>
struct SizeFilter<T>::Scratch {
  Scratch(std::int64_t clusters, std::int64_t dimensions)
      : rows(static_cast<std::size_t>(rows_of_panel * dimensions)),
        scores(static_cast<std::size_t>(rows_of_panel * padded(clusters))), found(scores.size()),
        settled(static_cast<std::size_t>(clusters)) {}

  std::vector<float> rows;
  std::vector<float> scores;
  std::vector<std::int32_t> found;
  std::vector<std::int64_t> settled;
};

template <class T>
SizeFilter<T>::SizeFilter(const Problem<T>& problem, int threads)
    : problem_(problem), threads_(threads), moves_(static_cast<std::size_t>(problem.k()), 0), gaps_(problem.n()),
      radii_(problem.n()), lengths_(problem.n()), has_lists_(makes_lists(problem.k(), problem.d())),
      near_(has_lists_ ? problem.n() : 0) {
  forget_bounds();
}

template <class T>
void SizeFilter<T>::forget_bounds() {
  std::fill_n(gaps_.data(), gaps_.size(), no_gap);
  std::fill_n(near_.others.data(), near_.others.size(), -infinity);
}

template <class T>
void SizeFilter<T>::prepare(MatrixView<const T> centroids) {
  const Statistics& statistics = problem_.statistics;
  const std::int64_t d = problem_.d();
  if (centroids_.rows() > 0)
    for (std::int64_t cluster = 0; cluster < problem_.k(); ++cluster) {
      double square = 0;
      for (std::int64_t dim = 0; dim < d; ++dim) {
        const double move =
            (static_cast<double>(centroids(cluster, dim)) - static_cast<double>(centroids_(cluster, dim))) *
            statistics.coordinate_scale;
        square += move * move;
      }
      float& move = moves_[static_cast<std::size_t>(cluster)];
      move = above(static_cast<double>(move) + std::sqrt(square) * (1 + 0x1p-30) + 0x1p-100);
    }
  std::fill_n(near_.others.data(), near_.others.size(), -infinity);
  largest_ = 0;
  centroids_ = Matrix<T>::copy_of(centroids);
  panels_.assign(
      static_cast<std::size_t>((problem_.k() + clusters_of_panel - 1) / clusters_of_panel * clusters_of_panel * d), 0);
  half_squares_.assign(static_cast<std::size_t>(problem_.k()), 0);
  double largest = 0;
  for (std::int64_t cluster = 0; cluster < problem_.k(); ++cluster) {
    double square = 0;
    float* const panel =
        panels_.data() + cluster / clusters_of_panel * clusters_of_panel * d + cluster % clusters_of_panel;
    for (std::int64_t dim = 0; dim < d; ++dim) {
      const double value =
          (static_cast<double>(centroids(cluster, dim)) - statistics.middle[static_cast<std::size_t>(dim)]) *
          statistics.coordinate_scale;
      panel[dim * clusters_of_panel] = static_cast<float>(value);
      square += value * value;
    }
    half_squares_[static_cast<std::size_t>(cluster)] = square / 2;
    largest = std::max(largest, square);
  }
  longest_ = std::sqrt(largest);
}

template <class T>
bool SizeFilter<T>::search(std::span<const double> prices, std::span<const double> widths, std::int64_t stride,
                           std::int64_t most, std::int32_t* labels, OpenPoints& open, std::span<std::int64_t> settled) {
  Search search = search_of(prices, widths, stride, labels);
  if (!run(search, most, settled)) return false;
  open.clear();
  for (const OpenPoints& found : found_) {
    const std::int64_t before = std::ssize(open.clusters);
    open.points.insert(open.points.end(), found.points.begin(), found.points.end());
    open.clusters.insert(open.clusters.end(), found.clusters.begin(), found.clusters.end());
    open.distances.insert(open.distances.end(), found.distances.begin(), found.distances.end());
    for (std::size_t point = 1; point < found.begins.size(); ++point)
      open.begins.push_back(before + found.begins[point]);
  }
  return true;
}

template <class T>
std::vector<std::int64_t> SizeFilter<T>::list(std::span<const double> prices, std::span<const double> widths,
                                              std::int64_t stride, std::int32_t* labels,
                                              std::span<std::int64_t> settled) {
  std::ranges::fill(listed_, 0.0F);
  Search search = search_of(prices, widths, stride, labels);
  listed_ = search.reach;
  search.only_lists = true;
  run(search, std::numeric_limits<std::int64_t>::max(), settled);
  std::vector<std::int64_t> rows;
  for (const OpenPoints& found : found_) rows.insert(rows.end(), found.points.begin(), found.points.end());
  return rows;
}

template <class T>
typename SizeFilter<T>::Search SizeFilter<T>::search_of(std::span<const double> prices, std::span<const double> widths,
                                                        std::int64_t stride, std::int32_t* labels) {
  const double scale = problem_.statistics.coordinate_scale;
  Search search;
  search.stride = stride;
  search.labels = labels;
  search.first.assign(static_cast<std::size_t>(padded(problem_.k())), infinity);
  search.half.assign(search.first.size(), 0);
  search.reach.assign(search.first.size(), 0);
  search.wide.assign(search.first.size(), 0);
  listed_.resize(search.first.size());
  for (std::size_t cluster = 0; cluster < half_squares_.size(); ++cluster) {
    const double half = prices[cluster] * scale * scale / 2;
    const double reach = std::min(widths[cluster] * scale * scale / 2, most_reach);
    search.half[cluster] = static_cast<float>(half);
    search.first[cluster] = static_cast<float>(half_squares_[cluster] + half);
    search.reach[cluster] = above(reach);
    search.wide[cluster] = std::max(search.reach[cluster], listed_[cluster]);
    largest_ = std::max(largest_, half_squares_[cluster] + std::abs(half) + static_cast<double>(search.wide[cluster]));
    search.prices.push_back(static_cast<float>(prices[cluster] * scale * scale));
    if (last_prices_.size() == cluster) last_prices_.push_back(search.prices.back());
    search.changes.push_back(search.prices[cluster] - last_prices_[cluster]);
    search.most_move = std::max(search.most_move, moves_[cluster]);
    search.least_change = std::min(search.least_change, search.changes[cluster]);
    search.least_price = std::min(search.least_price, last_prices_[cluster]);
    search.largest_price =
        std::max({search.largest_price, std::abs(last_prices_[cluster]), std::abs(search.prices[cluster])});
    search.most_width = std::max(search.most_width, 2 * search.reach[cluster]);
  }
  return search;
}

/// Searches all rows, on all threads. Stores the open points of each chunk in found_. Returns false if there are more
/// than `most` candidates.
template <class T>
bool SizeFilter<T>::run(const Search& search, std::int64_t most, std::span<std::int64_t> settled) {
  if (search.stride > last_stride_) forget_bounds();  // the search does not update all bounds
  last_stride_ = search.stride;
  const std::int64_t rows = (problem_.n() + search.stride - 1) / search.stride;
  const std::int64_t chunk = core::chunk_length(rows, problem_.k() * problem_.d(), threads_);
  const std::int64_t chunks = (rows + chunk - 1) / chunk;
  found_.resize(static_cast<std::size_t>(chunks));
  std::ranges::fill(settled, 0);
  std::atomic<std::int64_t> candidates{0};
  core::FirstFailure failure;
  cpu::SharedWork work(chunks, threads_, 1);
#pragma omp parallel for num_threads(threads_) schedule(static, 1)
  for (int part = 0; part < threads_; ++part)
    failure.run([&] {
      Scratch scratch(problem_.k(), problem_.d());
      for (cpu::Range piece = work.next(part); piece.size() > 0; piece = work.next(part)) {
        if (problem_.stop.stop_requested() || failure.happened() || candidates.load(std::memory_order_relaxed) > most)
          break;
        OpenPoints& found = found_[static_cast<std::size_t>(piece.begin)];
        found.clear();
        search_rows(search, piece.begin * chunk, std::min(piece.end * chunk, rows), scratch, found);
        candidates.fetch_add(std::ssize(found.clusters), std::memory_order_relaxed);
      }
#pragma omp critical(gradus_size_filter)
      for (std::size_t cluster = 0; cluster < settled.size(); ++cluster) settled[cluster] += scratch.settled[cluster];
    });
  failure.rethrow();
  core::honour_stop(problem_.stop, "stopped while searching for near clusters");
  if (candidates.load() > most) {
    forget_bounds();  // some refer to this search and some to the last one
    return false;
  }
  last_prices_ = search.prices;
  std::ranges::fill(moves_, 0.0F);
  return true;
}

template <class T>
void SizeFilter<T>::search_rows(const Search& search, std::int64_t first, std::int64_t last, Scratch& scratch,
                                OpenPoints& open) {
  std::int64_t rows[rows_of_panel] = {};
  std::int64_t count = 0;
  for (std::int64_t index = first; index < last; ++index) {
    const std::int64_t row = index * search.stride;
    if (stays_settled(search, row)) {
      ++scratch.settled[static_cast<std::size_t>(search.labels[row])];
      continue;
    }
    if (settle_by_list(search, row, scratch, open)) continue;
    rows[count++] = row;
    if (count < rows_of_panel) continue;
    search_group(search, rows, count, scratch, open);
    count = 0;
  }
  if (count > 0) search_group(search, rows, count, scratch, open);
  if (search.only_lists) return;
  sort_points(open);
  measure(open);
}

/// Sorts the points. Points with lists are found before earlier points whose group was not complete.
template <class T>
void SizeFilter<T>::sort_points(OpenPoints& open) const {
  if (std::ranges::is_sorted(open.points)) return;
  std::vector<std::size_t> order(open.points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t index) { return open.points[index]; });
  OpenPoints sorted;
  for (const std::size_t index : order) {
    sorted.points.push_back(open.points[index]);
    sorted.clusters.insert(sorted.clusters.end(), open.clusters.begin() + open.begins[index],
                           open.clusters.begin() + open.begins[index + 1]);
    sorted.begins.push_back(std::ssize(sorted.clusters));
  }
  open = std::move(sorted);
}

/// Updates the bounds of a point. Returns true if its label is still the only candidate.
template <class T>
bool SizeFilter<T>::stays_settled(const Search& search, std::int64_t row) {
  if (has_lists_) {
    float& others = near_.others[row];
    others += search.least_change / 2 - 0x1p-20F * (std::abs(others) + search.largest_price);
  }
  float& gap = gaps_[row];
  if (!(gap > 0)) return false;
  const auto label = static_cast<std::size_t>(search.labels[row]);
  float& radius = radii_[row];
  const float move = moves_[label];
  const float square = radius * radius;
  const float other = std::sqrt(std::max(0.0F, square + last_prices_[label] + gap - search.least_price));
  // The last term exceeds the rounding errors of all others.
  const float error = 0x1p-18F * (square + gap + search.largest_price + search.most_move * (search.most_move + other));
  gap += -2 * search.most_move * std::max(search.most_move, other) - move * (2 * radius + move) +
         (search.least_change - search.changes[label]) - error;
  radius = (radius + move) * (1 + 0x1p-22F);
  return gap > (2 * search.reach[label] + search.most_width) * (1 + 0x1p-20F);
}

/// Returns the largest error of the difference of two scores of a point.
template <class T>
float SizeFilter<T>::slack_of(std::int64_t row) const {
  const auto d = static_cast<double>(problem_.d());
  return above(2 * ((d + 8) * 0x1p-23 * (static_cast<double>(lengths_[row]) * longest_ + largest_) + d * 0x1p-100));
}

/// Finds the candidates of a point in its list. Returns false if other clusters may be candidates.
template <class T>
bool SizeFilter<T>::settle_by_list(const Search& search, std::int64_t row, Scratch& scratch, OpenPoints& open) {
  if (!has_lists_ || near_.others[row] == -infinity) return false;
  const float others = near_.others[row];
  const std::span<const NearCluster> list = near().of(row);
  float limit = infinity;
  for (const NearCluster& near : list)
    limit = std::min(limit, near.score + search.half[near.at()] + search.reach[near.at()]);
  limit += slack_of(row);
  if (!(others - search.most_width / 2 > limit)) return false;
  if (search.only_lists) {
    open.points.push_back(row);
    return true;
  }
  float second = others;
  float least = infinity;
  for (const NearCluster& near : list) {
    const float score = near.score + search.half[near.at()];
    second = std::min(second, std::max(score, least));
    least = std::min(least, score);
    if (score - search.reach[near.at()] <= limit) open.clusters.push_back(near.cluster);
  }
  if (close_point(row, open)) {
    settle(search, row, open.clusters.back(), least, second, scratch);
    open.clusters.pop_back();
  }
  return true;
}

/// Ends the list of candidates of a point. Returns true if there is only one; this remains at the end of open.clusters.
template <class T>
bool SizeFilter<T>::close_point(std::int64_t row, OpenPoints& open) {
  if (std::ssize(open.clusters) == open.begins.back() + 1) return true;
  gaps_[row] = no_gap;  // the point may change its cluster
  open.points.push_back(row);
  open.begins.push_back(std::ssize(open.clusters));
  return false;
}

/// Assigns a point to its only candidate, and keeps bounds for later searches. `score` is the
/// score of the candidate, and `second` the least score of another cluster, or a lower bound.
template <class T>
void SizeFilter<T>::settle(const Search& search, std::int64_t row, std::int32_t cluster, float score, float second,
                           Scratch& scratch) {
  const auto label = static_cast<std::size_t>(cluster);
  search.labels[row] = cluster;
  ++scratch.settled[label];
  const auto slack = static_cast<double>(slack_of(row));
  const double gap = 2 * (static_cast<double>(second) - static_cast<double>(score) - slack);
  gaps_[row] = static_cast<float>(std::min(gap, most_reach) * (1 - 0x1p-20));
  const auto length = static_cast<double>(lengths_[row]);
  const double square = length * length + 2 * (static_cast<double>(score) + slack) +
                        static_cast<double>(std::abs(search.prices[label])) * 0x1p-20 -
                        static_cast<double>(search.prices[label]);
  radii_[row] = above(std::sqrt(std::max(square, 0.0)) * (1 + 0x1p-20));
}

/// Searches up to rows_of_panel rows.
template <class T>
void SizeFilter<T>::search_group(const Search& search, const std::int64_t* rows, std::int64_t count, Scratch& scratch,
                                 OpenPoints& open) {
  const Statistics& statistics = problem_.statistics;
  const std::int64_t d = problem_.d();
  const std::int64_t width = padded(problem_.k());
  float slack[rows_of_panel] = {};
  for (std::int64_t row = 0; row < count; ++row) {
    const T* const point = problem_.points.row(rows[row]);
    float* const to = scratch.rows.data() + row * d;
    double square = 0;
    for (std::int64_t dim = 0; dim < d; ++dim) {
      const double value = (static_cast<double>(point[dim]) - statistics.middle[static_cast<std::size_t>(dim)]) *
                           statistics.coordinate_scale;
      to[dim] = static_cast<float>(value);
      square += value * value;
    }
    lengths_[rows[row]] = above(std::sqrt(square) * (1 + 0x1p-50));
    slack[row] = slack_of(rows[row]);
  }
  ScoredRows scored{scratch.rows.data(),
                    d,
                    panels_.data(),
                    search.first.data(),
                    search.reach.data(),
                    search.wide.data(),
                    width,
                    slack,
                    has_lists_,
                    scratch.scores.data(),
                    scratch.found.data(),
                    {},
                    {}};
  HWY_DYNAMIC_DISPATCH(find_candidates_here)(scored);
  for (std::int64_t row = 0; row < count; ++row) {
    const std::span<const std::int32_t> found(scored.found + row * width, static_cast<std::size_t>(scored.counts[row]));
    const float* const scores = scored.scores + row * width;
    const float others = scored.others[row];
    if (has_lists_) near_.others[rows[row]] = -infinity;
    if (found.size() == 1) {
      settle(search, rows[row], found[0], scores[found[0]], others, scratch);
      continue;
    }
    gaps_[rows[row]] = no_gap;
    if (has_lists_) keep_list(search, rows[row], found, scores, std::min(others, most_score) - slack[row]);
    if (search.only_lists) {
      open.points.push_back(rows[row]);
      continue;
    }
    const auto reach_of = [&](std::int32_t cluster) { return search.reach[static_cast<std::size_t>(cluster)]; };
    float limit = infinity;
    for (const std::int32_t cluster : found) limit = std::min(limit, scores[cluster] + reach_of(cluster));
    limit += slack[row];
    for (const std::int32_t cluster : found)
      if (scores[cluster] - reach_of(cluster) <= limit) open.clusters.push_back(cluster);
    if (close_point(rows[row], open)) {
      search.labels[rows[row]] = open.clusters.back();
      ++scratch.settled[static_cast<std::size_t>(open.clusters.back())];
      open.clusters.pop_back();
    }
  }
}

/// Keeps the least scores of a point. `others` is a lower bound of the scores of clusters that were not found.
template <class T>
void SizeFilter<T>::keep_list(const Search& search, std::int64_t row, std::span<const std::int32_t> found,
                              const float* scores, float others) {
  const std::span<NearCluster> list = near_.of(row);
  std::ranges::fill(list, NearCluster{});
  float beyond = infinity;  // the least score that is not in the list
  for (const std::int32_t cluster : found) {
    const float score = scores[cluster];
    if (!(score < list.back().score)) {
      beyond = std::min(beyond, score);
      continue;
    }
    beyond = std::min(beyond, list.back().score);
    std::size_t at = list.size() - 1;
    for (; at > 0 && score < list[at - 1].score; --at) list[at] = list[at - 1];
    list[at] = {score, cluster};
  }
  near_.others[row] = std::min(others, beyond - slack_of(row));
  const auto end = std::ranges::find(list, infinity, &NearCluster::score);
  std::sort(list.begin(), end, [](const NearCluster& a, const NearCluster& b) { return a.cluster < b.cluster; });
  for (NearCluster& near : list) near.score -= search.half[near.at()];
}

/// Computes the distances of all candidates.
template <class T>
void SizeFilter<T>::measure(OpenPoints& open) const {
  open.distances.resize(open.clusters.size());
  const T* points[pairs_at_once];
  const T* centroids[pairs_at_once];
  std::int64_t pairs = 0;
  std::int64_t done = 0;
  const auto flush = [&] {
    squared_distances_of_pairs(points, centroids, pairs, problem_.d(), open.distances.data() + done);
    done += pairs;
    pairs = 0;
  };
  for (std::size_t index = 0; index < open.points.size(); ++index)
    for (std::int64_t at = open.begins[index]; at < open.begins[index + 1]; ++at) {
      points[pairs] = problem_.points.row(open.points[index]);
      centroids[pairs] = centroids_.row(open.clusters[static_cast<std::size_t>(at)]);
      if (++pairs == pairs_at_once) flush();
    }
  if (pairs > 0) flush();
}

template <class T>
std::uint64_t SizeFilter<T>::bytes(const Shape& shape, int threads) {
  const auto width = static_cast<std::uint64_t>(padded(shape.clusters) + clusters_of_panel);
  const auto d = static_cast<std::uint64_t>(shape.dimensions);
  const std::uint64_t lists = makes_lists(shape.clusters, shape.dimensions) ? NearClusters::bytes_of_point : 0;
  return (12 + lists) * static_cast<std::uint64_t>(shape.points) + width * (12 * d + 48) +
         static_cast<std::uint64_t>(threads) * (16 * d + 40 * width);
}

template class SizeFilter<float>;
template class SizeFilter<double>;

}  // namespace gradus::kmeans_detail
#endif  // HWY_ONCE
