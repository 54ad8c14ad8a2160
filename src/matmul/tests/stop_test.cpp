// Tests that a stop request ends a call within half a second, whether the call is running a variant or another step.
// Without the request each job would take far longer.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "matmul/variants.hpp"
#include "tests/stopping.hpp"

namespace gradus::matmul_detail {
namespace {

constexpr int threads = 2;

TEST(MatmulStop, EveryVariantStopsSoon) {
  // The matrices repeat one row, so that even large matrices take little memory.
  const std::int64_t n = 5000;
  const Buffer<double> row(n, 0.25);
  const MatmulView<const double> matrix(row.data(), n, n, 0, 1);
  Matrix<double> product(n, n);
  for (const Variant& variant : variants()) {
    if (variant.backend == core::Backend::cuda || variant.baseline) continue;
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

// If k is large, even one element of C takes a long time. If n is large, even one row does. The matrices repeat a
// single element.
TEST(MatmulStop, EveryVariantStopsWithinAnElementAndWithinARow) {
  const double element = 0.25;
  const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
    return MatmulView<const double>(&element, rows, columns, 0, 0);
  };
  constexpr std::int64_t long_row = std::int64_t{1} << 28;
  constexpr std::int64_t deep = std::int64_t{1} << 33;
  tests::EndlessZeros<double> product(1, long_row);
  for (const Variant& variant : variants()) {
    if (variant.backend == core::Backend::cuda || variant.baseline) continue;
    for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, deep}, {3, 2, deep}, {1, long_row, 500}}) {
      SCOPED_TRACE(std::string(variant.name) + ", k = " + std::to_string(k));
      Execution execution;
      execution.variant = variant.name;
      execution.threads = threads;
      tests::expect_to_stop_soon(0.2, threads, [&, m = m, n = n, k = k](const std::stop_token& stop) {
        execution.stop = stop;
        matmul(matrix(m, k), matrix(k, n), {}, MatmulMemory<double>{MatmulView<double>(product.data(), m, n, n, 1)},
               execution);
      });
    }
  }
}

// Millions of pieces of work may remain after the request. They must be skipped at once, not one by one.
TEST(MatmulStop, ManyPiecesAreLeftOutAtOnce) {
  const double element = 0.25;
  const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
    return MatmulView<const double>(&element, rows, columns, 0, 0);
  };
  constexpr std::int64_t rows = std::int64_t{1} << 20;
  constexpr std::int64_t k = std::int64_t{1} << 24;
  tests::EndlessZeros<double> product(rows, 100);
  tests::EndlessZeros<double> column(std::int64_t{1} << 31, 1);
  tests::EndlessZeros<double> cells(std::int64_t{1} << 28, 4);
  Execution execution{.device = Device::cpu, .threads = threads};
  // A product whose sums over k are divided into many chunks.
  tests::expect_to_stop_soon(0.4, threads, [&](const std::stop_token& stop) {
    execution.stop = stop;
    matmul(matrix(rows, k), matrix(k, 100), {}, MatmulMemory<double>{product.view()}, execution);
  });
  // A product of many lines and a column.
  tests::expect_to_stop_soon(0.1, threads, [&](const std::stop_token& stop) {
    execution.stop = stop;
    const double line[2] = {1, 2};
    const std::int64_t lines = column.view().rows();
    matmul(MatmulView<const double>(line, lines, 2, 0, 1), MatmulView<const double>(line, 2, 1, 1, 1), {},
           MatmulMemory<double>{MatmulView<double>(column.data(), lines, 1, 1, 1)}, execution);
  });
  for (const char* variant : {"simd_packed", "openmp_tiled"}) {  // many products in a batch
    execution.variant = variant;
    tests::expect_to_stop_soon(0.2, threads, [&](const std::stop_token& stop) {
      execution.stop = stop;
      const std::int64_t batches = cells.view().rows();
      matmul(matrix(2, 3).batch(batches, 0), matrix(3, 2).batch(batches, 0), {},
             MatmulMemory<double>{MatmulView<double>(cells.data(), 2, 2, 2, 1).batch(batches, 4)}, execution);
    });
  }
}

TEST(MatmulStop, WhatIsNoProductStopsSoonToo) {
  const double element = 0.25;
  const float narrow = 0.25F;
  constexpr std::int64_t length = std::int64_t{1} << 28;
  tests::EndlessZeros<double> zeros(1, length);
  Execution execution{.device = Device::cpu, .threads = 1};
  MatmulOptions options;
  tests::expect_to_stop_soon(0.05, 1, [&](const std::stop_token& stop) {  // scaling of a C with one row
    execution.stop = stop;
    options.alpha = 0;
    options.beta = 2;
    matmul(MatmulView<const double>(&element, 1, 1, 1, 1), MatmulView<const double>(&element, 1, length, 0, 0), options,
           MatmulMemory<double>{zeros.view()}, execution);
  });
  tests::expect_to_stop_soon(0.05, 1, [&](const std::stop_token& stop) {  // conversion of a row of float
    execution.stop = stop;
    matmul(MatmulView<const float>(&narrow, 1, length, 0, 0), MatmulView<const double>(&element, length, 1, 0, 0), {},
           execution);
  });
  tests::expect_to_stop_soon(1.5, 1, [&](const std::stop_token& stop) {  // measuring the error of one long element
    execution.stop = stop;
    MatmulOptions measured;
    measured.measure_error = true;
    constexpr std::int64_t terms = std::int64_t{1} << 26;
    matmul(MatmulView<const double>(zeros.data(), 1, terms, terms, 1),
           MatmulView<const double>(zeros.data(), terms, 1, 1, terms), measured, execution);
  });
}

}  // namespace
}  // namespace gradus::matmul_detail
