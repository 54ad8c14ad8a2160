// openmp_dijkstra: Dijkstra's algorithm from one source after another, with the sources shared among threads.
//
// What changes from `openmp_tiled`: that rung relaxes all pairs of vertices through one set of intermediate vertices
// after another. This rung finds all routes from one vertex, along the existing edges. One search computes one row of
// the result and is independent of the other searches. Threads take the next remaining source without a barrier, and
// the cost is proportional to the number of sources. The state of a search (a length per vertex and the queue of
// vertices) is private to a thread, is reused, and stays in its caches. The edges are shared. Vertices wait in buckets
// (bucket_heap.hpp).
// * Negative edges: integer lengths are reweighted to w(u, v) + h(u) - h(v), where h(v) is the length of the shortest
//   route that ends at v. None of the new lengths is negative, the same routes are shortest, and nothing is rounded
//   (Johnson). In floating-point the differences would be rounded, and sums along a route would violate the header's
//   bound. A floating-point search with the new lengths therefore only determines an order of the vertices.
//   search_tree.hpp then visits the vertices in this order, usually once each, and adds the original weights.
// * Integers are added in 32 bits if the lengths allow it. The search settles vertices in ascending order and gives up
//   at the first length beyond which a sum might wrap. The search is then repeated in 64 bits, and if necessary in 128
//   bits.
// * If all edges have the same length, vertices wait in a FIFO queue: breadth-first search.
// * Integer predecessors: every edge is examined when its tail is settled. The canonical predecessor is the lowest
//   vertex from which the shortest length is reached, so the order does not matter. A cycle of length 0 appears as a
//   cycle of zero-length edges under h. If there is one, a breadth-first search along the edges of shortest routes
//   minimizes the number of edges.
// * The search for a single route ends with the last vertex that is as near as the target. A bidirectional search would
//   settle fewer vertices, but it needs the reversed edges. On a road grid, reversing the edges takes as much time as
//   the bidirectional search saves.
// * The edges of a vertex are prefetched when the vertex is queued, long before they are read.
//
// Work per source: an addition and a comparison per edge, and a bucket operation per vertex; at most O((edges + N) log
// N). Memory per thread: about 40 N bytes.
// Limits: a single search is not parallel, so one source uses one thread.
// Sources: E. W. Dijkstra, "A note on two problems in connexion with graphs" (1959); D. B. Johnson, "Efficient
// algorithms for shortest paths in sparse networks" (1977).
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <type_traits>
#include <vector>

#include "core/checked.hpp"
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "cpu/threads.hpp"
#include "shortest_paths/bucket_heap.hpp"
#include "shortest_paths/finish.hpp"
#include "shortest_paths/negative_cycle.hpp"
#include "shortest_paths/problem.hpp"
#include "shortest_paths/search_tree.hpp"
#include "shortest_paths/sparse_graph.hpp"

namespace gradus::shortest_paths_detail {

namespace {

__extension__ using UInt128 = unsigned __int128;

constexpr std::string_view while_searching = "stopped while searching for routes";

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

/// Represents "not reached": a value greater than any length.
template <class Key>
constexpr Key not_reached() {
  if constexpr (std::numeric_limits<Key>::has_infinity) return std::numeric_limits<Key>::infinity();
  else return static_cast<Key>(~Key{0});
}

template <class W>
constexpr W most_of() {
  if constexpr (sizeof(W) == 16) return W{1} << 126;
  else return std::numeric_limits<W>::max();
}

/// Edges of non-negative lengths in the form that a search reads. Key is the type of sums.
template <class Key, class W>
struct Network {
  std::int64_t n = 0;
  const std::int64_t* starts = nullptr;
  const Arc<W>* arcs = nullptr;
  Key heaviest = 0;
  bool equal = false;  ///< true if all edges have the same positive weight

  explicit Network(const SparseGraph<W>& graph)
      : Network(graph.n(), graph.starts.data(), graph.arcs.data(), graph.lightest, graph.heaviest) {}
  Network(std::int64_t vertices, const std::int64_t* first_arcs, const Arc<W>* all, W lightest, W most)
      : n(vertices), starts(first_arcs), arcs(all), heaviest(static_cast<Key>(most)),
        equal(edges() > 0 && lightest == most && lightest > 0) {}

  std::int64_t edges() const { return starts[n]; }
};

/// A network with new weights for the edges of a graph.
template <class Key, class W>
struct ReweightedNetwork {
  Buffer<Arc<W>> arcs;
  Network<Key, W> network;

  /// weight_of(from, arc) returns the new weight of an arc of the graph.
  template <class T, class WeightOf>
  ReweightedNetwork(const SparseGraph<T>& graph, const WeightOf& weight_of)
      : arcs(arcs_of(graph, weight_of)),
        network(graph.n(), graph.starts.data(), arcs.data(), edge_of_weights(false), edge_of_weights(true)) {}

 private:
  template <class T, class WeightOf>
  static Buffer<Arc<W>> arcs_of(const SparseGraph<T>& graph, const WeightOf& weight_of) {
    Buffer<Arc<W>> arcs(graph.edges());
    for (std::int64_t from = 0; from < graph.n(); ++from)
      for (std::int64_t edge = graph.starts[from]; edge < graph.starts[from + 1]; ++edge)
        arcs[edge] = {graph.arcs[edge].to, weight_of(from, graph.arcs[edge])};
    return arcs;
  }

  /// Returns the heaviest or the lightest weight.
  W edge_of_weights(bool heaviest) const {
    W found = arcs.size() > 0 ? arcs[0].weight : W{0};
    for (const Arc<W>& arc : arcs) found = heaviest ? std::max(found, arc.weight) : std::min(found, arc.weight);
    return found;
  }
};

enum class Outcome : std::uint8_t { done, too_long, stopped };

/// The searches of one thread, one after another.
template <class Key, class W>
class Search {
 public:
  Search(const Network<Key, W>& network, const std::stop_token& stop)
      : network_(network), stop_(stop), length_(network.n), waiting_(network.n, network.edges(), network.heaviest),
        line_(network.equal ? network.n : 0) {
    if constexpr (!std::numeric_limits<Key>::has_infinity)
      longest_ = static_cast<Key>(not_reached<Key>() - 1 - network.heaviest);
  }

  /// Searches from the source. Settles the vertices that are at most as far away as the target, or all vertices if
  /// there is no target. `predecessors` may be null.
  Outcome run(std::int64_t source, std::int64_t target, std::int32_t* predecessors) {
    std::fill_n(length_.data(), network_.n, not_reached<Key>());
    length_[source] = 0;
    if (predecessors == nullptr) return run_from<false>(source, target, nullptr);
    std::fill_n(predecessors, network_.n, -1);
    return run_from<true>(source, target, predecessors);
  }

  const Key* lengths() const { return length_.data(); }
  bool reached(std::int64_t v) const { return length_[v] != not_reached<Key>(); }
  const std::vector<std::int32_t>& order() const { return order_; }
  void keep_order() { keep_order_ = true; }

  /// Finds predecessors on shortest routes with the fewest edges. Must be called after run() has searched all vertices.
  void find_fewest_edges(std::int64_t source, std::int32_t* predecessors) {
    std::fill_n(predecessors, network_.n, -1);
    edges_to_.assign(size(network_.n), -1);
    edges_to_[size(source)] = 0;
    order_.assign(1, static_cast<std::int32_t>(source));
    for (std::size_t place = 0; place < order_.size(); ++place) {
      const std::int32_t u = order_[place];
      const std::int32_t next = edges_to_[size(u)] + 1;
      for_each_arc(u, [&](std::int32_t v, Key weight) {
        if (length_[u] + weight != length_[v]) return;
        if (edges_to_[size(v)] < 0) {
          edges_to_[size(v)] = next;
          predecessors[v] = u;
          order_.push_back(v);
        } else if (edges_to_[size(v)] == next && u < predecessors[v]) {
          predecessors[v] = u;
        }
      });
    }
  }

 private:
  template <class Visit>
  void for_each_arc(std::int32_t u, const Visit& visit) const {
    const Arc<W>* const end = network_.arcs + network_.starts[u + 1];
    for (const Arc<W>* arc = network_.arcs + network_.starts[u]; arc != end; ++arc)
      visit(arc->to, static_cast<Key>(arc->weight));
  }

  template <bool with_predecessors>
  Outcome run_from(std::int64_t source, std::int64_t target, std::int32_t* predecessors) {
    return network_.equal ? in_line<with_predecessors>(source, target, predecessors)
                          : by_length<with_predecessors>(source, target, predecessors);
  }

  /// Relaxes all edges from u. Calls reach(v, length) for every improvement.
  template <bool with_predecessors, class Reach>
  void settle(std::int32_t u, Key length, std::int32_t* predecessors, const Reach& reach) {
    for_each_arc(u, [&](std::int32_t v, Key weight) {
      const Key by_way = length + weight;
      if (by_way < length_[v]) {
        length_[v] = by_way;
        if constexpr (with_predecessors) predecessors[v] = u;
        reach(v, by_way);
      } else if constexpr (with_predecessors && !std::numeric_limits<Key>::has_infinity) {
        if (by_way == length_[v] && u < predecessors[v]) predecessors[v] = u;
      }
    });
  }

  template <bool with_predecessors>
  Outcome by_length(std::int64_t source, std::int64_t target, std::int32_t* predecessors) {
    order_.clear();
    waiting_.clear();
    waiting_.push(0, static_cast<std::int32_t>(source), length_.data());
    for (typename BucketHeap<Key>::Entry least; waiting_.pop(least, length_.data());) {
      if (target >= 0 && least.key > length_[target]) break;
      if (const Outcome outcome = look(least.key); outcome != Outcome::done) return outcome;
      if (keep_order_) order_.push_back(least.vertex);
      settle<with_predecessors>(least.vertex, least.key, predecessors, [this](std::int32_t v, Key length) {
        // Prefetches the edges of v, which will be read soon. In a large graph they come from memory.
        __builtin_prefetch(network_.arcs + network_.starts[v]);
        waiting_.push(length, v, length_.data());
      });
    }
    return Outcome::done;
  }

  template <bool with_predecessors>
  Outcome in_line(std::int64_t source, std::int64_t target, std::int32_t* predecessors) {
    std::int64_t last = 0;
    line_[last++] = static_cast<std::int32_t>(source);
    for (std::int64_t first = 0; first < last; ++first) {
      const std::int32_t u = line_[first];
      const Key length = length_[u];
      if (target >= 0 && length > length_[target]) break;
      if (const Outcome outcome = look(length); outcome != Outcome::done) return outcome;
      settle<with_predecessors>(u, length, predecessors, [&](std::int32_t v, Key) { line_[last++] = v; });
    }
    if (keep_order_) order_.assign(line_.data(), line_.data() + last);
    return Outcome::done;
  }

  Outcome look(Key length) {
    if constexpr (!std::numeric_limits<Key>::has_infinity)
      if (length > longest_) return Outcome::too_long;
    constexpr std::uint32_t settled_between_looks = 4096;
    if (++settled_ % settled_between_looks == 0 && stop_.stop_requested()) return Outcome::stopped;
    return Outcome::done;
  }

  const Network<Key, W>& network_;
  const std::stop_token& stop_;
  Buffer<Key> length_;
  BucketHeap<Key> waiting_;
  Buffer<std::int32_t> line_;
  std::vector<std::int32_t> order_;
  std::vector<std::int32_t> edges_to_;
  Key longest_ = 0;
  std::uint32_t settled_ = 0;
  bool keep_order_ = false;
};

/// Returns true if edges of length 0 form a cycle. Repeatedly removes vertices without incoming edges of length 0. A
/// cycle exists if and only if some vertices remain.
template <class Key, class W>
bool has_zero_cycle(const Network<Key, W>& network) {
  std::vector<std::int64_t> entering(size(network.n));
  const auto for_each_zero = [&](std::int64_t u, const auto& visit) {
    for (std::int64_t edge = network.starts[u]; edge < network.starts[u + 1]; ++edge)
      if (network.arcs[edge].weight == 0) visit(network.arcs[edge].to);
  };
  for (std::int64_t u = 0; u < network.n; ++u) for_each_zero(u, [&](std::int32_t v) { ++entering[size(v)]; });
  std::vector<std::int32_t> taken;
  for (std::int64_t v = 0; v < network.n; ++v)
    if (entering[size(v)] == 0) taken.push_back(static_cast<std::int32_t>(v));
  for (std::size_t place = 0; place < taken.size(); ++place)
    for_each_zero(taken[place], [&](std::int32_t v) {
      if (--entering[size(v)] == 0) taken.push_back(v);
    });
  return std::ssize(taken) < network.n;
}

/// The rows of the result, which threads share, and the first row whose distances exceed T.
template <class T>
class Rows {
 public:
  Rows(const SparseProblem<T>& job, const Execution& execution, const std::stop_token& stop)
      : job_(job), execution_(execution), stop_(stop), n_(job.graph->n()),
        count_(job.sources.empty() ? n_ : std::ssize(job.sources)) {}

  std::int64_t count() const { return count_; }
  std::int64_t source(std::int64_t row) const { return job_.sources.empty() ? row : job_.sources[size(row)]; }
  std::int32_t* predecessors(std::int64_t row) const {
    return job_.predecessors.data() != nullptr ? job_.predecessors.row(row) : nullptr;
  }

  /// Calls solve(search, row) for the listed rows. Each thread uses one search, which make() returns. Returns the rows
  /// for which solve() reports that the type of sums is too narrow.
  template <class Make, class Solve>
  std::vector<std::int64_t> each(const std::vector<std::int64_t>& list, const Make& make, const Solve& solve) {
    std::vector<std::int64_t> too_long;
    std::exception_ptr failure;
    std::atomic<std::int64_t> done = 0;
    std::mutex mutex;
    const auto rows = std::ssize(list);
    const std::int64_t operations = rows > 1 ? rows * (n_ + job_.graph->edges()) : 0;
    const int threads = cpu::threads_for(operations, cpu::thread_count(execution_));
#pragma omp parallel num_threads(threads)
    {
      decltype(make()) search;
#pragma omp for schedule(dynamic) nowait
      for (std::int64_t index = 0; index < rows; ++index) {
        if (stop_.stop_requested()) continue;
        try {
          if (!search) search = make();
          const std::int64_t row = list[size(index)];
          if (solve(*search, row) == Outcome::too_long) {
            const std::lock_guard lock(mutex);
            too_long.push_back(row);
          }
          const std::int64_t finished = done.fetch_add(1, std::memory_order_relaxed) + 1;
          report(finished, rows);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!failure) failure = std::current_exception();
        }
      }
    }
    if (failure) std::rethrow_exception(failure);
    core::honour_stop(stop_, while_searching);
    std::sort(too_long.begin(), too_long.end());
    return too_long;
  }

  /// Writes a row of distances. Calls length_to(v) only if reached(v) returns true. The return type of length_to() must
  /// hold all lengths.
  template <class LengthTo, class Reached>
  void write(std::int64_t row, const LengthTo& length_to, const Reached& reached) {
    T* const to = job_.distances.row(row);
    const std::int64_t from = source(row);
    const std::int64_t too_great = finish_row(n_, job_.target, to, length_to, reached);
    to[from] = 0;
    if (too_great < 0) return;
    const std::lock_guard lock(mutex_);
    if (first_too_great_ >= 0 && first_too_great_ <= row) return;
    first_too_great_ = row;
    where_ = too_great;
    distance_ = length_to(too_great);
  }

  /// Throws for the first distance that exceeds T. Must be called after all rows have been written.
  void refuse_too_great() const {
    if (first_too_great_ >= 0) throw_too_great<T>(source(first_too_great_), where_, distance_);
  }

  std::vector<std::int64_t> all() const {
    std::vector<std::int64_t> rows(size(count_));
    for (std::int64_t row = 0; row < count_; ++row) rows[size(row)] = row;
    return rows;
  }

 private:
  /// Only the calling thread reports, as Execution::progress promises.
  void report(std::int64_t done, std::int64_t rows) const {
    if (execution_.progress && omp_get_thread_num() == 0) execution_.progress({"search", done, rows, {}});
  }

  const SparseProblem<T>& job_;
  const Execution& execution_;
  const std::stop_token& stop_;
  std::int64_t n_;
  std::int64_t count_;
  std::mutex mutex_;
  std::int64_t first_too_great_ = -1;
  std::int64_t where_ = -1;
  Wider<T> distance_ = 0;
};

/// Solves the listed rows whose sums fit Key. Returns the listed rows whose sums do not fit. h holds the potentials of
/// all vertices, or is empty.
template <class Key, class W, class T>
std::vector<std::int64_t> solve_in(const Network<Key, W>& network, const SparseProblem<T>& job, Rows<T>& rows,
                                   const std::vector<std::int64_t>& list, const std::stop_token& stop) {
  const std::span<const Wider<T>> h = job.least_lengths;
  const bool is_whole = !std::numeric_limits<T>::has_infinity;
  const bool fewest_edges = is_whole && job.predecessors.data() != nullptr && !job.positive && has_zero_cycle(network);
  const std::int64_t target = fewest_edges ? -1 : job.target;
  const auto solve = [&](Search<Key, W>& search, std::int64_t row) {
    const std::int64_t source = rows.source(row);
    std::int32_t* const predecessors = rows.predecessors(row);
    const Outcome outcome = search.run(source, target, fewest_edges ? nullptr : predecessors);
    if (outcome != Outcome::done) return outcome;
    if (fewest_edges) search.find_fewest_edges(source, predecessors);
    const auto reached = [&](std::int64_t v) { return search.reached(v); };
    if constexpr (std::numeric_limits<T>::has_infinity) {
      rows.write(
          row, [&](std::int64_t v) { return static_cast<Wider<T>>(search.lengths()[v]); }, reached);
    } else if (h.empty()) {
      rows.write(
          row, [&](std::int64_t v) { return static_cast<Wider<T>>(search.lengths()[v]); }, reached);
    } else {
      const Wider<T> from = h[size(source)];
      rows.write(
          row, [&](std::int64_t v) { return static_cast<Wider<T>>(search.lengths()[v]) - from + h[size(v)]; }, reached);
    }
    return outcome;
  };
  return rows.each(
      list, [&] { return std::make_unique<Search<Key, W>>(network, stop); }, solve);
}

/// Solves integer problems in the narrowest type that holds the lengths.
template <class T>
void solve_whole_numbers(const SparseProblem<T>& job, Rows<T>& rows, const std::stop_token& stop) {
  const SparseGraph<T>& graph = *job.graph;
  const std::span<const Wider<T>> h = job.least_lengths;
  const auto weight_of = [&](std::int64_t from, const Arc<T>& arc) {
    const Wider<T> weight = arc.weight;
    return h.empty() ? weight : weight + h[size(from)] - h[size(arc.to)];
  };
  Wider<T> heaviest = h.empty() ? static_cast<Wider<T>>(graph.heaviest) : 0;
  for (std::int64_t from = 0; from < graph.n() && !h.empty(); ++from)
    for (std::int64_t edge = graph.starts[from]; edge < graph.starts[from + 1]; ++edge)
      heaviest = std::max(heaviest, weight_of(from, graph.arcs[edge]));
  const auto solve_with = [&]<class Key, class W>(Key, W, const std::vector<std::int64_t>& list) {
    if (list.empty() || heaviest > static_cast<Wider<T>>(most_of<W>())) return list;
    if constexpr (std::is_same_v<T, W>)
      if (h.empty()) return solve_in(Network<Key, W>(graph), job, rows, list, stop);
    const ReweightedNetwork<Key, W> own(
        graph, [&](std::int64_t from, const Arc<T>& arc) { return static_cast<W>(weight_of(from, arc)); });
    return solve_in(own.network, job, rows, list, stop);
  };
  std::vector<std::int64_t> left = solve_with(std::uint32_t{}, std::int32_t{}, rows.all());
  left = solve_with(std::uint64_t{}, std::int64_t{}, left);
  if constexpr (sizeof(T) == 8) solve_with(UInt128{}, Int128{}, left);
}

/// Solves floating-point problems without negative edges. Without such edges, rounded sums never decrease along a
/// route.
template <class T>
void solve_floating(const SparseProblem<T>& job, Rows<T>& rows, const std::stop_token& stop) {
  const SparseGraph<T>& graph = *job.graph;
  if (!job.wide_sums) {
    solve_in(Network<T, T>(graph), job, rows, rows.all(), stop);
    return;
  }
  using Wide = Wider<T>;
  const ReweightedNetwork<Wide, Wide> own(
      graph, [](std::int64_t, const Arc<T>& arc) { return static_cast<Wide>(arc.weight); });
  solve_in(own.network, job, rows, rows.all(), stop);
}

/// Solves floating-point problems with negative edges: grows trees whose vertices are visited in approximately
/// ascending order. Label is the type of sums.
template <class Label, class T>
void solve_by_trees(const SparseProblem<T>& job, Rows<T>& rows, const std::stop_token& stop) {
  const SparseGraph<T>& graph = *job.graph;
  const std::int64_t n = graph.n();
  const ReweightedNetwork<double, double> about(graph, [&](std::int64_t from, const Arc<T>& arc) {
    const Wider<T> weight = arc.weight + job.least_lengths[size(from)] - job.least_lengths[size(arc.to)];
    constexpr double most = 1e300;  // small enough that all sums stay finite
    return static_cast<double>(std::clamp<Wider<T>>(weight, 0, most));
  });
  struct Both {
    Search<double, double> about;
    SearchTree<Label> tree;
    std::vector<std::int32_t> order;
  };
  const auto make = [&] {
    auto both = std::make_unique<Both>(Both{Search<double, double>(about.network, stop), SearchTree<Label>(n), {}});
    both->about.keep_order();
    return both;
  };
  rows.each(rows.all(), make, [&](Both& both, std::int64_t row) {
    const std::int64_t source = rows.source(row);
    if (const Outcome outcome = both.about.run(source, -1, nullptr); outcome != Outcome::done) return outcome;
    both.tree.search(
        graph, source, both.about.order(),
        [&graph](const std::vector<std::int32_t>& cycle) { refuse_if_negative(graph, cycle); }, stop);
    const auto reached = [&](std::int64_t v) { return both.tree.reached(v); };
    rows.write(
        row, [&](std::int64_t v) { return static_cast<Wider<T>>(both.tree.label(v)); }, reached);
    if (std::int32_t* const predecessors = rows.predecessors(row); predecessors != nullptr)
      for (std::int64_t v = 0; v < n; ++v) predecessors[v] = reached(v) ? both.tree.predecessor(v) : -1;
    return Outcome::done;
  });
}

}  // namespace

template <class T>
Solved openmp_dijkstra(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const core::PhaseTimer timer(phases, "search");
  const SparseProblem<T>& job = *problem.sparse;
  Rows<T> rows(job, execution, problem.stop);
  if constexpr (!std::numeric_limits<T>::has_infinity) solve_whole_numbers(job, rows, problem.stop);
  else if (job.least_lengths.empty()) solve_floating(job, rows, problem.stop);
  else if (job.wide_sums) solve_by_trees<Wider<T>>(job, rows, problem.stop);
  else solve_by_trees<T>(job, rows, problem.stop);
  rows.refuse_too_great();
  return {.predecessors = job.predecessors.data() != nullptr};
}

namespace {

// The memory consists of the reweighted edges and, for each thread, of the lengths, the queue and, if needed, the
// trees.
core::Memory searches_memory(const Shape& shape, int threads) {
  const auto n = static_cast<std::uint64_t>(shape.vertices);
  const auto edges = static_cast<std::uint64_t>(shape.edges);
  const std::uint64_t number = shape.wide ? 16 : 8;
  const std::uint64_t tree = shape.floating && shape.negative ? 80 : 0;
  const std::uint64_t of_thread = n * (number + 20 + tree) + std::min(edges, 2 * n) * 2 * (number + 8);
  const auto busy = static_cast<std::uint64_t>(std::clamp<std::int64_t>(shape.rows(), 1, threads));
  return {.host = core::checked_add(core::checked_multiply(edges, 2 * number, "edges"),
                                    core::checked_multiply(of_thread, busy, "searches"), "searches")};
}

}  // namespace

extern constinit const Variant openmp_dijkstra_rung{
    .name = "openmp_dijkstra",
    .summary = "along the edges, one source after another; sources among threads, waiting vertices in buckets",
    .change =
        "work grows with edges instead of N², and sources instead of N; a row of the result is a task; vertices wait "
        "in buckets",
    .contract = exact,
    .backend = core::Backend::openmp,
    .memory = searches_memory,
    .facts = {.edge_lists = true},
    .run = {openmp_dijkstra<std::int32_t>, openmp_dijkstra<std::int64_t>, openmp_dijkstra<float>,
            openmp_dijkstra<double>},
};

}  // namespace gradus::shortest_paths_detail
