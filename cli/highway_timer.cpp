// Highway's shared library finds out the resolution of the processor's timer whenever a process starts, for a benchmark
// that nothing here uses. That takes four milliseconds of processor time, three quarters of what `gradus --version`
// takes. The library asks through the dynamic linker, which takes the program's own answer first. Where Highway is
// linked statically, nothing asks.
#include <cstdint>

namespace hwy::platform {

/// In ticks: as if it were perfect.
__attribute__((visibility("default"))) std::uint64_t TimerResolution() { return 1; }

}  // namespace hwy::platform
