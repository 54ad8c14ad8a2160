// Floating-point environments that callers may set in their threads, and checks that run in each of these environments.
#pragma once

#include <gtest/gtest.h>

#include <cfenv>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/execution.hpp"
#include "gradus/variants.hpp"
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace gradus::tests {

struct EnvironmentRow {
  std::string_view name;
  void (*set)();
};

inline constexpr auto set_default_environment = [] { std::fesetenv(FE_DFL_ENV); };

/// The first environment is the default.
inline constexpr EnvironmentRow float_environments[] = {
    {"the default", set_default_environment},
    {"rounding up", [] { std::fesetround(FE_UPWARD); }},
    {"rounding down", [] { std::fesetround(FE_DOWNWARD); }},
    {"rounding towards zero", [] { std::fesetround(FE_TOWARDZERO); }},
#if defined(__x86_64__)
    {"flush to zero", [] { _mm_setcsr(_mm_getcsr() | 0x8000); }},
    {"denormals are zero", [] { _mm_setcsr(_mm_getcsr() | 0x0040); }},
    {"flush to zero and denormals are zero", [] { _mm_setcsr(_mm_getcsr() | 0x8040); }},
    {"x87 in single precision",
     [] {
       std::uint16_t word = 0x7f;
       asm volatile("fldcw %0" : : "m"(word));
     }},
    {"invalid operations trap", [] { _mm_setcsr(_mm_getcsr() & ~0x80U); }},
#endif
};

/// Returns the floating-point control state of the calling thread. A call must preserve it.
inline std::string environment_state() {
#if defined(__x86_64__)
  std::uint16_t word = 0;
  asm volatile("fnstcw %0" : "=m"(word));
  return std::to_string(_mm_getcsr() & ~0x3FU) + " " + std::to_string(word);
#else
  return std::to_string(std::fegetround());
#endif
}

/// Sets the environment of the calling thread and its OpenMP team during the lifetime of the object.
class InEnvironment {
 public:
  InEnvironment(const EnvironmentRow& row, int threads) : threads_(threads) { set(row.set); }
  InEnvironment(const InEnvironment&) = delete;
  InEnvironment& operator=(const InEnvironment&) = delete;
  ~InEnvironment() { set(set_default_environment); }

  /// Returns the environments of all threads of the OpenMP team.
  std::vector<std::string> states() const {
    std::vector<std::string> all(static_cast<std::size_t>(threads_));
#pragma omp parallel for num_threads(threads_) schedule(static, 1)
    for (int thread = 0; thread < threads_; ++thread) all[static_cast<std::size_t>(thread)] = environment_state();
    return all;
  }

 private:
  void set(void (*change)()) const {
#pragma omp parallel for num_threads(threads_) schedule(static, 1)
    for (int thread = 0; thread < threads_; ++thread) {
      set_default_environment();
      change();
    }
  }

  int threads_;
};

/// Expects that a public call gives the same result in every environment, even if a progress callback changes the
/// environment of its thread. Also expects that all threads keep their environments. result(execution) makes the call
/// and returns the bytes of its result. Tests every variant of the problem that runs on the CPU. Every variant is
/// tested on one thread. Variants that promise the same bits or are in `repeatable` are also tested on several threads.
inline void expect_same_in_all_environments(std::string_view problem,
                                            const std::function<std::string(const Execution&)>& result,
                                            const std::set<std::string_view>& repeatable = {}) {
  std::vector<VariantRow> rows(1);  // the first run lets the library choose
  rows[0].contract = "same bits";
  for (const VariantRow& row : variants(problem))
    if (row.backend != Backend::cuda && row.supported) rows.push_back(row);
  for (const VariantRow& variant : rows)
    for (const int threads : {1, 3}) {
      if (threads > 1 && !variant.contract.starts_with("same bits") && !repeatable.contains(variant.name)) continue;
      const std::string name(variant.name);
      const Execution execution{.device = Device::cpu, .variant = name, .threads = threads};
      const std::string expected = result(execution);
      for (const EnvironmentRow& row : float_environments) {
        const InEnvironment environment(row, threads);
        const std::vector<std::string> before = environment.states();
        const std::string found = result(execution);
        const std::vector<std::string> after = environment.states();
        set_default_environment();
        EXPECT_TRUE(found == expected) << problem << " " << name << ", " << threads << " threads, " << row.name;
        EXPECT_EQ(after, before) << problem << " " << name << ", " << threads << " threads, " << row.name;
        if (threads > 1) continue;  // skips callbacks, which can change only the calling thread
        Execution told = execution;
        told.progress = [&](const Progress&) { row.set(); };
        const std::string beside_callbacks = result(told);
        set_default_environment();
        EXPECT_TRUE(beside_callbacks == expected)
            << problem << " " << name << ", " << threads << " threads, progress leaves " << row.name;
      }
    }
}

/// Expects that a call that throws leaves the calling thread's environment unchanged.
inline void expect_environment_kept_on_error(const std::function<void()>& call) {
  for (const EnvironmentRow& row : float_environments) {
    const InEnvironment environment(row, 1);
    const std::string before = environment_state();
    bool has_thrown = false;
    try {
      call();
    } catch (const std::exception&) {
      has_thrown = true;
    }
    const std::string after = environment_state();
    set_default_environment();
    EXPECT_TRUE(has_thrown);
    EXPECT_EQ(after, before) << row.name;
  }
}

template <class T>
std::string bytes_of(const T* data, std::int64_t count) {
  return {reinterpret_cast<const char*>(data), static_cast<std::size_t>(count) * sizeof(T)};
}

}  // namespace gradus::tests
