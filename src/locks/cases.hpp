// Cases with which locks_test and `gradus verify` test every lock. Benchmarks run them before they measure. A case is a
// way of acquiring the lock. A case has many correct results, so the check of a result tests invariants.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "execution/ways.hpp"
#include "locks/problem.hpp"
#include "locks/variants.hpp"

namespace gradus::locks_detail {

struct Case {
  std::string name;
  std::function<Problem(std::uint64_t seed)> make;
};

/// Returns the cases. A test that runs them with all usual numbers of threads runs at least a million critical sections
/// under each lock.
const std::vector<Case>& cases();

/// Returns a description of the defect if a result breaks a promise of the variant, otherwise "".
std::string judge(const Problem& problem, const Result& result, const Variant& variant, int threads);

class PreparedCase {
 public:
  explicit PreparedCase(const Problem& problem) : problem_(problem) {}

  Shape shape() const { return problem_.shape(); }
  static bool truth() { return true; }
  static bool promises(const core::Contract&) { return true; }
  /// Runs `variant` on the case. Returns a description of the defect, or "".
  std::string check(const Variant& variant, const Execution& execution) const;

 private:
  Problem problem_;
};

/// The interface for loops over the table and the cases.
struct Trial : Room {
  using Variant = locks_detail::Variant;
  using Case = locks_detail::Case;
  template <class>
  using PreparedCase = locks_detail::PreparedCase;
  static core::Rows<Variant> variants() { return locks_detail::variants(); }
  static const std::vector<Case>& cases() { return locks_detail::cases(); }
};

}  // namespace gradus::locks_detail
