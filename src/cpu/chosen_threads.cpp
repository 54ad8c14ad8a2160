#include "cpu/chosen_threads.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/startable.hpp"
#include "cpu/call.hpp"
#include "cpu/threads.hpp"
#include "gradus/error.hpp"

namespace gradus::cpu {

int chosen_threads(double nanoseconds, const Execution& execution) {
  constexpr double worth_a_thread = 128e3;  // in ns: about ten times the time for starting a thread and waiting for it
  const int all = thread_count(execution);
  if (execution.threads > 0) return all;
  const double worth = nanoseconds / worth_a_thread;
  return ready_threads(worth < all ? std::max(1, static_cast<int>(worth)) : all, nanoseconds);
}

int ready_threads(int threads, double nanoseconds) {
  constexpr double is_short = 8e6;  // in ns: two time slices, which a team may lose at one barrier
  if (Call* const call = Call::current(); call != nullptr && std::isfinite(nanoseconds)) call->choose_threads();
  return core::startable_threads(nanoseconds < is_short ? threads_with_processor(threads) : threads);
}

bool may_shrink_team() { return Call::current() != nullptr && Call::current()->chooses_threads(); }

}  // namespace gradus::cpu
