// The number of threads of a job if the caller does not choose it.
#pragma once

#include "gradus/execution.hpp"

namespace gradus::cpu {

/// Returns Execution::threads if the caller set it. Otherwise returns how many threads pay off for a job in which a
/// single thread would work for `nanoseconds` between two barriers. Infinity selects all threads, for the whole job.
int chosen_threads(double nanoseconds, const Execution& execution);

/// Returns `threads`, or fewer if the system does not let the process start that many. If CPUs are busy with other
/// programs, a team waits some milliseconds at each barrier until its last thread gets a CPU again. If the work between
/// two barriers is short compared with this wait, returns at most the number of idle CPUs.
int ready_threads(int threads, double nanoseconds);

/// Returns true if one of these functions chose the number of threads for the calling thread's call, and the work was
/// of finite length. A loop may then use fewer threads (PayingTeam).
bool may_shrink_team();

}  // namespace gradus::cpu
