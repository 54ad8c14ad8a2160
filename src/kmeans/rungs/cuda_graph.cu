// cuda_graph: an iteration recorded as a CUDA graph and queued many times in advance.
//
// What changes from `cuda_all_gpu`: there the CPU starts two kernels per iteration and waits for the decision before it
// starts two more. In small problems this overhead dominates, because a launch and a wait take some microseconds and
// the kernels take less. Here the iteration is recorded once as a graph of two nodes (assign and sum; update) that one
// call launches. The CPU queues the graph for many iterations without waiting for decisions. Iterations that are queued
// past the end of the loop return at once. So a late decision costs a few empty kernels but causes no incorrect step.
// From time to time the CPU reads the state, to stop queueing after the end, to report progress and to respond to a
// stop request. `--dump-graph FILE.dot` draws the graph.
//
// Bytes and operations per iteration: as in `cuda_all_gpu`, without the traffic over the bus.
// Limits: as in `cuda_all_gpu`.
// Source: NVIDIA's CUDA C++ Programming Guide, "CUDA Graphs"; experiments/kmeans-task-graph.json.
#include "kmeans/gpu/support.hpp"
#include "kmeans/graph_file.hpp"
#include "kmeans/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/atomic_file.hpp"
#include "kmeans/gpu/cuda_device_loop.hpp"

namespace gradus::kmeans_detail {

namespace {

/// Writes the graph to `path`, completely or not at all. CUDA first writes the graph to a temporary file.
void dump_graph(cudaGraph_t graph, const std::string& path) {
  const std::string part = (std::filesystem::temp_directory_path() / ("gradus." + std::to_string(getpid()))).string();
  const cudaError_t error = cudaGraphDebugDotPrint(graph, part.c_str(), 0);
  std::ifstream file(part, std::ios::binary);
  const std::string dot((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::remove(part.c_str());
  cuda::check(error, "cudaGraphDebugDotPrint");
  core::write_atomically(path, dot);
}

template <class T>
class GraphLoop {
 public:
  GraphLoop(LoopMemory<T>& memory, const Execution& execution) : memory_(memory), state_(1) {
    const cuda::Stream& stream = memory.job.stream();
    stream.wait();  // earlier work is not part of the graph
    cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
    launch_assign_and_sum(memory, 0, memory.job.problem().n());
    launch_update(memory);
    cuda::check(cudaStreamEndCapture(stream, &graph_), "cudaStreamEndCapture");
    if (const std::string file = graph_file(execution); !file.empty()) dump_graph(graph_, file);
    cuda::check(cudaGraphInstantiate(&executable_, graph_, 0), "cudaGraphInstantiate");
  }
  GraphLoop(const GraphLoop&) = delete;
  GraphLoop& operator=(const GraphLoop&) = delete;
  ~GraphLoop() {
    if (executable_) cudaGraphExecDestroy(executable_);
    if (graph_) cudaGraphDestroy(graph_);
  }

  void run(int iterations, std::vector<Phase>& phases) {
    const core::PhaseTimer timer(phases, "iterate");
    const cuda::Stream& stream = memory_.job.stream();
    for (int queued = 0; queued < iterations;) {
      if (memory_.is_one_launch()) {
        const int last = std::min(queued + launches_between_polls, iterations);
        for (; queued < last; ++queued) cuda::check(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch");
      } else {
        // For a large problem, the kernels take far longer than their launches, and a stop request must take effect
        // between two kernels. So they are launched without a graph.
        memory_.assign_and_sum();
        launch_update(memory_);
        ++queued;
      }
      memory_.state.copy_to_host(state_.data(), 1, stream);
      stream.wait();
      if (state_[0].finished) break;
    }
  }

 private:
  static constexpr int launches_between_polls = 64;

  LoopMemory<T>& memory_;
  cuda::PinnedBuffer<LoopState> state_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace

template <class T>
KMeansResult<T> cuda_graph(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  using Engine = CudaLoopEngine<T, GraphLoop<T>>;
  const int threads = block_threads(execution, 256);
  CudaFit<T> job(problem, execution, Layout::columns, Engine::bytes(problem));
  Engine engine(job, execution, threads);
  return lloyd(problem, execution, engine, phases);
}

}  // namespace gradus::kmeans_detail
#endif

namespace gradus::kmeans_detail {

extern constinit const Variant cuda_graph_rung{
    .name = "cuda_graph",
    .summary = "an iteration as a graph, queued many times in advance",
    .change = "the CPU queues many iterations in advance and does not wait for decisions",
    .contract = textbook,
    .backend = core::Backend::cuda,
    .deterministic = false,
    .device_input = true,
    .options = &graph_options,
    .supports = sums_in_shared,
    .memory = gpu_float_sums,
    .run = GRADUS_CUDA_RUNS(cuda_graph<float>, cuda_graph<double>),
};

}  // namespace gradus::kmeans_detail
