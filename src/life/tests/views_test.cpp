// Checks that every public call of Life refuses malformed views.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/life.hpp"
#include "life/options.hpp"
#include "tests/lies.hpp"
#include "tests/options.hpp"

namespace gradus {
namespace {

using tests::expect_usage;
using tests::impossible_executions;
using tests::most;

struct GridLie {
  LifeGridSpan grid;
  std::string says;
};

/// Returns malformed views of a grid of 10 x 100 cells; `words` has 20 elements.
std::vector<GridLie> lies(std::uint64_t* words) {
  auto* const odd = tests::pointer_at<std::uint64_t>(tests::address_of(words) + 1);
  auto* const last = tests::pointer_at<std::uint64_t>(~std::uintptr_t{0} - 7);
  return {{{nullptr, 10, 100, 2}, "null"},
          {{words, 10, 100, 1}, "cannot start 1 elements apart"},
          {{words, 10, 100, -2}, "cannot start -2 elements apart"},
          {{words, -10, 100, 2}, "not negative"},
          {{words, 10, -100, 2}, "not negative"},
          {{words, most, 100, 2}, "overflow"},
          {{words, 10, 100, most / 10}, "overflow"},
          {{words, 1, most, most / 64 + 1}, "2^48"},
          {{odd, 10, 100, 2}, "alignment"},
          {{last, 10, 100, 2}, "past the end"},
          {{words, 10, 100, 2, tests::nowhere()}, "kind of memory"}};
}

class LifeViews : public testing::Test {
 protected:
  alignas(16) std::uint64_t words_[20] = {0xF0F0, 1, 0x77, 2};
  alignas(16) std::uint64_t others_[20] = {};
  LifeGridSpan grid_{words_, 10, 100, 2};
  LifeOptions torus_{.boundary = LifeBoundary::torus};
};

TEST_F(LifeViews, AreRefusedWhereTheyLie) {
  EXPECT_NO_THROW(life(grid_, torus_));
  for (const GridLie& lie : lies(words_)) {
    expect_usage([&] { life(lie.grid, torus_); }, lie.says);
    expect_usage([&] { life(lie.grid, {}); }, "cells: ");
  }
  for (const GridLie& lie : lies(others_)) {
    LifeMemory memory;
    memory.cells = lie.grid;
    if (lie.grid.words == nullptr) continue;  // a null pointer means that no memory is given, so it is valid here
    expect_usage([&] { life(grid_, torus_, memory); }, lie.says);
  }
  for (const auto& lie : tests::vector_lies<std::uint64_t>(others_)) {
    LifeMemory memory;
    memory.hashes = lie.view;
    LifeOptions options = torus_;
    options.hashes = true;
    options.generations = 9;
    expect_usage([&] { life(grid_, options, memory); }, lie.says);
  }
  EXPECT_THROW(life(LifeGridView{words_, 10, 100, 2, MemoryPlace::on_gpu(0)}), UnsupportedError);
}

TEST_F(LifeViews, MemoryForResultsMustFit) {
  LifeMemory memory;
  memory.cells = {others_, 10, 100, 2};
  EXPECT_NO_THROW(life(grid_, torus_, memory));
  expect_usage([&] { life(grid_, {}, memory); }, "plane");
  memory.cells = {others_, 9, 100, 2};
  expect_usage([&] { life(grid_, torus_, memory); }, "it is for 9 x 100");
  memory.cells = grid_;
  EXPECT_NO_THROW(life(grid_, torus_, memory)) << "in place";
  memory.cells = {words_ + 2, 9, 100, 2};
  expect_usage([&] { life(LifeGridView{words_, 9, 100, 2}, torus_, memory); }, "overlaps");
  memory = {};
  memory.hashes = {others_, 2};
  expect_usage([&] { life(grid_, torus_, memory); }, "hashes is not set");
  LifeOptions options = torus_;
  options.hashes = true;
  EXPECT_NO_THROW(life(grid_, options, memory));
  options.generations = 2;
  expect_usage([&] { life(grid_, options, memory); }, "there is room for 2");
}

TEST_F(LifeViews, ValuesThatThereAreNotAreRefused) {
  for (const Execution& impossible : impossible_executions()) {
    expect_usage([&] { life(grid_, torus_, impossible); }, "");
    expect_usage([&] { life(LifePattern{}, torus_, 5, 5, impossible); }, "");
    expect_usage([&] { life_memory({.height = 5, .width = 5}, {}, impossible); }, "");
  }
  for (const LifeShape& shape :
       {LifeShape{.height = -1}, LifeShape{.height = most, .width = 2}, LifeShape{.width = -5}})
    expect_usage([&] { life_memory(shape, {}); }, "");
  LifeOptions options = torus_;
  for (const core::Option& row : core::option_rows<LifeOptions>)
    for (const core::Value& value : tests::refused_values(row)) {
      options = torus_;
      row.set(&options, value);
      expect_usage([&] { life(grid_, options); }, std::string(row.name));
      expect_usage([&] { life_memory({.height = 5, .width = 5}, options); }, std::string(row.name));
    }
  options = torus_;
  options.rule.birth = 512;
  expect_usage([&] { life(grid_, options); }, "rule");
  options = torus_;
  options.left = most;
  expect_usage([&] { life(grid_, options); }, "left");
  options.left = -most - 1;
  expect_usage([&] { life(grid_, options); }, "left");
  expect_usage([&] { life(grid_, torus_, {.variant = "sequentiel"}); }, "did you mean");
}

TEST_F(LifeViews, TreesThatBreakTheirRulesAreRefused) {
  const auto refused = [](const LifeTree& tree, const std::string& says) {
    LifePattern pattern;
    pattern.tree = tree;
    try {
      life(pattern, {}, 0, 0);
      ADD_FAILURE() << "nothing was thrown; expected: " << says;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  };
  const LifeTree::Node leaf{.level = 3, .cells = 7};
  refused({.nodes = {}, .root = 0}, "no nodes");
  refused({.nodes = {{}, leaf}, .root = 2}, "is the root");
  refused({.nodes = {{}, {.level = 2}}, .root = 1}, "level 2");
  refused({.nodes = {{}, leaf, {.level = 4, .quarters = {2, 0, 0, 0}}}, .root = 2}, "does not come before");
  refused({.nodes = {{}, leaf, {.level = 5, .quarters = {1, 0, 0, 0}}}, .root = 2}, "quarter of level 3");
}

}  // namespace
}  // namespace gradus
