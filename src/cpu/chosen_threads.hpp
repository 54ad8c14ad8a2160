// The number of threads of a job for which the caller gives none.
#pragma once

#include "gradus/execution.hpp"

namespace gradus::cpu {

/// Returns Execution::threads if it is given; otherwise as many of all threads as pay for a job whose work between two
/// barriers takes one thread that many nanoseconds. Infinity: all threads, from the beginning to the end.
int chosen_threads(double nanoseconds, const Execution& execution);

/// Returns `threads` or, if the system does not let the process start that many, as many as it does. A team whose
/// processors are busy with other programs waits some milliseconds at each barrier until the last thread has one again:
/// if the work between two barriers is short compared with that, returns no more threads than find a processor now.
int ready_threads(int threads, double nanoseconds);

/// Returns true if the number of threads of the calling thread's call was chosen by one of these functions, for work of
/// a finite length: then a loop may use fewer (PayingTeam).
bool may_shrink_team();

}  // namespace gradus::cpu
