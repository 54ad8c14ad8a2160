// The graph in the forms that a job needs, and facts about its edges.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/phases.hpp"
#include "shortest_paths/gpu/gpu_graph.hpp"
#include "shortest_paths/request.hpp"

namespace gradus::shortest_paths_detail {

/// Returns true if the job runs on a GPU, whatever the values of its edges are. The GPU can then also examine the
/// edges.
template <class T>
bool is_bound_for_gpu(const Request<T>& request) {
  // Below this number of vertices, the CPU examines a graph in less time than a GPU takes to respond.
  constexpr std::int64_t worth_a_look_there = 512;
  const Execution& execution = request.execution;
  if (!request.is_matrix()) return false;
  if (!request.graph.weights.place().is_host()) return true;
  if (!request.rules().unchanged()) return false;
  if (request.n() < worth_a_look_there || !execution::why_no_gpu(execution::this_machine()).empty()) return false;
  if (!execution.variant.empty()) return core::find_variant(variants(), execution.variant, Room::name).device_input;
  if (execution.device != Device::gpu) return false;
  const Shape full{.vertices = request.n(),
                   .edges = request.n() * (request.n() - 1),
                   .element_bytes = sizeof(T),
                   .floating = std::is_floating_point_v<T>,
                   .predecessors = request.options.predecessors};
  return choose(full, execution::GrantedMachine(execution), Device::gpu).device_input;
}

/// The prepared graph.
template <class T>
struct Prepared {
  Graph<T> graph;         ///< if has_matrix is true: a matrix in host memory, or the caller's matrix on a GPU
  SparseGraph<T> sparse;  ///< the edge lists, if has_lists is true
  Matrix<T> weights;      ///< memory of the matrix, if the caller has no suitable matrix
  GraphFacts<T> facts;
  bool has_matrix = false;
  bool has_lists = false;
  std::shared_ptr<cuda::Job> job;  ///< the GPU job, once the graph has been brought to the GPU
  Graph<T> there;                  ///< the graph on the job's GPU

  void bring_to_gpu(const Execution& execution, std::uint64_t job_bytes, std::vector<Phase>& phases) {
    const core::PhaseTimer timer(phases, "to_device");
    there = graph;
    job = shortest_paths_detail::bring_to_gpu(there, execution, job_bytes);
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
    if (input.job && request.rules().unchanged()) {
      input.facts = examine_on_gpu(input.there, *input.job);
      return input;
    }
    if (input.job) {
      input.weights = Matrix<T>(request.n(), request.n());
      copy_matrix(input.graph.weights, input.weights.view(), *input.job);
      input.graph.weights = input.weights.view();
      input.job.reset();
    }
    input.facts = examine(input.graph, request.threads, stop);
    if (request.rules().unchanged()) return input;
    input.weights = adapted(input.graph, request.rules(), request.threads, stop);
    input.graph = {input.weights.view()};
    input.facts = examine(input.graph, request.threads, stop);
    return input;
  }
  std::visit(
      [&](const auto& list) {
        if constexpr (!std::is_same_v<decltype(list), const std::monostate&>) {
          Listed<T> found = listed(list, request.rules(), request.threads, stop);
          input.sparse = std::move(found.graph);
          input.facts = found.facts;
        }
      },
      request.edges);
  input.has_lists = true;
  return input;
}

template <class T>
Shape describe(const Request<T>& request, const GraphFacts<T>& facts) {
  Shape shape = facts.shape(request.n(), request.options.predecessors);
  if (!request.options.sources.empty()) shape.sources = request.rows();
  return shape;
}

}  // namespace gradus::shortest_paths_detail
