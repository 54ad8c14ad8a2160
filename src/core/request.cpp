#include "core/request.hpp"

#include "core/text.hpp"

namespace gradus::core {

std::string gpu_number(int gpu) { return "GPU " + std::to_string(gpu); }

Execution run_where_it_lies(MemoryPlace place, const char* what, const Execution& execution) {
  Execution here = execution;
  if (place.is_host()) return here;
  if (const std::string reason = cuda::why_no_gpu(cpu::this_machine()); !reason.empty())
    throw UnsupportedError(std::string(what) + ": the view says that they lie on " + gpu_number(place.gpu) + ", but " +
                           reason + "; pass host memory");
  if (execution.device == Device::cpu)
    throw UnsupportedError(std::string(what) + ": they lie on " + gpu_number(place.gpu) +
                           ", but the CPU was asked for; copy them to host memory, or leave the device to the library");
  if (execution.device == Device::gpu && execution.gpu != place.gpu)
    throw UsageError(std::string(what) + ": they lie on " + gpu_number(place.gpu) + ", but " +
                     gpu_number(execution.gpu) + " was asked for");
  here.device = Device::gpu;
  here.gpu = place.gpu;
  return here;
}

void check_beside(MemoryPlace place, const char* what, bool runs_on_gpu, int gpu) {
  if (place.is_host() || (runs_on_gpu && place.gpu == gpu)) return;
  throw UnsupportedError(std::string(what) + ": they lie on " + gpu_number(place.gpu) + ", but the job runs on " +
                         (runs_on_gpu ? gpu_number(gpu) : "the CPU") + "; keep them there or in host memory");
}

void check_memory(std::uint64_t needed, const Execution& execution) {
  const bool limited = execution.memory_limit > 0;
  const std::uint64_t available = limited ? execution.memory_limit : cpu::available_memory();
  if (needed <= available) return;
  throw Error("the job needs " + size_text(needed) + " of memory beyond its input, but " +
              (limited ? "Execution::memory_limit allows only " + size_text(available)
                       : "only " + size_text(available) + " are available"));
}

void check_device(const VariantInfo& variant, const Execution& execution, std::string_view problem) {
  const bool on_gpu = variant.backend == Backend::cuda;
  if (execution.block_size != 0 && !on_gpu)
    throw UsageError("Execution::block_size: " + std::string(problem) + " variant '" + std::string(variant.name) +
                     "' runs on the CPU, where there are no blocks of threads; leave it out, or ask for the GPU");
  if (execution.device == Device::automatic || on_gpu == (execution.device == Device::gpu)) return;
  throw UsageError(std::string(problem) + " variant '" + std::string(variant.name) + "' runs on the " +
                   (on_gpu ? "GPU" : "CPU") + ", but the " + (on_gpu ? "CPU" : "GPU") + " was asked for");
}

const std::string& device_name(const VariantInfo& variant, const Execution& execution) {
  const cpu::Machine& machine = cpu::this_machine();
  return variant.backend == Backend::cuda ? cuda::require_gpu(machine, execution.gpu).name : machine.processor;
}

}  // namespace gradus::core
