// simd_filter: a float filter with a proven error bound decides nearly every pair; the canonical rule in double decides
// the rest. Several pairs share one increment. This is the production form of brute force, for bins that reach across
// all points.
//
// The idea. A vector holds twice as many floats as doubles, and float has an approximate reciprocal square root that
// needs no division. Its 24 bits suffice to choose the bin unless the distance is within about 2^-20 of a bin edge.
//
// * Coordinates. In open space they are floats in units of bins, relative to the centre of all points, so an offset of
//   the points costs no precision. In a periodic box they are 32-bit integers, where 2^32 steps span the box.
//   Differences wrap around as the box does, and so give the separation to the nearest image without a comparison. In a
//   triclinic cell they are fractions of the cell's vectors, and the wrapped differences times the vectors give the
//   separation.
// * Distance. Let s be the sum of the squares. s * rsqrt(s), refined by one Newton step, is the distance in bins.
//   Adding a magic number turns the distance into a fixed-point number in the low bits, with the bin and a fraction.
// * Certainty. All rounding errors so far have a proven bound E (FilterPlan::error_at derives it), and the magic number
//   includes E. A pair whose fraction is at least 2 E is certainly in its bin; a test for zero bits decides this. All
//   other pairs are put into a queue, and the canonical rule moves them to the correct bin before the end. With 80 bins
//   of width 500 in a cube of edge 23,000, about 2 pairs in 10,000 are queued.
// * Counting costs the most, because each pair needs an increment, however many lanes there are. But k bin numbers
//   below `bins` form one number of k digits. The bins^k counters of such numbers fit in the cache for k = 2 up to
//   about 250 bins, and for k = 4 up to 10 bins. So k pairs share one increment, and consecutive increments rarely hit
//   the same counter. At the end each counter is added to the bins of its digits.
// * Edges that are not multiples of a width: a table of at least 4096 cells of equal width gives the bin of each cell.
//   A special entry marks cells that contain an edge or come closer than E to an edge; pairs in these cells are
//   doubtful. Weighted counts use the same table. They take one pair at a time, and add the products of weights to
//   exact sums.
//
// What changes from `simd_brute_force`: twice the lanes, no square root, no division, 1/k increments per pair.
// Work per vector of pairs: d subtractions, d + 1 multiply-adds, 8 more operations; lanes / k increments.
// Memory: 4 d bytes per point.
// Limits: the rung falls back to simd_brute_force if more than a quarter of the pairs would be doubtful. This happens
// if there are too many bins, or if they are too narrow for the extent of the points.
// Source: filtered predicates of computational geometry (J. R. Shewchuk, 1997), applied to histograms.
#include "pair_histogram/simd/simd_pairs.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pair_histogram/rungs/simd_filter.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "pair_histogram/simd/simd_pairs-inl.hpp"

#ifndef GRADUS_PAIR_HISTOGRAM_SIMD_FILTER
#define GRADUS_PAIR_HISTOGRAM_SIMD_FILTER
namespace gradus::pair_histogram_detail {

// The pairs of two ranges of points. If `later` is true, both ranges are from one set, and each point is paired only
// with later points.
struct FilterTiles {
  const float* const* first;
  const float* const* second;
  std::int64_t first_begin;
  std::int64_t first_end;
  std::int64_t second_begin;
  std::int64_t second_end;
  bool later;  // true if a first point is paired only with later second points
  const std::int64_t* first_weights;
  const std::int64_t* second_weights;
};

}  // namespace gradus::pair_histogram_detail
#endif

HWY_BEFORE_NAMESPACE();
namespace gradus::pair_histogram_detail {
namespace HWY_NAMESPACE {
namespace {

template <int D, bool periodic, int joint>
void tiles_kernel(FilterView& view, const FilterTiles& tiles) {
  for (std::int64_t point = tiles.first_begin; point < tiles.first_end; ++point) {
    const std::int64_t begin = tiles.later && point >= tiles.second_begin ? point + 1 : tiles.second_begin;
    if (begin >= tiles.second_end) continue;
    const Weights weights{tiles.first_weights != nullptr ? tiles.first_weights[point] : 0, tiles.second_weights};
    count_run<D, periodic, joint>(view, first_point(tiles.first, D, point), tiles.second, begin, tiles.second_end,
                                  PairNumbers{point, nullptr}, weights);
  }
}

template <int D, bool periodic>
void tiles_of_shape(FilterView& view, const FilterTiles& tiles) {
  GRADUS_PAIR_KERNEL_JOINT(tiles_kernel, D, periodic, view, tiles)
}

void count_tiles(FilterView& view, const FilterTiles& tiles) {
  if (view.triclinic) return tiles_of_shape<in_a_cell, true>(view, tiles);
  GRADUS_PAIR_KERNEL(tiles_of_shape, view, tiles)
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::pair_histogram_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <memory>

#include "core/phases.hpp"
#include "cpu/threads.hpp"
#include "pair_histogram/problem.hpp"
#include "pair_histogram/tile_pairs.hpp"

namespace gradus::pair_histogram_detail {

HWY_EXPORT(count_tiles);

namespace {

// The number of points in a tile. The coordinates of a tile and the counters fit in the L1 cache.
constexpr std::int64_t tile_points = 2048;

}  // namespace

template <class T>
Histogram simd_filter(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cpu::thread_count(execution);
  const core::PhaseTimer timer(phases, "count");
  const FilterPlan plan(problem, problem.periodic ? FilterCoordinates::integers : FilterCoordinates::floats);
  if (!plan.usable) return count_in_double(problem, execution, threads);
  const FilterColumns<T> first(problem, plan, problem.points, {}, threads);
  const FilterColumns<T> others =
      problem.cross ? FilterColumns<T>(problem, plan, problem.others, {}, threads) : FilterColumns<T>();
  const FilterWeights weights = first_weights(problem);
  const FilterWeights other_weights = problem.cross ? second_weights(problem) : FilterWeights();
  const FilterColumns<T>& second = problem.cross ? others : first;

  FilterTeam<T> team(problem, plan, threads);
  const TilePairs tiles(problem.n(), problem.m(), problem.cross, tile_points);
  for_each_item(execution, threads, tiles.count(), [&](int part, std::int64_t number) {
    const TilePair pair = tiles[number];
    FilterCounters<T>& counters = team[part];
    counters.expect(static_cast<std::uint64_t>(pair.first.size() * pair.second.size()));
    HWY_DYNAMIC_DISPATCH(count_tiles)
    (counters.view(),
     {first.columns(), second.columns(), pair.first.begin, pair.first.end, pair.second.begin, pair.second.end,
      !problem.cross, weights.data(), (problem.cross ? other_weights : weights).data()});
  });
  return team.finish();
}

namespace {

core::Memory filter_memory(const Shape& shape, int threads) { return memory_to_filter(shape, threads, 0); }

}  // namespace

extern constinit const Variant simd_filter_rung{
    .name = "simd_filter",
    .summary = "a float filter, doubtful pairs in double; several pairs share one increment",
    .change =
        "twice the lanes, neither square root nor division; up to four pairs share one increment of a joint counter",
    .backend = core::Backend::simd,
    .on_ranks = true,
    .memory = filter_memory,
    .run = {simd_filter<float>, simd_filter<double>},
};

}  // namespace gradus::pair_histogram_detail
#endif
