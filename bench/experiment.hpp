// The published experiments, as data files: experiments/NAME.json. One names the problem, values of its axes and the
// variants, and holds what was published: "published" figures, which are shown beside those measured here, and
// "claims", which these confirm or refute. A file has one of them, or both.
//
// Axes are given by their names on the command line, with underscores: for all shapes beside "shapes", for one of them
// in it, beside its "label".
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/claims.hpp"
#include "bench/group.hpp"
#include "bench/problem.hpp"

namespace gradus::bench {

/// A published figure: a speed-up over the sequential program, the seconds of so many iterations, or those of a job.
struct Published {
  std::string shape;           ///< the label of one
  std::string variant;         ///< empty where none here corresponds
  std::optional<int> threads;  ///< nothing: the best of all
  std::optional<double> lowest_speedup;
  std::optional<double> highest_speedup;
  std::string figure;  ///< a rate, by its key in the JSON of a row, that the speed-ups are of; empty: the whole job
  std::optional<double> seconds;
  std::optional<double> highest_seconds;  ///< where there is a range of them
  int iterations = 0;                     ///< of the seconds; 0: they are those of the whole job
  std::string note;
};

struct Experiment {
  std::string name;
  std::string title;
  std::string source;
  const ProblemRow* problem = nullptr;
  std::vector<Bench> parts;  ///< one per shape, labelled
  ShapeSettings settings;    ///< of the shapes
  std::vector<Published> published;
  std::vector<Claim> claims;
};

/// The file of the experiment of this name (a hyphen stands for an underscore), or `name` itself where it is a path: it
/// ends in .json. UsageError with a suggestion where there is none.
std::string find_experiment(const std::string& name);
std::vector<std::string> experiment_names();

/// InputError, with the file's name and the place in it ("claims[1]"), where it is not as it should be.
Experiment read_experiment(const std::string& path);

/// Shrinks the inputs to this share, and long runs where that is the problem's way. 0 < share <= 1.
void scale(Experiment& experiment, double share);

/// Leaves out numbers of threads above `most` and tells whether there were any; the least number always stays.
bool limit_threads(Experiment& experiment, int most);

/// The measured row that a published figure is to be compared with: of the same shape and variant, with the same number
/// of threads or the next lower one, the fastest of its pinnings. Null where none was measured.
const Row* counterpart(const Published& published, const Report& report);

/// A speed-up is confirmed where that here is as large, less 10 %, and refuted otherwise. A time is neither: it is that
/// of a machine.
Finding judge(const Published& published, const Report& report, bool full_size);

/// Of a file's or a result's list "published"; nlohmann::json's exceptions and InputError for another form.
Published published_of(const nlohmann::json& figure);

/// "1.9 x", "29-36 x", "1.025 ms/iteration" or "66-70 s".
std::string published_text(const Published& published);
/// The same quantity as measured.
std::string measured_text(const Published& published, const Row& row, const Report& report);
/// The row's speed-up over the first one on its input, in what the published one is of; nothing where that was not
/// measured.
std::optional<double> measured_speedup(const Published& published, const Row& row, const Report& report);

nlohmann::ordered_json to_json(const Experiment& experiment);

}  // namespace gradus::bench
