// Replaces a start-up measurement of Highway's shared library. When a process starts, the library measures the
// resolution of the CPU's timer, which nothing here uses. The measurement takes 4 ms of CPU time, three quarters of the
// time of `gradus --version`. The dynamic linker prefers the program's definition of this function to the library's. A
// statically linked Highway does not measure.
#include <cstdint>

namespace hwy::platform {

/// Returns 1 tick, the best resolution that is possible, without measuring it.
__attribute__((visibility("default"))) std::uint64_t TimerResolution() { return 1; }

}  // namespace hwy::platform
