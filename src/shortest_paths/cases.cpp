#include "shortest_paths/cases.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/philox.hpp"
#include "core/text.hpp"

namespace gradus::shortest_paths_detail {

namespace {

using Random = core::Philox;

/// Draws a random graph: each ordered pair of vertices is an edge with probability `density`, and weights are integers
/// in [low, high].
CaseData random_graph(std::int64_t vertices, double density, std::int64_t low, std::int64_t high, std::uint64_t seed) {
  CaseData data;
  data.vertices = vertices;
  const Random random(seed, 11);
  std::uint64_t index = 0;
  for (std::int64_t from = 0; from < vertices; ++from)
    for (std::int64_t to = 0; to < vertices; ++to, index += 2)
      if (from != to && random.uniform(index) < density)
        data.edges.push_back(
            {from, to,
             static_cast<long double>(low) +
                 static_cast<long double>(random.below(index + 1, static_cast<std::uint64_t>(high - low + 1)))});
  return data;
}

/// Changes each weight to w(u, v) + h(u) - h(v). About half of the weights become negative, but no cycle becomes
/// negative.
CaseData with_potentials(CaseData data, std::int64_t highest, std::uint64_t seed) {
  const Random random(seed, 12);
  const auto potential = [&](std::int64_t vertex) {
    return static_cast<long double>(
        random.below(static_cast<std::uint64_t>(vertex), static_cast<std::uint64_t>(highest + 1)));
  };
  for (CaseEdge& edge : data.edges) edge.weight += potential(edge.from) - potential(edge.to);
  return data;
}

CaseData both_ways(CaseData data) {
  const std::vector<CaseEdge> edges = data.edges;
  for (const CaseEdge& edge : edges) data.edges.push_back({edge.to, edge.from, edge.weight});
  return data;
}

/// Returns a path through all vertices. The vertices are numbered so that the path visits the tiles of a matrix out of
/// order.
CaseData path(std::int64_t vertices, long double weight, bool closed = false) {
  CaseData data;
  data.vertices = vertices;
  std::int64_t step = std::max<std::int64_t>(vertices * 5 / 8, 1);
  const auto divides_both = [&](std::int64_t divisor) { return vertices % divisor == 0 && step % divisor == 0; };
  const auto coprime = [&] {
    for (std::int64_t divisor = 2; divisor <= step; ++divisor)
      if (divides_both(divisor)) return false;
    return true;
  };
  while (!coprime()) ++step;
  for (std::int64_t place = 0; place + (closed ? 0 : 1) < vertices; ++place)
    data.edges.push_back({place * step % vertices, (place + 1) * step % vertices, weight});
  return data;
}

CaseData changed(CaseData data, const std::function<void(CaseData&)>& change) {
  change(data);
  return data;
}

using Add = std::function<void(const std::string& name, std::function<CaseData(std::uint64_t seed)> make)>;

void add_sizes(const Add& add) {
  for (const std::int64_t n : {0, 1, 2, 3, 31, 33, 64, 100})
    add("random_" + std::to_string(n), [n](auto seed) { return random_graph(n, 0.5, 1, 100, seed); });
  add("random_255", [](auto seed) { return random_graph(255, 0.1, 1, 1000, seed); });
  add("random_257", [](auto seed) { return random_graph(257, 0.9, 1, 60, seed); });
  add("sparse_257", [](auto seed) { return random_graph(257, 0.01, 1, 1000, seed); });
  add("no_edges", [](auto) { return changed({}, [](CaseData& data) { data.vertices = 37; }); });
  add("complete_of_equal_weights", [](auto seed) { return random_graph(40, 1, 3, 3, seed); });
  add("unweighted", [](auto seed) { return both_ways(random_graph(50, 0.06, 1, 1, seed)); });
  add("few_weights", [](auto seed) { return random_graph(66, 0.3, 1, 3, seed); });
  add("padded_rows",
      [](auto seed) { return changed(random_graph(65, 0.3, 1, 50, seed), [](CaseData& data) { data.padding = 3; }); });
  for (const std::int64_t tile : {1, 8, 48, 1000})
    add("tile_of_" + std::to_string(tile), [tile](auto seed) {
      return changed(random_graph(61, 0.3, 1, 50, seed), [tile](CaseData& data) { data.tile = tile; });
    });
}

void add_shapes(const Add& add) {
  add("path", [](auto) { return path(67, 7); });
  add("cycle", [](auto) { return path(41, 2, true); });
  add("two_parts", [](auto seed) {
    return changed(random_graph(40, 0.3, 1, 50, seed), [](CaseData& data) {
      std::erase_if(data.edges, [](const CaseEdge& edge) { return edge.from % 2 != edge.to % 2; });
    });
  });
  add("one_way", [](auto seed) {
    return changed(random_graph(40, 0.3, 1, 50, seed), [](CaseData& data) {
      std::erase_if(data.edges, [](const CaseEdge& edge) { return edge.from > edge.to; });
    });
  });
  add("grid", [](auto seed) {
    constexpr std::int64_t side = 7;
    const Random random(seed, 13);
    CaseData data;
    data.vertices = side * side;
    for (std::int64_t vertex = 0; vertex < data.vertices; ++vertex)
      for (const std::int64_t step : {std::int64_t{1}, side})
        if (vertex + step < data.vertices && (step == side || (vertex + 1) % side != 0))
          data.edges.push_back(
              {vertex, vertex + step,
               static_cast<long double>(1 + random.below(static_cast<std::uint64_t>(vertex * 2 + (step == side)), 9))});
    return both_ways(data);
  });
  add("loops_at_vertices", [](auto seed) {
    return changed(random_graph(36, 0.2, 1, 50, seed), [](CaseData& data) {
      for (std::int64_t vertex = 0; vertex < 36; vertex += 3) data.edges.push_back({vertex, vertex, vertex % 2 * 5.0L});
    });
  });
}

void add_weights(const Add& add) {
  add("fractions",
      [](auto seed) { return changed(random_graph(50, 0.3, 1, 1000, seed), [](CaseData& data) { data.unit = 0.1; }); });
  add("tiny_weights",
      [](auto seed) { return changed(random_graph(40, 0.3, 0, 9, seed), [](CaseData& data) { data.unit = 1e-40; }); });
  add("zero_weights", [](auto seed) {
    return changed(random_graph(45, 0.15, 0, 5, seed), [](CaseData& data) {
      std::erase_if(data.edges, [](const CaseEdge& edge) { return edge.weight == 0 && edge.from > edge.to; });
    });
  });
  add("zero_cycles", [](auto seed) { return random_graph(65, 0.1, 0, 3, seed); });
  add("all_zero", [](auto seed) { return random_graph(45, 0.15, 0, 0, seed); });
  add("zero_cycle_of_both_signs",
      [](auto seed) { return with_potentials(random_graph(40, 0.2, 0, 2, seed), 50, seed); });
  add("negative", [](auto seed) { return with_potentials(random_graph(66, 0.2, 1, 50, seed), 400, seed); });
  add("negative_sparse", [](auto seed) { return with_potentials(random_graph(50, 0.05, 1, 50, seed), 900, seed); });
  add("negative_parts", [](auto seed) {
    return changed(with_potentials(random_graph(50, 0.15, 1, 50, seed), 9000, seed), [](CaseData& data) {
      std::erase_if(data.edges, [](const CaseEdge& edge) { return edge.from % 3 > edge.to % 3; });
    });
  });
  add("negative_path", [](auto) { return path(50, -9); });
  add("differences_of_potentials",
      [](auto seed) { return with_potentials(random_graph(36, 0.3, 0, 0, seed), 100000, seed); });
  add("no_edge_is_zero",
      [](auto seed) { return changed(random_graph(36, 0.2, 1, 50, seed), [](CaseData& data) { data.no_edge = 0; }); });
  add("no_edge_is_minus_one",
      [](auto seed) { return changed(random_graph(36, 0.2, 0, 50, seed), [](CaseData& data) { data.no_edge = -1; }); });
}

// Adds cases of integers whose sums exceed 32 or 64 bits, and of floating-point numbers whose sums exceed the greatest
// number.
void add_extremes(const Add& add) {
  const auto heavy = [](CaseData data, long double part) {
    data.greatest_part = part;
    return data;
  };
  add("heavy_edges", [=](auto seed) { return heavy(random_graph(36, 0.6, 100, 900, seed), 1e-3L / 3); });
  add("heavy_path", [=](auto) { return heavy(path(40, 1), 1 / 40.0L); });
  add("heavy_path_down", [=](auto) { return heavy(path(40, -1), 1 / 40.0L); });
  add("heavy_both_signs",
      [=](auto seed) { return heavy(with_potentials(random_graph(36, 0.4, 1, 100, seed), 9000, seed), 1 / 40000.0L); });
  add("one_edge_of_the_greatest",
      [=](auto) { return changed(heavy(path(33, 0), 0.999L), [](CaseData& data) { data.edges[7].weight = 1; }); });
  add("unreachable_plus_negative", [=](auto) {
    return changed(heavy(path(33, -1), 1 / 34.0L), [](CaseData& data) { data.edges.erase(data.edges.begin() + 9); });
  });
}

std::vector<Case> make_cases() {
  std::vector<Case> list;
  const Add add = [&list](const std::string& name, std::function<CaseData(std::uint64_t)> make) {
    list.push_back({name, std::move(make)});
  };
  add_sizes(add);
  add_shapes(add);
  add_weights(add);
  add_extremes(add);
  return list;
}

template <class T>
T weight_in_type(const CaseData& data, const CaseEdge& edge) {
  if (data.greatest_part != 0) {
    const long double weight =
        edge.weight * data.greatest_part * static_cast<long double>(std::numeric_limits<T>::max());
    if constexpr (std::is_floating_point_v<T>) return static_cast<T>(weight);
    else return static_cast<T>(std::truncl(weight));
  }
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(edge.weight * data.unit);
  else return static_cast<T>(edge.weight);
}

std::string pair_text(std::int64_t from, std::int64_t to) {
  return " from " + std::to_string(from) + " to " + std::to_string(to);
}

template <class T>
std::string number(T value) {
  if constexpr (std::is_integral_v<T>) return std::to_string(value);
  else return core::number_text(static_cast<double>(value));
}

/// Returns the floating-point error bound of the contract, plus the error of the oracle's wider type.
template <class T>
long double gamma(std::int64_t n) {
  const long double rounding = static_cast<long double>(std::numeric_limits<T>::epsilon()) / 2;
  const long double steps = static_cast<long double>(std::max<std::int64_t>(n - 1, 0)) * rounding;
  constexpr long double slack = 1.01L;
  return slack * steps / (1 - steps);
}

/// The length of a route and the sum of its absolute weights. The route is found from its end, by following
/// predecessors backwards.
template <class T>
struct Walk {
  bool arrives = false;
  long double length = 0;
  long double magnitude = 0;

  Walk(const Graph<T>& graph, const Matrix<std::int32_t>& predecessors, std::int64_t from, std::int64_t to) {
    for (std::int64_t steps = 0; to != from && steps < graph.n(); ++steps) {
      const std::int32_t before = predecessors(from, to);
      if (before < 0 || before >= graph.n() || before == to || !graph.is_edge(graph.weights(before, to))) return;
      length += graph.weights(before, to);
      magnitude += std::abs(static_cast<long double>(graph.weights(before, to)));
      to = before;
    }
    arrives = to == from;
  }
};

template <class T>
std::string compare_floating(const Graph<T>& graph, const ShortestPathsResult<T>& result, const Truth<T>& truth) {
  const std::int64_t n = graph.n();
  const long double bound = gamma<T>(n);
  long double all = 0;  // upper bound of the lengths of routes that visit no vertex twice
  bool negative = false;
  for (std::int64_t u = 0; u < n; ++u) {
    long double greatest = 0;
    graph.for_each_edge_from(u, [&](std::int64_t, T weight) {
      greatest = std::max(greatest, std::abs(static_cast<long double>(weight)));
      negative |= weight < 0;
    });
    all += greatest;
  }
  const long double least = n * static_cast<long double>(std::numeric_limits<T>::denorm_min());
  for (std::int64_t from = 0; from < n; ++from)
    for (std::int64_t to = 0; to < n; ++to) {
      const T value = result.distances(from, to);
      const auto place = static_cast<std::size_t>(from * n + to);
      const long double exact = truth.exact[place];
      const std::string pair = pair_text(from, to);
      const auto wrong = [&](const std::string& what) {
        return what + pair + " is " + number(value) + " instead of " + number(exact);
      };
      if (std::isinf(exact) || from == to) {
        if (!(value == static_cast<T>(exact)) || std::signbit(value)) return wrong("the distance");
        if (result.predecessors.rows() > 0 && result.predecessors(from, to) != -1)
          return "there is a predecessor" + pair;
        continue;
      }
      const long double up = bound * truth.magnitude[place] + least;
      const long double down = bound * (negative ? all : exact + up) + least;
      if (!(value - exact <= up) || !(exact - value <= down)) return wrong("the distance");
      if (result.predecessors.rows() == 0) continue;
      const Walk<T> walk(graph, result.predecessors, from, to);
      if (!walk.arrives) return "the walk by predecessors" + pair + " does not arrive";
      if (!(walk.length - exact <= 2 * (up + bound * walk.magnitude)))
        return "the walk by predecessors" + pair + " is " + number(walk.length) + " long instead of " + number(exact);
    }
  return "";
}

template <class T>
std::string compare_whole(const ShortestPathsResult<T>& result, const Truth<T>& truth) {
  const std::int64_t n = truth.result.distances.rows();
  for (std::int64_t from = 0; from < n; ++from)
    for (std::int64_t to = 0; to < n; ++to) {
      const auto differs = [&](const std::string& what, auto is, auto should_be) {
        return what + pair_text(from, to) + " is " + number(is) + " instead of " + number(should_be);
      };
      if (result.distances(from, to) != truth.result.distances(from, to))
        return differs("the distance", result.distances(from, to), truth.result.distances(from, to));
      if (result.predecessors.rows() > 0 && result.predecessors(from, to) != truth.result.predecessors(from, to))
        return differs("the predecessor", result.predecessors(from, to), truth.result.predecessors(from, to));
    }
  return "";
}

template <class M>
std::string wrong_size(const M& matrix, std::int64_t n, const std::string& what) {
  if (matrix.rows() == n && matrix.columns() == n) return "";
  return "the matrix of " + what + " is " + std::to_string(matrix.rows()) + " x " + std::to_string(matrix.columns()) +
         " instead of " + std::to_string(n) + " x " + std::to_string(n);
}

}  // namespace

const std::vector<Case>& cases() {
  static const std::vector<Case> list = make_cases();
  return list;
}

template <class T>
std::string compare(const Graph<T>& graph, const ShortestPathsResult<T>& result, const Truth<T>& truth) {
  const std::int64_t n = graph.n();
  if (std::string wrong = wrong_size(result.distances, n, "distances"); !wrong.empty()) return wrong;
  if (result.predecessors.rows() > 0)
    if (std::string wrong = wrong_size(result.predecessors, n, "predecessors"); !wrong.empty()) return wrong;
  if constexpr (std::is_floating_point_v<T>) return compare_floating(graph, result, truth);
  else return compare_whole(result, truth);
}

template <class T>
PreparedCase<T>::PreparedCase(const CaseData& data)
    : elements_(data.vertices * (data.vertices + data.padding), no_route<T>()) {
  const std::int64_t n = data.vertices;
  const std::int64_t stride = n + data.padding;
  options_.predecessors = true;
  options_.no_edge = data.no_edge;
  options_.tile = data.tile;
  graph_.weights = MatrixView<const T>(elements_.data(), n, n, stride);
  if (data.no_edge) {
    graph_.no_edge = static_cast<T>(*data.no_edge);
    std::fill_n(elements_.data(), elements_.size(), graph_.no_edge);
  }
  for (const CaseEdge& edge : data.edges) elements_[edge.from * stride + edge.to] = weight_in_type<T>(data, edge);
  shape_ = examine<T>(graph_, 1, {}).shape(n, true);
}

template <class T>
const Truth<T>& PreparedCase<T>::truth() const {
  if (!truth_) truth_ = oracle(graph_);
  return *truth_;
}

template <class T>
std::string PreparedCase<T>::check(const Variant& variant, const Execution& execution) const {
  Execution named = execution;
  named.variant = variant.name;
  return compare<T>(graph_, shortest_paths(graph_.weights, options_, {}, named), truth());
}

#define GRADUS_INSTANTIATE(T)                                                                    \
  template std::string compare(const Graph<T>&, const ShortestPathsResult<T>&, const Truth<T>&); \
  template class PreparedCase<T>
GRADUS_INSTANTIATE(std::int32_t);
GRADUS_INSTANTIATE(std::int64_t);
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::shortest_paths_detail
