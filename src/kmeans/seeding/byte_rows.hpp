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
};

/// Where what is known of a row goes.
struct ByteRowFacts {
  float* scale;
  float* residual;
  float* length;
  float* half_square;
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
  const std::int32_t* high;         ///< [group][quad][candidate of the group]: four h
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
  std::vector<double> moved_;
  std::vector<std::int32_t> high_, low_, high_starts_, low_starts_;
  Level levels_[2];
  std::vector<float> half_, half_above_;
};

/// What a thread needs while it looks.
struct ByteScratch {
  std::vector<Undecided> undecided;
  std::vector<std::int32_t> products;
  std::vector<float> bounds;

  void make(std::int64_t candidates) {
    undecided.resize(static_cast<std::size_t>(candidates));
    products.resize(static_cast<std::size_t>(32 * candidates));
    bounds.resize(static_cast<std::size_t>(32 * candidates));
  }
};

template <class T>
class ByteRows {
 public:
  static constexpr std::int64_t panel_rows = 32;
  static constexpr std::int64_t most_columns = std::int64_t{1} << 17;

  explicit ByteRows(MatrixView<const T> points);

  /// Copies the rows of one panel, which has to be done before anything else is asked of them. Their limits let nothing
  /// through. `scratch` holds columns() + 16 floats, aligned or not.
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
  Buffer<float> scales_, residuals_, lengths_, limits_, half_squares_;
};

}  // namespace gradus::kmeans_detail
