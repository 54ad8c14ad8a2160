// openmp_bytes: one byte per cell, processed a vector register at a time.
//
// What changes from `openmp`: a cell is a byte, because a count up to nine fits in a byte. So memory delivers four
// times as many cells in the same time as with an integer per cell. One instruction adds 16, 32 or 64 cells, depending
// on the register width. The rule is a table of sixteen bytes in another register, and one instruction looks up the
// next state of all cells of a register. The sum includes the cell itself, so that all nine cells are treated alike: a
// live cell with n live neighbours uses entry n + 1.
//
// Work: nine loads, eight additions, two look-ups and a selection per register of cells; one barrier per generation.
// Memory: two grids of a byte per cell.
//
// Limits: none. On a CPU without vector instructions, the loop handles one byte at a time, as `openmp` handles one cell
// at a time.
//
// Source: table look-up in a register is folklore (pshufb, tbl).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "life/rungs/openmp_bytes.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <utility>

#include "cpu/threads.hpp"
#include "life/problem.hpp"
#include "life/textbook.hpp"

#ifndef GRADUS_LIFE_BYTE_RULE  // Highway compiles this file several times.
#define GRADUS_LIFE_BYTE_RULE
namespace gradus::life_detail {
namespace {

/// Two tables of the next state, for a dead and for a live cell. The index is the number of live cells among the cell
/// and its eight neighbours.
struct ByteRule {
  alignas(16) std::uint8_t dead[16];
  alignas(16) std::uint8_t alive[16];
};

}  // namespace
}  // namespace gradus::life_detail
#endif

HWY_BEFORE_NAMESPACE();
namespace gradus::life_detail {
namespace HWY_NAMESPACE {

namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Computes a row of cells from the row above, the row itself and the row below.
void advance_row_of_bytes(const std::uint8_t* above, const std::uint8_t* here, const std::uint8_t* below,
                          const ByteRule& rule, std::uint8_t* to, std::int64_t width) {
  std::int64_t x = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<std::uint8_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto of_dead = hn::LoadDup128(d, rule.dead);
  const auto of_alive = hn::LoadDup128(d, rule.alive);
  for (; x + lanes <= width; x += lanes) {
    const auto sum_of = [&](const std::uint8_t* row) HWY_ATTR {
      return hn::Add(hn::Add(hn::LoadU(d, row + x - 1), hn::LoadU(d, row + x)), hn::LoadU(d, row + x + 1));
    };
    const auto nine = hn::Add(hn::Add(sum_of(above), sum_of(here)), sum_of(below));
    const auto is_dead = hn::Eq(hn::LoadU(d, here + x), hn::Zero(d));
    hn::StoreU(hn::IfThenElse(is_dead, hn::TableLookupBytes(of_dead, nine), hn::TableLookupBytes(of_alive, nine)), d,
               to + x);
  }
#endif
  for (; x < width; ++x) {
    const int nine = above[x - 1] + above[x] + above[x + 1] + here[x - 1] + here[x] + here[x + 1] + below[x - 1] +
                     below[x] + below[x + 1];
    to[x] = here[x] != 0 ? rule.alive[nine] : rule.dead[nine];
  }
}

}  // namespace

}  // namespace HWY_NAMESPACE
}  // namespace gradus::life_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace gradus::life_detail {

HWY_EXPORT(advance_row_of_bytes);

Solved openmp_bytes(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  ByteRule rules[2] = {};
  for (int parity = 0; parity < 2; ++parity)
    for (int neighbours = 0; neighbours <= 8; ++neighbours) {
      rules[parity].dead[neighbours] = problem.rule_of(parity).birth >> neighbours & 1;
      rules[parity].alive[neighbours + 1] = problem.rule_of(parity).survival >> neighbours & 1;
    }

  const std::int64_t height = problem.cells.height;
  const std::int64_t width = problem.cells.width;
  // NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores): sets the size of the teams below
  const int threads = threads_for_rows(problem, execution, 1);
  const std::stop_token& stop = problem.stop;
  Numbers<std::uint8_t> now(height, width);
  Numbers<std::uint8_t> next(height, width);
  {
    const core::PhaseTimer timer(phases, "unpack");
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t y = 0; y < height; ++y) {
      if (stop.stop_requested()) continue;
      unpack_row(problem, y, now);
      next.kill_border_cells(y);
    }
    for (Numbers<std::uint8_t>* grid : {&now, &next}) {
      grid->kill_border_row(-1);
      grid->kill_border_row(height);
    }
    core::honour_stop(stop, while_computing);
  }
  {
    const core::PhaseTimer timer(phases, "generations");
    Ticker tick(problem, execution);
    for (std::int64_t generation = 0; generation < problem.generations; ++generation) {
      if (problem.is_torus()) now.wrap_ends();
        // The implicit barrier is needed: the next generation reads rows of other threads.
#pragma omp parallel for num_threads(threads) schedule(static)
      for (std::int64_t y = 0; y < height; ++y) {
        if (stop.stop_requested()) continue;
        HWY_DYNAMIC_DISPATCH(advance_row_of_bytes)
        (now.row(y - 1), now.row(y), now.row(y + 1), rules[generation % 2], next.row(y), width);
        if (problem.is_torus()) next.wrap_row(y);
      }
      core::honour_stop(stop, while_computing);
      std::swap(now, next);
      tick(generation + 1);
    }
  }
  const core::PhaseTimer timer(phases, "pack");
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t y = 0; y < height; ++y)
    if (!stop.stop_requested()) pack_row(now, y, problem);
  core::honour_stop(stop, while_computing);
  return {};
}

extern constinit const Variant openmp_bytes_rung{
    .name = "openmp_bytes",
    .summary = "a byte per cell, a vector register of cells at a time",
    .change = "a quarter of the bytes; 64 cells (AVX-512) with one instruction, the rule looked up in a register",
    .backend = core::Backend::openmp,
    .memory = two_grids<std::uint8_t>,
    .run = {openmp_bytes},
};

}  // namespace gradus::life_detail
#endif  // HWY_ONCE
