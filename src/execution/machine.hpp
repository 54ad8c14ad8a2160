// What this machine has: cores, SIMD instructions, caches, memory, GPUs.
#pragma once

#include <cstdint>
#include <future>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace gradus::execution {

struct Gpu {
  int index = 0;  ///< its number among the GPUs that this process sees
  std::string name;
  std::uint64_t memory_bytes = 0;
  std::uint64_t granted_bytes = std::numeric_limits<std::uint64_t>::max();  ///< Execution::gpu_memory_limit
  int multiprocessors = 0;
  std::uint64_t shared_bytes = 0;  ///< shared memory that a block may have at most
  std::string compute_capability;  ///< for example "9.0"
  bool usable = false;             ///< this build has machine code for it
};

/// What is found out when it is first asked for, so that jobs which do not ask are spared the time.
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

/// GPUs take the driver a tenth of a second.
using Gpus = OnDemand<std::vector<Gpu>>;

/// How cores, caches and memory belong together, which hwloc takes milliseconds to find out.
struct Layout {
  int physical_cores = 1;  ///< cores of the affinity mask, their hardware threads counted once
  int hardware_threads_per_core = 1;
  int packages = 1;
  int memory_nodes = 1;
  std::uint64_t l1_bytes = 0;  ///< data cache of a core; 0 where nothing is known of a cache
  std::uint64_t l2_bytes = 0;
  std::uint64_t l3_bytes = 0;  ///< one instance of it
};

struct Machine {
  std::string processor;            ///< the processor's own name
  int cores = 1;                    ///< logical processors that this process may keep busy: the number of its
                                    ///< affinity mask, or its control group's quota rounded up if that is less
  std::vector<std::string> simd;    ///< instruction sets with a kernel in this build, best first
  bool fused_multiply_add = false;  ///< in hardware, for the best of `simd`
  std::uint64_t memory_bytes = 0;   ///< of the machine, or the control group's limit if that is less
  bool cuda_compiled = false;       ///< this build has the GPU variants
  OnDemand<Layout> layout;
  Gpus gpus;
};

/// The machine this process runs on; found out once, its layout and its GPUs when somebody asks for them.
const Machine& this_machine();

}  // namespace gradus::execution
