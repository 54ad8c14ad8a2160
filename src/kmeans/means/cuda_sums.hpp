// Sums in double on the GPU, added up as in a textbook. Lloyd's driver reads a copy of them in host memory.
#pragma once

#include <algorithm>
#include <cstring>

#include "kmeans/gpu/cuda_common.hpp"

namespace gradus::kmeans_detail {

/// Pointers to the sums, for kernel arguments.
struct DeviceSums {
  double* sums;                ///< k x d
  double* weights;             ///< k elements
  unsigned long long* counts;  ///< k elements
};

template <class T>
class CudaSums {
 public:
  explicit CudaSums(const CudaFit<T>& job)
      : job_(job), memory_(elements(job.problem())), staged_(memory_.size()), host_(job.problem()) {}

  static std::uint64_t bytes(const Problem<T>& problem) { return 8 * static_cast<std::uint64_t>(elements(problem)); }

  DeviceSums on_device() {
    const std::int64_t k = job_.problem().k();
    double* sums = memory_.data();
    double* weights = sums + k * job_.problem().d();
    return {sums, weights, reinterpret_cast<unsigned long long*>(weights + k)};
  }

  void clear() { memory_.clear(job_.stream()); }

  /// Waits for the stream and updates the host copy.
  void fetch() {
    const std::int64_t k = job_.problem().k();
    const std::int64_t area = k * job_.problem().d();
    memory_.copy_to_host(staged_.data(), memory_.size(), job_.stream());
    job_.stream().wait();
    std::copy_n(staged_.data(), area, host_.sums.data());
    std::copy_n(staged_.data() + area, k, host_.weights.data());
    std::memcpy(host_.counts.data(), staged_.data() + area + k, static_cast<std::size_t>(k) * 8);
  }

  const FloatSums<T>& on_host() const { return host_; }

  bool any_empty() const {
    for (std::int64_t cluster = 0; cluster < job_.problem().k(); ++cluster)
      if (!(host_.weight(cluster) > 0)) return true;
    return false;
  }

 private:
  static std::int64_t elements(const Problem<T>& problem) { return problem.k() * (problem.d() + 2); }

  const CudaFit<T>& job_;
  cuda::DeviceBuffer<double> memory_;  ///< k x d sums, then k weights, then k counts (64-bit integers)
  cuda::PinnedBuffer<double> staged_;
  FloatSums<T> host_;
};

}  // namespace gradus::kmeans_detail
