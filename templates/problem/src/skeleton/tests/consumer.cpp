// Computes a sum with the public header only.
#include <gradus/skeleton.hpp>

#include <cstdio>
#include <vector>

int main() {
  const std::vector<std::uint64_t> values = {1, 2, 3};
  if (gradus::skeleton(values).sum == 6) return 0;
  std::fprintf(stderr, "1 + 2 + 3 is not 6\n");
  return 1;
}
