// cuda_graph: the whole loop as a graph that the GPU runs by itself.
//
// What changes from `cuda_all_gpu`: there the processor starts two kernels in every iteration and waits for the
// decision whether to start two more. For small problems that is all the time there is: a launch and a wait take some
// microseconds, the kernels less. Here the iteration is recorded once as a graph of three nodes (clear the sums; assign
// and sum; update) and put into a conditional node: the GPU repeats its body as long as a number in its own memory is
// not zero, and the update kernel sets that number to zero when the loop is done. The processor starts the graph once
// for many iterations; it asks to be back now and then only to report progress and to honour a stop request.
// `--dump-graph FILE.dot` draws the graph.
//
// Bytes and operations of an iteration: those of `cuda_all_gpu`, and nothing over the bus.
// Limits: those of `cuda_all_gpu`. A GPU and a driver of CUDA 12.4 or later.
// Source: NVIDIA's CUDA C++ Programming Guide, "CUDA Graphs" and "Conditional Graph Nodes"; the laboratory's experiment
// with task graphs.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/atomic_file.hpp"
#include "kmeans/cuda_device_loop.cuh"
#include "kmeans/variants.hpp"

namespace gradus::kmeans_detail {

namespace {

// Launch shape: one block of 1024 threads.
template <class T>
__global__ void update_in_graph(int k, int d, DeviceSums sums, T* centroids, T* next, LoopState* state,
                                LoopRecord* records, cudaGraphConditionalHandle again) {
  update_centroids(k, d, sums, centroids, next, state, records);
  if (threadIdx.x == 0) cudaGraphSetConditional(again, state->finished ? 0 : 1);
}

/// Writes the graph where the user asked for it, whole or not at all: CUDA itself writes to a file of its own.
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
  using Memory = typename CudaLoopEngine<T, GraphLoop>::Memory;

  GraphLoop(Memory& memory, const Execution& execution) : stream_(memory.job.stream()) {
    cuda::check(cudaGraphCreate(&graph_, 0), "cudaGraphCreate");
    cudaGraphConditionalHandle again{};
    cuda::check(cudaGraphConditionalHandleCreate(&again, graph_, 1, cudaGraphCondAssignDefault),
                "cudaGraphConditionalHandleCreate");
    cudaGraphNodeParams loop{};
    loop.type = cudaGraphNodeTypeConditional;
    loop.conditional.handle = again;
    loop.conditional.type = cudaGraphCondTypeWhile;
    loop.conditional.size = 1;
    cudaGraphNode_t node{};
    cuda::check(cudaGraphAddNode(&node, graph_, nullptr, nullptr, 0, &loop), "cudaGraphAddNode");
    record_body(loop.conditional.phGraph_out[0], memory, again);
    if (!execution.graph_file.empty()) dump_graph(graph_, execution.graph_file);
    cuda::check(cudaGraphInstantiate(&executable_, graph_, 0), "cudaGraphInstantiate");
  }
  GraphLoop(const GraphLoop&) = delete;
  GraphLoop& operator=(const GraphLoop&) = delete;
  ~GraphLoop() {
    if (executable_) cudaGraphExecDestroy(executable_);
    if (graph_) cudaGraphDestroy(graph_);
  }

  void run(std::vector<Phase>& phases) {
    core::PhaseTimer timer(phases, "iterate");
    cuda::check(cudaGraphLaunch(executable_, stream_), "cudaGraphLaunch");
    stream_.wait();
  }

 private:
  void record_body(cudaGraph_t body, Memory& memory, cudaGraphConditionalHandle again) {
    const Problem<T>& problem = memory.job.problem();
    stream_.wait();  // what was begun before is not part of the graph
    cuda::check(cudaStreamBeginCaptureToGraph(stream_, body, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed),
                "cudaStreamBeginCaptureToGraph");
    memory.launch_assign_and_sum();
    update_in_graph<<<1, 1024, 0, stream_>>>(static_cast<int>(problem.k()), static_cast<int>(problem.d()),
                                             memory.sums.on_device(), memory.centroids.data(), memory.next.data(),
                                             memory.state.data(), memory.records.data(), again);
    cuda::check_launch("update_in_graph");
    cuda::check(cudaStreamEndCapture(stream_, &body), "cudaStreamEndCapture");
  }

  const cuda::Stream& stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace

template <class T>
KMeansResult<T> cuda_graph(const Problem<T>& problem, const Execution& execution) {
  using Engine = CudaLoopEngine<T, GraphLoop<T>>;
  const int threads = block_threads(execution, 256);
  CudaJob<T> job(problem, execution, Layout::columns, Engine::bytes(problem));
  Engine engine(job, execution, threads);
  return lloyd(problem, execution, engine);
}

template KMeansResult<float> cuda_graph(const Problem<float>&, const Execution&);
template KMeansResult<double> cuda_graph(const Problem<double>&, const Execution&);

}  // namespace gradus::kmeans_detail
