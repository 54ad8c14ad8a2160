// Groups of points, such as the atoms of a molecule: counts the pairs within groups by the canonical rule, which
// callers subtract from a histogram of all pairs, and computes centres of mass.
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/export.hpp"
#include "gradus/pair_histogram.hpp"

namespace gradus::pair_histogram_detail {

/// The members of groups. Group g has the rows[i] for starts[g] <= i < starts[g + 1].
struct Groups {
  VectorView<const std::int64_t> rows;
  VectorView<const std::int64_t> starts;  ///< number of groups + 1
};

/// Throws UsageError unless these are `wanted` groups of rows of that many points.
void check_groups(const Groups& groups, std::int64_t points, std::int64_t wanted);

/// Groups that own their rows.
struct GroupRows {
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> starts = {0};

  Groups view() const {
    return {{rows.data(), static_cast<std::int64_t>(rows.size())},
            {starts.data(), static_cast<std::int64_t>(starts.size())}};
  }
};

/// Returns a group for each number that occurs: the rows i with numbers[i] equal to it, in increasing order. Sorts the
/// groups by their numbers. If `wanted` is not null, returns a group for each of these increasing numbers instead.
GRADUS_EXPORT GroupRows groups_of(const std::vector<std::int64_t>& numbers,
                                  const std::vector<std::int64_t>* wanted = nullptr);

/// Returns the centre of mass of each group (groups x columns). `masses` has a mass for each row of the points. In the
/// directions in which the box repeats, each member of a group has the image that is nearest to the member
/// before it, so that groups may cross the faces of the box. Sums in double, in the order of the members, of
/// differences from the first member. Throws InputError for masses that are negative, not finite, or zero in sum.
GRADUS_EXPORT Matrix<double> mass_centers(MatrixView<const double> points, const Groups& groups,
                                          VectorView<const double> masses, const PairHistogramOptions& options);

/// Counts the pairs of two points of one group. If there are others, counts the pairs of a point of group g and an
/// other of group g. `pairs` of the result is the number of these pairs.
/// Groups of fewer than four million pairs are counted on one thread, larger ones by pair_histogram(). Throws
/// UsageError if the groups do not match the rows, and the errors of pair_histogram().
template <class T>
GRADUS_EXPORT PairHistogramResult count_in_groups(MatrixView<const T> points, MatrixView<const T> others,
                                                  const Groups& groups, const Groups& other_groups,
                                                  const PairHistogramOptions& options, const Execution& execution);

}  // namespace gradus::pair_histogram_detail
