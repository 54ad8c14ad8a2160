// The filter. Let m be the middle of the points, y = x - m and b = c - m, scaled by a power of two so that coordinates
// are at most 1. Let p be the price of a cluster in the same units. Then D(x, c) + p = |y|^2 + 2 s with the score
// s = (|b|^2 + p) / 2 - y.b. The filter computes the scores in float: a chain of d fused multiply-adds that begins with
// (|b|^2 + p) / 2.
//
// Error bound. Rounding y and b to float, the first term and every step of the chain have relative errors of 2^-24 of
// magnitudes of at most |y| |b| + |(|b|^2 + p) / 2| (by Cauchy-Schwarz). The error of a score is therefore at most
// (d + 4) 2^-24 times this magnitude, up to products of errors and underflow. The code doubles the bound and adds
// d 2^-100. The doubling also covers the canonical chain, whose steps have relative errors of 2^-53, and the rounding
// of the limit. Let w be the width of a price's interval in scaled units. A cluster is a candidate unless s - w / 2
// exceeds the least s + w / 2 by more than twice the bound; the magnitude above then includes w / 2.
//
// Bounds. For each point with one candidate, the filter keeps a lower bound g of the gap between its two least sums,
// and an upper bound u of the distance to its centroid. If centroids move by m_c and prices change by q_c, then D(x, c)
// decreases by at most 2 m_c d for the distance d to any other centroid. So, with M = max m_c,
//   g' = g - 2 M max(M, sqrt(u^2 + p_l + g - min p)) - 2 u m_l - m_l^2 + min q - q_l   and   u' = u + m_l.
// Points whose gap exceeds the widths of the intervals are not read. (Source: G. Hamerly, "Making k-means even faster",
// 2010, for bounds without prices.)
//
// Panels of 64 centroids stay in the first-level cache while four points at a time pass over them; the sums of 4 points
// and 4 vectors of clusters are in registers.
#include "kmeans/sizes/size_filter.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "core/failure.hpp"
#include "core/stop.hpp"
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

// See find_candidates() below.
void find_candidates_here(const float* rows, std::int64_t dimensions, const float* panels, const float* first,
                          const float* reach, std::int64_t width, const float* slack, float* scores,
                          std::int32_t* found, std::int64_t* counts, float* second) {
  const hn::CappedTag<float, 16> tag;
  using D = decltype(tag);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  constexpr std::int64_t most_vectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;  // as many as there are registers
  for (std::int64_t cluster = 0; cluster < width;) {
    const std::int64_t in_panel = cluster % clusters_of_panel;
    const float* const panel = panels + (cluster - in_panel) * dimensions + in_panel;
    std::int64_t vectors = most_vectors;
    while (vectors * lanes > width - cluster || vectors * lanes > clusters_of_panel - in_panel) --vectors;
    const auto run = vectors == 1 ? score<1, D> : vectors == 2 ? score<2, D> : vectors == 3 ? score<3, D> : score<4, D>;
    run(tag, rows, dimensions, panel, first + cluster, width, scores + cluster);
    cluster += vectors * lanes;
  }
  for (std::int64_t row = 0; row < rows_of_panel; ++row) {
    const float* const own = scores + row * width;
    hn::Vec<D> least = hn::Add(hn::LoadU(tag, own), hn::LoadU(tag, reach));
    for (std::int64_t cluster = lanes; cluster < width; cluster += lanes)
      least = hn::Min(least, hn::Add(hn::LoadU(tag, own + cluster), hn::LoadU(tag, reach + cluster)));
    const auto limit = hn::Add(hn::MinOfLanes(tag, least), hn::Set(tag, slack[row]));
    const auto infinity = hn::Set(tag, std::numeric_limits<float>::infinity());
    auto others = infinity;
    std::int64_t count = 0;
    for (std::int64_t cluster = 0; cluster < width; cluster += lanes) {
      const auto scores_here = hn::LoadU(tag, own + cluster);
      const auto is_near = hn::Le(hn::Sub(scores_here, hn::LoadU(tag, reach + cluster)), limit);
      others = hn::Min(others, hn::IfThenElse(is_near, infinity, scores_here));
      if (hn::AllFalse(tag, is_near)) continue;
      std::uint8_t bits[8] = {};
      hn::StoreMaskBits(tag, is_near, bits);
      for (std::int64_t lane = 0; lane < lanes; ++lane)
        if (bits[lane / 8] >> (lane % 8) & 1) found[row * width + count++] = static_cast<std::int32_t>(cluster + lane);
    }
    counts[row] = count;
    second[row] = hn::GetLane(hn::MinOfLanes(tag, others));
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
  std::vector<float> reach;    ///< for each cluster: half of the width of its interval, scaled
  double largest = 0;          ///< largest magnitude of these terms, including the reach
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
      radii_(problem.n()) {
  std::fill_n(gaps_.data(), gaps_.size(), no_gap);
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
      moves_[static_cast<std::size_t>(cluster)] = above(std::sqrt(square) * (1 + 0x1p-30) + 0x1p-100);
    }
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
  const double scale = problem_.statistics.coordinate_scale;
  if (stride > last_stride_) std::fill_n(gaps_.data(), gaps_.size(), no_gap);  // the search does not update all bounds
  last_stride_ = stride;
  Search search;
  search.stride = stride;
  search.labels = labels;
  search.first.assign(static_cast<std::size_t>(padded(problem_.k())), std::numeric_limits<float>::infinity());
  search.reach.assign(search.first.size(), 0);
  for (std::size_t cluster = 0; cluster < half_squares_.size(); ++cluster) {
    const double first = half_squares_[cluster] + prices[cluster] * scale * scale / 2;
    const double reach = std::min(widths[cluster] * scale * scale / 2, most_reach);
    search.first[cluster] = static_cast<float>(first);
    search.reach[cluster] = above(reach);
    search.largest = std::max(search.largest, std::abs(first) + reach);
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
  const std::int64_t rows = (problem_.n() + stride - 1) / stride;
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
    // Some bounds refer to this search and some to the last one.
    std::fill_n(gaps_.data(), gaps_.size(), no_gap);
    return false;
  }
  last_prices_ = search.prices;
  std::ranges::fill(moves_, 0.0F);
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
    rows[count++] = row;
    if (count < rows_of_panel) continue;
    search_group(search, rows, count, scratch, open);
    count = 0;
  }
  if (count > 0) search_group(search, rows, count, scratch, open);
  measure(open);
}

/// Updates the bounds of a point. Returns true if its label is still the only candidate.
template <class T>
bool SizeFilter<T>::stays_settled(const Search& search, std::int64_t row) {
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

/// Searches up to rows_of_panel rows.
template <class T>
void SizeFilter<T>::search_group(const Search& search, const std::int64_t* rows, std::int64_t count, Scratch& scratch,
                                 OpenPoints& open) {
  const Statistics& statistics = problem_.statistics;
  const std::int64_t d = problem_.d();
  const std::int64_t width = padded(problem_.k());
  const double unit = static_cast<double>(d + 4) * 0x1p-23;
  float slack[rows_of_panel] = {};
  double squares[rows_of_panel] = {};
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
    const double error = unit * (std::sqrt(square) * longest_ + search.largest) + static_cast<double>(d) * 0x1p-100;
    slack[row] = above(2 * error);
    squares[row] = square;
  }
  std::int64_t counts[rows_of_panel] = {};
  float second[rows_of_panel] = {};
  HWY_DYNAMIC_DISPATCH(find_candidates_here)
  (scratch.rows.data(), d, panels_.data(), search.first.data(), search.reach.data(), width, slack,
   scratch.scores.data(), scratch.found.data(), counts, second);
  for (std::int64_t row = 0; row < count; ++row) {
    const std::int32_t* const found = scratch.found.data() + row * width;
    if (counts[row] != 1) {
      gaps_[rows[row]] = no_gap;
      open.points.push_back(rows[row]);
      open.clusters.insert(open.clusters.end(), found, found + counts[row]);
      open.begins.push_back(std::ssize(open.clusters));
      continue;
    }
    const auto label = static_cast<std::size_t>(found[0]);
    search.labels[rows[row]] = found[0];
    ++scratch.settled[label];
    const double score = static_cast<double>(scratch.scores[static_cast<std::size_t>(row * width) + label]);
    const double gap = 2 * (static_cast<double>(second[row]) - score - static_cast<double>(slack[row]));
    gaps_[rows[row]] = static_cast<float>(std::min(gap, most_reach) * (1 - 0x1p-20));
    const double square = squares[row] + 2 * (score + static_cast<double>(slack[row])) +
                          static_cast<double>(std::abs(search.prices[label])) * 0x1p-20 -
                          static_cast<double>(search.prices[label]);
    radii_[rows[row]] = above(std::sqrt(std::max(square, 0.0)) * (1 + 0x1p-20));
  }
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
  return 8 * static_cast<std::uint64_t>(shape.points) + width * (12 * d + 48) +
         static_cast<std::uint64_t>(threads) * (16 * d + 40 * width);
}

template class SizeFilter<float>;
template class SizeFilter<double>;

}  // namespace gradus::kmeans_detail
#endif  // HWY_ONCE
