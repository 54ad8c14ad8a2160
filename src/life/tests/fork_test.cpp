// Runs jobs in forked children. The file has a single test, because the test depends on what the process did before the
// fork.
#include <gtest/gtest.h>

#include <string>

#include "life/cases.hpp"
#include "tests/helpers.hpp"
#include "tests/in_child.hpp"

namespace gradus::life_detail {
namespace {

TEST(Fork, AChildSaysThatItCannotRunAJobOfSeveralThreads) {
  const LifeGrid cells = soup(2000, 2000, 0.3, 1);
  LifeOptions options;
  options.boundary = LifeBoundary::torus;
  options.generations = 8;
  const auto population = [&](int threads, const std::string& variant) {
    const Execution by{.device = Device::cpu, .variant = variant, .threads = threads};
    return life(cells, options, by).population;
  };
  const LifePopulation right = population(1, "");
  tests::expect_children_without_threads(
      [&](int threads, const std::string& variant) { return population(threads, variant) == right; },
      tests::names_of(variants(), tests::runs_on_threads));
}

}  // namespace
}  // namespace gradus::life_detail
