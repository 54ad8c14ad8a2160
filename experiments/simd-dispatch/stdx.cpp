// The build compiles this file once per instruction set, with a different function name each time. main.cpp selects a
// function at run time.
#include <experimental/simd>
#include <limits>

#include "kernel.hpp"

namespace stdx = std::experimental;

void NAME(const float* points, std::int64_t count, const float* centroids, std::int32_t* labels) {
  using Floats = stdx::native_simd<float>;
  using Integers = stdx::rebind_simd_t<std::int32_t, Floats>;
  constexpr auto lanes = static_cast<std::int64_t>(Floats::size());
  for (std::int64_t point = 0; point < count; point += lanes) {
    // Loads the coordinates one by one, because std::experimental::simd cannot separate x and y while loading.
    const Floats x([&](auto lane) { return points[2 * (point + lane)]; });
    const Floats y([&](auto lane) { return points[2 * (point + lane) + 1]; });
    Floats best = std::numeric_limits<float>::max();
    Floats label = 0;  // float, because a mask from a comparison of floats cannot select integers
    for (int cluster = 0; cluster < clusters; ++cluster) {
      const Floats dx = x - centroids[2 * cluster];
      const Floats dy = y - centroids[2 * cluster + 1];
      const Floats distance = stdx::fma(dy, dy, Floats(dx * dx));
      const auto nearer = distance < best;
      stdx::where(nearer, best) = distance;
      stdx::where(nearer, label) = static_cast<float>(cluster);
    }
    stdx::static_simd_cast<Integers>(label).copy_to(labels + point, stdx::vector_aligned);
  }
}
