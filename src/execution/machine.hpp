// The hardware of this machine: cores, SIMD instructions, caches, memory, GPUs.
#pragma once

#include <cstdint>
#include <future>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace gradus::execution {

struct Gpu {
  int index = 0;  ///< index among the GPUs that this process sees
  std::string name;
  std::uint64_t memory_bytes = 0;
  std::uint64_t granted_bytes = std::numeric_limits<std::uint64_t>::max();  ///< Execution::gpu_memory_limit
  int multiprocessors = 0;
  std::uint64_t shared_bytes = 0;  ///< maximum shared memory per block
  std::string compute_capability;  ///< for example "9.0"
  bool usable = false;             ///< true if this build has code for the GPU
};

/// Facts that are determined on first use, so that jobs without a need for them save the time.
template <class Facts>
class OnDemand {
 public:
  explicit OnDemand(Facts known = {})
      : found_(std::async(std::launch::deferred, [known = std::move(known)] { return known; })) {}
  explicit OnDemand(Facts (*find)()) : found_(std::async(std::launch::deferred, find)) {}

  const Facts& operator()() const { return found_.get(); }

 private:
  std::shared_future<Facts> found_;
};

/// The GPUs are determined on first use, because the driver needs a tenth of a second to report them.
using Gpus = OnDemand<std::vector<Gpu>>;

/// Topology of cores, caches and memory. Determining it with hwloc takes milliseconds.
struct Layout {
  int physical_cores = 1;  ///< number of cores, not hardware threads, in the affinity mask
  int hardware_threads_per_core = 1;
  int packages = 1;
  int memory_nodes = 1;
  std::uint64_t l1_bytes = 0;  ///< size of one data cache; a size of 0 means unknown
  std::uint64_t l2_bytes = 0;
  std::uint64_t l3_bytes = 0;  ///< size of one third-level cache, which several cores may share
};

struct Machine {
  std::string processor;  ///< model name of the CPU
  int cores = 1;  ///< number of logical CPUs in the affinity mask of this process, or the CPU quota (rounded up) of its
                  ///< control group if the quota is less
  std::vector<std::string> simd;    ///< instruction sets with a kernel in this build, best first
  bool fused_multiply_add = false;  ///< true if the best of `simd` can fuse multiply and add
  std::uint64_t memory_bytes = 0;   ///< memory of the machine, or the limit of the control group if the limit is less
  bool cuda_compiled = false;       ///< true if this build contains the GPU variants
  OnDemand<Layout> layout;
  Gpus gpus;
};

/// Returns the machine of this process. The machine is examined once. Its layout and GPUs are determined on first use.
const Machine& this_machine();

}  // namespace gradus::execution
