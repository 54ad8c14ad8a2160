// cuda_all_gpu: assignment, sums and new centroids on the GPU; a few numbers travel in each iteration.
//
// What changes from `cuda_update_kernel`: the sums are first made in the shared memory of each block, so that the
// atomic additions of 256 threads meet there and not in the second-level cache, and one kernel does both search and
// sums, so that the points are read once. A third kernel of one block divides, writes the new centroids where the next
// iteration reads them, and decides whether to go on. The processor starts the kernels and looks at the decision: one
// line of state travels, and the bus and the processor are out of the way of the data.
//
// Bytes of an iteration: the points once from the GPU's memory, 4 n for the labels read and written, a hundred bytes
// over the bus. Operations: 3 n k d, and n (d + 2) atomic additions in shared memory. Limits: sums and centroids, k (d
// + 2) doubles and k d elements, must fit the shared memory of a block. A block's atomic additions of doubles in shared
// memory are loops around a compare-and-swap: with few clusters they collide. Source: the laboratory's experiment;
// privatisation as in Kirk and Hwu, "Programming Massively Parallel Processors".
#include "kmeans/cuda_device_loop.cuh"
#include "kmeans/variants.hpp"

namespace gradus::kmeans_detail {

namespace {

/// The host starts every kernel, and waits for each decision.
template <class T>
class HostLoop {
 public:
  using Memory = typename CudaLoopEngine<T, HostLoop>::Memory;
  HostLoop(Memory& memory, const Execution&) : memory_(memory), finished_(1) {}

  void run(int /*iterations*/, std::vector<Phase>& phases) {
    const cuda::Stream& stream = memory_.job.stream();
    do {
      before_.record(stream);
      memory_.launch_assign_and_sum();
      between_.record(stream);
      memory_.launch_update();
      after_.record(stream);
      memory_.state.copy_to_host(finished_.data(), 1, stream);
      stream.wait();
      core::add_phase(phases, "assign", seconds(before_, between_));
      core::add_phase(phases, "update", seconds(between_, after_));
    } while (!finished_[0].finished);
  }

 private:
  static double seconds(const cuda::Event& from, const cuda::Event& to) {
    float milliseconds = 0;
    cuda::check(cudaEventElapsedTime(&milliseconds, from, to), "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

  Memory& memory_;
  cuda::PinnedBuffer<LoopState> finished_;
  cuda::Event before_;
  cuda::Event between_;
  cuda::Event after_;
};

}  // namespace

template <class T>
KMeansResult<T> cuda_all_gpu(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  using Engine = CudaLoopEngine<T, HostLoop<T>>;
  const int threads = block_threads(execution, 256);
  CudaJob<T> job(problem, execution, Layout::columns, Engine::bytes(problem));
  Engine engine(job, execution, threads);
  return lloyd(problem, execution, engine, phases);
}

template KMeansResult<float> cuda_all_gpu(const Problem<float>&, const Execution&, std::vector<Phase>&);
template KMeansResult<double> cuda_all_gpu(const Problem<double>&, const Execution&, std::vector<Phase>&);

}  // namespace gradus::kmeans_detail
