// Tests public calls: the floating-point environment of their threads, and the check that threads can be started.
#include "cpu/call.hpp"

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/resource.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/startable.hpp"
#include "cpu/chosen_threads.hpp"
#include "cpu/require_startable.hpp"
#include "cpu/threads.hpp"
#include "gradus/error.hpp"
#include "tests/float_environments.hpp"
#include "tests/in_child.hpp"

namespace gradus::cpu {
namespace {

const std::string default_state = tests::environment_state();

std::vector<std::string> states_of_team(int threads) {
  std::vector<std::string> states(static_cast<std::size_t>(threads));
#pragma omp parallel num_threads(threads)
  states[static_cast<std::size_t>(omp_get_thread_num())] = tests::environment_state();
  return states;
}

/// Tests teams of several sizes. A runtime may end threads for a smaller team and start new threads for the next larger
/// team.
void expect_default_within_a_call(std::string_view what) {
  const Call call;
  start_team(4);
  const Call inner;
  for (const int threads : {4, 2, 1, 4, 3})
    for (const std::string& state : states_of_team(threads)) EXPECT_EQ(state, default_state) << what << ", " << threads;
}

TEST(Call, GivesEachThreadOfATeamTheDefaultEnvironmentAndItsOwnBack) {
  for (const tests::EnvironmentRow& row : tests::float_environments) {
    const tests::InEnvironment environment(row, 4);
    const std::vector<std::string> before = environment.states();
    expect_default_within_a_call(row.name);
    EXPECT_EQ(environment.states(), before) << row.name;
  }
}

TEST(Call, GivesThreadsThatStartWithinItTheCallersEnvironmentAtItsEnd) {
  for (const tests::EnvironmentRow& row : tests::float_environments)
    std::thread([&] {  // a new thread has no team yet
      const tests::InEnvironment environment(row, 1);
      const std::string before = tests::environment_state();
      expect_default_within_a_call(row.name);
      EXPECT_EQ(states_of_team(3), std::vector<std::string>(3, before)) << row.name;
    })
        .join();
}

TEST(Call, LeavesAWorkersEnvironmentWhereTheCallersIsAnother) {
  for (const tests::EnvironmentRow& row : tests::float_environments) {
    const tests::InEnvironment environment(tests::float_environments[0], 4);
    row.set();
    const std::vector<std::string> before = states_of_team(4);
    {
      const Call call;
      start_team(4);
      EXPECT_EQ(states_of_team(4), std::vector<std::string>(4, default_state)) << row.name;
    }
    EXPECT_EQ(states_of_team(4), before) << row.name;
  }
}

TEST(Call, LeavesTheCallersEnvironmentWhenItThrows) {
  for (const tests::EnvironmentRow& row : tests::float_environments) {
    const tests::InEnvironment environment(row, 2);
    const std::vector<std::string> before = environment.states();
    try {
      const Call call;
      start_team(2);
      throw std::runtime_error("an error");
    } catch (const std::runtime_error&) {
    }
    EXPECT_EQ(environment.states(), before) << row.name;
  }
}

#if defined(__x86_64__)
TEST(Call, LeavesTheCallersExceptionFlags) {
  _mm_setcsr(0x1f80);
  {
    const Call call;
    volatile double zero = 0;
    const volatile double quotient = 1 / zero;
    EXPECT_GT(quotient, 1);
    EXPECT_NE(_mm_getcsr() & 0x3fU, 0U);
  }
  EXPECT_EQ(_mm_getcsr() & 0x3fU, 0U);
}
#endif

TEST(StackBytes, OfOmpStacksize) {
  struct Case {
    const char* text;
    long long bytes;
  };
  constexpr Case cases[] = {{"512", 512 << 10}, {"4M", 4 << 20}, {"4 m", 4 << 20}, {"100b", 100},
                            {"1G", 1 << 30},    {"", 0},         {"x", 0},         {"-4", 0},
                            {"4T", 0},          {nullptr, 0}};
  for (const Case& each : cases)
    EXPECT_EQ(core::stack_bytes(each.text), each.bytes) << (each.text != nullptr ? each.text : "null");
}

// False under AddressSanitizer, which aborts the process if a new thread's data does not fit in the address space.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool limits_only_stacks = false;
#elif defined(__has_feature)
constexpr bool limits_only_stacks = !__has_feature(address_sanitizer);
#else
constexpr bool limits_only_stacks = true;
#endif

/// Runs a job in a child process and returns the job's result. The address space of the child is limited: it suffices
/// for a few more threads of 64 MiB each.
std::string where_threads_are_few(const std::function<bool()>& job) {
  return tests::in_child([&] {
    ::setenv("OMP_STACKSIZE", "64M", 1);
    std::int64_t pages = 0;
    const bool known = static_cast<bool>(std::ifstream("/proc/self/statm") >> pages);
    const rlim_t bytes = static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{1} << 29);
    const rlimit limit{bytes, bytes};
    return known && ::setrlimit(RLIMIT_AS, &limit) == 0 && job();
  });
}

TEST(StartableThreads, AreCountedUnderALimit) {
  if (!limits_only_stacks) GTEST_SKIP() << "the sanitizer needs address space for each thread";
  EXPECT_EQ(core::count_startable(3), 3);
  EXPECT_EQ(where_threads_are_few([] {
              const int found = core::count_startable(100);
              return found > 2 && found < 9 && core::count_startable(2) == 2;
            }),
            "");
}

TEST(StartableThreads, LimitATeam) {
  if (!limits_only_stacks) GTEST_SKIP() << "the sanitizer needs address space for each thread";
  EXPECT_EQ(where_threads_are_few([] {
              const int ready = ready_threads(100, 1e12);
              return ready > 2 && ready < 9 && chosen_threads(1e12, {.threads = 100}) == 100;
            }),
            "");
  // This process must not have run a team on several threads before. Otherwise the child process would be refused for
  // another reason.
  const std::string message = where_threads_are_few([] {
    require_startable(100);
    return true;
  });
  for (const char* part : {"lets this process start", "not the 100 asked for", "ulimit"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(StartableThreads, NeedAStack) {
  const std::string message = tests::in_child([] {
    ::setenv("OMP_STACKSIZE", "255K", 1);
    require_startable(2);
    return true;
  });
  EXPECT_NE(message.find("OMP_STACKSIZE gives threads a stack of 261120 bytes; 262144"), std::string::npos) << message;
  EXPECT_EQ(tests::in_child([] {
              ::setenv("OMP_STACKSIZE", "256K", 1);
              require_startable(2);
              return true;
            }),
            "");
}

}  // namespace
}  // namespace gradus::cpu
