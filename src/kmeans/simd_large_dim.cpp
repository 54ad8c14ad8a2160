// simd_large_dim: many dimensions, integer dot products. The production variant above 16 columns.
//
// The idea. As in simd_small_dim a fast filter decides most points and the canonical double chain the rest, but here
// the filter is a matrix product in 16-bit integers: the instruction that multiplies 16-bit pairs and adds them into 32
// bits does twice the multiply-adds of a float one, and integer sums are exact, so that the only error is the rounding
// of points and centroids to steps.
//
// * About the middle m of the centroids, with y = x - m and b = c - m, the nearest centroid has the least score
//   |b|^2 / 2 - y.b. Points of a sub-block of 32 and centroids are quantized so that their norms stay near 2^14.5
//   steps: a dot product then fits 31 bits, whatever the number of dimensions.
// * Panels. Centroids are packed in panels of two vectors' clusters, dimension pairs innermost; a panel (4 KiB at 128
//   dimensions) stays in the first-level cache while all points of the sub-block pass over it, 4 points at a time.
// * Certainty. |error| <= |qy| |eb| + |ey| |qb| + |ey| |eb| by Cauchy and Schwarz, with the centroids' quantization
//   errors eb measured and |ey| <= sqrt(d) / 2. Every cluster whose score lies within twice that of the least is a
//   candidate; a single candidate is the label, several are re-checked by the canonical chain.
//
// Work of an iteration: n k d multiply-adds in 16-bit integers (2 vector instructions for each 2 * lanes of them) and
// one reading of the points. Limits: none on x86-64; elsewhere the integer product is left to the compiler. Sources: K.
// Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication" (2008), for the panels.
#include "kmeans/simd_large_dim.hpp"

#include "kmeans/variants.hpp"

namespace gradus::kmeans_detail {

template <class T>
std::int64_t LargeDimAssigner<T>::assign(cpu::Range block, const std::int32_t* /*before*/, std::int32_t* labels,
                                         FilterScratch& scratch) {
  return filter_.search_block(problem_.points.row(block.begin), problem_.points.row_stride(), block.size(), labels, {},
                              scratch);
}

template <class T>
KMeansResult<T> simd_large_dim(const Problem<T>& problem, const Execution& execution) {
  const int threads = cpu::thread_count(execution);
  LargeDimAssigner<T> assigner(problem, threads);
  SimdEngine<T, LargeDimAssigner<T>> engine(problem, threads, assigner);
  return lloyd(problem, execution, engine);
}

template KMeansResult<float> simd_large_dim(const Problem<float>&, const Execution&);
template KMeansResult<double> simd_large_dim(const Problem<double>&, const Execution&);

}  // namespace gradus::kmeans_detail
