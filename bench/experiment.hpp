// The published experiments, as data files: experiments/NAME.json. One names the points, the shapes and the variants,
// and holds the published figures, which are shown beside those measured here.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/kmeans_bench.hpp"
#include "bench/pair_histogram_bench.hpp"

namespace gradus::bench {

/// A published figure: a speed-up over the sequential program, the seconds of so many iterations, or those of a job.
struct Published {
  std::string shape;           ///< the label of one
  std::string variant;         ///< empty where none here corresponds
  std::optional<int> threads;  ///< nothing: the best of all
  std::optional<double> lowest_speedup;
  std::optional<double> highest_speedup;
  std::optional<double> seconds;
  std::optional<double> highest_seconds;  ///< where there is a range of them
  int iterations = 0;                     ///< of the seconds; 0: they are those of the whole job
  std::string note;
};

struct Experiment {
  std::string name;
  std::string title;
  std::string source;
  std::vector<KMeansBench> parts;              ///< one per shape, labelled
  std::vector<PairHistogramBench> pair_parts;  ///< instead, of an experiment of pair histograms
  std::vector<Published> published;
};

/// The file of the experiment of this name (a hyphen stands for an underscore), or `name` itself where it is a path: it
/// ends in .json. UsageError with a suggestion where there is none.
std::string find_experiment(const std::string& name);
std::vector<std::string> experiment_names();

/// InputError, with the file's name, where it is not as it should be.
Experiment read_experiment(const std::string& path);

/// Shrinks the points to this share, and iterations where there are many. 0 < share <= 1.
void scale(Experiment& experiment, double share);

/// Leaves out numbers of threads above `most` and tells whether there were any; the least number always stays.
bool limit_threads(Experiment& experiment, int most);

/// The measured row that a published figure is to be compared with: of the same shape and variant, with the same number
/// of threads or the next lower one, the fastest of its pinnings. Null where none was measured.
template <class Group>
auto counterpart(const Published& published, const Report<Group>& report) {
  using RowOfGroup = typename decltype(Group::rows)::value_type;
  const RowOfGroup* best = nullptr;
  for (const Group& group : report.groups) {
    if (group.label != published.shape) continue;
    for (const RowOfGroup& row : group.rows) {
      if (row.variant != published.variant || !row.trouble.empty()) continue;
      if (published.threads && row.threads > *published.threads) continue;
      const bool more_threads = published.threads && best && row.threads > best->threads;
      const bool fewer_threads = published.threads && best && row.threads < best->threads;
      if (!best || more_threads || (!fewer_threads && row.seconds.median < best->seconds.median)) best = &row;
    }
  }
  return best;
}

/// "1.9 x", "29-36 x", "1.025 ms/iteration" or "66000-70000 ms".
std::string published_text(const Published& published);
/// The same quantity as measured.
std::string measured_text(const Published& published, const KMeansRow& row);
std::string measured_text(const Published& published, const PairHistogramRow& row);

nlohmann::ordered_json to_json(const Experiment& experiment);

}  // namespace gradus::bench
