// Tests that every public call of shortest paths refuses malformed views.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/shortest_paths.hpp"
#include "shortest_paths/options.hpp"
#include "tests/lies.hpp"
#include "tests/options.hpp"

namespace gradus {
namespace {

using tests::expect_usage;
using tests::impossible_executions;
using tests::lies;
using tests::most;
using tests::vector_lies;

/// Ten edges between five vertices, as a matrix and as edge lists.
template <class T>
class ShortestPathsViews : public tests::Views<T> {
 protected:
  MatrixView<const T> weights() const { return {this->elements_, 3, 3}; }
  VectorView<const std::int32_t> ends() const { return {ends_, 10}; }
  VectorView<const std::int64_t> starts() const { return {starts_, 6}; }
  VectorView<const T> lengths() const { return {this->elements_, 10}; }
  EdgeView<T> edges() const { return {5, ends(), ends(), lengths()}; }
  CsrView<T> rows() const { return {starts(), ends(), lengths()}; }

  alignas(16) std::int32_t ends_[20] = {0, 1, 2, 3, 4, 0, 1, 2, 3, 4};
  alignas(16) std::int64_t starts_[10] = {0, 2, 4, 6, 8, 10};
};
using WeightTypes = testing::Types<std::int32_t, std::int64_t, float, double>;
TYPED_TEST_SUITE(ShortestPathsViews, WeightTypes);

TYPED_TEST(ShortestPathsViews, RefusesLies) {
  using T = TypeParam;
  EXPECT_NO_THROW(shortest_paths(this->weights()));
  for (const auto& [view, says] : lies<const T>(this->elements_)) {
    expect_usage([&, view = view] { shortest_paths(view); }, "weights: ");
    expect_usage([&, view = view] { shortest_paths(view); }, says);
    expect_usage([&, view = view] { shortest_route(view, 0, 1); }, says);
  }
  for (const auto& [view, says] : lies<T>(this->others_)) {
    ShortestPathsMemory<T> memory;
    memory.distances = view;
    expect_usage([&] { shortest_paths(this->weights(), {}, memory); }, says);
    expect_usage([&] { shortest_paths(this->edges(), {}, memory); }, says);
    expect_usage([&] { shortest_paths(this->rows(), {}, memory); }, says);
  }
  ShortestPathsOptions with_predecessors;
  with_predecessors.predecessors = true;
  for (const auto& [view, says] : lies<std::int32_t>(this->ends_)) {
    ShortestPathsMemory<T> memory;
    memory.predecessors = view;
    expect_usage([&] { shortest_paths(this->weights(), with_predecessors, memory); }, says);
    expect_usage([&] { shortest_paths(this->edges(), with_predecessors, memory); }, says);
    expect_usage([&] { shortest_paths(this->rows(), with_predecessors, memory); }, says);
  }
}

TYPED_TEST(ShortestPathsViews, ListsOfEdgesRefuseLies) {
  using T = TypeParam;
  EXPECT_NO_THROW(shortest_paths(this->edges()));
  EXPECT_NO_THROW(shortest_paths(this->rows()));
  const auto refused = [](const auto& graph, const std::string& says) {
    expect_usage([&] { shortest_paths(graph); }, says);
    expect_usage([&] { shortest_route(graph, 0, 1); }, says);
  };
  for (const auto& lie : vector_lies<const std::int32_t>(this->ends_)) {
    refused(EdgeView<T>{5, lie.view, this->ends(), this->lengths()}, lie.says);
    refused(EdgeView<T>{5, this->ends(), lie.view, this->lengths()}, lie.says);
    refused(CsrView<T>{this->starts(), lie.view, this->lengths()}, lie.says);
  }
  for (const auto& lie : vector_lies<const T>(this->elements_)) {
    refused(EdgeView<T>{5, this->ends(), this->ends(), lie.view}, lie.says);
    refused(CsrView<T>{this->starts(), this->ends(), lie.view}, lie.says);
  }
  for (const auto& lie : vector_lies<const std::int64_t>(this->starts_))
    refused(CsrView<T>{lie.view, this->ends(), this->lengths()}, lie.says);
  const VectorView<const std::int32_t> there(this->ends_, 10, MemoryPlace::on_gpu(0));
  EXPECT_THROW(shortest_paths(EdgeView<T>{5, there, this->ends(), this->lengths()}), UnsupportedError);
}

TYPED_TEST(ShortestPathsViews, RefusesValuesThatThereAreNot) {
  for (const Execution& impossible : impossible_executions()) {
    expect_usage([&] { shortest_paths(this->weights(), {}, impossible); }, "");
    expect_usage([&] { shortest_paths(this->edges(), {}, impossible); }, "");
    expect_usage([&] { shortest_paths(this->rows(), {}, impossible); }, "");
    expect_usage([&] { shortest_route(this->weights(), 0, 1, {}, impossible); }, "");
    expect_usage([&] { shortest_route(this->edges(), 0, 1, {}, impossible); }, "");
    expect_usage([&] { shortest_paths_memory({.vertices = 5}, {}, impossible); }, "");
  }
  for (const auto& [from, to] : {std::pair<std::int64_t, std::int64_t>{-1, 0}, {0, 5}, {most, 0}, {0, -most}}) {
    expect_usage([&, from = from, to = to] { shortest_route(this->edges(), from, to); }, "vertex");
    expect_usage([&, from = from, to = to] { shortest_route(this->weights(), from, to); }, "vertex");
  }
}

TYPED_TEST(ShortestPathsViews, MemoryRefusesImpossibleSizes) {
  for (const ShortestPathsShape& shape : std::vector<ShortestPathsShape>{{.vertices = -1},
                                                                         {.vertices = most},
                                                                         {.vertices = std::int64_t{1} << 31},
                                                                         {.vertices = 5, .edges = -2},
                                                                         {.vertices = 5, .edges = most},
                                                                         {.vertices = 5, .element_bytes = 0},
                                                                         {.vertices = 5, .element_bytes = 5}})
    expect_usage([&] { shortest_paths_memory(shape, {}); }, "");
  for (const core::Option& row : core::option_rows<ShortestPathsOptions>)
    for (const core::Value& value : tests::refused_values(row)) {
      ShortestPathsOptions options;
      row.set(&options, value);
      const std::string name(row.name);
      expect_usage([&] { shortest_paths_memory({.vertices = 5}, options); }, name);
      expect_usage([&] { shortest_paths(this->weights(), options); }, name);
      expect_usage([&] { shortest_paths(this->edges(), options); }, name);
    }
}

TEST(ShortestPathsRoutes, OfPredecessorsRefuseLies) {
  alignas(16) std::int32_t predecessors[20] = {};
  for (const auto& [view, says] : lies<const std::int32_t>(predecessors))
    expect_usage([&, view = view] { shortest_path_route(view, 0, 1); }, says);
  for (const auto& [view, says] : vector_lies<const std::int32_t>(predecessors))
    expect_usage([&, view = view] { shortest_path_route(view, 0, 1); }, says);
}

}  // namespace
}  // namespace gradus
