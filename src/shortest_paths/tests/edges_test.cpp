// Tests graphs given by edges, rows of selected sources, undirected edges and unweighted edges. The answers must equal
// the oracle's answers for the same graph as a matrix. Also tests refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/philox.hpp"
#include "shortest_paths/cases.hpp"

namespace gradus::shortest_paths_detail {
namespace {

template <class T>
struct Edges {
  std::int64_t vertices = 0;
  std::vector<std::int32_t> from = {};
  std::vector<std::int32_t> to = {};
  std::vector<T> weights = {};

  void add(std::int64_t u, std::int64_t v, T weight) {
    from.push_back(static_cast<std::int32_t>(u));
    to.push_back(static_cast<std::int32_t>(v));
    weights.push_back(weight);
  }
  EdgeView<T> view() const { return {vertices, from, to, weights}; }
};

template <class T>
struct Rows {
  std::vector<std::int64_t> starts;
  std::vector<std::int32_t> targets = {};
  std::vector<T> weights = {};

  explicit Rows(const Edges<T>& edges) : starts(static_cast<std::size_t>(edges.vertices + 1)) {
    for (std::int64_t v = 0; v < edges.vertices; ++v) {
      for (std::size_t edge = 0; edge < edges.from.size(); ++edge) {
        if (edges.from[edge] != v) continue;
        targets.push_back(edges.to[edge]);
        weights.push_back(edges.weights[edge]);
      }
      starts[static_cast<std::size_t>(v + 1)] = std::ssize(targets);
    }
  }
  CsrView<T> view() const { return {starts, targets, weights}; }
};

/// Returns the matrix that the edges and options describe.
template <class T>
Matrix<T> matrix_of(const Edges<T>& edges, const ShortestPathsOptions& options) {
  Matrix<T> weights(edges.vertices, edges.vertices);
  std::fill_n(weights.data(), edges.vertices * edges.vertices, no_route<T>());
  for (std::size_t edge = 0; edge < edges.from.size(); ++edge) {
    T weight = edges.weights[edge];
    if (weight == no_route<T>() || (options.no_edge && weight == static_cast<T>(*options.no_edge))) continue;
    if (options.unweighted) weight = 1;
    for (const bool back : {false, true}) {
      if (back && !options.undirected) continue;
      T& place = back ? weights(edges.to[edge], edges.from[edge]) : weights(edges.from[edge], edges.to[edge]);
      place = std::min(place, weight);
    }
  }
  return weights;
}

/// Returns random edges, including parallel edges, loops and weights that mean "no edge". A negative `heaviest` selects
/// lengths of both signs without negative cycles.
template <class T>
Edges<T> random_edges(std::int64_t vertices, std::int64_t count, std::int64_t lightest, std::int64_t heaviest,
                      std::uint64_t seed, std::int64_t highest_potential = 0) {
  const core::Philox random(seed, 91);
  Edges<T> edges{vertices};
  std::uint64_t next = static_cast<std::uint64_t>(vertices);
  const auto draw = [&](std::int64_t below) {
    return static_cast<std::int64_t>(random.below(next++, static_cast<std::uint64_t>(below)));
  };
  const auto potential = [&](std::int64_t v) {
    return static_cast<std::int64_t>(
        random.below(static_cast<std::uint64_t>(v), static_cast<std::uint64_t>(highest_potential + 1)));
  };
  for (std::int64_t edge = 0; edge < count; ++edge) {
    const std::int64_t u = draw(vertices);
    const std::int64_t v = draw(vertices);
    const auto weight = static_cast<T>(lightest + draw(heaviest - lightest + 1) + potential(u) - potential(v));
    edges.add(u, v, draw(20) == 0 ? no_route<T>() : weight);
    if (draw(5) == 0) edges.add(u, v, static_cast<T>(weight + static_cast<T>(draw(3))));
  }
  return edges;
}

/// Returns the rows of the sources in a matrix.
template <class M>
M rows_of(const M& whole, const std::vector<std::int64_t>& sources) {
  if (sources.empty()) return M::copy_of(whole.view());
  M rows(std::ssize(sources), whole.columns());
  for (std::int64_t row = 0; row < rows.rows(); ++row)
    std::copy_n(whole.row(sources[static_cast<std::size_t>(row)]), whole.columns(), rows.row(row));
  return rows;
}

/// Returns "" if the result equals the oracle's rows, otherwise a description of the difference.
template <class T>
std::string compare_rows(const Matrix<T>& weights, const ShortestPathsResult<T>& result, const Truth<T>& truth,
                         const std::vector<std::int64_t>& sources) {
  const Graph<T> graph{weights.view()};
  if (sources.empty()) return compare(graph, result, truth);
  // The judge compares whole matrices. Rows that were not requested are therefore filled in from the oracle.
  ShortestPathsResult<T> whole;
  whole.distances = Matrix<T>::copy_of(truth.result.distances.view());
  whole.predecessors = Matrix<std::int32_t>::copy_of(truth.result.predecessors.view());
  if (result.distances.rows() != std::ssize(sources)) return "the number of rows is incorrect";
  for (std::int64_t row = 0; row < result.distances.rows(); ++row) {
    const std::int64_t source = sources[static_cast<std::size_t>(row)];
    std::copy_n(result.distances.row(row), weights.rows(), whole.distances.row(source));
    std::copy_n(result.predecessors.row(row), weights.rows(), whole.predecessors.row(source));
    if (std::string wrong = compare(graph, whole, truth); !wrong.empty()) return wrong;
  }
  return "";
}

/// Runs all variants on an edge list, on selected rows of the edge list, and on a matrix.
template <class T>
void expect_right(const Edges<T>& edges, ShortestPathsOptions options, const std::string& what) {
  SCOPED_TRACE(what + ", " + std::string(execution::element_name<T>()));
  options.predecessors = true;
  const Matrix<T> weights = matrix_of(edges, options);
  const Graph<T> graph{weights.view()};
  const Truth<T> truth = oracle(graph);
  const Shape shape = examine<T>(graph, 1, {}).shape(edges.vertices, true);
  const Rows<T> rows(edges);
  for (const Variant& variant : variants()) {
    if (!variant.supports(shape, execution::this_machine())) continue;
    const Execution by{.variant = std::string(variant.name), .threads = 3};
    EXPECT_EQ(compare_rows(weights, shortest_paths(edges.view(), options, by), truth, options.sources), "")
        << variant.name << ", edges";
    EXPECT_EQ(compare_rows(weights, shortest_paths(rows.view(), options, by), truth, options.sources), "")
        << variant.name << ", rows of edges";
    ShortestPathsOptions of_matrix = options;
    of_matrix.no_edge = std::nullopt;
    EXPECT_EQ(compare_rows(weights, shortest_paths(weights, of_matrix, by), truth, options.sources), "")
        << variant.name << ", matrix";
  }
  EXPECT_EQ(compare_rows(weights, shortest_paths(edges.view(), options), truth, options.sources), "");
}

template <class T>
class ShortestPathsEdges : public testing::Test {};
using WeightTypes = testing::Types<std::int32_t, std::int64_t, float, double>;
TYPED_TEST_SUITE(ShortestPathsEdges, WeightTypes);

TYPED_TEST(ShortestPathsEdges, AreTheGraphOfTheirMatrix) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 33, 70})
    for (const std::int64_t degree : {0, 1, 3, 20})
      expect_right(random_edges<T>(n, n * degree, 1, 50, 1), {}, std::to_string(n) + " x " + std::to_string(degree));
  expect_right(Edges<T>{0}, {}, "no vertices");
  expect_right(Edges<T>{9}, {}, "no edges");
}

TYPED_TEST(ShortestPathsEdges, MayHaveAwkwardWeights) {
  using T = TypeParam;
  expect_right(random_edges<T>(60, 200, 0, 3, 2), {}, "zero cycles");
  expect_right(random_edges<T>(60, 120, 7, 7, 3), {}, "equal weights");
  expect_right(random_edges<T>(60, 300, 1, 30, 4, 400), {}, "negative edges");
  expect_right(random_edges<T>(60, 90, 0, 1, 5, 400), {}, "negative edges, and cycles of length 0");
  ShortestPathsOptions options;
  options.no_edge = 3;
  expect_right(random_edges<T>(60, 200, 1, 5, 6), options, "no edge is 3");
  Edges<T> heavy{40};  // the type can just hold these sums
  for (std::int64_t v = 0; v + 1 < 40; ++v) {
    heavy.add(v, v + 1, std::numeric_limits<T>::max() / 40);
    heavy.add(v + 1, v, std::numeric_limits<T>::max() / 41);
  }
  expect_right(heavy, {}, "heavy edges");
  Edges<T> down{40};
  for (std::int64_t v = 0; v + 1 < 40; ++v) down.add(v, v + 1, -(std::numeric_limits<T>::max() / 40));
  expect_right(down, {}, "heavy edges below 0");
}

TYPED_TEST(ShortestPathsEdges, GiveRowsOfTheSourcesThatAreNamed) {
  using T = TypeParam;
  ShortestPathsOptions options;
  options.sources = {17, 3, 17, 0, 49};
  expect_right(random_edges<T>(50, 150, 1, 50, 7), options, "positive");
  expect_right(random_edges<T>(50, 250, 1, 50, 8, 300), options, "negative edges");
  expect_right(random_edges<T>(50, 150, 0, 2, 9), options, "zero cycles");
}

TYPED_TEST(ShortestPathsEdges, MayBeGoneBothWaysAndWithoutLengths) {
  using T = TypeParam;
  ShortestPathsOptions options;
  options.undirected = true;
  expect_right(random_edges<T>(50, 80, 0, 40, 10), options, "undirected");
  options.unweighted = true;
  expect_right(random_edges<T>(50, 80, -40, 40, 11), options, "undirected and unweighted");
  options.undirected = false;
  expect_right(random_edges<T>(50, 120, -40, 40, 12), options, "unweighted");
  options.sources = {49, 1};
  expect_right(random_edges<T>(50, 120, -40, 40, 13), options, "unweighted from two sources");
}

TYPED_TEST(ShortestPathsEdges, WithoutWeightsAreOfLengthOne) {
  using T = TypeParam;
  const Edges<T> edges{3, {0, 1}, {1, 2}};
  const ShortestPathsResult<T> result = shortest_paths(edges.view());
  EXPECT_EQ(result.distances(0, 2), T{2});
  EXPECT_EQ(result.distances(2, 0), no_route<T>());
}

TYPED_TEST(ShortestPathsEdges, NegativeCyclesAreNamedWithAnySources) {
  using T = TypeParam;
  Edges<T> edges{9, {5, 2, 7, 0, 7, 2}, {2, 7, 5, 5, 1, 7}, {3, -4, -1, 1, 2, 6}};
  for (const Variant& variant : variants())
    for (const std::vector<std::int64_t>& sources : {std::vector<std::int64_t>(), {3}}) {
      if (!variant.supports({.vertices = 9, .edges = 6, .negative = true}, execution::this_machine())) continue;
      ShortestPathsOptions options;
      options.sources = sources;
      try {
        shortest_paths(edges.view(), options, {.variant = std::string(variant.name)});
        ADD_FAILURE() << "a negative cycle is accepted by " << variant.name;
      } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("2 -> 7 -> 5 -> 2"), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("of length -2"), std::string::npos) << error.what();
      }
    }
  EXPECT_THROW(shortest_paths(Edges<T>{3, {1, 1}, {1, 1}, {4, -1}}.view()), InputError) << "a loop";
  ShortestPathsOptions undirected;
  undirected.undirected = true;
  const Edges<T> negative{3, {1}, {2}, {-1}};
  EXPECT_NO_THROW(shortest_paths(negative.view()));
  EXPECT_THROW(shortest_paths(negative.view(), undirected), InputError);
}

template <class Error>
void expect_refused(const std::function<void()>& call, const std::string& says) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown; expected: " << says;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what() << "\nexpected: " << says;
  }
}

TEST(ShortestPathsEdges, ThatCannotBeAreRefusedWithTheirPlace) {
  const std::vector<std::int32_t> from{0, 1, 2};
  const std::vector<std::int32_t> to{1, 2, 0};
  const std::vector<double> weights{1, 2, 3};
  const auto edges = [&](std::int64_t n, const auto& u, const auto& v, const auto& w) {
    return [=, &u, &v, &w] { shortest_paths(EdgeView<double>{n, u, v, w}); };
  };
  EXPECT_NO_THROW(edges(3, from, to, weights)());
  expect_refused<UsageError>(edges(-1, from, to, weights), "-1 is not a number of vertices");
  expect_refused<InputError>(edges(std::int64_t{1} << 31, from, to, weights), "2147483648 vertices");
  expect_refused<InputError>(edges(2, from, to, weights), "edge 1 goes from vertex 1 to vertex 2, of 2 vertices");
  const std::vector<std::int32_t> below{1, 2, -7};
  expect_refused<InputError>(edges(3, from, below, weights), "edge 2 goes from vertex 2 to vertex -7");
  const std::vector<std::int32_t> fewer{1, 2};
  expect_refused<UsageError>(edges(3, from, fewer, weights), "2 elements for 3 edges");
  const std::vector<double> one{1};
  expect_refused<UsageError>(edges(3, from, to, one), "1 elements for 3 edges");
  const std::vector<double> nan{1, 2, std::nan("")};
  expect_refused<InputError>(edges(3, from, to, nan), "NaN is the length of edge 2, from vertex 2 to vertex 0");
  const std::vector<double> endless{1, -INFINITY, 3};
  expect_refused<InputError>(edges(3, from, to, endless), "-inf is the length of edge 1");
  // A result that is too large for any machine is refused before anything is allocated.
  expect_refused<OutOfMemoryError>(edges(10'000'000, from, to, weights), "bytes");
}

TEST(ShortestPathsEdges, RowsThatCannotBeAreRefusedWithTheirPlace) {
  const std::vector<std::int32_t> targets{1, 2, 0};
  const std::vector<std::int32_t> weights{1, 2, 3};
  const auto rows = [&](const std::vector<std::int64_t>& starts) {
    return [&, starts] { shortest_paths(CsrView<std::int32_t>{starts, targets, weights}); };
  };
  EXPECT_NO_THROW(rows({0, 1, 2, 3})());
  EXPECT_NO_THROW(rows({0, 0, 3, 3})());
  EXPECT_NO_THROW(shortest_paths(CsrView<float>{}));
  expect_refused<InputError>(rows({1, 1, 2, 3}), "vertex 0 start at number 1");
  expect_refused<InputError>(rows({0, 2, 1, 3}), "vertex 1 (counted from 0) are number 2 up to 1");
  expect_refused<InputError>(rows({0, 9, 2, 3}), "up to 9, of 3");
  expect_refused<InputError>(rows({0, 1, 1, 2}), "the last of the starts is 2");
  expect_refused<InputError>(rows({0, -1, 1, 3}), "number 0 up to -1");
  expect_refused<InputError>(rows({0, 1, 3}), "edge 1 goes from vertex 1 to vertex 2, of 2");
  expect_refused<UsageError>(rows({}), "there are none for 3 edges");
}

TEST(ShortestPathsEdges, SourcesAndMemoryForThemAreChecked) {
  const Edges<std::int32_t> edges{4, {0, 1, 2}, {1, 2, 3}, {5, 6, 7}};
  ShortestPathsOptions options;
  for (const std::int64_t impossible : {-1, 4}) {
    options.sources = {0, impossible};
    expect_refused<UsageError>([&] { shortest_paths(edges.view(), options); },
                               "no vertex " + std::to_string(impossible) + " among 4");
  }
  options.sources = {2, 1};
  Matrix<std::int32_t> rows(2, 4);
  Matrix<std::int32_t> all(4, 4);
  ShortestPathsMemory<std::int32_t> memory;
  memory.distances = all.view();
  expect_refused<UsageError>([&] { shortest_paths(edges.view(), options, memory); }, "the results of 2 of 4 vertices");
  memory.distances = rows.view();
  const auto result = shortest_paths(edges.view(), options, memory);
  EXPECT_EQ(result.distances.rows(), 0);
  EXPECT_EQ(rows(0, 3), 7);
  EXPECT_EQ(rows(1, 3), 13);
  EXPECT_EQ(rows(0, 0), no_route<std::int32_t>());
  // The result may overwrite the input only if every row is requested.
  Matrix<std::int32_t> weights = matrix_of(edges, {});
  options.sources = {3, 2, 1, 0};
  memory.distances = weights.view();
  EXPECT_THROW(shortest_paths(weights.view(), options, memory), UsageError);
}

TEST(ShortestPathsEdges, ARowOfPredecessorsIsWalkedBack) {
  ShortestPathsOptions options;
  options.predecessors = true;
  options.sources = {1};
  const Edges<float> edges{4, {1, 2, 3}, {2, 3, 0}, {1, 1, 1}};
  const auto result = shortest_paths(edges.view(), options);
  const VectorView<const std::int32_t> row(result.predecessors.row(0), 4);
  EXPECT_EQ(shortest_path_route(row, 1, 0), (std::vector<std::int32_t>{1, 2, 3, 0}));
  EXPECT_EQ(shortest_path_route(row, 1, 1), std::vector<std::int32_t>{1});
  EXPECT_THROW(shortest_path_route(row, 1, 4), UsageError);
}

TEST(ShortestPathsEdges, ADistanceThatDoesNotFitIsTold) {
  const Edges<std::int32_t> edges{4, {0, 1, 2}, {1, 2, 3}, {2000000000, 2000000000, 1}};
  for (const Variant& variant : variants()) {
    if (!variant.supports({.vertices = 4, .edges = 3, .element_bytes = 8}, execution::this_machine())) continue;
    const Execution by{.variant = std::string(variant.name)};
    expect_refused<InputError>([&] { shortest_paths(edges.view(), {}, by); },
                               "from vertex 0 to vertex 2 (vertices counted from 0) is 4000000000, which int32");
    ShortestPathsOptions options;
    options.sources = {2, 1};
    EXPECT_EQ(shortest_paths(edges.view(), options, by).distances(1, 3), 2000000001) << variant.name;
  }
}

/// Several threads convert a sorted list, and each thread sees only a part of the list.
TEST(ShortestPathsEdges, VerticesBelowZeroAreRefusedInListsInOrder) {
  ShortestPathsOptions options;
  options.sources = {0};
  const auto refused = [&](const std::vector<std::int32_t>& from, int threads) {
    const std::vector<std::int32_t> to(from.size(), 2);
    const std::vector<std::int32_t> weights(from.size(), 1);
    const EdgeView<std::int32_t> edges{10, from, to, weights};
    EXPECT_THROW(shortest_paths(edges, options, {.device = Device::cpu, .threads = threads}), InputError)
        << from.size() << " edges from " << from.front() << ", " << threads << " threads";
  };
  for (const int threads : {1, 2, 7}) {
    refused({-1, 1}, threads);
    refused({-1, -1}, threads);
    for (const std::int32_t low : {-1, -2, -3, -1000, std::numeric_limits<std::int32_t>::min()})
      for (const std::int64_t count : {1000, 50000, 200000}) {
        std::vector<std::int32_t> from(static_cast<std::size_t>(count), 1);
        std::fill_n(from.begin(), count / 2 + 300, low);
        refused(from, threads);
      }
  }
}

}  // namespace
}  // namespace gradus::shortest_paths_detail
