#include "execution/request.hpp"

#include <algorithm>

#include "core/options.hpp"
#include "core/text.hpp"
#include "cpu/memory.hpp"
#include "cpu/threads.hpp"
#include "gradus/communicator.hpp"

namespace gradus::execution {

bool overlap(const detail::ViewFacts& one, const detail::ViewFacts& other) {
  struct Bytes {
    std::uintptr_t begin = 0;
    std::uintptr_t width = 0;   // width of a row, in bytes
    std::uintptr_t stride = 0;  // distance between the beginnings of consecutive rows, in bytes; 0: a single row
    std::uintptr_t end = 0;
  };
  const auto bytes_of = [](const detail::ViewFacts& view) {
    Bytes bytes{.begin = reinterpret_cast<std::uintptr_t>(view.data)};
    const bool one_row = view.rows <= 1 || view.row_stride == view.columns;
    bytes.width = static_cast<std::uintptr_t>(one_row ? view.rows * view.columns : view.columns) * view.element_bytes;
    if (!one_row) bytes.stride = static_cast<std::uintptr_t>(view.row_stride) * view.element_bytes;
    bytes.end = bytes.begin + bytes.width + (one_row ? 0 : static_cast<std::uintptr_t>(view.rows - 1) * bytes.stride);
    return bytes;
  };
  const Bytes a = bytes_of(one);
  const Bytes b = bytes_of(other);
  if (a.width == 0 || b.width == 0 || one.rows == 0 || other.rows == 0) return false;
  if (a.end <= b.begin || b.end <= a.begin) return false;
  const std::uintptr_t stride = std::max(a.stride, b.stride);
  if (stride == 0 || (a.stride != b.stride && a.stride != 0 && b.stride != 0)) return true;
  // The offset of b's rows within the period of a's rows. The views overlap unless each row of b fits into the gap
  // between two rows of a.
  const std::uintptr_t after =
      b.begin >= a.begin ? (b.begin - a.begin) % stride : (stride - (a.begin - b.begin) % stride) % stride;
  return after < a.width || after + b.width > stride;
}

void check_size(std::initializer_list<std::int64_t> factors, const char* what) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors)
    if (__builtin_mul_overflow(product, factor, &product))
      throw UsageError(about(what) + "the size in bytes overflows 64 bits");
}

void check_element_bytes(int bytes) {
  if (bytes != sizeof(float) && bytes != sizeof(double))
    throw UsageError("an element takes 4 bytes (float) or 8 (double), not " + std::to_string(bytes));
}

void refuse_cpu_with_gpus(const Execution& execution) {
  if (!execution.gpus.empty() && execution.device == Device::cpu)
    throw UsageError(about("gpus") + "GPUs were asked for, and the CPU too; leave out one of the two");
}

void check_execution(const Execution& execution, SupportsRanks supports_ranks) {
  if (execution.communicator != nullptr && supports_ranks == SupportsRanks::no)
    throw UnsupportedError(about("communicator") +
                           "this call does not run on several ranks; pass all rows on one rank, without a "
                           "communicator");
  if (!execution.gpus.empty())
    throw UnsupportedError(about("gpus") + "this call runs on one GPU; leave out the list of GPUs, and name one GPU");
  core::check_choice(execution.device, "device");
  core::check_choice(execution.pinning, "pinning");
  if (execution.pinning != Pinning::none && execution.communicator != nullptr &&
      execution.communicator->neighbours() > 1)
    throw UnsupportedError(
        about("pinning") +
        "each of the ranks on this machine would bind its threads to the same cores; leave that to what "
        "starts them (mpirun --map-by and --bind-to, srun --cpu-bind)");
  if (execution.block_size < 0)
    throw UsageError(about("block size") + std::to_string(execution.block_size) + " is not a number of threads");
  cpu::thread_count(execution);
}

std::string gpu_number(int gpu) { return "GPU " + std::to_string(gpu); }

Execution run_on_gpu_of(MemoryPlace place, const char* what, const Execution& execution) {
  Execution here = execution;
  if (place.is_host() || is_for_several_gpus(execution)) return here;
  if (const std::string reason = why_no_gpu(this_machine()); !reason.empty())
    throw UnsupportedError(about(what) + "the view says that they are on " + gpu_number(place.gpu) + ", but " + reason +
                           "; pass host memory");
  if (execution.device == Device::cpu)
    throw UnsupportedError(about(what) + "they are on " + gpu_number(place.gpu) +
                           ", but the CPU was asked for; copy them to host memory, or leave the device to the library");
  if (execution.device == Device::gpu && execution.gpu != place.gpu)
    throw UsageError(about(what) + "they are on " + gpu_number(place.gpu) + ", but " + gpu_number(execution.gpu) +
                     " was asked for");
  here.device = Device::gpu;
  here.gpu = place.gpu;
  return here;
}

void check_reachable(MemoryPlace place, const char* what, bool runs_on_gpu, int gpu) {
  if (place.is_host() || (runs_on_gpu && place.gpu == gpu)) return;
  throw UnsupportedError(about(what) + "they are on " + gpu_number(place.gpu) + ", but the job runs on " +
                         (runs_on_gpu ? gpu_number(gpu) : "the CPU") + "; keep them there or in host memory");
}

namespace {

/// Returns the available memory of the machine, divided by the number of ranks on it.
std::uint64_t memory_left(const Execution& execution) {
  const int ranks = execution.communicator != nullptr ? std::max(1, execution.communicator->neighbours()) : 1;
  return cpu::available_memory() / static_cast<std::uint64_t>(ranks);
}

}  // namespace

bool has_memory(std::uint64_t needed, const Execution& execution) {
  // A small job skips the query of the available memory. The query takes 0.1 ms, which is as long as the job, and every
  // machine has this little memory.
  constexpr std::uint64_t never_too_much = 16 << 20;
  if (execution.memory_limit > 0) return needed <= execution.memory_limit;
  return needed <= never_too_much || needed <= memory_left(execution);
}

void check_memory(std::uint64_t needed, const Execution& execution, std::string_view way_out) {
  if (has_memory(needed, execution)) return;
  const bool limited = execution.memory_limit > 0;
  const std::uint64_t available = limited ? execution.memory_limit : memory_left(execution);
  throw OutOfMemoryError("the job needs " + core::size_text(needed) + " of memory beyond its input, but " +
                         (limited ? "the memory limit allows only " + core::size_text(available)
                                  : "only " + core::size_text(available) + " are available") +
                         (way_out.empty() ? "" : "; " + std::string(way_out)));
}

void check_gpu_memory(std::uint64_t needed, const Execution& execution) {
  if (execution.gpu_memory_limit == 0 || needed <= execution.gpu_memory_limit) return;
  throw OutOfMemoryError("the job needs " + core::size_text(needed) +
                         " of the GPU's memory, but the limit allows only " +
                         core::size_text(execution.gpu_memory_limit));
}

GrantedMachine::GrantedMachine(const Execution& execution) {
  if (execution.gpu_memory_limit == 0) return;
  limited_ = this_machine();
  std::vector<Gpu> gpus = limited_->gpus();
  for (Gpu& gpu : gpus) gpu.granted_bytes = execution.gpu_memory_limit;
  limited_->gpus = Gpus(std::move(gpus));
}

void check_device(const core::VariantInfo& variant, const Execution& execution, std::string_view problem) {
  const bool on_gpu = variant.backend == core::Backend::cuda;
  if (execution.block_size != 0 && !on_gpu)
    throw UsageError(about("block size") + std::string(problem) + " variant '" + std::string(variant.name) +
                     "' runs on the CPU, where there are no blocks of threads; leave it out, or ask for the GPU");
  if (execution.device == Device::automatic || on_gpu == (execution.device == Device::gpu)) return;
  throw UsageError(std::string(problem) + " variant '" + std::string(variant.name) + "' runs on the " +
                   (on_gpu ? "GPU" : "CPU") + ", but the " + (on_gpu ? "CPU" : "GPU") + " was asked for");
}

const std::string& device_name(bool on_gpu, const Execution& execution) {
  const Machine& machine = this_machine();
  return on_gpu ? require_gpu(machine, execution.gpu).name : machine.processor;
}

}  // namespace gradus::execution
