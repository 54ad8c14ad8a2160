// Threads that the system must let this process start.
#pragma once

namespace gradus::cpu {

/// Throws Error if the system lets the process start fewer than `threads`. Asks it only for more threads than the
/// calling thread had before.
void require_startable(int threads);

}  // namespace gradus::cpu
