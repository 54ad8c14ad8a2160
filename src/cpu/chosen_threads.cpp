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
  constexpr double worth_a_thread = 128e3;  // some ten times what it costs to set it going and wait for it
  const int all = thread_count(execution);
  if (execution.threads > 0) return all;
  const double worth = nanoseconds / worth_a_thread;
  return ready_threads(worth < all ? std::max(1, static_cast<int>(worth)) : all, nanoseconds);
}

int ready_threads(int threads, double nanoseconds) {
  constexpr double is_short = 8e6;  // two time slices: a team may lose as much at one barrier
  if (Call* const call = Call::current(); call != nullptr && std::isfinite(nanoseconds)) call->choose_threads();
  return core::startable_threads(nanoseconds < is_short ? threads_with_processor(threads) : threads);
}

bool may_shrink_team() { return Call::current() != nullptr && Call::current()->chooses_threads(); }

void require_startable(int threads) {
  // Jobs keep up to some ten KiB on a thread's stack, and the C library takes its share of it.
  constexpr long long least_stack = 256 << 10;
  if (const long long stack = core::wanted_stack_bytes(); stack > 0 && stack < least_stack)
    throw Error("OMP_STACKSIZE gives threads a stack of " + std::to_string(stack) + " bytes; " +
                std::to_string(least_stack) + " (256K) at least are needed, or one thread");
  const int startable = core::startable_threads(threads);
  if (startable >= threads) return;
  throw Error("the system lets this process start " + std::to_string(startable) + " threads, not the " +
              std::to_string(threads) +
              " asked for; ask for at most that many, or raise the limit (ulimit -u, ulimit -v, or the number of "
              "processes of the container; a smaller OMP_STACKSIZE helps with ulimit -v)");
}

}  // namespace gradus::cpu
