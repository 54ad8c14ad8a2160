#include "bench/gpu_ceilings.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <map>
#include <vector>

#include "bench/statistics.hpp"
#include "cuda/memory.hpp"

namespace gradus::bench {

namespace {

constexpr int repeats = 9;
constexpr std::int64_t buffer_bytes = std::int64_t{1} << 30;  // far larger than the L2 cache
// Each thread executes this number of independent multiply-adds in turn, which hides their latency.
constexpr int chains = 8;
constexpr int steps = 4096;

// Reads all data in a grid-stride loop. Each thread has four loads of 16 bytes in flight.
__global__ void read_all(const uint4* data, std::int64_t count, unsigned int* out) {
  unsigned int sum = 0;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; index < count; index += 4 * stride) {
    uint4 values[4];
#pragma unroll
    for (int step = 0; step < 4; ++step) values[step] = data[index + step * stride];
#pragma unroll
    for (int step = 0; step < 4; ++step) sum ^= values[step].x ^ values[step].y ^ values[step].z ^ values[step].w;
  }
  if (sum == 0x12345678u) *out = sum;  // keeps the compiler from removing the loop
}

template <class T>
__global__ void multiply_add(T factor, T* out) {
  T values[chains];
#pragma unroll
  for (int chain = 0; chain < chains; ++chain) values[chain] = static_cast<T>(threadIdx.x + chain);
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int chain = 0; chain < chains; ++chain) values[chain] = fma(values[chain], factor, factor);
  }
  T sum = 0;
#pragma unroll
  for (int chain = 0; chain < chains; ++chain) sum += values[chain];
  if (sum == T{12345}) *out = sum;
}

/// Returns the median time of `repeats` launches. One more launch precedes them as a warm-up.
template <class Launch>
double median_seconds(const cuda::Stream& stream, const Launch& launch) {
  cuda::Event start;
  cuda::Event end;
  std::vector<double> samples;
  for (int repeat = 0; repeat <= repeats; ++repeat) {
    start.record(stream);
    launch();
    end.record(stream);
    end.wait();
    float milliseconds = 0;
    cuda::check(cudaEventElapsedTime(&milliseconds, start, end), "cudaEventElapsedTime");
    if (repeat > 0) samples.push_back(1e-3 * static_cast<double>(milliseconds));
  }
  return median(std::move(samples));
}

Ceilings measure(int gpu) {
  const cuda::CurrentDevice device(gpu);
  const cuda::Stream stream;
  int multiprocessors = 0;
  cuda::check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, gpu), "cudaDeviceGetAttribute");
  const auto blocks = static_cast<unsigned int>(multiprocessors * 8);
  constexpr int threads = 256;

  cuda::DeviceBuffer<unsigned char> from(buffer_bytes);
  cuda::DeviceBuffer<unsigned char> to(buffer_bytes);
  from.fill_bytes(0x5a, stream);
  to.fill_bytes(0, stream);
  const std::int64_t at_once = std::int64_t{blocks} * threads * 4;
  const std::int64_t quads = buffer_bytes / 16 / at_once * at_once;

  Ceilings ceilings;
  const double read = median_seconds(stream, [&] {
    read_all<<<blocks, threads, 0, stream>>>(reinterpret_cast<const uint4*>(from.data()), quads,
                                             reinterpret_cast<unsigned int*>(to.data()));
    cuda::check_launch("read_all");
  });
  ceilings.read_bytes_per_second = static_cast<double>(quads) * 16 / read;
  const double copy = median_seconds(stream, [&] {
    cuda::check(cudaMemcpyAsync(to.data(), from.data(), buffer_bytes, cudaMemcpyDeviceToDevice, stream),
                "cudaMemcpyAsync");
  });
  ceilings.copy_bytes_per_second = 2.0 * buffer_bytes / copy;
  const double operations = static_cast<double>(blocks) * threads * chains * steps;
  ceilings.fma_f32_per_second =
      operations / median_seconds(stream, [&] {
        multiply_add<<<blocks, threads, 0, stream>>>(0.999f, reinterpret_cast<float*>(to.data()));
        cuda::check_launch("multiply_add");
      });
  ceilings.fma_f64_per_second =
      operations / median_seconds(stream, [&] {
        multiply_add<<<blocks, threads, 0, stream>>>(0.999, reinterpret_cast<double*>(to.data()));
        cuda::check_launch("multiply_add");
      });
  return ceilings;
}

}  // namespace

Ceilings measure_gpu_ceilings(int gpu) {
  static std::map<int, Ceilings> known;
  const auto found = known.find(gpu);
  return found != known.end() ? found->second : known.emplace(gpu, measure(gpu)).first->second;
}

}  // namespace gradus::bench
