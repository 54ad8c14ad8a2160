/// Pair-distance histograms: the number of pairs of points at each distance, exact and reproducible.
///
/// Canonical result. Every variant returns the same bits, on any number of threads:
///
/// * Separation of two points in a column: s = |x_i - x_j|, where both coordinates are first converted to IEEE double.
///   In a periodic box of length L, the separation is min(s, L - s), the nearest image. Open directions
///   (PairHistogramOptions::periodic) use s.
/// * Separation in a triclinic cell. Let a, b, c be the reduced lattice vectors (next item), and
///
///     P = b x c,  V = (a_x P_x + a_y P_y) + a_z P_z,  A = P / V,  B = (c x a) / V,  C = (a x b) / V,
///
///   where each component of a cross product is p q - r s. For d = x_i - x_j, let n_a be the integer nearest (ties to
///   even) to (d_x A_x + d_y A_y) + d_z A_z, and let n_b and n_c follow in the same way from B and C. The separation in
///   each column is ((d - n_a a) - n_b b) - n_c c. All operations are in IEEE double, none fused. Except for rounding,
///   this is the nearest image of every pair that has an image nearer than half the smallest height of the reduced
///   cell: a separation shorter than half of height h has a fraction below 1/2 of each vector.
/// * Reduced lattice vectors. Start from the given vectors a, b, c. The lengths of the reciprocal vectors A, B, C are
///   the reciprocals of the heights. Reduction steps shorten A, B or C; each step is the first possible one of
///
///     A - k B,  A - k C,  B - k A,  B - k C,  C - k A,  C - k B,
///     (A + B) + C,  (A + B) - C,  (A - B) + C,  (A - B) - C,  and the same with (B +- C) +- A and (C +- A) +- B.
///
///   k is the integer nearest (ties to even) to the dot product of the two vectors, divided by the squared length of
///   the second. The sum replaces its first vector, P. A step is possible if the squared length of the sum is less than
///   1023/1024 of the squared length of P. Dot products and squares are (x x' + y y') + z z'. If P gains t times
///   another reciprocal vector Q, the lattice vector of Q loses t times the lattice vector of P. Each component of a
///   changed lattice vector is the exact sum of integer multiples of the given vectors, rounded once. A, B, C follow
///   from the lattice vectors by the formulas above. The reduction ends when no step is possible. Vectors that no step
///   improves stay as given, in their order. No other basis of the lattice has a smallest height that is greater by
///   more than one percent.
/// * Open vectors of a cell are replaced before the reduction. A single open vector becomes the cross product of the
///   next two vectors, in the cyclic order a b c, times a power of two. If two vectors are open, the vectors after the
///   periodic vector p become p x e and p x (p x e), in that order, where e is the axis along which p is shortest.
/// * Squared distance: (dx * dx + dy * dy) + dz * dz in double, each operation rounded, none fused. Missing columns
///   count as zero. The distance is its square root, rounded.
/// * Bin: for uniform bins of width w, the integer part of distance / w, divided in double; for edges, the bin i with
///   edges[i] <= distance < edges[i + 1].
/// * Counts are 64-bit integers and cannot overflow, because there are at most 2^31 points of each kind.
/// * Weighted sums: for each bin, the exact sum of the exact products of the two weights, rounded once to double (to
///   nearest, ties to even). This holds for all signs and magnitudes up to 2^500, including denormals.
///
/// GPU memory: points, others and both weights may be on a GPU (MemoryPlace::on_gpu), in memory from cudaMalloc, a
/// memory pool, or managed memory. The job then runs on that GPU and returns the same bits. A request for another
/// device, a CPU variant or views on two GPUs throws UnsupportedError, or UsageError if the request names another GPU
/// or a view names the wrong memory. Rows and weights on the GPU are read in place with any row stride; inputs in host
/// memory are copied to the GPU. The result is in host memory. Execution::stream states when the memory may be read.
/// The job also allocates GPU memory: 3 n elements, another 16 n bytes if it filters (49 n from 16,384 points on), and
/// another 8 n bytes for weights.
///
/// Ranks: with Execution::communicator, every rank passes the same points, others and weights (UsageError if they
/// differ) and receives the whole result. The ranks share the pairs, and thus the work, but not the memory. The CPU
/// variants from simd_brute_force on support ranks; for any other, UnsupportedError lists these variants.
///
/// Complexity: at most O(n^2) pairs. If the largest edge is small compared with the extent of the points, O(n) times
/// the number of neighbours. If bins are wide, the job counts whole groups of pairs at once and needs fewer operations
/// than there are pairs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/array.hpp"
#include "gradus/execution.hpp"
#include "gradus/export.hpp"
#include "gradus/run_report.hpp"

namespace gradus {

/// The bins: either `bins` bins of `bin_width`, starting at zero, or the intervals between `edges`.
struct PairHistogramBins {
  double bin_width = 0;
  std::int64_t bins = 0;
  std::vector<double> edges = {};  ///< at least two, non-negative, strictly increasing
  double cutoff = 0;               ///< end of the last bin; bins that begin at or beyond it are dropped; 0: no cutoff
};

struct PairHistogramOptions {
  PairHistogramBins bins = {};
  /// The d lengths of a periodic box. Or, in three dimensions, the nine components of the vectors a, b, c of a
  /// triclinic cell in any orientation; any basis of the lattice will do. Each vector has a length from 2^-150 to
  /// 2^150, and the volume is at least 2^-20 of the product of the lengths. Empty: open space. Points must be in the
  /// box. For a cell, they must be in its axis-aligned bounding box, which extends from origin + min(a, 0) + min(b, 0)
  /// + min(c, 0) over |a| + |b| + |c| in each column.
  std::vector<double> box = {};
  std::vector<double> box_origin = {};  ///< lower corner of the box; empty: zero
  /// Directions in which the box repeats: letters of "xyz" for columns of the points or the vectors a, b, c of a cell,
  /// or "none". Other directions are open, and their entries in `box` are ignored.
  std::string periodic = "xyz";
  /// Columns in which distances are measured, letters of "xyz"; empty: all columns. `box` and `box_origin` still
  /// describe all columns. Each vector of a cell must be within the measured columns or perpendicular to them.
  std::string dimensions = {};
  /// First moves points outside the box into it, by whole lengths or vectors. The new coordinates are computed exactly
  /// and rounded once.
  bool fold = false;
};

/// Optional inputs besides the points.
template <class T>
struct PairHistogramMemory {
  MatrixView<const T> others = {};         ///< m x d: counts pairs (point, other); no columns: counts pairs of points
  VectorView<const T> weights = {};        ///< one per point, or empty
  VectorView<const T> other_weights = {};  ///< one per row of `others`; given if and only if `weights` and `others` are
};

struct PairHistogramResult {
  std::vector<double> edges;          ///< one more than there are bins; multiples of the width for uniform bins
  std::vector<std::uint64_t> counts;  ///< number of pairs per bin
  std::vector<double> weighted;       ///< sum of the products of weights per bin; empty without weights
  std::uint64_t below = 0;            ///< pairs nearer than the first edge
  std::uint64_t beyond = 0;           ///< pairs at or beyond the last edge or the cutoff
  std::uint64_t pairs = 0;            ///< total number of pairs: n (n - 1) / 2, or n m
  /// The column in which all points have the same coordinate, if they form a layer in a box that is thin in this column
  /// ("z" for a simulation in the plane). Shells in space do not fit such points. Empty if
  /// PairHistogramOptions::dimensions is given.
  std::string flat;
  RunReport report;  ///< `rechecked` is a share of all pairs
};

/// The sizes that determine the memory of a job, in addition to PairHistogramOptions.
struct PairHistogramShape {
  std::int64_t points = 0;
  std::int64_t others = 0;  ///< 0: pairs of points
  std::int64_t dimensions = 3;
  int element_bytes = 4;  ///< 4: float, 8: double
  bool weighted = false;
  MemoryPlace place = {};  ///< location of points, others and weights
};

namespace detail {

// Entry point of libgradus for the templates below, instantiated for float and double.
template <class T>
GRADUS_EXPORT PairHistogramResult pair_histogram(MatrixView<const T> points, const PairHistogramOptions& options,
                                                 const PairHistogramMemory<T>& memory, const Execution& execution);

}  // namespace detail

/// Counts the pairs of rows of `points` (n x d, 1 <= d <= 3, n >= 0), or the pairs of a row of `points` and a row of
/// `memory.others`. `points` is a matrix of float or double: anything that view_of() of array.hpp accepts.
///
/// The last edge (or the cutoff) may be at most half the smallest length of the box, or half the smallest height of the
/// reduced cell: V / |b x c|, V / |c x a|, V / |a x b|.
///
/// Throws UsageError for invalid bins and options and malformed views (see array.hpp). Throws InputError for NaN,
/// infinity, points outside the box, and a sum of weights beyond the largest double. Throws UnsupportedError if the
/// variant or device cannot run here, OutOfMemoryError if memory does not suffice, and InterruptedError after a stop
/// request.
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

/// Adds a histogram with the same bins to `sum`, such as the next frame of a trajectory: counts, weighted sums (in the
/// order of the calls) and times. `report.rechecked` becomes the share of all pairs. Throws UsageError if the bins
/// differ or if the numbers of edges, counts and weights do not match, and InputError if a sum of weights exceeds the
/// range of double or the number of pairs exceeds 64 bits. On an error `sum` is unchanged.
GRADUS_EXPORT void pair_histogram_accumulate(PairHistogramResult& sum, const PairHistogramResult& next);

/// Returns an upper bound of the memory that pair_histogram() needs in addition to its input. The points and weights
/// determine which variant runs and how long a sum of weights is. A job therefore compares its own estimate with the
/// available memory before it allocates, and throws OutOfMemoryError with both numbers if the memory does not suffice.
/// Throws UsageError for invalid options and sizes.
GRADUS_EXPORT MemoryEstimate pair_histogram_memory(const PairHistogramShape& shape, const PairHistogramOptions& options,
                                                   const Execution& execution = {});

/// Sets the number of uniform bins if it is 0: as many bins as reach the cutoff. Without a cutoff, half the smallest
/// length of the box (the smallest height of the reduced cell) becomes the cutoff. Other bins are returned unchanged.
/// Throws UsageError if there is neither a cutoff nor a box, or if there would be too many bins.
GRADUS_EXPORT PairHistogramBins pair_histogram_complete_bins(PairHistogramBins bins, const std::vector<double>& box);
/// Overload for the box of the options, in the directions in which it repeats.
GRADUS_EXPORT PairHistogramBins pair_histogram_complete_bins(const PairHistogramOptions& options);

/// Returns the length, area or volume that `box` encloses in the columns `dimensions` (see PairHistogramOptions).
/// Throws UsageError if the box is empty, invalid, or open in one of these columns.
GRADUS_EXPORT double pair_histogram_volume(const std::vector<double>& box, const std::string& periodic = "xyz",
                                           const std::string& dimensions = {});
/// Returns true if there is a box that repeats in all measured columns.
GRADUS_EXPORT bool pair_histogram_has_volume(const PairHistogramOptions& options);

/// Derived quantities of physics, one value per bin.
struct PairHistogramRadialDistribution {
  std::vector<double> g;             ///< pairs in the shell of the bin, relative to uniformly distributed points
  std::vector<double> density;       ///< density of others in the shell around a point, per unit volume
  std::vector<double> coordination;  ///< others between the first edge and the upper edge of the bin, per point
};

/// Returns the radial distribution of a histogram, or of the sum of the histograms of `frames` frames. `points` and
/// `others` are the numbers of points per frame; others = 0 for pairs of points. `volume` is the volume of the space
/// that holds them (length in one dimension, area in two), or its harmonic mean if it differs between frames. Throws
/// UsageError if the volume is not positive, and for shells in space around points in a plane
/// (PairHistogramResult::flat).
GRADUS_EXPORT PairHistogramRadialDistribution pair_histogram_radial_distribution(const PairHistogramResult& histogram,
                                                                                 std::int64_t dimensions,
                                                                                 std::int64_t points,
                                                                                 std::int64_t others, double volume,
                                                                                 std::int64_t frames = 1);

}  // namespace gradus
