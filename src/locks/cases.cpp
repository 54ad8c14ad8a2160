#include "locks/cases.hpp"

namespace gradus::locks_detail {

namespace {

// Each case has few sections. With more threads than cores, a fair lock waits for the scheduler at each hand-off, so a
// case with many sections would take minutes. Under the sanitizers, each section takes many times as long.
#ifdef GRADUS_SANITIZED
constexpr std::int64_t thousand = 50;
#else
constexpr std::int64_t thousand = 1000;
#endif

Case one(const char* name, AcquireMode mode, std::int64_t sections, std::int64_t critical = 0,
         std::int64_t outside = 0) {
  return {name, [=](std::uint64_t seed) {
            return Problem{.sections = sections,
                           .critical = critical,
                           .outside = outside + static_cast<std::int64_t>(seed) - 1,
                           .mode = mode,
                           .times_waits = false,
                           .stop = {}};
          }};
}

}  // namespace

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      one("nothing", AcquireMode::lock, 0),
      one("lock", AcquireMode::lock, 50 * thousand),
      one("work", AcquireMode::lock, 10 * thousand, 50, 100),
      one("delays", AcquireMode::delays, 2 * thousand, 5),
      one("try_lock", AcquireMode::try_lock, 15 * thousand, 10),
      one("timed", AcquireMode::timed, 10 * thousand, 10),
      one("two_locks", AcquireMode::two_locks, 5 * thousand),
      one("condition_variable", AcquireMode::wait, thousand / 2),
  };
  return all;
}

std::string judge(const Problem& problem, const Result& result, const Variant& variant, int threads) {
  if (std::ssize(result.of_thread) != threads)
    return "sections of " + std::to_string(result.of_thread.size()) + " threads, not of " + std::to_string(threads);
  const std::int64_t made = result.sections();
  if (made < problem.sections)
    return std::to_string(made) + " critical sections of " + std::to_string(problem.sections);
  if (result.counted > made)
    return std::to_string(result.counted) + " updates of " + std::to_string(made) + " critical sections";
  if (result.again > made || result.near > made) return "more hand-offs than critical sections";
  if (!variant.facts.excludes) return "";
  if (made != problem.sections) return std::to_string(made - problem.sections) + " critical sections too many";
  if (result.counted != made) return std::to_string(made - result.counted) + " updates were lost";
  if (result.overlaps != 0) return std::to_string(result.overlaps) + " times another thread was inside";
  return "";
}

std::string PreparedCase::check(const Variant& variant, const Execution& execution) const {
  std::vector<Phase> phases;
  return judge(problem_, variant.run(problem_, execution, phases), variant, execution.threads);
}

}  // namespace gradus::locks_detail
