// The kernel that is compared. For each point of the plane, it finds the nearest of 16 centroids in float. If several
// are nearest, it takes the one with the lowest index.
#pragma once

#include <cstdint>

constexpr int clusters = 16;

/// `points` has `count` pairs (x, y), and `centroids` has 16 pairs. `count` must be a multiple of 16.
using Kernel = void(const float* points, std::int64_t count, const float* centroids, std::int32_t* labels);

Kernel nearest_highway;
Kernel nearest_stdx_sse4;
Kernel nearest_stdx_avx2;
Kernel nearest_stdx_avx512;
