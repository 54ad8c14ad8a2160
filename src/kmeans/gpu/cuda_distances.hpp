// Distances of points on a GPU to centroids: GpuPoints::own_squared_distances() and distances() (gpu_points.hpp), which
// say what the arguments are.
#pragma once

#include "kmeans/gpu/cuda_points.hpp"

namespace gradus::kmeans_detail {

template <class T>
void own_squared_distances_on_gpu(const DeviceRows<T>& points, MatrixView<const T> centroids,
                                  const std::int32_t* labels, double* out, CudaSession& session);

template <class T>
void distances_on_gpu(const DeviceRows<T>& points, MatrixView<const T> centroids, Metric metric,
                      MatrixView<T> distances, CudaSession& session);

}  // namespace gradus::kmeans_detail
