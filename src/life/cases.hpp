// The cases on which every variant is compared with the oracle: in life_test, in `gradus verify`, and before any
// timing. A case is a small grid with an awkward property.
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

/// Describes the first difference between result and truth, in cells, positions, background, population or hashes.
/// Returns "" if there is none.
std::string compare(const LifeResult& result, const LifeOptions& options, const Truth& truth);

/// Checks a window of `side` x `side` cells of a bounded grid's result: the oracle recomputes it from all cells that
/// can influence it. Returns a description of the fault or "". The window may cross the border.
std::string fault_in_window(const LifeGridView& first, const LifeGridView& result, const LifeOptions& options,
                            std::int64_t top, std::int64_t left, std::int64_t side);

/// A case with the oracle's answer, which is computed once on first use and shared by all variants and thread counts.
template <class T>
class PreparedCase {
 public:
  explicit PreparedCase(const CaseData& data);

  Shape shape() const;
  const Truth& truth() const;
  static bool promises(const core::Contract&) { return true; }
  /// Runs `variant` on the case and compares the result. Returns "" if it is correct.
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
