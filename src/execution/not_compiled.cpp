// The functions of gpu_job.hpp and launched.hpp in builds without CUDA.
#include "core/not_compiled.hpp"
#include "execution/gpu_job.hpp"
#include "execution/launched.hpp"

namespace gradus::execution {

std::shared_ptr<cuda::Job> start_gpu_job(const Execution&, std::uint64_t) { core::not_compiled("CUDA"); }

std::uint64_t gpu_memory_to_take(const Execution&) { core::not_compiled("CUDA"); }
void connect_gpu(const Execution&) { core::not_compiled("CUDA"); }
LaunchedProcess& join_launch(const core::Launch&, const LaunchRequest&) { core::not_compiled("CUDA"); }

template <class T>
Matrix<T> copy_to_host(MatrixView<const T>, const char*, const Execution&) {
  core::not_compiled("CUDA");
}

template Matrix<float> copy_to_host(MatrixView<const float>, const char*, const Execution&);
template Matrix<double> copy_to_host(MatrixView<const double>, const char*, const Execution&);

}  // namespace gradus::execution
