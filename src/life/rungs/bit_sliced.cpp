// bit_sliced: 64 cells per word, added by logic operations on whole registers; one core.
//
// What changes from `openmp_bytes`: a cell is one bit instead of eight. Bit-parallel full adders compute the number of
// live neighbours, one binary digit after another. They do so for all 64 cells of a word, or all 512 cells of a
// register, at once. In each row, the sums of three horizontal neighbours are computed once and also serve the rows
// above and below. If the CPU has three-input operations (AVX-512: vpternlog), a full adder takes two of them. The rule
// B3/S23 then takes ten operations, in addition to the shifts that align neighbours. plan.hpp builds the network for
// every rule.
//
// If a grid is only a few words wide, a register holds words of several rows instead of several words of a row.
// Otherwise most of the register would be empty.
//
// Work with AVX-512: 12 operations for 512 cells. The CPU executes two operations per cycle, so 512 cells take 6
// cycles. Work with AVX2: about 30 operations for 256 cells. Memory: two grids of one bit per cell. A generation reads
// one grid and writes the other, 1/8 byte per cell in each direction.
//
// Limits: none. One core.
//
// Source: bit-parallel full adders are folklore; see network/plan.hpp.
#include <utility>

#include "life/bits/padded.hpp"
#include "life/problem.hpp"
#include "life/textbook.hpp"

namespace gradus::life_detail {

namespace {

/// Computes wide grids row by row.
void advance_wide(const Problem& problem, const Step* steps, Ticker& tick, std::vector<Phase>& phases) {
  const std::int64_t height = problem.cells.height;
  Padded now(height, problem.cells.width, problem.is_torus());
  Padded next(height, problem.cells.width, problem.is_torus());
  Padded* from = &now;
  Padded* to = &next;
  {
    const core::PhaseTimer timer(phases, "pack");
    from->begin();
    to->begin();
    from->load_rows(problem.cells, 0, height, problem.stop);
    to->begin_rows(0, height, problem.stop);
    from->close_ends();
    core::honour_stop(problem.stop, while_computing);
  }
  {
    const core::PhaseTimer timer(phases, "generations");
    for (std::int64_t generation = 0; generation < problem.generations; ++generation) {
      for (std::int64_t y = 0; y < height; y += cached_rows) {
        core::honour_stop(problem.stop, while_computing);
        from->advance_rows(steps[generation % 2], *to, y, std::min(y + cached_rows, height));
      }
      to->close_ends();
      std::swap(from, to);
      tick(generation + 1);
    }
  }
  const core::PhaseTimer timer(phases, "unpack");
  from->store_rows(0, height, problem.result, problem.stop);
  core::honour_stop(problem.stop, while_computing);
}

/// Computes narrow grids by columns of words.
void advance_narrow(const Problem& problem, const Step* steps, Ticker& tick, std::vector<Phase>& phases) {
  const std::int64_t height = problem.cells.height;
  const std::int64_t words = problem.cells.row_words();
  const std::int64_t lanes = lanes_here();
  const std::int64_t pitch = ((height + lanes - 1) / lanes + 2) * lanes;
  const std::int64_t area = words * pitch;
  cpu::Scratch scratch(static_cast<std::size_t>(2 * area) * 8);
  auto* const grids = static_cast<std::uint64_t*>(scratch.data());
  std::memset(grids, 0, static_cast<std::size_t>(2 * area) * 8);
  std::uint64_t* current = grids + area + lanes;  // source and target, which are swapped before each generation
  std::uint64_t* other = grids + lanes;
  Columns grid{.from = current,
               .to = other,
               .pitch = pitch,
               .height = height,
               .width = problem.cells.width,
               .torus = problem.is_torus()};
  {
    const core::PhaseTimer timer(phases, "pack");
    const std::uint64_t mask = last_word_mask(problem.cells.width);
    for (std::int64_t y = 0; y < height; ++y)
      for (std::int64_t x = 0; x < words; ++x)
        grid.to[x * pitch + y] = x == words - 1 ? problem.cells.row(y)[x] & mask : problem.cells.row(y)[x];
    close_columns(grid);
  }
  {
    const core::PhaseTimer timer(phases, "generations");
    const std::int64_t generations_between_looks = std::max<std::int64_t>(core::operations_between_polls / area, 1);
    for (std::int64_t generation = 0; generation < problem.generations; ++generation) {
      if (generation % generations_between_looks == 0) core::honour_stop(problem.stop, while_computing);
      std::swap(current, other);
      grid.from = current;
      grid.to = other;
      advance_columns(steps[generation % 2], grid);
      tick(generation + 1);
    }
  }
  const core::PhaseTimer timer(phases, "unpack");
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < words; ++x) problem.result.row(y)[x] = grid.to[x * pitch + y];
}

}  // namespace

Solved bit_sliced(const Problem& problem, const Execution& execution, std::vector<Phase>& phases) {
  const Step steps[] = {step_of(problem.even), step_of(problem.odd)};
  Ticker tick(problem, execution);
  // Columns need four additional operations, which align the words above and below. Columns are faster nevertheless for
  // rows of only a few words, because such rows leave most of a register empty.
  if (problem.cells.row_words() <= lanes_here() / 2) advance_narrow(problem, steps, tick, phases);
  else advance_wide(problem, steps, tick, phases);
  return {};
}

extern constinit const Variant bit_sliced_rung{
    .name = "bit_sliced",
    .summary = "64 cells in a word, added up by logic operations on registers, on one core",
    .change = "a cell is a bit; bit-parallel full adders for 512 cells at once",
    .backend = core::Backend::sequential,
    .memory = two_padded_grids,
    .run = {bit_sliced},
};

}  // namespace gradus::life_detail
