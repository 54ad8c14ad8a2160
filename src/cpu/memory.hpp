// Amounts of memory that this process may use.
#pragma once

#include <cstdint>

namespace gradus::cpu {

/// Returns the smaller of two sizes, in bytes: the memory of the machine, and the limit of the control group.
std::uint64_t total_memory();

/// Returns the number of bytes that a job may still allocate: the smaller of MemAvailable and the memory that the
/// control group leaves.
std::uint64_t available_memory();

/// Asks the operating system to back untouched memory with large pages, which save page faults and TLB misses.
void prefer_large_pages(void* memory, std::uint64_t bytes);

}  // namespace gradus::cpu
