// `gradus life`: advances a pattern from a file. Writes it as a pattern or as pictures, or shows it in the terminal.
#include "gradus/life.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "bench/parse.hpp"
#include "cli/command.hpp"
#include "cli/input.hpp"
#include "cli/life_frames.hpp"
#include "cli/life_page.hpp"
#include "cli/life_steps.hpp"
#include "cli/output.hpp"
#include "cli/repeat.hpp"
#include "cli/report.hpp"
#include "core/atomic_file.hpp"
#include "core/phases.hpp"
#include "core/text.hpp"
#include "files/file.hpp"
#include "life/files/pattern.hpp"
#include "life/files/text.hpp"
#include "life/options.hpp"
#include "life/quadtree.hpp"

namespace gradus::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view problem_name = "life";

/// Number of generations in which --until-stable searches for a cycle. Applies if --generations is not given.
constexpr std::int64_t patience = 1000000;

struct Arguments {
  std::string input;
  std::string output;
  std::string folder;
  std::string page;  ///< the file of --report
  /// The options of the call, without rule and boundary. options_of() adds these from `world` and `boundary` or, if
  /// they are not set, from the input.
  LifeOptions options;
  std::optional<std::int64_t> every;
  std::int64_t scale = 1;
  std::int64_t delay = 100;               ///< milliseconds for which each frame is shown
  bool counts_generations = false;        ///< true if --generations was given
  std::optional<files::LifeWorld> world;  ///< rule and topology, from --rule
  std::optional<LifeBoundary> boundary;
  std::optional<LifeSize> size;
  bool view = false;

  bool is_gif() const { return !output.empty() && files::ending_of(output) == ".gif"; }
  bool makes_frames() const { return is_gif() || !folder.empty(); }
  bool goes_by_steps() const { return makes_frames() || !page.empty(); }
  /// Returns the number of generations per step. If the only output is a page, the run has at most about 500 steps,
  /// because a chart cannot show more.
  std::int64_t step() const {
    constexpr std::int64_t most_steps = 500;
    return every ? *every : makes_frames() ? 1 : std::max<std::int64_t>(1, options.generations / most_steps);
  }
};

/// Returns the size of the grid: from --size, otherwise from --rule, otherwise from the file, otherwise from the extent
/// of the pattern.
LifeSize size_of_grid(const Arguments& arguments, const LifePattern& pattern) {
  if (arguments.size) return *arguments.size;
  if (arguments.world && arguments.world->boundary) return {arguments.world->width, arguments.world->height};
  if (pattern.boundary) return {pattern.width, pattern.height};
  if (pattern.unplaced) return {pattern.unplaced->width, pattern.unplaced->height};
  if (!pattern.tree) return {pattern.cells.width(), pattern.cells.height()};
  const life_detail::LifeBox box = life_detail::bounding_box(*pattern.tree).value_or(life_detail::LifeBox{});
  return {box.width, box.height};
}

/// Combines the options of the command line with the options in the pattern's file. The command line has priority.
LifeOptions options_of(const Arguments& arguments, const LifePattern& pattern) {
  LifeOptions options = arguments.options;
  options.rule = life_options(pattern).rule;
  options.boundary = life_options(pattern).boundary;
  if (arguments.world) {
    options.rule = arguments.world->rule;
    options.boundary = arguments.world->boundary.value_or(options.boundary);
  }
  if (arguments.boundary) options.boundary = *arguments.boundary;
  else if (arguments.size && options.boundary == LifeBoundary::plane) options.boundary = LifeBoundary::torus;
  if (arguments.size && options.boundary == LifeBoundary::plane)
    throw UsageError("--size: a plane has none; it goes with --boundary dead or torus");
  if (std::uint64_t last = 0; __builtin_add_overflow(pattern.generation, arguments.options.generations, &last))
    throw InputError(fmt::format("'{}': it is of generation {}, and {} more are beyond 2^64 - 1", arguments.input,
                                 pattern.generation, arguments.options.generations));
  return options;
}

/// Formats a population in groups of three digits: "1,234,567". A population may exceed 64 bits.
std::string population_text(LifePopulation population) {
  std::string text = to_string(population);
  for (std::size_t place = text.size(); place > 3;) text.insert(place -= 3, ",");
  return text;
}

/// Parses an integer such as "1000", "2^30" or "1e6".
std::int64_t parse_generations(const std::string& name, const std::string& text) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto is_number = [](std::string_view digits) {
    return !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const std::size_t mark = text.find_first_of("^eE");
  try {
    if (mark == std::string::npos) return parse_whole(name, text, 0, most);
    std::string_view first = std::string_view(text).substr(0, mark);
    const std::string_view second = std::string_view(text).substr(mark + 1);
    if (is_number(first) && is_number(second)) {
      const bool is_power = text[mark] == '^';
      std::int64_t number = is_power ? 1 : parse_whole(name, first, 0, most);
      const std::int64_t factor = is_power ? parse_whole(name, first, 0, most) : 10;
      bool fits = true;
      for (std::int64_t turn = parse_whole(name, second, 0, 64); fits && turn > 0; --turn)
        fits = !__builtin_mul_overflow(number, factor, &number);
      if (fits) return number;
    }
  } catch (const UsageError&) {
  }
  throw UsageError(
      fmt::format("{}: {} is not an integer from 0 to 2^63 - 1, such as 1000, 2^30 or 1e6", name, core::excerpt(text)));
}

std::string closing_line(const LifeResult& result, const LifeOptions& options, double seconds) {
  std::string line = fmt::format("{}, {}, {}, {}", counted(result.generations, "generation"), to_string(options.rule),
                                 to_string(options.boundary),
                                 fmt::format("{} live {}", population_text(result.population),
                                             result.population == LifePopulation{0, 1} ? "cell" : "cells"));
  if (result.cycle)
    line += fmt::format(", a cycle of period {} from generation {} on", result.cycle->period, result.cycle->preperiod);
  else if (options.until_stable) line += ", no cycle so far";
  return line +
         fmt::format(", {:.3g} s, {}, {}", seconds, result.report.variant, counted(result.report.threads, "thread"));
}

/// Returns the population as a JSON number if it fits 64 bits, otherwise as a string.
Json json_of(LifePopulation population) {
  return population.high == 0 ? Json(population.low) : Json(to_string(population));
}

Json summary_of(const Arguments& arguments, const LifeOptions& options, const LifeSize& size,
                const LifeResult& result) {
  Json summary{{"problem", problem_name},
               {"input", arguments.input},
               {"rule", to_string(options.rule)},
               {"boundary", to_string(options.boundary)}};
  if (options.boundary != LifeBoundary::plane) summary.update({{"width", size.width}, {"height", size.height}});
  summary["generations"] = result.generations;
  summary["population"] = json_of(result.population);
  return summary;
}

void add_report(Json& summary, const RunReport& report) {
  summary.update({{"variant", report.variant}, {"device", report.device}, {"threads", report.threads}});
}

LifePattern pattern_of(LifeResult& result, const LifePattern& given, const LifeOptions& options, const LifeSize& size) {
  LifePattern pattern;
  pattern.rule = options.rule;
  pattern.boundary = options.boundary;
  if (options.boundary != LifeBoundary::plane) {
    pattern.width = size.width;
    pattern.height = size.height;
  }
  pattern.cells = std::move(result.cells);
  pattern.left = result.left;
  pattern.top = result.top;
  pattern.tree = std::move(result.tree);
  pattern.generation = given.generation + static_cast<std::uint64_t>(result.generations);
  pattern.comments = given.comments;
  return pattern;
}

files::LifeOutputKind output_kind(const std::string& path) {
  const std::optional<files::LifeOutputKind> kind = files::life_output(path);
  if (!kind)
    throw UsageError("--output: " + core::excerpt(path) +
                     " should end in .rle, .mc, .cells, .lif (each also with .gz behind it), .pbm, .pgm, .png or .gif, "
                     "which says how to write it");
  return *kind;
}

files::LifeReadOptions reading_of(const Session& session) {
  files::LifeReadOptions reading{.stop = session.execution.stop, .progress = nullptr};
  reading.progress = [&session](std::int64_t done, std::int64_t total) {
    session.execution.progress({"read", done, total, {}});
  };
  if (session.execution.memory_limit > 0) reading.memory_limit = session.execution.memory_limit;
  return reading;
}

int run_steps(const Arguments& arguments, Session& session) {
  const auto start = core::Clock::now();
  std::optional<core::AtomicFile> page;
  if (!arguments.page.empty()) page.emplace(arguments.page, session.execution.stop);
  LifeFrames frames({.gif = arguments.is_gif() ? arguments.output : "",
                     .folder = arguments.folder,
                     .scale = arguments.scale,
                     .milliseconds = arguments.delay},
                    session.execution);
  LifePattern pattern = files::read_life(arguments.input, reading_of(session));
  const double read = core::seconds_since(start);
  const LifeOptions options = options_of(arguments, pattern);
  const LifeSize size = size_of_grid(arguments, pattern);
  frames.begin(options, size, pattern.generation + static_cast<std::uint64_t>(arguments.options.generations));
  std::optional<LifeSteps> steps;
  naming_files({{"cells", arguments.input}},
               [&] { steps.emplace(std::move(pattern), options, size, session.execution); });
  Json history = Json::array();
  const auto look = [&] {
    if (arguments.makes_frames()) frames.add(steps->now());
    if (page)
      history.push_back({{"generation", steps->now().generation}, {"population", json_of(steps->population())}});
  };
  look();
  std::vector<PagePicture> pictures;
  if (page) pictures.push_back(picture_of(steps->now(), session.execution.stop));
  LifeResult result;
  for (std::int64_t left = arguments.options.generations; left > 0;) {
    const std::int64_t step = std::min(left, arguments.step());
    steps->advance(step);
    look();
    left -= step;
    session.execution.progress({"frames", arguments.options.generations - left, arguments.options.generations, {}});
  }
  const auto write_start = core::Clock::now();
  // Users may request a folder of frames and a file with the last generation at the same time.
  std::optional<core::AtomicFile> last;
  if (!arguments.output.empty() && !arguments.is_gif()) {
    last.emplace(arguments.output, session.execution.stop);
    files::write_life(*last, steps->now(), output_kind(arguments.output), arguments.scale);
  }
  if (arguments.makes_frames()) frames.finish();
  if (last) last->commit();
  session.end_progress();
  const double written = core::seconds_since(write_start);
  const double seconds = core::seconds_since(start);
  result.generations = arguments.options.generations;
  result.population = steps->population();
  result.report = steps->report();
  Json summary = summary_of(arguments, options, size, result);
  if (arguments.makes_frames()) summary["frames"] = frames.count();
  add_report(summary, result.report);
  if (page) summary["history"] = std::move(history);
  add_record(summary, session, core::option_rows<LifeOptions>, &options);
  summary["seconds"] = seconds_of(read, "life", result.report.phases, written, seconds);
  if (page) {
    pictures.push_back(picture_of(steps->now(), session.execution.stop));
    write_page(
        *page, summary, [&](Page& answer) { answer.pictures(pictures); }, session);
  }
  if (session.json) {
    session.print_json(summary);
    return 0;
  }
  std::vector<std::string> places;
  for (const std::string& place : {arguments.output, arguments.folder, arguments.page})
    if (!place.empty()) places.push_back("'" + place + "'");
  session.note(closing_line(result, options, seconds) +
               fmt::format("; wrote {}{}",
                           arguments.makes_frames() ? counted(frames.count(), "frame") + " to " : std::string(),
                           fmt::join(places, " and ")));
  return 0;
}

int run_view(const Arguments& arguments, Session& session) {
  require_terminal(arguments.input);
  LifePattern pattern = files::read_life(arguments.input, reading_of(session));
  const LifeOptions options = options_of(arguments, pattern);
  const LifeSize size = size_of_grid(arguments, pattern);
  std::optional<LifeSteps> steps;
  naming_files({{"cells", arguments.input}},
               [&] { steps.emplace(std::move(pattern), options, size, session.execution); });
  session.end_progress();
  const std::int64_t until = arguments.counts_generations ? arguments.options.generations : -1;
  return view_life(*steps, options, size, arguments.every.value_or(1), until, session);
}

int run_once(const Arguments& arguments, Session& session) {
  const auto start = core::Clock::now();
  // Opens the file first. If the path is not writable, the command then fails before the long computation.
  std::optional<core::AtomicFile> file;
  if (!arguments.output.empty()) file.emplace(arguments.output, session.execution.stop);
  const LifePattern pattern = files::read_life(arguments.input, reading_of(session));
  const double read = core::seconds_since(start);
  const LifeOptions options = options_of(arguments, pattern);
  const LifeSize size = size_of_grid(arguments, pattern);
  LifeResult result = naming_files({{"cells", arguments.input}},
                                   [&] { return life(pattern, options, size.height, size.width, session.execution); });
  session.end_progress();
  require_no_background(result, options.rule);

  const auto write_start = core::Clock::now();
  const LifePattern later = pattern_of(result, pattern, options, size);
  std::string text;
  if (file) {
    files::write_life(*file, later, output_kind(arguments.output), arguments.scale);
    file->commit();
  } else {
    try {
      text = files::life_text(later, ".rle", session.execution.stop);
    } catch (const InterruptedError&) {
      throw;
    } catch (const Error&) {
      if (!session.json) throw;  // with --json, the summary is printed without the cells
    }
  }
  const double written = core::seconds_since(write_start);
  const double seconds = core::seconds_since(start);
  if (session.json) {
    Json summary = summary_of(arguments, options, size, result);
    if (options.until_stable) {
      if (result.cycle) summary["cycle"] = {{"preperiod", result.cycle->preperiod}, {"period", result.cycle->period}};
      else summary["cycle"] = nullptr;
    }
    if (options.hashes) {
      Json hashes = Json::array();
      for (const std::uint64_t hash : result.hashes) hashes.push_back(fmt::format("{:016x}", hash));
      summary["hashes"] = std::move(hashes);
    }
    add_report(summary, result.report);
    if (!file && !text.empty()) summary["rle"] = text;
    else if (!file) summary["rle"] = nullptr;
    add_record(summary, session, core::option_rows<LifeOptions>, &options);
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

int run_life(const Arguments& arguments, Session& session) {
  require_no_input_overwritten({arguments.output, arguments.page}, {arguments.input});
  if (arguments.view) return run_view(arguments, session);
  return arguments.goes_by_steps() ? run_steps(arguments, session) : run_once(arguments, session);
}

auto where_all_is_shown(const Arguments* arguments) {
  return
      [arguments]() -> std::string { return arguments->view ? "--view shows the generations and writes nothing" : ""; };
}

void add_generations(Options& options, Arguments* arguments) {
  options.heading("Generations");
  const auto row = [](std::string_view name) -> const core::Option& { return core::option_row<LifeOptions>(name); };
  options.row(row("generations"), &arguments->options, [arguments](const std::string& label, const std::string& text) {
    arguments->options.generations = parse_generations(label, text);
    arguments->counts_generations = true;
  });
  options.row(row("rule"), &arguments->options, [arguments](const std::string& label, const std::string& text) {
    try {
      arguments->world = files::parse_life_world(text);
    } catch (UsageError& error) {
      error.set_message(about(label) + error.message());
      throw;
    }
  });
  options.row(row("boundary"), &arguments->options, [arguments](const std::string& label, const std::string& text) {
    arguments->boundary = bench::parse_enum<LifeBoundary>(label, text);
  });
  options.value("--size", "WxH",
                "size of the grid, or W for a square; its first cell is at (-W/2, -H/2) [the size in the file, or of "
                "the pattern]",
                [arguments](const std::string& text) {
                  arguments->size = parse_life_size("--size", text, std::int64_t{1} << 40);
                });
  const auto where_all_is_one = [arguments]() -> std::string {
    if (arguments->view) return "--view shows the generations one by one";
    if (arguments->makes_frames()) return "frames are made step by step";
    return arguments->page.empty() ? "" : "--report examines the pattern step by step";
  };
  for (const char* const name : {"until_stable", "hashes"})
    options.ineffective_if(options.row(row(name), &arguments->options), where_all_is_one);
}

void add_pictures(Options& options, Arguments* arguments) {
  options.heading("Pictures and live view");
  options.flag("--view", arguments->view, "show the generations in the terminal; ? lists the keys");
  const auto place = [&](CLI::Option& option) {
    options.ineffective_if(options.not_repeated(option), where_all_is_shown(arguments));
  };
  place(options.file("--report", arguments->page, "FILE.html",
                     "write a page with the population over the generations, and the first and the last picture"));
  place(options.file("--frames", arguments->folder, "DIR",
                     "write a PGM of each generation to this folder, named after the generation"));
  options.ineffective_if(
      options.value("--every", "N",
                    "make frames and the populations of --report only for every Nth generation and the last one [1; "
                    "with --report alone about 500 in total]",
                    [arguments](const std::string& text) {
                      arguments->every = parse_whole("--every", text, 1, std::numeric_limits<std::int64_t>::max());
                    }),
      [arguments] {
        return arguments->view || arguments->goes_by_steps()
                   ? std::string()
                   : std::string("there are no frames; -o FILE.gif, --frames DIR, --report or --view makes some");
      });
  constexpr std::int64_t largest_scale = 1024;
  options.ineffective_if(options.whole("--scale", arguments->scale,
                                       "pixels per cell in both directions; a scaled picture cannot be read back",
                                       std::int64_t{1}, largest_scale),
                         [arguments] {
                           const std::optional<files::LifeOutputKind> kind = files::life_output(arguments->output);
                           return arguments->makes_frames() || (kind && kind->is_picture())
                                      ? std::string()
                                      : std::string("no picture is written");
                         });
  options.ineffective_if(
      options.whole("--delay", arguments->delay, "milliseconds between the frames of a GIF", std::int64_t{10},
                    std::int64_t{600000}),
      [arguments] { return arguments->is_gif() ? std::string() : std::string("no GIF is written"); });
}

Action setup_life(Options& options, Session& session) {
  auto shared = std::make_shared<Arguments>();
  Arguments* const arguments = shared.get();
  Options::required(options.file("PATTERN", arguments->input, "PATTERN",
                                 "a pattern: .rle, .mc, .cells, .lif (Life 1.05 or 1.06), .pbm, .pgm, .png, .jpg; text "
                                 "also gzip-compressed; - for standard input"));
  options.ineffective_if(
      options.value(
          "-o,--output", "FILE",
          "write the pattern there: .rle, .mc, .cells, .lif (Life 1.06), .pbm, .pgm, .png; or all generations: "
          ".gif [RLE on "
          "standard output]",
          [arguments](const std::string& text) {
            if (files::ending_of(text) != ".gif") output_kind(text);
            arguments->output = text;
          },
          {.choices = {}, .file = true, .is_result = false}),
      where_all_is_shown(arguments));
  add_generations(options, arguments);
  add_pictures(options, arguments);
  return [shared, &session] {
    if (shared->options.until_stable && !shared->counts_generations) shared->options.generations = patience;
    return run_life(*shared, session);
  };
}

}  // namespace

LifeSize parse_life_size(const std::string& name, const std::string& text, std::int64_t most) {
  const std::size_t x = text.find('x');
  if (x == std::string::npos) {
    const std::int64_t side = parse_whole(name, text, 1, most);
    return {side, side};
  }
  if (x == 0 || x + 1 == text.size())
    throw UsageError(name + ": " + core::excerpt(text) + " is not of the form WxH, as 64x48, or W, as 64");
  return {parse_whole(name, text.substr(0, x), 1, most), parse_whole(name, text.substr(x + 1), 1, most)};
}

ProblemCommands life_commands();
ProblemCommands life_commands() {
  return {.commands = {{"life",
                        "generations of Conway's Game of Life, or of any other rule B/S",
                        "gradus life pattern.rle --generations 1000 -o later.rle\n"
                        "gradus life pattern.rle --generations 1000 --boundary torus --size 64x64\n"
                        "gradus life pattern.rle --generations 10000 --rule B36/S23 --until-stable\n"
                        "gradus life pattern.rle --generations 100 --scale 4 -o film.gif",
                        Common::job,
                        problem_name,
                        setup_life,
                        "gradus life pattern.rle --generations 1000",
                        "a pattern after 1000 generations",
                        {},
                        false,
                        true}},
          .generators = {life_soup_generator()},
          .examples = {{"verify", "gradus verify life --case '65x65 torus B3/S23 8' --threads 1,2"},
                       {"bench", "gradus bench life --size 1024,1000x37 --generations 100 --threads 1,2"}}};
}

}  // namespace gradus::cli
