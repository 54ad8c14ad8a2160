// Tests that a stop request ends a search for shortest paths within half a second. Covers every variant that runs here,
// with the default tiles and with tiles as large as the matrix. Without the stop request, each job would take several
// seconds.
#include <gtest/gtest.h>

#include "execution/machine.hpp"
#include "shortest_paths/problem.hpp"
#include "shortest_paths/random_graph.hpp"
#include "tests/stopping.hpp"

namespace gradus::shortest_paths_detail {
namespace {

constexpr int threads = 2;

void expect_to_stop(std::string_view variant, std::int64_t tile) {
  static const Matrix<double> weights = random_graph<double>(3000, 1, 1000, 1);
  ShortestPathsOptions options;
  options.tile = tile;
  Execution execution;
  execution.variant = variant;
  execution.threads = threads;
  tests::expect_to_stop_soon(0.4, threads, [&](const std::stop_token& stop) {
    execution.stop = stop;
    shortest_paths(weights, options, execution);
  });
}

TEST(ShortestPathsStop, EveryVariantStopsSoon) {
  for (const Variant& variant : variants()) {
    if (variant.backend == core::Backend::cuda) continue;
    for (const std::int64_t tile : {0, 3000}) {
      SCOPED_TRACE(std::string(variant.name) + ", tile " + std::to_string(tile));
      expect_to_stop(variant.name, tile);
    }
  }
}

}  // namespace
}  // namespace gradus::shortest_paths_detail
