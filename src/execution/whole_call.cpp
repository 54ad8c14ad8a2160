#include "execution/whole_call.hpp"

#include "core/float_environment.hpp"
#include "execution/gpu_group.hpp"
#include "execution/request.hpp"
#include "gradus/error.hpp"

namespace gradus::execution {

void throw_out_of_memory() { throw OutOfMemoryError("the system has no memory left for the job; try a smaller job"); }

void rethrow_without_thread(const std::system_error& error) {
  if (error.code() == std::errc::resource_unavailable_try_again)
    throw Error(
        "the system has no thread left for the job; raise the limit (ulimit -u, ulimit -v, or the container's limit), "
        "or ask for fewer threads");
  throw;
}

Execution adapted(const Execution& execution) {
  Execution adapted = is_for_several_gpus(execution) ? execution : on_first_gpu(execution);
  if (!execution.progress) return adapted;
  adapted.progress = [&caller = execution.progress](const Progress& progress) {
    caller(progress);
    if (!core::FloatEnvironment::of_this_thread().is_default()) core::FloatEnvironment::set_default();
  };
  return adapted;
}

}  // namespace gradus::execution
