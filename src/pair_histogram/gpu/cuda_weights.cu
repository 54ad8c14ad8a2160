// Validation of weights on a GPU.
#include <cuda_runtime.h>

#include <algorithm>
#include <iterator>

#include "cuda/launch.hpp"
#include "pair_histogram/gpu/gpu_points.hpp"

namespace gradus::pair_histogram_detail {

namespace {

constexpr int block_threads = 256;

// Lowers `*least` to the minimum of a value over a warp. All lanes must call the function. The first read of `*least`
// is not synchronised. A stale value at worst causes a redundant atomicMin.
__device__ void take_least(int* least, int value) {
  value = __reduce_min_sync(0xffffffffU, value);
  if (threadIdx.x % 32 == 0 && value < *least) atomicMin(least, value);
}

// Launch shape: some blocks of whole warps, in a grid-stride loop over the weights.
template <class T>
__global__ void find_span(const T* weights, std::int64_t count, int* found) {
  WeightSpan span;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < count; row += stride)
    span.add(static_cast<double>(weights[row]));
  take_least(&found[0], span.lowest_bit);
  take_least(&found[1], span.least_exponent);
  take_least(&found[2], -span.above);
}

}  // namespace

template <class T>
WeightSpan find_weight_span(VectorView<const T> weights, cuda::Job& job) {
  const cuda::Stream& stream = job.stream();
  constexpr std::int64_t most_blocks = 1024;
  WeightSpan span;
  int found[] = {span.lowest_bit, span.least_exponent, -span.above};
  constexpr std::size_t words = std::size(found) * sizeof(int) / sizeof(cuda::Job::Word) + 1;
  int* const there = reinterpret_cast<int*>(job.scratch(words));
  const auto blocks = std::min((weights.size() + block_threads - 1) / block_threads, most_blocks);
  cuda::check(cudaMemcpyAsync(there, found, sizeof found, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
  find_span<<<static_cast<unsigned int>(blocks), block_threads, 0, stream>>>(weights.data(), weights.size(), there);
  cuda::check_launch("find_span");
  cuda::check(cudaMemcpyAsync(found, there, sizeof found, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
  stream.wait();
  span.lowest_bit = found[0];
  span.least_exponent = found[1];
  span.above = -found[2];
  return span;
}

template WeightSpan find_weight_span(VectorView<const float>, cuda::Job&);
template WeightSpan find_weight_span(VectorView<const double>, cuda::Job&);

}  // namespace gradus::pair_histogram_detail
