// The CUDA rungs on graphs of several rounds, which cases are too small for, in every width in which cuda_dpx computes
// and in both of its ways: each must give the processor's distances. Without a GPU the tests say so and are skipped.
#include "shortest_paths/random_graph.hpp"
#include "shortest_paths/variants.hpp"
#include "tests/on_gpu.hpp"

namespace gradus::shortest_paths_detail {
namespace {

class shortest_paths_gpu : public tests::OnGpu {};

Execution by(std::string_view variant) {
  Execution execution;
  execution.variant = variant;
  return execution;
}

/// Whole numbers in every type. `step`: of potentials, by which edges become negative and no cycle does.
template <class T>
Matrix<T> graph(std::int64_t n, double density, std::int64_t heaviest, std::int64_t step) {
  const Matrix<std::int32_t> whole = random_graph<std::int32_t>(n, density, heaviest, 7);
  Matrix<T> weights(n, n);
  for (std::int64_t from = 0; from < n; ++from)
    for (std::int64_t to = 0; to < n; ++to) {
      const std::int32_t weight = whole(from, to);
      weights(from, to) = weight == no_route<std::int32_t>()
                              ? no_route<T>()
                              : static_cast<T>(weight + step * (from * 37 % 101 - to * 37 % 101));
    }
  return weights;
}

template <class T>
void expect_as_on_the_processor(const Matrix<T>& weights) {
  const Matrix<T> truth = shortest_paths(weights.view(), {}, {}, by("openmp_tiled")).distances;
  for (const Variant& variant : variants()) {
    if (variant.backend != core::Backend::cuda) continue;
    for (const std::int64_t tile : {0, 64, 128}) {
      if (tile > 0 && variant.name != "cuda_dpx") continue;
      ShortestPathsOptions options;
      options.tile = tile;
      const auto result = shortest_paths(weights.view(), options, {}, by(variant.name));
      std::int64_t different = 0;
      for (std::int64_t from = 0; from < weights.rows(); ++from)
        for (std::int64_t to = 0; to < weights.rows(); ++to)
          if (!(result.distances(from, to) == truth(from, to))) ++different;
      EXPECT_EQ(different, 0) << variant.name << ", " << weights.rows() << " vertices, tile " << tile;
    }
  }
}

template <class T>
void check() {
  for (const std::int64_t n : {65, 127, 128, 129, 256, 300, 385, 640, 1100}) {
    const double sparse = 3.0 / static_cast<double>(n);
    expect_as_on_the_processor(graph<T>(n, 0.5, 30, 0));         // pairs of 16 bits
    expect_as_on_the_processor(graph<T>(n, sparse, 20, 0));      // with pairs of vertices without a route
    expect_as_on_the_processor(graph<T>(n, sparse, 300, 5000));  // negative edges
    expect_as_on_the_processor(graph<T>(n, 0.1, 20000, 0));
  }
}

TEST_F(shortest_paths_gpu, int32_has_the_processors_distances) { check<std::int32_t>(); }
TEST_F(shortest_paths_gpu, int64_has_the_processors_distances) { check<std::int64_t>(); }
TEST_F(shortest_paths_gpu, float_has_the_processors_distances) { check<float>(); }
TEST_F(shortest_paths_gpu, double_has_the_processors_distances) { check<double>(); }

TEST_F(shortest_paths_gpu, whole_numbers_of_64_bits_have_the_processors_distances) {
  Matrix<std::int64_t> weights = graph<std::int64_t>(300, 0.05, 1000, 300);
  for (std::int64_t from = 0; from < 300; ++from)
    for (std::int64_t to = 0; to < 300; ++to)
      if (weights(from, to) != no_route<std::int64_t>()) weights(from, to) *= std::int64_t{1} << 35;
  expect_as_on_the_processor(weights);
}

}  // namespace
}  // namespace gradus::shortest_paths_detail
