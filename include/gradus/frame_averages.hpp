/// Averages over the frames of a trajectory, and their standard errors from blocks of consecutive frames.
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/array.hpp"
#include "gradus/execution.hpp"
#include "gradus/export.hpp"

namespace gradus {

struct StructureFactorBins;  // in pair_histogram_structure_factor.hpp

struct FrameAverages {
  std::vector<double> mean;   ///< mean of each column; NaN if the column has no values
  std::vector<double> error;  ///< standard error of the mean; NaN if fewer than two blocks have values
};

/// Returns the mean of each column of `frames` (frames x columns). A NaN is a missing value and does not count. The
/// standard errors come from the means of `blocks` blocks of consecutive frames, whose lengths differ by at most one.
/// Throws UsageError if `blocks` is less than 1 or more than the number of frames.
GRADUS_EXPORT FrameAverages average_frames(MatrixView<const double> frames, std::int64_t blocks = 1);

/// Returns the standard error of the mean of each column of `values` (blocks x columns). A NaN is a missing value and
/// does not count. A column with fewer than two values has NaN.
GRADUS_EXPORT std::vector<double> standard_errors(MatrixView<const double> values);

/// S(q) of a frame in bins of wave numbers. A bin without vectors has NaN.
struct StructureFactorFrame {
  std::vector<double> q;               ///< mean wave number of the vectors in each bin
  std::vector<double> s;               ///< mean of S(q) over these vectors; NaN if there are no points
  std::vector<std::uint64_t> vectors;  ///< number of vectors in each bin
};

/// Returns the means of structure_factor() over the vectors of each bin. Has the arguments and the errors of
/// structure_factor(), except that a frame may have no points.
GRADUS_EXPORT StructureFactorFrame structure_factor_in_bins(MatrixView<const double> points,
                                                            const std::vector<double>& box,
                                                            MatrixView<const std::int64_t> vectors,
                                                            const StructureFactorBins& bins,
                                                            const Execution& execution = {});

}  // namespace gradus
