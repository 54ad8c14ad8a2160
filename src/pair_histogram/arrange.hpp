// Transforms a job to the form that variants support: distances are measured in all columns, and the box repeats in
// every direction.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string_view>
#include <vector>

#include "gradus/pair_histogram.hpp"

namespace gradus::pair_histogram_detail {

/// An equivalent job without PairHistogramOptions::dimensions, periodic and fold. Separations stay the same.
///
/// * Columns in which distances are not measured are removed. If two columns of a triclinic cell are left, a third
///   column of zeros is added.
/// * An open direction gets a period: four times the extent of the points or four times the reach of the bins,
///   whichever is longer. Because the period exceeds twice every separation, the nearest image of a point is always the
///   point itself. In a cell, vectors perpendicular to the repeating vectors replace the open vectors. The length of
///   such a new vector is scaled by a power of two, which depends on the points.
template <class T>
struct Arranged {
  MatrixView<const T> points;
  MatrixView<const T> others;
  PairHistogramOptions options;
  std::int64_t dimensions = 3;    ///< the number of columns in which distances are measured
  std::int64_t folded = 0;        ///< number of rows of `points` and `others` that were moved into the box
  std::vector<Matrix<T>> copies;  ///< the arranged rows to which the views refer, if the caller's rows cannot be used
};

/// Arranges a job. Reads the points only if a direction is open or points are folded. Throws UsageError for invalid
/// options, UnsupportedError if points on a GPU would have to be copied, InputError if points cannot be folded or
/// extend too far in an open direction, and InterruptedError after a stop request.
template <class T>
Arranged<T> arrange(MatrixView<const T> points, MatrixView<const T> others, const PairHistogramOptions& options,
                    int threads, const std::stop_token& stop);

/// Arranges the options alone, and updates `columns`. Open directions get the lengths that they would have if all
/// points coincided.
PairHistogramOptions arranged_options(const PairHistogramOptions& options, std::int64_t& columns);

/// Returns true if the box repeats in every direction in which distances are measured. Throws UsageError for invalid
/// options.
bool repeats_everywhere(const PairHistogramOptions& options);

/// Returns the smallest number of columns that points may have with these options.
std::int64_t columns_for(const PairHistogramOptions& options);

/// Throws UsageError about `what` unless the text consists of some of the letters x, y and z, each at most once.
void check_directions(std::string_view text, std::string_view what);

}  // namespace gradus::pair_histogram_detail
