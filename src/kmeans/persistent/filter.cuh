// The float filter for the fit that stays on the GPU: rows, scaled coordinates, scores and labels. If the filter cannot
// decide the label of a point, the canonical distances decide. cuda_small_dim.cu derives the error bound of a score.
#pragma once

#include <cuda_runtime.h>

#include "kmeans/persistent/job.cuh"

namespace gradus::kmeans_detail {

/// Returns the number of columns. It is a compile-time constant if the kernel is compiled for exactly this number.
template <class T, int Columns, bool Exact>
__device__ int columns_of(const SmallDimJob<T>& job) {
  if constexpr (Exact) return Columns;
  else return job.d;
}

/// The layout of rows that consist of 16-byte units (quads). In shared memory, the quads of a stage are permuted. So if
/// eight lanes read the same quad of eight different rows, they access different banks.
template <class T, int Columns>
struct RowQuads {
  static constexpr int bytes = Columns * static_cast<int>(sizeof(T));
  // Number of quads per row: 1, 2, 4 or 8; 0 if a row does not consist of whole quads.
  static constexpr int count = bytes % 16 == 0 ? bytes / 16 : 0;
  static __device__ int place(int row, int quad) {
    if constexpr (count > 1) quad ^= row / (8 / count) & (count - 1);
    return row * count + quad;
  }
};

template <class T, int Columns, bool Exact>
__device__ void load_row(const SmallDimJob<T>& job, unsigned int point, T (&row)[Columns]) {
  using Quads = RowQuads<T, Columns>;
  if constexpr (Exact && Quads::count > 0) {
    const uint4* from = reinterpret_cast<const uint4*>(job.points) + std::size_t{point} * Quads::count;
    uint4 quads[Quads::count];
#pragma unroll
    for (int quad = 0; quad < Quads::count; ++quad) quads[quad] = from[quad];
    memcpy(row, quads, sizeof quads);
  } else {
    const int d = columns_of<T, Columns, Exact>(job);
#pragma unroll
    for (int dim = 0; dim < Columns; ++dim)
      row[dim] = dim < d ? job.points[std::size_t{point} * static_cast<std::size_t>(d) + dim] : T{0};
  }
}

/// Shifts a row, scales it to a magnitude of at most 1, and rounds it once to float.
template <class T, int Columns, bool Exact>
__device__ void to_filter(const SmallDimJob<T>& job, const T (&row)[Columns], float (&coordinates)[Columns]) {
#pragma unroll
  for (int dim = 0; dim < Columns; ++dim)
    coordinates[dim] =
        dim < columns_of<T, Columns, Exact>(job) ? static_cast<float>((row[dim] - job.middle[dim]) * job.scale) : 0.0f;
}

template <int Columns>
__device__ void load_entry(const float* filter, int cluster, float (&entry)[entry_floats<Columns>]) {
  const float4* quads = reinterpret_cast<const float4*>(filter) + cluster * (entry_floats<Columns> / 4);
#pragma unroll
  for (int quad = 0; quad < entry_floats<Columns> / 4; ++quad) {
    const float4 value = quads[quad];
    entry[4 * quad] = value.x;
    entry[4 * quad + 1] = value.y;
    entry[4 * quad + 2] = value.z;
    entry[4 * quad + 3] = value.w;
  }
}

template <int Columns>
__device__ float score(const float (&entry)[entry_floats<Columns>], const float (&coordinates)[Columns], float start) {
#pragma unroll
  for (int dim = 0; dim < Columns; ++dim) start = __fmaf_rn(coordinates[dim], entry[1 + dim], start);
  return start;
}

template <class T>
__device__ int label_of(const SmallDimJob<T>& job, std::int64_t point) {
  return job.wide_labels ? __ldcg(static_cast<const unsigned short*>(job.labels) + point)
                         : __ldcg(static_cast<const unsigned char*>(job.labels) + point);
}

template <class T>
__device__ void set_label(const SmallDimJob<T>& job, std::int64_t point, int label) {
  if (job.wide_labels) static_cast<unsigned short*>(job.labels)[point] = static_cast<unsigned short>(label);
  else static_cast<unsigned char*>(job.labels)[point] = static_cast<unsigned char>(label);
}

template <class T, int Columns, bool Exact>
__device__ double canonical(const T (&row)[Columns], const T* centroid, int columns) {
  const int d = Exact ? Columns : columns;
  double sum = 0;
#pragma unroll
  for (int dim = 0; dim < Columns; ++dim)
    if (dim < d) {
      const double difference = static_cast<double>(row[dim]) - static_cast<double>(centroid[dim]);
      sum = fma(difference, difference, sum);
    }
  return sum;
}

template <class T, int Columns>
__device__ void build_filter(const SmallDimJob<T>& job, const Shared<T, Columns>& shared) {
  for (int cluster = static_cast<int>(threadIdx.x); cluster < job.k; cluster += static_cast<int>(blockDim.x)) {
    float* entry = shared.filter + cluster * entry_floats<Columns>;
    double squares = 0;
    for (int dim = 0; dim < Columns; ++dim) {
      float coordinate = 0;
      if (dim < job.d)
        coordinate = static_cast<float>(
            (static_cast<double>(shared.centroids[cluster * job.d + dim]) - static_cast<double>(job.middle[dim])) *
            static_cast<double>(job.scale));
      entry[1 + dim] = -coordinate;
      squares += static_cast<double>(coordinate) * static_cast<double>(coordinate);
    }
    entry[0] = static_cast<float>(0.5 * squares);
  }
}

}  // namespace gradus::kmeans_detail
