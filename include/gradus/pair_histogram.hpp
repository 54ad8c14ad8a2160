/// Pair-distance histograms: how many pairs of points lie at each distance. Exact and reproducible.
///
/// Canonical result (what every variant gives, to the bit, on any number of threads):
///
/// * Separation of two points in a column: |x_i - x_j|, both widened to IEEE double and subtracted there. In a periodic
///   box of length L it is the lesser of that and L - |x_i - x_j| (the nearest image).
/// * Squared distance: (dx * dx + dy * dy) + dz * dz in double, each operation rounded, none fused; columns that the
///   points do not have count as zero. Distance: its square root, rounded.
/// * Bin: with uniform bins of width w the integer part of distance / w, divided in double; with edges the bin i for
///   which edges[i] <= distance < edges[i + 1].
/// * Counts are 64-bit integers and cannot overflow: there are at most 2^31 points of each kind.
/// * Weighted sums: in each bin the exact sum of the exact products of the two weights, rounded once to double (to
///   nearest, ties to even), whatever signs and magnitudes the weights have, denormals included. Weights are at most
///   2^500 in magnitude.
///
/// Memory of a GPU: points, others and both weights may lie on a GPU (MemoryPlace::on_gpu), in memory from cudaMalloc,
/// a memory pool, or managed memory. Where one of them does, the job runs on that GPU, with the same bits: another
/// device, a variant of the processor and a view on a second GPU are refused (UnsupportedError, or UsageError where the
/// request names another GPU, or the view is wrong about its memory). Rows and weights there are read where they are,
/// however far apart the rows; of those in host memory a copy is made there. The result is in host memory.
/// Execution::stream says when the memory may be read. Beside them a job keeps 3 n elements on the GPU, and 16 n bytes
/// where it filters, or 8 n for weights.
///
/// Complexity: O(n^2) pairs at most; where the largest edge is small against the extent of the points, O(n) times the
/// number of neighbours; where bins are wide, less than the number of pairs, for whole groups are counted at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/array.hpp"
#include "gradus/execution.hpp"
#include "gradus/export.hpp"
#include "gradus/run_report.hpp"

namespace gradus {

/// The bins: `bins` of `bin_width` from zero on, or between `edges`; one of the two.
struct PairBins {
  double bin_width = 0;
  std::int64_t bins = 0;
  std::vector<double> edges;  ///< at least two, none negative, increasing
  double cutoff = 0;  ///< the last bin ends here, and bins that begin here or farther are left out; 0: no cutoff
};

template <class T>
struct PairHistogramOptions {
  PairBins bins;
  MatrixView<const T> others;      ///< m x d: pairs of a point with one of these; no columns: pairs of points
  std::vector<double> box;         ///< d lengths of a periodic box; empty: open space
  std::vector<double> box_origin;  ///< its lower corner; empty: zero
  VectorView<const T> weights;     ///< one for each point, or empty
  VectorView<const T>
      other_weights;  ///< one for each of the others; given if, and only if, `weights` are and others are
};

struct PairHistogramResult {
  std::vector<double> edges;          ///< one more than there are bins; of uniform bins multiples of the width
  std::vector<std::uint64_t> counts;  ///< of pairs in each bin
  std::vector<double> weighted;       ///< sum of the pairs' weights in each bin; empty without weights
  std::uint64_t below = 0;            ///< pairs nearer than the first edge
  std::uint64_t beyond = 0;           ///< pairs at the last edge or the cutoff, or past it
  std::uint64_t pairs = 0;            ///< all of them: n (n - 1) / 2, or n m
  RunReport report;                   ///< `rechecked`: of all pairs
};

/// Counts the pairs among the rows of `points` (n x d, d from 1 to 3, n >= 0), or between them and `options.others`.
/// Throws UsageError for impossible bins, options or views (see array.hpp), InputError for NaN, infinity, points
/// outside the box, and a sum of weights beyond the largest double, UnsupportedError for a variant or device that
/// cannot run here, Error where memory does not suffice, InterruptedError after a stop request. The last edge (or the
/// cutoff) may be at most half the box's least length.
template <class T>
GRADUS_EXPORT PairHistogramResult pair_histogram(MatrixView<const T> points, const PairHistogramOptions<T>& options,
                                                 const Execution& execution = {});

/// Adds a histogram of the same bins, for example that of the next frame of a trajectory: counts, weighted sums (in the
/// order of the calls), times; `report.rechecked` becomes the share in all pairs. UsageError where the bins differ, or
/// the numbers of edges, counts and weights do not belong together; InputError where a sum of weights would leave the
/// range of double, or the number of pairs that of 64 bits. `sum` is then as it was.
GRADUS_EXPORT void accumulate(PairHistogramResult& sum, const PairHistogramResult& next);

/// Bytes of host memory that `pair_histogram` would take beyond its input; for a GPU variant with weights, which are
/// looked at only there, at most.
template <class T>
GRADUS_EXPORT std::uint64_t pair_histogram_memory(MatrixView<const T> points, const PairHistogramOptions<T>& options,
                                                  const Execution& execution = {});

/// What physicists derive from the counts, for each bin.
struct RadialDistribution {
  std::vector<double> g;             ///< pairs in the bin's shell over those of as many points spread uniformly
  std::vector<double> density;       ///< of others in the shell around a point, per unit volume
  std::vector<double> coordination;  ///< others nearer than the bin's upper edge, per point (from the first edge on)
};

/// The radial distribution that belongs to the counts of one histogram, or of several added up (`frames` of them).
/// `points` and `others` are the numbers of points of a frame, others = 0 for pairs among the points; `volume` is that
/// of the space they lie in (length in one dimension, area in two); where it differs from frame to frame, the harmonic
/// mean. UsageError where the volume is not positive.
GRADUS_EXPORT RadialDistribution radial_distribution(const PairHistogramResult& histogram, std::int64_t dimensions,
                                                     std::int64_t points, std::int64_t others, double volume,
                                                     std::int64_t frames = 1);

}  // namespace gradus
