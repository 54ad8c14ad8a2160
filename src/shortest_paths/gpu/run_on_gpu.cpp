#include "shortest_paths/gpu/run_on_gpu.hpp"

#include "shortest_paths/complete.hpp"
#include "shortest_paths/gpu/gpu_graph.hpp"
#include "shortest_paths/negative_cycle.hpp"

namespace gradus::shortest_paths_detail {

namespace {

/// Computes on the host the results that a GPU does not support.
template <class T, class C>
void complete_by_host(const Request<T>& request, const Prepared<T>& input, MatrixView<const C> solved, C greatest,
                      MatrixView<T> distances, MatrixView<std::int32_t> predecessors, std::vector<Phase>& phases) {
  const std::int64_t n = request.n();
  Matrix<C> matrix(n, n);
  Graph<T> graph = input.graph;
  Matrix<T> weights;
  {
    const core::PhaseTimer timer(phases, "to_host");
    copy_matrix(solved, matrix.view(), *input.job);
    if (!graph.weights.place().is_host()) {
      weights = Matrix<T>(n, n);
      copy_matrix(graph.weights, weights.view(), *input.job);
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
  if (!distances.place().is_host()) copy_matrix(MatrixView<const T>(distances_here), distances, *input.job);
  if (!predecessors.place().is_host())
    copy_matrix(MatrixView<const std::int32_t>(predecessors_here), predecessors, *input.job);
}

/// Runs a variant on the GPU that holds the graph, and finds all distances.
template <class T, class C>
void solve_on_gpu(const Request<T>& request, const Variant& variant, const Prepared<T>& input, MatrixView<T> distances,
                  MatrixView<std::int32_t> predecessors, std::vector<Phase>& phases) {
  constexpr bool floating = std::is_floating_point_v<T>;
  const std::int64_t n = request.n();
  const GraphFacts<T>& facts = input.facts;
  cuda::Job& job = *input.job;
  const auto greatest = static_cast<C>(facts.greatest);
  const bool wanted = request.options.predecessors && n > 0;
  const bool copied = input.graph.weights.place().is_host();
  const auto is_there = [](auto view) { return view.rows() > 0 && !view.place().is_host(); };
  if (is_there(distances)) admit(job, distances.data(), "distances");
  if (is_there(predecessors)) admit(job, predecessors.data(), "predecessors");

  // The variant works in the memory of the result or, if that memory is unsuitable, in the copy of the weights. Memory
  // that holds weights is unsuitable as long as the weights are needed.
  const MatrixView<T> copy(const_cast<T*>(input.there.weights.data()), n, n, input.there.weights.place());
  MatrixView<C> solved;
  if constexpr (std::is_same_v<T, C>) {
    const bool keep = wanted || (floating && facts.negative);
    if (is_there(distances) && distances.contiguous() && !(keep && distances.data() == input.graph.weights.data()))
      solved = distances;
    else if (copied && !(wanted && !floating)) solved = copy;
  }
  if (solved.data() == nullptr) solved = take_matrix<C>(job, n);
  {
    const core::PhaseTimer timer(phases, "prepare");
    fill_on_gpu(input.there, solved, job);
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
    if (wanted || (facts.negative && diagonal_is_negative_on_gpu<C>(solved, job)))
      return complete_by_host<T, C>(request, input, solved, greatest, distances, predecessors, phases);
  } else if (wanted) {
    const core::PhaseTimer timer(phases, "predecessors");
    if (!facts.positive && has_zero_cycle_on_gpu<C>(solved, greatest, job))
      return complete_by_host<T, C>(request, input, solved, greatest, distances, predecessors, phases);
    found = is_there(predecessors) && predecessors.contiguous() ? predecessors : take_matrix<std::int32_t>(job, n);
    find_predecessors_on_gpu<T, C>(input.there, facts, solved, greatest, found, job);
  }
  MatrixView<T> finished = distances;
  {
    const core::PhaseTimer timer(phases, "finish");
    if (!is_there(distances)) {
      if constexpr (std::is_same_v<T, C>) finished = solved;
      else finished = copied ? copy : take_matrix<T>(job, n);
    }
    if (const std::int64_t place = finish_on_gpu<T, C>(solved, greatest, finished, job); place >= 0)
      throw_too_great<T>(place / n, place % n, element_on_gpu<C>(solved, place / n, place % n, job));
  }
  const core::PhaseTimer timer(phases, "to_host");
  if (finished.data() != distances.data()) copy_matrix<T>(finished, distances, job);
  if (found.data() != predecessors.data()) copy_matrix<std::int32_t>(found, predecessors, job);
}

}  // namespace

template <class T>
void run_on_gpu(const Request<T>& request, const Variant& variant, Prepared<T>& input, MatrixView<T> distances,
                MatrixView<std::int32_t> predecessors, std::vector<Phase>& phases) {
  const GraphFacts<T>& facts = input.facts;
  const Shape shape = describe(request, facts);
  if (!input.job) input.bring_to_gpu(request.execution, variant.memory(shape, request.threads).device, phases);
  if (facts.negative) {
    const core::PhaseTimer timer(phases, "negative_cycles");
    if (may_have_negative_cycle(input.there, facts, *input.job)) {
      Graph<T> graph = input.graph;
      Matrix<T> weights;
      if (!graph.weights.place().is_host()) {
        weights = Matrix<T>(request.n(), request.n());
        copy_matrix(graph.weights, weights.view(), *input.job);
        graph.weights = weights.view();
      }
      refuse_negative_cycles(graph, request.execution.stop);
    }
  }
  if (facts.width() == Width::own) return solve_on_gpu<T, T>(request, variant, input, distances, predecessors, phases);
  if constexpr (sizeof(T) == 4)
    return solve_on_gpu<T, Wider<T>>(request, variant, input, distances, predecessors, phases);
  throw Error("internal error: distances that need more than 64 bits on a GPU");
}

#define GRADUS_INSTANTIATE(T)                                                                                        \
  template void run_on_gpu(const Request<T>&, const Variant&, Prepared<T>&, MatrixView<T>, MatrixView<std::int32_t>, \
                           std::vector<Phase>&)
GRADUS_INSTANTIATE(std::int32_t);
GRADUS_INSTANTIATE(std::int64_t);
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::shortest_paths_detail
