// `gradus generate road-grid` and `gradus generate random-graph`: make graphs for shortest paths.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/output.hpp"
#include "cli/shortest_paths.hpp"
#include "core/atomic_file.hpp"
#include "core/checked.hpp"
#include "core/phases.hpp"
#include "core/text.hpp"
#include "execution/request.hpp"
#include "files/file.hpp"
#include "files/npy.hpp"
#include "shortest_paths/files/graph.hpp"
#include "shortest_paths/made_graphs.hpp"

namespace gradus::cli {

namespace {

using shortest_paths_detail::MadeEdge;
using shortest_paths_detail::RandomEdges;
using shortest_paths_detail::RoadGrid;
using shortest_paths_detail::WeightRange;

constexpr std::int64_t most_vertices = std::numeric_limits<std::int32_t>::max();
// The greatest weight that an option may specify. --climbs may double a weight, and the doubled weight must still fit
// int32.
constexpr std::int64_t heaviest = (std::int64_t{1} << 30) - 1;
constexpr std::string_view while_writing = "stopped; no file was written";

/// Returns the text format for the name, or null if the name ends in .npy (a matrix).
const files::GraphFormat* format_of(const std::string& path) {
  if (files::ending_of(path) == ".npy") return nullptr;
  if (const files::GraphFormat* format = files::written_format(path); format != nullptr) return format;
  throw UsageError("--output: " + core::excerpt(path) + " should end in " + files::written_endings() +
                   " or .npy (a matrix), which says how to write it");
}

/// A graph whose edges are made and written in chunks.
struct Source {
  std::int64_t vertices = 0;
  std::int64_t edges = 0;
  std::int64_t pieces = 0;
  /// Calls use(edge) for each edge of a chunk.
  std::function<void(std::int64_t piece, const std::function<void(const MadeEdge&)>& use)> make;
};

void write_text(core::AtomicFile& file, const files::GraphFormat& format, const Source& source,
                const Session& session) {
  constexpr std::size_t bytes_at_once = std::size_t{1} << 20;
  file.write(format.head(source.vertices, source.edges));
  std::string text;
  bool expected = false;
  std::int64_t written = 0;
  const auto flush = [&] {
    if (!expected)
      file.expect(static_cast<std::uint64_t>(static_cast<double>(text.size()) * static_cast<double>(source.edges) /
                                             static_cast<double>(std::max<std::int64_t>(written, 1))));
    expected = true;
    file.write(text);
    text.clear();
    if (session.execution.stop.stop_requested()) throw InterruptedError(std::string(while_writing));
    session.execution.progress({"generate", written, source.edges, {}});
  };
  const auto add = [&](std::int64_t number, char end) {
    char digits[24];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
    text += end;
  };
  for (std::int64_t piece = 0; piece < source.pieces; ++piece) {
    source.make(piece, [&](const MadeEdge& edge) {
      text += format.edge_begins;
      add(edge.from + 1, format.separator);
      add(edge.to + 1, format.separator);
      add(edge.weight, '\n');
      ++written;
    });
    if (text.size() >= bytes_at_once) flush();
  }
  flush();
}

void write_matrix(core::AtomicFile& file, const Source& source, const Session& session) {
  const std::int64_t n = source.vertices;
  const std::uint64_t bytes = files::npy_size<std::int32_t>(n, n);
  file.expect(bytes);
  execution::check_memory(bytes, session.execution);
  Matrix<std::int32_t> weights(n, n);
  for (std::int64_t row = 0; row < n; ++row) {
    std::fill_n(weights.view().row(row), n, std::numeric_limits<std::int32_t>::max());
    if (session.execution.stop.stop_requested()) throw InterruptedError(std::string(while_writing));
  }
  for (std::int64_t piece = 0; piece < source.pieces; ++piece) {
    source.make(piece,
                [&](const MadeEdge& edge) { weights(edge.from, edge.to) = static_cast<std::int32_t>(edge.weight); });
    if (session.execution.stop.stop_requested()) throw InterruptedError(std::string(while_writing));
    session.execution.progress({"generate", piece + 1, source.pieces, {}});
  }
  files::write_npy(file, MatrixView<const std::int32_t>(weights.view()));
}

int write(const Source& source, const Session& session, const Generator::Request& request) {
  const auto start = core::Clock::now();
  const files::GraphFormat* const format = format_of(request.output);
  core::AtomicFile file(request.output, session.execution.stop);
  if (format == nullptr) write_matrix(file, source, session);
  else write_text(file, *format, source, session);
  file.commit();
  const double seconds = core::seconds_since(start);
  if (session.json)
    session.print_json({{"kind", request.kind},
                        {"n", source.vertices},
                        {"edges", source.edges},
                        {"seed", request.seed},
                        {"output", request.output},
                        {"seconds", {{"total", seconds}}}});
  else
    session.note(fmt::format("wrote {} and {} to '{}' in {:.3g} s",
                             source.vertices == 1 ? "1 vertex" : grouped(source.vertices) + " vertices",
                             counted(source.edges, "edge"), request.output, seconds));
  return 0;
}

void add_count(Options& options, const std::string& name, std::int64_t& target, const std::string& description,
               std::int64_t most) {
  options.value(name, "N", description,
                [name, &target, most](const std::string& text) { target = parse_whole(name, text, 1, most); });
}

/// Adds an option whose value is a range LOW,HIGH.
void add_range(Options& options, const std::string& name, WeightRange& range, const std::string& description,
               std::int64_t least) {
  options.value(name, "LOW,HIGH", description + " [1,1000]", [name, &range, least](const std::string& text) {
    const std::size_t comma = text.find(',');
    const auto part = [&](std::size_t begin, std::size_t length) {
      return parse_whole(name, begin > text.size() ? "" : text.substr(begin, length), least, heaviest);
    };
    if (comma == std::string::npos)
      throw UsageError(name + ": " + core::excerpt(text) + " is no range; 1,1000 is an example");
    range = {part(0, comma), part(comma + 1, std::string::npos)};
    if (range.least > range.greatest) throw UsageError(name + ": " + core::excerpt(text) + " begins above its end");
  });
}

Action setup_road_grid(Options& options, Session& session, const Generator::Request& request) {
  auto grid = std::make_shared<RoadGrid>();
  add_count(options, "--rows", grid->rows, "rows of crossings", most_vertices);
  add_count(options, "--columns", grid->columns, "crossings of a row", most_vertices);
  add_range(options, "--lengths", grid->lengths, "range of the integer lengths of roads", 0);
  return [grid, &session, &request] {
    if (grid->rows == 0 || grid->columns == 0) throw UsageError("road-grid needs --rows and --columns");
    if (grid->rows > most_vertices / grid->columns)
      throw UsageError(fmt::format("{} x {} crossings; 2147483647 vertices are the most", grid->rows, grid->columns));
    grid->seed = request.seed;
    return write({.vertices = grid->vertices(),
                  .edges = grid->edges(),
                  .pieces = grid->vertices(),
                  .make = [&](std::int64_t vertex,
                              const std::function<void(const MadeEdge&)>& use) { grid->edges_from(vertex, use); }},
                 session, request);
  };
}

Action setup_random_graph(Options& options, Session& session, const Generator::Request& request) {
  auto graph = std::make_shared<RandomEdges>();
  RandomEdges& made = *graph;
  add_count(options, "--vertices", made.vertices, "number of vertices", most_vertices);
  add_count(options, "--edges", made.edges, "number of edges, all different, none from a vertex to itself",
            std::numeric_limits<std::int64_t>::max());
  add_range(options, "--weights", made.weights, "range of the integer weights, which may be negative", -heaviest);
  options.flag(
      "--climbs", made.climbs,
      "each vertex has a height of up to HIGH, and a weight includes the climb: some are negative, but no cycle is");
  return [graph, &session, &request] {
    RandomEdges& made = *graph;
    const double density = request.density.value_or(0);
    if (made.vertices == 0) throw UsageError("random-graph needs --vertices");
    if (request.density && !(density > 0)) throw UsageError("--density: 0 is no share of edges");
    if ((made.edges > 0) == (density > 0))
      throw UsageError("give the number of edges (--edges) or their share (--density), one of the two");
    const std::int64_t most = RandomEdges::most_edges(made.vertices);
    if (density > 0) made.edges = std::min(most, std::int64_t{std::llround(density * static_cast<double>(most))});
    if (made.edges > most)
      throw UsageError(fmt::format("--edges {}: there are at most {} different edges", made.edges, most));
    if (made.climbs && made.weights.least < 0)
      throw UsageError("--climbs: --weights must not be negative, or cycles might be");
    made.seed = request.seed;
    constexpr std::int64_t edges_of_a_piece = 1024;
    return write({.vertices = made.vertices,
                  .edges = made.edges,
                  .pieces = (made.edges + edges_of_a_piece - 1) / edges_of_a_piece,
                  .make =
                      [&](std::int64_t piece, const std::function<void(const MadeEdge&)>& use) {
                        const std::int64_t last = std::min(made.edges, (piece + 1) * edges_of_a_piece);
                        for (std::int64_t edge = piece * edges_of_a_piece; edge < last; ++edge) use(made.edge(edge));
                      }},
                 session, request);
  };
}

}  // namespace

Generator road_grid_generator() {
  return {"road-grid", "a graph of crossings in rows and columns", "", setup_road_grid};
}
Generator random_graph_generator() {
  return {"random-graph", "a graph of random edges", "of random-graph: share of the edges that there could be",
          setup_random_graph};
}

}  // namespace gradus::cli
