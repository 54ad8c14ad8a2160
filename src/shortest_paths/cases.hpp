// Test cases on which shortest_paths_test and `gradus verify` compare every variant with the oracle. Benchmarks do the
// same before they measure. Each case is a small graph with one difficult property.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "execution/ways.hpp"
#include "shortest_paths/oracle.hpp"
#include "shortest_paths/problem.hpp"

namespace gradus::shortest_paths_detail {

struct CaseEdge {
  std::int64_t from;
  std::int64_t to;
  long double weight;  ///< must be an integer
};

struct CaseData {
  std::int64_t vertices = 0;
  std::vector<CaseEdge> edges;
  double unit = 1;  ///< multiplies all weights of floating-point types
  /// If not 0, all weights are multiplied by this number and by the greatest value of the type.
  long double greatest_part = 0;
  std::optional<double> no_edge;
  std::int64_t padding = 0;  ///< unused elements between two rows
  std::int64_t tile = 0;
};

struct Case {
  std::string name;
  std::function<CaseData(std::uint64_t seed)> make;
};

const std::vector<Case>& cases();

/// Checks the distances and, if present, the predecessors against the contract of T. Returns "" if they are correct,
/// otherwise a description of the error.
template <class T>
std::string compare(const Graph<T>& graph, const ShortestPathsResult<T>& result, const Truth<T>& truth);

/// A case in type T and the oracle's answer. The answer is computed once, on first use, for all variants and numbers of
/// threads.
template <class T>
class PreparedCase {
 public:
  explicit PreparedCase(const CaseData& data);

  Shape shape() const { return shape_; }
  MatrixView<const T> weights() const { return graph_.weights; }
  const ShortestPathsOptions& options() const { return options_; }
  const Truth<T>& truth() const;
  static bool promises(const core::Contract&) { return true; }
  /// Runs `variant` on the case and compares the result with the oracle's. Returns "" if the result is correct.
  std::string check(const Variant& variant, const Execution& execution) const;

 private:
  Buffer<T> elements_;  ///< its rows may be padded
  ShortestPathsOptions options_;
  Graph<T> graph_;
  Shape shape_;
  mutable std::optional<Truth<T>> truth_;
};

/// The types and functions with which generic tests loop over this problem's variants and cases.
struct Trial : Room {
  using Variant = shortest_paths_detail::Variant;
  using Case = shortest_paths_detail::Case;
  template <class T>
  using PreparedCase = shortest_paths_detail::PreparedCase<T>;
  /// Returns the contract of a variant in type T. Floating-point results are not unique, so tests check their
  /// properties instead of comparing bits.
  template <class T>
  static core::Contract contract_in(const Variant& variant) {
    if (std::numeric_limits<T>::has_infinity) return {.kind = core::Contract::invariants};
    return variant.contract;
  }
  static core::Rows<Variant> variants() { return shortest_paths_detail::variants(); }
  static const std::vector<Case>& cases() { return shortest_paths_detail::cases(); }
};

}  // namespace gradus::shortest_paths_detail
