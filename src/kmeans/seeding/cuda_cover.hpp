// GpuCover (gpu_points.hpp) with CUDA.
#pragma once

#include <memory>

#include "kmeans/gpu/cuda_points.hpp"

namespace gradus::kmeans_detail {

/// What GpuPoints::cover() gives.
template <class T>
std::unique_ptr<GpuCover<T>> make_cuda_cover(const CudaPoints<T>& points, std::int64_t first, bool groups);

}  // namespace gradus::kmeans_detail
