#include "cpu/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include "cpu/control_group.hpp"

namespace gradus::cpu {
namespace {

std::uint64_t pages(int which) {
  const long count = sysconf(which);
  return count > 0 ? static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace

std::uint64_t total_memory() { return std::min(pages(_SC_PHYS_PAGES), first_control_group().memory_limit); }

std::uint64_t available_memory() {
  std::uint64_t available = pages(_SC_AVPHYS_PAGES);
  std::ifstream meminfo("/proc/meminfo");
  for (std::string line; std::getline(meminfo, line);)
    if (line.starts_with("MemAvailable:")) available = std::strtoull(line.c_str() + 13, nullptr, 10) * 1024;
  return std::min(available, read_control_group().memory_left);
}

void prefer_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::uint64_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t page = 4096;
  constexpr std::uint64_t worth_while = std::uint64_t{4} << 20;
  if (bytes < worth_while) return;
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / page * page;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the address was rounded to a page as a number
  (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

}  // namespace gradus::cpu
