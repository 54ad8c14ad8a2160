// `gradus shortest-paths`: reads a graph, finds all shortest paths, and writes distances and predecessors. Can also
// print a route.
#include "gradus/shortest_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "cli/command.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/repeat.hpp"
#include "cli/report.hpp"
#include "cli/shortest_paths.hpp"
#include "cli/shortest_paths_page.hpp"
#include "core/phases.hpp"
#include "core/text.hpp"
#include "cpu/threads.hpp"
#include "execution/ways.hpp"
#include "files/file.hpp"
#include "files/npy.hpp"
#include "files/number.hpp"
#include "shortest_paths/files/graph.hpp"
#include "shortest_paths/options.hpp"

namespace gradus::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view problem_name = "shortest_paths";

struct Arguments {
  std::string input;
  std::string output;
  std::string page;  ///< the file of --report
  files::GraphReadOptions reading;
  std::string dtype;  ///< type of the weights in a text file; empty: the narrowest type that holds them
  ShortestPathsOptions options;
  std::vector<std::string> sources;  ///< vertices of --sources, by their names in the file
  std::string from;
  std::string to;

  bool wants_route() const { return !from.empty(); }
};

const std::vector<std::string>& result_names() {
  static const std::vector<std::string> names{"distances.npy", "predecessors.npy", "names.txt",
                                              std::string(summary_name)};
  return names;
}

std::vector<std::string> output_files(const Arguments& arguments) {
  std::vector<std::string> files{arguments.page};
  if (!arguments.output.empty())
    for (const std::string& name : result_names()) files.push_back(std::filesystem::path(arguments.output) / name);
  return files;
}

std::string number(double value) { return core::number_text(value); }
std::string number(std::integral auto value) { return std::to_string(value); }

/// Names of the vertices in the file. The library numbers the vertices from 0.
struct Vertices {
  std::int64_t count = 0;
  int base = 0;
  std::span<const std::string> names = {};

  bool are_counted_from_0() const { return names.empty() && base == 0; }
  std::string called(std::int64_t vertex) const {
    return names.empty() ? std::to_string(vertex + base) : names[static_cast<std::size_t>(vertex)];
  }
  Json json(std::int64_t vertex) const {
    return names.empty() ? Json(vertex + base) : Json(names[static_cast<std::size_t>(vertex)]);
  }
  std::int64_t find(const char* option, const std::string& text) const {
    if (!names.empty()) {
      const auto found = std::ranges::find(names, text);
      if (found == names.end())
        throw UsageError(fmt::format("{}: no vertex is called {}", option, core::excerpt(text)));
      return found - names.begin();
    }
    const std::int64_t vertex = parse_whole(option, text, base, std::numeric_limits<std::int32_t>::max()) - base;
    if (vertex >= count)
      throw UsageError(fmt::format("{} {}: the graph has {} (counted from {})", option, text,
                                   count == 1 ? "1 vertex" : fmt::format("{} vertices", count), base));
    return vertex;
  }
};

/// If a distance exceeds T, the remedy is --dtype with a wider type. Returns this remedy.
template <class T>
ErrorMessage wider_type() {
  if constexpr (std::is_same_v<T, std::int32_t>) return "say " + option("dtype", "i64");
  else return "say " + option("dtype", "f64") + (std::is_same_v<T, std::int64_t> ? ", which rounds" : "");
}

template <class T>
struct DistanceSummary {
  std::int64_t reachable = 0;  ///< number of ordered pairs of different vertices that a route connects
  std::optional<T> longest;    ///< length of the longest shortest route
};

template <class T>
DistanceSummary<T> summarize(const Matrix<T>& distances, const std::vector<std::int64_t>& sources) {
  constexpr T none =
      std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  DistanceSummary<T> found;
  for (std::int64_t row = 0; row < distances.rows(); ++row) {
    const std::int64_t from = sources.empty() ? row : sources[static_cast<std::size_t>(row)];
    for (std::int64_t to = 0; to < distances.columns(); ++to) {
      if (from == to || distances(row, to) == none) continue;
      ++found.reachable;
      if (!found.longest || distances(row, to) > *found.longest) found.longest = distances(row, to);
    }
  }
  return found;
}

template <class T>
struct Route {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::vector<std::int32_t> vertices;
  T distance = 0;
};

template <class T>
Json route_json(const Vertices& vertices, const Route<T>& route) {
  Json called = Json::array();
  for (const std::int32_t vertex : route.vertices) called.push_back(vertices.json(vertex));
  return {{"from", vertices.json(route.from)},
          {"to", vertices.json(route.to)},
          {"distance", route.vertices.empty() ? Json(nullptr) : Json(route.distance)},
          {"vertices", std::move(called)}};
}

template <class T>
std::string route_text(const Vertices& vertices, const Route<T>& route) {
  if (route.vertices.empty())
    return fmt::format("there is no route from {} to {}\n", vertices.called(route.from), vertices.called(route.to));
  std::string text = fmt::format("{}:", number(route.distance));
  // Names may contain spaces, so an arrow separates them.
  const std::string_view between = vertices.names.empty() ? " " : " -> ";
  for (std::size_t index = 0; index < route.vertices.size(); ++index)
    text.append(index == 0 ? " " : between).append(vertices.called(route.vertices[index]));
  return text + "\n";
}

/// Calls the library. In messages of the library, replaces the numbers of vertices by the names in the file.
template <class T, class Function>
decltype(auto) naming_vertices(const Arguments& arguments, const Vertices& vertices, bool is_text,
                               const Function& function) {
  return naming_files({{"weights", arguments.input}, {"edges", arguments.input}}, [&]() -> decltype(auto) {
    try {
      return function();
    } catch (VertexError& error) {
      if (!vertices.are_counted_from_0())
        error.name_vertices([&](std::int32_t vertex) { return vertices.called(vertex); });
      if (is_text && error.code() == error_code::overflow && !std::is_same_v<T, double>) {
        ErrorFields fields = error.fields();
        fields.remedy = wider_type<T>();
        error.set_fields(fields);
      }
      throw;
    }
  });
}

/// If the job is large, prints the memory that it needs. Called before the job starts.
void tell_forecast(const Session& session, std::uint64_t memory, std::int64_t rows, std::int64_t n) {
  constexpr std::uint64_t worth_a_word = std::uint64_t{1} << 30;
  if (memory < worth_a_word) return;
  session.note(fmt::format("{} x {} distances: about {} of memory beyond the graph", grouped(rows), grouped(n),
                           core::size_text(memory)));
}

template <class T>
Json beginning_of_summary(const Arguments& arguments, std::int64_t n, const Json& facts, const RunReport& report) {
  Json summary{{"problem", problem_name}, {"input", arguments.input}, {"n", n}};
  summary.update(facts);
  summary.update({{"dtype", execution::element_name<T>()},
                  {"variant", report.variant},
                  {"device", report.device},
                  {"threads", report.threads}});
  return summary;
}

std::string vertices_text(std::int64_t n) { return n == 1 ? "1 vertex" : grouped(n) + " vertices"; }

/// Finds a single route without computing all other routes.
template <class T, class Graph>
int find_route(const Arguments& arguments, const Session& session, const Graph& graph, const Vertices& vertices,
               const Json& facts, core::Clock::time_point start) {
  constexpr bool given_as_matrix = std::is_same_v<Graph, MatrixView<const T>>;
  const double read = core::seconds_since(start);
  Route<T> route{vertices.find("--from", arguments.from), vertices.find("--to", arguments.to), {}, 0};
  ShortestRoute<T> result = naming_vertices<T>(arguments, vertices, !given_as_matrix, [&] {
    return shortest_route(graph, route.from, route.to, arguments.options, session.execution);
  });
  session.end_progress();
  route.vertices = std::move(result.vertices);
  route.distance = result.distance;
  const double seconds = core::seconds_since(start);
  if (session.json) {
    Json summary = beginning_of_summary<T>(arguments, vertices.count, facts, result.report);
    summary["route"] = route_json(vertices, route);
    add_record(summary, session, core::option_rows<ShortestPathsOptions>, &arguments.options);
    summary["seconds"] = seconds_of(read, "paths", result.report.phases, 0, seconds);
    session.print_json(summary);
    return 0;
  }
  session.print(route_text(vertices, route));
  session.print(fmt::format("{} ({}), {:.3g} s, {}, {}\n", vertices_text(vertices.count), execution::element_name<T>(),
                            seconds, result.report.variant, counted(result.report.threads, "thread")));
  return 0;
}

/// Plots the distance along the route. `row` holds the distances from the route's first vertex to all vertices.
template <class T>
Chart route_chart(const Vertices& vertices, const Route<T>& route, const T* row) {
  Chart chart{
      .kind = Chart::Kind::lines,
      .title = fmt::format("the shortest route from {} to {}", vertices.called(route.from), vertices.called(route.to)),
      .places_name = "vertices of the route",
      .values_name = fmt::format("distance from {}", vertices.called(route.from)),
      .series = {{.name = "distance"}}};
  for (const std::int32_t vertex : route.vertices) {
    chart.places.push_back(vertices.called(vertex));
    chart.series.front().values.emplace_back(static_cast<double>(row[vertex]));
  }
  return chart;
}

/// Finds the paths in a matrix of weights or a list of edges. `facts` become part of the summary.
template <class T, class Graph>
int find_paths(const Arguments& arguments, const Session& session, const Graph& graph, const Vertices& vertices,
               const Json& facts, core::Clock::time_point start) {
  if (arguments.wants_route() && arguments.sources.empty() && arguments.output.empty() && arguments.page.empty())
    return find_route<T>(arguments, session, graph, vertices, facts, start);
  constexpr bool given_as_matrix = std::is_same_v<Graph, MatrixView<const T>>;
  const double read = core::seconds_since(start);
  ShortestPathsOptions options = arguments.options;
  for (const std::string& source : arguments.sources) options.sources.push_back(vertices.find("--sources", source));
  std::optional<Route<T>> route;
  if (arguments.wants_route()) {
    route = Route<T>{vertices.find("--from", arguments.from), vertices.find("--to", arguments.to), {}, 0};
    options.predecessors = true;
  }
  // If the only output is a page, the distances from the start of the route suffice. The distances between all vertices
  // might not fit the memory.
  if (route && options.sources.empty() && arguments.output.empty()) options.sources = {route->from};
  std::int64_t row = 0;  // row of the distances from the first vertex of the route
  if (route && options.sources.empty()) {
    row = route->from;
  } else if (route) {
    row = std::ranges::find(options.sources, route->from) - options.sources.begin();
    if (row == std::ssize(options.sources))
      throw UsageError(fmt::format("--from {}: it must be one of --sources", core::excerpt(arguments.from)));
  }
  const std::int64_t n = vertices.count;
  const std::int64_t rows = options.sources.empty() ? n : std::ssize(options.sources);

  // Opens the files first. If the directory is not writable, the command then fails before the long computation.
  std::optional<core::OutputSet> outputs;
  core::AtomicFile* distances_file = nullptr;
  core::AtomicFile* predecessors_file = nullptr;
  core::AtomicFile* names_file = nullptr;
  core::AtomicFile* summary_file = nullptr;
  if (!arguments.output.empty()) {
    outputs.emplace(arguments.output, result_names(), session.execution.stop);
    distances_file = &outputs->add("distances.npy", files::npy_size<T>(rows, n));
    if (options.predecessors)
      predecessors_file = &outputs->add("predecessors.npy", files::npy_size<std::int32_t>(rows, n));
    if (!vertices.names.empty()) names_file = &outputs->add("names.txt");
    summary_file = &outputs->add(summary_name);
    outputs->set_seal(*summary_file, unfinished_summary(problem_name));
  }

  std::optional<core::AtomicFile> page;
  if (!arguments.page.empty()) page.emplace(arguments.page, session.execution.stop);

  // Returns the memory of a job that computes in the type of the graph. The job may need a wider type if weights are
  // large, but the weights have not been examined yet.
  const auto memory_with = [&](const Execution& execution) {
    ShortestPathsShape shape{
        .vertices = n, .element_bytes = static_cast<int>(sizeof(T)), .floating = std::numeric_limits<T>::has_infinity};
    if constexpr (!given_as_matrix) shape.edges = graph.from.size();
    const auto results = static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(n) *
                         (sizeof(T) + (options.predecessors ? sizeof(std::int32_t) : 0));
    return shortest_paths_memory(shape, options, execution).host + results;
  };
  const ShortestPathsResult<T> result = naming_vertices<T>(arguments, vertices, !given_as_matrix, [&] {
    tell_forecast(session, memory_with(session.execution), rows, n);
    return shortest_paths(graph, options, {}, session.execution);
  });
  Execution ran = session.execution;
  ran.variant = result.report.variant;
  session.end_progress();
  const DistanceSummary<T> found = summarize(result.distances, options.sources);
  if (route) {
    const auto predecessors = result.predecessors.view();
    route->vertices =
        shortest_path_route(VectorView<const std::int32_t>(predecessors.row(row), n), route->from, route->to);
    route->distance = result.distances(row, route->to);
  }

  const auto write_start = core::Clock::now();
  if (outputs) {
    files::write_npy(*distances_file, result.distances.view());
    if (predecessors_file) files::write_npy(*predecessors_file, result.predecessors.view());
    if (names_file)
      for (const std::string& name : vertices.names) names_file->write(name + "\n");
    for (core::AtomicFile* file : {distances_file, predecessors_file, names_file})
      if (file) file->finish();
  }
  Json summary = beginning_of_summary<T>(arguments, n, facts, result.report);
  summary.update({{"predecessors", options.predecessors},
                  {"reachable_pairs", found.reachable},
                  {"longest", found.longest ? Json(*found.longest) : Json(nullptr)}});
  if (!options.sources.empty()) {
    Json called = Json::array();
    for (const std::int64_t source : options.sources) called.push_back(vertices.json(source));
    summary["sources"] = std::move(called);
  }
  if (route) summary["route"] = route_json(vertices, *route);
  summary["memory_bytes"] = memory_with(ran);
  add_record(summary, session, core::option_rows<ShortestPathsOptions>, &options);
  const double seconds = core::seconds_since(start);
  summary["seconds"] = seconds_of(read, "paths", result.report.phases, core::seconds_since(write_start), seconds);
  if (outputs) {
    summary["files"] = facts_of_files({distances_file, predecessors_file, names_file});
    summary_file->write(json_text(summary));
    outputs->commit();
  }
  const auto add_answer = [&](Page& answer) {
    const std::stop_token& stop = session.execution.stop;
    answer.chart(distribution<T>(result.distances.view(), options.sources, stop));
    std::optional<Route<T>> shown = route;
    if (!shown) {
      const auto ends = farthest<T>(result.distances.view(), options.sources, stop);
      if (!ends) return;
      ShortestPathsOptions of_route = options;
      of_route.sources.clear();
      Execution anyhow = session.execution;
      anyhow.variant.clear();
      shown = Route<T>{ends->first, ends->second, {}, 0};
      shown->vertices = shortest_route(graph, shown->from, shown->to, of_route, anyhow).vertices;
    }
    if (shown->vertices.empty()) {
      answer.paragraph(route_text(vertices, *shown));
      return;
    }
    const std::int64_t at = options.sources.empty()
                                ? shown->from
                                : std::ranges::find(options.sources, shown->from) - options.sources.begin();
    answer.chart(route_chart(vertices, *shown, result.distances.row(at)));
  };
  if (page) write_page(*page, summary, add_answer, session);
  if (session.json) {
    session.print_json(summary);
    return 0;
  }
  if (route) session.print(route_text(vertices, *route));
  session.print(fmt::format("{}{} ({}): {} with a route{}, {:.3g} s, {}, {}\n", vertices_text(n),
                            options.sources.empty() ? "" : ", from " + grouped(rows) + " of them",
                            execution::element_name<T>(), counted(found.reachable, "pair"),
                            found.longest ? ", the longest " + number(*found.longest) : "", seconds,
                            result.report.variant, counted(result.report.threads, "thread")));
  if (outputs)
    session.note(fmt::format("wrote distances.npy, {}{}summary.json to '{}'",
                             predecessors_file ? "predecessors.npy, " : "", names_file ? "names.txt, " : "",
                             arguments.output));
  return 0;
}

/// If the type in the file is narrower than the type in memory, returns the greatest value of the narrower type.
std::optional<std::int64_t> narrow_greatest(std::string_view dtype) {
  constexpr std::pair<std::string_view, std::int64_t> all[] = {
      {"i1", 0x7f}, {"u1", 0xff}, {"i2", 0x7fff}, {"u2", 0xffff}, {"u4", 0xffff'ffff}};
  for (const auto& [ending, greatest] : all)
    if (dtype.ends_with(ending)) return greatest;
  return {};
}

/// Returns a copy of the weights, in which the value `greatest` is replaced by the greatest value of T. `greatest` is
/// the greatest value of the type in the file. Both values mean "no edge".
template <class T>
files::PointsOf<T> without_greatest(const files::PointsOf<T>& weights, T greatest) {
  Matrix<T> wide = Matrix<T>::copy_of(weights.view);
  for (std::int64_t row = 0; row < wide.rows(); ++row)
    std::replace(wide.row(row), wide.row(row) + wide.columns(), greatest, std::numeric_limits<T>::max());
  return files::own(std::move(wide));
}

/// Returns true if, in the first rows, most weights off the diagonal are 0. The value 0 then probably means "no edge".
template <class T>
bool is_mostly_zero(MatrixView<const T> weights) {
  constexpr std::int64_t enough_rows = 64;
  const std::int64_t n = weights.columns();
  const std::int64_t rows = std::min(weights.rows(), enough_rows);
  std::int64_t zeros = 0;
  for (std::int64_t row = 0; row < rows; ++row)
    zeros += std::count(weights.row(row), weights.row(row) + n, T{0}) - (row < n && weights(row, row) == 0 ? 1 : 0);
  return 2 * zeros > rows * (n - 1);
}

int paths_of_matrix(const Arguments& given, const Session& session, core::Clock::time_point start) {
  Arguments arguments = given;
  const auto refuse = [&](const char* option, const char* why) {
    throw UsageError(fmt::format("{} has no effect: '{}' is a matrix of weights, {}", option, arguments.input, why));
  };
  if (!arguments.dtype.empty()) refuse("--dtype", "and has its type");
  if (arguments.reading.base) refuse("--base", "whose vertices count from 0");
  if (arguments.reading.names) refuse("--names", "whose vertices are numbers");
  if (arguments.reading.header != files::HeaderLine::automatic) refuse("--header", "which has no line of column names");
  if (!arguments.reading.columns.empty()) refuse("--columns", "all of whose columns are vertices");
  if (!arguments.reading.style.is_default()) refuse("--decimal or --thousands", "and no text");
  const files::NpyNumbers graph = files::read_npy_numbers(arguments.input, session.execution.stop);
  if (graph.shape.size() != 2)
    throw InputError("'" + arguments.input + "': an array of one dimension; a square matrix is expected");
  const bool is_adjacency = graph.dtype.ends_with("b1");
  if (is_adjacency && !arguments.options.no_edge) arguments.options.no_edge = 0;  // false means that there is no edge
  return std::visit(
      [&](const auto& weights) {
        using T = std::remove_const_t<std::remove_pointer_t<decltype(weights.view.data())>>;
        if (!arguments.options.no_edge && is_mostly_zero<T>(weights.view))
          session.note(
              fmt::format("'{}': most weights are 0, which are edges of length 0; --no-edge 0 takes them for none",
                          arguments.input));
        const auto find = [&](MatrixView<const T> view) {
          return find_paths<T>(arguments, session, view, {.count = view.rows()}, Json::object(), start);
        };
        if constexpr (std::is_integral_v<T>)
          if (const auto greatest = narrow_greatest(graph.dtype))
            return find(without_greatest(weights, static_cast<T>(*greatest)).view);
        return find(weights.view);
      },
      graph.values);
}

template <class T>
std::vector<T> converted(const auto& weights) {
  std::vector<T> wide(static_cast<std::size_t>(weights.view.size()));
  std::ranges::transform(weights.view, wide.begin(), [](auto weight) { return static_cast<T>(weight); });
  return wide;
}

int paths_of_edges(const Arguments& arguments, const Session& session, core::Clock::time_point start) {
  files::Graph graph = files::read_graph(arguments.input, arguments.reading);
  session.end_progress();
  const Vertices vertices{graph.vertices, graph.base, graph.names};
  Arguments directed = arguments;
  directed.options.undirected = arguments.options.undirected || graph.undirected;
  const Json facts{{"edges", graph.from.view.size()},
                   {"format", graph.format->file.name},
                   {"undirected", directed.options.undirected},
                   {"base", graph.names.empty() ? Json(graph.base) : Json(nullptr)}};
  const auto find = [&](const auto& weights) {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(weights.data())>>;
    const EdgeView<T> edges{graph.vertices, graph.from.view, graph.to.view, weights};
    return find_paths<T>(directed, session, edges, vertices, facts, start);
  };
  return std::visit(
      [&](const auto& weights) {
        using Weights = std::remove_cvref_t<decltype(weights)>;
        const std::string& wanted = arguments.dtype;
        if constexpr (std::is_same_v<Weights, std::monostate>) {
          if (wanted == "i64") return find(VectorView<const std::int64_t>());
          if (wanted == "f64") return find(VectorView<const double>());
          return find(VectorView<const std::int32_t>());
        } else {
          using T = std::remove_const_t<std::remove_pointer_t<decltype(weights.view.data())>>;
          if (wanted.empty() || wanted == execution::element_name<T>()) return find(weights.view);
          if (wanted == "f64") {
            const std::vector<double> wide = converted<double>(weights);
            return find(VectorView<const double>(wide));
          }
          if (wanted == "i64" && std::is_same_v<T, std::int32_t>) {
            const std::vector<std::int64_t> wide = converted<std::int64_t>(weights);
            return find(VectorView<const std::int64_t>(wide));
          }
          throw InputError(fmt::format("'{}': weights that {} does not hold; the least type that does is {}",
                                       arguments.input, wanted, execution::element_name<T>()));
        }
      },
      graph.weights);
}

bool is_matrix(const std::string& path) {
  if (path == "-" || files::names_graph(path)) return false;
  return files::ending_of(path) == ".npy" || files::looks_like_npy(files::MappedFile(path).bytes());
}

void add_graph_options(Options& options, Session& session, Arguments& arguments) {
  options.heading("Graph");
  for (const char* const name : {"undirected", "unweighted", "no_edge"})
    options.row(core::option_row<ShortestPathsOptions>(name), &arguments.options);
  options.value("--dtype", "i32|i64|f64",
                "type of the weights in text, and of distances [the narrowest that holds the weights]",
                [&arguments](const std::string& text) {
                  const std::vector<std::string> types{"i32", "i64", "f64"};
                  arguments.dtype = types[parse_choice("--dtype", text, types)];
                },
                {.choices = {"i32", "i64", "f64"}});
  options.value("--base", "0|1",
                "number of the first vertex in a list of edges [0 if a vertex has this number, otherwise 1]",
                [&arguments](const std::string& text) {
                  arguments.reading.base = static_cast<int>(parse_choice("--base", text, {"0", "1"}));
                },
                {.choices = {"0", "1"}});
  options.flag("--names", arguments.reading.names,
               "treat the vertices of a list of edges as names, even if they are numbers");
  options.choice("--header", arguments.reading.header, "whether the first line of a list of edges names its columns");
  options.value(
      "--columns", "FROM,TO[,WEIGHT]",
      "the columns of a list of edges, by name or number from 1 [the first two or three]",
      [&arguments](const std::string& text) { arguments.reading.columns = files::ColumnList("--columns", text); });
  add_style_options(options, arguments.reading.style);
  arguments.reading.note = [&session](const std::string& note) { session.note(note); };
  arguments.reading.stop = session.execution.stop;
  arguments.reading.progress = [&session](std::int64_t done, std::int64_t total) {
    session.execution.progress({"read", done, total, {}});
  };
}

std::vector<std::string> sources_in(const std::string& label, const std::string& text) {
  std::vector<std::string> sources;
  std::string_view rest = text;
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    const std::string_view source = files::trimmed(rest.substr(0, comma));
    if (source.empty()) throw UsageError(label + ": " + core::excerpt(text) + " has an empty place");
    sources.emplace_back(source);
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
  }
  return sources;
}

Action setup_shortest_paths(Options& options, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  Options::required(options.file(
      "GRAPH", arguments->input, "GRAPH",
      "edges: " + files::graph_endings() +
          ", each also gzip-compressed; - for standard input; or a square matrix of weights from row to column: .npy"));
  options.value(
      "-o,--output", "DIR",
      "write distances.npy, predecessors.npy if requested, names.txt if vertices have names, and summary.json there",
      [arguments = arguments.get()](const std::string& text) {
        if (text.empty() || text == "-")
          throw UsageError("--output: " + core::excerpt(text) +
                           " is not a folder; the result is several files (--json prints its summary)");
        arguments->output = text;
      },
      {.choices = {}, .file = true, .is_result = false});
  options.not_repeated(options.file("--report", arguments->page, "FILE.html",
                                    "write a page with the distribution of distances, and with the route of --from and "
                                    "--to, or else the longest route"));
  options.heading("Paths");
  const auto row = [](std::string_view name) -> const core::Option& {
    return core::option_row<ShortestPathsOptions>(name);
  };
  options.row(row("predecessors"), &arguments->options);
  options.row(row("sources"), &arguments->options,
              [arguments = arguments.get()](const std::string& label, const std::string& text) {
                arguments->sources = sources_in(label, text);
              });
  const auto vertex = [&](const char* name, const char* placeholder, const char* description, std::string& target,
                          const std::string& other, const char* missing) {
    options.ineffective_if(options.value(name, placeholder, description,
                                         [name, &target](const std::string& text) {
                                           if (text.empty()) throw UsageError(fmt::format("{}: '' is no vertex", name));
                                           target = text;
                                         }),
                           [&other, missing] { return other.empty() ? missing : ""; });
  };
  vertex("--from", "A", "print the shortest route from this vertex, named as in the file, to the vertex of --to",
         arguments->from, arguments->to, "it needs --to");
  vertex("--to", "B", "the last vertex of that route", arguments->to, arguments->from, "it needs --from");
  options.row(row("tile"), &arguments->options);
  add_graph_options(options, session, *arguments);
  return [arguments, &session] {
    const auto start = core::Clock::now();
    require_no_input_overwritten(output_files(*arguments), {arguments->input});
    arguments->reading.threads = cpu::thread_count(session.execution);
    arguments->reading.undirected = arguments->options.undirected;
    return is_matrix(arguments->input) ? paths_of_matrix(*arguments, session, start)
                                       : paths_of_edges(*arguments, session, start);
  };
}

}  // namespace

ProblemCommands shortest_paths_commands();
ProblemCommands shortest_paths_commands() {
  return {
      .commands = {{"shortest-paths",
                    "find the shortest paths between all vertices of a graph",
                    "gradus shortest-paths roads.gr --from 3 --to 17\n"
                    "gradus shortest-paths flights.csv --undirected -o paths --predecessors\n"
                    "gradus shortest-paths adjacency.npy --no-edge 0 --from 3 --to 17",
                    Common::job,
                    problem_name,
                    setup_shortest_paths,
                    "gradus shortest-paths roads.gr --from 3 --to 17",
                    "find the shortest route",
                    {{"distances.npy",
                      "N x N (with --sources: S x N), of the weights' type; written by gradus shortest-paths --output"},
                     {"predecessors.npy", "the same shape, int32: the last vertex but one of each route, or -1"},
                     {"names.txt", "if vertices have names: a line for each, in the order of rows and columns"}},
                    false,
                    true}},
      .generators = {road_grid_generator(), random_graph_generator()},
      .examples = {{"generate", "gradus generate road-grid --rows 20 --columns 30 -o roads.gr"},
                   {"generate", "gradus generate random-graph --vertices 1000 --edges 5000 -o graph.csv"},
                   {"verify", "gradus verify shortest-paths --case grid,negative --threads 1,2"},
                   {"bench", "gradus bench shortest-paths --vertices 1024 --tile 64 --threads 1,2"}}};
}

}  // namespace gradus::cli
