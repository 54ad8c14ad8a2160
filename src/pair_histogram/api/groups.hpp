// Counts pairs within groups of points, such as the atoms of a molecule, by the canonical rule. Callers subtract these
// pairs from a histogram of all pairs.
#pragma once

#include <cstdint>

#include "gradus/export.hpp"
#include "gradus/pair_histogram.hpp"

namespace gradus::pair_histogram_detail {

/// The members of groups. Group g has the rows[i] for starts[g] <= i < starts[g + 1].
struct Groups {
  VectorView<const std::int64_t> rows;
  VectorView<const std::int64_t> starts;  ///< number of groups + 1
};

/// Counts the pairs of two points of one group. If there are others, counts the pairs of a point of group g and an
/// other of group g. `pairs` of the result is the number of these pairs.
/// Runs on one thread. Throws UsageError if the groups do not match the rows, and the errors of pair_histogram().
template <class T>
GRADUS_EXPORT PairHistogramResult count_in_groups(MatrixView<const T> points, MatrixView<const T> others,
                                                  const Groups& groups, const Groups& other_groups,
                                                  const PairHistogramOptions& options, const Execution& execution);

}  // namespace gradus::pair_histogram_detail
