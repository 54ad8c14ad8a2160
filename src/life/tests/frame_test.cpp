// What the entry points do around the variants: rules as text, patterns and their places, trees, known populations,
// hashes, cycles, memory, stop requests.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/life_rules.hpp"
#include "life/bits/cells.hpp"
#include "life/cases.hpp"
#include "life/tree.hpp"
#include "tests/lies.hpp"
#include "tests/stopping.hpp"

namespace gradus::life_detail {
namespace {

LifeGrid drawn(const std::vector<std::string>& rows) {
  LifeGrid cells(static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows.front().size()));
  for (std::size_t y = 0; y < rows.size(); ++y)
    for (std::size_t x = 0; x < rows[y].size(); ++x)
      if (rows[y][x] == 'o') cells.set(static_cast<std::int64_t>(y), static_cast<std::int64_t>(x));
  return cells;
}

LifeGrid r_pentomino() { return drawn({".oo", "oo.", ".o."}); }
LifeGrid acorn() { return drawn({".o.....", "...o...", "oo..ooo"}); }

LifeResult on_torus(const LifeGrid& pattern, std::int64_t side, std::int64_t generations) {
  LifePattern placed;
  placed.left = -1;
  placed.top = -1;
  placed.cells = LifeGrid(pattern.height(), pattern.width());
  copy_cells(pattern.view(), 0, 0, placed.cells.span());
  return life(placed, {.boundary = LifeBoundary::torus, .generations = generations}, side, side);
}

TEST(LifeRules, AreReadInAllTheirForms) {
  const LifeRule life_itself{1 << 3, 1 << 2 | 1 << 3};
  for (const char* text : {"B3/S23", "b3/s23", "b3s23", "B3S23", "23/3", "S23/B3", " B3/S23 ", "B3/S32", "B3_S23",
                           "B33/S223", "Life", "conway", "Game of Life"})
    EXPECT_EQ(life_rule(text), life_itself) << text;
  EXPECT_EQ(to_string(life_itself), "B3/S23");
  for (const core::NamedLifeRule& named : core::named_life_rules) EXPECT_EQ(life_rule(named.name), named.rule);
  for (const char* text : {"Day & Night", "day and night", "Day&Night", "Day-and-Night"})
    EXPECT_EQ(life_rule(text), life_rule("B3678/S34678")) << text;
  EXPECT_EQ(life_rule("SEEDS"), life_rule("B2/S"));
  EXPECT_EQ(life_rule("B/S"), (LifeRule{0, 0}));
  EXPECT_EQ(life_rule("/"), (LifeRule{0, 0}));
  EXPECT_EQ(life_rule("B012345678/S012345678"), (LifeRule{511, 511}));
  for (std::uint16_t birth = 0; birth < 512; birth += 7)
    EXPECT_EQ(life_rule(to_string(LifeRule{birth, static_cast<std::uint16_t>(511 - birth)})).birth, birth);
  const std::pair<const char*, const char*> wrong[] = {{"", "empty"},
                                                       {"B3", "an S is expected"},
                                                       {"B9/S23", "eight neighbours"},
                                                       {"345/2/4", "Generations"},
                                                       {"B2-a/S12", "Hensel"},
                                                       {"B2ce/S12", "Hensel"},
                                                       {"B2/S013V", "von Neumann"},
                                                       {"B2/S34H", "hexagonal"},
                                                       {"B3/S23/C4", "Generations"},
                                                       {"B3/S23x", "ends with"},
                                                       {"23", "one list only"},
                                                       {"lief", "no rule of this name"},
                                                       {"Hexagons", "known are Life, HighLife"},
                                                       {"B2cei3/S12", "Hensel"},
                                                       {"B3/S23:T40,30", "--boundary and --size"},
                                                       {"B3/S23/3", "Generations"}};
  for (const auto& [text, says] : wrong) tests::expect_usage([text = text] { life_rule(text); }, says);
}

TEST(LifeKnownPopulations, OfSmallPatterns) {
  const auto after = [](const LifeGrid& cells, std::int64_t generations) {
    return life(cells, {.generations = generations}).population.low;
  };
  EXPECT_EQ(after(r_pentomino(), 1103), 116U);
  EXPECT_EQ(after(acorn(), 5206), 633U);
  EXPECT_EQ(after(drawn({"......o.", "oo......", ".o...ooo"}), 130), 0U);
  const LifeGrid gun = drawn({"........................o...........", "......................o.o...........",
                              "............oo......oo............oo", "...........o...o....oo............oo",
                              "oo........o.....o...oo..............", "oo........o...o.oo....o.o...........",
                              "..........o.....o.......o...........", "...........o...o....................",
                              "............oo......................"});
  const std::pair<int, std::uint64_t> gun_has[] = {{0, 36}, {30, 41}, {60, 46}, {300, 86}, {3000, 536}};
  for (const auto& [generation, cells] : gun_has) EXPECT_EQ(after(gun, generation), cells) << generation;
  EXPECT_EQ(on_torus(r_pentomino(), 64, 1000).population.low, 113U);
  EXPECT_EQ(on_torus(acorn(), 64, 5206).population.low, 93U);
  EXPECT_EQ(on_torus(r_pentomino(), 1024, 1103).population.low, 116U);
  EXPECT_EQ(on_torus(acorn(), 1024, 10000).population.low, 704U);
}

TEST(LifeHashes, DependOnPlacesAndOnNothingElse) {
  const LifeGrid small = soup(20, 90, 0.4, 3);
  for (const std::int64_t left : {0, 1, 63, -1, -64, 1000003}) {
    const std::uint64_t hash = hash_of(small.view(), left, -7);
    LifeGrid large(60, 300);
    copy_cells(small.view(), -11, -70, large.span());
    EXPECT_EQ(hash_of(large.view(), left - 70, -18), hash) << left;
    EXPECT_NE(hash_of(large.view(), left - 69, -18), hash) << left;
    EXPECT_NE(hash_of(large.view(), left - 70, -17), hash) << left;
  }
  std::vector<std::uint64_t> given(4);
  LifeMemory memory;
  memory.hashes = given;
  const LifeOptions options{.boundary = LifeBoundary::torus, .generations = 3, .hashes = true};
  EXPECT_TRUE(life(small, options, memory).hashes.empty());
  EXPECT_EQ(given, life(small, options).hashes);
}

TEST(LifeUntilStable, TellsPreperiodAndPeriod) {
  const auto cycle = [](const LifeGrid& cells, LifeBoundary boundary, std::int64_t limit) {
    const LifeResult result = life(cells, {.boundary = boundary, .generations = limit, .until_stable = true});
    if (result.cycle) EXPECT_EQ(result.generations, result.cycle->preperiod + result.cycle->period);
    else EXPECT_EQ(result.generations, limit);
    return result.cycle;
  };
  using enum LifeBoundary;
  EXPECT_EQ(cycle(drawn({"ooo"}), plane, 10), (LifeCycle{0, 2}));
  EXPECT_EQ(cycle(drawn({"oo", "oo"}), plane, 10), (LifeCycle{0, 1}));
  EXPECT_EQ(cycle(drawn({"o"}), plane, 10), (LifeCycle{1, 1}));
  EXPECT_EQ(cycle(drawn({"o.o", ".o."}), torus, 100), cycle(drawn({"o.o", ".o."}), torus, 1000));
  const LifeGrid glider =
      drawn({".o......", "..o.....", "ooo.....", "........", "........", "........", "........", "........"});
  EXPECT_EQ(cycle(glider, torus, 1000), (LifeCycle{0, 32}));
  EXPECT_EQ(cycle(glider, torus, 31), std::nullopt);
  EXPECT_EQ(cycle(glider, torus, 32), (LifeCycle{0, 32}));
  EXPECT_EQ(cycle(glider, plane, 200), std::nullopt);
  EXPECT_EQ(cycle(drawn({"oooooooooo"}), plane, 500), (LifeCycle{2, 15}));  // a pentadecathlon
  const auto diehard = cycle(drawn({"......o.", "oo......", ".o...ooo"}), plane, 500);
  EXPECT_EQ(diehard, (LifeCycle{130, 1}));
  // A soup against all of its generations.
  const LifeGrid cells = soup(13, 11, 0.4, 9);
  const LifeCycle found = cycle(cells, torus, 5000).value();
  Field field = oracle(cells, {.boundary = torus, .generations = 0}).field;
  std::vector<std::vector<std::uint8_t>> all{field.cells};
  for (std::int64_t generation = 0; generation < found.preperiod + found.period; ++generation)
    all.push_back((field = next_generation(field, {}, torus)).cells);
  for (std::size_t one = 0; one < all.size(); ++one)
    for (std::size_t other = 0; other < one; ++other)
      EXPECT_EQ(all[one] == all[other], one + 1 == all.size() && other == static_cast<std::size_t>(found.preperiod));
}

TEST(LifePatterns, LieWhereTheySay) {
  LifePattern pattern;
  pattern.cells = drawn({"ooo"});
  pattern.left = 5;
  pattern.top = -2;
  const LifeResult on_plane = life(pattern, {.generations = 1}, 0, 0);
  EXPECT_EQ(on_plane.left, 6);
  EXPECT_EQ(on_plane.top, -3);
  const LifeResult in_grid = life(pattern, {.boundary = LifeBoundary::dead, .generations = 1}, 11, 20);
  EXPECT_EQ(in_grid.left, -10);
  EXPECT_EQ(in_grid.top, -5);
  EXPECT_EQ(in_grid.population.low, 3U);
  EXPECT_TRUE(in_grid.cells(3, 16) && in_grid.cells(2, 16) && in_grid.cells(4, 16));
  EXPECT_THROW(life(pattern, {.boundary = LifeBoundary::dead}, 11, 14), InputError);
  EXPECT_THROW(life(pattern, {.boundary = LifeBoundary::dead}, 3, 20), InputError);

  LifePattern tree;  // the same cells
  tree.tree = LifeTree{
      .nodes = {{}, {.level = 3, .cells = std::uint64_t{7} << (6 * 8 + 5)}, {.level = 4, .quarters = {0, 1, 0, 0}}},
      .root = 2};
  const LifeResult from_tree = life(tree, {.generations = 1}, 0, 0);
  EXPECT_EQ(from_tree.left, on_plane.left);
  EXPECT_EQ(from_tree.top, on_plane.top);
  EXPECT_EQ(from_tree.population, on_plane.population);
  EXPECT_EQ(life(tree, {.boundary = LifeBoundary::dead, .generations = 1}, 11, 20).population.low, 3U);
  tree.tree = LifeTree{.nodes = {{}}, .root = 0};
  EXPECT_EQ(life(tree, {.generations = 5}, 0, 0).population.low, 0U);
}

TEST(LifePatterns, LieAsFarAsFilesCanSay) {
  LifePattern pattern;
  pattern.cells = drawn({"ooo"});
  pattern.left = (std::int64_t{1} << 62) - 100;
  pattern.top = -(std::int64_t{1} << 62) + 100;
  for (const char* variant : {"hashlife", "bit_sliced"}) {
    Execution execution;
    execution.variant = variant;
    const LifeResult result = life(pattern, {.generations = 1}, 0, 0, execution);
    EXPECT_EQ(result.left, pattern.left + 1);
    EXPECT_EQ(result.top, pattern.top - 1);
  }
  EXPECT_THROW(life(pattern, {.generations = 1, .left = 200}, 0, 0), UsageError);
  // It cannot be told of a spaceship which has gone further where it is.
  pattern.cells = drawn({".o.", "..o", "ooo"});
  Execution execution;
  execution.variant = "bit_sliced";
  try {
    life(pattern, {.generations = 2000}, 0, 0, execution);
  } catch (const InputError&) {
    ADD_FAILURE() << "the pattern was right";
  } catch (const Error&) {
  }
}

TEST(LifeReports, SayWhereTheTimeOfAWholeCallWent) {
  LifePattern pattern;
  pattern.cells = drawn({"ooo"});
  const LifeResult result = life(pattern, {.boundary = LifeBoundary::torus, .generations = 3}, 20000, 20000);
  double all = 0;
  double parts = 0;
  for (const Phase& phase : result.report.phases) (phase.name == "total" ? all : parts) += phase.seconds;
  EXPECT_GT(parts, 0.8 * all);
}

TEST(LifeMemoryOfJobs, IsCheckedBeforeItIsTaken) {
  const LifeGrid cells = soup(1000, 1000, 0.4, 1);
  Execution little;
  little.memory_limit = 100000;
  EXPECT_THROW(life(cells, {.boundary = LifeBoundary::torus}, little), OutOfMemoryError);
  little.memory_limit = 30000000;
  EXPECT_NO_THROW(life(cells, {.boundary = LifeBoundary::torus}, little));
  EXPECT_THROW(life_memory({.height = std::int64_t{1} << 48, .width = std::int64_t{1} << 48}, {}), Error);
}

TEST(LifeStop, EveryVariantStopsSoon) {
  constexpr int threads = 2;
  const LifeGrid cells = soup(3000, 3000, 0.4, 1);
  for (const Variant& variant : variants()) {
    if (variant.backend == core::Backend::cuda || variant.facts.plane) continue;
    for (const LifeBoundary boundary : {LifeBoundary::plane, LifeBoundary::torus}) {
      SCOPED_TRACE(std::string(variant.name) + ", " + std::string(to_string(boundary)));
      Execution execution;
      execution.variant = variant.name;
      execution.threads = threads;
      tests::expect_to_stop_soon(0.4, threads, [&](const std::stop_token& stop) {
        execution.stop = stop;
        life(cells, {.boundary = boundary, .generations = 100000000}, execution);
      });
    }
  }
}

// Memory that is touched for the first time is a good part of such a call.
TEST(LifeStop, IsSeenWhileCellsAreBroughtToAGrid) {
  LifePattern pattern;
  pattern.cells = drawn({"ooo"});
  constexpr int threads = 2;
  for (const double seconds : {0.02, 0.1, 0.2, 0.4})
    for (const char* variant : {"bit_sliced", "openmp_temporal"})
      tests::expect_to_stop_soon(seconds, threads, [&](const std::stop_token& stop) {
        Execution execution;
        execution.variant = variant;
        execution.threads = threads;
        execution.stop = stop;
        life(pattern, {.boundary = LifeBoundary::torus, .generations = 100000000}, 48000, 48000, execution);
      });
}

}  // namespace
}  // namespace gradus::life_detail
