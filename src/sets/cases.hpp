// Cases with which sets_test and `gradus verify` test every set. Benchmarks run them before they measure. A case is a
// small range of keys, so that operations collide, and a mix of calls.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "execution/ways.hpp"
#include "sets/problem.hpp"

namespace gradus::sets_detail {

struct Case {
  std::string name;
  std::function<Problem(std::uint64_t seed)> make;
};

const std::vector<Case>& cases();

/// Returns a description of the first defect of an outcome, or "". Checks that every call was made, that a recorded
/// history is linearizable, and that the keys, their sum and the size are correct. A loop over the set must have
/// visited each key once and in order, and all memory must have been returned.
std::string find_fault(const Problem& problem, const Outcome& outcome);

/// Wraps a case for generic code, which loops over the table of variants and the cases. A case has many correct
/// results.
template <class T>
class PreparedCase {
 public:
  explicit PreparedCase(const Problem& problem) : problem_(problem) {}

  Shape shape() const { return problem_.shape(); }
  const Problem& truth() const { return problem_; }
  static bool promises(const core::Contract&) { return true; }
  std::string check(const Variant& variant, const Execution& execution) const {
    std::vector<Phase> phases;
    return find_fault(problem_, variant.run(problem_, execution, phases));
  }

 private:
  Problem problem_;
};

/// The interface for loops over the table and the cases.
struct Trial : Room {
  using Variant = sets_detail::Variant;
  using Case = sets_detail::Case;
  template <class T>
  using PreparedCase = sets_detail::PreparedCase<T>;
  static core::Rows<Variant> variants() { return sets_detail::variants(); }
  static const std::vector<Case>& cases() { return sets_detail::cases(); }
};

}  // namespace gradus::sets_detail
