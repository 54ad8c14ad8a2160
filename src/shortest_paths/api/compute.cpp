// Computes the result of a checked request.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "cpu/threads.hpp"
#include "execution/whole_call.hpp"
#include "shortest_paths/api/steps.hpp"
#include "shortest_paths/complete.hpp"
#include "shortest_paths/gpu/run_on_gpu.hpp"
#include "shortest_paths/memory.hpp"
#include "shortest_paths/negative_cycle.hpp"

namespace gradus::shortest_paths_detail {

namespace {

template <class T>
const Variant& choose(const Request<T>& request, const Shape& shape) {
  const Variant& variant = shortest_paths_detail::choose(shape, request.execution);
  for (const execution::NamedPlace& one : request.places())
    execution::check_takes_device_input(variants(), variant, one.place, one.what, Room::name);
  return variant;
}

template <class T>
void check_memory(const Request<T>& request, std::uint64_t estimate) {
  execution::check_memory(estimate, request.execution,
                          request.options.sources.empty() ? "the rows of some sources alone take less" : "");
}

template <class T>
struct Output {
  MatrixView<T> distances;
  MatrixView<std::int32_t> predecessors;
};

/// Returns the memory for the results. This is the caller's memory or, if the caller provides none, new memory in
/// `result`.
template <class T>
Output<T> output_of(const Request<T>& request, ShortestPathsResult<T>& result) {
  Output<T> output{request.memory.distances, request.memory.predecessors};
  if (output.distances.rows() == 0) {
    result.distances = Matrix<T>(request.rows(), request.n());
    output.distances = result.distances.view();
  }
  if (request.options.predecessors && output.predecessors.rows() == 0) {
    result.predecessors = Matrix<std::int32_t>(request.rows(), request.n());
    output.predecessors = result.predecessors.view();
  }
  return output;
}

/// Finds all distances of the graph in a matrix of type C.
template <class T, class C>
void solve_in(MatrixView<C> matrix, const Request<T>& request, const Variant& variant, const Graph<T>& graph,
              const GraphFacts<T>& facts, const Output<T>& output, std::vector<Phase>& phases) {
  {
    const core::PhaseTimer timer(phases, "prepare");
    fill(graph, matrix, request.threads, request.execution.stop);
  }
  // The elements of Problem::distances have at most 64 bits, so matrices with wider elements are passed as
  // Problem::wide.
  using Element = std::conditional_t<sizeof(T) == 4, C, T>;
  auto problem = problem_of<Element>(request.execution, request.options, facts);
  if constexpr (std::is_same_v<Element, C>) problem.distances = matrix;
  else problem.wide = matrix;
  problem.greatest = facts.greatest;
  problem.predecessors = output.predecessors;
  const Solved solved = variant.run(problem, request.execution, phases);
  complete<T, C>(request, graph, facts, matrix, static_cast<C>(facts.greatest), solved.predecessors, output.distances,
                 output.predecessors, phases);
}

/// Finds all distances of the graph in a matrix, then copies the requested rows.
template <class T>
void run_on_matrix(const Request<T>& request, const Variant& variant, Prepared<T>& input, const Output<T>& wanted,
                   std::vector<Phase>& phases) {
  const GraphFacts<T>& facts = input.facts;
  const bool chosen_rows = !request.options.sources.empty();
  if (!input.has_matrix) {
    const core::PhaseTimer timer(phases, "prepare");
    input.weights = Matrix<T>(request.n(), request.n());
    write_matrix(input.sparse, input.weights.view(), request.threads, request.execution.stop);
    input.graph = {input.weights.view()};
  }
  Graph<T> graph = input.graph;
  Matrix<T> copy;
  if (!variant.device_input && needs_copy(request, facts)) {
    copy = Matrix<T>::copy_of(graph.weights);
    graph.weights = copy.view();
  }
  Matrix<std::int32_t> all_predecessors;
  Output<T> output = wanted;
  if (chosen_rows && request.options.predecessors) {
    all_predecessors = Matrix<std::int32_t>(request.n(), request.n());
    output.predecessors = all_predecessors.view();
  }
  if (variant.device_input) {
    run_on_gpu(request, variant, input, output.distances, output.predecessors, phases);
  } else if (facts.width() == Width::own) {
    Matrix<T> all;
    if (chosen_rows) all = Matrix<T>(request.n(), request.n());
    solve_in<T, T>(chosen_rows ? all.view() : output.distances, request, variant, graph, facts, output, phases);
  } else {
    Matrix<Wider<T>> matrix(request.n(), request.n());
    solve_in<T, Wider<T>>(matrix.view(), request, variant, graph, facts, output, phases);
  }
  if (chosen_rows && request.options.predecessors)
    for (std::int64_t row = 0; row < request.rows(); ++row)
      std::copy_n(output.predecessors.row(request.source_of(row)), request.n(), wanted.predecessors.row(row));
}

template <class T>
void run_on_lists(const Request<T>& request, const Variant& variant, const Prepared<T>& input,
                  std::span<const Wider<T>> least_lengths, const Output<T>& output, std::vector<Phase>& phases) {
  SparseProblem<T> job;
  job.graph = &input.sparse;
  job.sources = request.options.sources;
  job.target = request.target;
  job.least_lengths = least_lengths;
  job.positive = input.facts.positive;
  job.wide_sums = input.facts.width() != Width::own;
  job.distances = output.distances;
  job.predecessors = output.predecessors;
  auto problem = problem_of<T>(request.execution, request.options, input.facts);
  problem.sparse = &job;
  variant.run(problem, request.execution, phases);
}

template <class T>
ShortestPathsResult<T> run(const Request<T>& request, const Variant& variant, Prepared<T>& input,
                           std::vector<Phase>& phases) {
  const Execution& execution = request.execution;
  if (!variant.device_input) input.job.reset();
  if (takes_edge_lists(variant) && !input.has_lists) {
    const core::PhaseTimer timer(phases, "prepare");
    input.sparse = sparse_graph(input.graph, request.threads, execution.stop);
    input.has_lists = true;
  }
  std::vector<Wider<T>> least_lengths;
  if (input.facts.negative && !variant.device_input) {
    const core::PhaseTimer timer(phases, "negative_cycles");
    least_lengths = input.has_lists ? refuse_negative_cycles(input.sparse, execution.stop)
                                    : refuse_negative_cycles(input.graph, execution.stop);
  }
  ShortestPathsResult<T> result;
  const Output<T> output = output_of(request, result);
  const cpu::PinnedTeam team(request.threads, execution.pinning);
  if (takes_edge_lists(variant)) run_on_lists<T>(request, variant, input, least_lengths, output, phases);
  else run_on_matrix(request, variant, input, output, phases);
  return result;
}

template <class T>
ShortestPathsResult<T> take_steps(const Request<T>& request, execution::Timing timing) {
  check_memory(request, estimate_least(request));
  cpu::start_team(request.threads);
  Prepared<T> input = prepared(request, timing.phases);
  const Shape shape = describe(request, input.facts);
  const Variant& variant = choose(request, shape);
  check_memory(request, estimate(request, input.facts, shape, variant));
  ShortestPathsResult<T> result = run(request, variant, input, timing.phases);
  execution::deliver(result.report, variant, request.execution, execution::threads_of(variant, request.threads),
                     std::move(timing));
  return result;
}

}  // namespace

template <class T>
ShortestPathsResult<T> compute(const Request<T>& request, execution::Timing timing) {
  return execution::whole_call(request.execution, [&](const Execution& here) {
    if (!here.progress) return take_steps(request, std::move(timing));
    Request<T> guarded = request;
    guarded.execution = here;
    return take_steps(guarded, std::move(timing));
  });
}

#define GRADUS_INSTANTIATE(T) template ShortestPathsResult<T> compute(const Request<T>&, execution::Timing)
GRADUS_INSTANTIATE(std::int32_t);
GRADUS_INSTANTIATE(std::int64_t);
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::shortest_paths_detail
