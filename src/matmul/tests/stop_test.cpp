// A stop request ends a product within half a second, in every variant that runs here. Each job here would take
// seconds.
#include <gtest/gtest.h>

#include "matmul/variants.hpp"
#include "tests/stopping.hpp"

namespace gradus::matmul_detail {
namespace {

constexpr int threads = 2;

TEST(MatmulStop, EveryVariantStopsSoon) {
  // Of one row, repeated: large matrices that take no memory.
  const std::int64_t n = 5000;
  const Buffer<double> row(n, 0.25);
  const MatmulView<const double> matrix(row.data(), n, n, 0, 1);
  Matrix<double> product(n, n);
  for (const Variant& variant : variants()) {
    if (variant.backend == core::Backend::cuda || variant.rival) continue;
    SCOPED_TRACE(variant.name);
    Execution execution;
    execution.variant = variant.name;
    execution.threads = threads;
    tests::expect_to_stop_soon(0.4, threads, [&](const std::stop_token& stop) {
      execution.stop = stop;
      matmul(matrix, matrix, {}, MatmulMemory<double>{product.view()}, execution);
    });
  }
}

}  // namespace
}  // namespace gradus::matmul_detail
