// The number of threads of a job. Used if the caller does not choose the number.
#pragma once

#include "gradus/execution.hpp"

namespace gradus::cpu {

/// Returns Execution::threads if the caller set it. Otherwise returns the number of threads that pays off for a job in
/// which a single thread would work for `nanoseconds` between two barriers. If `nanoseconds` is infinite, the job gets
/// all threads until its end.
int chosen_threads(double nanoseconds, const Execution& execution);

/// Returns `threads`, or fewer if the system does not let the process start that many. If CPUs are busy with other
/// programs, a team waits some milliseconds at each barrier until its last thread gets a CPU again. If `nanoseconds` of
/// work between two barriers is short compared with this wait, returns at most the number of idle CPUs.
int ready_threads(int threads, double nanoseconds);

/// Returns true if a loop in the calling thread's public call may use fewer threads (PayingTeam). This is the case if
/// one of the functions above chose the number of threads, with finite `nanoseconds`.
bool may_shrink_team();

}  // namespace gradus::cpu
