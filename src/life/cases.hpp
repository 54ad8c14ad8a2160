// Cases on which every variant is compared with the oracle: by life_test, by `gradus verify`, and before anything is
// timed. A case is a small grid with something awkward about it.
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

/// A grid of which each cell is alive with this probability.
LifeGrid soup(std::int64_t height, std::int64_t width, double density, std::uint64_t seed);

/// What is wrong with a result, "" where nothing is: cells, where they lie, what is around them, their number, hashes.
std::string compare(const LifeResult& result, const LifeOptions& options, const Truth& truth);

/// What is wrong with a window of `side` x `side` cells of a bounded grid's result, by its past alone: the oracle takes
/// the cells from which anything in it could come through all generations. "" where nothing is. It may lie across the
/// border.
std::string fault_in_window(const LifeGridView& first, const LifeGridView& result, const LifeOptions& options,
                            std::int64_t top, std::int64_t left, std::int64_t side);

/// A case with the oracle's answer, worked out once for all variants and thread counts, when it is first asked for.
template <class T>
class PreparedCase {
 public:
  explicit PreparedCase(const CaseData& data);

  Shape shape() const;
  const Truth& truth() const;
  static bool promises(const core::Contract&) { return true; }
  /// Runs `variant` on the case and compares; "" where it is right.
  std::string check(const Variant& variant, const Execution& execution) const;

 private:
  LifeGrid cells_;
  LifeOptions options_;
  mutable std::optional<Truth> truth_;
};

/// What a loop over table and cases wants to know of the room.
struct Trial : Room {
  using Variant = life_detail::Variant;
  using Case = life_detail::Case;
  template <class T>
  using PreparedCase = life_detail::PreparedCase<T>;
  static core::Rows<Variant> variants() { return life_detail::variants(); }
  static const std::vector<Case>& cases() { return life_detail::cases(); }
};

}  // namespace gradus::life_detail
