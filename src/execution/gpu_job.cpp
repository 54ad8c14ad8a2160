#include "execution/gpu_job.hpp"

#include "cpu/threads.hpp"
#include "execution/devices.hpp"

namespace gradus::execution {

std::shared_ptr<cuda::Job> start_gpu_job(const Execution& execution, std::uint64_t bytes) {
  require_gpu(this_machine(), execution.gpu);
  return std::make_shared<cuda::Job>(execution, cpu::thread_count(execution), bytes);
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
