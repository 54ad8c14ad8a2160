#include "pair_histogram/api/groups.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "core/float_environment.hpp"
#include "core/stop.hpp"
#include "pair_histogram/arrange.hpp"
#include "pair_histogram/prepare.hpp"

namespace gradus::pair_histogram_detail {

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

namespace {

/// Returns the rows of one group.
template <class T>
Matrix<T> picked(MatrixView<const T> points, const Groups& groups, std::int64_t group) {
  const std::int64_t begin = groups.starts[group];
  Matrix<T> some(groups.starts[group + 1] - begin, points.columns());
  for (std::int64_t at = 0; at < some.rows(); ++at)
    std::copy_n(points.row(groups.rows[begin + at]), some.columns(), some.row(at));
  return some;
}

}  // namespace

GroupRows groups_of(const std::vector<std::int64_t>& numbers, const std::vector<std::int64_t>* wanted) {
  GroupRows groups;
  groups.rows.resize(numbers.size());
  std::iota(groups.rows.begin(), groups.rows.end(), std::int64_t{0});
  const auto number_of = [&](std::int64_t row) { return numbers[static_cast<std::size_t>(row)]; };
  if (!std::ranges::is_sorted(numbers)) std::ranges::stable_sort(groups.rows, {}, number_of);
  if (wanted == nullptr) {
    for (std::size_t at = 1; at <= groups.rows.size(); ++at)
      if (at == groups.rows.size() || number_of(groups.rows[at]) != number_of(groups.rows[at - 1]))
        groups.starts.push_back(static_cast<std::int64_t>(at));
    return groups;
  }
  std::vector<std::int64_t> kept;
  auto at = groups.rows.begin();
  for (const std::int64_t number : *wanted) {
    while (at != groups.rows.end() && number_of(*at) < number) ++at;
    for (; at != groups.rows.end() && number_of(*at) == number; ++at) kept.push_back(*at);
    groups.starts.push_back(static_cast<std::int64_t>(kept.size()));
  }
  groups.rows = std::move(kept);
  return groups;
}

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
  constexpr std::int64_t many_pairs = 1 << 22;
  std::int64_t visited = 0;
  std::uint64_t pairs_of_large = 0;
  for (std::int64_t group = 0; group < count; ++group) {
    const std::int64_t members = groups.starts[group + 1] - groups.starts[group];
    const std::int64_t other_members = second.starts[group + 1] - second.starts[group];
    if (pair_count(members, other_members, problem.cross) >= many_pairs) {
      const Matrix<T> some = picked(arranged.points, groups, group);
      const Matrix<T> some_others = problem.cross ? picked(arranged.others, second, group) : Matrix<T>();
      const PairHistogramResult counted =
          detail::pair_histogram<T>(some, arranged.options, {.others = some_others}, execution);
      slots.front() += counted.below;
      for (std::size_t bin = 0; bin < counted.counts.size(); ++bin) slots[bin + 1] += counted.counts[bin];
      slots.back() += counted.beyond;
      pairs_of_large += counted.pairs;
      continue;
    }
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
  result.pairs = static_cast<std::uint64_t>(visited) + pairs_of_large;
  return result;
}

template PairHistogramResult count_in_groups(MatrixView<const float>, MatrixView<const float>, const Groups&,
                                             const Groups&, const PairHistogramOptions&, const Execution&);
template PairHistogramResult count_in_groups(MatrixView<const double>, MatrixView<const double>, const Groups&,
                                             const Groups&, const PairHistogramOptions&, const Execution&);

}  // namespace gradus::pair_histogram_detail
