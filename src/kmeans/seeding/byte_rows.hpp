// A copy of the points in 8 bits, from which lower bounds of squared distances follow for a fraction of what the
// distances cost: the proof that a point is not nearer to a candidate than to what was chosen before.
//
// With m about the points' middle, x' = x - m and y' = y - m:
//
//   |x - y|^2 = |x'|^2 + |y'|^2 - 2 x'.y'
//
// A point is x' = s q + r, q bytes of -127..127, s a scale of its own (one for all rows would leave short rows no
// bits), and |r| is stored. A candidate is y' = t p + o, p integers of 14 bits, in two bytes: p = 128 h + l with h in
// -63..63 and l in -64..63. Then by Cauchy and Schwarz, twice,
//
//   |x'.y' - s t q.p| = |r.(t p) + r.o + s q.o| <= |r| (|t p| + |o|) + s |q| |o|,
//
// and q.p = 128 q.h + q.l are two products of bytes with sums in 32 bits: the processor's dot-product instructions, or
// the multiplication of bytes that every x86 has, whose sums of two products do not saturate because h and l have seven
// bits. (q is stored plus 128, so that one factor has no sign; 128 times the sum of h or l is taken off again.) The
// second product is only made where the first, with p = 128 h, leaves the candidate open for any of 32 points. These
// stand side by side, each lane of a vector one point: no sum runs across lanes.
//
// A candidate y is ruled out for x where the bound says that the canonical distance is not below C, the point's
// distance so far:
//
//   s (t q.p) + (s |q| |o| + (|r| w - b)) <= a,    a = (|x'|^2 - C) / 2,   b = |y'|^2 / 2,   w = |t p| + |o|
//
// evaluated in float. What rounding could lose is taken into account thus, with u = 2^-24:
//
// * x' is computed as a float: the subtraction of the middle rounds once, relative to its result (a point of double is
//   subtracted in double and rounded to float: twice). So the true x' differs by at most 2 u |x'|, which is added to
//   |r| and, squared, taken off |x'|^2. Sums of d squares in float lose at most (d + 16) u of themselves.
// * The integers are below 2^31 up to 2^17 columns; made floats, put together and times t, they err by at most
//   5 u |q| (128 |h| + |l|) t: three times that stands beside |o|.
// * The additions and products round by at most u of each of the terms, which |o|, w and b are widened for by 2^-18 of
//   themselves.
// * The canonical chain lies within (d + 2) 2^-53 of the distance, and d 2^-1074 where it underflows: C is widened by
//   (d + 16) 2^-52 of itself, and a lowered by 2^-100.
// * Everything is scaled by a power of two, of 2^300 at most, that brings the points' extent near 1; products that
//   vanish in float are below the 2^-100. Rows farther out than 2^40 are never ruled out (a = -2^120), nor are such
//   candidates (b = -infinity): the bound costs them time, never correctness.
//
// Where each row wants its nearest of a few candidates, a second byte may follow, x' = s q + s' q' + r' with q' about
// r. It is made for the rows that the first one left open, when their coordinates have been read anyway, and row by
// row, so that the next time such a row takes d more bytes instead of its coordinates. The same bound holds with s q.p
// + s' q'.p, |r'| and |s q| + |s' q'| in place of s q.p, |r| and s |q|; it is evaluated in double.
//
// Floor, of a step with L candidates: n d bytes read and n d L products of bytes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// What the kernels see of the copy. Plain data: it crosses into code compiled for other instruction sets.
struct ByteRowsView {
  std::int64_t quads;          ///< dimensions / 4, rounded up
  const std::uint8_t* panels;  ///< [panel of 32 rows][quad][row][4]: q + 128
  const float* scales;         ///< per row: s
  const float* residuals;      ///< per row: |r| or a little more
  const float* lengths;        ///< per row: s |q| or a little more
  const float* limits;         ///< per row: a
  const float* half_squares;   ///< per row: |x'|^2 / 2 or a little less
  const std::uint8_t* rests;   ///< per row, `rest_stride` bytes each: q' + 128
  std::int64_t rest_stride;
  const float* rest_scales;     ///< per row: s', or 0 where there is no second byte
  const float* rest_residuals;  ///< per row: |r'| or a little more
  const float* rest_lengths;    ///< per row: |s q| + |s' q'| or a little more
};

/// Where what is known of a row goes.
struct ByteRowFacts {
  float* scale;
  float* residual;
  float* length;
  float* half_square;
};

/// Where what is known of a row's second byte goes.
struct ByteRestFacts {
  float* scale;
  float* residual;
  float* length;
};

/// A candidate's integers, and sums of them.
struct TrialFacts {
  std::uint8_t* high;     ///< where the h go
  std::uint8_t* low;      ///< and the l
  double step = 0;        ///< t
  double largest = 0;     ///< coordinate of y', by its size
  double squares = 0;     ///< |y'|^2
  double rests = 0;       ///< |o|^2
  double high_rests = 0;  ///< |o|^2 with p = 128 h
  double wholes = 0;      ///< |p|^2
  double highs = 0;       ///< |h|^2
  double lows = 0;        ///< |l|^2
  std::int32_t high_sum = 0;
  std::int32_t low_sum = 0;
};

/// Candidates, as the kernels see them.
struct ByteTrialsView {
  struct Level {
    const float* steps;   ///< t of an integer
    const float* errors;  ///< |o| or a little more
    const float* norms;   ///< w
  };
  std::int64_t count;
  std::int64_t group;               ///< candidates of a group, but for the last one
  std::int64_t pair_group;          ///< the same of `pairs`
  std::int64_t stride;              ///< words of a candidate in `rows_high` and `low`, whole vectors
  const std::int32_t* high;         ///< [group][quad][candidate of the group]: four h
  const std::int32_t* pairs;        ///< of few candidates: [group][quad][candidate of the group]: four h, four l
  const std::int32_t* rows_high;    ///< [candidate][quad]: four h
  const std::int32_t* low;          ///< [candidate][quad]: four l
  const std::int32_t* high_starts;  ///< -128 * sum of h
  const std::int32_t* low_starts;
  Level levels[2];          ///< with p = 128 h, and with p = 128 h + l
  const float* half;        ///< b or a little less
  const float* half_above;  ///< b or a little more
};

/// A candidate that is not ruled out for some of 32 points.
struct Undecided {
  std::int32_t candidate;
  std::uint32_t points;  ///< a bit for each
};

/// So many candidates at most are few: each row's nearest is looked for by ByteRows::settle().
inline constexpr std::int64_t few_candidates = 12;

template <class T>
class ByteRows;

/// Candidates in two bytes. Kept from call to call, so that memory is allocated once.
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

/// What a thread needs while it looks.
struct ByteScratch {
  std::vector<Undecided> undecided;
  std::vector<std::int32_t> products;
  std::vector<float> estimates;  ///< of few candidates: q.p
  std::vector<float> bounds;
  std::vector<std::uint32_t> open;  ///< of few candidates: for which points each is left

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

  explicit ByteRows(MatrixView<const T> points);

  /// Makes room for second bytes, of which there are none yet.
  void make_rests();

  /// Copies the rows of one panel, which has to be done before anything else is asked of them. Their limits let nothing
  /// through. `scratch` holds scratch_floats(columns()), aligned or not.
  void copy_panel(std::int64_t panel, float* scratch);

  /// Sets the distance from which on candidates are to be ruled out for a row.
  void set_limit(std::int64_t row, double distance) {
    float& limit = limits_[row];
    if (distance == 0) {
      limit = std::numeric_limits<float>::infinity();  // nothing is nearer
      return;
    }
    const double value = static_cast<double>(half_squares_[row]) - distance * scale_ * half_scale_;
    // At least -2^120, which is below any bound, too.
    limit = static_cast<float>(std::max(value - std::abs(value) * 0x1p-22 - 0x1p-100, -0x1p120));
  }

  /// No candidate is to be ruled out for the row by its distance.
  void set_no_limit(std::int64_t row) { limits_[row] = -0x1p120F; }

  /// The candidates that are not ruled out for each of a panel's points, ascending, go to scratch.undecided; returns
  /// how many they are. The scratch is made for count() candidates.
  std::int64_t look(const ByteTrials& trials, std::int64_t panel, ByteScratch& scratch) const;

  /// The same without those candidates that are surely not the nearest of all candidates either.
  std::int64_t look_for_nearest(const ByteTrials& trials, std::int64_t panel, ByteScratch& scratch) const;

  /// Of few candidates: writes for each of a panel's 32 rows, whatever its limit, one of those that may be the nearest
  /// to labels[], and returns the rows for which others may be as near; scratch.open tells which.
  std::uint32_t settle(const ByteTrials& trials, std::int64_t panel, ByteScratch& scratch, std::int32_t* labels) const;

  /// Behind settle(), for a row that it left open and that has a second byte: takes those of the `count` candidates
  /// away that cannot be nearest; returns how many are left.
  std::int64_t settle_row(const ByteTrials& trials, std::int64_t row, const ByteScratch& scratch,
                          std::int32_t* candidates, std::int64_t count) const;

  bool has_rest(std::int64_t row) const { return rest_scales_.size() > 0 && rest_scales_[row] > 0; }

  /// Makes the second byte of a row, if there is room for it and it can have one. As copy_panel(), one thread for a
  /// row.
  void copy_rest(std::int64_t row, float* scratch);

  static constexpr std::int64_t scratch_floats(std::int64_t columns) {
    return packed_stride(columns) * (1 + panel_rows / static_cast<std::int64_t>(sizeof(float)));
  }

  std::int64_t columns() const { return points_.columns(); }
  std::int64_t panels() const { return (points_.rows() + panel_rows - 1) / panel_rows; }
  double scale() const { return scale_; }
  const std::vector<T>& middle() const { return middle_; }

  /// What the copy of a matrix takes.
  static std::uint64_t bytes(std::int64_t rows, std::int64_t columns, bool with_rests = false);

 private:
  ByteRowsView view() const;
  std::int64_t quads() const { return (points_.columns() + 3) / 4; }
  /// Of rows side by side: an odd number of vectors, so that not all of them share a few lines of the cache.
  static constexpr std::int64_t packed_stride(std::int64_t columns) { return ((columns + 15) / 16 | 1) * 16; }
  static constexpr std::int64_t rest_stride(std::int64_t columns) { return (columns + 63) / 64 * 64; }

  MatrixView<const T> points_;
  std::vector<T> middle_;
  bool dot_instructions_;  ///< whether the machine multiplies and adds up to 32 bits in one instruction
  double scale_ = 1;
  double half_scale_ = 0.5;  ///< half of scale_, and what the canonical chain may err by
  Buffer<std::uint8_t> values_;
  Buffer<float> scales_, residuals_, lengths_, limits_, half_squares_;
  Buffer<std::uint8_t> rests_;
  Buffer<float> rest_scales_, rest_residuals_, rest_lengths_;
};

}  // namespace gradus::kmeans_detail
