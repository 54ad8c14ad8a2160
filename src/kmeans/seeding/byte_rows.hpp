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
//   |x'.y' - s t q.p| = |r.(t p) + x'.o| <= |r| (|t p| + |o|) + s |q| |o|,      |q| <= 127 sqrt(d),
//
// and q.p = 128 q.h + q.l are two products of bytes with sums in 32 bits: the processor's dot-product instructions, or
// the multiplication of bytes that every x86 has, whose sums of two products do not saturate because h and l have seven
// bits. (q is stored plus 128, so that one factor has no sign; 128 times the sum of h or l is taken off again.) 16
// points stand side by side, each lane of a vector one point: no sum runs across lanes.
//
// A candidate y is ruled out for x where the bound says that the canonical distance is not below C, the point's
// distance so far:
//
//   s (t q.p + v) + (|r| w - b) <= a,    a = (|x'|^2 - C) / 2,   b = |y'|^2 / 2,   w = |t p| + |o|,   v = 127 sqrt(d)
//   |o|
//
// evaluated in float. What rounding could lose is taken into account thus, with u = 2^-24:
//
// * x' is computed as a float: the subtraction of the middle rounds once, relative to its result (a point of double is
//   subtracted in double and rounded to float: twice). So the true x' differs by at most 2 u |x'|, which is added to
//   |r| and, squared, taken off |x'|^2. Sums of d squares in float lose at most (d + 16) u of themselves.
// * The integers are below 2^31 up to 2^17 columns; made floats, and 128 q.h + q.l, they err by at most
//   3 u 127 sqrt(d) (128 |h| + |l|): 16 times that, times t, stands in v.
// * The three fused additions round by at most u of each of the terms, which v, w and b are widened for by 2^-18 of
//   themselves.
// * The canonical chain lies within (d + 2) 2^-53 of the distance, and d 2^-1074 where it underflows: C is widened by
//   (d + 16) 2^-52 of itself, and a lowered by 2^-100.
// * Everything is scaled by a power of two, of 2^300 at most, that brings the points' extent near 1; products that
//   vanish in float are below the 2^-100. Rows farther out than 2^40 are never ruled out (a = -infinity), nor are such
//   candidates (b = -infinity): the bound costs them time, never correctness.
//
// Floor, of a step with L candidates: n d bytes read and 2 n d L products of bytes.
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
  const std::uint8_t* panels;  ///< [panel of 16 rows][quad][row][4]: q + 128
  const float* scales;         ///< per row: s
  const float* residuals;      ///< per row: |r| or a little more
  const float* limits;         ///< per row: a
  const float* half_squares;   ///< per row: |x'|^2 / 2 or a little less
};

/// Candidates, as the kernels see them.
struct ByteTrialsView {
  std::int64_t count;
  const std::int32_t* values;        ///< [group][quad][candidate of the group][2], bytes: h of 4 dimensions, l of 4
  std::int64_t group;                ///< candidates of a group, but for the last one
  const std::int32_t* high_offsets;  ///< 128 * sum of h
  const std::int32_t* low_offsets;
  const float* steps;       ///< t
  const float* errors;      ///< v
  const float* norms;       ///< w
  const float* half;        ///< b or a little less
  const float* half_above;  ///< b or a little more
};

/// A candidate that is not ruled out for some of 16 points.
struct Undecided {
  std::int32_t candidate;
  std::uint32_t points;  ///< a bit for each
};

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
  std::int64_t count_ = 0;
  std::int64_t group_ = 1;
  std::vector<std::int32_t> values_;
  std::vector<std::int32_t> high_offsets_, low_offsets_;
  std::vector<float> steps_, errors_, norms_, half_, half_above_;
};

template <class T>
class ByteRows {
 public:
  static constexpr std::int64_t panel_rows = 16;
  static constexpr std::int64_t most_columns = std::int64_t{1} << 17;

  explicit ByteRows(MatrixView<const T> points);

  /// Copies the rows of one panel. `scratch` holds columns() + 16 floats, aligned or not.
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

  /// The candidates that are not ruled out for each of a panel's points, ascending; returns how many. `undecided` holds
  /// count() of them.
  std::int64_t look(const ByteTrials& trials, std::int64_t panel, Undecided* undecided) const;

  /// The same without those candidates that are surely not the nearest of all candidates either. `scores` holds 16
  /// floats for each candidate.
  std::int64_t look_for_nearest(const ByteTrials& trials, std::int64_t panel, float* scores,
                                Undecided* undecided) const;

  std::int64_t columns() const { return points_.columns(); }
  std::int64_t panels() const { return (points_.rows() + panel_rows - 1) / panel_rows; }
  double scale() const { return scale_; }
  const std::vector<T>& middle() const { return middle_; }

  /// What the copy of a matrix takes.
  static std::uint64_t bytes(std::int64_t rows, std::int64_t columns);

 private:
  ByteRowsView view() const;
  std::int64_t quads() const { return (points_.columns() + 3) / 4; }

  MatrixView<const T> points_;
  std::vector<T> middle_;
  bool dot_instructions_;  ///< whether the machine multiplies and adds up to 32 bits in one instruction
  double scale_ = 1;
  double half_scale_ = 0.5;  ///< half of scale_, and what the canonical chain may err by
  Buffer<std::uint8_t> values_;
  Buffer<float> scales_, residuals_, limits_, half_squares_;
};

}  // namespace gradus::kmeans_detail
