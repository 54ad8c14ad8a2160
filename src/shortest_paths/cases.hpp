// Cases on which every variant is compared with the oracle: by shortest_paths_test, by `gradus verify`, and before
// anything is timed. A case is a small graph with something awkward about it.
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
  long double weight;  ///< whole
};

struct CaseData {
  std::int64_t vertices = 0;
  std::vector<CaseEdge> edges;
  double unit = 1;                ///< of floating numbers, times each weight
  long double greatest_part = 0;  ///< where it is not 0: times the type's greatest value, to which weights are parts
  std::optional<double> no_edge;
  std::int64_t padding = 0;  ///< elements between the rows
  std::int64_t tile = 0;
};

struct Case {
  std::string name;
  std::function<CaseData(std::uint64_t seed)> make;
};

const std::vector<Case>& cases();

/// Judges a result, predecessors included where it has some: "" where it keeps the contract of its type, otherwise what
/// is wrong.
template <class T>
std::string compare(const Graph<T>& graph, const ShortestPathsResult<T>& result, const Truth<T>& truth);

/// A case in type T with the oracle's answer, worked out once for all variants and thread counts, when it is first
/// asked for.
template <class T>
class PreparedCase {
 public:
  explicit PreparedCase(const CaseData& data);

  Shape shape() const { return shape_; }
  MatrixView<const T> weights() const { return graph_.weights; }
  const ShortestPathsOptions& options() const { return options_; }
  const Truth<T>& truth() const;
  /// Whether a variant with this contract promises anything of the case.
  static bool promises(const core::Contract&) { return true; }
  /// Runs `variant` on the case and compares; "" where it is right.
  std::string check(const Variant& variant, const Execution& execution) const;

 private:
  Buffer<T> elements_;  ///< rows that may be padded
  ShortestPathsOptions options_;
  Graph<T> graph_;
  Shape shape_;
  mutable std::optional<Truth<T>> truth_;
};

/// What a loop over table and cases wants to know of the room.
struct Trial : Room {
  using Variant = shortest_paths_detail::Variant;
  using Case = shortest_paths_detail::Case;
  template <class T>
  using PreparedCase = shortest_paths_detail::PreparedCase<T>;
  /// Of floating numbers many results are right: what must be true of them is checked.
  template <class T>
  static core::Contract contract_in(const Variant& variant) {
    if (std::numeric_limits<T>::has_infinity) return {.kind = core::Contract::invariants};
    return variant.contract;
  }
  static core::Rows<Variant> variants() { return shortest_paths_detail::variants(); }
  static const std::vector<Case>& cases() { return shortest_paths_detail::cases(); }
};

}  // namespace gradus::shortest_paths_detail
