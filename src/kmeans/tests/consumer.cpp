// Clusters six points of two groups, and checks the answer and an error, through nothing but the public
// header.
#include <gradus/kmeans.hpp>
#include <gradus/variants.hpp>

#include <cstdio>
#include <string>

int main() {
  const float points[] = {0, 0, 1, 0, 0, 1, 10, 10, 11, 10, 10, 11};
  const gradus::MatrixView<const float> view(points, 6, 2);
  gradus::KMeansOptions<float> options;
  options.clusters = 2;

  const gradus::KMeansResult<float> result = gradus::kmeans(view, options);
  for (int point = 0; point < 6; ++point) {
    if (result.labels[point] != result.labels[point / 3 * 3] || result.labels[0] == result.labels[3]) {
      std::fprintf(stderr, "point %d is in the wrong cluster\n", point);
      return 1;
    }
  }
  const double inertia = 2 * (4.0 / 3);  // each group: 2/9 + 5/9 + 5/9
  if (!(result.inertia > inertia - 1e-5 && result.inertia < inertia + 1e-5)) {
    std::fprintf(stderr, "the inertia is %.17g, not %.17g\n", result.inertia, inertia);
    return 1;
  }

  bool listed = false;
  for (const gradus::VariantRow& row : gradus::variants("kmeans"))
    listed = listed || (row.name == result.report.variant && row.supported);
  if (!listed) {
    std::fprintf(stderr, "%s ran, but is not among the variants that run here\n", result.report.variant.c_str());
    return 1;
  }

  // An exception of the library is caught by its type across the border of a shared library.
  options.clusters = 0;
  try {
    gradus::kmeans(view, options);
  } catch (const gradus::UsageError&) {
    std::printf("clustered %d points with %s\n", 6, result.report.variant.c_str());
    return 0;
  }
  std::fprintf(stderr, "zero clusters were not refused\n");
  return 1;
}
