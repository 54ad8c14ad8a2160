// Exact sums on the GPU, and their transfer to the host. All exact CUDA variants use this code.
#pragma once

#include <cstring>

#include "core/exact_total.hpp"
#include "cuda/memory.hpp"
#include "kmeans/means/exact_sums.hpp"

namespace gradus::kmeans_detail {

using Word = unsigned long long;  // a word of an exact sum; additions wrap around

/// Copies sums from the GPU to the host, and waits for the stream. `on_device` contains the words, in the order of
/// ExactSums::set().
template <class T>
void fetch_sums(const cuda::DeviceBuffer<Word>& on_device, ExactSums<T>& sums, const cuda::Stream& stream) {
  Buffer<Word> words(on_device.size());
  on_device.copy_to_host(words.data(), words.size(), stream);
  stream.wait();
  sums.set(reinterpret_cast<const std::int64_t*>(words.data()));
}

/// Limbs as in core::TotalLimbs, to which many threads can add concurrently.
struct TotalWords {
  Word high;
  Word middle;
  Word low;
};

inline core::TotalLimbs limbs_of(const TotalWords& words) {
  return {static_cast<std::int64_t>(words.high), static_cast<std::int64_t>(words.middle),
          static_cast<std::int64_t>(words.low)};
}

/// A sum as in core::ExactTotal, to which many threads can add concurrently.
struct SharedTotal {
  TotalWords limbs;
  Word small[core::accumulator_limbs];
};

/// A SharedTotal in GPU memory.
class DeviceTotal {
 public:
  DeviceTotal() : memory_(1) {}

  SharedTotal* cleared(const cuda::Stream& stream) {
    memory_.clear(stream);
    return memory_.data();
  }

  /// Waits for the stream, and returns the sum. The limbs are in units of 2^exponent.
  core::ExactAccumulator fetch(const core::TotalGrid& grid, int exponent, const cuda::Stream& stream) const {
    SharedTotal words;
    memory_.copy_to_host(&words, 1, stream);
    stream.wait();
    core::ExactAccumulator sum;
    std::int64_t small[core::accumulator_limbs];
    std::memcpy(small, words.small, sizeof small);
    sum.merge(small);
    grid.add_to(sum, limbs_of(words.limbs), exponent);
    return sum;
  }

 private:
  cuda::DeviceBuffer<SharedTotal> memory_;
};

#ifdef __CUDACC__

__device__ inline void add_limbs(TotalWords& total, const core::TotalLimbs& limbs) {
  atomicAdd(&total.high, static_cast<Word>(limbs.high));
  atomicAdd(&total.middle, static_cast<Word>(limbs.middle));
  atomicAdd(&total.low, static_cast<Word>(limbs.low));
}

/// Adds the limbs of all lanes of a warp.
__device__ inline void add_limbs_of_warp(SharedTotal& total, core::TotalLimbs limbs) {
  for (int lanes = 16; lanes > 0; lanes /= 2)
    limbs.merge({__shfl_down_sync(0xffffffffu, limbs.high, lanes), __shfl_down_sync(0xffffffffu, limbs.middle, lanes),
                 __shfl_down_sync(0xffffffffu, limbs.low, lanes)});
  if (threadIdx.x % 32 == 0) add_limbs(total.limbs, limbs);
}

/// Adds a value that is too small for the limbs.
__device__ inline void add_small(SharedTotal& total, core::Scaled value) {
  core::for_each_limb(value,
                      [&](int word, std::int64_t addend) { atomicAdd(&total.small[word], static_cast<Word>(addend)); });
}

/// Adds a value to this thread's limbs. If the limbs cannot hold the value exactly, adds it to `total` instead.
__device__ inline void add_value(const core::TotalGrid& grid, double value, core::TotalLimbs& limbs,
                                 SharedTotal& total) {
  if (grid.holds(value)) grid.add(value, limbs);
  else add_small(total, core::scaled(value));
}

/// Adds weight * value, rounded to 53 bits. `scale` is the factor that converts a weight to a scaled weight. The scaled
/// weight is at most 1. The grid must be made for scaled weights.
__device__ inline void add_weighted(const core::TotalGrid& grid, double weight, double scale, double value,
                                    core::TotalLimbs& limbs, SharedTotal& total) {
  const double scaled_weight = weight * scale;
  const double product = scaled_weight * value;
  if (core::is_plain_product(scaled_weight, product) && grid.holds(product)) grid.add(product, limbs);
  else add_small(total, core::rounded_product(weight, value));
}

#endif

}  // namespace gradus::kmeans_detail
