// The kernel of the comparison: for each point of the plane the lowest of the nearest of 16 centroids, in float.
#pragma once

#include <cstdint>

constexpr int clusters = 16;

/// points: count pairs (x, y); centroids: 16 pairs; count is a multiple of 16.
using Kernel = void(const float* points, std::int64_t count, const float* centroids, std::int32_t* labels);

Kernel nearest_highway;
Kernel nearest_stdx_sse4;
Kernel nearest_stdx_avx2;
Kernel nearest_stdx_avx512;
