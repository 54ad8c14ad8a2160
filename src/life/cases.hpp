// The cases on which every variant is compared with the oracle: in life_test, in `gradus verify`, and before any
// timing. A case is a small grid with one difficult property.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "execution/ways.hpp"
#include "life/oracle.hpp"
#include "life/problem.hpp"

namespace gradus::life_detail {

struct CaseData {
  LifeGrid cells;
  LifeOptions options;
};

struct Case {
  std::string name;
  std::function<CaseData(std::uint64_t seed)> make;
};

const std::vector<Case>& cases();

/// Returns a grid in which each cell is alive with probability `density`.
LifeGrid soup(std::int64_t height, std::int64_t width, double density, std::uint64_t seed);

/// Returns a description of the first difference between the result and the oracle's answer, or "" if there is none.
/// Compares cells, positions, background, population and hashes.
std::string compare(const LifeResult& result, const LifeOptions& options, const Truth& truth);

/// Checks a window of `side` x `side` cells of a bounded grid's result. The oracle recomputes the window from all cells
/// that can influence it. Returns a description of the fault, or "" if there is none. The window may cross the border.
std::string fault_in_window(const LifeGridView& first, const LifeGridView& result, const LifeOptions& options,
                            std::int64_t top, std::int64_t left, std::int64_t side);

/// A case and the oracle's answer. The answer is computed once, on first use, for all variants and numbers of threads.
template <class T>
class PreparedCase {
 public:
  explicit PreparedCase(const CaseData& data);

  Shape shape() const;
  const Truth& truth() const;
  static bool promises(const core::Contract&) { return true; }
  /// Runs `variant` on the case and compares the result with the oracle's answer. Returns "" if the result is correct.
  std::string check(const Variant& variant, const Execution& execution) const;

 private:
  LifeGrid cells_;
  LifeOptions options_;
  mutable std::optional<Truth> truth_;
};

struct Trial : Room {
  using Variant = life_detail::Variant;
  using Case = life_detail::Case;
  template <class T>
  using PreparedCase = life_detail::PreparedCase<T>;
  static core::Rows<Variant> variants() { return life_detail::variants(); }
  static const std::vector<Case>& cases() { return life_detail::cases(); }
};

}  // namespace gradus::life_detail
