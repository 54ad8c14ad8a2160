// What all variants of all-pairs shortest paths share: the problem they are given, its shape, and the row of the table.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "core/ladder.hpp"
#include "execution/machine.hpp"
#include "gradus/shortest_paths.hpp"

namespace gradus::cuda {
class Job;
}

namespace gradus::shortest_paths_detail {

__extension__ using Int128 = __int128;

/// The type in which sums of T are formed where T itself might not hold them.
template <class T>
struct WiderOf;
template <>
struct WiderOf<std::int32_t> {
  using Type = std::int64_t;
};
template <>
struct WiderOf<std::int64_t> {
  using Type = Int128;
};
template <>
struct WiderOf<float> {
  using Type = double;
};
template <>
struct WiderOf<double> {
  using Type = long double;
};
template <class T>
using Wider = typename WiderOf<T>::Type;

/// "No route" in the matrices of a Problem: two of them, and one and any distance, can be added without a thought. It
/// is infinity, or half of the greatest whole number; other than in matrices of callers.
template <class T>
constexpr T unreachable() {
  if constexpr (std::numeric_limits<T>::has_infinity) return std::numeric_limits<T>::infinity();
  else if constexpr (sizeof(T) == 16) return static_cast<T>(1) << 125;
  else return std::numeric_limits<T>::max() / 2;
}

/// The sizes on which the choice of a variant and the estimates of work and memory depend.
struct Shape {
  std::int64_t vertices = 0;
  std::int64_t edges = 0;     ///< without those from a vertex to itself
  std::int64_t sources = -1;  ///< from how many vertices routes are wanted; -1: from all
  int element_bytes = 4;      ///< of the type in which the variant computes
  bool floating = false;      ///< float, double; otherwise whole numbers
  bool negative = false;      ///< some edge is
  bool wide = false;          ///< sums do not fit the element type: Problem::wide
  bool predecessors = false;  ///< wanted

  std::int64_t rows() const { return sources < 0 ? vertices : sources; }  ///< of the results
  /// An addition and a comparison each.
  double relaxations() const {
    const auto n = static_cast<double>(vertices);
    return n * n * n;
  }
};

template <class T>
struct SparseGraph;

/// The same job for variants that take a graph as lists of its edges (takes_edge_lists()), and the results as
/// the caller gets them: "no route" is the greatest whole number, and InputError is thrown for a distance that T does
/// not hold, of the first row that has one.
template <class T>
struct SparseProblem {
  const SparseGraph<T>* graph = nullptr;
  std::span<const std::int64_t> sources;    ///< a row of the results for each; empty: for all vertices
  std::int64_t target = -1;                 ///< the only vertex to which the route is wanted, or -1: all
  std::span<const Wider<T>> least_lengths;  ///< where an edge is negative: of any route that ends at each vertex
  bool positive = true;                     ///< all edges are
  bool wide_sums = false;                   ///< floating numbers: sums might overflow in T
  MatrixView<T> distances;
  MatrixView<std::int32_t> predecessors;  ///< or empty
};

/// A graph without negative cycles (of floating numbers: but for what rounding hides), and the matrix in which a
/// variant works.
template <class T>
struct Problem {
  /// N x N: at first the weights, 0 on the diagonal and unreachable<T>() where there is no edge; the variant makes them
  /// distances. Whole numbers: no sum of two elements wraps, whatever is relaxed in whatever order, and what is greater
  /// than `greatest` afterwards, in whatever way, is "no route" (unreachable plus negative included). Floating numbers:
  /// no sum overflows. There relaxing the diagonal like any other element is a duty: the frame finds there whether
  /// rounding has made a cycle negative.
  MatrixView<T> distances;
  /// Where Shape::wide: instead, for the same reason.
  MatrixView<Wider<T>> wide;
  /// Instead of all matrices here, for variants that take lists.
  const SparseProblem<T>* sparse = nullptr;
  /// No distance is greater in magnitude. Below unreachable() / 2 for whole numbers.
  Wider<T> greatest = 0;
  /// N x N, wanted; or empty. A variant for whole numbers may write them (Solved), as the canonical rule says it for
  /// graphs without cycles of length 0; the frame looks for such cycles, and writes them where no variant has.
  MatrixView<std::int32_t> predecessors;
  std::int64_t tile = 0;  ///< side of tiles, or 0: the variant's own choice
  std::int64_t edges = 0;
  bool negative = false;
  /// For a variant that takes GPU memory (Variant::device_input): the job on whose GPU `distances` lie, without
  /// anything between the rows. Null for the others, whose matrices are in host memory. Predecessors are the frame's
  /// there.
  cuda::Job* gpu = nullptr;
  std::stop_token stop;  ///< the job's; see core/stop.hpp for how to look at it

  std::int64_t n() const { return is_wide() ? wide.rows() : distances.rows(); }  // of a matrix
  bool is_wide() const { return wide.data() != nullptr; }
  Shape shape() const {
    return {.vertices = n(),
            .edges = edges,
            .element_bytes = sizeof(T),
            .floating = std::numeric_limits<T>::has_infinity,
            .negative = negative,
            .wide = is_wide(),
            .predecessors = predecessors.data() != nullptr};
  }
};

/// What a run has done besides the distances, which are in the problem's matrix.
struct Solved {
  bool predecessors = false;
};

/// What core/ladder.hpp wants to know of this room.
struct Room {
  static constexpr std::string_view name = "shortest_paths";
  using Shape = shortest_paths_detail::Shape;
  using Elements = core::Elements<std::int32_t, std::int64_t, float, double>;
  template <class T>
  using Problem = shortest_paths_detail::Problem<T>;
  template <class T>
  using Result = Solved;
  /// What a row says beside.
  struct RowFacts {
    bool edge_lists = false;  ///< it works on lists of edges (Problem::sparse) instead of a matrix
  };
};
using Variant = core::Variant<Room>;

/// Floating-point bits depend on the variant; Trial::contract_in() has the bound that holds instead.
inline constexpr core::Contract exact{.kind = core::Contract::same_bits, .of = "integers"};

inline core::Support in_own_type(const Shape& shape, const execution::Machine&) {
  if (shape.wide)
    return core::Support::no("distances may need more than 64 bits; openmp_tiled computes in a wider type");
  return core::Support::yes();
}

core::Rows<Variant> variants();
inline bool takes_edge_lists(const Variant& variant) { return variant.facts.edge_lists; }
/// The same for those who know no problem.
extern const core::Ladder ladder;

/// The variant for `Execution::variant` empty: a pure function of the shape, the machine and the device asked for.
/// UnsupportedError where a GPU is asked for and none can be used.
const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device = Device::automatic);

}  // namespace gradus::shortest_paths_detail
