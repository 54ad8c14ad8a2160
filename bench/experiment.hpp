// Published experiments as data files: experiments/NAME.json. A file names the problem, the values of its axes and the
// variants. It contains "published" figures, "claims", or both. Published figures are shown next to the measured
// figures. The measurement confirms or refutes the claims.
//
// Axes are named as on the command line, with underscores. An axis for all shapes is a key next to "shapes". An axis
// for one shape is a key inside the shape, next to its "label".
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/claims.hpp"
#include "bench/group.hpp"
#include "bench/problem.hpp"

namespace gradus::bench {

/// A published figure: a speed-up over the sequential program, the seconds of some iterations, or the seconds of a job.
struct Published {
  std::string shape;
  std::string variant;         ///< empty: no variant of Gradus corresponds to the measured program
  std::optional<int> threads;  ///< empty: the best number of threads
  std::optional<double> lowest_speedup;
  std::optional<double> highest_speedup;
  /// The key, in the JSON of a row, of the rate to which the published speed-up refers. If the key is empty, the
  /// speed-up refers to the whole job.
  std::string figure;
  std::optional<double> seconds;
  std::optional<double> highest_seconds;
  int iterations = 0;  ///< number of iterations that the seconds cover; 0: the whole job
  std::string note;
};

struct Experiment {
  std::string name;
  std::string title;
  std::string source;
  const ProblemRow* problem = nullptr;
  std::vector<Bench> parts;  ///< one part for each shape, with the shape's label
  ShapeSettings settings;
  std::vector<Published> published;
  std::vector<Claim> claims;
};

/// Returns the path of the experiment's file. Hyphens in `name` count as underscores. If `name` is a path that ends in
/// .json, returns `name`. Throws UsageError with a suggestion if there is no such experiment.
std::string find_experiment(const std::string& name);
std::vector<std::string> experiment_names();

/// Reads the file. If it is malformed, throws InputError with the name of the file and the place ("claims[1]").
Experiment read_experiment(const std::string& path);

/// Calls Workloads::scale(share) for the inputs of all shapes, which reduces the work.
void scale(Experiment& experiment, double share);

/// Removes numbers of threads above `most`, but keeps the lowest number. Returns true if any were removed.
bool limit_threads(Experiment& experiment, int most);

/// Returns the measured row to compare with a published figure, or null if there is no such row. The row has the same
/// shape and variant as the figure. It also has the same number of threads. If this number was not measured, the row
/// has the next lower measured number. Of several such rows, returns the fastest one.
const Row* counterpart(const Published& published, const Report& report);

/// Confirms a published speed-up if the measured speed-up is at least 90 % of it, otherwise refutes it. Does not judge
/// times, because they depend on the machine.
Finding judge(const Published& published, const Report& report, bool full_size);

/// Reads an element of "published" from a file or result. If it is malformed, throws InputError or an exception of
/// nlohmann::json.
Published published_of(const nlohmann::json& figure);

/// Returns a text such as "1.9 x", "29-36 x", "1.025 ms/iteration" or "66-70 s".
std::string published_text(const Published& published);
/// Formats the measured value of the quantity that `published` states.
std::string measured_text(const Published& published, const Row& row, const Report& report);
/// Returns the speed-up of the row over the first row of its input, for the same figure as the published one. Returns
/// nothing if this figure was not measured.
std::optional<double> measured_speedup(const Published& published, const Row& row, const Report& report);

nlohmann::ordered_json to_json(const Experiment& experiment);

}  // namespace gradus::bench
