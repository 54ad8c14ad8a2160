#include "shortest_paths/predecessors.hpp"

#include <algorithm>
#include <exception>
#include <numeric>
#include <vector>

#include "core/stop.hpp"
#include "shortest_paths/negative_cycle.hpp"
#include "shortest_paths/search_tree.hpp"
#include "shortest_paths/simd/mark_predecessors.hpp"

namespace gradus::shortest_paths_detail {

/// Scalar version of the vectorised mark_predecessors(), for 128-bit numbers.
static void mark_predecessors(const Int128* const* to_via, const Int128* weights, const Int128* lengths,
                              std::int64_t first_via, std::int64_t vias, Int128* best) {
  for (std::int64_t via = vias - 1; via >= 0; --via)
    for (std::int64_t row = 0; row < marked_rows; ++row)
      for (std::int64_t column = 0; column < marked_columns; ++column)
        if (to_via[row][via] + weights[via * marked_columns + column] == lengths[row * marked_columns + column])
          best[row * marked_columns + column] = first_via + via;
}

namespace {

constexpr std::string_view while_finding = "stopped while finding predecessors";

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

/// The edges to each vertex in ascending order of tails.
template <class C>
struct EdgesTo {
  std::vector<std::int64_t> begin;  ///< index of the first edge of each vertex; at the end, the number of edges
  std::vector<std::int32_t> from;
  std::vector<C> weight;

  template <class T>
  explicit EdgesTo(const Graph<T>& graph) : begin(size(graph.n() + 2)) {
    const std::int64_t n = graph.n();
    for (std::int64_t u = 0; u < n; ++u) graph.for_each_edge_from(u, [&](std::int64_t v, T) { ++begin[size(v + 2)]; });
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    from.resize(size(begin.back()));
    weight.resize(size(begin.back()));
    for (std::int64_t u = 0; u < n; ++u)
      graph.for_each_edge_from(u, [&](std::int64_t v, T length) {
        const std::int64_t place = begin[size(v + 1)]++;
        from[size(place)] = static_cast<std::int32_t>(u);
        weight[size(place)] = static_cast<C>(length);
      });
    begin.pop_back();
  }
};

/// Finds the predecessors of rows [first, last) from the edge lists. Processes several sources at once. The lengths
/// from these sources to a vertex are contiguous, and one read of an edge serves all these sources.
template <class C>
void from_lists(const EdgesTo<C>& edges, MatrixView<const C> distances, C greatest, std::int64_t first,
                std::int64_t last, MatrixView<std::int32_t> predecessors, const std::stop_token& stop) {
  constexpr std::int64_t together = listed_sources<C>;
  constexpr std::int64_t side = 64;  // block size of the transposition
  const std::int64_t n = distances.rows();
  Buffer<C> lengths(n * together);
  Buffer<C> best(n * together);
  for (std::int64_t top = first; top < last && !stop.stop_requested(); top += together) {
    const std::int64_t rows = std::min(together, last - top);
    for (std::int64_t left = 0; left < n; left += side)
      for (std::int64_t row = 0; row < together; ++row)
        for (std::int64_t v = left; v < std::min(left + side, n); ++v)
          lengths[v * together + row] = distances(top + std::min(row, rows - 1), v);
    if constexpr (sizeof(C) <= 8) {
      mark_listed_predecessors(n, edges.begin.data(), edges.from.data(), edges.weight.data(), lengths.data(),
                               best.data());
    } else {
      for (std::int64_t v = 0; v < n; ++v)
        for (std::int64_t row = 0; row < together; ++row) {
          C& found = best[v * together + row];
          found = -1;
          for (std::int64_t edge = edges.begin[size(v + 1)] - 1; edge >= edges.begin[size(v)]; --edge)
            if (lengths[edges.from[size(edge)] * together + row] + edges.weight[size(edge)] ==
                lengths[v * together + row])
              found = edges.from[size(edge)];
        }
    }
    for (std::int64_t left = 0; left < n; left += side)
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t v = left; v < std::min(left + side, n); ++v) {
          const bool route = v != top + row && lengths[v * together + row] <= greatest;
          predecessors(top + row, v) = route ? static_cast<std::int32_t>(best[v * together + row]) : -1;
        }
  }
}

/// Copies the edges that lead from some vertices to `marked_columns` end vertices. The copy is contiguous.
template <class T, class C>
void pack_edges(const Graph<T>& graph, std::int64_t first_via, std::int64_t vias, std::int64_t left, C* to) {
  const std::int64_t columns = std::min(marked_columns, graph.n() - left);
  for (std::int64_t via = first_via; via < first_via + vias; ++via, to += marked_columns) {
    const T* const edges = graph.weights.row(via) + left;
    std::fill(to + columns, to + marked_columns, unreachable<C>());
    for (std::int64_t column = 0; column < columns; ++column)
      to[column] = graph.is_edge(edges[column]) ? static_cast<C>(edges[column]) : unreachable<C>();
    // An edge from a vertex to itself does not count.
    if (via >= left && via < left + columns) to[via - left] = unreachable<C>();
  }
}

/// Finds the predecessors of rows [first, last) in a dense graph. Edges are packed for a few columns and vertices at a
/// time, so that they stay in the L1 cache. Vertices are visited in descending order, so that the lowest predecessor is
/// written last.
template <class T, class C>
void from_rows(const Graph<T>& graph, MatrixView<const C> distances, C greatest, std::int64_t first, std::int64_t last,
               MatrixView<std::int32_t> predecessors, const std::stop_token& stop) {
  constexpr std::int64_t depth = 128;
  const std::int64_t n = graph.n();
  Buffer<C> edges(depth * marked_columns);
  alignas(64) C lengths[marked_rows * marked_columns];
  alignas(64) C best[marked_rows * marked_columns];
  for (std::int64_t row = first; row < last; ++row) std::fill_n(predecessors.row(row), n, -1);
  for (std::int64_t left = 0; left < n; left += marked_columns)
    for (std::int64_t first_via = (n - 1) / depth * depth; first_via >= 0 && !stop.stop_requested();
         first_via -= depth) {
      const std::int64_t vias = std::min(depth, n - first_via);
      const std::int64_t columns = std::min(marked_columns, n - left);
      pack_edges(graph, first_via, vias, left, edges.data());
      for (std::int64_t row = first; row < last; row += marked_rows) {
        const C* to_via[marked_rows];
        for (std::int64_t line = 0; line < marked_rows; ++line) {
          // If fewer rows are left than are processed at once, the last row is repeated.
          const std::int64_t source = std::min(row + line, last - 1);
          to_via[line] = distances.row(source) + first_via;
          std::copy_n(distances.row(source) + left, columns, lengths + line * marked_columns);
          std::copy_n(predecessors.row(source) + left, columns, best + line * marked_columns);
          std::fill_n(lengths + line * marked_columns + columns, marked_columns - columns, C{0});
          std::fill_n(best + line * marked_columns + columns, marked_columns - columns, C{0});
        }
        mark_predecessors(to_via, edges.data(), lengths, first_via, vias, best);
        for (std::int64_t line = 0; line < std::min(marked_rows, last - row); ++line)
          for (std::int64_t column = 0; column < columns; ++column)
            predecessors(row + line, left + column) = static_cast<std::int32_t>(best[line * marked_columns + column]);
      }
    }
  for (std::int64_t row = first; row < last; ++row)
    for (std::int64_t column = 0; column < n; ++column)
      if (row == column || distances(row, column) > greatest) predecessors(row, column) = -1;
}

/// Returns a tree of routes from `source` whose vertices are visited in the order of their distances.
template <class T, class C>
SearchTree<C> grown_tree(const Graph<T>& graph, std::int64_t source, const C* distances, const std::stop_token& stop) {
  const std::int64_t n = graph.n();
  std::vector<std::int32_t> order(size(n));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [distances, source](std::int32_t one, std::int32_t other) {
    if (one == source || other == source) return one == source && other != source;  // the source comes first
    return distances[one] != distances[other] ? distances[one] < distances[other] : one < other;
  });
  SearchTree<C> tree(n);
  tree.search(
      graph, source, order, [&graph](const std::vector<std::int32_t>& cycle) { refuse_if_negative(graph, cycle); },
      stop);
  return tree;
}

/// Turns rows of floating-point predecessors into trees.
template <class T, class C>
class Trees {
 public:
  explicit Trees(const Graph<T>& graph)
      : graph_(graph), state_(size(graph.n())), weight_(size(graph.n())), length_(size(graph.n())) {
    // The rounding errors of header's bound: g <= (N - 1) u / (1 - (N - 1) u).
    const Sum roundings = static_cast<Sum>(graph.n()) * std::numeric_limits<C>::epsilon() / 2;
    const Sum g = roundings / (1 - roundings);
    // Let d be the exact length of a shortest route and L the exact length of the tree's route. The distance is at most
    // (1 + g) d. Therefore L <= (1 + 3 g) distance implies L <= d + 2 g (L + d). The factor 2.9 leaves a margin for
    // the rounding of L, which is added up with more bits.
    longest_ = roundings < Sum{1} / 8 ? 1 + Sum{29} / 10 * g : 1;
  }

  /// Returns false if a tree was not found or if one of its routes is too long.
  bool make(std::int64_t source, const C* distances, std::int32_t* predecessors) {
    source_ = source;
    distances_ = distances;
    predecessors_ = predecessors;
    const std::int64_t n = graph_.n();
    // The loads are independent of each other, so that they overlap.
    for (std::int64_t v = 0; v < n; ++v)
      weight_[size(v)] = predecessors[v] < 0 ? T{0} : graph_.weights(predecessors[v], v);
    std::fill(state_.begin(), state_.end(), State::unknown);
    state_[size(source)] = State::reached;
    length_[size(source)] = 0;
    std::vector<std::int32_t> loose;
    for (std::int64_t v = 0; v < n; ++v)
      if (distances[v] == unreachable<C>()) state_[size(v)] = v == source ? State::reached : State::absent;
      else if (state_[size(v)] == State::unknown && !settle(static_cast<std::int32_t>(v), loose)) return false;
    return loose.empty() || attach(std::move(loose));
  }

 private:
  using Sum = std::conditional_t<std::is_same_v<C, float>, double, long double>;
  enum class State : std::uint8_t {
    unknown,
    walked,   ///< on the current walk
    loose,    ///< the walk from this vertex ends in a cycle or at a vertex without a predecessor
    reached,  ///< the walk from this vertex ends at the source
    absent    ///< there is no route
  };

  /// Walks back from a vertex and settles all vertices of the walk. If the walk ends in a new cycle or at a vertex
  /// without a predecessor, adds the last vertex to `loose`. Returns false if a route is too long.
  bool settle(std::int32_t v, std::vector<std::int32_t>& loose) {
    walk_.clear();
    while (state_[size(v)] == State::unknown) {
      state_[size(v)] = State::walked;
      walk_.push_back(v);
      if (predecessors_[v] < 0) break;
      v = predecessors_[v];
    }
    const State end = state_[size(v)];
    if (end == State::walked) loose.push_back(v);
    if (end != State::reached) {
      for (const std::int32_t each : walk_) state_[size(each)] = State::loose;
      return true;
    }
    for (auto each = walk_.rbegin(); each != walk_.rend(); ++each) {
      const std::int32_t from = predecessors_[*each];
      const Sum length = length_[size(from)] + static_cast<Sum>(weight_[size(*each)]);
      if (!(length <= longest_ * static_cast<Sum>(distances_[*each]))) return false;
      length_[size(*each)] = length;
      state_[size(*each)] = State::reached;
    }
    return true;
  }

  /// Gives every cycle a vertex with a predecessor outside of all cycles. Returns false after too many searches.
  bool attach(std::vector<std::int32_t> loose) {
    constexpr int most_searches = 64;
    int searches = 0;
    std::vector<std::uint8_t> left(size(graph_.n()));
    while (!loose.empty()) {
      bool attached = false;
      for (const std::int32_t end : loose) {
        bool entered = false;
        std::int32_t v = end;
        do {
          if (++searches > most_searches) return false;
          entered = enter(v);
          v = predecessors_[v];
        } while (!entered && v >= 0 && v != end);
        attached = attached || entered;
      }
      // If few vertices are reached, more of them must be reached before the cycles can be entered.
      for (std::int64_t number = 0; !attached && number <= graph_.n(); ++number) {
        const std::int64_t u = number == 0 ? source_ : number - 1;
        if (left[size(u)] != 0 || state_[size(u)] != State::reached) continue;
        if (++searches > most_searches) return false;
        left[size(u)] = 1;
        attached = leave(u);
      }
      if (!attached) return false;
      loose.clear();
      for (State& state : state_)
        if (state == State::loose) state = State::unknown;
      for (std::int64_t v = 0; v < graph_.n(); ++v)
        if (state_[size(v)] == State::unknown && !settle(static_cast<std::int32_t>(v), loose)) return false;
    }
    return true;
  }

  /// Makes the reached vertex with the smallest sum the predecessor of `v`, if the sum is short enough.
  bool enter(std::int32_t v) {
    Sum least = longest_ * static_cast<Sum>(distances_[v]);
    std::int32_t best = -1;
    for (std::int64_t u = 0; u < graph_.n(); ++u) {
      if (state_[size(u)] != State::reached) continue;
      const T weight = graph_.weights(u, v);
      if (!graph_.is_edge(weight)) continue;
      const Sum sum = length_[size(u)] + static_cast<Sum>(weight);
      if (!(sum <= least) || (best >= 0 && !(sum < least))) continue;
      least = sum;
      best = static_cast<std::int32_t>(u);
    }
    if (best < 0) return false;
    predecessors_[v] = best;
    weight_[size(v)] = graph_.weights(best, v);
    return true;
  }

  /// Makes the reached vertex `u` the predecessor of all loose vertices for which its sum is short enough. Returns
  /// false if there are none.
  bool leave(std::int64_t u) {
    bool found = false;
    const T* const weights = graph_.weights.row(u);
    for (std::int64_t v = 0; v < graph_.n(); ++v) {
      if (state_[size(v)] != State::loose || !graph_.is_edge(weights[v])) continue;
      if (!(length_[size(u)] + static_cast<Sum>(weights[v]) <= longest_ * static_cast<Sum>(distances_[v]))) continue;
      predecessors_[v] = static_cast<std::int32_t>(u);
      weight_[size(v)] = weights[v];
      found = true;
    }
    return found;
  }

  const Graph<T>& graph_;
  Sum longest_ = 1;  ///< a route may be at most this many times as long as the distance
  std::vector<State> state_;
  std::vector<T> weight_;    ///< weight of the last edge of each route
  std::vector<Sum> length_;  ///< length of the route to each reached vertex
  std::vector<std::int32_t> walk_;
  std::int64_t source_ = 0;
  const C* distances_ = nullptr;
  std::int32_t* predecessors_ = nullptr;
};

/// Turns the floating-point predecessors of rows [first, last) into trees.
template <class T, class C>
void make_trees(const Graph<T>& graph, MatrixView<const C> distances, std::int64_t first, std::int64_t last,
                MatrixView<std::int32_t> predecessors, const std::stop_token& stop) {
  Trees<T, C> trees(graph);
  for (std::int64_t row = first; row < last && !stop.stop_requested(); ++row) {
    if (trees.make(row, distances.row(row), predecessors.row(row))) continue;
    const SearchTree<C> tree = grown_tree(graph, row, distances.row(row), stop);
    for (std::int64_t v = 0; v < graph.n(); ++v) predecessors(row, v) = tree.reached(v) ? tree.predecessor(v) : -1;
  }
}

/// Finds the predecessors by breadth-first search along edges of shortest routes. The predecessor of a vertex is the
/// first vertex from which the search reaches it. This predecessor is on a shortest route with the fewest edges. Of all
/// such predecessors, it is the lowest.
template <class T, class C>
void by_levels(const Graph<T>& graph, const C* distances, C greatest, std::int64_t source, std::int32_t* predecessors) {
  const std::int64_t n = graph.n();
  std::fill_n(predecessors, n, -1);
  std::vector<std::uint8_t> seen(size(n));
  std::vector<std::int32_t> level{static_cast<std::int32_t>(source)};
  std::vector<std::int32_t> next;
  seen[size(source)] = true;
  while (!level.empty()) {
    next.clear();
    for (const std::int32_t u : level)
      graph.for_each_edge_from(u, [&](std::int64_t v, T weight) {
        if (seen[size(v)] || distances[v] > greatest || distances[u] + static_cast<C>(weight) != distances[v]) return;
        seen[size(v)] = true;
        predecessors[v] = u;
        next.push_back(static_cast<std::int32_t>(v));
      });
    std::sort(next.begin(), next.end());
    level.swap(next);
  }
}

/// Divides all rows into ranges, and calls task(first, last) for each range, on several threads. Rethrows the first
/// exception.
template <class Task>
void share_rows(std::int64_t n, std::int64_t rows_of_a_task, int threads, const std::stop_token& stop,
                const Task& task) {
  std::exception_ptr failure;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (std::int64_t first = 0; first < n; first += rows_of_a_task) {
    if (stop.stop_requested()) continue;
    try {
      task(first, std::min(first + rows_of_a_task, n));
    } catch (...) {
#pragma omp critical(gradus_shortest_paths_failure)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  core::honour_stop(stop, while_finding);
}

/// Returns the vertices in ascending order, without duplicates.
std::vector<std::int64_t> sorted(std::span<const std::int64_t> vertices) {
  std::vector<std::int64_t> rows(vertices.begin(), vertices.end());
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

struct RowRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// Divides the rows of the sources, or all `n` rows if there are no sources, into ranges of at most `most` rows.
std::vector<RowRange> row_ranges(std::int64_t n, std::span<const std::int64_t> sources, std::int64_t most) {
  std::vector<RowRange> ranges;
  if (sources.empty())
    for (std::int64_t first = 0; first < n; first += most) ranges.push_back({first, std::min(first + most, n)});
  for (const std::int64_t row : sorted(sources)) {
    const bool follows = !ranges.empty() && ranges.back().last == row && row - ranges.back().first < most;
    if (follows) ranges.back().last = row + 1;
    else ranges.push_back({row, row + 1});
  }
  return ranges;
}

}  // namespace

template <class C>
bool has_zero_cycle(MatrixView<const C> distances, C greatest, int threads, const std::stop_token& stop) {
  constexpr std::int64_t side = 64;  // side of the blocks in which the matrix is read along rows and along columns
  const std::int64_t n = distances.rows();
  int found = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic) reduction(| : found)
  for (std::int64_t top = 0; top < n; top += side)
    for (std::int64_t left = top; left < n && !stop.stop_requested(); left += side)
      for (std::int64_t row = top; row < std::min(top + side, n); ++row)
        for (std::int64_t column = std::max(left, row + 1); column < std::min(left + side, n); ++column)
          found |= distances(row, column) <= greatest && distances(column, row) <= greatest &&
                   distances(row, column) + distances(column, row) == 0;
  core::honour_stop(stop, while_finding);
  return found != 0;
}

template <class T, class C>
void find_predecessors(const Graph<T>& graph, std::int64_t edges, MatrixView<const C> distances, C greatest,
                       bool fewest_edges, MatrixView<std::int32_t> predecessors, std::span<const std::int64_t> sources,
                       int threads, const std::stop_token& stop) {
  const std::int64_t n = graph.n();
  const auto share = [&](std::int64_t rows_of_a_task, const auto& task) {
    const std::vector<RowRange> ranges = row_ranges(n, sources, rows_of_a_task);
    share_rows(std::ssize(ranges), 1, threads, stop, [&](std::int64_t number, std::int64_t) {
      const RowRange& range = ranges[size(number)];
      task(range.first, range.last);
      if constexpr (std::is_floating_point_v<C>)
        make_trees(graph, distances, range.first, range.last, predecessors, stop);
    });
  };
  if constexpr (!std::is_floating_point_v<C>) {
    if (fewest_edges) {
      share(1, [&](std::int64_t row, std::int64_t) {
        by_levels(graph, distances.row(row), greatest, row, predecessors.row(row));
      });
      return;
    }
  }
  if (edges < n * n / 16) {
    const EdgesTo<C> lists(graph);
    share(listed_sources<C>, [&](std::int64_t first, std::int64_t last) {
      from_lists(lists, distances, greatest, first, last, predecessors, stop);
    });
  } else {
    constexpr std::int64_t most_rows = 64;  // a task processes at most this number of rows with the same packed edges
    const std::int64_t rows =
        std::clamp(n / (std::int64_t{4} * threads) / marked_rows * marked_rows, marked_rows, most_rows);
    share(rows, [&](std::int64_t first, std::int64_t last) {
      from_rows(graph, distances, greatest, first, last, predecessors, stop);
    });
  }
}

template <class T, class C>
void grow_trees(const Graph<T>& graph, MatrixView<C> distances, bool replace, MatrixView<std::int32_t> predecessors,
                std::span<const std::int64_t> sources, int threads, const std::stop_token& stop) {
  const std::int64_t n = graph.n();
  const std::vector<std::int64_t> rows = sorted(sources);
  const std::int64_t count = sources.empty() ? n : std::ssize(rows);
  share_rows(count, 1, threads, stop, [&](std::int64_t number, std::int64_t) {
    const std::int64_t row = sources.empty() ? number : rows[static_cast<std::size_t>(number)];
    C* const lengths = distances.row(row);
    const SearchTree<C> tree = grown_tree(graph, row, lengths, stop);
    for (std::int64_t v = 0; v < n; ++v) {
      if (replace) lengths[v] = tree.reached(v) ? tree.label(v) : unreachable<C>();
      if (predecessors.data() != nullptr) predecessors(row, v) = tree.reached(v) ? tree.predecessor(v) : -1;
    }
  });
}

#define GRADUS_INSTANTIATE(C) template bool has_zero_cycle(MatrixView<const C>, C, int, const std::stop_token&)
GRADUS_INSTANTIATE(std::int32_t);
GRADUS_INSTANTIATE(std::int64_t);
GRADUS_INSTANTIATE(Int128);
#undef GRADUS_INSTANTIATE
#define GRADUS_INSTANTIATE(T, C)                                                                \
  template void find_predecessors(const Graph<T>&, std::int64_t, MatrixView<const C>, C, bool,  \
                                  MatrixView<std::int32_t>, std::span<const std::int64_t>, int, \
                                  const std::stop_token&)
GRADUS_INSTANTIATE(std::int32_t, std::int32_t);
GRADUS_INSTANTIATE(std::int32_t, std::int64_t);
GRADUS_INSTANTIATE(std::int64_t, std::int64_t);
GRADUS_INSTANTIATE(std::int64_t, Int128);
GRADUS_INSTANTIATE(float, float);
GRADUS_INSTANTIATE(float, double);
GRADUS_INSTANTIATE(double, double);
#undef GRADUS_INSTANTIATE
#define GRADUS_INSTANTIATE(T, C)                                                           \
  template void grow_trees(const Graph<T>&, MatrixView<C>, bool, MatrixView<std::int32_t>, \
                           std::span<const std::int64_t>, int, const std::stop_token&)
GRADUS_INSTANTIATE(float, float);
GRADUS_INSTANTIATE(float, double);
GRADUS_INSTANTIATE(double, double);
GRADUS_INSTANTIATE(double, long double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::shortest_paths_detail
