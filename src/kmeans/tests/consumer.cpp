// Clusters six points of two groups and checks the result and an error, using only the public header.
#include <gradus/kmeans.hpp>
#include <gradus/variants.hpp>
#include <gradus/version.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

int main() {
  const std::vector<std::array<float, 2>> points{{0, 0}, {1, 0}, {0, 1}, {10, 10}, {11, 10}, {10, 11}};
  gradus::KMeansOptions options;
  options.clusters = 2;

  const gradus::KMeansResult<float> result = gradus::kmeans(points, options);
  for (int point = 0; point < 6; ++point) {
    if (result.labels[point] != result.labels[point / 3 * 3] || result.labels[0] == result.labels[3]) {
      std::fprintf(stderr, "point %d is in the wrong cluster\n", point);
      return 1;
    }
  }
  const double inertia = 2 * (4.0 / 3);  // in each of the two groups, the squared distances are 2/9, 5/9 and 5/9
  if (!(result.inertia > inertia - 1e-5 && result.inertia < inertia + 1e-5)) {
    std::fprintf(stderr, "the inertia is %.17g, not %.17g\n", result.inertia, inertia);
    return 1;
  }

  std::vector<std::int32_t> labels(points.size());
  const std::vector<float> weights(points.size(), 1.0F);
  gradus::kmeans(points, options, {.weights = weights, .labels = labels}, {.threads = 1});
  for (std::size_t point = 0; point < labels.size(); ++point) {
    if (labels[point] == result.labels[static_cast<std::int64_t>(point)]) continue;
    std::fprintf(stderr, "weights of one, one thread and labels in our own memory change the result\n");
    return 1;
  }

  if (gradus::version() != GRADUS_VERSION_STRING) {
    std::fprintf(stderr, "the versions of the library and its headers differ\n");
    return 1;
  }
#ifdef CONSUMER_EXPECTS_VERSION
  if (gradus::version() != CONSUMER_EXPECTS_VERSION) {
    std::fprintf(stderr, "the versions of the library and its package differ\n");
    return 1;
  }
#endif

  bool listed = false;
  for (const gradus::VariantRow& row : gradus::variants("kmeans"))
    listed = listed || (row.name == result.report.variant && row.supported);
  if (!listed) {
    std::fprintf(stderr, "%s ran, but is not among the variants that run here\n", result.report.variant.c_str());
    return 1;
  }

  // A program can catch the library's exceptions by their type, even if the library is a shared library.
  options.clusters = 0;
  try {
    gradus::kmeans(points, options);
  } catch (const gradus::UsageError&) {
    std::printf("clustered %d points with %s\n", 6, result.report.variant.c_str());
    return 0;
  }
  std::fprintf(stderr, "zero clusters were not refused\n");
  return 1;
}
