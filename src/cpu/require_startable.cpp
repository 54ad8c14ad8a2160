#include "cpu/require_startable.hpp"

#include <string>

#include "core/startable.hpp"
#include "gradus/error.hpp"

namespace gradus::cpu {

void require_startable(int threads) {
  // Jobs use some tens of KiB of a thread's stack, and the C library needs a part of the stack as well.
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
