// `gradus shortest-paths`: read a graph, find all shortest paths, write distances and predecessors, print a route.
#include "gradus/shortest_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "core/phases.hpp"
#include "core/text.hpp"
#include "execution/ways.hpp"
#include "io/file.hpp"
#include "io/npy.hpp"

namespace gradus::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view problem_name = "shortest_paths";

struct Arguments {
  std::string input;
  std::string output;
  ShortestPathsOptions options;
  std::int64_t from = -1;
  std::int64_t to = -1;
};

const std::vector<std::string>& result_names() {
  static const std::vector<std::string> names{"distances.npy", "predecessors.npy", std::string(summary_name)};
  return names;
}

std::vector<std::string> output_files(const Arguments& arguments) {
  std::vector<std::string> files;
  if (!arguments.output.empty())
    for (const std::string& name : result_names()) files.push_back(std::filesystem::path(arguments.output) / name);
  return files;
}

template <class T>
struct Found {
  std::int64_t reachable = 0;  ///< ordered pairs of different vertices with a route
  std::optional<T> longest;    ///< of all shortest routes
};

template <class T>
Found<T> look_at(const Matrix<T>& distances) {
  constexpr T none =
      std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  Found<T> found;
  for (std::int64_t from = 0; from < distances.rows(); ++from)
    for (std::int64_t to = 0; to < distances.columns(); ++to) {
      if (from == to || distances(from, to) == none) continue;
      ++found.reachable;
      if (!found.longest || distances(from, to) > *found.longest) found.longest = distances(from, to);
    }
  return found;
}

std::string number(double value) { return core::number_text(value); }
std::string number(std::integral auto value) { return std::to_string(value); }

template <class T>
struct Route {
  std::vector<std::int32_t> vertices;
  T distance = 0;
};

template <class T>
Json summary_of(const Arguments& arguments, const ShortestPathsResult<T>& result, const Found<T>& found,
                const std::optional<Route<T>>& route, std::uint64_t memory) {
  Json summary{{"problem", problem_name},
               {"input", arguments.input},
               {"n", result.distances.rows()},
               {"dtype", execution::element_name<T>()},
               {"variant", result.report.variant},
               {"device", result.report.device},
               {"threads", result.report.threads},
               {"predecessors", arguments.options.predecessors},
               {"reachable_pairs", found.reachable},
               {"longest", found.longest ? Json(*found.longest) : Json(nullptr)}};
  if (route)
    summary["route"] = {{"from", arguments.from},
                        {"to", arguments.to},
                        {"distance", route->vertices.empty() ? Json(nullptr) : Json(route->distance)},
                        {"vertices", route->vertices}};
  summary["memory_bytes"] = memory;
  return summary;
}

template <class T>
std::string route_text(const Arguments& arguments, const Route<T>& route) {
  if (route.vertices.empty()) return fmt::format("there is no route from {} to {}\n", arguments.from, arguments.to);
  std::string text = fmt::format("{}:", number(route.distance));
  for (const std::int32_t vertex : route.vertices) text += fmt::format(" {}", vertex);
  return text + "\n";
}

void require_vertex(const char* name, std::int64_t vertex, std::int64_t vertices) {
  if (vertex >= vertices)
    throw UsageError(fmt::format("{} {}: the graph has {} (counted from 0)", name, vertex,
                                 vertices == 1 ? "1 vertex" : fmt::format("{} vertices", vertices)));
}

template <class T>
int find_paths(const Arguments& arguments, const Session& session, MatrixView<const T> weights,
               core::Clock::time_point start) {
  const double read = core::seconds_since(start);
  const ShortestPathsOptions& options = arguments.options;
  const bool wants_route = arguments.from >= 0;
  if (wants_route) {
    require_vertex("--from", arguments.from, weights.rows());
    require_vertex("--to", arguments.to, weights.rows());
  }
  const std::int64_t n = weights.rows();

  // The files are opened first, so that a directory that cannot be written is found before the work and not after it.
  std::optional<core::OutputSet> outputs;
  core::AtomicFile* distances_file = nullptr;
  core::AtomicFile* predecessors_file = nullptr;
  core::AtomicFile* summary_file = nullptr;
  if (!arguments.output.empty()) {
    outputs.emplace(arguments.output, result_names(), session.execution.stop);
    distances_file = &outputs->add("distances.npy", io::npy_size<T>(n, n));
    if (options.predecessors) predecessors_file = &outputs->add("predecessors.npy", io::npy_size<std::int32_t>(n, n));
    summary_file = &outputs->add(summary_name);
    outputs->set_seal(*summary_file, unfinished_summary(problem_name));
  }

  const ShortestPathsResult<T> result = naming_files(
      {{"weights", arguments.input}}, [&] { return shortest_paths(weights, options, {}, session.execution); });
  Execution ran = session.execution;
  ran.variant = result.report.variant;
  const std::uint64_t memory = shortest_paths_memory({.vertices = n,
                                                      .element_bytes = static_cast<int>(sizeof(T)),
                                                      .floating = std::numeric_limits<T>::has_infinity},
                                                     options, ran)
                                   .host;
  session.end_progress();
  const Found<T> found = look_at(result.distances);
  std::optional<Route<T>> route;
  if (wants_route)
    route = Route<T>{shortest_path_route(result.predecessors.view(), arguments.from, arguments.to),
                     result.distances(arguments.from, arguments.to)};

  const auto write_start = core::Clock::now();
  if (outputs) {
    io::write_npy(*distances_file, result.distances.view());
    distances_file->finish();
    if (predecessors_file) {
      io::write_npy(*predecessors_file, result.predecessors.view());
      predecessors_file->finish();
    }
  }
  Json summary = summary_of(arguments, result, found, route, memory);
  const double seconds = core::seconds_since(start);
  summary["seconds"] = seconds_of(read, "paths", result.report.phases, core::seconds_since(write_start), seconds);
  if (outputs) {
    summary["files"] = facts_of_files({distances_file, predecessors_file});
    summary_file->write(json_text(summary));
    outputs->commit();
  }
  if (session.json) {
    session.print_json(summary);
    return 0;
  }
  if (route) session.print(route_text(arguments, *route));
  session.print(fmt::format("{} ({}): {} with a route{}, {:.3g} s, {}, {}\n",
                            n == 1 ? "1 vertex" : grouped(n) + " vertices", execution::element_name<T>(),
                            counted(found.reachable, "pair"),
                            found.longest ? ", the longest " + number(*found.longest) : "", seconds,
                            result.report.variant, counted(result.report.threads, "thread")));
  if (outputs)
    session.note(fmt::format("wrote distances.npy, {}summary.json to '{}'",
                             predecessors_file ? "predecessors.npy, " : "", arguments.output));
  return 0;
}

Action setup_shortest_paths(Options& options, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  Options::required(options.file("GRAPH", arguments->input, "GRAPH",
                                 "a square matrix of weights, from its row to its column: .npy; no edge: the type's "
                                 "greatest value, or +inf"));
  options.value("-o,--output", "DIR", "write distances.npy, predecessors.npy if wanted, and summary.json there",
                [arguments = arguments.get()](const std::string& text) {
                  if (text.empty() || text == "-")
                    throw UsageError("--output: " + core::excerpt(text) +
                                     " is not a folder; the result is several files (--json prints its summary)");
                  arguments->output = text;
                },
                {.choices = {}, .file = true});
  options.heading("Paths");
  options.flag("--predecessors", arguments->options.predecessors,
               "also find the last vertex but one of each shortest route");
  options.useless_where(
      options.value("--from", "A", "print the shortest route from this vertex, counted from 0, to that of --to",
                    [arguments = arguments.get()](const std::string& text) {
                      arguments->from = parse_whole("--from", text, 0, std::numeric_limits<std::int32_t>::max());
                    }),
      [arguments = arguments.get()] { return arguments->to < 0 ? "it needs --to" : ""; });
  options.useless_where(options.value("--to", "B", "the last vertex of that route",
                                      [arguments = arguments.get()](const std::string& text) {
                                        arguments->to =
                                            parse_whole("--to", text, 0, std::numeric_limits<std::int32_t>::max());
                                      }),
                        [arguments = arguments.get()] { return arguments->from < 0 ? "it needs --from" : ""; });
  options.value("--no-edge", "VALUE", "another value that stands for no edge, for example 0 or -1",
                [arguments = arguments.get()](const std::string& text) {
                  constexpr double most = std::numeric_limits<double>::max();
                  arguments->options.no_edge = parse_real("--no-edge", text, -most, most);
                });
  options.whole("--tile", arguments->options.tile,
                "side of the tiles of variants that work in such; 0: the variant's own choice", std::int64_t{0},
                std::int64_t{1} << 20);
  return [arguments, &session] {
    const auto start = core::Clock::now();
    require_no_input_overwritten(output_files(*arguments), {arguments->input});
    if (arguments->from >= 0) arguments->options.predecessors = true;
    if (io::ending_of(arguments->input) != ".npy")
      throw InputError("'" + arguments->input +
                       "': a matrix of weights in a .npy file is expected; numpy.save() writes such");
    const io::NpyNumbers graph = io::read_npy_numbers(arguments->input, session.execution.stop);
    if (graph.shape.size() != 2)
      throw InputError("'" + arguments->input + "': an array of one dimension; a square matrix is expected");
    return std::visit(
        [&](const auto& weights) {
          using T = std::remove_const_t<std::remove_pointer_t<decltype(weights.view.data())>>;
          return find_paths<T>(*arguments, session, weights.view, start);
        },
        graph.values);
  };
}

}  // namespace

ProblemCommands shortest_paths_commands();
ProblemCommands shortest_paths_commands() {
  return {.commands = {{"shortest-paths",
                        "find the shortest paths between all vertices of a graph",
                        "gradus shortest-paths roads.npy -o paths --predecessors\n"
                        "gradus shortest-paths adjacency.npy --no-edge 0 --from 3 --to 17",
                        Common::job,
                        problem_name,
                        setup_shortest_paths,
                        "gradus shortest-paths roads.npy --from 3 --to 17",
                        "find the shortest route",
                        {{"distances.npy", "N x N, of the weights' type; written by gradus shortest-paths --output"},
                         {"predecessors.npy", "N x N, int32: the last vertex but one of each route, or -1"}}}},
          .examples = {{"verify", "gradus verify shortest-paths --case grid,negative --threads 1,2"},
                       {"bench", "gradus bench shortest-paths --vertices 1024 --tile 64 --threads 1,2"}}};
}

}  // namespace gradus::cli
