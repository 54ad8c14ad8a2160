// Exact sums on the GPU, and how they come back: what the exact CUDA variants share on the host.
#pragma once

#include "core/exact_sum.hpp"
#include "cuda/memory.hpp"
#include "kmeans/exact_sums.hpp"

namespace gradus::kmeans_detail {

using Word = unsigned long long;  // of an exact sum; wraps

/// Waits for the stream; `on_device`: the words of `sums`, as ExactSums::set takes them.
template <class T>
void fetch_sums(const cuda::DeviceBuffer<Word>& on_device, ExactSums<T>& sums, const cuda::Stream& stream) {
  Buffer<Word> words(on_device.size());
  on_device.copy_to_host(words.data(), words.size(), stream);
  stream.wait();
  sums.set(reinterpret_cast<const std::int64_t*>(words.data()));
}

/// Waits for the stream; the value of a sum's two limbs.
inline double fetch_value(const cuda::DeviceBuffer<Word>& limbs, const core::Grid& grid, const cuda::Stream& stream) {
  Word words[2];
  limbs.copy_to_host(words, 2, stream);
  stream.wait();
  const core::Limbs total{static_cast<std::int64_t>(words[0]), static_cast<std::int64_t>(words[1])};
  return core::round_quotient<double>(grid.total(total), 1, grid.unit);
}

}  // namespace gradus::kmeans_detail
