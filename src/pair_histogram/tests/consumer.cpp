// Counts the pairs of six points in two groups and checks the result and an error, using only the public header.
#include <gradus/pair_histogram.hpp>

#include <cstdio>

int main() {
  const double points[6][2] = {{0, 0}, {1, 0}, {0, 1}, {10, 10}, {11, 10}, {10, 11}};
  gradus::PairHistogramOptions options;
  options.bins.bin_width = 1;
  options.bins.bins = 3;

  const gradus::PairHistogramResult result = gradus::pair_histogram(points, options);
  // Each group has two pairs at distance 1 and one at sqrt(2); all other pairs are farther than 3.
  if (result.counts.size() != 3 || result.counts[0] != 0 || result.counts[1] != 6 || result.counts[2] != 0 ||
      result.beyond != 9) {
    std::fprintf(stderr, "the pairs of six points are counted wrongly\n");
    return 1;
  }

  // A caller can catch the library's exceptions by type across the boundary of a shared library.
  options.bins.bin_width = -1;
  try {
    gradus::pair_histogram(points, options);
  } catch (const gradus::UsageError&) {
    return 0;
  }
  std::fprintf(stderr, "a negative bin width was not refused\n");
  return 1;
}
