// Measures variants, with their settings, on the workloads of a problem. Formats the report as tables or JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness.hpp"
#include "bench/problem.hpp"
#include "bench/workload.hpp"

namespace gradus::bench {

/// Variants that share their settings. All combinations of the values in the lists are measured.
struct VariantRun {
  std::vector<std::string> variants;  ///< variants to measure; empty: all that run here
  std::vector<int> threads = {0};     ///< numbers of threads; 0: one per core. A sequential variant runs once
  std::vector<Pinning> pinnings = {Pinning::none};
  std::vector<int> block_sizes = {0};  ///< block sizes of GPU variants; 0: the default. CPU variants run once
};

struct Bench {
  std::string label;
  std::vector<VariantRun> runs = {VariantRun{}};
  std::shared_ptr<Workloads> workloads;
  Effort effort = {};
};

struct Group {
  std::string label;
  std::string title;
  nlohmann::ordered_json facts = nlohmann::ordered_json::object();
  std::string verified;  ///< description of the verification
  std::vector<Row> rows;
};

/// The ceilings for a number of threads, or for the GPU.
struct TeamCeilings {
  int threads = 0;
  Pinning pinning = Pinning::none;
  bool on_gpu = false;
  Ceilings ceilings;
};

struct Report {
  std::string problem;
  std::vector<TeamCeilings> ceilings;  ///< one for each number of threads of the rows, and one for the GPU
  std::vector<Group> groups;

  bool right() const;
};

/// A line of headings, and a line for each row. A row without figures contains only its settings and, in the last
/// column, the reason why it has no figures.
using Table = std::vector<std::vector<std::string>>;

struct BenchCallbacks : InputCallbacks {
  std::function<void(const Group&)> group_done = {};  ///< called after each group, so that users see its figures early
};

/// Returns true if variant, threads, ranks, pinning and block size are equal.
bool same_settings(const Row& first, const Row& second);

/// Returns the rows of one variant in a run. The rows have no figures yet. If the variant cannot run here, returns a
/// single row with the reason.
std::vector<Row> rows_of(const core::VariantInfo& variant, const core::Support& support, const VariantRun& run);

/// Measures the benches one after another, and also the machine's ceilings. Verifies the results before it measures
/// times. Throws UsageError for an unknown variant.
Report measure(const ProblemRow& problem, const std::vector<Bench>& benches, const BenchCallbacks& callbacks);

Table table(const Group& group);
std::string_view heading_of(double Ceilings::*ceiling);

nlohmann::ordered_json to_json(const Report& report);

}  // namespace gradus::bench
