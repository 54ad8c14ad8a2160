// Measurements of k-means variants over axes: what `gradus bench kmeans` and the experiments do.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "bench/ceilings.hpp"
#include "bench/harness.hpp"
#include "bench/statistics.hpp"
#include "gradus/execution.hpp"
#include "io/points.hpp"

namespace gradus::bench {

/// Points to measure with: the name of a generator and the shape, or a file.
struct PointSet {
  std::string generator;  ///< uniform, blobs or lab-points; empty: `file`
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::string file;
};

/// Variants that share their settings; the product of all its lists is measured.
struct KMeansRun {
  std::vector<std::string> variants;  ///< empty: all that run here
  std::vector<int> threads = {0};     ///< 0: one per core. A sequential variant runs once
  std::vector<Pinning> pinnings = {Pinning::none};
  std::vector<int> block_sizes = {0};  ///< of GPU variants; 0: the variant's own. CPU variants run once
};

struct KMeansBench {
  std::string label;  ///< of its groups; may be empty
  std::vector<KMeansRun> runs = {KMeansRun{}};
  std::vector<PointSet> points;
  std::vector<std::int64_t> clusters;
  std::vector<io::ElementType> types;
  int iterations = 10;  ///< at most; the fit also ends when no label changes
  Effort effort;
};

/// One line of the table: a variant with its settings, on the points of its group.
struct KMeansRow {
  std::string variant;
  int threads = 0;
  Pinning pinning = Pinning::none;
  int block_size = 0;  ///< of a GPU variant; 0: its own choice
  bool on_gpu = false;
  std::string trouble;     ///< why it has no figures, or empty
  bool wrong = false;      ///< the trouble is a wrong result
  bool same_bits = false;  ///< production: identical to the oracle
  std::vector<Sample> samples;
  Summary seconds;
  std::vector<Phase> phases;  ///< medians
  int iterations = 0;
  std::vector<double> iteration_seconds;  ///< of each iteration by itself, in all samples
  double speedup = 0;                     ///< over the group's first row
  /// Of the bandwidth of such a team: the points read once per pass. Of a GPU's: in the time of an iteration by itself.
  double read_share = 0;
  double fma_share = 0;                       ///< of the rate of such a team or GPU, likewise: n k d multiply-adds
  std::optional<std::uint64_t> memory_bytes;  ///< at its peak, beyond the points
  double rechecked = 0;
  double inertia = 0;
};

/// All rows on the same points with the same k.
struct KMeansGroup {
  std::string label;  ///< that of the KMeansBench
  std::string points_name;
  std::int64_t n = 0;
  std::int64_t d = 0;
  std::int64_t k = 0;
  io::ElementType type = io::ElementType::f32;
  int iterations = 0;    ///< asked for
  std::string verified;  ///< how, in words
  std::vector<KMeansRow> rows;
};

/// What the machine can do at most with so many threads, or its GPU.
struct TeamCeilings {
  int threads = 0;
  Pinning pinning = Pinning::none;
  bool on_gpu = false;
  Ceilings ceilings;
};

struct KMeansBenchReport {
  std::vector<TeamCeilings> ceilings;  ///< of every team that a row ran with
  std::vector<KMeansGroup> groups;
  bool right() const;
};

struct BenchCallbacks {
  std::function<void(const Progress&)> progress;
  std::function<void(const KMeansGroup&)> group_done;  ///< after each group, so that a person sees figures early
  std::stop_token stop;
};

/// Measures one after the other, and the ceilings of the machine in the same run.
KMeansBenchReport bench_kmeans(const std::vector<KMeansBench>& benches, const BenchCallbacks& callbacks);

nlohmann::ordered_json to_json(const KMeansBenchReport& report);

/// The group as a table for a person: a line of headings, then a line for each row. Rows without figures have only the
/// settings, and the reason in the last column.
std::vector<std::vector<std::string>> table(const KMeansGroup& group);
/// What the group's rows have in common, in words.
std::string title(const KMeansGroup& group);

std::string_view to_string(Pinning pinning);
/// UsageError where there is none of this name.
Pinning pinning_called(std::string_view name);

}  // namespace gradus::bench
