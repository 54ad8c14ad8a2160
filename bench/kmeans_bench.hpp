// Measurements of k-means variants over axes: what `gradus bench kmeans` and the experiments do.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/group.hpp"

namespace gradus::bench {

struct KMeansBench : Bench {
  std::vector<std::int64_t> clusters;
  int iterations = 10;  ///< at most; the fit also ends when no label changes
};

/// Its share of the multiply-adds is that of n k d in each pass; of a GPU in the time of an iteration by itself.
struct KMeansRow : Row {
  int iterations = 0;
  std::vector<double> iteration_seconds;  ///< of each iteration by itself, in all samples
  /// Of the bandwidth of such a team: the points read once per pass. Of a GPU's: in the time of an iteration by itself.
  double read_share = 0;
  double inertia = 0;
};

/// All rows on the same points with the same k.
struct KMeansGroup : GroupHead {
  std::int64_t k = 0;
  int iterations = 0;  ///< asked for
  std::vector<KMeansRow> rows;
};

using KMeansBenchReport = Report<KMeansGroup>;

/// Measures one after the other, and the ceilings of the machine in the same run.
KMeansBenchReport bench_kmeans(const std::vector<KMeansBench>& benches, const BenchCallbacks& callbacks);

nlohmann::ordered_json to_json(const KMeansBenchReport& report);

/// The group as a table for a person.
Table table(const KMeansGroup& group);
/// What the group's rows have in common, in words.
std::string title(const KMeansGroup& group);

}  // namespace gradus::bench
