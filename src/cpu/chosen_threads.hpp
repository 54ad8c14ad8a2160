// The number of threads of a job if the caller gives none.
#pragma once

#include "gradus/execution.hpp"

namespace gradus::cpu {

/// Returns Execution::threads if it is given. Otherwise returns as many threads as pay off for a job in which one
/// thread would need `nanoseconds` for the work between two barriers. Infinity: all threads, for the whole job.
int chosen_threads(double nanoseconds, const Execution& execution);

/// Returns `threads`, or fewer if the system does not let the process start that many. If CPUs are busy with other
/// programs, a team waits some milliseconds at each barrier until its last thread gets a CPU again. If the work between
/// two barriers is short compared with that, returns at most as many threads as there are idle CPUs now.
int ready_threads(int threads, double nanoseconds);

/// Returns true if one of these functions chose the number of threads of the calling thread's call, for work of finite
/// length. A loop may then use fewer threads (PayingTeam).
bool may_shrink_team();

}  // namespace gradus::cpu
