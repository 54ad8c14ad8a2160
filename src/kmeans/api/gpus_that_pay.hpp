// A model of the time of a fit on several GPUs. It shows how many GPUs pay.
#pragma once

#include <cstdint>
#include <functional>

#include "execution/gpu_rates.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// Returns the seconds of an iteration on the first `count` of the GPUs.
double iteration_seconds(const Shape& shape, const execution::GpuRates& rates, int count);

/// Returns the part of a fit's seconds that depends on the number of GPUs: its iterations, and the start of all GPUs
/// but the first.
double fit_seconds(const Shape& shape, std::int64_t iterations, const execution::GpuRates& rates, int count);

/// Returns the number of GPUs, among those for which can_run(count) is true, with the least fit_seconds(). More GPUs
/// must save at least a twentieth. Returns 0 if there is no such number.
int gpus_that_pay(const Shape& shape, std::int64_t iterations, const execution::GpuRates& rates,
                  const std::function<bool(int)>& can_run);

}  // namespace gradus::kmeans_detail
