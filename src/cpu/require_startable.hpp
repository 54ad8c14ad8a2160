// Checks that the system lets this process start threads.
#pragma once

namespace gradus::cpu {

/// Throws Error if the system lets the process start fewer than `threads` threads. Asks only if the calling thread has
/// not had that many before.
void require_startable(int threads);

}  // namespace gradus::cpu
