// Tests single routes in small random graphs of all kinds. Each route must equal the route of the canonical
// predecessors. The test computes these predecessors independently, by the header's formulas, in integers that hold
// every sum.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/philox.hpp"
#include "gradus/shortest_paths.hpp"
#include "shortest_paths/graph.hpp"

namespace gradus::shortest_paths_detail {
namespace {

/// Draws random numbers in sequence.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed, 93) {}
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_.below(next_++, static_cast<std::uint64_t>(limit)));
  }
  bool one_in(std::int64_t chances) { return below(chances) == 0; }

 private:
  core::Philox random_;
  std::uint64_t next_ = 0;
};

template <class T>
struct Edge {
  std::int32_t from;
  std::int32_t to;
  T weight;
};

enum class Weights : std::uint8_t { small, zero_or_one, equal, both_signs, balanced, heavy, any_sign, kinds };

/// A graph as the caller passes it, and the call's options.
template <class T>
struct Given {
  std::int64_t n = 0;
  std::vector<Edge<T>> edges = {};
  ShortestPathsOptions options = {};
  bool without_weights = false;
};

template <class T>
Given<T> random_given(Draw& draw) {
  Given<T> given;
  given.n = 1 + draw.below(9);
  const auto kind = static_cast<Weights>(draw.below(static_cast<std::int64_t>(Weights::kinds)));
  given.options.undirected = draw.one_in(4);
  given.options.unweighted = draw.one_in(6);
  given.without_weights = draw.one_in(10);
  if (draw.one_in(6)) given.options.no_edge = 2;
  std::vector<std::int64_t> potentials;
  for (std::int64_t v = 0; v < given.n; ++v) potentials.push_back(draw.below(30));
  const auto weight = [&](std::int64_t u, std::int64_t v) -> T {
    const std::int64_t difference = potentials[static_cast<std::size_t>(u)] - potentials[static_cast<std::size_t>(v)];
    switch (kind) {
      case Weights::small: return static_cast<T>(draw.below(9));
      case Weights::zero_or_one: return static_cast<T>(draw.below(2));
      case Weights::equal: return T{7};
      case Weights::both_signs: return static_cast<T>(difference + draw.below(8));
      case Weights::balanced: return static_cast<T>(difference);  // every cycle has length 0
      case Weights::heavy: return std::numeric_limits<T>::max() / static_cast<T>(1 + draw.below(5));
      default: return static_cast<T>(draw.below(12) - 1);
    }
  };
  const std::int64_t count = draw.below(4 * given.n);
  for (std::int64_t edge = 0; edge < count; ++edge) {
    const std::int64_t u = draw.below(given.n);
    const std::int64_t v = draw.below(given.n);
    given.edges.push_back({static_cast<std::int32_t>(u), static_cast<std::int32_t>(v), weight(u, v)});
    if (draw.one_in(6))
      given.edges.push_back({static_cast<std::int32_t>(u), static_cast<std::int32_t>(v), weight(u, v)});
  }
  if (draw.one_in(2)) std::ranges::stable_sort(given.edges, {}, &Edge<T>::from);
  return given;
}

/// A type in which all sums are exact in this test. Floating-point weights are either integers or the heavy weights,
/// for which the test allows a tolerance.
template <class T>
using Exact = std::conditional_t<std::is_floating_point_v<T>, long double, Int128>;

/// Evaluates the header's definitions for a graph.
template <class T>
class Reference {
 public:
  explicit Reference(const Given<T>& given) : n_(given.n), weights_(square(none)), distances_(square(none)) {
    for (const Edge<T>& edge : given.edges) {
      T weight = given.without_weights ? T{1} : edge.weight;
      if (weight == no_route<T>() || (given.options.no_edge && weight == static_cast<T>(*given.options.no_edge)))
        continue;
      if (given.options.unweighted) weight = 1;
      least(at(weights_, edge.from, edge.to), weight);
      if (given.options.undirected) least(at(weights_, edge.to, edge.from), weight);
    }
    distances_ = weights_;
    for (std::int64_t v = 0; v < n_; ++v) {
      has_negative_cycle_ |= at(weights_, v, v) < 0;
      at(distances_, v, v) = 0;
    }
    for (std::int64_t by = 0; by < n_; ++by)
      for (std::int64_t u = 0; u < n_; ++u)
        for (std::int64_t v = 0; v < n_; ++v)
          if (reaches(u, by) && reaches(by, v)) least(at(distances_, u, v), distance(u, by) + distance(by, v));
    for (std::int64_t u = 0; u < n_; ++u) {
      has_negative_cycle_ |= distance(u, u) < 0;
      for (std::int64_t v = 0; v < n_; ++v)
        has_zero_cycle_ |= u != v && reaches(u, v) && reaches(v, u) && distance(u, v) + distance(v, u) == 0;
    }
  }

  bool has_negative_cycle() const { return has_negative_cycle_; }
  bool reaches(std::int64_t u, std::int64_t v) const { return at(distances_, u, v) != none; }
  Exact<T> distance(std::int64_t u, std::int64_t v) const { return at(distances_, u, v); }
  bool is_edge(std::int64_t u, std::int64_t v) const { return u != v && at(weights_, u, v) != none; }
  Exact<T> weight(std::int64_t u, std::int64_t v) const { return at(weights_, u, v); }

  /// Returns the route of the canonical predecessors.
  std::vector<std::int32_t> route(std::int64_t from, std::int64_t to) const {
    std::vector<std::int32_t> vertices;
    if (!reaches(from, to)) return vertices;
    const std::vector<std::int64_t> edges = fewest_edges(from);
    for (std::int64_t v = to; v != from;) {
      vertices.push_back(static_cast<std::int32_t>(v));
      std::int64_t lowest = 0;
      while (!is_last(from, lowest, v) || (has_zero_cycle_ && edges[index(lowest)] + 1 != edges[index(v)])) ++lowest;
      v = lowest;
    }
    vertices.push_back(static_cast<std::int32_t>(from));
    std::ranges::reverse(vertices);
    return vertices;
  }

 private:
  static constexpr Exact<T> none_of() {
    if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<long double>::infinity();
    else return Exact<T>{1} << 100;
  }
  static constexpr Exact<T> none = none_of();

  static std::size_t index(std::int64_t v) { return static_cast<std::size_t>(v); }
  std::vector<Exact<T>> square(Exact<T> value) const { return std::vector<Exact<T>>(index(n_ * n_), value); }
  Exact<T>& at(std::vector<Exact<T>>& matrix, std::int64_t u, std::int64_t v) const {
    return matrix[index(u * n_ + v)];
  }
  Exact<T> at(const std::vector<Exact<T>>& matrix, std::int64_t u, std::int64_t v) const {
    return matrix[index(u * n_ + v)];
  }
  static void least(Exact<T>& place, Exact<T> length) { place = std::min(place, length); }

  /// Returns true if a shortest route from `from` to v ends with the edge from u to v.
  bool is_last(std::int64_t from, std::int64_t u, std::int64_t v) const {
    return is_edge(u, v) && reaches(from, u) && distance(from, u) + weight(u, v) == distance(from, v);
  }

  /// Returns, for each vertex, the smallest number of edges of a shortest route to this vertex.
  std::vector<std::int64_t> fewest_edges(std::int64_t from) const {
    std::vector<std::int64_t> edges(index(n_), n_);
    edges[index(from)] = 0;
    for (std::int64_t round = 0; round < n_; ++round)
      for (std::int64_t u = 0; u < n_; ++u)
        for (std::int64_t v = 0; v < n_; ++v)
          if (is_last(from, u, v)) edges[index(v)] = std::min(edges[index(v)], edges[index(u)] + 1);
    return edges;
  }

  std::int64_t n_;
  std::vector<Exact<T>> weights_;
  std::vector<Exact<T>> distances_;
  bool has_negative_cycle_ = false;
  bool has_zero_cycle_ = false;
};

/// Calls call(graph, name) with the graph in each form that a caller may use.
template <class T, class Call>
void in_each_form(const Given<T>& given, const Call& call) {
  std::vector<std::int32_t> from;
  std::vector<std::int32_t> to;
  std::vector<T> weights;
  std::vector<std::int64_t> starts(static_cast<std::size_t>(given.n + 1));
  std::vector<Edge<T>> edges = given.edges;
  const auto fill = [&] {
    from.clear();
    to.clear();
    weights.clear();
    for (const Edge<T>& edge : edges) {
      from.push_back(edge.from);
      to.push_back(edge.to);
      if (!given.without_weights) weights.push_back(edge.weight);
    }
  };
  fill();
  call(EdgeView<T>{given.n, from, to, weights}, "edges");
  std::ranges::stable_sort(edges, {}, &Edge<T>::from);
  fill();
  for (const std::int32_t u : from) ++starts[static_cast<std::size_t>(u + 1)];
  for (std::size_t v = 1; v < starts.size(); ++v) starts[v] += starts[v - 1];
  call(CsrView<T>{starts, to, weights}, "rows of edges");
  constexpr std::int64_t most = 100;
  if (given.without_weights || given.n > most) return;
  Matrix<T> matrix(given.n, given.n);
  std::fill_n(matrix.data(), given.n * given.n, no_route<T>());
  for (const Edge<T>& edge : edges) {
    if (given.options.no_edge && edge.weight == static_cast<T>(*given.options.no_edge)) continue;
    T& place = matrix(edge.from, edge.to);
    place = std::min(place, edge.weight);
  }
  call(matrix.view(), "a matrix");
}

/// Returns "" if the call agrees with the reference, otherwise a description of the difference.
template <class T, class Graph>
std::string fault(const Graph& graph, const Given<T>& given, const Reference<T>& reference, std::int64_t from,
                  std::int64_t to, const Execution& execution) {
  std::optional<ShortestRoute<T>> found;
  std::string refused;
  try {
    found = shortest_route(graph, from, to, given.options, execution);
  } catch (const InputError& error) {
    refused = error.what();
  }
  if (reference.has_negative_cycle())
    return refused.find("negative cycle") == std::string::npos ? "no negative cycle is named: " + refused : "";
  const bool reaches = reference.reaches(from, to);
  const Exact<T> distance = reference.distance(from, to);
  const bool fits = !reaches || (distance >= std::numeric_limits<T>::lowest() &&
                                 (std::is_floating_point_v<T> ? distance <= std::numeric_limits<T>::max()
                                                              : distance < std::numeric_limits<T>::max()));
  if (!fits) return refused.find("the distance from vertex") == std::string::npos ? "too great, but: " + refused : "";
  if (!found) return "refused: " + refused;
  if (!reaches) return found->vertices.empty() && found->distance == no_route<T>() ? "" : "there is no route";
  const std::vector<std::int32_t>& vertices = found->vertices;
  if (vertices.empty() || vertices.front() != from || vertices.back() != to) return "the route has other ends";
  if constexpr (std::is_floating_point_v<T>) {
    Exact<T> length = 0;
    for (std::size_t step = 1; step < vertices.size(); ++step) {
      if (!reference.is_edge(vertices[step - 1], vertices[step])) return "the route leaves the edges";
      length += reference.weight(vertices[step - 1], vertices[step]);
    }
    // The tolerance for sums of heavy weights. Sums of other weights are exact.
    constexpr Exact<T> relative = 64 * std::numeric_limits<T>::epsilon();
    if (!(std::abs(length - distance) <= relative * std::abs(distance))) return "the route is not a shortest one";
    if (!(std::abs(found->distance - distance) <= relative * std::abs(distance))) return "the distance is incorrect";
  } else {
    if (found->distance != distance) return "the distance is incorrect";
    if (vertices != reference.route(from, to)) return "the route does not follow the canonical predecessors";
  }
  // If the whole row of predecessors is available, also compares the route with this row.
  ShortestPathsOptions of_row = given.options;
  of_row.sources = {from};
  of_row.predecessors = true;
  try {
    const ShortestPathsResult<T> row = shortest_paths(graph, of_row, execution);
    if (row.distances(0, to) != found->distance) return "the row has another distance";
    if (shortest_path_route(VectorView<const std::int32_t>(row.predecessors.row(0), given.n), from, to) != vertices)
      return "the row has another route";
  } catch (const InputError&) {
    return "";
  }
  return "";
}

template <class T>
class ShortestRoutes : public testing::Test {};
using WeightTypes = testing::Types<std::int32_t, std::int64_t, float, double>;
TYPED_TEST_SUITE(ShortestRoutes, WeightTypes);

TYPED_TEST(ShortestRoutes, AreThoseOfTheCanonicalPredecessors) {
  using T = TypeParam;
  constexpr std::uint64_t graphs = 4000;
  int negative_cycles = 0;
  int routes = 0;
  for (std::uint64_t seed = 0; seed < graphs; ++seed) {
    Draw draw(seed);
    const Given<T> given = random_given<T>(draw);
    const Reference<T> reference(given);
    const std::int64_t from = draw.below(given.n);
    const std::int64_t to = draw.below(given.n);
    const Execution execution{.variant = "openmp_dijkstra", .threads = draw.one_in(8) ? 2 : 1};
    negative_cycles += static_cast<int>(reference.has_negative_cycle());
    routes += static_cast<int>(!reference.has_negative_cycle() && from != to && reference.reaches(from, to));
    in_each_form(given, [&](const auto& graph, const char* form) {
      EXPECT_EQ(fault(graph, given, reference, from, to, execution), "")
          << "graph " << seed << " as " << form << ", from " << from << " to " << to;
    });
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(negative_cycles, 200);
  EXPECT_GT(routes, 1000);
}

/// Returns a graph with enough edges for several threads and many equally short routes.
template <class T>
Given<T> large_given() {
  Given<T> given;
  given.n = 9000;
  Draw draw(5);
  for (int edge = 0; edge < 70'000; ++edge) {
    const auto u = static_cast<std::int32_t>(draw.one_in(9) ? 4000 : draw.below(given.n - 50));
    given.edges.push_back({u, static_cast<std::int32_t>(draw.below(given.n)), static_cast<T>(1 + draw.below(40))});
    if (given.edges.back().to == u) given.edges.pop_back();
  }
  return given;
}

template <class T>
void expect_same(const ShortestPathsResult<T>& one, const ShortestPathsResult<T>& other) {
  const std::int64_t count = one.distances.rows() * one.distances.columns();
  EXPECT_TRUE(std::equal(one.distances.data(), one.distances.data() + count, other.distances.data()));
  EXPECT_TRUE(std::equal(one.predecessors.data(), one.predecessors.data() + count, other.predecessors.data()));
}

TYPED_TEST(ShortestRoutes, DoNotDependOnTheOrderOfTheEdgesAndOnThreads) {
  using T = TypeParam;
  Given<T> given = large_given<T>();
  // In floating-point, the order of a vertex's edges decides between equally short routes.
  std::ranges::stable_sort(given.edges, {}, &Edge<T>::from);
  std::vector<Edge<T>>& edges = given.edges;
  std::rotate(edges.begin(), std::ranges::upper_bound(edges, 4500, {}, &Edge<T>::from), edges.end());
  ShortestPathsOptions options;
  options.sources = {17, 4000, 8999};
  options.predecessors = true;
  std::optional<ShortestPathsResult<T>> first;
  for (const int threads : {1, 4})
    in_each_form<T>(given, [&](const auto& graph, const char* form) {
      SCOPED_TRACE(form);
      auto result = shortest_paths(graph, options, {.threads = threads});
      if (first) expect_same(*first, result);
      else first = std::move(result);
    });
}

TEST(ShortestRoutesOfOrderedEdges, WrongOnesAreNamedWhereverTheyAre) {
  Given<double> given = large_given<double>();
  std::ranges::stable_sort(given.edges, {}, &Edge<double>::from);
  const auto refused = [&](std::size_t edge, Edge<double> wrong) {
    Given<double> other = given;
    other.edges[edge] = wrong;
    std::string message;
    in_each_form<double>(other, [&](const auto& graph, const char* form) {
      if (std::string(form) != "edges") return;
      try {
        shortest_route(graph, 0, 1, {}, {.threads = 4});
      } catch (const InputError& error) {
        message = error.what();
      }
    });
    return message;
  };
  EXPECT_NE(refused(50'000, {3, 9000, 1}).find("edge 50000 goes from vertex 3 to vertex 9000"), std::string::npos);
  EXPECT_NE(refused(50'000, {-1, 3, 1}).find("edge 50000 goes from vertex -1 to vertex 3"), std::string::npos);
  EXPECT_NE(refused(69'000, {3, 4, std::nan("")}).find("NaN is the length of edge 69000"), std::string::npos);
  EXPECT_NE(refused(17, {3, 3, -1}).find("negative cycle, 3 -> 3"), std::string::npos);
  EXPECT_EQ(refused(17, {8999, 3, 1}), "");  // edges out of order, but otherwise valid
}

/// The kinds of weights that make predecessors difficult.
enum class WeightKind : std::uint8_t { random, few_values, zeros, absorbed, denormal };

template <class T>
T random_weight(WeightKind kind, Draw& draw) {
  const auto number = static_cast<T>(1 + draw.below(1 << 20));
  switch (kind) {
    case WeightKind::random: return number / 1024;
    case WeightKind::few_values: return static_cast<T>(draw.below(3));
    case WeightKind::zeros: return 0;
    // Adding a small weight to a large one changes nothing, so that cycles have length 0 within rounding.
    case WeightKind::absorbed: return draw.one_in(2) ? number * std::numeric_limits<T>::epsilon() / 65536 : number;
    case WeightKind::denormal: return number * std::numeric_limits<T>::denorm_min();
  }
  return 0;
}

template <class T>
class FloatingTrees : public testing::Test {};
using FloatingTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(FloatingTrees, FloatingTypes);

TYPED_TEST(FloatingTrees, AreWithinTheBound) {
  using T = TypeParam;
  constexpr T none = std::numeric_limits<T>::infinity();
  for (const std::int64_t n : {3, 20, 97, 150})
    for (const WeightKind kind :
         {WeightKind::random, WeightKind::few_values, WeightKind::zeros, WeightKind::absorbed, WeightKind::denormal})
      for (const int rarity : {1, 4, 25}) {  // one pair in this number is an edge
        SCOPED_TRACE(std::to_string(n) + " vertices, kind " + std::to_string(static_cast<int>(kind)) + ", rarity " +
                     std::to_string(rarity));
        Draw draw(static_cast<std::uint64_t>(n * 100 + rarity));
        Matrix<T> weights(n, n);
        Matrix<long double> exact(n, n);
        for (std::int64_t u = 0; u < n; ++u)
          for (std::int64_t v = 0; v < n; ++v) {
            weights(u, v) = rarity == 1 || draw.one_in(rarity) ? random_weight<T>(kind, draw) : none;
            exact(u, v) = u == v ? 0 : weights(u, v);
          }
        for (std::int64_t via = 0; via < n; ++via)
          for (std::int64_t u = 0; u < n; ++u)
            for (std::int64_t v = 0; v < n; ++v) exact(u, v) = std::min(exact(u, v), exact(u, via) + exact(via, v));
        const long double roundings = static_cast<long double>(n - 1) * std::numeric_limits<T>::epsilon() / 2;
        const long double g = roundings / (1 - roundings);
        ShortestPathsOptions options;
        options.predecessors = true;
        const auto result =
            shortest_paths(weights.view(), options, {.variant = "simd_tiled", .threads = static_cast<int>(1 + n % 2)});
        int faults = 0;
        for (std::int64_t u = 0; u < n; ++u)
          for (std::int64_t v = 0; v < n; ++v) {
            if (u == v || std::isinf(exact(u, v))) {
              faults += static_cast<int>(result.predecessors(u, v) != -1);
              continue;
            }
            long double length = 0;
            std::int64_t steps = 0;
            std::int64_t at = v;
            while (at != u && steps < n) {
              const std::int64_t before = result.predecessors(u, at);
              if (before < 0 || before == at) break;
              length += weights(before, at);  // infinite if there is no edge
              at = before;
              ++steps;
            }
            const bool arrives = at == u && steps < n;
            faults += static_cast<int>(!arrives || !(length <= exact(u, v) + 2 * g * (length + exact(u, v))));
          }
        EXPECT_EQ(faults, 0);
      }
}

}  // namespace
}  // namespace gradus::shortest_paths_detail
