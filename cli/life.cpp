// `gradus life`: generations of a pattern in a file, written as a pattern again.
#include "gradus/life.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "core/atomic_file.hpp"
#include "core/phases.hpp"
#include "io/life_rle.hpp"

namespace gradus::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view problem_name = "life";

struct Size {
  std::int64_t width = 0;
  std::int64_t height = 0;
};

struct Arguments {
  std::string input;
  std::string output;
  std::int64_t generations = 1;
  std::optional<LifeRule> rule;
  std::optional<LifeBoundary> boundary;
  std::optional<Size> size;
  bool until_stable = false;
  bool hashes = false;
};

Size parse_size(const std::string& text) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  const std::size_t x = text.find('x');
  if (x == std::string::npos) {
    const std::int64_t side = parse_whole("--size", text, 1, most);
    return {side, side};
  }
  return {parse_whole("--size", text.substr(0, x), 1, most), parse_whole("--size", text.substr(x + 1), 1, most)};
}

/// The grid's size: that of --size, of the file, or of the pattern itself.
Size size_of_grid(const Arguments& arguments, const LifePattern& pattern) {
  if (arguments.size) return *arguments.size;
  if (pattern.boundary) return {pattern.width, pattern.height};
  return {pattern.cells.width(), pattern.cells.height()};
}

/// What the command line says goes before what the file says.
LifeOptions options_of(const Arguments& arguments, const LifePattern& pattern) {
  LifeOptions options = life_options(pattern);
  if (arguments.rule) options.rule = *arguments.rule;
  if (arguments.boundary) options.boundary = *arguments.boundary;
  else if (arguments.size && !pattern.boundary) options.boundary = LifeBoundary::torus;
  if (arguments.size && options.boundary == LifeBoundary::plane)
    throw UsageError("--size: a plane has none; it goes with --boundary dead or torus");
  options.generations = arguments.generations;
  options.until_stable = arguments.until_stable;
  options.hashes = arguments.hashes;
  return options;
}

std::string closing_line(const LifeResult& result, const LifeOptions& options, double seconds) {
  std::string line = fmt::format("{}, {}, {}, {}", counted(result.generations, "generation"), to_string(options.rule),
                                 to_string(options.boundary),
                                 fmt::format("{} live {}", to_string(result.population),
                                             result.population == LifePopulation{0, 1} ? "cell" : "cells"));
  if (result.cycle)
    line += fmt::format(", a cycle of period {} from generation {} on", result.cycle->period, result.cycle->preperiod);
  else if (options.until_stable) line += ", no cycle so far";
  return line +
         fmt::format(", {:.3g} s, {}, {}", seconds, result.report.variant, counted(result.report.threads, "thread"));
}

int run_life(const Arguments& arguments, Session& session) {
  const auto start = core::Clock::now();
  require_no_input_overwritten({arguments.output}, {arguments.input});
  // The file is opened first, so that a place that cannot be written is found before the work and not after it.
  std::optional<core::AtomicFile> file;
  if (!arguments.output.empty()) file.emplace(arguments.output, session.execution.stop);
  const LifePattern pattern = io::read_life_rle(arguments.input, session.execution.stop);
  const double read = core::seconds_since(start);
  const LifeOptions options = options_of(arguments, pattern);
  const Size size = size_of_grid(arguments, pattern);
  const bool plane = options.boundary == LifeBoundary::plane;
  const LifeResult result = naming_files(
      {{"cells", arguments.input}}, [&] { return life(pattern, options, size.height, size.width, session.execution); });
  session.end_progress();
  if (result.background)
    throw UnsupportedError(
        fmt::format("after {} all of the plane beyond the pattern is alive under {}, which no pattern "
                    "file can say; ask for an even number of generations, or --boundary torus",
                    counted(result.generations, "generation"), to_string(options.rule)));

  const auto write_start = core::Clock::now();
  const std::string text =
      io::life_rle(result.cells.view(),
                   {.rule = options.rule,
                    .boundary = options.boundary,
                    .width = plane ? 0 : size.width,
                    .height = plane ? 0 : size.height,
                    .left = result.left,
                    .top = result.top,
                    .generation = pattern.generation + static_cast<std::uint64_t>(result.generations)},
                   session.execution.stop);
  if (file) {
    file->expect(text.size());
    file->write(text);
    file->commit();
  }
  const double written = core::seconds_since(write_start);
  const double seconds = core::seconds_since(start);
  if (session.json) {
    Json summary{{"problem", problem_name},
                 {"input", arguments.input},
                 {"rule", to_string(options.rule)},
                 {"boundary", to_string(options.boundary)}};
    if (!plane) summary.update({{"width", size.width}, {"height", size.height}});
    summary["generations"] = result.generations;
    if (result.population.high == 0) summary["population"] = result.population.low;
    else summary["population"] = to_string(result.population);
    if (options.until_stable) {
      if (result.cycle) summary["cycle"] = {{"preperiod", result.cycle->preperiod}, {"period", result.cycle->period}};
      else summary["cycle"] = nullptr;
    }
    if (options.hashes) {
      Json hashes = Json::array();
      for (const std::uint64_t hash : result.hashes) hashes.push_back(fmt::format("{:016x}", hash));
      summary["hashes"] = std::move(hashes);
    }
    summary.update(
        {{"variant", result.report.variant}, {"device", result.report.device}, {"threads", result.report.threads}});
    if (!file) summary["rle"] = text;
    summary["seconds"] = seconds_of(read, "life", result.report.phases, written, seconds);
    session.print_json(summary);
    return 0;
  }
  if (options.hashes)
    for (std::size_t generation = 0; generation < result.hashes.size(); ++generation)
      session.print(fmt::format("# {} {:016x}\n", generation, result.hashes[generation]));
  if (!file) session.print(text);
  session.note(closing_line(result, options, seconds) + (file ? fmt::format("; wrote '{}'", arguments.output) : ""));
  return 0;
}

Action setup_life(Options& options, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  Options::required(options.file("PATTERN", arguments->input, "PATTERN", "a pattern, .rle; - for standard input"));
  options.file("-o,--output", arguments->output, "FILE", "write the pattern there, .rle [RLE on standard output]");
  options.heading("Generations");
  options.whole("-g,--generations", arguments->generations, "how many; with --until-stable at most", std::int64_t{0});
  options.value("--rule", "B3/S23", "rule, also as b3s23 or 23/3 [that of the file, or B3/S23]",
                [arguments = arguments.get()](const std::string& text) {
                  try {
                    arguments->rule = life_rule(text);
                  } catch (const UsageError& error) {
                    throw UsageError(std::string("--rule: ") + error.what());
                  }
                });
  const std::vector<std::string> boundaries{"plane", "dead", "torus"};
  options.value("--boundary", "plane|dead|torus",
                "plane: unbounded; dead: all beyond the grid is dead for ever [that of the file, or plane; with --size "
                "torus]",
                [arguments = arguments.get(), boundaries](const std::string& text) {
                  constexpr LifeBoundary meanings[] = {LifeBoundary::plane, LifeBoundary::dead, LifeBoundary::torus};
                  arguments->boundary = meanings[parse_choice("--boundary", text, boundaries)];
                },
                {.choices = boundaries});
  options.value("--size", "WxH",
                "size of the grid, W for a square, whose first cell lies at (-W/2, -H/2) [that of the file, or of the "
                "pattern]",
                [arguments = arguments.get()](const std::string& text) { arguments->size = parse_size(text); });
  options.flag("--until-stable", arguments->until_stable,
               "stop at the first generation that was there before, and say which it is");
  options.flag("--hashes", arguments->hashes, "also a hash of each generation");
  return [arguments, &session] { return run_life(*arguments, session); };
}

}  // namespace

ProblemCommands life_commands();
ProblemCommands life_commands() {
  return {.commands = {{"life", "generations of Conway's Game of Life, or of any other rule B/S",
                        "gradus life pattern.rle --generations 1000 -o later.rle\n"
                        "gradus life pattern.rle --generations 1000 --boundary torus --size 64x64\n"
                        "gradus life pattern.rle --generations 10000 --rule B36/S23 --until-stable",
                        Common::job, problem_name, setup_life, "gradus life pattern.rle --generations 1000",
                        "a pattern after 1000 generations"}},
          .examples = {{"verify", "gradus verify life --case '65x65 torus B3/S23 8' --threads 1,2"},
                       {"bench", "gradus bench life --size 1024,1000x37 --generations 100 --threads 1,2"}}};
}

}  // namespace gradus::cli
