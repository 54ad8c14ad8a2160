// The number of threads that the operating system lets this process start. GNU's OpenMP runtime ends the process if it
// cannot start a thread.
#pragma once

namespace gradus::core {

/// Returns how many threads of a team of `threads`, including the calling thread, can be started. Calls
/// count_startable() if `threads` exceeds the greatest count of earlier calls. The greatest count is stored per calling
/// thread, because OpenMP runtimes keep a separate team for each calling thread. Under an address-space limit (ulimit
/// -v), ends the runtime's idle threads and counts at every call. The result is not a promise, because other threads or
/// programs may use up resources before the team starts.
int startable_threads(int threads);

/// Starts `threads` threads at the same time, with the stack size of the OpenMP runtime. Then ends them and returns how
/// many could be started. No other method detects limits on the address space (ulimit -v), on the user's threads
/// (ulimit -u) and on the processes of a container (pids.max).
int count_startable(int threads);

/// Parses a value of OMP_STACKSIZE such as "512", "4M" or "1 g". Returns the size in bytes, or 0 for an invalid value.
long long stack_bytes(const char* text);

/// Returns the stack size in bytes that OMP_STACKSIZE, GOMP_STACKSIZE or KMP_STACKSIZE requests, or 0 if none is set.
long long wanted_stack_bytes();

}  // namespace gradus::core
