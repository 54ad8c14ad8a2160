// Runs two generations of a glider and a call that fails, using only the public header.
#include <gradus/life.hpp>

#include <cstdio>

int main() {
  gradus::LifeGrid cells(3, 3);
  cells.set(0, 1);
  cells.set(1, 2);
  for (int x = 0; x < 3; ++x) cells.set(2, x);
  gradus::LifeOptions options;
  options.generations = 4;
  const gradus::LifeResult result = gradus::life(cells, options);
  if (result.left != 1 || result.top != 1 || result.population.low != 5 || !result.cells(0, 1) || result.cells(0, 0)) {
    std::fprintf(stderr, "a glider has not moved by one cell in four generations\n");
    return 1;
  }

  // An exception keeps its type across the boundary of a shared library.
  try {
    gradus::life_rule("B2-a/S12");
  } catch (const gradus::UsageError&) {
    return 0;
  }
  std::fprintf(stderr, "a rule of Hensel's was not refused\n");
  return 1;
}
