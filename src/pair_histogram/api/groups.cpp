#include "pair_histogram/api/groups.hpp"

#include <string>
#include <vector>

#include "core/float_environment.hpp"
#include "core/stop.hpp"
#include "pair_histogram/arrange.hpp"
#include "pair_histogram/prepare.hpp"

namespace gradus::pair_histogram_detail {

namespace {

void check_groups(const Groups& groups, std::int64_t points, std::int64_t wanted) {
  const auto fail = [](const char* what) {
    throw UsageError(std::string("the groups of points are malformed: ") + what);
  };
  if (wanted < 0 || groups.starts.size() != wanted + 1 || groups.starts[0] != 0 ||
      groups.starts[wanted] != groups.rows.size())
    fail("their limits do not match their rows");
  for (std::int64_t group = 0; group < wanted; ++group)
    if (groups.starts[group] > groups.starts[group + 1]) fail("their limits decrease");
  for (std::int64_t index = 0; index < groups.rows.size(); ++index)
    if (groups.rows[index] < 0 || groups.rows[index] >= points) fail("a row is outside the points");
}

}  // namespace

template <class T>
PairHistogramResult count_in_groups(MatrixView<const T> points, MatrixView<const T> others, const Groups& groups,
                                    const Groups& other_groups, const PairHistogramOptions& options,
                                    const Execution& execution) {
  const core::DefaultFloatEnvironment environment;
  Execution alone = execution;
  alone.threads = 1;
  const Arranged<T> arranged = arrange(points, others, options, 1, execution.stop);
  const Problem<T> problem = prepare<T>(arranged.points, arranged.options, {.others = arranged.others}, alone);
  const std::int64_t count = groups.starts.size() - 1;
  check_groups(groups, problem.n(), count);
  const Groups& second = problem.cross ? other_groups : groups;
  if (problem.cross) check_groups(second, problem.m(), count);

  std::vector<std::uint64_t> slots(static_cast<std::size_t>(problem.bins.slots()));
  std::int64_t visited = 0;
  for (std::int64_t group = 0; group < count; ++group) {
    for (std::int64_t one = groups.starts[group]; one < groups.starts[group + 1]; ++one) {
      const T* const row = problem.points.row(groups.rows[one]);
      const std::int64_t begin = problem.cross ? second.starts[group] : one + 1;
      for (std::int64_t other = begin; other < second.starts[group + 1]; ++other) {
        const double squared = squared_distance(problem, row, problem.second().row(second.rows[other]));
        ++slots[static_cast<std::size_t>(problem.bins.slot(squared))];
        if (++visited % core::operations_between_polls == 0)
          core::honour_stop(execution.stop, "stopped while counting pairs within groups");
      }
    }
  }
  PairHistogramResult result;
  result.edges = problem.bins.nominal_edges();
  result.counts.assign(slots.begin() + 1, slots.end() - 1);
  result.below = slots.front();
  result.beyond = slots.back();
  result.pairs = static_cast<std::uint64_t>(visited);
  return result;
}

template PairHistogramResult count_in_groups(MatrixView<const float>, MatrixView<const float>, const Groups&,
                                             const Groups&, const PairHistogramOptions&, const Execution&);
template PairHistogramResult count_in_groups(MatrixView<const double>, MatrixView<const double>, const Groups&,
                                             const Groups&, const PairHistogramOptions&, const Execution&);

}  // namespace gradus::pair_histogram_detail
