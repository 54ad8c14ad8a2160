// The problem that every variant of all-pairs shortest paths solves, its shape, and the type of the table's rows.
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

/// A type wider than T, which holds sums that exceed T.
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

/// Represents "no route" in the matrices of a Problem: infinity, or half of the greatest integer. The sum of two such
/// values, or of such a value and any distance, does not overflow. The callers' matrices use a different value.
template <class T>
constexpr T unreachable() {
  if constexpr (std::numeric_limits<T>::has_infinity) return std::numeric_limits<T>::infinity();
  else if constexpr (sizeof(T) == 16) return static_cast<T>(1) << 125;
  else return std::numeric_limits<T>::max() / 2;
}

/// The sizes that determine the choice of a variant and the estimates of work and memory.
struct Shape {
  std::int64_t vertices = 0;
  std::int64_t edges = 0;     ///< number of edges between different vertices
  std::int64_t sources = -1;  ///< number of source vertices, or -1 for all
  int element_bytes = 4;      ///< bytes of the type in which the variant computes
  bool floating = false;      ///< true for float and double, false for integers
  bool negative = false;      ///< true if some edge is negative
  bool wide = false;          ///< true if sums do not fit the element type; see Problem::wide
  bool predecessors = false;  ///< true if predecessors are requested

  std::int64_t rows() const { return sources < 0 ? vertices : sources; }  ///< rows of the results
  /// Number of relaxations, each an addition and a comparison.
  double relaxations() const {
    const auto n = static_cast<double>(vertices);
    return n * n * n;
  }
};

template <class T>
struct SparseGraph;

/// A job for variants that work on edge lists (takes_edge_lists()). The results have the caller's form: "no route" is
/// the greatest integer. If a distance exceeds T, the variant throws InputError for the first row with such a distance.
template <class T>
struct SparseProblem {
  const SparseGraph<T>* graph = nullptr;
  std::span<const std::int64_t> sources;  ///< one source per row of the result; empty for all vertices
  std::int64_t target = -1;               ///< the only vertex whose distance is needed, or -1 for all
  /// If an edge is negative: for each vertex, the length of the shortest route that ends there.
  std::span<const Wider<T>> least_lengths;
  bool positive = true;    ///< true if all edges are positive
  bool wide_sums = false;  ///< for floating-point: true if sums might overflow in T
  MatrixView<T> distances;
  MatrixView<std::int32_t> predecessors;  ///< empty if not requested
};

/// A graph without negative cycles, and the matrix in which a variant works. In floating-point, the graph may have a
/// cycle that is negative by less than the rounding error.
template <class T>
struct Problem {
  /// N x N elements. Initially they are the weights, with 0 on the diagonal and unreachable<T>() for "no edge". The
  /// variant turns them into distances. Variants must also relax the diagonal, because the driver checks it to find
  /// cycles that rounding has made negative.
  ///
  /// Integers: in any order of relaxations, no sum of two elements wraps. Every final value above `greatest` means "no
  /// route", for example the sum of unreachable<T>() and a negative weight. Floating-point: no sum overflows.
  MatrixView<T> distances;
  /// Replaces `distances` if Shape::wide is true.
  MatrixView<Wider<T>> wide;
  /// Replaces all matrices of this struct if the variant works on edge lists.
  const SparseProblem<T>* sparse = nullptr;
  /// Upper bound of the magnitude of all distances. For integers, the bound is below unreachable() / 2.
  Wider<T> greatest = 0;
  /// N x N elements if requested, otherwise empty. In a graph without cycles of length 0, an integer variant may write
  /// the predecessors (see Solved), by the canonical rule. The driver writes all predecessors that the variant has not
  /// written, and the predecessors of graphs with cycles of length 0.
  MatrixView<std::int32_t> predecessors;
  std::int64_t tile = 0;  ///< side of the tiles; 0: the variant's default
  std::int64_t edges = 0;
  bool negative = false;
  /// For a variant that accepts GPU memory (Variant::device_input): the job whose GPU holds `distances`, with
  /// contiguous rows. The driver then computes the predecessors. Null for other variants, whose matrices are in host
  /// memory.
  cuda::Job* gpu = nullptr;
  std::stop_token stop;  ///< the job's stop token; core/stop.hpp explains how to poll it

  std::int64_t n() const { return is_wide() ? wide.rows() : distances.rows(); }  // side of the matrix
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

/// Results of a run that are not in the problem's matrix.
struct Solved {
  bool predecessors = false;
};

/// The types of this room for core/ladder.hpp.
struct Room {
  static constexpr std::string_view name = "shortest_paths";
  using Shape = shortest_paths_detail::Shape;
  using Elements = core::Elements<std::int32_t, std::int64_t, float, double>;
  template <class T>
  using Problem = shortest_paths_detail::Problem<T>;
  template <class T>
  using Result = Solved;
  /// The facts that a row of the variant table states for this problem, in addition to the common ones.
  struct RowFacts {
    bool edge_lists = false;  ///< true if the variant works on edge lists (Problem::sparse) instead of a matrix
  };
};
using Variant = core::Variant<Room>;

/// The bits of floating-point results depend on the variant. Trial::contract_in() supplies the error bound of these
/// results.
inline constexpr core::Contract exact{.kind = core::Contract::same_bits, .of = "integers"};

inline core::Support in_own_type(const Shape& shape, const execution::Machine&) {
  if (shape.wide)
    return core::Support::no("distances may need more than 64 bits; openmp_tiled computes in a wider type");
  return core::Support::yes();
}

core::Rows<Variant> variants();
inline bool takes_edge_lists(const Variant& variant) { return variant.facts.edge_lists; }
/// The variant table, for code that is independent of the problem.
extern const core::Ladder ladder;

/// Returns the variant to run if `Execution::variant` is empty. The choice is a pure function of the shape, the machine
/// and the requested device. Throws UnsupportedError if a GPU is requested and none can be used.
const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device = Device::automatic);

}  // namespace gradus::shortest_paths_detail
