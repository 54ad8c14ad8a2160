// From the caller's space to the one that variants know: points whose columns all count, in a box that repeats in every
// direction.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string_view>
#include <vector>

#include "gradus/pair_histogram.hpp"

namespace gradus::pair_histogram_detail {

/// A job without PairHistogramOptions::dimensions, periodic and fold, and with the same separations.
///
/// * Columns that do not count are gone. Two columns in a cell that is not along them become three, the last all zero.
/// * A direction that is open repeats after four times the extent of the points, or the reach of the bins: farther than
///   any separation, whose nearest image so is the separation itself. Of a cell the open vectors are replaced by ones
///   perpendicular to the others, of which only the length depends on the points, by a power of two.
template <class T>
struct Arranged {
  MatrixView<const T> points;
  MatrixView<const T> others;
  PairHistogramOptions options;
  std::int64_t dimensions = 3;    ///< that distances have
  std::int64_t folded = 0;        ///< points and others that were moved into the box
  std::vector<Matrix<T>> copies;  ///< which the views are of where the caller's rows do not serve
};

/// Throws UsageError for impossible options, UnsupportedError for points on a GPU that would have to be copied,
/// InputError for points that cannot be folded or that extend too far in an open direction, and InterruptedError after
/// a stop request. Reads the points only where a direction is open or points are folded.
template <class T>
Arranged<T> arrange(MatrixView<const T> points, MatrixView<const T> others, const PairHistogramOptions& options,
                    int threads, const std::stop_token& stop);

/// The options alone, of points with so many columns, which become `columns`; lengths of open directions are as if all
/// points were in one place.
PairHistogramOptions arranged_options(const PairHistogramOptions& options, std::int64_t& columns);

/// Returns true if the box repeats in every direction that counts. Throws UsageError for impossible options.
bool repeats_everywhere(const PairHistogramOptions& options);

/// The least number of columns that points for the box and the dimensions of the options can have.
std::int64_t columns_for(const PairHistogramOptions& options);

/// UsageError that begins with `what` unless the text is some of the letters x, y and z, each once.
void check_directions(std::string_view text, std::string_view what);

}  // namespace gradus::pair_histogram_detail
