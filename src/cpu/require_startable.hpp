// Checks that the system lets this process start threads.
#pragma once

namespace gradus::cpu {

/// Throws Error unless the system lets the process start `threads` threads. The check is cheap if the calling thread
/// has already run a team of at least `threads` threads.
void require_startable(int threads);

}  // namespace gradus::cpu
