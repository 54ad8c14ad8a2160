// simd_large_dim: many dimensions, integer dot products. What simd_bounds, the production variant above 16
// columns, searches with.
//
// The idea. As in simd_small_dim a fast filter decides most points and the canonical double chain the rest, but here
// the filter is a matrix product of small integers: a vector instruction multiplies and adds twice as many 16-bit
// integers as floats, four times as many of 8 bits, and integer sums are exact, so that the only error is the rounding
// of points and centroids to steps. Coarser integers are faster and leave more candidates, hence the levels:
//
// 1. 8 bits, on processors with VNNI instructions and above 64 clusters. What lies within the error bound of the least
//    score is a candidate: on uniform data of 128 columns and 1024 clusters 3 a point, on the average.
// 2. 16 bits instead: elsewhere, and wherever candidates turn out to be so many that they cost more than 8 bits
//    save (an outlier among the centroids makes the steps coarse for all).
// 3. Several candidates: their distances in the data's own type, a vector at a time, true up to d + 16 roundings.
// 4. What these cannot tell apart: the canonical chain.
//
// * About the middle m of the centroids, with y = x - m and b = c - m, the nearest centroid has the least score
//   |b|^2 / 2 - y.b. Centroids are quantized once a pass, points 32 at a time as they are searched: to 8 bits so that
//   the greatest coordinate becomes 127 steps, to 16 so that norms stay near 2^14.5 steps and a dot product fits 31
//   bits, whatever the number of dimensions. The 8-bit instruction takes one operand without a sign: centroids get 128
//   added, which shifts all scores of a point alike.
// * Panels. Centroids are packed in panels of 64 clusters (8 bits) or 32 (16), a few dimensions innermost, as the
//   instruction takes them; a panel (8 KiB at 128 dimensions) stays in the first-level cache while all points of the
//   sub-block pass over it, 4 points by 4 vectors of clusters in registers, so that 8 loads feed 16 instructions.
// * The second look. Beside the scores, each panel leaves the least of each lane, a quarter of the scores; the least of
//   all and the candidates are found there, and only lanes that hold a candidate are looked at in full: about 4
//   instructions for 16 scores.
// * Certainty. With the rounding errors ey and eb of quantized qy and qb, y.b - qy.qb = ey.qb + y.eb, at most
//   |ey| |qb| + |y| |eb| by Cauchy and Schwarz. For 8 bits both errors are measured when quantizing; for 16 the point's
//   is bounded by sqrt(d) / 2. To that comes what the canonical chain itself errs by, which counts where points are
//   millions of millions of times farther from the middle than centroids (chain_error()). A cluster whose score lies
//   within twice the sum of the least is a candidate.
//
// Work of an iteration: n k d multiply-adds and one reading of the points. Floor: that number over the rate of the
// instruction, which takes 64 multiply-adds of 8 bits, or 32 of 16 bits, at 512 bits: twice a cycle that is 128 and 64
// a core (float: 32). At 128 dimensions and 1024 clusters the product is the greater part of the time, and of the rest
// no part is more than a tenth: candidates, quantizing, sums. Limits: none on x86-64; elsewhere the integer product is
// left to the compiler. Sources: K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication"
// (2008), for the panels.
#include "kmeans/rungs/simd_large_dim.hpp"

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

template <class T>
std::int64_t LargeDimAssigner<T>::assign(cpu::Range block, const std::int32_t* /*before*/, std::int32_t* labels,
                                         FilterScratch& scratch) {
  return filter_.search_block(problem_.points.row(block.begin), problem_.points.row_stride(), block.size(), labels, {},
                              scratch);
}

template <class T>
KMeansResult<T> simd_large_dim(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cpu::thread_count(execution);
  LargeDimAssigner<T> assigner(problem, threads);
  SimdEngine<T, LargeDimAssigner<T>> engine(problem, threads, assigner);
  return lloyd(problem, execution, engine, phases);
}

extern constinit const Variant simd_large_dim_rung{
    .name = "simd_large_dim",
    .summary = "an 8-bit or 16-bit integer matrix product as filter, doubtful ones in double; exact sums",
    .change =
        "many columns: the filter is a matrix product over packed panels of centroids, at two or (8 bits, VNNI) four "
        "times the rate of float; the oracle's bits",
    .contract = exact,
    .backend = core::Backend::simd,
    .on_ranks = true,
    .memory = simd_memory<LargeDimAssigner>,
    .run = {simd_large_dim<float>, simd_large_dim<double>},
};

}  // namespace gradus::kmeans_detail
