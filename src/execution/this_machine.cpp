#include "execution/machine.hpp"

#include "cpu/simd.hpp"  // must precede highway.h

#include <hwy/highway.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <fstream>

#include "cpu/memory.hpp"
#include "cpu/threads.hpp"
#include "cpu/topology.hpp"
#include "execution/devices.hpp"

namespace gradus::execution {
namespace {

/// Returns the name that an x86 CPU reports through CPUID, or "" for other CPUs. Avoids /proc/cpuinfo, because the
/// system generates the text about all CPUs at each read.
std::string own_name() {
#if defined(__x86_64__) || defined(__i386__)
  constexpr unsigned first = 0x80000002;
  unsigned words[12] = {};
  if (__get_cpuid_max(0x80000000, nullptr) < first + 2) return "";
  for (unsigned leaf = 0; leaf < 3; ++leaf) {
    unsigned* const four = words + std::size_t{4} * leaf;
    __get_cpuid(first + leaf, four, four + 1, four + 2, four + 3);
  }
  std::string name(reinterpret_cast<const char*>(words), sizeof words);
  name.resize(std::min(name.find('\0'), name.size()));
  const std::size_t begin = name.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return name.substr(begin, name.find_last_not_of(' ') + 1 - begin);
#else
  return "";
#endif
}

std::string processor_name() {
  if (std::string name = own_name(); !name.empty()) return name;
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.starts_with("model name")) {
      const std::size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
      if (line.find(':') != std::string::npos && begin != std::string::npos) return line.substr(begin);
    }
  if (cpu::topology() != nullptr)  // hwloc helps on architectures whose /proc/cpuinfo has no model name
    if (hwloc_obj* package = hwloc_get_obj_by_type(cpu::topology(), HWLOC_OBJ_PACKAGE, 0); package != nullptr)
      if (const char* name = hwloc_obj_get_info_by_name(package, "CPUModel"); name != nullptr) return name;
  return "unknown CPU";
}

int object_count(hwloc_obj_type_t type) {
  return cpu::topology() == nullptr ? 1 : std::max(1, hwloc_get_nbobjs_by_type(cpu::topology(), type));
}

std::uint64_t cache_bytes(hwloc_obj_type_t type, int fallback) {
  if (cpu::topology() != nullptr)
    if (const hwloc_obj* cache = hwloc_get_obj_by_type(cpu::topology(), type, 0);
        cache != nullptr && cache->attr->cache.size)
      return cache->attr->cache.size;
  const long bytes = sysconf(fallback);
  return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

int threads_per_core() {
  if (cpu::topology() == nullptr) return 1;
  int most = 1;
  hwloc_obj_t core = nullptr;
  while ((core = hwloc_get_next_obj_by_type(cpu::topology(), HWLOC_OBJ_CORE, core)) != nullptr)
    most = std::max(most, hwloc_bitmap_weight(core->cpuset));
  return most;
}

/// Returns the CPU vendors' name of an instruction set. Highway has other names: AVX3 for AVX-512, and AVX3_DL for
/// AVX-512 with VNNI.
std::string instructions_name(std::int64_t target) {
  std::string name = hwy::TargetName(target);
  constexpr std::string_view avx512 = "AVX3";
  if (!name.starts_with(avx512)) return name;
  const std::string extensions = name.substr(avx512.size());
  return "AVX-512" + (extensions == "_DL" ? " with VNNI" : extensions);
}

/// Returns false if Highway's target is SSSE3, SSE4 or scalar: these round a multiply-add twice.
bool has_fused_multiply_add(std::int64_t target) {
#if HWY_ARCH_X86
  return target == HWY_AVX2 || target == HWY_AVX3 || target == HWY_AVX3_DL;
#else
  return target != HWY_SCALAR && target != HWY_EMU128;
#endif
}

Layout find_layout() {
  return {.physical_cores = cpu::core_count(cpu::topology(), cpu::allowed_processors()),
          .hardware_threads_per_core = threads_per_core(),
          .packages = object_count(HWLOC_OBJ_PACKAGE),
          .memory_nodes = object_count(HWLOC_OBJ_NUMANODE),
          .l1_bytes = cache_bytes(HWLOC_OBJ_L1CACHE, _SC_LEVEL1_DCACHE_SIZE),
          .l2_bytes = cache_bytes(HWLOC_OBJ_L2CACHE, _SC_LEVEL2_CACHE_SIZE),
          .l3_bytes = cache_bytes(HWLOC_OBJ_L3CACHE, _SC_LEVEL3_CACHE_SIZE)};
}

Machine examine() {
  Machine found;
  found.processor = processor_name();
  found.cores = cpu::usable_cores();
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();  // best first
  for (const std::int64_t target : targets) found.simd.push_back(instructions_name(target));
  found.fused_multiply_add = !targets.empty() && has_fused_multiply_add(targets.front());
  found.memory_bytes = cpu::total_memory();
  found.cuda_compiled = is_compiled();
  found.layout = OnDemand<Layout>(find_layout);
  found.gpus = Gpus(find_gpus);
  return found;
}

}  // namespace

const Machine& this_machine() {
  static const Machine machine = examine();
  return machine;
}

}  // namespace gradus::execution
