// Tests the driver around the variants: refusals and their messages, overflow, the caller's memory, routes.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "gradus/error.hpp"
#include "gradus/shortest_paths.hpp"
#include "shortest_paths/cases.hpp"
#include "shortest_paths/problem.hpp"
#include "shortest_paths/random_graph.hpp"
#include "tests/machine_with_gpu.hpp"

namespace gradus::shortest_paths_detail {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Edge {
  std::int64_t from;
  std::int64_t to;
  long double weight;
};

template <class T>
Matrix<T> graph_of(std::int64_t vertices, const std::vector<Edge>& edges) {
  Matrix<T> weights(vertices, vertices);
  std::fill_n(weights.data(), vertices * vertices, no_route<T>());
  for (const Edge& edge : edges) weights(edge.from, edge.to) = static_cast<T>(edge.weight);
  return weights;
}

template <class T>
ShortestPathsResult<T> paths(const Matrix<T>& weights, const ShortestPathsOptions& options = {},
                             const Execution& execution = {}) {
  return shortest_paths(weights.view(), options, {}, execution);
}

template <class Error>
std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another error: " << error.what();
    return "";
  }
  ADD_FAILURE() << "no error";
  return "";
}

#define EXPECT_SAYS(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

TEST(ShortestPaths, ZeroAndTheLeastNumbersAreEdges) {
  const auto whole = paths(graph_of<std::int32_t>(3, {{0, 1, 0}, {1, 2, 0}}));
  EXPECT_EQ(whole.distances(0, 2), 0);
  EXPECT_EQ(whole.distances(2, 0), no_route<std::int32_t>());
  const auto tiny = paths(graph_of<double>(3, {{0, 1, 1e-9L}, {1, 2, 5e-324L}}));
  EXPECT_EQ(tiny.distances(0, 1), 1e-9);
  EXPECT_EQ(tiny.distances(1, 2), 5e-324);
  const auto negative_zero = paths(graph_of<double>(2, {{0, 1, -0.0L}, {0, 0, -0.0L}}));
  EXPECT_FALSE(std::signbit(negative_zero.distances(0, 1)));
  EXPECT_FALSE(std::signbit(negative_zero.distances(0, 0)));
}

TEST(ShortestPaths, WhatIsNoWeightIsRefusedWithItsPlace) {
  for (const double bad : {nan, -infinity}) {
    Matrix<double> weights = graph_of<double>(4, {{0, 1, 1}});
    weights(2, 3) = bad;
    const std::string message = message_of<InputError>([&] { paths(weights); });
    EXPECT_SAYS(message, "row 2, column 3");
    EXPECT_SAYS(message, std::isnan(bad) ? "NaN" : "-inf");
  }
}

TEST(ShortestPaths, WeightsAndDistancesMayBeColumnsOfOneMatrix) {
  Matrix<std::int32_t> both(3, 10);
  const Matrix<std::int32_t> weights = graph_of<std::int32_t>(3, {{0, 1, 4}, {1, 2, 5}});
  for (std::int64_t row = 0; row < 3; ++row) std::copy_n(weights.row(row), 3, both.row(row));
  ShortestPathsMemory<std::int32_t> memory;
  memory.distances = {both.row(0) + 5, 3, 3, 10};
  const MatrixView<const std::int32_t> columns(both.row(0), 3, 3, 10);
  shortest_paths(columns, {}, memory, {});
  EXPECT_EQ(both(0, 7), 9);
  memory.distances = {both.row(0) + 2, 3, 3, 10};
  EXPECT_SAYS(message_of<UsageError>([&] { shortest_paths(columns, {}, memory, {}); }), "overlaps");
}

TEST(ShortestPaths, AnotherValueMayStandForNoEdge) {
  ShortestPathsOptions options;
  options.no_edge = 0;
  Matrix<std::int32_t> weights = graph_of<std::int32_t>(3, {{0, 1, 4}, {1, 2, 5}});
  weights(0, 2) = 0;
  EXPECT_EQ(paths(weights).distances(0, 2), 0);
  EXPECT_EQ(paths(weights, options).distances(0, 2), 9);
  for (const double impossible : {0.5, 1e10}) {
    options.no_edge = impossible;
    EXPECT_SAYS(message_of<UsageError>([&] { paths(weights, options); }), "not a number of the type int32");
  }
  for (const double impossible : {nan, -std::numeric_limits<double>::infinity()}) {
    options.no_edge = impossible;
    EXPECT_SAYS(message_of<UsageError>([&] { paths(weights, options); }), "which no weight may be");
    EXPECT_SAYS(message_of<UsageError>([&] { paths(graph_of<double>(2, {}), options); }), "which no weight may be");
  }
  // 2^53 + 1 is not a double. It would become 2^53, which may be the length of an edge.
  const Matrix<std::int64_t> wide = graph_of<std::int64_t>(3, {{0, 1, 4}, {1, 2, 5}});
  for (const double rounded : {0x1p53, -0x1p53, -0x1p63}) {
    options.no_edge = rounded;
    EXPECT_SAYS(message_of<UsageError>([&] { paths(wide, options); }), "nearer to 0 than 2^53");
  }
  options.no_edge = 0x1p53 - 1;
  EXPECT_EQ(paths(wide, options).distances(0, 2), 9);
}

TEST(ShortestPaths, ANegativeCycleIsNamedInOrder) {
  const std::vector<Edge> edges{{5, 2, 3}, {2, 7, -4}, {7, 5, -1}, {0, 5, 1}, {7, 1, 2}};
  const auto says = [](const std::string& message, const char* length) {
    EXPECT_SAYS(message, "2 -> 7 -> 5 -> 2");
    EXPECT_SAYS(message, length);
  };
  says(message_of<InputError>([&] { paths(graph_of<std::int32_t>(9, edges)); }), "length -2");
  says(message_of<InputError>([&] { paths(graph_of<std::int64_t>(9, edges)); }), "length -2");
  says(message_of<InputError>([&] { paths(graph_of<float>(9, edges)); }), "length -2");
  says(message_of<InputError>([&] { paths(graph_of<double>(9, edges)); }), "length -2");
  EXPECT_SAYS(message_of<InputError>([] { paths(graph_of<std::int32_t>(3, {{1, 1, -1}})); }), "1 -> 1");
  // An undirected negative edge is a negative cycle.
  EXPECT_SAYS(message_of<InputError>([] {
                paths(graph_of<std::int32_t>(3, {{0, 2, -1}, {2, 0, -1}}));
              }),
              "0 -> 2 -> 0");
}

std::string letter(std::int32_t vertex) { return {static_cast<char>('a' + vertex)}; }

TEST(ShortestPaths, ErrorsCarryTheirVertices) {
  try {
    paths(graph_of<double>(9, {{5, 2, 3}, {2, 7, -4}, {7, 5, -1}, {0, 5, 1}, {7, 1, 2}}));
    FAIL();
  } catch (const VertexError& error) {
    EXPECT_EQ(error.vertices(), (std::vector<std::int32_t>{2, 7, 5, 2}));
    EXPECT_SAYS(std::string(error.what()), "cycle, 2 -> 7 -> 5 -> 2 (vertices counted from 0), of length -2;");
    EXPECT_SAYS(error.message_with(letter), "cycle, c -> h -> f -> c, of length -2;");
    EXPECT_EQ(error.exit_status(), InputError("").exit_status());
  }
  try {
    paths(graph_of<std::int32_t>(3, {{0, 1, 2000000000}, {1, 2, 2000000000}}));
    FAIL();
  } catch (const VertexError& error) {
    const VertexError copy = error;  // NOLINT(performance-unnecessary-copy-initialization): copying is what is tested
    EXPECT_EQ(copy.vertices(), (std::vector<std::int32_t>{0, 2}));
    EXPECT_SAYS(std::string(copy.what()), "from vertex 0 to vertex 2 (vertices counted from 0) is 4000000000");
    EXPECT_SAYS(copy.message_with(letter), "from vertex a to vertex c is 4000000000");
  }
}

TEST(ShortestPaths, ANegativeCycleIsFoundBeforeItsSumsWrap) {
  constexpr long double least32 = std::numeric_limits<std::int32_t>::min();
  EXPECT_SAYS(message_of<InputError>([] {
                paths(graph_of<std::int32_t>(2, {{0, 1, least32}, {1, 0, least32}}));
              }),
              "length -4294967296");
  constexpr long double least64 = std::numeric_limits<std::int64_t>::min();
  EXPECT_SAYS(message_of<InputError>([] {
                paths(graph_of<std::int64_t>(2, {{0, 1, least64}, {1, 0, least64}}));
              }),
              "length -18446744073709551616");
}

// 0.1 + 0.2 - 0.3 is negative in float arithmetic, but positive as an exact sum of the float numbers.
TEST(ShortestPaths, WhatRoundingMakesNegativeIsNoNegativeCycle) {
  const Matrix<float> weights = graph_of<float>(3, {{0, 1, 0.1F}, {1, 2, 0.2F}, {2, 0, -0.3F}});
  const long double exact = static_cast<long double>(0.1F) + 0.2F - 0.3F;
  if (exact < 0) EXPECT_THROW(paths(weights), InputError);
  else EXPECT_EQ(paths(weights).distances(0, 0), 0);
}

TEST(ShortestPaths, ADistanceThatDoesNotFitNamesThePairAndAWiderType) {
  const std::string narrow = message_of<InputError>([] {
    paths(graph_of<std::int32_t>(3, {{0, 1, 2000000000}, {1, 2, 2000000000}}));
  });
  EXPECT_SAYS(narrow, "from vertex 0 to vertex 2");
  EXPECT_SAYS(narrow, "4000000000");
  EXPECT_SAYS(narrow, "int64");
  const std::string wide = message_of<InputError>([] {
    paths(graph_of<std::int64_t>(3, {{0, 1, 9e18L}, {1, 2, 9e18L}}));
  });
  EXPECT_SAYS(wide, "18000000000000000000");
  EXPECT_SAYS(wide, "float64");
  EXPECT_SAYS(message_of<InputError>([] { paths(graph_of<float>(3, {{0, 1, 3e38L}, {1, 2, 3e38L}})); }), "float64");
  EXPECT_SAYS(message_of<InputError>([] {
                paths(graph_of<double>(3, {{0, 1, 1.7e308L}, {1, 2, 1.7e308L}}));
              }),
              "largest float64");
  EXPECT_SAYS(message_of<InputError>([] {
                paths(graph_of<double>(3, {{0, 1, -1.7e308L}, {1, 2, -1.7e308L}}));
              }),
              "from vertex 0 to vertex 2");
  // A distance that equals no_route() does not fit the type. Such a distance must be refused, like any distance that is
  // too great.
  EXPECT_SAYS(message_of<InputError>([] {
                paths(graph_of<std::int32_t>(3, {{0, 1, 2147483646}, {1, 2, 1}}));
              }),
              "2147483647");
}

TEST(ShortestPaths, HeavyEdgesOffTheShortestRoutesDoNoHarm) {
  const auto result = paths(graph_of<std::int32_t>(3, {{0, 1, 2147483646}, {1, 2, 2147483646}, {0, 2, 5}, {2, 1, -9}}));
  EXPECT_EQ(result.distances(0, 1), -4);
  EXPECT_EQ(result.distances(1, 0), no_route<std::int32_t>());
}

TEST(ShortestPaths, ResultsGoToMemoryOfTheCaller) {
  Matrix<std::int32_t> weights = random_graph<std::int32_t>(50, 0.2, 100, 3);
  ShortestPathsOptions options;
  options.predecessors = true;
  const auto apart = paths(weights, options);
  Buffer<std::int32_t> room(std::int64_t{50} * 57, -7);
  Matrix<std::int32_t> predecessors(50, 50);
  ShortestPathsMemory<std::int32_t> memory;
  memory.distances = MatrixView<std::int32_t>(room.data(), 50, 50, 57);
  memory.predecessors = predecessors.view();
  const auto given = shortest_paths(weights.view(), options, memory);
  EXPECT_EQ(given.distances.rows(), 0);
  EXPECT_EQ(given.predecessors.rows(), 0);
  memory.distances = weights.view();  // the result overwrites the weights
  Matrix<std::int32_t> again(50, 50);
  memory.predecessors = again.view();
  shortest_paths(weights.view(), options, memory);
  for (std::int64_t from = 0; from < 50; ++from)
    for (std::int64_t to = 0; to < 50; ++to) {
      ASSERT_EQ(room[from * 57 + to], apart.distances(from, to));
      ASSERT_EQ(weights(from, to), apart.distances(from, to));
      ASSERT_EQ(predecessors(from, to), apart.predecessors(from, to));
      ASSERT_EQ(again(from, to), apart.predecessors(from, to));
    }
  for (std::int64_t row = 0; row < 49; ++row) EXPECT_EQ(room[row * 57 + 50], -7);
}

TEST(ShortestPaths, WrongRequestsAreRefused) {
  const Matrix<float> weights = random_graph<float>(5, 0.5, 10, 1);
  EXPECT_THROW(shortest_paths(MatrixView<const float>(weights.data(), 4, 5)), InputError);
  EXPECT_THROW(shortest_paths(MatrixView<const float>(nullptr, 4, 4)), UsageError);
  ShortestPathsOptions options;
  options.tile = -1;
  EXPECT_THROW(paths(weights, options), UsageError);
  Execution execution;
  execution.variant = "openmp_tield";
  EXPECT_SAYS(message_of<UsageError>([&] { paths(weights, {}, execution); }), "openmp_tiled");
  Matrix<float> small(4, 4);
  ShortestPathsMemory<float> memory;
  memory.distances = small.view();
  EXPECT_THROW(shortest_paths(weights.view(), {}, memory), UsageError);
  execution = {};
  execution.memory_limit = 100;
  EXPECT_THROW(paths(weights, {}, execution), OutOfMemoryError);
}

TEST(ShortestPaths, MemoryIsToldBeforehand) {
  const auto host = [](const ShortestPathsShape& shape, const ShortestPathsOptions& options = {}) {
    return shortest_paths_memory(shape, options, {.device = Device::cpu, .threads = 1}).host;
  };
  constexpr std::uint64_t matrix = std::uint64_t{20000} * 20000 * sizeof(std::int32_t);
  EXPECT_LT(host({.vertices = 20000, .edges = 100000}), matrix / 50) << "lists and lengths";
  EXPECT_GT(host({.vertices = 20000}), matrix) << "tiles";
  EXPECT_GT(host({.vertices = 20000, .element_bytes = 8}), 2 * matrix);
  ShortestPathsOptions options;
  options.sources = {3, 4};
  EXPECT_LT(host({.vertices = 1000000, .edges = 4000000}, options), std::uint64_t{300} << 20);
  EXPECT_THROW(host({.vertices = -1}), UsageError);
  EXPECT_THROW(host({.vertices = 3, .element_bytes = 2}), UsageError);
  EXPECT_THROW(host({.vertices = 3}, options), UsageError);
  EXPECT_THROW(host({.vertices = 3, .edges = std::numeric_limits<std::int64_t>::max()}), UsageError);
  // The call accepts a memory limit that equals the estimate, and refuses a lower limit.
  const Matrix<std::int32_t> weights = random_graph<std::int32_t>(500, 1, 100, 3);
  Execution limited{.device = Device::cpu, .threads = 1};
  limited.memory_limit = host({.vertices = 500}) + std::size_t{500} * 500 * sizeof(std::int32_t);
  EXPECT_NO_THROW(paths(weights, {}, limited));
  --limited.memory_limit;
  EXPECT_SAYS(message_of<OutOfMemoryError>([&] { paths(weights, {}, limited); }),
              "the rows of some sources alone take less");
}

TEST(ShortestPaths, MemoryIsEnoughForAMatrixOfFewEdges) {
  constexpr std::int64_t n = 1000;
  Matrix<std::int32_t> chain(n, n);
  for (std::int64_t from = 0; from < n; ++from)
    for (std::int64_t to = 0; to < n; ++to) chain(from, to) = to == from + 1 ? 1 : no_route<std::int32_t>();
  ShortestPathsOptions options;
  options.predecessors = true;
  for (const std::string_view variant : {"sequential", "simd_tiled", "openmp_dijkstra"}) {
    Execution limited{.variant = std::string(variant), .threads = 2};
    limited.memory_limit = shortest_paths_memory({.vertices = n}, options, limited).host + n * n * 8;
    EXPECT_NO_THROW(paths(chain, options, limited)) << variant;
  }
}

TEST(ShortestPaths, RoutesAreWalkedBack) {
  ShortestPathsOptions options;
  options.predecessors = true;
  const auto result = paths(graph_of<std::int32_t>(4, {{0, 2, 2}, {2, 1, 1}, {1, 3, 2}, {0, 3, 9}}), options);
  const auto route = [&](std::int64_t from, std::int64_t to) {
    return shortest_path_route(result.predecessors.view(), from, to);
  };
  EXPECT_EQ(route(0, 3), (std::vector<std::int32_t>{0, 2, 1, 3}));
  EXPECT_EQ(route(2, 2), std::vector<std::int32_t>{2});
  EXPECT_TRUE(route(3, 0).empty());
  EXPECT_THROW(route(0, 4), UsageError);
  EXPECT_THROW(route(-1, 0), UsageError);
  Matrix<std::int32_t> circle = graph_of<std::int32_t>(2, {{0, 1, 1}, {0, 0, -1}, {1, 1, -1}, {1, 0, 1}});
  EXPECT_THROW(shortest_path_route(circle.view(), 0, 1), InputError);
}

TEST(ShortestPaths, EveryVariantHonoursAStopRequest) {
  const Matrix<std::int32_t> weights = random_graph<std::int32_t>(300, 1, 100, 1);
  std::stop_source source;
  source.request_stop();
  Execution execution;
  execution.stop = source.get_token();
  for (const Variant& variant : variants()) {
    if (!variant.supports({.vertices = 300, .edges = 89700}, execution::this_machine())) continue;
    execution.variant = variant.name;
    EXPECT_THROW(paths(weights, {}, execution), InterruptedError) << variant.name;
  }
}

TEST(ShortestPaths, TheChoiceIsOfAKindThatTakesTheJob) {
  for (const bool wide : {false, true}) {
    const Shape shape{.vertices = 100, .edges = 9900, .element_bytes = 8, .wide = wide};
    EXPECT_TRUE(choose(shape, execution::this_machine(), Device::cpu).supports(shape, execution::this_machine()));
  }
}

// The judge must reject every kind of error, including the least conspicuous ones.
TEST(ShortestPaths, TheJudgeRejectsWrongResults) {
  const Matrix<double> weights = graph_of<double>(4, {{0, 1, 1}, {1, 2, 0.5}, {0, 2, 7}});
  const Graph<double> graph{weights.view()};
  const Truth<double> truth = oracle(graph);
  const auto verdict = [&](const std::function<void(ShortestPathsResult<double>&)>& change) {
    ShortestPathsOptions options;
    options.predecessors = true;
    ShortestPathsResult<double> result = paths(weights, options);
    change(result);
    return compare(graph, result, truth);
  };
  EXPECT_EQ(verdict([](auto&) {}), "");
  EXPECT_NE(verdict([](auto& result) { result.distances(0, 2) = nan; }), "");
  EXPECT_NE(verdict([](auto& result) { result.distances(0, 2) = 1.5000001; }), "");
  EXPECT_NE(verdict([](auto& result) { result.distances(0, 3) = 1e300; }), "");
  EXPECT_NE(verdict([](auto& result) { result.distances(1, 1) = -0.0; }), "");
  EXPECT_NE(verdict([](auto& result) { result.distances(0, 1) = infinity; }), "");
  EXPECT_NE(verdict([](auto& result) { result.predecessors(0, 2) = 0; }), "");
  EXPECT_NE(verdict([](auto& result) { result.predecessors(0, 2) = 3; }), "");
  EXPECT_NE(verdict([](auto& result) { result.predecessors(0, 1) = 1; }), "");
  EXPECT_NE(verdict([](auto& result) { result.predecessors(1, 1) = 0; }), "");
  EXPECT_NE(verdict([](auto& result) { result.distances = Matrix<double>(3, 3); }), "");
}

/// Returns a shape. If `edges` is negative, the shape has all possible edges.
Shape shape_of(std::int64_t vertices, std::int64_t edges = -1, std::int64_t sources = -1) {
  return {.vertices = vertices, .edges = edges < 0 ? vertices * (vertices - 1) : edges, .sources = sources};
}

Shape wide(Shape shape) {
  shape.element_bytes = 8;
  shape.wide = true;
  return shape;
}

TEST(ShortestPaths, AGpuIsChosenWhereTheGraphIsLargeAndFitsIt) {
  const execution::Machine machine = tests::machine_with_gpu();
  const auto chosen = [&](const Shape& shape, Device device = Device::automatic) {
    return choose(shape, machine, device).name;
  };
  EXPECT_EQ(chosen(shape_of(16384)), "cuda_dpx");
  EXPECT_EQ(chosen(shape_of(16384), Device::cpu), "simd_tiled");
  EXPECT_EQ(chosen(shape_of(256)), "simd_tiled");
  EXPECT_EQ(chosen(shape_of(256), Device::gpu), "cuda_dpx");
  EXPECT_EQ(chosen(shape_of(200000)), "cuda_panels") << "three times as much memory as the GPU has";
  EXPECT_EQ(chosen(shape_of(200000), Device::gpu), "cuda_panels");
  EXPECT_EQ(chosen(shape_of(200000), Device::cpu), "simd_tiled");
  EXPECT_EQ(chosen(wide(shape_of(16384))), "openmp_dijkstra");
  EXPECT_THROW(chosen(wide(shape_of(256)), Device::gpu), UnsupportedError);
  EXPECT_EQ(choose(shape_of(256), tests::machine_with_untouchable_gpus()).name, "simd_tiled");
}

TEST(ShortestPaths, SearchesAreChosenWhereEdgesOrSourcesAreFew) {
  const auto chosen = [&](const Shape& shape) { return choose(shape, execution::this_machine(), Device::cpu).name; };
  EXPECT_EQ(chosen(shape_of(20000, 100000)), "openmp_dijkstra");
  EXPECT_EQ(chosen(shape_of(20000)), "simd_tiled");
  EXPECT_EQ(chosen(shape_of(20000, -1, 2)), "openmp_dijkstra");
  EXPECT_EQ(chosen(shape_of(3000, 9000)), "openmp_dijkstra");
  EXPECT_EQ(chosen(shape_of(3000, 900000)), "simd_tiled");
  EXPECT_EQ(chosen(wide(shape_of(1000))), "openmp_dijkstra") << "the matrix in 128 bits is slow";
  EXPECT_EQ(choose(shape_of(20000, 40000, 100), tests::machine_with_gpu()).name, "openmp_dijkstra");
  EXPECT_EQ(choose(shape_of(3000, 9000), tests::machine_with_gpu(), Device::gpu).name, "cuda_dpx");
}

}  // namespace
}  // namespace gradus::shortest_paths_detail
