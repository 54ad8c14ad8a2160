// Sets the axes of measurements from values in the syntax of the command line.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/group.hpp"
#include "bench/problem.hpp"

namespace gradus::tests {

using Values = std::vector<std::pair<std::string, std::string>>;

/// Sets the given axes. Throws UsageError if the problem has no such axis.
inline void set_axes(bench::Workloads& workloads, const Values& values) {
  const std::vector<bench::Axis> axes = workloads.axes();
  for (const auto& [name, text] : values) {
    const auto axis = std::ranges::find(axes, name, &bench::Axis::name);
    if (axis == axes.end()) throw UsageError("there is no axis " + name);
    axis->parse("--" + name, text);
  }
  workloads.prepare({});
}

inline bench::Bench bench_of(const bench::ProblemRow& problem, const Values& values, bench::VariantRun run,
                             bench::Effort effort = {3, 0}) {
  bench::Bench bench{.label = "", .runs = {std::move(run)}, .workloads = problem.workloads(), .effort = effort};
  set_axes(*bench.workloads, values);
  return bench;
}

inline const bench::Figure& figure(const bench::Row& row, const std::string& key) {
  return *std::ranges::find(row.figures, key, &bench::Figure::key);
}

}  // namespace gradus::tests
