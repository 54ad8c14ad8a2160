// The public entry points: check, choose, run.
#include "gradus/shortest_paths.hpp"

#include <algorithm>
#include <string>

#include "core/float_environment.hpp"
#include "core/phases.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "shortest_paths/complete.hpp"
#include "shortest_paths/gpu/run_on_gpu.hpp"
#include "shortest_paths/memory.hpp"
#include "shortest_paths/negative_cycle.hpp"
#include "shortest_paths/prepared.hpp"
#include "shortest_paths/request.hpp"

namespace gradus {

namespace room = shortest_paths_detail;

namespace {

const room::Variant& select(const room::Shape& shape, const Execution& execution) {
  const room::Variant& variant =
      execution::wanted_variant(room::variants(), room::choose, shape, execution, room::Room::name);
  execution::check_runs_here(variant, shape, execution, room::Room::name);
  return variant;
}

/// Error where the job does not fit the host's memory.
template <class T>
void check_memory(const room::Request<T>& request, std::uint64_t needed) {
  execution::check_memory(needed, request.execution,
                          request.options.sources.empty() ? "the rows of some sources alone take less" : "");
}

/// All distances of a graph in its matrix, then those rows of them that are wanted.
template <class T>
void solve_whole(const room::Request<T>& request, const room::Variant& variant, room::Prepared<T>& input,
                 MatrixView<T> distances, MatrixView<std::int32_t> predecessors, std::vector<Phase>& phases) {
  using Wide = room::Wider<T>;
  const std::stop_token& stop = request.execution.stop;
  const room::Examined<T>& facts = input.facts;
  const bool chosen_rows = !request.options.sources.empty();
  if (!input.has_matrix) {
    const core::PhaseTimer timer(phases, "prepare");
    input.weights = Matrix<T>(request.n(), request.n());
    room::write_matrix(input.sparse, input.weights.view(), request.threads, stop);
    input.graph = {input.weights.view()};
  }
  room::Graph<T> graph = input.graph;
  Matrix<T> copy;
  if (!variant.device_input && room::needs_copy(request, facts)) {
    copy = Matrix<T>::copy_of(graph.weights);
    graph.weights = copy.view();
  }
  Matrix<std::int32_t> all_predecessors;
  const MatrixView<std::int32_t> wanted_predecessors = predecessors;
  if (chosen_rows && request.options.predecessors) {
    all_predecessors = Matrix<std::int32_t>(request.n(), request.n());
    predecessors = all_predecessors.view();
  }
  const auto prepare = [&](auto matrix) {
    const core::PhaseTimer timer(phases, "prepare");
    room::fill(graph, matrix, request.threads, stop);
  };
  if (variant.device_input) {
    if constexpr (cuda::is_compiled) room::run_on_gpu(request, variant, input, distances, predecessors, phases);
  } else if (facts.width() == room::Width::own) {
    Matrix<T> all;
    MatrixView<T> matrix = distances;
    if (chosen_rows) {
      all = Matrix<T>(request.n(), request.n());
      matrix = all.view();
    }
    auto problem = room::problem_of<T>(request.execution, request.options, facts);
    problem.distances = matrix;
    problem.greatest = facts.greatest;
    problem.predecessors = predecessors;
    prepare(matrix);
    const room::Solved solved = variant.run(problem, request.execution, phases);
    room::complete<T, T>(request, graph, facts, matrix, static_cast<T>(facts.greatest), solved.predecessors, distances,
                         predecessors, phases);
  } else {
    Matrix<Wide> matrix(request.n(), request.n());
    prepare(matrix.view());
    room::Solved solved;
    if constexpr (sizeof(T) == 4) {
      auto problem = room::problem_of<Wide>(request.execution, request.options, facts);
      problem.distances = matrix.view();
      problem.greatest = facts.greatest;
      problem.predecessors = predecessors;
      solved = variant.run(problem, request.execution, phases);
    } else {
      auto problem = room::problem_of<T>(request.execution, request.options, facts);
      problem.wide = matrix.view();
      problem.greatest = facts.greatest;
      problem.predecessors = predecessors;
      solved = variant.run(problem, request.execution, phases);
    }
    room::complete<T, Wide>(request, graph, facts, matrix.view(), facts.greatest, solved.predecessors, distances,
                            predecessors, phases);
  }
  if (chosen_rows && request.options.predecessors)
    for (std::int64_t row = 0; row < request.rows(); ++row)
      std::copy_n(predecessors.row(request.source_of(row)), request.n(), wanted_predecessors.row(row));
}

template <class T>
ShortestPathsResult<T> run(const room::Request<T>& request, core::Clock::time_point start) {
  const Execution& execution = request.execution;
  check_memory(request, room::least_memory(request));
  cpu::start_team(request.threads);
  std::vector<Phase> phases;
  room::Prepared<T> input = room::prepared(request, phases);
  const room::Examined<T>& facts = input.facts;
  const room::Shape shape = room::shape_of(request, facts);
  const room::Variant& variant = select(shape, execution);
  for (const execution::NamedPlace& one : request.places())
    execution::check_takes_device_input(room::variants(), variant, one.place, one.what, room::Room::name);
  check_memory(request, room::memory_needed(request, facts, shape, variant));
  if (!variant.device_input) input.job.reset();
  if (room::takes_edge_lists(variant) && !input.has_lists) {
    const core::PhaseTimer timer(phases, "prepare");
    input.sparse = room::sparse_graph(input.graph, request.threads, execution.stop);
    input.has_lists = true;
  }
  std::vector<room::Wider<T>> least_lengths;
  if (facts.negative && !variant.device_input) {
    const core::PhaseTimer timer(phases, "negative_cycles");
    least_lengths = input.has_lists ? room::refuse_negative_cycles(input.sparse, execution.stop)
                                    : room::refuse_negative_cycles(input.graph, execution.stop);
  }
  ShortestPathsResult<T> result;
  MatrixView<T> distances = request.memory.distances;
  MatrixView<std::int32_t> predecessors = request.memory.predecessors;
  if (distances.rows() == 0) {
    result.distances = Matrix<T>(request.rows(), request.n());
    distances = result.distances.view();
  }
  if (request.options.predecessors && predecessors.rows() == 0) {
    result.predecessors = Matrix<std::int32_t>(request.rows(), request.n());
    predecessors = result.predecessors.view();
  }
  const int threads = variant.backend == core::Backend::sequential ? 1 : request.threads;
  {
    const cpu::PinnedTeam team(request.threads, execution.pinning);
    if (room::takes_edge_lists(variant)) {
      room::SparseProblem<T> job;
      job.graph = &input.sparse;
      job.sources = request.options.sources;
      job.target = request.target;
      job.least_lengths = least_lengths;
      job.positive = facts.positive;
      job.wide_sums = facts.width() != room::Width::own;
      job.distances = distances;
      job.predecessors = predecessors;
      auto problem = room::problem_of<T>(execution, request.options, facts);
      problem.sparse = &job;
      variant.run(problem, execution, phases);
    } else {
      solve_whole(request, variant, input, distances, predecessors, phases);
    }
  }
  result.report.variant = variant.name;
  result.report.device = execution::device_name(variant.backend == core::Backend::cuda, execution);
  result.report.threads = threads;
  core::add_phase(phases, "total", core::seconds_since(start));
  result.report.phases = std::move(phases);
  return result;
}

/// From a request to its result.
template <class T>
ShortestPathsResult<T> find(const room::Request<T>& request, core::Clock::time_point start) {
  return execution::whole_call(request.execution, [&](const Execution& here) {
    if (!here.progress) return run(request, start);
    room::Request<T> guarded = request;
    guarded.execution = here;
    return run(guarded, start);
  });
}

/// One route by the row of predecessors of its first vertex.
template <class T, class Edges>
ShortestRoute<T> find_route(const Edges& edges, std::int64_t from, std::int64_t to, const ShortestPathsOptions& options,
                            const Execution& execution) {
  const auto start = core::Clock::now();
  if (!options.sources.empty()) throw UsageError(about("sources") + "a route has one, its first vertex");
  ShortestPathsOptions of_row = options;
  of_row.sources = {from, to};  // so that both are checked
  of_row.predecessors = true;
  room::Request<T> request(edges, of_row, {}, execution);
  request.options.sources.pop_back();
  request.target = to;
  ShortestPathsResult<T> row = find(request, start);
  ShortestRoute<T> route;
  route.vertices = shortest_path_route(
      VectorView<const std::int32_t>(row.predecessors.row(0), row.predecessors.columns()), from, to);
  route.distance = row.distances(0, to);
  route.report = std::move(row.report);
  return route;
}

}  // namespace

MemoryEstimate shortest_paths_memory(const ShortestPathsShape& shape, const ShortestPathsOptions& options,
                                     const Execution& execution) {
  const core::DefaultFloatEnvironment environment;
  execution::check_execution(execution);
  execution::check_element_bytes(shape.element_bytes);
  const bool is_matrix = shape.edges < 0;
  const std::int64_t n = shape.vertices;
  if (n < 0 || n > std::numeric_limits<std::int32_t>::max())
    throw UsageError("a graph has 0 to 2147483647 vertices, not " + std::to_string(n));
  room::check_sources(options.sources, n);
  room::check_tile(options);
  if (shape.edges < -1)
    throw UsageError(about("edges") + std::to_string(shape.edges) + " is not a number of them, nor -1");
  execution::check_size({is_matrix ? 1 : shape.edges, 64}, "edges");
  const std::int64_t given = is_matrix ? n * std::max<std::int64_t>(n - 1, 0) : shape.edges;
  room::Sizes sizes;
  sizes.listed = is_matrix ? -1 : shape.edges;
  sizes.element_bytes = shape.element_bytes;
  sizes.adapted = options.undirected || options.unweighted;
  sizes.undirected = options.undirected;
  sizes.at_most = true;
  const bool next = shape.wide_sums && shape.element_bytes == 4;
  sizes.shape = {.vertices = n,
                 .edges = options.undirected && !is_matrix ? 2 * given : given,
                 .sources = options.sources.empty() ? -1 : std::ssize(options.sources),
                 .element_bytes = next ? 8 : shape.element_bytes,
                 .floating = shape.floating,
                 .negative = shape.negative,
                 .wide = shape.wide_sums && !next,
                 .predecessors = options.predecessors};
  sizes.copied = is_matrix && shape.in_place && (options.predecessors || (shape.floating && shape.negative));
  const int threads = cpu::thread_count(execution);
  const room::Variant& variant = select(sizes.shape, execution);
  return {.host = room::work_bytes(sizes, variant, threads), .device = variant.memory(sizes.shape, threads).device};
}

namespace detail {

template <class T>
ShortestPathsResult<T> shortest_paths(MatrixView<const T> weights, const ShortestPathsOptions& options,
                                      const ShortestPathsMemory<T>& memory, const Execution& execution) {
  const auto start = core::Clock::now();
  return find(room::Request<T>(weights, options, memory, execution), start);
}

template <class T>
ShortestPathsResult<T> shortest_paths(const EdgeView<T>& edges, const ShortestPathsOptions& options,
                                      const ShortestPathsMemory<T>& memory, const Execution& execution) {
  const auto start = core::Clock::now();
  return find(room::Request<T>(edges, options, memory, execution), start);
}

template <class T>
ShortestPathsResult<T> shortest_paths(const CsrView<T>& edges, const ShortestPathsOptions& options,
                                      const ShortestPathsMemory<T>& memory, const Execution& execution) {
  const auto start = core::Clock::now();
  return find(room::Request<T>(edges, options, memory, execution), start);
}

template <class T>
ShortestRoute<T> shortest_route(MatrixView<const T> weights, std::int64_t from, std::int64_t to,
                                const ShortestPathsOptions& options, const Execution& execution) {
  return find_route<T>(weights, from, to, options, execution);
}
template <class T>
ShortestRoute<T> shortest_route(const EdgeView<T>& edges, std::int64_t from, std::int64_t to,
                                const ShortestPathsOptions& options, const Execution& execution) {
  return find_route<T>(edges, from, to, options, execution);
}
template <class T>
ShortestRoute<T> shortest_route(const CsrView<T>& edges, std::int64_t from, std::int64_t to,
                                const ShortestPathsOptions& options, const Execution& execution) {
  return find_route<T>(edges, from, to, options, execution);
}

#define GRADUS_INSTANTIATE(T)                                                                                          \
  template ShortestRoute<T> shortest_route(MatrixView<const T>, std::int64_t, std::int64_t,                            \
                                           const ShortestPathsOptions&, const Execution&);                             \
  template ShortestRoute<T> shortest_route(const EdgeView<T>&, std::int64_t, std::int64_t,                             \
                                           const ShortestPathsOptions&, const Execution&);                             \
  template ShortestRoute<T> shortest_route(const CsrView<T>&, std::int64_t, std::int64_t, const ShortestPathsOptions&, \
                                           const Execution&);                                                          \
  template ShortestPathsResult<T> shortest_paths(MatrixView<const T>, const ShortestPathsOptions&,                     \
                                                 const ShortestPathsMemory<T>&, const Execution&);                     \
  template ShortestPathsResult<T> shortest_paths(const EdgeView<T>&, const ShortestPathsOptions&,                      \
                                                 const ShortestPathsMemory<T>&, const Execution&);                     \
  template ShortestPathsResult<T> shortest_paths(const CsrView<T>&, const ShortestPathsOptions&,                       \
                                                 const ShortestPathsMemory<T>&, const Execution&)
GRADUS_INSTANTIATE(std::int32_t);
GRADUS_INSTANTIATE(std::int64_t);
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace detail

std::vector<std::int32_t> shortest_path_route(VectorView<const std::int32_t> predecessors, std::int64_t from,
                                              std::int64_t to) {
  execution::check_view(predecessors, "predecessors");
  const std::int64_t n = predecessors.size();
  if (!predecessors.place().is_host()) throw UsageError(about("predecessors") + "they must lie in host memory");
  for (const std::int64_t vertex : {from, to})
    if (vertex < 0 || vertex >= n)
      throw UsageError("there is no vertex " + std::to_string(vertex) + " among " + std::to_string(n) +
                       " (counted from 0)");
  std::vector<std::int32_t> route{static_cast<std::int32_t>(to)};
  while (route.back() != from) {
    const std::int32_t before = predecessors[route.back()];
    if (before == -1 && route.size() == 1) return {};
    if (before < 0 || before >= n || std::ssize(route) >= n)
      throw InputError(about("predecessors") + "the walk back from vertex " + std::to_string(to) +
                       " does not reach vertex " + std::to_string(from));
    route.push_back(before);
  }
  std::reverse(route.begin(), route.end());
  return route;
}

std::vector<std::int32_t> shortest_path_route(MatrixView<const std::int32_t> predecessors, std::int64_t from,
                                              std::int64_t to) {
  execution::check_view(predecessors, "predecessors");
  if (predecessors.columns() != predecessors.rows() || !predecessors.place().is_host())
    throw UsageError(about("predecessors") + "a square matrix in host memory is needed");
  if (predecessors.rows() == 0)
    throw UsageError(about("predecessors") + "there are none; a run finds them where they are asked for");
  // Of a vertex that does not exist there is no row; the other call says so.
  const std::int64_t row = from >= 0 && from < predecessors.rows() ? from : 0;
  return shortest_path_route(VectorView<const std::int32_t>(predecessors.row(row), predecessors.columns()), from, to);
}

}  // namespace gradus
