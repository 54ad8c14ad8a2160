// The public entry points: check, choose, run.
#include "gradus/shortest_paths.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <variant>

#include "core/phases.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "shortest_paths/finish.hpp"
#include "shortest_paths/gpu/gpu_graph.hpp"
#include "shortest_paths/graph.hpp"
#include "shortest_paths/negative_cycle.hpp"
#include "shortest_paths/predecessors.hpp"
#include "shortest_paths/sparse_graph.hpp"

namespace gradus {

namespace room = shortest_paths_detail;

namespace {

constexpr const char* problem_name = "shortest_paths";

/// The option's value in the graph's own type.
template <class T>
T no_edge_of(const ShortestPathsOptions& options) {
  if (!options.no_edge) return room::no_route<T>();
  const double wanted = *options.no_edge;
  if (std::isnan(wanted) || wanted == -std::numeric_limits<double>::infinity())
    throw UsageError("the value for 'no edge' is " + core::number_text(wanted) +
                     ", which no weight may be; +inf stands for none without being named");
  // The greatest int64 rounds up as a double; what lies below that is converted without loss or found out.
  const bool in_range = std::is_floating_point_v<T> || (wanted >= static_cast<double>(std::numeric_limits<T>::min()) &&
                                                        wanted < -static_cast<double>(std::numeric_limits<T>::min()));
  if (!in_range || static_cast<double>(static_cast<T>(wanted)) != wanted)
    throw UsageError("the value for 'no edge', " + core::number_text(wanted) + ", is not a number of the type " +
                     std::string(room::type_name<T>()));
  // Beyond, neighbouring whole numbers are the same double: another one may have been meant.
  if (!std::is_floating_point_v<T> && std::abs(wanted) >= 0x1p53)
    throw UsageError("the value for 'no edge', " + core::number_text(wanted) +
                     ", must be nearer to 0 than 2^53; the greatest " + std::string(room::type_name<T>()) +
                     " stands for none without being named");
  return static_cast<T>(wanted);
}

template <class View>
void check_result(View view, std::int64_t rows, std::int64_t n, const char* what) {
  execution::check_view(view, what);
  if (view.data() == nullptr && view.rows() == 0) return;
  if (view.rows() != rows || view.columns() != n)
    throw UsageError(std::string(what) + ": memory of " + std::to_string(view.rows()) + " x " +
                     std::to_string(view.columns()) + " elements for the results of " +
                     (rows == n ? "" : std::to_string(rows) + " of ") + std::to_string(n) + " vertices");
}

/// The request, with the GPU on which views lie as the one to run on.
template <class T>
Execution where_views_lie(MatrixView<const T> weights, const ShortestPathsMemory<T>& memory,
                          const Execution& execution) {
  const std::array<execution::NamedPlace, 3> all{{{weights.place(), "weights"},
                                                  {memory.distances.place(), "distances"},
                                                  {memory.predecessors.place(), "predecessors"}}};
  const auto* const there =
      std::ranges::find_if(all, [](const execution::NamedPlace& one) { return !one.place.is_host(); });
  if (there == all.end()) return execution;
  Execution here = execution::run_where_it_lies(there->place, there->what, execution);
  for (const execution::NamedPlace& one : all) execution::check_beside(one.place, one.what, true, here.gpu);
  if (here.variant.empty()) return here;
  const room::Variant& variant = core::find_variant(room::variants(), here.variant, problem_name);
  execution::check_takes_device_input(room::variants(), variant, there->place, there->what, problem_name);
  return here;
}

/// Whether two views have bytes in common.
template <class A, class B>
bool overlap(MatrixView<A> one, MatrixView<B> other) {
  return execution::overlap(execution::facts_of(one), execution::facts_of(other));
}

void check_sources(const std::vector<std::int64_t>& sources, std::int64_t n) {
  for (const std::int64_t source : sources)
    if (source < 0 || source >= n)
      throw UsageError("there is no vertex " + std::to_string(source) + " among " + std::to_string(n) +
                       " (counted from 0)");
}

void check_tile(const ShortestPathsOptions& options) {
  if (options.tile < 0) throw UsageError("tile: " + std::to_string(options.tile) + " is not a size");
}

/// What the caller asks for, checked.
template <class T>
struct Request {
  room::Graph<T> graph;  ///< where it is a matrix
  std::variant<std::monostate, EdgeView<T>, CsrView<T>> edges;
  std::int64_t vertices = 0;
  ShortestPathsOptions options;
  ShortestPathsMemory<T> memory;
  Execution execution;
  int threads = 1;
  std::int64_t target = -1;  ///< the only vertex to which the route is wanted, or -1: all

  Request(MatrixView<const T> weights, const ShortestPathsOptions& wanted, const ShortestPathsMemory<T>& results,
          const Execution& where)
      : graph{weights, no_edge_of<T>(wanted)}, options(wanted), memory(results), execution(where) {
    execution::check_execution(execution);
    execution::check_extent(weights, "weights");
    if (weights.rows() != weights.columns())
      throw InputError("weights: a matrix of " + std::to_string(weights.rows()) + " x " +
                       std::to_string(weights.columns()) + "; as many rows as columns are needed, one per vertex");
    vertices = weights.rows();
    check_rest();
    if (!options.sources.empty()) check_results_are_here("of chosen sources");
    if (overlap(memory.predecessors, weights))
      throw UsageError("predecessors: their memory overlaps that of weights or distances");
    const bool same = options.sources.empty() && memory.distances.data() == weights.data() &&
                      memory.distances.row_stride() == weights.row_stride();
    if (!same && overlap(memory.distances, weights))
      throw UsageError("distances: their memory overlaps that of the weights, and is not the same");
    execution = where_views_lie(weights, memory, execution);
    threads = cpu::thread_count(execution);
  }

  template <class Edges>
  Request(const Edges& list, const ShortestPathsOptions& wanted, const ShortestPathsMemory<T>& results,
          const Execution& where)
      : graph{{}, no_edge_of<T>(wanted)}, edges(list), options(wanted), memory(results), execution(where) {
    execution::check_execution(execution);
    room::check_edges(list);
    vertices = room::vertices_of(list);
    check_rest();
    check_results_are_here("of a graph given by its edges");
    threads = cpu::thread_count(execution);
  }

  std::int64_t n() const { return vertices; }
  std::int64_t rows() const { return options.sources.empty() ? n() : std::ssize(options.sources); }
  std::int64_t source_of(std::int64_t row) const {
    return options.sources.empty() ? row : options.sources[static_cast<std::size_t>(row)];
  }
  bool is_matrix() const { return std::holds_alternative<std::monostate>(edges); }
  room::Taking<T> taking() const { return {graph.no_edge, options.undirected, options.unweighted}; }

  /// How many edges the caller lists; -1: none, but a matrix.
  std::int64_t listed() const {
    return std::visit(
        [](const auto& list) -> std::int64_t {
          if constexpr (std::is_same_v<decltype(list), const std::monostate&>) return -1;
          else return room::number_of_edges(list);
        },
        edges);
  }

 private:
  void check_rest() {
    check_tile(options);
    check_sources(options.sources, n());
    check_result(memory.distances, rows(), n(), "distances");
    check_result(memory.predecessors, rows(), n(), "predecessors");
    if (memory.predecessors.rows() > 0 && !options.predecessors)
      throw UsageError("predecessors: there is memory for them, but they are not wanted");
    if (overlap(memory.predecessors, memory.distances))
      throw UsageError("predecessors: their memory overlaps that of weights or distances");
  }
  void check_results_are_here(const std::string& results) const {
    if (!memory.distances.place().is_host() || !memory.predecessors.place().is_host())
      throw UnsupportedError("the results " + results + " are written to host memory only; give such");
  }
};

/// Whether the job runs on a GPU whatever the edges are like, so that they can be looked at there.
template <class T>
bool is_bound_for_gpu(const Request<T>& request) {
  // For less the processor is done before the GPU has answered.
  constexpr std::int64_t worth_a_look_there = 512;
  const Execution& execution = request.execution;
  if (!request.is_matrix()) return false;
  if (!request.graph.weights.place().is_host()) return true;
  if (!request.taking().as_they_are()) return false;
  if (request.n() < worth_a_look_there || !execution::why_no_gpu(execution::this_machine()).empty()) return false;
  if (execution.variant.empty()) return execution.device == Device::gpu;
  return core::find_variant(room::variants(), execution.variant, problem_name).device_input;
}

/// The graph in the forms that a job needs, and what its edges tell.
template <class T>
struct Prepared {
  room::Graph<T> graph;         ///< a matrix, once there is one: in host memory, or where the caller has it on a GPU
  room::SparseGraph<T> sparse;  ///< lists, once there are some
  Matrix<T> weights;            ///< of `graph`, where the caller gave no such matrix
  room::Examined<T> facts;
  bool has_matrix = false;
  bool has_lists = false;
  std::shared_ptr<cuda::Job> job;  ///< on a GPU, once the graph was brought there
  room::Graph<T> there;            ///< the graph on the job's GPU

  void bring_to_gpu(const Execution& execution, std::uint64_t job_bytes, std::vector<Phase>& phases) {
    if constexpr (cuda::is_compiled) {
      const core::PhaseTimer timer(phases, "to_device");
      there = graph;
      job = room::bring_to_gpu(there, execution, job_bytes);
    } else {
      cuda::refuse_without_cuda("weights");
    }
  }
};

template <class T>
Prepared<T> prepared(const Request<T>& request, std::vector<Phase>& phases) {
  const std::stop_token& stop = request.execution.stop;
  Prepared<T> input;
  if (is_bound_for_gpu(request)) {
    input.graph = request.graph;
    input.bring_to_gpu(request.execution, 0, phases);
  }
  const core::PhaseTimer timer(phases, "examine");
  if (request.is_matrix()) {
    input.graph = request.graph;
    input.has_matrix = true;
    if constexpr (cuda::is_compiled) {
      if (input.job && request.taking().as_they_are()) {
        input.facts = room::examine_on_gpu(input.there, *input.job);
        return input;
      }
      if (input.job) {
        input.weights = Matrix<T>(request.n(), request.n());
        room::copy_matrix(input.graph.weights, input.weights.view(), *input.job);
        input.graph.weights = input.weights.view();
        input.job.reset();
      }
    }
    input.facts = room::examine(input.graph, request.threads, stop);
    if (request.taking().as_they_are()) return input;
    input.weights = room::adapted(input.graph, request.taking(), request.threads, stop);
    input.graph = {input.weights.view()};
    input.facts = room::examine(input.graph, request.threads, stop);
    return input;
  }
  std::visit(
      [&](const auto& list) {
        if constexpr (!std::is_same_v<decltype(list), const std::monostate&>)
          input.sparse = room::sparse_graph(list, request.taking(), stop);
      },
      request.edges);
  input.has_lists = true;
  input.facts = room::examine(input.sparse, stop);
  return input;
}

template <class T>
room::Shape shape_of(const Request<T>& request, const room::Examined<T>& facts) {
  room::Shape shape = facts.shape(request.n(), request.options.predecessors);
  if (!request.options.sources.empty()) shape.sources = request.rows();
  return shape;
}

const room::Variant& select(const room::Shape& shape, const Execution& execution) {
  const room::Variant& variant =
      execution::wanted_variant(room::variants(), room::choose, shape, execution, problem_name);
  execution::check_runs_here(variant, shape, execution, problem_name);
  return variant;
}

/// Whether results take the place of weights that are needed to the end.
template <class T>
bool needs_copy(const Request<T>& request, const room::Examined<T>& facts) {
  return request.is_matrix() && request.taking().as_they_are() &&
         request.memory.distances.data() == request.graph.weights.data() && request.n() > 0 &&
         (request.options.predecessors || (std::is_floating_point_v<T> && facts.negative));
}

/// Sums of bytes that do not wrap.
class Bytes {
 public:
  void add(std::uint64_t bytes) { sum_ = core::checked_add(sum_, bytes, "the memory of the job"); }
  void add_matrix(std::int64_t rows, std::int64_t columns, std::size_t element) {
    add(core::checked_multiply(
        core::checked_multiply(static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), "a matrix"),
        std::uint64_t{element}, "a matrix"));
  }
  std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t sum_ = 0;
};

/// The sizes on which the memory of a job depends beyond its input and its results.
struct Sizes {
  room::Shape shape;
  std::int64_t listed = -1;  ///< edges that the caller lists; -1: a matrix is given
  int element_bytes = 4;     ///< of the caller's weights
  bool adapted = false;      ///< edges are taken otherwise than they are given
  bool undirected = false;
  bool copied = false;    ///< results take the place of weights that are needed to the end
  bool positive = false;  ///< all edges are known to be

  bool widened() const { return shape.wide || shape.element_bytes != element_bytes; }
};

/// Lists of edges, where the caller gives such.
void add_lists(const Sizes& sizes, Bytes& bytes) {
  if (sizes.listed >= 0)
    bytes.add(room::sparse_graph_bytes(sizes.shape.vertices, sizes.listed, sizes.undirected, sizes.element_bytes));
}

std::uint64_t work_bytes(const Sizes& sizes, const room::Variant& variant, int threads) {
  const room::Shape& shape = sizes.shape;
  const std::int64_t n = shape.vertices;
  const auto element = static_cast<std::size_t>(sizes.element_bytes);
  const bool is_matrix = sizes.listed < 0;
  constexpr std::int64_t tree_bytes = 48;
  Bytes bytes;
  bytes.add(variant.memory(shape, threads).host);
  add_lists(sizes, bytes);
  if (sizes.adapted && is_matrix) bytes.add_matrix(n, n, element);
  if (shape.negative) bytes.add_matrix(n, 1, tree_bytes + 4 * element);
  if (room::takes_edge_lists(variant)) {
    if (is_matrix) bytes.add(room::sparse_graph_bytes(n, shape.edges, false, sizes.element_bytes));
    return bytes.sum();
  }
  const bool chosen_rows = shape.sources >= 0;
  if (!is_matrix) bytes.add_matrix(n, n, element);
  if (chosen_rows && shape.predecessors) bytes.add_matrix(n, n, sizeof(std::int32_t));
  if (variant.device_input) {
    // What trees, levels or chosen rows that are left to the processor take: see solve_on_gpu().
    if (chosen_rows || (shape.predecessors ? shape.floating || !sizes.positive : shape.floating && shape.negative)) {
      bytes.add_matrix(n, n, static_cast<std::size_t>(shape.element_bytes));
      bytes.add_matrix(n, n, 3 * element);
    }
  } else {
    if (sizes.widened()) bytes.add_matrix(n, n, 2 * element);
    else if (chosen_rows) bytes.add_matrix(n, n, element);
    if (sizes.copied) bytes.add_matrix(n, n, element);
  }
  // Lists of edges, or trees, for predecessors; rows' facts.
  bytes.add_matrix(n, threads, tree_bytes);
  if (shape.predecessors && !shape.floating && shape.edges < n * n / 16) {
    bytes.add_matrix(shape.edges, 1, sizeof(std::int32_t) + 2 * element);
    bytes.add_matrix(n, 1, sizeof(std::int64_t));
    constexpr std::int64_t side_by_side = 256;  // of lengths and of predecessors
    bytes.add_matrix(n, threads, side_by_side);
  }
  return bytes.sum();
}

template <class T>
Sizes sizes_of(const Request<T>& request, const room::Shape& shape) {
  return {.shape = shape,
          .listed = request.listed(),
          .element_bytes = static_cast<int>(sizeof(T)),
          .adapted = !request.taking().as_they_are(),
          .undirected = request.options.undirected};
}

template <class T>
void add_results(const Request<T>& request, Bytes& bytes) {
  if (request.memory.distances.rows() == 0) bytes.add_matrix(request.rows(), request.n(), sizeof(T));
  if (request.options.predecessors && request.memory.predecessors.rows() == 0)
    bytes.add_matrix(request.rows(), request.n(), sizeof(std::int32_t));
}

/// The results and the lists of edges: what every variant takes.
template <class T>
std::uint64_t least_memory(const Request<T>& request) {
  Bytes bytes;
  add_results(request, bytes);
  add_lists(sizes_of(request, {.vertices = request.n()}), bytes);
  return bytes.sum();
}

template <class T>
std::uint64_t memory_needed(const Request<T>& request, const room::Examined<T>& facts, const room::Shape& shape,
                            const room::Variant& variant) {
  Sizes sizes = sizes_of(request, shape);
  sizes.copied = needs_copy(request, facts);
  sizes.positive = facts.positive;
  Bytes bytes;
  add_results(request, bytes);
  bytes.add(work_bytes(sizes, variant, request.threads));
  return bytes.sum();
}

/// From the matrix in which a variant worked to the caller's, which may be the same; the rows that are wanted.
template <class T, class C>
void finish(const Request<T>& request, MatrixView<const C> solved, C greatest, MatrixView<T> distances) {
  const std::int64_t n = request.n();
  const std::int64_t rows = request.rows();
  const std::stop_token& stop = request.execution.stop;
  std::vector<std::int64_t> too_great(static_cast<std::size_t>(rows), -1);  // the first column of each row
  const std::int64_t stretch = core::stretch_length(rows, n, request.threads);
  const auto finish_row = [&](std::int64_t row) {
    const std::int64_t source = request.source_of(row);
    const C* const lengths = solved.row(source);
    T* const to = distances.row(row);
    const auto route_to = [=](std::int64_t v) { return std::is_floating_point_v<T> || lengths[v] <= greatest; };
    too_great[static_cast<std::size_t>(row)] = room::finish_row(
        n, request.target, to, [=](std::int64_t v) { return lengths[v]; }, route_to);
    to[source] = 0;
  };
#pragma omp parallel for num_threads(request.threads) schedule(static)
  for (std::int64_t first = 0; first < rows; first += stretch) {
    if (stop.stop_requested()) continue;
    for (std::int64_t row = first; row < std::min(first + stretch, rows); ++row) finish_row(row);
  }
  core::honour_stop(stop, "stopped while finishing the matrix");
  for (std::int64_t row = 0; row < rows; ++row)
    if (const std::int64_t column = too_great[static_cast<std::size_t>(row)]; column >= 0)
      room::throw_too_great<T>(request.source_of(row), column, solved(request.source_of(row), column));
}

/// Whether rounding made a cycle negative.
template <class C>
bool diagonal_sank(MatrixView<const C> distances) {
  for (std::int64_t v = 0; v < distances.rows(); ++v)
    if (!(distances(v, v) >= 0)) return true;
  return false;
}

/// What is left to do when a variant has found the distances.
template <class T, class C>
void complete(const Request<T>& request, const room::Graph<T>& graph, const room::Examined<T>& facts,
              MatrixView<C> solved, C greatest, bool have_predecessors, MatrixView<T> distances,
              MatrixView<std::int32_t> predecessors, std::vector<Phase>& phases) {
  const std::stop_token& stop = request.execution.stop;
  const bool wanted = request.options.predecessors && graph.n() > 0;
  if constexpr (std::is_floating_point_v<T>) {
    const bool replace = facts.negative && diagonal_sank<C>(solved);
    if (replace || wanted) {
      const core::PhaseTimer timer(phases, wanted ? "predecessors" : "trees");
      room::grow_trees(graph, solved, replace, wanted ? predecessors : MatrixView<std::int32_t>(), request.threads,
                       stop);
    }
  } else if (wanted) {
    const core::PhaseTimer timer(phases, "predecessors");
    const bool fewest_edges = !facts.positive && room::has_zero_cycle<C>(solved, greatest, request.threads, stop);
    if (!have_predecessors || fewest_edges)
      room::find_predecessors<T, C>(graph, facts.edges, solved, greatest, fewest_edges, predecessors, request.threads,
                                    stop);
  }
  const core::PhaseTimer timer(phases, "finish");
  finish<T, C>(request, solved, greatest, distances);
}

template <class C>
room::Problem<C> problem_of(const Execution& execution, const ShortestPathsOptions& options, const room::Facts& facts) {
  room::Problem<C> problem;
  problem.tile = options.tile;
  problem.edges = facts.edges;
  problem.negative = facts.negative;
  problem.stop = execution.stop;
  return problem;
}

/// What is left to do when a variant has found the distances on a GPU, and what is left is not for one.
template <class T, class C>
void complete_by_host(const Request<T>& request, const Prepared<T>& input, MatrixView<const C> solved, C greatest,
                      MatrixView<T> distances, MatrixView<std::int32_t> predecessors, std::vector<Phase>& phases) {
  const std::int64_t n = request.n();
  Matrix<C> matrix(n, n);
  room::Graph<T> graph = input.graph;
  Matrix<T> weights;
  {
    const core::PhaseTimer timer(phases, "to_host");
    room::copy_matrix(solved, matrix.view(), *input.job);
    if (!graph.weights.place().is_host()) {
      weights = Matrix<T>(n, n);
      room::copy_matrix(graph.weights, weights.view(), *input.job);
      graph.weights = weights.view();
    }
  }
  const auto here = [](auto wanted, auto& own) {
    if (wanted.place().is_host()) return wanted;
    own = std::remove_reference_t<decltype(own)>(wanted.rows(), wanted.columns());
    return own.view();
  };
  Matrix<T> own_distances;
  Matrix<std::int32_t> own_predecessors;
  const MatrixView<T> distances_here = here(distances, own_distances);
  const MatrixView<std::int32_t> predecessors_here = here(predecessors, own_predecessors);
  complete<T, C>(request, graph, input.facts, matrix.view(), greatest, false, distances_here, predecessors_here,
                 phases);
  if (!distances.place().is_host()) room::copy_matrix(MatrixView<const T>(distances_here), distances, *input.job);
  if (!predecessors.place().is_host())
    room::copy_matrix(MatrixView<const std::int32_t>(predecessors_here), predecessors, *input.job);
}

/// As solve(), by a variant that works on a GPU, to which the graph was brought.
template <class T, class C>
void solve_on_gpu(const Request<T>& request, const room::Variant& variant, const Prepared<T>& input,
                  MatrixView<T> distances, MatrixView<std::int32_t> predecessors, std::vector<Phase>& phases) {
  constexpr bool floating = std::is_floating_point_v<T>;
  const std::int64_t n = request.n();
  const room::Examined<T>& facts = input.facts;
  cuda::Job& job = *input.job;
  const auto greatest = static_cast<C>(facts.greatest);
  const bool wanted = request.options.predecessors && n > 0;
  const bool copied = input.graph.weights.place().is_host();
  const auto is_there = [](auto view) { return view.rows() > 0 && !view.place().is_host(); };
  if (is_there(distances)) room::admit(job, distances.data(), "distances");
  if (is_there(predecessors)) room::admit(job, predecessors.data(), "predecessors");

  // The variant works where the result is wanted, or where the copy of the weights is, unless these are still needed.
  const MatrixView<T> copy(const_cast<T*>(input.there.weights.data()), n, n, input.there.weights.place());
  MatrixView<C> solved;
  if constexpr (std::is_same_v<T, C>) {
    const bool keep = wanted || (floating && facts.negative);
    if (is_there(distances) && distances.contiguous() && !(keep && distances.data() == input.graph.weights.data()))
      solved = distances;
    else if (copied && !(wanted && !floating)) solved = copy;
  }
  if (solved.data() == nullptr) solved = room::take_matrix<C>(job, n);
  {
    const core::PhaseTimer timer(phases, "prepare");
    room::fill_on_gpu(input.there, solved, job);
  }
  auto problem = problem_of<C>(request.execution, request.options, facts);
  problem.distances = solved;
  problem.greatest = facts.greatest;
  problem.gpu = &job;
  variant.run(problem, request.execution, phases);

  if (!request.options.sources.empty())
    return complete_by_host<T, C>(request, input, solved, greatest, distances, predecessors, phases);
  MatrixView<std::int32_t> found;
  if constexpr (floating) {
    if (wanted || (facts.negative && room::diagonal_sank_on_gpu<C>(solved, job)))
      return complete_by_host<T, C>(request, input, solved, greatest, distances, predecessors, phases);
  } else if (wanted) {
    const core::PhaseTimer timer(phases, "predecessors");
    if (!facts.positive && room::has_zero_cycle_on_gpu<C>(solved, greatest, job))
      return complete_by_host<T, C>(request, input, solved, greatest, distances, predecessors, phases);
    found =
        is_there(predecessors) && predecessors.contiguous() ? predecessors : room::take_matrix<std::int32_t>(job, n);
    room::find_predecessors_on_gpu<T, C>(input.there, facts, solved, greatest, found, job);
  }
  MatrixView<T> finished = distances;
  {
    const core::PhaseTimer timer(phases, "finish");
    if (!is_there(distances)) {
      if constexpr (std::is_same_v<T, C>) finished = solved;
      else finished = copied ? copy : room::take_matrix<T>(job, n);
    }
    if (const std::int64_t place = room::finish_on_gpu<T, C>(solved, greatest, finished, job); place >= 0)
      room::throw_too_great<T>(place / n, place % n, room::element_on_gpu<C>(solved, place / n, place % n, job));
  }
  const core::PhaseTimer timer(phases, "to_host");
  if (finished.data() != distances.data()) room::copy_matrix<T>(finished, distances, job);
  if (found.data() != predecessors.data()) room::copy_matrix<std::int32_t>(found, predecessors, job);
}

/// The job's part on a GPU, from the graph on.
template <class T>
void run_on_gpu(const Request<T>& request, const room::Variant& variant, Prepared<T>& input, MatrixView<T> distances,
                MatrixView<std::int32_t> predecessors, std::vector<Phase>& phases) {
  const room::Examined<T>& facts = input.facts;
  const room::Shape shape = shape_of(request, facts);
  if (!input.job) input.bring_to_gpu(request.execution, variant.memory(shape, request.threads).device, phases);
  if (facts.negative) {
    const core::PhaseTimer timer(phases, "negative_cycles");
    if (room::may_have_negative_cycle(input.there, facts, *input.job)) {
      room::Graph<T> graph = input.graph;
      Matrix<T> weights;
      if (!graph.weights.place().is_host()) {
        weights = Matrix<T>(request.n(), request.n());
        room::copy_matrix(graph.weights, weights.view(), *input.job);
        graph.weights = weights.view();
      }
      room::refuse_negative_cycles(graph, request.execution.stop);
    }
  }
  if (facts.width() == room::Width::own)
    return solve_on_gpu<T, T>(request, variant, input, distances, predecessors, phases);
  if constexpr (sizeof(T) == 4)
    return solve_on_gpu<T, room::Wider<T>>(request, variant, input, distances, predecessors, phases);
  throw Error("internal error: distances that need more than 64 bits on a GPU");
}

/// All distances of a graph in its matrix, then those rows of them that are wanted.
template <class T>
void solve_whole(const Request<T>& request, const room::Variant& variant, Prepared<T>& input, MatrixView<T> distances,
                 MatrixView<std::int32_t> predecessors, std::vector<Phase>& phases) {
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
  if (!variant.device_input && needs_copy(request, facts)) {
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
    if constexpr (cuda::is_compiled) run_on_gpu(request, variant, input, distances, predecessors, phases);
  } else if (facts.width() == room::Width::own) {
    Matrix<T> all;
    MatrixView<T> matrix = distances;
    if (chosen_rows) {
      all = Matrix<T>(request.n(), request.n());
      matrix = all.view();
    }
    auto problem = problem_of<T>(request.execution, request.options, facts);
    problem.distances = matrix;
    problem.greatest = facts.greatest;
    problem.predecessors = predecessors;
    prepare(matrix);
    const room::Solved solved = variant.run(problem, request.execution, phases);
    complete<T, T>(request, graph, facts, matrix, static_cast<T>(facts.greatest), solved.predecessors, distances,
                   predecessors, phases);
  } else {
    Matrix<Wide> matrix(request.n(), request.n());
    prepare(matrix.view());
    room::Solved solved;
    if constexpr (sizeof(T) == 4) {
      auto problem = problem_of<Wide>(request.execution, request.options, facts);
      problem.distances = matrix.view();
      problem.greatest = facts.greatest;
      problem.predecessors = predecessors;
      solved = variant.run(problem, request.execution, phases);
    } else {
      auto problem = problem_of<T>(request.execution, request.options, facts);
      problem.wide = matrix.view();
      problem.greatest = facts.greatest;
      problem.predecessors = predecessors;
      solved = variant.run(problem, request.execution, phases);
    }
    complete<T, Wide>(request, graph, facts, matrix.view(), facts.greatest, solved.predecessors, distances,
                      predecessors, phases);
  }
  if (chosen_rows && request.options.predecessors)
    for (std::int64_t row = 0; row < request.rows(); ++row)
      std::copy_n(predecessors.row(request.source_of(row)), request.n(), wanted_predecessors.row(row));
}

template <class T>
ShortestPathsResult<T> run(const Request<T>& request, core::Clock::time_point start) {
  const Execution& execution = request.execution;
  execution::check_memory(least_memory(request), execution);
  cpu::start_team(request.threads);
  std::vector<Phase> phases;
  Prepared<T> input = prepared(request, phases);
  const room::Examined<T>& facts = input.facts;
  const room::Shape shape = shape_of(request, facts);
  const room::Variant& variant = select(shape, execution);
  execution::check_memory(memory_needed(request, facts, shape, variant), execution);
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
      auto problem = problem_of<T>(execution, request.options, facts);
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
ShortestPathsResult<T> find(const Request<T>& request, core::Clock::time_point start) {
  return execution::within_memory([&] { return run(request, start); });
}

/// One route by the row of predecessors of its first vertex.
template <class T, class Edges>
ShortestRoute<T> find_route(const Edges& edges, std::int64_t from, std::int64_t to, const ShortestPathsOptions& options,
                            const Execution& execution) {
  const auto start = core::Clock::now();
  if (!options.sources.empty()) throw UsageError("sources: a route has one, its first vertex");
  ShortestPathsOptions of_row = options;
  of_row.sources = {from, to};  // so that both are checked
  of_row.predecessors = true;
  Request<T> request(edges, of_row, {}, execution);
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
  execution::check_execution(execution);
  execution::check_element_bytes(shape.element_bytes);
  const bool is_matrix = shape.edges < 0;
  const std::int64_t n = shape.vertices;
  if (n < 0 || n > std::numeric_limits<std::int32_t>::max())
    throw UsageError("a graph has 0 to 2147483647 vertices, not " + std::to_string(n));
  check_sources(options.sources, n);
  check_tile(options);
  if (shape.edges < -1) throw UsageError("edges: " + std::to_string(shape.edges) + " is not a number of them, nor -1");
  execution::check_size({is_matrix ? 1 : shape.edges, 64}, "edges");
  const std::int64_t given = is_matrix ? n * std::max<std::int64_t>(n - 1, 0) : shape.edges;
  Sizes sizes;
  sizes.listed = is_matrix ? -1 : shape.edges;
  sizes.element_bytes = shape.element_bytes;
  sizes.adapted = options.undirected || options.unweighted;
  sizes.undirected = options.undirected;
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
  return {.host = work_bytes(sizes, variant, threads), .device = variant.memory(sizes.shape, threads).device};
}

namespace detail {

template <class T>
ShortestPathsResult<T> shortest_paths(MatrixView<const T> weights, const ShortestPathsOptions& options,
                                      const ShortestPathsMemory<T>& memory, const Execution& execution) {
  const auto start = core::Clock::now();
  return find(Request<T>(weights, options, memory, execution), start);
}

template <class T>
ShortestPathsResult<T> shortest_paths(const EdgeView<T>& edges, const ShortestPathsOptions& options,
                                      const ShortestPathsMemory<T>& memory, const Execution& execution) {
  const auto start = core::Clock::now();
  return find(Request<T>(edges, options, memory, execution), start);
}

template <class T>
ShortestPathsResult<T> shortest_paths(const CsrView<T>& edges, const ShortestPathsOptions& options,
                                      const ShortestPathsMemory<T>& memory, const Execution& execution) {
  const auto start = core::Clock::now();
  return find(Request<T>(edges, options, memory, execution), start);
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
  if (!predecessors.place().is_host()) throw UsageError("predecessors: they must lie in host memory");
  for (const std::int64_t vertex : {from, to})
    if (vertex < 0 || vertex >= n)
      throw UsageError("there is no vertex " + std::to_string(vertex) + " among " + std::to_string(n) +
                       " (counted from 0)");
  std::vector<std::int32_t> route{static_cast<std::int32_t>(to)};
  while (route.back() != from) {
    const std::int32_t before = predecessors[route.back()];
    if (before == -1 && route.size() == 1) return {};
    if (before < 0 || before >= n || std::ssize(route) >= n)
      throw InputError("predecessors: the walk back from vertex " + std::to_string(to) + " does not reach vertex " +
                       std::to_string(from));
    route.push_back(before);
  }
  std::reverse(route.begin(), route.end());
  return route;
}

std::vector<std::int32_t> shortest_path_route(MatrixView<const std::int32_t> predecessors, std::int64_t from,
                                              std::int64_t to) {
  execution::check_view(predecessors, "predecessors");
  if (predecessors.columns() != predecessors.rows() || !predecessors.place().is_host())
    throw UsageError("predecessors: a square matrix in host memory is needed");
  if (predecessors.rows() == 0)
    throw UsageError("predecessors: there are none; ShortestPathsOptions::predecessors asks for them");
  // Of a vertex that does not exist there is no row; the other call says so.
  const std::int64_t row = from >= 0 && from < predecessors.rows() ? from : 0;
  return shortest_path_route(VectorView<const std::int32_t>(predecessors.row(row), predecessors.columns()), from, to);
}

}  // namespace gradus
