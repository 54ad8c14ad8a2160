// Compares every variant with the oracle on a thousand vertices, in all types and tile sizes. Takes minutes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "shortest_paths/cases.hpp"
#include "shortest_paths/made_graphs.hpp"
#include "tests/helpers.hpp"

namespace gradus::shortest_paths_detail {
namespace {

#ifdef GRADUS_SANITIZED
constexpr std::int64_t vertices = 150;
#else
constexpr std::int64_t vertices = 1000;  // no multiple of a tile's side, which is 32, 64 or 128
#endif

/// The densities range from a tenth of all pairs down to five edges per vertex. With more edges, the oracle needs
/// minutes.
const std::map<std::string, RandomEdges> graphs = {
    {"many edges of few lengths",
     {.vertices = vertices, .edges = vertices * vertices / 10, .weights = {1, 60}, .seed = 1}},
    {"few edges, of both signs",
     {.vertices = vertices, .edges = 5 * vertices, .weights = {1, 1000}, .climbs = true, .seed = 2}},
    {"edges and cycles of length 0", {.vertices = vertices, .edges = 20 * vertices, .weights = {0, 2}, .seed = 3}}};

template <class T>
struct Known {
  Matrix<T> weights{vertices, vertices};
  Truth<T> truth;
  Shape shape;

  explicit Known(const RandomEdges& edges) {
    std::fill_n(weights.data(), vertices * vertices, no_route<T>());
    for (std::int64_t index = 0; index < edges.edges; ++index) {
      const MadeEdge edge = edges.edge(index);
      weights(edge.from, edge.to) = static_cast<T>(edge.weight);
    }
    truth = oracle(graph());
    shape = examine<T>(graph(), 1, {}).shape(vertices, true);
  }
  Graph<T> graph() const { return {weights.view()}; }
};

/// Returns a graph with the oracle's answer, which all rows of the table share.
template <class T>
const Known<T>& known(const std::string& name) {
  static std::map<std::string, Known<T>> all;
  const auto found = all.find(name);
  return found != all.end() ? found->second : all.try_emplace(name, graphs.at(name)).first->second;
}

class OnAThousandVertices : public tests::WithRow<Variant> {
 protected:
  template <class T>
  static void expect_right() {
    for (const auto& [name, ignored] : graphs) {
      const Known<T>& one = known<T>(name);
      const core::Support support = row().supports(one.shape, execution::this_machine());
      ASSERT_TRUE(support) << support.reason;
      for (const auto& [tile, threads] : {std::pair{0, 0}, std::pair{33, 2}, std::pair{64, 1}, std::pair{256, 2}}) {
        ShortestPathsOptions options;
        // The search for floating-point predecessors does not depend on the tile, so it runs only with the default
        // tile, 0.
        options.predecessors = tile == 0 || !std::is_floating_point_v<T>;
        options.tile = tile;
        const Execution by{.variant = std::string(row().name), .threads = threads};
        EXPECT_EQ(compare(one.graph(), shortest_paths(one.weights, options, by), one.truth), "")
            << name << ", " << execution::element_name<T>() << ", tiles of " << tile << ", " << threads
            << " threads asked for";
      }
    }
  }
};

TEST_P(OnAThousandVertices, IsTheAnswerOfTheOracle) {
  expect_right<std::int32_t>();
  expect_right<std::int64_t>();
  expect_right<float>();
  expect_right<double>();
}

INSTANTIATE_TEST_SUITE_P(shortest_paths, OnAThousandVertices,
                         testing::ValuesIn(tests::rows_that(variants(), tests::any)), tests::RowName());

}  // namespace
}  // namespace gradus::shortest_paths_detail
