// Tests the entry points around the variants: rules as text, patterns and their places, trees, known populations,
// hashes, cycles, memory, stop requests.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "core/stop.hpp"
#include "life/bits/cells.hpp"
#include "life/cases.hpp"
#include "life/handover.hpp"
#include "life/named_rules.hpp"
#include "life/quadtree.hpp"
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
  for (const NamedLifeRule& named : named_life_rules) EXPECT_EQ(life_rule(named.name), named.rule);
  for (const char* text : {"Day & Night", "day and night", "Day&Night", "Day-and-Night"})
    EXPECT_EQ(life_rule(text), life_rule("B3678/S34678")) << text;
  EXPECT_EQ(life_rule("SEEDS"), life_rule("B2/S"));
  EXPECT_EQ(life_rule("B/S"), (LifeRule{0, 0}));
  EXPECT_EQ(life_rule("/"), (LifeRule{0, 0}));
  // A missing list is empty, and one letter suffices, as in Golly.
  for (const char* text : {"B234", "b234/", "B234/S", "/B234", "B234S", "/234"})
    EXPECT_EQ(life_rule(text), (LifeRule{7 << 2, 0})) << text;
  EXPECT_EQ(life_rule("S23"), (LifeRule{0, 3 << 2}));
  for (const char* text : {"B3/23", "3/S23", "S23/3", "23/B3"}) EXPECT_EQ(life_rule(text), life_itself) << text;
  EXPECT_EQ(life_rule("B012345678/S012345678"), (LifeRule{511, 511}));
  for (std::uint16_t birth = 0; birth < 512; birth += 7)
    EXPECT_EQ(life_rule(to_string(LifeRule{birth, static_cast<std::uint16_t>(511 - birth)})).birth, birth);
  const std::pair<const char*, const char*> wrong[] = {{"", "empty"},
                                                       {"B3/B23", "two lists B"},
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
                                                       {"B3/S23:T40,30", "name boundary and size apart"},
                                                       {"B3/S23/3", "Generations"},
                                                       {"/2/3", "Generations"},
                                                       {"B2/S/G3", "Generations"},
                                                       {"BriansBrain", "Generations"},
                                                       {"R5,C0,M1,S34..58,B34..45,NM", "Larger than Life"},
                                                       {"R2,C0,S4-7,9-12,B4,11-12,NB", "Larger than Life"},
                                                       {"W110", "one dimension"},
                                                       {"w22", "one dimension"},
                                                       {"Ed-rep", "rules of a table"},
                                                       {"LifeHistory", "rules of a table"},
                                                       {"WireWorld", "rules of a table"},
                                                       {"JvN29", "rules of a table"},
                                                       {"MAPARYXfhZofugWaH7oaIDogBZofuhogOiAaIDogIAAgAAW", "(MAP)"},
                                                       {"MAPHmlphg", "(MAP)"},
                                                       {"23/3L", "triangular"},
                                                       {"B2ein3cijn4cnrwy5cnq6e/S1c2-ai3acny4anqy5c6ek8", "Hensel"}};
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
  EXPECT_EQ(cycle(drawn({"oooooooooo"}), plane, 500), (LifeCycle{2, 15}));  // a pentadecathlon, whose period is 15
  const auto diehard = cycle(drawn({"......o.", "oo......", ".o...ooo"}), plane, 500);
  EXPECT_EQ(diehard, (LifeCycle{130, 1}));
  // A soup. The test compares each generation of the soup with all earlier generations.
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

  LifePattern tree;  // a tree with the cells of `pattern`
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

TEST(LifePatterns, TreesLieWhereTheySay) {
  LifePattern cells;
  cells.cells = drawn({".o.", "..o", "ooo"});
  cells.left = 1000;
  cells.top = -77;
  LifePattern tree;
  tree.tree = life_tree(cells.cells.view(), 900, -80);
  tree.left = 100;
  tree.top = 3;
  for (const char* variant : {"hashlife", "bit_sliced", ""}) {
    Execution execution;
    execution.variant = variant;
    const LifeOptions options{.generations = 41, .left = 5, .top = 6};
    const LifeResult expected = life(cells, options, 0, 0, execution);
    const LifeResult result = life(tree, options, 0, 0, execution);
    EXPECT_EQ(expected.left, 1000 + 5 + 10);
    EXPECT_EQ(std::tie(result.left, result.top), std::tie(expected.left, expected.top)) << variant;
    EXPECT_EQ(result.population, expected.population);
  }
  // A result that stays a tree keeps its position.
  LifePattern far;
  far.tree = life_tree({{0, 0, 1}, {std::int64_t{1} << 40, 0, 1}});
  far.left = 7;
  const LifeResult result = life(far, {.rule = life_rule("B3/S012345678"), .generations = 4, .top = -9}, 0, 0);
  ASSERT_TRUE(result.tree.has_value());
  EXPECT_EQ(result.left, 7);
  EXPECT_EQ(result.top, -9);
}

// A pattern without a place starts at (0, 0) on the plane. On a grid, the pattern is centred if the file's rectangle
// fits. Otherwise the pattern starts at the grid's first cell.
TEST(LifePatterns, WithoutAPlaceLieWhereGollyPutsThem) {
  LifePattern pattern;
  pattern.cells = drawn({"o.......", "........", "........"});
  pattern.unplaced = {8, 3};
  const auto place = [&](const LifePattern& given, LifeBoundary boundary, std::int64_t height, std::int64_t width) {
    const LifeResult result = life(given, {.rule = life_rule("B/S012345678"), .boundary = boundary}, height, width);
    for (std::int64_t y = 0; y < result.cells.height(); ++y)
      for (std::int64_t x = 0; x < result.cells.width(); ++x)
        if (result.cells(y, x)) return std::pair(result.left + x, result.top + y);
    return std::pair(INT64_MAX, INT64_MAX);
  };
  LifePattern tree;
  tree.tree = life_tree(pattern.cells.view(), 0, 0);
  tree.unplaced = pattern.unplaced;
  for (const LifePattern& given : {std::cref(pattern), std::cref(tree)}) {
    EXPECT_EQ(place(given, LifeBoundary::plane, 0, 0), std::pair(INT64_C(0), INT64_C(0)));
    for (const LifeBoundary boundary : {LifeBoundary::dead, LifeBoundary::torus}) {
      EXPECT_EQ(place(given, boundary, 20, 21), std::pair(INT64_C(-4), INT64_C(-1)));
      EXPECT_EQ(place(given, boundary, 3, 8), std::pair(INT64_C(-4), INT64_C(-1)));
      EXPECT_EQ(place(given, boundary, 20, 7), std::pair(INT64_C(-3), INT64_C(-10)));
      EXPECT_EQ(place(given, boundary, 2, 40), std::pair(INT64_C(-20), INT64_C(-1)));
    }
  }
  pattern.cells.set(2, 7);
  try {
    life(pattern, {.boundary = LifeBoundary::torus}, 20, 7);
    ADD_FAILURE() << "a cell is outside";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("; 8 x 3 would hold them"), std::string::npos) << error.what();
  }
}

TEST(LifeHandover, GoesToHashlifeWhereThatIsDoneSooner) {
  LifePattern pattern;  // three distant cells, which take hours with any variant except `hashlife`
  pattern.tree = life_tree({{-1, 0, std::uint64_t{1} << 35}, {131071, 0, std::uint64_t{1} << 42}, {0, 0, 1}});
  const LifeBox box = bounding_box(*pattern.tree).value();
  pattern.cells = grid_of(*pattern.tree, box);
  pattern.tree.reset();
  const LifeOptions options{.rule = life_rule("B1357/S1357"), .generations = 1048582};
  Execution named;
  named.variant = "hashlife";
  const LifeResult expected = life(pattern, options, 0, 0, named);
  const LifeResult result = life(pattern, options, 0, 0);
  EXPECT_EQ(result.report.variant, "hashlife");
  EXPECT_EQ(result.population, expected.population);
  EXPECT_EQ(result.generations, options.generations);
}

Solved without_memory(const Problem&, const Execution&, std::vector<Phase>&) {
  throw OutOfMemoryError("there is none");
}
Solved without_end(const Problem& problem, const Execution& execution, std::vector<Phase>&) {
  for (;;) {
    execution.progress({"generation", 0, 1, {}});
    core::honour_stop(problem.stop, "stopped");
  }
}

// Failed attempts of `hashlife` do not change the run.
TEST(LifeHandover, AnAttemptThatFailsChangesNothing) {
  const LifeGrid cells = soup(150, 150, 0.4, 3);
  const LifeOptions options{.rule = life_rule("B3/S23"), .generations = 1500, .left = -70, .top = 9};
  Execution named;
  named.variant = "bit_sliced";
  const LifeResult expected = life(cells, options, named);
  std::vector<Phase> phases;
  const Job job{.cells = cells.view(),
                .options = options,
                .variant = &core::find_variant(variants(), "bit_sliced", Room::name),
                .execution = &named,
                .phases = &phases};
  for (const auto& run : {without_memory, without_end}) {
    Variant failing = core::find_variant(variants(), "hashlife", Room::name);
    failing.run = {run};
    World world(job, {});
    const HandoverLimits at_once{.first_look = 0, .worth_an_attempt = 0, .of_the_past = 0.1, .of_the_rest = 0};
    EXPECT_FALSE(finish_plane(world, job, failing, at_once).has_value());
    EXPECT_EQ(world.generation(), 1500);
    EXPECT_EQ(world.population(), expected.population.low);
    const LifeGrid after = world.take_cells();
    EXPECT_TRUE(same_cells(after.view(), expected.cells.view()));
    EXPECT_EQ(world.left(), expected.left);
    EXPECT_EQ(world.top(), expected.top);
  }
  // A stop request also ends an attempt of `hashlife`.
  std::stop_source source;
  Execution stopped = named;
  stopped.stop = source.get_token();
  stopped.progress = [&](const Progress&) { source.request_stop(); };
  Job stoppable = job;
  stoppable.execution = &stopped;
  Variant endless = core::find_variant(variants(), "hashlife", Room::name);
  endless.run = {without_end};
  World world(stoppable, {});
  const HandoverLimits patient{.first_look = 0, .worth_an_attempt = 0, .of_the_past = 1e9, .of_the_rest = 0};
  EXPECT_THROW((void)finish_plane(world, stoppable, endless, patient), InterruptedError);
}

// Two spaceships that fly apart have few cells, but no memory can hold their bounding box.
TEST(LifeHandover, FewCellsInALargeRectangleAreATree) {
  LifePattern pattern;
  pattern.cells =
      drawn({"ooo........", "o..........", ".o.........", "...........", ".........o.", "..........o", "........ooo"});
  const LifeResult result = life(pattern, {.generations = 400000}, 0, 0);
  ASSERT_TRUE(result.tree.has_value());
  EXPECT_EQ(result.population, (LifePopulation{0, 10}));
  const LifeBox box = bounding_box(*result.tree, result.left, result.top).value();
  EXPECT_EQ(box.width, 200011);
  EXPECT_EQ(box.top, -100000);
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
  // The pattern must not be mistaken for a spaceship that has moved out of the grid.
  pattern.cells = drawn({".o.", "..o", "ooo"});
  Execution execution;
  execution.variant = "bit_sliced";
  try {
    life(pattern, {.generations = 2000}, 0, 0, execution);
  } catch (const InputError&) {
    ADD_FAILURE() << "the pattern was valid";
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

// Tests stop requests while a pattern is copied to a grid. Such a call spends much of its time on the first access to
// the grid's memory.
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
