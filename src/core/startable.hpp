// Threads that the operating system still lets this process start. Where one is refused, GNU's OpenMP runtime ends the
// process.
#pragma once

namespace gradus::core {

/// Returns how many of a team of `threads`, the calling one among them, the system lets this thread start. Asks it for
/// more than ever before in this thread, since OpenMP's runtimes keep the teams of each calling thread apart; under a
/// limit of address space (ulimit -v) each time, after the runtime's idle threads have ended. Another thread or program
/// can take what was counted here before the team starts.
int startable_threads(int threads);

/// Starts so many threads at the same time, each with the stack that the OpenMP runtime would give it, and ends them
/// again. Returns how many of them could be started. Limits of address space (ulimit -v), of the user's threads
/// (ulimit -u) and of a container's (pids.max) show in no other way.
int count_startable(int threads);

/// The bytes that a value of OMP_STACKSIZE such as "512", "4M" or "1 g" names; 0 if it names none.
long long stack_bytes(const char* text);

/// The stack that OMP_STACKSIZE, GOMP_STACKSIZE or KMP_STACKSIZE gives the threads of OpenMP; 0 if none of them does.
long long wanted_stack_bytes();

}  // namespace gradus::core
