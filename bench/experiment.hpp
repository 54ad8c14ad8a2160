// Published experiments as data files: experiments/NAME.json. A file names the problem, the values of its axes and the
// variants. It contains "published" figures, which are shown next to the measured ones, or "claims", which the
// measurement confirms or refutes, or both.
//
// Axes are named as on the command line, with underscores. An axis for all shapes is a key next to "shapes"; an axis
// for one shape is a key inside it, next to its "label".
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
  std::string variant;         ///< empty if no variant corresponds
  std::optional<int> threads;  ///< nothing: the best number
  std::optional<double> lowest_speedup;
  std::optional<double> highest_speedup;
  std::string figure;  ///< the rate, by its key in the JSON of a row, whose speed-up it is; empty: the whole job
  std::optional<double> seconds;
  std::optional<double> highest_seconds;
  int iterations = 0;  ///< iterations that the seconds cover; 0: the whole job
  std::string note;
};

struct Experiment {
  std::string name;
  std::string title;
  std::string source;
  const ProblemRow* problem = nullptr;
  std::vector<Bench> parts;  ///< one per shape, labelled
  ShapeSettings settings;
  std::vector<Published> published;
  std::vector<Claim> claims;
};

/// Returns the file of the experiment with this name (hyphens count as underscores), or `name` itself if it is a path
/// ending in .json. Throws UsageError with a suggestion if there is none.
std::string find_experiment(const std::string& name);
std::vector<std::string> experiment_names();

/// Throws InputError with the file's name and the place ("claims[1]") if the file is malformed.
Experiment read_experiment(const std::string& path);

/// Shrinks the inputs to this share, and long runs if the problem supports it. Requires 0 < share <= 1.
void scale(Experiment& experiment, double share);

/// Removes numbers of threads above `most`, except the lowest number. Returns true if there were any.
bool limit_threads(Experiment& experiment, int most);

/// Returns the measured row to compare with a published figure: the same shape and variant, the same number of threads
/// or the next lower one, the fastest pinning. Returns null if there is none.
const Row* counterpart(const Published& published, const Report& report);

/// Confirms a speed-up if the measured one is at least 90 % of it, otherwise refutes it. Times are not judged, because
/// they depend on the machine.
Finding judge(const Published& published, const Report& report, bool full_size);

/// Reads an element of "published" from a file or result. Throws InputError or nlohmann::json's exceptions if it is
/// malformed.
Published published_of(const nlohmann::json& figure);

/// Returns for example "1.9 x", "29-36 x", "1.025 ms/iteration" or "66-70 s".
std::string published_text(const Published& published);
/// Formats the same quantity as measured.
std::string measured_text(const Published& published, const Row& row, const Report& report);
/// Returns the row's speed-up over the first row of its input, for the same figure as the published one, or nothing if
/// that was not measured.
std::optional<double> measured_speedup(const Published& published, const Row& row, const Report& report);

nlohmann::ordered_json to_json(const Experiment& experiment);

}  // namespace gradus::bench
