// Cases in which every lock is tried: by locks_test, by `gradus verify`, and before anything is timed. A case is a
// manner of taking the lock. There is no one right result; what must be true of each is checked.
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

/// At least a million critical sections for each lock that is an object, over the usual numbers of threads.
const std::vector<Case>& cases();

/// What is wrong with the result of a job; "" where it is as the row promises.
std::string judge(const Problem& problem, const Result& result, const Variant& variant, int threads);

class PreparedCase {
 public:
  explicit PreparedCase(const Problem& problem) : problem_(problem) {}

  Shape shape() const { return problem_.shape(); }
  static bool truth() { return true; }
  static bool promises(const core::Contract&) { return true; }
  /// Runs `variant` on the case and judges; "" where it is right.
  std::string check(const Variant& variant, const Execution& execution) const;

 private:
  Problem problem_;
};

/// What a loop over table and cases wants to know of the room.
struct Trial : Room {
  using Variant = locks_detail::Variant;
  using Case = locks_detail::Case;
  template <class>
  using PreparedCase = locks_detail::PreparedCase;
  static core::Rows<Variant> variants() { return locks_detail::variants(); }
  static const std::vector<Case>& cases() { return locks_detail::cases(); }
};

}  // namespace gradus::locks_detail
