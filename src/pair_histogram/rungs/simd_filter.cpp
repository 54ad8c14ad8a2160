// simd_filter: a float filter with a proven bound decides nearly every pair, the canonical rule in double the others;
// and several pairs share one increment. Brute force's production form, for histograms that reach across all points.
//
// The idea. float has twice the lanes of double, an approximate reciprocal square root that is not divided for, and 24
// bits, which tell two bins apart unless the distance lies within some 2^-20 of an edge between them.
//
// * Coordinates. In open space: float, in bins, from the middle of all points, so that an offset of the points costs
//   no bit. In a periodic box: 32-bit integers, of which 2^32 go around the box. Their difference wraps as the box
//   does, so that it is the separation to the nearest image without a comparison. In a triclinic cell they are the
//   fractions of its vectors, and their wrapped differences times the vectors are the separation.
// * Distance. Squares are summed up; s * rsqrt(s), bettered by one step of Newton, is the distance in bins. Adding a
//   magic number leaves it as a fixed-point number in the low bits: the bin, and a fraction.
// * Certainty. Every rounding up to there is bounded (FilterPlan::error_at has the sum), and the bound E is part of the
//   magic number. So a pair whose fraction is at least 2 E lies in that bin for certain, and a test for zero bits
//   tells: the others go to a queue, and are moved to the bin of the canonical rule before the end. Of 80 bins of 500
//   across a cube of edge 23,000 these are about 2 pairs in 10,000.
// * Counting costs the most: an increment for each pair, whatever the lanes. But of `bins` bins, k bins of k pairs are
//   one number of k digits, and the bins^k counters of such numbers fit the cache for k = 2 up to some 250 bins, for
//   k = 4 up to 10. So k pairs share one increment, and equal bins hardly ever meet in one counter. At the end each
//   counter is added to the bins of its digits.
// * Other edges than multiples of a width: a table of 4096 or more cells of equal width names the bin of a cell, and
//   one number in place of a bin says that an edge passes through, or comes nearer than E: then the pair is in doubt.
//   With weights this way is taken too, a pair at a time, and the products of weights join exact sums.
//
// What changes from `simd_brute_force`: twice the lanes, no square root, no division, 1/k increments.
// Work for each vector of pairs: d subtractions, d + 1 multiply-adds, 8 more operations; lanes / k increments.
// Memory: 4 d bytes for each point. Limits: where bins are so many, or so narrow against the extent of the points, that
// more than a quarter of the pairs would be in doubt, it is simd_brute_force.
// Source: filtered predicates of computational geometry (J. R. Shewchuk, 1997) carried over to histograms.
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

// The pairs of a range of points with a range of others, or of the points with later ones of the same columns.
struct FilterTiles {
  const float* const* first;
  const float* const* second;
  std::int64_t first_begin;
  std::int64_t first_end;
  std::int64_t second_begin;
  std::int64_t second_end;
  bool later;  // only second points after the first one
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

constexpr std::int64_t tile_points = 2048;  // their coordinates stay in the L1 cache beside the counters

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
