/// Pair-distance histograms: how many pairs of points lie at each distance. Exact and reproducible.
///
/// Canonical result (what every variant gives, to the bit, on any number of threads):
///
/// * Separation of two points in a column: |x_i - x_j|, both widened to IEEE double and subtracted there. In a periodic
///   box of length L it is the lesser of that and L - |x_i - x_j| (the nearest image), but in open directions
///   (PairHistogramOptions::periodic).
/// * In a triclinic cell, instead, with the reduced vectors a, b, c of its lattice: V = (a_x P_x + a_y P_y) + a_z P_z
///   with P = b x c, whose components are p q - r s as of a cross product; A = P / V, B = (c x a) / V, C = (a x b) / V.
///   With the differences d = x_i - x_j the image is that of the whole numbers n_a, n_b, n_c nearest (ties to even) to
///   (d_x A_x + d_y A_y) + d_z A_z and likewise by B and C, and the separation in each column is
///   ((d - n_a a) - n_b b) - n_c c. Each operation is one of IEEE double, none fused. That is the nearest image of
///   every pair that has one nearer than half the least height of the reduced cell, but for rounding: a separation that
///   is shorter than half of height h has a fraction below 1/2 of each vector.
/// * Reduced vectors: those given, changed step by step as long as a step shortens one of A, B, C, whose lengths are
///   the reciprocals of the heights. A step replaces P of A, B, C by a sum, if the square of the sum's length is less
///   than 1023/1024 of the square of P's (squares and products: (x x' + y y') + z z'). The first of these is taken: A -
///   k B, A - k C, B - k A, B - k C, C - k A, C - k B, where k is the integer nearest (ties to even) to the quotient of
///   the product of the two and the square of the second; then (A + B) + C, (A + B) - C, (A - B) + C, (A - B) - C and
///   likewise (B +- C) +- A and (C +- A) +- B. Where P takes t times another reciprocal vector, the vector of that
///   other one loses t times P's vector. Each component of a changed vector is the exact sum of integer multiples of
///   the given vectors, rounded once, and A, B, C follow from the vectors by the formula above. So vectors that cannot
///   be improved stay as they are given, in their order, and no other vectors of the lattice have a least height
///   greater by more than a percent.
/// * Open vectors of a cell are replaced before the reduction: a single one by the cross product of the next two, in
///   the order a b c a b, times a power of two; with two, after the periodic vector p come p x e and p x (p x e) in
///   that order, where e is the axis along which p is shortest.
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
/// where it filters, 49 n from 16,384 points on, or 8 n for weights.
///
/// Ranks: with Execution::communicator every rank gives all points, others and weights, the same ones (UsageError where
/// they differ), and gets the whole result: what is shared out among the ranks is the pairs, and so the work, but not
/// the memory. The variants of the processor from simd_brute_force on run on ranks; for all else UnsupportedError names
/// them.
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
struct PairHistogramBins {
  double bin_width = 0;
  std::int64_t bins = 0;
  std::vector<double> edges = {};  ///< at least two, none negative, increasing
  double cutoff = 0;  ///< the last bin ends here, and bins that begin here or farther are left out; 0: no cutoff
};

/// What is computed.
struct PairHistogramOptions {
  PairHistogramBins bins = {};
  /// d lengths of a periodic box; or, in three dimensions, the nine numbers of the vectors a, b, c of a triclinic cell,
  /// in any orientation, each at most 2^150 and none shorter than 2^-150, with a volume of at least 2^-20 of the
  /// product of their lengths; any vectors of the lattice will do. Empty: open space. Points lie in the box, or in the
  /// box along the axes around the cell: from origin + min(a, 0) + min(b, 0) + min(c, 0) on, and from there |a| + |b| +
  /// |c| at most, in each column.
  std::vector<double> box = {};
  std::vector<double> box_origin = {};  ///< its lower corner; empty: zero
  /// Directions in which the box repeats, some of the letters "xyz", or "none": columns of the points, or the vectors
  /// a, b, c of a cell. In the others the space is open, and what the box says of them counts for nothing.
  std::string periodic = "xyz";
  /// Columns of the points in which distances are measured, some of the letters "xyz"; empty: all that there are. The
  /// box and its origin are those of all columns. The vectors of a cell must be within these columns, or perpendicular
  /// to them.
  std::string dimensions = {};
  /// First moves points that are outside the box into it, by whole lengths or vectors, exactly and rounded once.
  bool fold = false;
};

/// What is read beside the points.
template <class T>
struct PairHistogramMemory {
  MatrixView<const T> others = {};   ///< m x d: pairs of a point with one of these; no columns: pairs of points
  VectorView<const T> weights = {};  ///< one for each point, or empty
  VectorView<const T> other_weights =
      {};  ///< one for each of the others; if, and only if, `weights` and others are given
};

struct PairHistogramResult {
  std::vector<double> edges;          ///< one more than there are bins; of uniform bins multiples of the width
  std::vector<std::uint64_t> counts;  ///< of pairs in each bin
  std::vector<double> weighted;       ///< sum of the pairs' weights in each bin; empty without weights
  std::uint64_t below = 0;            ///< pairs nearer than the first edge
  std::uint64_t beyond = 0;           ///< pairs at the last edge or the cutoff, or past it
  std::uint64_t pairs = 0;            ///< all of them: n (n - 1) / 2, or n m
  /// The column in which all points are at one place, of points that make a layer in a box that is thin there ("z", of
  /// a simulation in the plane): shells in space do not fit them. Empty where PairHistogramOptions::dimensions is
  /// given.
  std::string flat;
  RunReport report;  ///< `rechecked`: of all pairs
};

/// The sizes on which a job's memory depends, beside PairHistogramOptions.
struct PairHistogramShape {
  std::int64_t points = 0;
  std::int64_t others = 0;  ///< 0: pairs among the points
  std::int64_t dimensions = 3;
  int element_bytes = 4;  ///< 4: float, 8: double
  bool weighted = false;
  MemoryPlace place = {};  ///< where the points, others and their weights lie
};

namespace detail {

// What libgradus has of the call below, for float and double.
template <class T>
GRADUS_EXPORT PairHistogramResult pair_histogram(MatrixView<const T> points, const PairHistogramOptions& options,
                                                 const PairHistogramMemory<T>& memory, const Execution& execution);

}  // namespace detail

/// Counts the pairs among the rows of `points` (n x d, d from 1 to 3, n >= 0), or between them and `memory.others`. The
/// points are a matrix of float or double: whatever view_of() of array.hpp makes a view of.
/// Throws UsageError for impossible bins, options or views (see array.hpp), InputError for NaN, infinity, points
/// outside the box, and a sum of weights beyond the largest double, UnsupportedError for a variant or device that
/// cannot run here, OutOfMemoryError where memory does not suffice, InterruptedError after a stop request. The last
/// edge (or the cutoff) may be at most half the box's least length, or half the least height of the reduced
/// cell: V / |b x c|, V / |c x a|, V / |a x b|.
template <RowsOf<float, double> Points>
PairHistogramResult pair_histogram(const Points& points, const PairHistogramOptions& options,
                                   const PairHistogramMemory<ElementOf<Points>>& memory,
                                   const Execution& execution = {}) {
  return detail::pair_histogram<ElementOf<Points>>(view_of(points), options, memory, execution);
}
template <RowsOf<float, double> Points>
PairHistogramResult pair_histogram(const Points& points, const PairHistogramOptions& options,
                                   const Execution& execution = {}) {
  return detail::pair_histogram<ElementOf<Points>>(view_of(points), options, {}, execution);
}

/// Adds a histogram of the same bins, for example that of the next frame of a trajectory: counts, weighted sums (in the
/// order of the calls), times; `report.rechecked` becomes the share in all pairs. UsageError where the bins differ, or
/// the numbers of edges, counts and weights do not belong together; InputError where a sum of weights would leave the
/// range of double, or the number of pairs that of 64 bits. `sum` is then as it was.
GRADUS_EXPORT void pair_histogram_accumulate(PairHistogramResult& sum, const PairHistogramResult& next);

/// Memory that `pair_histogram` takes beyond its input, at most: which variant runs, and how long a sum of weights is,
/// the points and weights tell. A job compares its own numbers with what there is before it allocates;
/// OutOfMemoryError with both where they do not fit. UsageError for impossible options and sizes.
GRADUS_EXPORT MemoryEstimate pair_histogram_memory(const PairHistogramShape& shape, const PairHistogramOptions& options,
                                                   const Execution& execution = {});

/// Bins of one width whose number is 0, with the number that they need to go up to the cutoff; without a cutoff, up to
/// half of the box's least length (a reduced cell's least height), which then is the cutoff. Other bins stay as they
/// are. UsageError where there is neither a cutoff nor a box, or where there would be too many bins.
GRADUS_EXPORT PairHistogramBins pair_histogram_complete_bins(PairHistogramBins bins, const std::vector<double>& box);
/// The same for the box of the options, in the directions in which it repeats.
GRADUS_EXPORT PairHistogramBins pair_histogram_complete_bins(const PairHistogramOptions& options);

/// Returns what PairHistogramOptions::box encloses in the columns PairHistogramOptions::dimensions: a length, an area,
/// or a volume. Throws UsageError if the box is empty or impossible, or open in one of them.
GRADUS_EXPORT double pair_histogram_volume(const std::vector<double>& box, const std::string& periodic = "xyz",
                                           const std::string& dimensions = {});
/// Returns whether there is a box that repeats in all of these columns.
GRADUS_EXPORT bool pair_histogram_has_volume(const PairHistogramOptions& options);

/// What physicists derive from the counts, for each bin.
struct PairHistogramRadialDistribution {
  std::vector<double> g;             ///< pairs in the bin's shell over those of as many points spread uniformly
  std::vector<double> density;       ///< of others in the shell around a point, per unit volume
  std::vector<double> coordination;  ///< others nearer than the bin's upper edge, per point (from the first edge on)
};

/// The radial distribution that belongs to the counts of one histogram, or of several added up (`frames` of them).
/// `points` and `others` are the numbers of points of a frame, others = 0 for pairs among the points; `volume` is that
/// of the space they lie in (length in one dimension, area in two); where it differs from frame to frame, the harmonic
/// mean. UsageError where the volume is not positive, and for shells in space around points in a plane
/// (PairHistogramResult::flat).
GRADUS_EXPORT PairHistogramRadialDistribution pair_histogram_radial_distribution(const PairHistogramResult& histogram,
                                                                                 std::int64_t dimensions,
                                                                                 std::int64_t points,
                                                                                 std::int64_t others, double volume,
                                                                                 std::int64_t frames = 1);

}  // namespace gradus
