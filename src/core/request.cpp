#include "core/request.hpp"

namespace gradus::core {

void check_place(MemoryPlace place, const char* what) {
  if (!place.is_host())
    throw UnsupportedError(std::string(what) + " lie on a GPU, which this build cannot use; pass host memory");
}

void check_memory(std::uint64_t needed, const Execution& execution) {
  const std::uint64_t available = execution.memory_limit > 0 ? execution.memory_limit : cpu::available_memory();
  if (needed > available)
    throw Error("the job needs " + std::to_string(needed) + " bytes of memory beyond its input, but only " +
                std::to_string(available) + " bytes are available");
}

void check_device(const VariantInfo& variant, const Execution& execution, std::string_view problem) {
  const bool on_gpu = variant.backend == Backend::cuda;
  if (execution.device == Device::automatic || on_gpu == (execution.device == Device::gpu)) return;
  throw UsageError(std::string(problem) + " variant '" + std::string(variant.name) + "' runs on the " +
                   (on_gpu ? "GPU" : "CPU") + ", but the " + (on_gpu ? "CPU" : "GPU") + " was asked for");
}

const std::string& device_name(const VariantInfo& variant, const Execution& execution) {
  const cpu::Machine& machine = cpu::this_machine();
  return variant.backend == Backend::cuda ? cuda::require_gpu(machine, execution.gpu).name : machine.processor;
}

}  // namespace gradus::core
