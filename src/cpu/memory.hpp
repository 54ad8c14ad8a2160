// The machine's memory, as far as this process may use it.
#pragma once

#include <cstdint>

namespace gradus::cpu {

/// Bytes of the machine, or the control group's limit if that is less.
std::uint64_t total_memory();

/// Bytes that a job may still take: MemAvailable, or what the control group leaves if that is less.
std::uint64_t available_memory();

/// Asks the operating system for large pages behind memory that has not been touched yet: fewer page faults, and fewer
/// misses of the translation cache afterwards. Whether they come is its decision; nothing else depends on it.
void prefer_large_pages(void* memory, std::uint64_t bytes);

}  // namespace gradus::cpu
