// Compares every shortest-path variant that runs here with a reference, which computes in arbitrary-precision integers
// and shares no code with the library. The reference represents floating-point numbers as integer multiples of the
// smallest positive number.
#include <gmpxx.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "shortest_paths/problem.hpp"
#include "tests/attack/attack.hpp"
#include "tests/attack/exact.hpp"

namespace gradus::attack {

namespace {

using shortest_paths_detail::Shape;

template <class T>
constexpr T none() {
  return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
}

/// Returns a weight in the reference's unit.
template <class T>
mpz_class exact(T weight) {
  if constexpr (std::is_floating_point_v<T>) return in_steps(double{weight});
  else return mpz_class(std::to_string(weight));
}

/// The form in which the library receives a graph.
enum class Form : std::uint8_t { matrix, edges, rows };

template <class T>
struct GraphCase {
  std::string kind;
  std::size_t n = 0;
  Form form = Form::matrix;
  /// The tail of each edge. The edges may include parallel edges, loops, and weights that mean "no edge".
  std::vector<std::int32_t> from;
  std::vector<std::int32_t> to;
  std::vector<T> weights;
  ShortestPathsOptions options;
};

/// Draws a weight of the given kind. With some kinds, sums are difficult to round or are close to a limit of the type.
template <class T>
T draw_weight(Random& random, int kind) {
  constexpr T most = std::numeric_limits<T>::max();
  const auto small = static_cast<T>(random.below(10));
  switch (kind) {
    case 0: return static_cast<T>(random.below(100));
    case 1: return small;
    case 2: return static_cast<T>(random.below(2));
    case 3: return most / static_cast<T>(random.between(1, 40));  // sums are near the limits of the type
    case 4: return most / 2 + small;
    case 5: return random.chance(0.5) ? static_cast<T>(most - most / 1000 * small) : small;
    case 6:
      if constexpr (std::is_floating_point_v<T>) return static_cast<T>(random.uniform());
      else return static_cast<T>(random.below(most));
    case 7:
      if constexpr (std::is_floating_point_v<T>)
        return static_cast<T>(std::pow(10.0, random.uniform(-1, 1) * large_exponent<T>));
      else return static_cast<T>(T{1} << random.below(8 * static_cast<std::int64_t>(sizeof(T)) - 1));
    default:
      if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::denorm_min() * small;
      else return small * small;
  }
}

template <class T>
GraphCase<T> make_case(std::uint64_t seed, std::uint64_t number) {
  Random random(seed, number, 5);
  GraphCase<T> made;
  made.n = static_cast<std::size_t>(random.chance(0.8) ? random.between(0, 12) : random.between(13, 70));
  const auto kind = static_cast<int>(random.below(9));
  const double density = random.pick<double>({0.05, 0.15, 0.4, 1});
  const double negative = random.pick<double>({0, 0, 0, 0.02, 0.3});
  const bool potentials = random.chance(0.3);  // weights of both signs, but no negative cycles unless sums wrap
  std::vector<T> potential;
  for (std::size_t v = 0; v < made.n; ++v) potential.push_back(draw_weight<T>(random, kind) / 4);
  made.form = random.pick<Form>({Form::matrix, Form::edges, Form::rows});
  const double parallel = random.pick<double>({0, 0.1, 0.5});
  made.options.predecessors = random.chance(0.8);
  made.options.undirected = random.chance(0.2);
  made.options.unweighted = random.chance(0.15);
  if (made.n > 0 && random.chance(0.3))
    for (std::int64_t sources = random.between(1, 5); sources > 0; --sources)
      made.options.sources.push_back(random.below(static_cast<std::int64_t>(made.n)));
  made.kind = fmt::format("kind {}, density {}, negative {}{}, {}{}{}, {} sources", kind, density, negative,
                          potentials ? ", potentials" : "",
                          made.form == Form::matrix  ? "matrix"
                          : made.form == Form::edges ? "edges"
                                                     : "rows of edges",
                          made.options.undirected ? ", undirected" : "", made.options.unweighted ? ", unweighted" : "",
                          made.options.sources.size());
  for (std::size_t from = 0; from < made.n; ++from)
    for (std::size_t to = 0; to < made.n; ++to) {
      if (!random.chance(density)) continue;
      T weight = draw_weight<T>(random, kind);
      if (potentials && from != to) weight = static_cast<T>(weight / 4 + potential[from] - potential[to]);
      else if (random.chance(negative)) weight = -weight;
      const auto add = [&made, from, to](T length) {
        made.from.push_back(static_cast<std::int32_t>(from));
        made.to.push_back(static_cast<std::int32_t>(to));
        made.weights.push_back(length);
      };
      add(weight);
      if (made.form == Form::edges && random.chance(parallel)) add(draw_weight<T>(random, kind));
      if (made.form == Form::edges && random.chance(parallel / 2)) add(none<T>());
    }
  if (made.form == Form::edges)  // edges in random order
    for (std::size_t edge = made.from.size(); edge > 1; --edge) {
      const auto other = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(edge)));
      std::swap(made.from[edge - 1], made.from[other]);
      std::swap(made.to[edge - 1], made.to[other]);
      std::swap(made.weights[edge - 1], made.weights[other]);
    }
  return made;
}

/// The correct answer. For each pair: if there is a route, its exact length, the sum of the absolute weights on one
/// shortest route, and for integers the predecessor.
struct Reference {
  bool negative_cycle = false;
  bool too_great = false;  ///< true if the magnitude of some distance reaches the largest number
  std::vector<bool> reached;
  std::vector<mpz_class> length;
  std::vector<mpz_class> magnitude;
  std::vector<std::int32_t> predecessor;
  mpz_class heaviest;  ///< a number greater than the sum of absolute weights of any route
};

bool is_wanted(const std::vector<std::int64_t>& sources, std::size_t from) {
  return sources.empty() || std::find(sources.begin(), sources.end(), static_cast<std::int64_t>(from)) != sources.end();
}

template <class T>
Reference reference(const GraphCase<T>& graph) {
  const std::size_t n = graph.n;
  Reference right;
  right.reached.assign(n * n, false);
  right.length.assign(n * n, 0);
  right.magnitude.assign(n * n, 0);
  right.predecessor.assign(n * n, -1);
  struct Edge {
    std::size_t from;
    std::size_t to;
    mpz_class weight;
  };
  std::vector<Edge> edges;
  for (std::size_t edge = 0; edge < graph.from.size(); ++edge) {
    if (graph.weights[edge] == none<T>()) continue;
    const auto from = static_cast<std::size_t>(graph.from[edge]);
    const auto to = static_cast<std::size_t>(graph.to[edge]);
    const mpz_class weight = exact(graph.options.unweighted ? T{1} : graph.weights[edge]);
    edges.push_back({from, to, weight});
    if (graph.options.undirected) edges.push_back({to, from, weight});
  }
  // The rule prescribes the lowest vertex, so vertices are tried in ascending order.
  std::stable_sort(edges.begin(), edges.end(),
                   [](const Edge& one, const Edge& other) { return one.from < other.from; });
  for (std::size_t edge = 0; edge < edges.size();) {
    mpz_class row = 0;
    const std::size_t from = edges[edge].from;
    for (; edge < edges.size() && edges[edge].from == from; ++edge)
      if (abs(edges[edge].weight) > row) row = abs(edges[edge].weight);
    right.heaviest += row;
  }
  for (std::size_t source = 0; source < n; ++source) {
    const std::size_t row = source * n;
    right.reached[row + source] = true;
    for (std::size_t round = 0; round <= n; ++round) {
      bool changed = false;
      for (const Edge& edge : edges) {
        if (!right.reached[row + edge.from]) continue;
        mpz_class length = right.length[row + edge.from] + edge.weight;
        if (right.reached[row + edge.to] && length >= right.length[row + edge.to]) continue;
        right.reached[row + edge.to] = true;
        right.length[row + edge.to] = length;
        right.magnitude[row + edge.to] = right.magnitude[row + edge.from] + abs(edge.weight);
        changed = true;
      }
      if (!changed) break;
      if (round == n) {
        right.negative_cycle = true;
        return right;
      }
    }
  }
  const mpz_class greatest = exact(std::numeric_limits<T>::max());
  bool zero_cycle = false;
  for (std::size_t from = 0; from < n; ++from)
    for (std::size_t to = 0; to < n; ++to) {
      if (!right.reached[from * n + to]) continue;
      const mpz_class& length = right.length[from * n + to];
      if (is_wanted(graph.options.sources, from)) {
        if (std::is_floating_point_v<T>) right.too_great |= abs(length) > greatest;
        else right.too_great |= length >= greatest || length < -greatest - 1;
      }
      zero_cycle |= from != to && right.reached[to * n + from] && length + right.length[to * n + from] == 0;
    }
  for (std::size_t source = 0; source < n; ++source) {
    const std::size_t row = source * n;
    std::vector<std::size_t> steps(n, n + 1);  // number of edges of a shortest route with the fewest edges
    steps[source] = 0;
    for (std::size_t round = 0; round < n; ++round)
      for (const Edge& edge : edges)
        if (right.reached[row + edge.from] && steps[edge.from] + 1 < steps[edge.to] &&
            right.length[row + edge.from] + edge.weight == right.length[row + edge.to])
          steps[edge.to] = steps[edge.from] + 1;
    for (const Edge& edge : edges) {
      std::int32_t& predecessor = right.predecessor[row + edge.to];
      if (edge.to == source || edge.from == edge.to || predecessor >= 0 || !right.reached[row + edge.from] ||
          right.length[row + edge.from] + edge.weight != right.length[row + edge.to] ||
          (zero_cycle && steps[edge.from] + 1 != steps[edge.to]))
        continue;
      predecessor = static_cast<std::int32_t>(edge.from);
    }
  }
  return right;
}

template <class T>
class Check {
 public:
  explicit Check(GraphCase<T> made) : graph_(std::move(made)), right_(reference(graph_)) {}

  /// Returns a description of the error, or "" if the result is correct.
  std::string fault(const Run& run) const {
    const auto outcome = outcome_of([&] { return paths(run.execution); });
    const bool refused = right_.negative_cycle || right_.too_great;
    if (!outcome.answer && outcome.status != 3) return fmt::format("error {}: {}", outcome.status, outcome.message);
    if constexpr (std::is_floating_point_v<T>) {
      if (!outcome.answer) return refused || near_the_greatest() ? "" : "it is refused: " + outcome.message;
      if (right_.negative_cycle) return "";  // rounding may have hidden the negative cycle
      if (right_.too_great) return near_the_greatest() ? "" : "a distance beyond the greatest number is accepted";
    } else {
      if (!outcome.answer) return refused ? "" : "it is refused: " + outcome.message;
      if (refused) return right_.negative_cycle ? "a negative cycle is accepted" : "an overflow is accepted";
    }
    const std::vector<std::int64_t>& sources = graph_.options.sources;
    const auto rows = sources.empty() ? static_cast<std::int64_t>(graph_.n) : std::ssize(sources);
    if (outcome.answer->distances.rows() != rows) return fmt::format("{} rows", outcome.answer->distances.rows());
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::size_t to = 0; to < graph_.n; ++to) {
        const auto from = static_cast<std::size_t>(sources.empty() ? row : sources[static_cast<std::size_t>(row)]);
        if (std::string wrong = fault_of(*outcome.answer, row, from, to); !wrong.empty())
          return fmt::format("{} from {} to {}", wrong, from, to);
      }
    return fault_of_route(run.execution, *outcome.answer);
  }

  Shape shape() const { return {.vertices = static_cast<std::int64_t>(graph_.n), .predecessors = true}; }
  const Reference& right() const { return right_; }

 private:
  /// Returns true if some sum may be so near the limit of the type that rounding decides whether it overflows.
  bool near_the_greatest() const { return 2 * right_.heaviest > exact(std::numeric_limits<T>::max()); }

  /// Calls call(graph) with the graph in the form that `graph_.form` selects.
  template <class Call>
  auto with_graph(const Call& call) const {
    const auto n = static_cast<std::int64_t>(graph_.n);
    if (graph_.form == Form::edges) return call(EdgeView<T>{n, graph_.from, graph_.to, graph_.weights});
    if (graph_.form == Form::rows) {  // this form is valid, because the edges were generated in ascending order
      std::vector<std::int64_t> starts(graph_.n + 1);
      for (const std::int32_t from : graph_.from) ++starts[static_cast<std::size_t>(from) + 1];
      for (std::size_t v = 0; v < graph_.n; ++v) starts[v + 1] += starts[v];
      return call(CsrView<T>{starts, graph_.to, graph_.weights});
    }
    std::vector<T> matrix(graph_.n * graph_.n, none<T>());
    for (std::size_t edge = 0; edge < graph_.from.size(); ++edge)
      matrix[static_cast<std::size_t>(graph_.from[edge]) * graph_.n + static_cast<std::size_t>(graph_.to[edge])] =
          graph_.weights[edge];
    return call(MatrixView<const T>(matrix.data(), n, n));
  }

  ShortestPathsResult<T> paths(const Execution& execution) const {
    return with_graph([&](const auto& graph) { return shortest_paths(graph, graph_.options, {}, execution); });
  }

  /// Compares single routes with the predecessors. In floating-point, the choice may find a single route by another
  /// variant, which may round otherwise. Such a route must be within the bound.
  std::string fault_of_route(const Execution& execution, const ShortestPathsResult<T>& rows) const {
    if (graph_.n == 0 || !graph_.options.predecessors) return "";
    ShortestPathsOptions options = graph_.options;
    const std::int64_t from = options.sources.empty() ? 0 : options.sources[0];
    options.sources.clear();
    const auto n = static_cast<std::int64_t>(graph_.n);
    const std::int64_t to = (from + n / 2) % n;
    const auto route = outcome_of([&] {
      return with_graph([&](const auto& graph) { return shortest_route(graph, from, to, options, execution); });
    });
    if (!route.answer) return fmt::format("the route from {} to {} is refused: {}", from, to, route.message);
    if (std::is_floating_point_v<T> && route.answer->report.variant != rows.report.variant)
      return fault_of_other_route(*route.answer, static_cast<std::size_t>(from), static_cast<std::size_t>(to));
    if (route.answer->distance != rows.distances(0, to))
      return fmt::format("the route from {} to {} is {} long", from, to, route.answer->distance);
    const auto walked = shortest_path_route(VectorView<const std::int32_t>(rows.predecessors.row(0), n), from, to);
    if (route.answer->vertices != walked) return fmt::format("the route from {} to {} is another one", from, to);
    return "";
  }

  std::string fault_of_other_route(const ShortestRoute<T>& route, std::size_t from, std::size_t to) const {
    const std::size_t place = from * graph_.n + to;
    const bool reached = right_.reached[place];
    if (!reached) return route.vertices.empty() ? "" : fmt::format("a route from {} to {}", from, to);
    if (from == to) return "";
    mpz_class length = 0;
    for (std::size_t step = 1; step < route.vertices.size(); ++step) {
      const T weight =
          weight_of(static_cast<std::size_t>(route.vertices[step - 1]), static_cast<std::size_t>(route.vertices[step]));
      if (weight == none<T>()) return "a route over no edge";
      length += exact(weight);
    }
    const bool has_ends = route.vertices.size() > 1 && static_cast<std::size_t>(route.vertices.front()) == from &&
                          static_cast<std::size_t>(route.vertices.back()) == to;
    if (!has_ends) return fmt::format("a route from {} to {} with other ends", from, to);
    const bool is_short = within_bound(length - right_.length[place], 2 * right_.heaviest) &&
                          within_bound(abs(exact(route.distance) - length), right_.heaviest);
    return is_short ? "" : fmt::format("the route from {} to {} is {} long", from, to, route.distance);
  }

  T weight_of(std::size_t from, std::size_t to) const {
    T least = none<T>();
    for (std::size_t edge = 0; edge < graph_.from.size(); ++edge) {
      const auto u = static_cast<std::size_t>(graph_.from[edge]);
      const auto v = static_cast<std::size_t>(graph_.to[edge]);
      const bool there = u == from && v == to;
      const bool back = graph_.options.undirected && u == to && v == from;
      if ((there || back) && graph_.weights[edge] != none<T>())
        least = std::min(least, graph_.options.unweighted ? T{1} : graph_.weights[edge]);
    }
    return least;
  }

  std::string fault_of(const ShortestPathsResult<T>& is, std::int64_t row, std::size_t from, std::size_t to) const {
    const std::size_t place = from * graph_.n + to;
    const auto column = static_cast<std::int64_t>(to);
    const T distance = is.distances(row, column);
    const bool has_predecessors = is.predecessors.rows() > 0;
    if (has_predecessors != graph_.options.predecessors) return "predecessors are missing, or were not requested";
    const std::int32_t predecessor = has_predecessors ? is.predecessors(row, column) : right_.predecessor[place];
    if (!right_.reached[place])
      return distance == none<T>() && predecessor == -1 ? "" : fmt::format("a route of length {}", distance);
    if (distance == none<T>()) return "no route";
    if constexpr (!std::is_floating_point_v<T>) {
      if (exact(distance) != right_.length[place])
        return fmt::format("distance {} instead of {}", distance, right_.length[place].get_str());
      if (predecessor != right_.predecessor[place])
        return fmt::format("predecessor {} instead of {}", predecessor, right_.predecessor[place]);
    } else {
      if (!std::isfinite(distance)) return fmt::format("distance {}", distance);
      const mpz_class beyond = exact(distance) - right_.length[place];
      const bool is_above = beyond > 0;
      // If the result is below the exact distance, it may be the rounded length of another route. The bound is then
      // computed for the heaviest route.
      if (!within_bound(abs(beyond), is_above ? right_.magnitude[place] : right_.heaviest))
        return fmt::format("distance {} is too far off", distance);
      if (!has_predecessors) return "";
      mpz_class length = 0;
      std::size_t at = to;
      for (std::size_t steps = 0; at != from; ++steps) {
        const std::int32_t before = is.predecessors(row, static_cast<std::int64_t>(at));
        if (steps >= graph_.n || before < 0) return "a walk by predecessors that does not arrive";
        const T weight = weight_of(static_cast<std::size_t>(before), at);
        if (weight == none<T>()) return "a walk by predecessors over no edge";
        length += exact(weight);
        at = static_cast<std::size_t>(before);
      }
      if (!within_bound(length - right_.length[place], 2 * right_.heaviest)) return "a walk by predecessors too long";
    }
    return "";
  }

  /// Returns true if error <= (n - 1) u / (1 - (n - 1) u) * sum, where u is the unit roundoff of T. `error` and `sum`
  /// are in units of the smallest number.
  bool within_bound(const mpz_class& error, const mpz_class& sum) const {
    const auto steps = static_cast<long>(graph_.n > 0 ? graph_.n - 1 : 0);
    const mpz_class inverse = mpz_class(1) << std::numeric_limits<T>::digits;
    return error * (inverse - steps) <= steps * sum;
  }

  GraphCase<T> graph_;
  Reference right_;
};

template <class T>
void attack_case(const AttackOptions& options, std::uint64_t number, AttackReport& report) {
  const GraphCase<T> made = make_case<T>(options.seed, number);
  const std::string headline = fmt::format("{}, {} vertices, {}", execution::element_name<T>(), made.n, made.kind);
  if (options.verbose) fmt::print("shortest-paths case {}: {}\n", number, headline);
  const Check<T> check(made);
  if (check.right().negative_cycle || check.right().too_great) ++report.refused;
  CaseReport of_case("shortest_paths", options, number, report);
  for (Run& run : runs_of(shortest_paths_detail::variants(), check.shape(), options, number)) {
    std::string wrong = check.fault(run);
    // Some variants refuse distances that may need more than 64 bits.
    if (wrong.starts_with("error 4")) wrong.clear();
    if (!of_case.judge("shortest-paths by " + run.text, wrong, headline) || !options.shrink || made.n > 12) continue;
    fmt::print("{}{}{}", listing("from", made.from), listing("to", made.to), listing("weights", made.weights));
  }
  of_case.finish();
}

}  // namespace

AttackReport attack_shortest_paths(const AttackOptions& options);
AttackReport attack_shortest_paths(const AttackOptions& options) {
  AttackReport report;
  for (std::uint64_t number = options.first; number < options.first + options.cases; ++number) {
    switch (number % 4) {
      case 0: attack_case<std::int32_t>(options, number, report); break;
      case 1: attack_case<std::int64_t>(options, number, report); break;
      case 2: attack_case<float>(options, number, report); break;
      default: attack_case<double>(options, number, report); break;
    }
  }
  return report;
}

}  // namespace gradus::attack
