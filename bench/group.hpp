// Measurements: variants with their settings on the workloads of a problem, as a report for a person or as JSON.
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

/// Variants that share their settings; the product of all its lists is measured.
struct VariantRun {
  std::vector<std::string> variants;  ///< empty: all that run here
  std::vector<int> threads = {0};     ///< 0: one per core. A sequential variant runs once
  std::vector<Pinning> pinnings = {Pinning::none};
  std::vector<int> block_sizes = {0};  ///< of GPU variants; 0: the variant's own. CPU variants run once
};

struct Bench {
  std::string label;  ///< of its groups; may be empty
  std::vector<VariantRun> runs = {VariantRun{}};
  std::shared_ptr<Workloads> workloads;  ///< prepared
  Effort effort = {};
};

/// All rows on the same input.
struct Group {
  std::string label;  ///< that of the bench
  std::string title;
  nlohmann::ordered_json facts = nlohmann::ordered_json::object();
  std::string verified;  ///< how, in words
  std::vector<Row> rows;
};

/// What the machine can do at most with so many threads, or its GPU.
struct TeamCeilings {
  int threads = 0;
  Pinning pinning = Pinning::none;
  bool on_gpu = false;
  Ceilings ceilings;
};

struct Report {
  std::string problem;
  std::vector<TeamCeilings> ceilings;  ///< of every team that a row ran with
  std::vector<Group> groups;

  bool right() const;
};

/// A line of headings, then a line for each row. Rows without figures have only the settings, and the reason in the
/// last column.
using Table = std::vector<std::vector<std::string>>;

struct BenchCallbacks : Making {
  std::function<void(const Group&)> group_done = {};  ///< after each group, so that a person sees figures early
};

/// The same variant with the same threads, ranks, pinning and block size.
bool same_settings(const Row& first, const Row& second);

/// The rows of one variant in a run, without figures yet; just one, with the reason, if it cannot run here.
std::vector<Row> rows_of(const core::VariantInfo& variant, const core::Support& support, const VariantRun& run);

/// Measures one after the other, and the ceilings of the machine in the same run. A result is verified before it is
/// timed. UsageError for a variant that the problem does not have.
Report measure(const ProblemRow& problem, const std::vector<Bench>& benches, const BenchCallbacks& callbacks);

/// The group for a person.
Table table(const Group& group);
/// What a share of this ceiling is called in a table.
std::string_view heading_of(double Ceilings::*ceiling);

nlohmann::ordered_json to_json(const Report& report);

}  // namespace gradus::bench
