// simd_large_dim: integer dot products, for many dimensions. Production uses it through simd_bounds above 16 columns.
//
// The idea. As in simd_small_dim, a fast filter decides most points and the canonical double chain decides the rest.
// Here the filter is a matrix product of small integers. A vector instruction multiplies and adds twice as many 16-bit
// integers as floats, and four times as many 8-bit integers. AMX tiles multiply 32 times as many 8-bit integers.
// Integer sums are exact, so the only error is the quantization of points and centroids. Coarser integers are faster
// but leave more candidates, so the search has levels:
//
// 1. 8 bits, on CPUs with VNNI instructions or AMX tiles and above 64 clusters. Every cluster whose score is within the
//    error bound of the least score is a candidate. Uniform data of 128 columns and 1024 clusters leaves 3 candidates
//    per point on average.
// 2. 16 bits in three cases: on other CPUs, with fewer clusters, and if the 8-bit level would take longer than the
//    16-bit level because it leaves too many candidates. (One outlier among the centroids makes the quantization steps
//    coarse for all centroids.)
// 3. If several candidates remain, their distances decide. They are computed in the data's own type, a vector at a
//    time, with an error of at most d + 16 roundings.
// 4. If these distances do not decide, the canonical chain decides.
//
// * Scores. Let m be the middle of the centroids, y = x - m and b = c - m. The nearest centroid has the least score
//   |b|^2 / 2 - y.b. Centroids are quantized once per pass, points 32 at a time during the search. With 8 bits, the
//   largest coordinate becomes 127 steps. With 16 bits, norms stay near 2^14.5 steps, so that a dot product fits in 31
//   bits for any number of dimensions. The 8-bit instruction needs one unsigned operand. So 128 is added to the
//   quantized centroids, which shifts all scores of a point equally.
// * Panels. Centroids are packed in panels of 64 clusters (8 bits) or 32 clusters (16 bits). In a panel, four (8 bits)
//   or two (16 bits) coordinates of a centroid are adjacent, as the instruction needs them. A panel (8 KiB at 128
//   dimensions) stays in the first-level cache while all points of the sub-block pass over it. The sums of 4 points by
//   4 vectors of clusters are kept in registers, so that 8 loads feed 16 instructions.
// * Candidates. The search of a panel at the 8-bit level has two stages. The first stage stores the scores, and the
//   least score of each lane of a panel. There are a quarter as many of these minima as scores. From the minima, the
//   second stage finds the overall minimum and the lanes that contain a candidate. It reads the scores of only these
//   lanes. The second stage takes about 4 instructions per 16 scores.
// * Blocks of clusters. With many clusters, both stages process 1024 clusters at a time, so that the scores of the
//   sub-block stay in the second-level cache. The least score so far limits the candidates of each block. They are kept
//   with their scores, because later blocks lower the limit.
// * Tiles. AMX multiplies bytes at eight times the rate of VNNI, so reading, writing and comparing scores would take
//   longer than the product (assign/byte_tiles.cpp). Scores are compared with a limit per point as soon as they are
//   computed, and only those that pass are kept. The limit comes from the distance to the centroid of the previous
//   label and adds the error bound of one score, not of two. Without such a label, it decreases with the least score so
//   far, and the distance to the nearest candidate lowers it at the end.
// * Certainty. Let qy and qb be the quantized vectors and ey and eb their rounding errors. Then y.b - qy.qb = ey.qb +
//   y.eb, which is at most |ey| |qb| + |y| |eb| by Cauchy-Schwarz. With 8 bits, both errors are measured during
//   quantization; with 16 bits, the point's error is bounded by sqrt(d) / 2. The error of the canonical chain is added
//   (chain_error()); this error matters only if points are about 1e12 times farther from the middle than centroids. A
//   cluster is a candidate if its score exceeds the least score by at most twice the total error.
//
// Work per iteration: n k d multiply-adds and one read of the points. Floor: the multiply-adds divided by the rate of
// the instruction. A 512-bit instruction does 64 multiply-adds of 8 bits or 32 of 16 bits. With two instructions per
// cycle, a core does 128 or 64 multiply-adds per cycle (float: 32). At 128 dimensions and 1024 clusters, the product
// takes most of the time; candidates, quantizing and sums take at most a tenth each. Tiles do 1024 multiply-adds per
// cycle.
// Limits: none on x86-64; on other CPUs the compiler generates the integer product.
// Source: K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication" (2008), for the panels.
#include "kmeans/rungs/simd_large_dim.hpp"

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

template <class T>
std::int64_t LargeDimAssigner<T>::assign(BlockRows<T>& block, const std::int32_t* before, std::int32_t* labels,
                                         FilterScratch& scratch) {
  const MatrixView<const T> rows = block.all();
  return filter_.search_block(rows.data(), rows.row_stride(), rows.rows(), before, labels, {}, scratch);
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
    .summary = "an 8- or 16-bit integer matrix product as filter, doubtful points in double; exact sums",
    .change =
        "many columns: the filter is a matrix product over packed panels of centroids, at two, four (8 bits, VNNI) or "
        "32 (8 bits, AMX) times the rate of float; the oracle's bits",
    .contract = exact,
    .backend = core::Backend::simd,
    .on_ranks = true,
    .memory = simd_memory<LargeDimAssigner>,
    .facts = {.widens_rows = true},
    .run = {simd_large_dim<float>, simd_large_dim<double>},
};

}  // namespace gradus::kmeans_detail
