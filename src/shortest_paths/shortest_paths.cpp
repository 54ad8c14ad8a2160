// The public entry points: check, choose, run.
#include "gradus/shortest_paths.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/phases.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "shortest_paths/gpu/gpu_graph.hpp"
#include "shortest_paths/graph.hpp"
#include "shortest_paths/negative_cycle.hpp"
#include "shortest_paths/predecessors.hpp"

namespace gradus {

namespace room = shortest_paths_detail;

namespace {

constexpr const char* problem_name = "shortest_paths";

template <class T>
constexpr std::string_view type_name() {
  if constexpr (std::is_same_v<T, std::int32_t>) return "int32";
  else if constexpr (std::is_same_v<T, std::int64_t>) return "int64";
  else if constexpr (std::is_same_v<T, float>) return "float32";
  else return "float64";
}

/// The option's value in the graph's own type.
template <class T>
T no_edge_of(const ShortestPathsOptions& options) {
  if (!options.no_edge) return room::no_route<T>();
  const double wanted = *options.no_edge;
  // The greatest int64 rounds up as a double; what lies below that is converted without loss or found out.
  const bool in_range = std::is_floating_point_v<T> || (wanted >= static_cast<double>(std::numeric_limits<T>::min()) &&
                                                        wanted < -static_cast<double>(std::numeric_limits<T>::min()));
  if (std::isnan(wanted) || !in_range || static_cast<double>(static_cast<T>(wanted)) != wanted)
    throw UsageError("the value for 'no edge', " + core::number_text(wanted) + ", is none of " +
                     std::string(type_name<T>()));
  // Beyond, neighbouring whole numbers are the same double: another one may have been meant.
  if (!std::is_floating_point_v<T> && std::abs(wanted) >= 0x1p53)
    throw UsageError("the value for 'no edge', " + core::number_text(wanted) +
                     ", must be nearer to 0 than 2^53; the greatest " + std::string(type_name<T>()) +
                     " stands for none without being named");
  return static_cast<T>(wanted);
}

template <class View>
void check_result(View view, std::int64_t n, const char* what) {
  execution::check_view(view, what);
  if (view.data() == nullptr && view.rows() == 0) return;
  if (view.rows() != n || view.columns() != n)
    throw UsageError(std::string(what) + ": memory of " + std::to_string(view.rows()) + " x " +
                     std::to_string(view.columns()) + " elements for the results of " + std::to_string(n) +
                     " vertices");
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
  if (one.rows() == 0 || other.rows() == 0) return false;
  const auto begin = [](auto view) { return reinterpret_cast<std::uintptr_t>(view.data()); };
  const auto end = [](auto view) {
    return reinterpret_cast<std::uintptr_t>(view.row(view.rows() - 1) + view.columns());
  };
  return begin(one) < end(other) && begin(other) < end(one);
}

/// What the caller asks for, checked.
template <class T>
struct Request {
  room::Graph<T> graph;
  ShortestPathsOptions options;
  ShortestPathsMemory<T> memory;
  Execution execution;
  int threads = 1;

  Request(MatrixView<const T> weights, const ShortestPathsOptions& wanted, const ShortestPathsMemory<T>& results,
          const Execution& where)
      : graph{weights, no_edge_of<T>(wanted)}, options(wanted), memory(results), execution(where) {
    execution::check_execution(execution);
    execution::check_extent(weights, "weights");
    if (weights.rows() != weights.columns())
      throw InputError("weights: a matrix of " + std::to_string(weights.rows()) + " x " +
                       std::to_string(weights.columns()) + "; as many rows as columns are needed, one per vertex");
    if (options.tile < 0) throw UsageError("tile: " + std::to_string(options.tile) + " is not a size");
    check_result(memory.distances, n(), "distances");
    check_result(memory.predecessors, n(), "predecessors");
    if (memory.predecessors.rows() > 0 && !options.predecessors)
      throw UsageError("predecessors: there is memory for them, but they are not wanted");
    if (overlap(memory.predecessors, weights) || overlap(memory.predecessors, memory.distances))
      throw UsageError("predecessors: their memory overlaps that of weights or distances");
    const bool same =
        memory.distances.data() == weights.data() && memory.distances.row_stride() == weights.row_stride();
    if (!same && overlap(memory.distances, weights))
      throw UsageError("distances: their memory overlaps that of the weights, and is not the same");
    execution = where_views_lie(weights, memory, execution);
    threads = cpu::thread_count(execution);
  }

  std::int64_t n() const { return graph.n(); }
};

template <class T>
room::Shape shape_of(const Request<T>& request, const room::Examined<T>& facts) {
  return facts.shape(request.n(), request.options.predecessors);
}

const room::Variant& select(const room::Shape& shape, const Execution& execution) {
  const room::Variant& variant =
      execution::wanted_variant(room::variants(), room::choose, shape, execution, problem_name);
  execution::check_runs_here(variant, shape, execution, problem_name);
  return variant;
}

/// Whether the job runs on a GPU whatever the edges are like, so that they can be looked at there.
template <class T>
bool is_bound_for_gpu(const Request<T>& request) {
  // For less the processor is done before the GPU has answered.
  constexpr std::int64_t worth_a_look_there = 512;
  const Execution& execution = request.execution;
  if (!request.graph.weights.place().is_host()) return true;
  if (request.n() < worth_a_look_there || !execution::why_no_gpu(execution::this_machine()).empty()) return false;
  if (execution.variant.empty()) return execution.device == Device::gpu;
  return core::find_variant(room::variants(), execution.variant, problem_name).device_input;
}

/// The graph, what a look at its edges tells, and where it runs on a GPU and was looked at there, the job.
template <class T>
struct Looked {
  room::Graph<T> graph;  ///< its weights on the GPU, where there is a job
  room::Examined<T> facts;
  std::shared_ptr<cuda::Job> job;

  /// `there`: on the GPU.
  Looked(const Request<T>& request, bool there, std::vector<Phase>& phases) : graph(request.graph) {
    if (there) {
      if constexpr (cuda::is_compiled) {
        bring(request, 0, phases);
        const core::PhaseTimer timer(phases, "examine");
        facts = room::examine_on_gpu(graph, *job);
        return;
      } else {
        cuda::refuse_without_cuda("weights");
      }
    }
    const core::PhaseTimer timer(phases, "examine");
    facts = room::examine(graph, request.threads, request.execution.stop);
  }

  /// To the GPU.
  void bring(const Request<T>& request, std::uint64_t job_bytes, std::vector<Phase>& phases) {
    if constexpr (cuda::is_compiled) {
      const core::PhaseTimer timer(phases, "to_device");
      job = room::bring_to_gpu(graph, request.execution, job_bytes);
    } else {
      cuda::refuse_without_cuda("weights");
    }
  }
};

/// Whether results take the place of weights that are needed to the end.
template <class T>
bool needs_copy(const Request<T>& request, const room::Examined<T>& facts) {
  return request.memory.distances.data() == request.graph.weights.data() && request.n() > 0 &&
         (request.options.predecessors || (std::is_floating_point_v<T> && facts.negative));
}

template <class T>
std::uint64_t memory_needed(const Request<T>& request, const room::Examined<T>& facts, const room::Shape& shape,
                            const room::Variant& variant) {
  const auto n = static_cast<std::uint64_t>(request.n());
  const std::uint64_t area = core::checked_multiply(n, n, "the matrix of distances");
  const auto matrix = [&](std::uint64_t element) { return core::checked_multiply(area, element, "a matrix"); };
  std::uint64_t bytes = 0;
  const auto add = [&bytes](std::uint64_t more) { bytes = core::checked_add(bytes, more, "the memory of the job"); };
  if (request.memory.distances.rows() == 0) add(matrix(sizeof(T)));
  if (request.options.predecessors && request.memory.predecessors.rows() == 0) add(matrix(sizeof(std::int32_t)));
  if (variant.device_input) {
    // What trees, or levels, that are left to the processor take: see solve_on_gpu().
    if (request.options.predecessors ? shape.floating || !facts.positive : shape.floating && facts.negative) {
      add(matrix(static_cast<std::uint64_t>(shape.element_bytes)));
      add(matrix(3 * sizeof(T)));
    }
  } else {
    if (facts.width() != room::Width::own) add(matrix(sizeof(room::Wider<T>)));
    if (needs_copy(request, facts)) add(matrix(sizeof(T)));
  }
  // Lists of edges, or trees, for predecessors; rows' facts.
  constexpr std::uint64_t tree_bytes = 48;
  add(core::checked_multiply(tree_bytes * n, static_cast<std::uint64_t>(request.threads), "trees"));
  if (request.options.predecessors && !shape.floating && shape.edges < shape.vertices * shape.vertices / 16)
    add(static_cast<std::uint64_t>(shape.edges) * (sizeof(std::int32_t) + sizeof(room::Wider<T>)) + 8 * n);
  add(variant.memory(shape, request.threads).host);
  return bytes;
}

template <class C>
std::string number_text(C number) {
  if constexpr (std::is_floating_point_v<C>) return core::number_text(static_cast<double>(number));
  else return room::text(number);
}

/// InputError for a distance that T does not hold.
template <class T, class C>
[[noreturn]] void throw_too_great(std::int64_t from, std::int64_t to, C distance) {
  const std::string message = "weights: the distance from vertex " + std::to_string(from) + " to vertex " +
                              std::to_string(to) + " (counted from 0) is ";
  if constexpr (std::is_same_v<T, double>) {
    throw InputError(message + "beyond the largest float64; multiply the weights by a small power of two");
  } else {
    constexpr bool in_int64 = std::is_same_v<T, std::int32_t>;
    throw InputError(message + number_text(distance) + ", which " + std::string(type_name<T>()) +
                     " does not hold; give the weights as " + (in_int64 ? "int64" : "float64") +
                     (std::is_same_v<T, std::int64_t> ? ", which rounds" : ""));
  }
}

/// From the matrix in which a variant worked to the caller's, which may be the same.
template <class T, class C>
void finish(MatrixView<const C> solved, C greatest, MatrixView<T> distances, int threads, const std::stop_token& stop) {
  const std::int64_t n = solved.rows();
  std::vector<std::int64_t> too_great(static_cast<std::size_t>(n), -1);  // the first column of each row
  const std::int64_t stretch = core::stretch_length(n, n, threads);
  const auto finish_row = [&](std::int64_t row) {
    const C* const from = solved.row(row);
    T* const to = distances.row(row);
    for (std::int64_t column = 0; column < n; ++column) {
      const C distance = from[column];
      if constexpr (std::is_floating_point_v<T>) {
        to[column] = static_cast<T>(distance) + T{0};
        if (std::isinf(to[column]) && distance != room::unreachable<C>() &&
            too_great[static_cast<std::size_t>(row)] < 0)
          too_great[static_cast<std::size_t>(row)] = column;
      } else {
        const bool route = distance <= greatest;
        to[column] = route ? static_cast<T>(distance) : room::no_route<T>();
        if constexpr (!std::is_same_v<T, C>)
          if (route && (distance >= room::no_route<T>() || distance < std::numeric_limits<T>::min()) &&
              too_great[static_cast<std::size_t>(row)] < 0)
            too_great[static_cast<std::size_t>(row)] = column;
      }
    }
    to[row] = 0;
  };
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t first = 0; first < n; first += stretch) {
    if (stop.stop_requested()) continue;
    for (std::int64_t row = first; row < std::min(first + stretch, n); ++row) finish_row(row);
  }
  core::honour_stop(stop, "stopped while finishing the matrix");
  for (std::int64_t row = 0; row < n; ++row)
    if (const std::int64_t column = too_great[static_cast<std::size_t>(row)]; column >= 0)
      throw_too_great<T>(row, column, solved(row, column));
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
  finish<T, C>(solved, greatest, distances, request.threads, stop);
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
void complete_by_host(const Request<T>& request, const Looked<T>& looked, MatrixView<const C> solved, C greatest,
                      MatrixView<T> distances, MatrixView<std::int32_t> predecessors, std::vector<Phase>& phases) {
  const std::int64_t n = request.n();
  Matrix<C> matrix(n, n);
  room::Graph<T> graph = request.graph;
  Matrix<T> weights;
  {
    const core::PhaseTimer timer(phases, "to_host");
    room::copy_matrix(solved, matrix.view(), *looked.job);
    if (!graph.weights.place().is_host()) {
      weights = Matrix<T>(n, n);
      room::copy_matrix(graph.weights, weights.view(), *looked.job);
      graph.weights = weights.view();
    }
  }
  const auto here = [n](auto wanted, auto& own) {
    if (wanted.place().is_host()) return wanted;
    own = std::remove_reference_t<decltype(own)>(n, n);
    return own.view();
  };
  Matrix<T> own_distances;
  Matrix<std::int32_t> own_predecessors;
  const MatrixView<T> distances_here = here(distances, own_distances);
  const MatrixView<std::int32_t> predecessors_here = here(predecessors, own_predecessors);
  complete<T, C>(request, graph, looked.facts, matrix.view(), greatest, false, distances_here, predecessors_here,
                 phases);
  if (!distances.place().is_host()) room::copy_matrix(MatrixView<const T>(distances_here), distances, *looked.job);
  if (!predecessors.place().is_host())
    room::copy_matrix(MatrixView<const std::int32_t>(predecessors_here), predecessors, *looked.job);
}

/// As solve(), by a variant that works on a GPU, to which the graph was brought.
template <class T, class C>
void solve_on_gpu(const Request<T>& request, const room::Variant& variant, const Looked<T>& looked,
                  MatrixView<T> distances, MatrixView<std::int32_t> predecessors, std::vector<Phase>& phases) {
  constexpr bool floating = std::is_floating_point_v<T>;
  const std::int64_t n = request.n();
  const room::Examined<T>& facts = looked.facts;
  cuda::Job& job = *looked.job;
  const auto greatest = static_cast<C>(facts.greatest);
  const bool wanted = request.options.predecessors && n > 0;
  const bool copied = request.graph.weights.place().is_host();
  const auto is_there = [](auto view) { return view.rows() > 0 && !view.place().is_host(); };
  if (is_there(distances)) room::admit(job, distances.data(), "distances");
  if (is_there(predecessors)) room::admit(job, predecessors.data(), "predecessors");

  // The variant works where the result is wanted, or where the copy of the weights is, unless these are still needed.
  const MatrixView<T> copy(const_cast<T*>(looked.graph.weights.data()), n, n, looked.graph.weights.place());
  MatrixView<C> solved;
  if constexpr (std::is_same_v<T, C>) {
    const bool keep = wanted || (floating && facts.negative);
    if (is_there(distances) && distances.contiguous() && !(keep && distances.data() == request.graph.weights.data()))
      solved = distances;
    else if (copied && !(wanted && !floating)) solved = copy;
  }
  if (solved.data() == nullptr) solved = room::take_matrix<C>(job, n);
  {
    const core::PhaseTimer timer(phases, "prepare");
    room::fill_on_gpu(looked.graph, solved, job);
  }
  auto problem = problem_of<C>(request.execution, request.options, facts);
  problem.distances = solved;
  problem.greatest = facts.greatest;
  problem.gpu = &job;
  variant.run(problem, request.execution, phases);

  MatrixView<std::int32_t> found;
  if constexpr (floating) {
    if (wanted || (facts.negative && room::diagonal_sank_on_gpu<C>(solved, job)))
      return complete_by_host<T, C>(request, looked, solved, greatest, distances, predecessors, phases);
  } else if (wanted) {
    const core::PhaseTimer timer(phases, "predecessors");
    if (!facts.positive && room::has_zero_cycle_on_gpu<C>(solved, greatest, job))
      return complete_by_host<T, C>(request, looked, solved, greatest, distances, predecessors, phases);
    found =
        is_there(predecessors) && predecessors.contiguous() ? predecessors : room::take_matrix<std::int32_t>(job, n);
    room::find_predecessors_on_gpu<T, C>(looked.graph, facts, solved, greatest, found, job);
  }
  MatrixView<T> finished = distances;
  {
    const core::PhaseTimer timer(phases, "finish");
    if (!is_there(distances)) {
      if constexpr (std::is_same_v<T, C>) finished = solved;
      else finished = copied ? copy : room::take_matrix<T>(job, n);
    }
    if (const std::int64_t place = room::finish_on_gpu<T, C>(solved, greatest, finished, job); place >= 0)
      throw_too_great<T>(place / n, place % n, room::element_on_gpu<C>(solved, place / n, place % n, job));
  }
  const core::PhaseTimer timer(phases, "to_host");
  if (finished.data() != distances.data()) room::copy_matrix<T>(finished, distances, job);
  if (found.data() != predecessors.data()) room::copy_matrix<std::int32_t>(found, predecessors, job);
}

/// The job's part on a GPU, from the graph on.
template <class T>
void run_on_gpu(const Request<T>& request, const room::Variant& variant, Looked<T>& looked, MatrixView<T> distances,
                MatrixView<std::int32_t> predecessors, std::vector<Phase>& phases) {
  const room::Examined<T>& facts = looked.facts;
  const room::Shape shape = shape_of(request, facts);
  if (!looked.job) looked.bring(request, variant.memory(shape, request.threads).device, phases);
  if (facts.negative) {
    const core::PhaseTimer timer(phases, "negative_cycles");
    if (room::may_have_negative_cycle(looked.graph, facts, *looked.job)) {
      room::Graph<T> graph = request.graph;
      Matrix<T> weights;
      if (!graph.weights.place().is_host()) {
        weights = Matrix<T>(request.n(), request.n());
        room::copy_matrix(graph.weights, weights.view(), *looked.job);
        graph.weights = weights.view();
      }
      room::refuse_negative_cycles(graph, request.execution.stop);
    }
  }
  if (facts.width() == room::Width::own)
    return solve_on_gpu<T, T>(request, variant, looked, distances, predecessors, phases);
  if constexpr (sizeof(T) == 4)
    return solve_on_gpu<T, room::Wider<T>>(request, variant, looked, distances, predecessors, phases);
  throw Error("internal error: distances that need more than 64 bits on a GPU");
}

template <class T>
void solve(const Request<T>& request, const room::Variant& variant, const room::Examined<T>& facts,
           MatrixView<T> distances, MatrixView<std::int32_t> predecessors, std::vector<Phase>& phases) {
  using Wide = room::Wider<T>;
  const std::stop_token& stop = request.execution.stop;
  room::Graph<T> graph = request.graph;
  Matrix<T> copy;
  if (needs_copy(request, facts)) {
    copy = Matrix<T>::copy_of(graph.weights);
    graph.weights = copy.view();
  }
  const auto prepare = [&](auto matrix) {
    const core::PhaseTimer timer(phases, "prepare");
    room::fill(graph, matrix, request.threads, stop);
  };
  if (facts.width() == room::Width::own) {
    auto problem = problem_of<T>(request.execution, request.options, facts);
    problem.distances = distances;
    problem.greatest = facts.greatest;
    problem.predecessors = predecessors;
    prepare(distances);
    const room::Solved solved = variant.run(problem, request.execution, phases);
    complete<T, T>(request, graph, facts, distances, static_cast<T>(facts.greatest), solved.predecessors, distances,
                   predecessors, phases);
    return;
  }
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
  complete<T, Wide>(request, graph, facts, matrix.view(), facts.greatest, solved.predecessors, distances, predecessors,
                    phases);
}

}  // namespace

namespace detail {

template <class T>
std::uint64_t shortest_paths_memory(MatrixView<const T> weights, const ShortestPathsOptions& options,
                                    const ShortestPathsMemory<T>& memory, const Execution& execution) {
  const Request<T> request(weights, options, memory, execution);
  std::vector<Phase> phases;
  const room::Examined<T> facts = Looked<T>(request, !weights.place().is_host(), phases).facts;
  const room::Shape shape = shape_of(request, facts);
  return memory_needed(request, facts, shape, select(shape, request.execution));
}

template <class T>
ShortestPathsResult<T> shortest_paths(MatrixView<const T> weights, const ShortestPathsOptions& options,
                                      const ShortestPathsMemory<T>& memory, const Execution& execution) {
  const auto start = core::Clock::now();
  const Request<T> request(weights, options, memory, execution);
  cpu::start_team(request.threads);
  std::vector<Phase> phases;
  Looked<T> looked(request, is_bound_for_gpu(request), phases);
  const room::Examined<T>& facts = looked.facts;
  const room::Shape shape = shape_of(request, facts);
  const room::Variant& variant = select(shape, request.execution);
  execution::check_memory(memory_needed(request, facts, shape, variant), execution);
  if (facts.negative && !variant.device_input) {
    const core::PhaseTimer timer(phases, "negative_cycles");
    room::refuse_negative_cycles(request.graph, execution.stop);
  }
  ShortestPathsResult<T> result;
  MatrixView<T> distances = memory.distances;
  MatrixView<std::int32_t> predecessors = memory.predecessors;
  if (distances.rows() == 0) {
    result.distances = Matrix<T>(request.n(), request.n());
    distances = result.distances.view();
  }
  if (options.predecessors && predecessors.rows() == 0) {
    result.predecessors = Matrix<std::int32_t>(request.n(), request.n());
    predecessors = result.predecessors.view();
  }
  const int threads = variant.backend == core::Backend::sequential ? 1 : request.threads;
  {
    const cpu::PinnedTeam team(request.threads, execution.pinning);
    if (!variant.device_input) solve(request, variant, facts, distances, predecessors, phases);
    else if constexpr (cuda::is_compiled) run_on_gpu(request, variant, looked, distances, predecessors, phases);
  }
  result.report.variant = variant.name;
  result.report.device = execution::device_name(variant.backend == core::Backend::cuda, request.execution);
  result.report.threads = threads;
  core::add_phase(phases, "total", core::seconds_since(start));
  result.report.phases = std::move(phases);
  return result;
}

#define GRADUS_INSTANTIATE(T)                                                                      \
  template ShortestPathsResult<T> shortest_paths(MatrixView<const T>, const ShortestPathsOptions&, \
                                                 const ShortestPathsMemory<T>&, const Execution&); \
  template std::uint64_t shortest_paths_memory(MatrixView<const T>, const ShortestPathsOptions&,   \
                                               const ShortestPathsMemory<T>&, const Execution&)
GRADUS_INSTANTIATE(std::int32_t);
GRADUS_INSTANTIATE(std::int64_t);
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace detail

std::vector<std::int32_t> shortest_path_route(MatrixView<const std::int32_t> predecessors, std::int64_t from,
                                              std::int64_t to) {
  execution::check_view(predecessors, "predecessors");
  const std::int64_t n = predecessors.rows();
  if (predecessors.columns() != n || !predecessors.place().is_host())
    throw UsageError("predecessors: a square matrix in host memory is needed");
  for (const std::int64_t vertex : {from, to})
    if (vertex < 0 || vertex >= n)
      throw UsageError("there is no vertex " + std::to_string(vertex) + " among " + std::to_string(n) +
                       " (counted from 0)");
  std::vector<std::int32_t> route{static_cast<std::int32_t>(to)};
  while (route.back() != from) {
    const std::int32_t before = predecessors(from, route.back());
    if (before == -1 && route.size() == 1) return {};
    if (before < 0 || before >= n || std::ssize(route) >= n)
      throw InputError("predecessors: the walk back from vertex " + std::to_string(to) + " does not reach vertex " +
                       std::to_string(from));
    route.push_back(before);
  }
  std::reverse(route.begin(), route.end());
  return route;
}

}  // namespace gradus
