// Compares HashLife with the oracle on soups, and with known facts about well-known patterns. Also tests patterns whose
// state after 2^40 generations is known in closed form, and runs that reach their memory limit repeatedly.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/philox.hpp"
#include "life/cases.hpp"
#include "life/hashlife/universe.hpp"
#include "life/oracle.hpp"
#include "life/quadtree.hpp"
#include "tests/helpers.hpp"
#include "tests/stopping.hpp"

namespace gradus::life_detail {
namespace {

constexpr std::uint64_t plenty = std::uint64_t{1} << 30;

/// Parses rows of '.' and 'O', separated by '/'.
LifeTree pattern(std::string_view rows, std::int64_t left = 0, std::int64_t top = 0) {
  std::int64_t width = 0;
  std::int64_t height = 1;
  std::int64_t x = 0;
  for (const char letter : rows) {
    if (letter == '/') ++height;
    x = letter == '/' ? 0 : x + 1;
    width = std::max(width, x);
  }
  LifeGrid cells(height, width);
  std::int64_t y = x = 0;
  for (const char letter : rows) {
    if (letter == 'O') cells.set(y, x);
    x = letter == '/' ? 0 : x + 1;
    y += letter == '/' ? 1 : 0;
  }
  return life_tree(cells.view(), left, top);
}

constexpr std::string_view gun =
    "........................O/......................O.O/............OO......OO............OO/"
    "...........O...O....OO............OO/OO........O.....O...OO/OO........O...O.OO....O.O/"
    "..........O.....O.......O/...........O...O/............OO";
constexpr std::string_view glider = ".O/..O/OOO";
constexpr std::string_view r_pentomino = ".OO/OO/.O";
constexpr std::string_view acorn = ".O/...O/OO..OOO";
constexpr std::string_view diehard = "......O/OO/.O...OOO";

LifePopulation population(const LifeTree& tree) { return population_of(tree).value(); }

LifeTree later(const LifeTree& tree, std::uint64_t generations, const LifeRule& rule = {}) {
  Universe universe(rule, plenty, {});
  universe.load(tree);
  universe.advance(generations);
  return universe.tree();
}

bool same_cells(const LifeTree& a, const LifeTree& b) {
  const auto blocks_a = blocks_of(a, plenty).value();
  const auto blocks_b = blocks_of(b, plenty).value();
  return std::ranges::equal(blocks_a, blocks_b, [](const LifeBlock& left, const LifeBlock& right) {
    return left.x == right.x && left.y == right.y && left.cells == right.cells;
  });
}

TEST(life_hashlife, known_populations) {
  const std::pair<std::uint64_t, std::uint64_t> of_gun[] = {{0, 36}, {30, 41}, {60, 46}, {300, 86}, {3000, 536}};
  for (const auto& [generation, cells] : of_gun)
    EXPECT_EQ(population(later(pattern(gun), generation)), (LifePopulation{0, cells})) << generation;
  EXPECT_EQ(population(later(pattern(r_pentomino), 1103)), (LifePopulation{0, 116}));
  EXPECT_EQ(population(later(pattern(acorn), 5206)), (LifePopulation{0, 633}));
  EXPECT_EQ(population(later(pattern(diehard), 129)).low, 2U);
  EXPECT_EQ(population(later(pattern(diehard), 130)), LifePopulation{});
}

TEST(life_hashlife, soups_against_the_oracle) {
  const core::Philox random(11);
  for (std::uint64_t trial = 0; trial < 60; ++trial) {
    const auto bits = random.block(trial);
    LifeRule rule;
    if (trial % 3 != 0)
      rule = {static_cast<std::uint16_t>(bits[0] & 0x1FE), static_cast<std::uint16_t>(bits[1] & 0x1FF)};
    const std::int64_t height = 1 + bits[2] % 60;
    const std::int64_t width = 1 + bits[2] / 64 % 90;
    LifeOptions options;
    options.rule = rule;
    options.generations = static_cast<std::int64_t>(bits[3] % 70);
    options.left = static_cast<std::int64_t>(bits[3] / 128 % 200) - 100;
    options.top = static_cast<std::int64_t>(bits[3] / 65536 % 200) - 100;
    const LifeGrid cells = soup(height, width, 0.4, trial);
    Execution execution;
    execution.variant = "hashlife";
    EXPECT_EQ(compare(life(cells.view(), options, execution), options, oracle(cells.view(), options)), "")
        << to_string(rule) << " " << height << " x " << width << ", " << options.generations << " generations";
  }
}

TEST(life_hashlife, any_number_of_generations) {
  // A glider moves by one cell in four generations, wherever it is.
  for (const std::uint64_t generation : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 100U, 1000003U}) {
    const LifeTree is = later(pattern(glider, -3, 60), generation);
    const auto cells = static_cast<std::int64_t>(generation / 4);
    EXPECT_TRUE(same_cells(is, later(pattern(glider, -3 + cells, 60 + cells), generation % 4))) << generation;
  }
  // The gun returns to its state every 30 generations, with one more glider.
  for (const std::uint64_t extra : {0U, 1U, 7U, 12345U}) {
    const std::uint64_t generation = (std::uint64_t{1} << 40) + extra;
    const std::uint64_t phase = population(later(pattern(gun), 300 + generation % 30)).low;
    EXPECT_EQ(population(later(pattern(gun), generation)).low, phase + 5 * ((generation - 300 - generation % 30) / 30));
  }
}

TEST(life_hashlife, generations_past_2_to_the_60) {
  const std::uint64_t generation = (std::uint64_t{1} << 62) + 3;
  const LifeTree far = later(pattern(glider), generation);
  EXPECT_EQ(population(far), (LifePopulation{0, 5}));
  const LifeBox box = bounding_box(far).value();
  const auto cells = static_cast<std::int64_t>(generation / 4);
  const LifeBox phase = bounding_box(later(pattern(glider), 3)).value();
  EXPECT_EQ(box.left, cells + phase.left);
  EXPECT_EQ(box.top, cells + phase.top);
  const std::uint64_t whole = population(later(pattern(gun), 300 + generation % 30)).low;
  EXPECT_EQ(population(later(pattern(gun), generation)).low, whole + 5 * ((generation - 300 - generation % 30) / 30));
  // Advances the pattern repeatedly. The plane is unbounded, but the level of a tree has a maximum.
  Universe universe({}, plenty, {});
  universe.load(pattern(glider));
  for (int step = 0; step < 4; ++step) universe.advance(~std::uint64_t{0});
  EXPECT_EQ(population(universe.tree()), (LifePopulation{0, 5}));
  EXPECT_FALSE(bounding_box(universe.tree()).has_value());
}

TEST(life_hashlife, places_far_apart) {
  constexpr std::int64_t far = std::int64_t{1} << 59;
  std::vector<LifeBlock> blocks{{far / 8, far / 8, 0x070402}, {-far / 8, far / 8, 0x0303}, {0, -far / 8, 0x07}};
  const LifeTree tree = life_tree(blocks);
  EXPECT_EQ(population(tree).low, 12U);
  const LifeTree is = later(tree, 4000);
  EXPECT_EQ(population(is).low, 12U);
  const LifeBox box = bounding_box(is).value();
  EXPECT_EQ(box.left, -far);
  EXPECT_EQ(box.left + box.width, far + 1000 + 3);
}

TEST(life_hashlife, steps_are_kept_apart) {
  // The same squares take steps of all sizes, in random order, so that smaller steps follow larger ones and vice versa.
  Universe universe({}, plenty, {});
  universe.load(pattern(acorn));
  std::uint64_t generation = 0;
  const core::Philox random(5);
  for (std::uint64_t step = 0; step < 200; ++step) {
    const std::uint64_t more = std::uint64_t{1} << random.below(step, 5);
    universe.advance(more);
    generation += more;
  }
  EXPECT_TRUE(same_cells(universe.tree(), later(pattern(acorn), generation)));
}

TEST(life_hashlife, collects_under_a_small_limit) {
  const LifeTree expected = later(pattern(acorn), 5206);
  Universe small({}, std::uint64_t{1} << 20, {});
  small.load(pattern(acorn));
  small.advance(5206);
  EXPECT_TRUE(same_cells(small.tree(), expected));
  EXPECT_GT(small.counts().collections, 0U);
  EXPECT_LE(small.counts().bytes, std::uint64_t{1} << 20);
  // Steps of one generation fill the memory with obsolete records.
  Universe slow({}, std::uint64_t{1} << 20, {});
  slow.load(pattern(acorn));
  for (int generation = 0; generation < 5206; ++generation) slow.advance(1);
  EXPECT_TRUE(same_cells(slow.tree(), expected));
  EXPECT_GT(slow.counts().collections, 0U);
}

TEST(life_hashlife, a_limit_that_is_too_small) {
  const LifeGrid cells = soup(3000, 3000, 0.4, 1);
  const LifeTree tree = life_tree(cells.view(), 0, 0);
  Universe load({}, std::uint64_t{1} << 20, {});
  EXPECT_TRUE(tests::contains(tests::error_of<OutOfMemoryError>([&] { load.load(tree); }),
                              "1048576 bytes (1 MiB) do not suffice"));
  Universe run({}, std::uint64_t{6} << 20, {});
  run.load(tree);
  EXPECT_TRUE(tests::contains(tests::error_of<OutOfMemoryError>([&] { run.advance(1 << 20); }), "do not suffice"));
}

// Simulates `ulimit -v`.
TEST(life_hashlife, little_address_space) {
  const auto in_use = [] {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  };
  if (in_use() >> 40 != 0) GTEST_SKIP() << "a sanitizer has taken the address space";
  rlimit before{};
  ::getrlimit(RLIMIT_AS, &before);
  const auto within = [&](std::uint64_t more, const LifeTree& tree) {
    const rlimit limit{in_use() + more, before.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
    std::string end;
    try {
      Universe universe({}, std::uint64_t{1} << 40, {});
      universe.load(tree);
      universe.advance(1 << 20);
      end = std::to_string(population(universe.tree()).low);
    } catch (const Error& error) {
      end = error.what();
    }
    ::setrlimit(RLIMIT_AS, &before);
    return end;
  };
  const LifeTree small = pattern(gun);
  const LifeGrid cells = soup(3000, 3000, 0.4, 1);
  const LifeTree large = life_tree(cells.view(), 0, 0);
  EXPECT_EQ(within(std::uint64_t{64} << 20, small), std::to_string(population(later(small, 1 << 20)).low));
  EXPECT_TRUE(tests::contains(within(std::uint64_t{8} << 20, large), "do not suffice"));
  EXPECT_TRUE(tests::contains(within(4 << 10, small), "address space (ulimit -v)"));
}

TEST(life_hashlife, stops_soon) {
  const LifeGrid cells = soup(2000, 2000, 0.4, 1);
  const LifeTree tree = life_tree(cells.view(), 0, 0);
  // Tests a stop during the construction of squares. With the smaller limit, the stop can also interrupt a garbage
  // collection.
  for (const std::uint64_t limit : {plenty, std::uint64_t{48} << 20})
    tests::expect_to_stop_soon(0.5, 1, [&](const std::stop_token& stop) {
      Universe universe({}, limit, stop);
      universe.load(tree);
      universe.advance(std::uint64_t{1} << 40);
    });
}

TEST(life_hashlife, refuses_births_in_empty_space) {
  EXPECT_THROW(Universe(life_rule("B03/S23"), plenty, {}), UnsupportedError);
}

TEST(life_tree, grids_and_back) {
  const core::Philox random(3);
  for (std::uint64_t trial = 0; trial < 40; ++trial) {
    const auto bits = random.block(trial);
    const LifeGrid cells = soup(1 + bits[0] % 100, 1 + bits[1] % 200, trial % 4 == 0 ? 0.01 : 0.5, trial);
    const std::int64_t left = static_cast<std::int64_t>(bits[2] % 1000) - 500;
    const std::int64_t top = static_cast<std::int64_t>(bits[3] % 1000) - 500;
    const LifeTree tree = life_tree(cells.view(), left, top);
    const LifeGrid back = grid_of(tree, {left, top, cells.width(), cells.height()});
    std::uint64_t alive = 0;
    for (std::int64_t y = 0; y < cells.height(); ++y)
      for (std::int64_t x = 0; x < cells.width(); ++x) {
        ASSERT_EQ(back(y, x), cells(y, x)) << trial << ": " << y << ", " << x;
        alive += cells(y, x) ? 1 : 0;
      }
    EXPECT_EQ(population(tree).low, alive);
    const auto blocks = blocks_of(tree, plenty).value();
    EXPECT_TRUE(same_cells(life_tree(blocks), tree));
    LifeTree larger = tree;
    expand(larger);
    EXPECT_TRUE(same_cells(larger, tree));
    const LifeBox box = bounding_box(tree).value();
    const LifeGrid inner = grid_of(tree, box);
    EXPECT_EQ(population(life_tree(inner.view(), box.left, box.top)).low, alive);
  }
}

}  // namespace
}  // namespace gradus::life_detail
