/// Pair-distance histograms: the number of pairs of points at each distance, exact and reproducible.
///
/// Canonical result. Every variant returns the same bits, on any number of threads:
///
/// * Separation of two points in a column: s = |x_i - x_j|, where both coordinates are first converted to IEEE double.
///   In a periodic box of length L, the separation is min(s, L - s), the separation of the nearest images. In an open
///   direction (PairHistogramOptions::periodic), the separation is s.
/// * Separation in a triclinic cell. Let a, b, c be the reduced lattice vectors (next item), and
///
///     P = b x c,  V = (a_x P_x + a_y P_y) + a_z P_z,  A = P / V,  B = (c x a) / V,  C = (a x b) / V.
///
///   Each component of a cross product is computed as p q - r s. For d = x_i - x_j, let n_a be the integer nearest
///   (ties to even) to (d_x A_x + d_y A_y) + d_z A_z, and let n_b and n_c follow in the same way from B and C. The
///   separation in each column is ((d - n_a a) - n_b b) - n_c c. All operations are in IEEE double, none fused.
///
///   Let H be half the smallest height of the reduced cell. If a pair has an image nearer than H, this is the nearest
///   image of the pair, except for rounding. The reason: the fractional coordinates of a separation shorter than H are
///   all below 1/2 in magnitude.
/// * Reduced lattice vectors. The reduction starts from the given vectors a, b, c and their reciprocal vectors A, B, C,
///   by the formulas above. The length of a reciprocal vector is the reciprocal of a height of the cell. A reduction
///   step replaces one reciprocal vector R by a shorter sum R + t Q or (R + t Q) + u S, where Q and S are the other two
///   reciprocal vectors. The sums are tried in this order:
///
///     A - k B,  A - k C,  B - k A,  B - k C,  C - k A,  C - k B,
///     (A + B) + C,  (A + B) - C,  (A - B) + C,  (A - B) - C,  and the same with (B +- C) +- A and (C +- A) +- B.
///
///   Every sum begins with R. In R - k Q, k is the quotient (R . Q) / (Q . Q), rounded to the nearest integer (ties to
///   even). Dot products and squared lengths are computed as (x x' + y y') + z z'. A step is possible if the squared
///   length of the sum is less than 1023/1024 of the squared length of R. The reduction performs the first possible
///   step.
///
///   The step is carried out on the lattice vectors: if R gains t Q, the lattice vector of Q loses t times the lattice
///   vector of R. Each component of a changed lattice vector is the exact sum of integer multiples of the given
///   vectors, rounded once. A, B and C are then computed again from the lattice vectors.
///
///   The reduction ends when no step is possible. If no step is possible at the start, the given vectors stay
///   unchanged, in their order. The smallest height of the reduced cell is nearly the greatest possible: for any other
///   basis of the lattice, the smallest height is at most one percent greater.
/// * Open vectors of a cell are replaced before the reduction. If one vector is open, it becomes the cross product of
///   the next two vectors, in the cyclic order a b c, times a power of two. If two vectors are open, let p be the
///   periodic vector and e the axis along which p is shortest. The vector after p becomes p x e, and the vector after
///   that becomes p x (p x e).
/// * Squared distance: (dx * dx + dy * dy) + dz * dz in double, each operation rounded, none fused. Missing columns
///   count as zero. The distance is the square root of this number, rounded.
/// * Bin: for uniform bins of width w, the integer part of distance / w, where the quotient is computed in double. For
///   edges, the bin i with edges[i] <= distance < edges[i + 1].
/// * Counts are 64-bit integers and cannot overflow, because there are at most 2^31 points of each kind.
/// * Weighted sums: for each bin, the exact sum of the exact products of the two weights, rounded once to double (to
///   nearest, ties to even). This holds for all signs and magnitudes up to 2^500, including denormals.
///
/// GPU memory: points, others and both weights may be on a GPU (MemoryPlace::on_gpu), in memory from cudaMalloc, a
/// memory pool, or managed memory. The job then runs on that GPU and returns the same bits. Throws UnsupportedError if
/// the request names the CPU or a CPU variant, or if the views are on two GPUs. Throws UsageError if the request names
/// another GPU or a view names the wrong memory. Rows and weights on the GPU are read in place with any row stride;
/// inputs in host memory are copied to the GPU. The result is in host memory. Execution::stream states when the memory
/// may be read. For n points, the job also allocates GPU memory for 3 n elements. A job that filters allocates another
/// 16 n bytes (49 n bytes from 16,384 points on). A job with weights allocates another 8 n bytes.
///
/// Ranks: with Execution::communicator, every rank passes the same points, others and weights (UsageError if they
/// differ) and receives the whole result. The ranks share the pairs, and thus the work, but not the memory. The CPU
/// variants from simd_brute_force on and cuda_filter support ranks. Any other variant throws UnsupportedError with a
/// list of the variants that support ranks. Unless the request names a GPU or cuda_filter, a rank uses the CPU. All
/// ranks use the CPU, or all use GPUs of one compute capability (otherwise UsageError), and their data is in host
/// memory.
///
/// GPUs: with Execution::gpus, every GPU gets all points and counts a part of the pairs. Data on one of these GPUs is
/// used there in place and copied to the others.
///
/// Complexity: the job examines at most O(n^2) pairs. If the largest edge is much smaller than the extent of the
/// points, the job examines O(n) times the number of neighbours of a point. If bins are wide, the job counts whole
/// groups of pairs at once and needs fewer operations than there are pairs.
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
  /// The lengths of a periodic box in all d columns. In three dimensions, a triclinic cell is also possible: the nine
  /// components of its vectors a, b, c. The cell may have any orientation, and the vectors may be any basis of the
  /// lattice. Each vector has a length from 2^-150 to 2^150, and the volume is at least 2^-20 of the product of the
  /// lengths. Empty: open space.
  ///
  /// Points must be in the box. For a cell, they must be in its axis-aligned bounding box. In each column, the bounding
  /// box begins at origin + min(a, 0) + min(b, 0) + min(c, 0) and has the length |a| + |b| + |c|.
  std::vector<double> box = {};
  std::vector<double> box_origin = {};  ///< lower corner of the box; empty: zero
  /// The directions in which the box repeats, as letters of "xyz", or "none". The letters stand for columns of the
  /// points, or for the vectors a, b, c of a cell. All other directions are open, and their entries in `box` are
  /// ignored.
  std::string periodic = "xyz";
  /// The columns in which distances are measured, as letters of "xyz"; empty: all columns. `box` and `box_origin` still
  /// describe all columns. Each vector of a cell must be within the measured columns or perpendicular to them.
  std::string dimensions = {};
  /// Before it counts, the job moves every point outside the box into the box, by whole box lengths or lattice vectors.
  /// The new coordinates are computed exactly and rounded once.
  bool fold = false;
  /// Allows bins beyond half of the box. A pair then has its separation by the canonical rule, which is uniform in the
  /// box, or in the reduced cell, around each point; pair_histogram_shells() returns the sizes of the shells inside.
  /// CPU variants up to simd_brute_force support such bins.
  bool beyond_half = false;
};

/// Optional inputs, in addition to the points.
template <class T>
struct PairHistogramMemory {
  /// If this matrix (m x d) is not empty, the call counts pairs of a point and a row of the matrix. If it is empty, the
  /// call counts pairs of two points.
  MatrixView<const T> others = {};
  VectorView<const T> weights = {};  ///< one weight per point, or empty
  /// One weight per row of `others`; must be given if `weights` and `others` are both given, otherwise empty.
  VectorView<const T> other_weights = {};
};

struct PairHistogramResult {
  std::vector<double> edges;          ///< edges of the bins; for uniform bins, multiples of the width
  std::vector<std::uint64_t> counts;  ///< number of pairs per bin
  std::vector<double> weighted;       ///< sum of the products of weights per bin; empty without weights
  std::uint64_t below = 0;            ///< pairs nearer than the first edge
  std::uint64_t beyond = 0;           ///< pairs at or beyond the last edge or the cutoff
  std::uint64_t pairs = 0;            ///< total number of pairs: n (n - 1) / 2, or n m
  /// The column in which all points have the same coordinate, if the box is thin in this column: "z" for a simulation
  /// in the plane. Such points form a layer, which spherical shells do not describe. Empty if there is no such column
  /// or if PairHistogramOptions::dimensions is given.
  std::string flat;
  RunReport report;  ///< `rechecked` is the share of all pairs that a filter left to the canonical rule
};

/// The size of a job. Together with PairHistogramOptions, it determines the memory that the job needs.
struct PairHistogramShape {
  std::int64_t points = 0;
  std::int64_t others = 0;  ///< number of rows of `others`; 0: pairs of points are counted
  std::int64_t dimensions = 3;
  int element_bytes = 4;  ///< 4: float, 8: double
  bool weighted = false;
  MemoryPlace place = {};  ///< location of points, others and weights
};

namespace detail {

// The templates below call this function. libgradus instantiates it for float and double.
template <class T>
GRADUS_EXPORT PairHistogramResult pair_histogram(MatrixView<const T> points, const PairHistogramOptions& options,
                                                 const PairHistogramMemory<T>& memory, const Execution& execution);

}  // namespace detail

/// Counts the pairs of rows of `points` (n x d, 1 <= d <= 3, n >= 0), or the pairs of a row of `points` and a row of
/// `memory.others`. `points` is a matrix of float or double: anything that view_of() of array.hpp accepts.
///
/// Unless PairHistogramOptions::beyond_half is set, the last edge (or the cutoff) may be at most half the smallest
/// length of the box, or half the smallest height of the reduced cell: V / |b x c|, V / |c x a|, V / |a x b|.
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

/// Adds the histogram `next`, such as the next frame of a trajectory, to `sum`. Adds its counts, its weighted sums (in
/// the order of the calls) and its times. `report.rechecked` becomes the rechecked share of the pairs of both
/// histograms. Throws UsageError if the bins differ or if the numbers of edges, counts and weights do not match. Throws
/// InputError if a sum of weights exceeds the range of double or the number of pairs exceeds 64 bits. On an error `sum`
/// is unchanged.
GRADUS_EXPORT void pair_histogram_accumulate(PairHistogramResult& sum, const PairHistogramResult& next);

/// Returns an upper bound of the memory that pair_histogram() needs in addition to its input. The variant that runs,
/// and the number of bytes of a sum of weights, depend on the values of points and weights. A job therefore compares
/// its own estimate with the available memory before it allocates, and throws OutOfMemoryError with both numbers if the
/// memory does not suffice. Throws UsageError for invalid options and sizes.
GRADUS_EXPORT MemoryEstimate pair_histogram_memory(const PairHistogramShape& shape, const PairHistogramOptions& options,
                                                   const Execution& execution = {});

/// If the number of uniform bins is 0, sets it to the number of bins that reach the cutoff. If there is no cutoff
/// either, first sets the cutoff to half the smallest length of the box, or to half the smallest height of the reduced
/// cell. Returns all other bins unchanged. Throws UsageError if there is neither a cutoff nor a box, or if there would
/// be too many bins.
GRADUS_EXPORT PairHistogramBins pair_histogram_complete_bins(PairHistogramBins bins, const std::vector<double>& box);
/// Overload for the box of the options. Ignores the directions in which the box does not repeat.
GRADUS_EXPORT PairHistogramBins pair_histogram_complete_bins(const PairHistogramOptions& options);

/// Returns the length, area or volume that `box` encloses in the columns `dimensions` (see PairHistogramOptions).
/// Throws UsageError if the box is empty, invalid, or open in one of these columns.
GRADUS_EXPORT double pair_histogram_volume(const std::vector<double>& box, const std::string& periodic = "xyz",
                                           const std::string& dimensions = {});
/// Returns true if the options have a box and if the box repeats in all measured columns.
GRADUS_EXPORT bool pair_histogram_has_volume(const PairHistogramOptions& options);

/// Returns the size of each bin's shell around a point: length, area or volume. If the shell reaches past half of the
/// box, returns the size of the part inside the box around the point, or in a cell inside the parallelepiped of the
/// reduced vectors around the point. This is where separations by the canonical rule are. The error is about 1e-16
/// times the size of the whole ball. Throws UsageError unless the box repeats in all measured directions, and
/// UnsupportedError if the error could exceed a millionth of a shell, as in boxes a thousand times as long as wide.
GRADUS_EXPORT std::vector<double> pair_histogram_shells(const std::vector<double>& edges,
                                                        const PairHistogramOptions& options);

/// Derived quantities of physics, one value per bin.
struct PairHistogramRadialDistribution {
  std::vector<double> g;        ///< number of pairs in the bin, divided by the number in a uniform distribution
  std::vector<double> density;  ///< number of other points per unit volume, in the shell around a point
  /// number of other points around a point, from the first edge to the bin's upper edge
  std::vector<double> coordination;
};

/// Returns the radial distribution of a histogram, or of the sum of the histograms of `frames` frames. `points` and
/// `others` are the numbers of points per frame; others = 0 for pairs of points. `volume` is the volume of the space
/// that holds the points (length in one dimension, area in two). If the volume differs between frames, `volume` is its
/// harmonic mean. Throws UsageError if the volume is not positive. Also throws UsageError for points in a plane
/// (PairHistogramResult::flat), which spherical shells do not describe.
GRADUS_EXPORT PairHistogramRadialDistribution pair_histogram_radial_distribution(const PairHistogramResult& histogram,
                                                                                 std::int64_t dimensions,
                                                                                 std::int64_t points,
                                                                                 std::int64_t others, double volume,
                                                                                 std::int64_t frames = 1);

/// Sums over the frames of a trajectory, in which the numbers of points and the volume may vary.
struct PairHistogramFrames {
  double points = 0;            ///< sum of the numbers of points
  double pairs_per_volume = 0;  ///< sum of the quotients of the number of pairs that may count and the volume
  bool cross = false;           ///< true if the pairs have a point and an other
  /// The sizes of the bins' shells, from pair_histogram_shells(). If they vary, their mean, weighted by the pairs per
  /// volume. Empty: whole shells.
  std::vector<double> shells = {};
};

/// Overload for frames of any sizes. g is the number of pairs in the bin, divided by the size of the shell times
/// `pairs_per_volume`. density and coordination are means over all points of all frames.
GRADUS_EXPORT PairHistogramRadialDistribution pair_histogram_radial_distribution(const PairHistogramResult& histogram,
                                                                                 std::int64_t dimensions,
                                                                                 const PairHistogramFrames& frames);

}  // namespace gradus
