// The dual tree, to which simd_cells passes jobs in triclinic cells.
#pragma once

#include <vector>

#include "gradus/execution.hpp"
#include "gradus/run_report.hpp"
#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

/// Runs `simd_dual_tree`. Does not support weights.
template <class T>
Histogram simd_dual_tree(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases);

/// Returns true if the tree can settle boxes of this job. Otherwise it counts all pairs in double.
template <class T>
bool tree_settles_boxes(const Problem<T>& problem);

}  // namespace gradus::pair_histogram_detail
