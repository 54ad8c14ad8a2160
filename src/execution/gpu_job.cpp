#include "execution/gpu_job.hpp"

#include <algorithm>

#include "cpu/threads.hpp"
#include "execution/devices.hpp"

namespace gradus::execution {

std::shared_ptr<cuda::Job> start_gpu_job(const Execution& execution, std::uint64_t bytes) {
  require_gpu(this_machine(), execution.gpu);
  return std::make_shared<cuda::Job>(execution, cpu::thread_count(execution), bytes);
}

std::uint64_t gpu_memory_to_take(const Execution& execution) {
  const cuda::CurrentDevice device(execution.gpu);
  std::size_t free = 0;
  std::size_t total = 0;
  cuda::check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  constexpr std::uint64_t for_others = std::uint64_t{256} << 20;  // memory for the driver and for loading kernels
  const std::uint64_t most = free > for_others ? free - for_others : 0;
  return execution.gpu_memory_limit > 0 ? std::min(most, execution.gpu_memory_limit) : most;
}

template <class T>
Matrix<T> copy_to_host(MatrixView<const T> rows, const char* what, const Execution& execution) {
  Execution there = execution;
  there.gpu = rows.place().gpu;
  const std::shared_ptr<cuda::Job> job = start_gpu_job(there);
  job->admit(rows.data(), what);
  return job->copy_to_host(rows);
}

template Matrix<float> copy_to_host(MatrixView<const float>, const char*, const Execution&);
template Matrix<double> copy_to_host(MatrixView<const double>, const char*, const Execution&);

}  // namespace gradus::execution
