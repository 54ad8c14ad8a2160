// Replaces a start-up measurement of Highway's shared library. When a process starts, the library measures the
// resolution of the CPU's timer. Gradus does not use this resolution. The measurement takes 4 ms of CPU time, three
// quarters of the time of `gradus --version`. The dynamic linker uses the program's definition of TimerResolution()
// instead of the library's definition. A statically linked Highway does not measure the resolution.
#include <cstdint>

namespace hwy::platform {

/// Returns the best possible resolution, 1 tick, without a measurement.
__attribute__((visibility("default"))) std::uint64_t TimerResolution() { return 1; }

}  // namespace hwy::platform
