// A checked request of the caller.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "core/text.hpp"
#include "cpu/chosen_threads.hpp"
#include "execution/request.hpp"
#include "shortest_paths/finish.hpp"
#include "shortest_paths/graph.hpp"
#include "shortest_paths/options.hpp"
#include "shortest_paths/sparse_graph.hpp"

namespace gradus::shortest_paths_detail {

/// Returns `options.no_edge` in the graph's own type.
template <class T>
T no_edge_of(const ShortestPathsOptions& options) {
  if (!options.no_edge) return no_route<T>();
  const double wanted = *options.no_edge;
  if (std::isnan(wanted) || wanted == -std::numeric_limits<double>::infinity())
    throw UsageError("the value for 'no edge' is " + core::number_text(wanted) +
                     ", which no weight may be; +inf stands for none without being named");
  // The greatest int64 rounds up when it is converted to double. Smaller values convert exactly, or the test below
  // refuses them.
  const bool in_range = std::is_floating_point_v<T> || (wanted >= static_cast<double>(std::numeric_limits<T>::min()) &&
                                                        wanted < -static_cast<double>(std::numeric_limits<T>::min()));
  if (!in_range || static_cast<double>(static_cast<T>(wanted)) != wanted)
    throw UsageError("the value for 'no edge', " + core::number_text(wanted) + ", is not a number of the type " +
                     std::string(type_name<T>()));
  // Beyond 2^53, neighbouring integers convert to the same double, so the caller may have meant another integer.
  if (!std::is_floating_point_v<T> && std::abs(wanted) >= 0x1p53)
    throw UsageError("the value for 'no edge', " + core::number_text(wanted) +
                     ", must be nearer to 0 than 2^53; the greatest " + std::string(type_name<T>()) +
                     " stands for none without being named");
  return static_cast<T>(wanted);
}

template <class View>
void check_result(View view, std::int64_t rows, std::int64_t n, const char* what) {
  execution::check_view(view, what);
  if (view.data() == nullptr && view.rows() == 0) return;
  if (view.rows() != rows || view.columns() != n)
    throw UsageError(about(what) + "memory of " + std::to_string(view.rows()) + " x " + std::to_string(view.columns()) +
                     " elements for the results of " + (rows == n ? "" : std::to_string(rows) + " of ") +
                     std::to_string(n) + " vertices");
}

/// Returns true if two views share bytes.
template <class A, class B>
bool overlap(MatrixView<A> one, MatrixView<B> other) {
  return execution::overlap(execution::facts_of(one), execution::facts_of(other));
}

inline void check_sources(const std::vector<std::int64_t>& sources, std::int64_t n) {
  for (const std::int64_t source : sources)
    if (source < 0 || source >= n)
      throw UsageError("there is no vertex " + std::to_string(source) + " among " + std::to_string(n) +
                       " (counted from 0)");
}

/// A checked request of the caller.
template <class T>
struct Request {
  Graph<T> graph;  ///< set if the graph is a matrix
  std::variant<std::monostate, EdgeView<T>, CsrView<T>> edges;
  std::int64_t vertices = 0;
  ShortestPathsOptions options;
  ShortestPathsMemory<T> memory;
  Execution execution;
  int threads = 1;
  std::int64_t target = -1;  ///< the only vertex whose distance is needed, or -1 for all

  Request(MatrixView<const T> weights, const ShortestPathsOptions& wanted, const ShortestPathsMemory<T>& results,
          const Execution& where)
      : graph{weights, no_edge_of<T>(wanted)}, options(wanted), memory(results), execution(where) {
    execution::check_execution(execution);
    execution::check_extent(weights, "weights");
    if (weights.rows() != weights.columns())
      throw InputError(about("weights") + "a matrix of " + std::to_string(weights.rows()) + " x " +
                       std::to_string(weights.columns()) + "; as many rows as columns are needed, one per vertex");
    vertices = weights.rows();
    check_rest();
    if (!options.sources.empty()) check_results_are_here("of chosen sources");
    if (overlap(memory.predecessors, weights))
      throw UsageError(about("predecessors") + "their memory overlaps the weights or distances");
    const bool same = options.sources.empty() && memory.distances.data() == weights.data() &&
                      memory.distances.row_stride() == weights.row_stride();
    if (!same && overlap(memory.distances, weights))
      throw UsageError(about("distances") + "their memory overlaps part of the weights");
    execution = execution::run_on_gpu_of_views<Variant>(places(), variants(), Room::name, execution);
    choose_threads();
  }

  template <class Edges>
  Request(const Edges& list, const ShortestPathsOptions& wanted, const ShortestPathsMemory<T>& results,
          const Execution& where)
      : graph{{}, no_edge_of<T>(wanted)}, edges(list), options(wanted), memory(results), execution(where) {
    execution::check_execution(execution);
    check_edges(list);
    vertices = vertices_of(list);
    check_rest();
    check_results_are_here("of a graph given by its edges");
    choose_threads();
  }

  std::int64_t n() const { return vertices; }
  std::int64_t rows() const { return options.sources.empty() ? n() : std::ssize(options.sources); }
  std::int64_t source_of(std::int64_t row) const {
    return options.sources.empty() ? row : options.sources[static_cast<std::size_t>(row)];
  }
  bool is_matrix() const { return std::holds_alternative<std::monostate>(edges); }
  EdgeRules<T> rules() const { return {graph.no_edge, options.undirected, options.unweighted}; }

  /// Chooses the number of threads by the work between two barriers. For a matrix, this is one step over all tiles. For
  /// edge lists, it is all searches.
  void choose_threads() {
    const auto n = static_cast<double>(vertices);
    const double of_searches = 10 * static_cast<double>(rows()) * (n + static_cast<double>(listed()));
    threads = cpu::chosen_threads(is_matrix() ? 4 * n * n : of_searches, execution);
    execution.threads = threads;
  }

  std::array<execution::NamedPlace, 3> places() const {
    return {{{graph.weights.place(), "weights"},
             {memory.distances.place(), "distances"},
             {memory.predecessors.place(), "predecessors"}}};
  }

  /// Returns the number of edges in the caller's list, or -1 for a matrix.
  std::int64_t listed() const {
    return std::visit(
        [](const auto& list) -> std::int64_t {
          if constexpr (std::is_same_v<decltype(list), const std::monostate&>) return -1;
          else return number_of_edges(list);
        },
        edges);
  }

 private:
  void check_rest() {
    core::check_options(options);
    check_sources(options.sources, n());
    check_result(memory.distances, rows(), n(), "distances");
    check_result(memory.predecessors, rows(), n(), "predecessors");
    if (memory.predecessors.rows() > 0 && !options.predecessors)
      throw UsageError(about("predecessors") + "memory was passed, but they are not requested");
    if (overlap(memory.predecessors, memory.distances))
      throw UsageError(about("predecessors") + "their memory overlaps the weights or distances");
  }
  void check_results_are_here(const std::string& results) const {
    if (!memory.distances.place().is_host() || !memory.predecessors.place().is_host())
      throw UnsupportedError("the results " + results + " are written to host memory only; give such");
  }
};

}  // namespace gradus::shortest_paths_detail
