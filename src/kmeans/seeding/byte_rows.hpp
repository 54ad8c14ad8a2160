// An 8-bit copy of the points. It gives lower bounds on squared distances at a fraction of the cost of the distances.
// If such a bound shows that a candidate is no nearer to a point than the chosen rows, the distance is not computed.
//
// Let x be a point, y a candidate, and m an approximate centre of the points. With x' = x - m and y' = y - m:
//
//   |x - y|^2 = |x'|^2 + |y'|^2 - 2 x'.y'
//
// A point is stored as x' = s q + r. The bytes q are in -127..127. The scale s is per row, because a global scale would
// leave no bits for short rows. Of the rest r, only the length |r| is stored. A candidate is stored as y' = t p + o.
// The integers p have 14 bits and are stored in two bytes, p = 128 h + l with h in -63..63 and l in -64..63. Applying
// Cauchy-Schwarz twice gives
//
//   |x'.y' - s t q.p| = |r.(t p) + r.o + s q.o| <= |r| (|t p| + |o|) + s |q| |o|.
//
// q.p = 128 q.h + q.l is computed as two byte products with 32-bit sums. They use the CPU's dot-product instructions.
// On older x86 CPUs, they use the byte multiplication instead. Its sums of two products do not saturate, because h and
// l have only seven bits. q is stored as q + 128, so that one factor is unsigned; 128 times the sum of h or l is
// subtracted afterwards. The first product, with p = 128 h, already gives a bound. If this bound excludes the candidate
// for all 32 points of a panel, the second product is not computed. Each of the 32 points has one vector lane, so no
// sum crosses lanes.
//
// Let C be the squared distance of x to its nearest chosen row. Candidate y is excluded for x if its canonical squared
// distance is proved to be at least C:
//
//   s (t q.p) + (s |q| |o| + (|r| w - b)) <= a,    a = (|x'|^2 - C) / 2,   b = |y'|^2 / 2,   w = |t p| + |o|
//
// The inequality is evaluated in float. With u = 2^-24, rounding errors are covered as follows:
//
// * x' is computed in float. If x is float, subtracting m rounds once, relative to the result. If x is double, the
//   difference is first rounded to double and then to float. In both cases, the true x' differs by at most 2 u |x'|.
//   This amount is added to |r|, and its effect on |x'|^2 is subtracted from |x'|^2. A float sum of d squares has a
//   relative error of at most (d + 16) u.
// * The integers are below 2^31 for up to 2^17 columns. Converting them to float, combining them and multiplying by t
//   causes an error of at most 5 u |q| (128 |h| + |l|) t. Three times this error is added to |o|.
// * Each addition and product rounds by at most u times each term. To cover this, |o|, w and b are enlarged or
//   reduced by a relative 2^-18, whichever is safe.
// * The canonical chain differs from the distance by at most a relative (d + 2) 2^-53, and by at most d 2^-1074 if the
//   chain underflows. To cover this, C is enlarged by a relative (d + 16) 2^-52, and a is lowered by 2^-100.
// * All values are scaled by a power of two, at most 2^300, which brings the extent of the points near 1. The 2^-100 by
//   which a is lowered also covers products that underflow in float. Rows farther out than 2^40 never exclude a
//   candidate (a = -2^120). Candidates farther out than 2^40 are never excluded (b = -infinity). Distant rows thus cost
//   time, but the result stays correct.
//
// Second bytes. If the nearest of a few candidates is needed for each row, a row can have a second byte per column:
// x' = s q + s' q' + r', where s' q' approximates r. Second bytes are computed for the rows that the first bytes left
// open, because the coordinates of these rows have been read anyway. The next time, such a row costs d more bytes, but
// its coordinates are not read. The same bound holds with s q.p + s' q'.p, |r'| and |s q| + |s' q'| in place of s q.p,
// |r| and s |q|. It is evaluated in double.
//
// Floor for a step with L candidates: n d bytes read and n d L byte products.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// The copy, in the form that the kernels use. Plain data, because the kernels are compiled for other instruction sets.
struct ByteRowsView {
  std::int64_t quads;          ///< dimensions / 4, rounded up
  const std::uint8_t* panels;  ///< q + 128, in the order [panel of 32 rows][quad][row][4]
  const float* scales;         ///< per row: s
  const float* residuals;      ///< per row: upper bound of |r|
  const float* lengths;        ///< per row: upper bound of s |q|
  const float* limits;         ///< per row: a
  const float* half_squares;   ///< per row: lower bound of |x'|^2 / 2
  const std::uint8_t* rests;   ///< q' + 128, with `rest_stride` bytes per row
  std::int64_t rest_stride;
  const float* rest_scales;     ///< per row: s', or 0 if the row has no second byte
  const float* rest_residuals;  ///< per row: upper bound of |r'|
  const float* rest_lengths;    ///< per row: upper bound of |s q| + |s' q'|
};

/// The addresses to which the facts about a row are written.
struct ByteRowFacts {
  float* scale;
  float* residual;
  float* length;
  float* half_square;
};

struct ByteRestFacts {
  float* scale;
  float* residual;
  float* length;
};

/// A candidate's integers, and the facts from which the candidate's bounds are computed.
struct TrialFacts {
  std::uint8_t* high;     ///< output: h
  std::uint8_t* low;      ///< output: l
  double step = 0;        ///< t
  double largest = 0;     ///< largest magnitude of any coordinate of y'
  double squares = 0;     ///< |y'|^2
  double rests = 0;       ///< |o|^2
  double high_rests = 0;  ///< |o|^2 with p = 128 h
  double wholes = 0;      ///< |p|^2
  double highs = 0;       ///< |h|^2
  double lows = 0;        ///< |l|^2
  std::int32_t high_sum = 0;
  std::int32_t low_sum = 0;
};

struct ByteTrialsView {
  struct Level {
    const float* steps;   ///< per candidate: t times the unit of the integer (1 or 128)
    const float* errors;  ///< per candidate: upper bound of |o|
    const float* norms;   ///< per candidate: w
  };
  std::int64_t count;
  std::int64_t group;        ///< number of candidates per group; the last group may be smaller
  std::int64_t pair_group;   ///< number of candidates per group of `pairs`
  std::int64_t stride;       ///< number of 32-bit words per candidate in `rows_high` and `low`, padded to whole vectors
  const std::int32_t* high;  ///< four h, in the order [group][quad][candidate of the group]
  const std::int32_t* pairs;        ///< only for few candidates: four h, then four l; the same order
  const std::int32_t* rows_high;    ///< four h, in the order [candidate][quad]
  const std::int32_t* low;          ///< four l, in the order [candidate][quad]
  const std::int32_t* high_starts;  ///< -128 * the sum of h
  const std::int32_t* low_starts;
  Level levels[2];          ///< [0]: p = 128 h; [1]: p = 128 h + l
  const float* half;        ///< lower bound of b
  const float* half_above;  ///< upper bound of b
};

/// A candidate that is still possible for some of the 32 points of a panel.
struct Undecided {
  std::int32_t candidate;
  std::uint32_t points;  ///< one bit per point, which is set if the candidate is still possible for the point
};

/// The maximum number of candidates that ByteRows::settle() supports.
inline constexpr std::int64_t few_candidates = 12;

template <class T>
class ByteRows;

/// Candidates, stored as integers of two bytes. Use one object for many sets of candidates, to avoid allocations.
class ByteTrials {
 public:
  template <class T>
  void make(const ByteRows<T>& rows, std::span<const T* const> candidates);
  std::int64_t count() const { return count_; }
  ByteTrialsView view() const;

 private:
  struct Level {
    std::vector<float> steps, errors, norms;
  };
  std::int64_t count_ = 0;
  std::int64_t group_ = 1;
  std::int64_t pair_group_ = 1;
  std::int64_t stride_ = 0;
  std::vector<double> moved_;
  std::vector<std::int32_t> high_, pairs_, rows_high_, low_, high_starts_, low_starts_;
  Level levels_[2];
  std::vector<float> half_, half_above_;
};

struct ByteScratch {
  std::vector<Undecided> undecided;
  std::vector<std::int32_t> products;
  std::vector<float> estimates;  ///< q.p; used only for few candidates
  std::vector<float> bounds;
  /// Used only for few candidates. For each candidate, one bit per point. It is set if the candidate may be the nearest
  /// to the point.
  std::vector<std::uint32_t> open;

  void make(std::int64_t candidates) {
    undecided.resize(static_cast<std::size_t>(candidates));
    products.resize(static_cast<std::size_t>(32 * candidates));
    estimates.resize(static_cast<std::size_t>(32 * std::min(candidates, few_candidates)));
    bounds.resize(static_cast<std::size_t>(32 * candidates));
    open.resize(static_cast<std::size_t>(std::min(candidates, few_candidates)));
  }
};

template <class T>
class ByteRows {
 public:
  static constexpr std::int64_t panel_rows = 32;
  static constexpr std::int64_t most_columns = std::int64_t{1} << 17;

  explicit ByteRows(const PointRows<T>& points);

  /// Allocates memory for second bytes. Afterwards, no row has second bytes until copy_rest() copies them.
  void make_rests();

  /// Copies the rows of one panel. Call it before all other functions for these rows. With the initial limits, every
  /// candidate is excluded. `scratch` holds scratch_floats(columns()) floats and needs no alignment.
  void copy_panel(std::int64_t panel, float* scratch);

  /// Sets the squared distance between a row and its nearest chosen row. Afterwards, candidates at this distance or
  /// farther are excluded.
  void set_limit(std::int64_t row, double distance) {
    float& limit = limits_[row];
    if (distance == 0) {
      limit = std::numeric_limits<float>::infinity();  // at distance 0, no candidate can be nearer
      return;
    }
    const double value = static_cast<double>(half_squares_[row]) - distance * scale_ * half_scale_;
    // The bound of any candidate is larger than -2^120, so the limit -2^120 excludes no candidate.
    limit = static_cast<float>(std::max(value - std::abs(value) * 0x1p-22 - 0x1p-100, -0x1p120));
  }

  /// Removes the row's limit. Afterwards, find_nearer() excludes no candidate for this row.
  void set_no_limit(std::int64_t row) { limits_[row] = -0x1p120F; }

  /// Finds, for each of a panel's points, the candidates that are not excluded. Writes them to scratch.undecided in
  /// ascending order and returns their number. `scratch` must be made for count() candidates.
  std::int64_t find_nearer(const ByteTrials& trials, std::int64_t panel, ByteScratch& scratch) const;

  /// Finds the same candidates as find_nearer(), except those that are certainly not the nearest of all candidates.
  std::int64_t find_nearest(const ByteTrials& trials, std::int64_t panel, ByteScratch& scratch) const;

  /// Only for few candidates. Stores in labels[], for each of a panel's 32 rows, a candidate that may be the nearest.
  /// Ignores the rows' limits. Returns a mask of the rows for which several candidates are possible. scratch.open lists
  /// the possible candidates.
  std::uint32_t settle(const ByteTrials& trials, std::int64_t panel, ByteScratch& scratch, std::int32_t* labels) const;

  /// Removes those candidates that cannot be the nearest to an open row. The row must have second bytes. Returns the
  /// number of remaining candidates.
  std::int64_t settle_row(const ByteTrials& trials, std::int64_t row, const ByteScratch& scratch,
                          std::int32_t* candidates, std::int64_t count) const;

  bool has_rest(std::int64_t row) const { return rest_scales_.size() > 0 && rest_scales_[row] > 0; }

  /// Computes the second bytes of a row, if make_rests() was called and the row can have second bytes. Threads may
  /// process different rows concurrently.
  void copy_rest(std::int64_t row, float* scratch);

  static constexpr std::int64_t scratch_floats(std::int64_t columns) {
    return packed_stride(columns) * (2 + panel_rows / static_cast<std::int64_t>(sizeof(float)));
  }

  std::int64_t columns() const { return points_.columns(); }
  std::int64_t panels() const { return (points_.rows() + panel_rows - 1) / panel_rows; }
  double scale() const { return scale_; }
  const std::vector<T>& middle() const { return middle_; }

  /// Returns the memory that the copy of a matrix needs.
  static std::uint64_t bytes(std::int64_t rows, std::int64_t columns, bool with_rests = false);

 private:
  ByteRowsView view() const;
  std::int64_t quads() const { return (points_.columns() + 3) / 4; }
  /// Distance between packed rows. It is an odd number of vectors, because with an even number, the rows would compete
  /// for a few cache sets.
  static constexpr std::int64_t packed_stride(std::int64_t columns) { return ((columns + 15) / 16 | 1) * 16; }
  static constexpr std::int64_t rest_stride(std::int64_t columns) { return (columns + 63) / 64 * 64; }

  /// Returns the address of a row. A row that must be widened is widened to the beginning of `scratch`.
  const T* row_in(std::int64_t row, float* scratch) const;

  PointRows<T> points_;
  std::vector<T> middle_;
  bool dot_instructions_;  ///< true if the CPU can multiply bytes and add the products to 32-bit sums in one
                           ///< instruction
  double scale_ = 1;
  double half_scale_ = 0.5;  ///< half of scale_, enlarged to cover the error of the canonical chain
  Buffer<std::uint8_t> values_;
  Buffer<float> scales_, residuals_, lengths_, limits_, half_squares_;
  Buffer<std::uint8_t> rests_;
  Buffer<float> rest_scales_, rest_residuals_, rest_lengths_;
};

}  // namespace gradus::kmeans_detail
