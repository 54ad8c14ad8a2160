// cuda_naive: each thread computes one element of C by walking along a row of A and a column of B.
//
// What changes from the CPU rungs: tens of thousands of threads run at once. The 32 threads of a warp compute
// neighbouring elements of a row of C. They all read the same element of A, in a single transfer. They read contiguous
// elements of a row of B. While a warp waits for memory, other warps run. The order of accesses is not adapted to the
// caches.
//
// Operations: 2 m n k. Bytes: a warp loads 33 elements for 32 multiply-adds, namely 32 elements of B and one element of
// A for all threads. The L1 cache delivers about one warp load per clock and multiprocessor, which limits the rate.
// Memory supplies what the caches do not keep.
// Limits: the matrices must fit in the GPU's memory. A stop request takes effect at the end of a launch. If k is many
// millions, a launch may take long. All sizes are allowed: threads outside the matrix do nothing.
// Source: the CUDA C++ Programming Guide, matrix multiplication without shared memory.
#include "matmul/gpu/support.hpp"
#include "matmul/problem.hpp"

#ifdef GRADUS_HAS_CUDA
#include "matmul/gpu/product.cuh"

namespace gradus::matmul_detail {

namespace {

// Launch shape: one block per tile of C, one thread per element, 32 threads along a row.
template <class T>
__global__ void multiply(Product<T> product, Tiles tiles) {
  const Tiles::Place place = tiles.place();
  product.select(place.batch);
  const std::int64_t row = place.row * blockDim.y + threadIdx.y;
  const std::int64_t column = place.column * blockDim.x + threadIdx.x;
  if (row >= product.m || column >= product.n) return;
  T total = T(-0.0);
  for (std::int64_t first = 0; first < product.k; first += block_depth) {
    const std::int64_t end = min(first + block_depth, product.k);
    T sum = 0;
    for (std::int64_t inner = first; inner < end; ++inner)
      sum = fma(product.a(row, inner), product.b(inner, column), sum);
    total += sum;
  }
  product.finish(row, column, total);
}

}  // namespace

template <class T>
Done cuda_naive(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int rows = cuda::block_threads(execution, 256) / 32;
  const dim3 threads(32, static_cast<unsigned int>(rows));
  for_tiles(problem, execution, phases, rows, 32, [&](const Product<T>& product, const Tiles& tiles, unsigned blocks) {
    multiply<<<blocks, threads, 0, problem.gpu->stream()>>>(product, tiles);
    cuda::check_launch("multiply");
  });
  return {};
}

}  // namespace gradus::matmul_detail
#endif

namespace gradus::matmul_detail {

extern constinit const Variant cuda_naive_rung{
    .name = "cuda_naive",
    .summary = "a GPU thread for each element",
    .change = "tens of thousands of threads at once instead of a few; 32 neighbours share each load of A",
    .backend = core::Backend::cuda,
    .device_input = true,
    .supports = execution::on_gpu,
    .memory = gpu_memory,
    .run = GRADUS_CUDA_RUNS(cuda_naive<float>, cuda_naive<double>),
};

}  // namespace gradus::matmul_detail
