// Helpers for tests that run the kernels with each instruction set of this machine.
#pragma once

#include <cstdint>
#include <vector>

// clang-format off
#include "cpu/simd.hpp"
#include <hwy/highway.h>
// clang-format on

namespace gradus::cpu {

/// Returns the instruction sets that this machine has and for which kernels are compiled, best first.
inline std::vector<std::int64_t> compiled_targets() {
  hwy::SetSupportedTargetsForTest(0);
  std::vector<std::int64_t> all;
  for (std::int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1)
    all.push_back(rest & -rest);
  return all;
}

/// Forces the dispatch to one instruction set for the lifetime of the object.
class ForcedTarget {
 public:
  explicit ForcedTarget(std::int64_t target) { set(target); }
  ~ForcedTarget() { set(0); }
  ForcedTarget(const ForcedTarget&) = delete;
  ForcedTarget& operator=(const ForcedTarget&) = delete;

 private:
  static void set(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

}  // namespace gradus::cpu
