// Tests that a public call throws gradus::Error if memory runs out at any allocation.
#include "tests/shortage.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "execution/machine.hpp"
#include "pair_histogram/problem.hpp"
#include "pair_histogram/tests/job.hpp"
#include "pair_histogram/tests/test_problems.hpp"

namespace gradus {
namespace {

namespace room = pair_histogram_detail;

TEST(Shortage, OfAHistogram) {
  const Matrix<double> points = tests::uniform(1000, 3);
  const std::vector<double> weights(1000, 0.75);
  for (const room::Variant& variant : room::variants()) {
    for (const bool weighted : {false, true}) {
      room::Shape shape;
      shape.weighted = weighted;
      if (variant.backend == core::Backend::cuda || !variant.supports(shape, execution::this_machine())) continue;
      PairHistogramJob<double> job = tests::bins_of(0.5, 6);
      if (weighted) job.weights = {weights.data(), 1000};
      Execution execution;
      execution.threads = 1;  // one thread suffices, because even then no exception may leave a parallel region
      execution.variant = variant.name;
      tests::fails_orderly([&] { pair_histogram(points.view(), job, execution); }, variant.name);
    }
  }
}

}  // namespace
}  // namespace gradus
