// Checks that the system lets this process start threads.
#pragma once

namespace gradus::cpu {

/// Throws Error unless the system lets the process start `threads` threads. Cheap if this thread has had that many
/// before.
void require_startable(int threads);

}  // namespace gradus::cpu
