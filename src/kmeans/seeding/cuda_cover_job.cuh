// The kernel arguments that all kernels of CudaCover have in common (cuda_cover.hpp).
#pragma once

#include "kmeans/assign/cuda_row_distances.cuh"

namespace gradus::kmeans_detail {

/// The state of the steps of k-means++ that all ranks take together on their GPUs.
struct StepState {
  Word total;
  std::int64_t steps;  ///< number of steps so far
  std::int64_t best;   ///< the trial that the last step has chosen
  int has_ended;       ///< 1 after the last step: total is 0, or the integers need a new scale
  int adds_kept;       ///< 1 if the kept pairs suffice to add the best trial
  int adds_round;      ///< 1 if the best trial must be compared with all points again, in order to add it
};

template <class T>
struct CoverJob {
  DeviceRows<T> rows;
  DeviceRows<T> others;  ///< contains the chosen rows and the candidates; without other ranks, the same as `rows`
  const T* weights;      ///< null if all weights are 1
  double weight_unit;
  Quantizer quantize;
  double* closest;
  std::int32_t* owners;  ///< null if groups are not needed
  Word* block_sums;
  Word* group_sums;
  Word* total;
  std::int64_t first_block;  ///< the block of rows with which a launch of add_rows or find_gains begins
  std::int64_t end_block;

  __device__ double weighed(std::int64_t row, double distance) const {
    return weights ? static_cast<double>(weights[row]) * weight_unit * distance : distance;
  }
  __device__ Word integer(std::int64_t row) const { return quantize(weighed(row, closest[row])); }
  __device__ std::int64_t row_blocks() const { return (rows.count + block_rows - 1) / block_rows; }
};

}  // namespace gradus::kmeans_detail
