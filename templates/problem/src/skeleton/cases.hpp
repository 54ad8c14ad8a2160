// Small test problems, each with one difficulty. skeleton_test, `gradus verify` and every benchmark compare each
// variant with the oracle on these problems.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "execution/ways.hpp"
#include "skeleton/oracle.hpp"
#include "skeleton/problem.hpp"

namespace gradus::skeleton_detail {

struct Case {
  std::string name;
  std::function<std::vector<std::uint64_t>(std::uint64_t seed)> make;
};

const std::vector<Case>& cases();

/// Returns a description of the error in `sum`, or an empty string if it is correct.
std::string compare(std::uint64_t sum, std::uint64_t truth);

class PreparedCase {
 public:
  explicit PreparedCase(std::vector<std::uint64_t> values) : values_(std::move(values)), truth_(oracle(values_, 1)) {}

  Shape shape() const { return {.values = std::ssize(values_)}; }
  std::uint64_t truth() const { return truth_; }
  static bool promises(const core::Contract&) { return true; }
  /// Runs `variant` on the case. Returns a description of the error, or an empty string if the result is correct.
  std::string check(const Variant& variant, const Execution& execution) const;

 private:
  std::vector<std::uint64_t> values_;
  std::uint64_t truth_;
};

/// The types and functions that a generic test needs in order to loop over variants and cases.
struct Trial : Room {
  using Variant = skeleton_detail::Variant;
  using Case = skeleton_detail::Case;
  template <class>
  using PreparedCase = skeleton_detail::PreparedCase;
  static core::Rows<Variant> variants() { return skeleton_detail::variants(); }
  static const std::vector<Case>& cases() { return skeleton_detail::cases(); }
};

}  // namespace gradus::skeleton_detail
