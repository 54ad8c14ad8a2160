// kmeans_gpus(): the GPUs that pay for a fit, by a model that was fitted to iterations on 1, 2 and 4 NVIDIA H200
// (docs/decisions/ranks.md).
#include "kmeans/api/gpus_that_pay.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/float_environment.hpp"
#include "execution/request.hpp"
#include "gradus/kmeans_gpus.hpp"
#include "kmeans/api/estimate.hpp"
#include "kmeans/kmeans.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace kmeans_detail {

namespace {

/// Seconds on an NVIDIA H200, fitted by least squares of the relative error to kmeans-scaling-4-h200.json.
struct IterationModel {
  double fixed = 1.13e-4;      ///< of an iteration
  double word_byte = 9.3e-12;  ///< of a byte of the sums, which every GPU turns into centroids
  double row = 8.57e-11;       ///< of a row
  double product = 3.38e-15;   ///< of a multiply-add of a row, a cluster and a column
  double exchange = 2.63e-5;   ///< of a sum over several GPUs, without the time of its bytes
  double another_gpu = 0.12;   ///< of the start and connection of a further GPU
};
constexpr IterationModel h200;

}  // namespace

double iteration_seconds(const Shape& shape, const execution::GpuRates& rates, int count) {
  const auto n = static_cast<double>(shape.points);
  const auto d = static_cast<double>(shape.dimensions);
  const auto k = static_cast<double>(shape.clusters);
  const double word_bytes = 8 * k * (2 * d + 1);
  const double speed = std::reduce(rates.speeds.begin(), rates.speeds.begin() + count);
  const double seconds = h200.fixed + h200.word_byte * word_bytes + (h200.row * n + h200.product * n * d * k) / speed;
  if (count == 1) return seconds;
  const double sent = 2.0 * (count - 1) / count * word_bytes;
  return seconds + h200.exchange + sent / execution::bytes_per_second(rates.link);
}

double fit_seconds(const Shape& shape, std::int64_t iterations, const execution::GpuRates& rates, int count) {
  const double start = rates.are_started ? 0 : h200.another_gpu * (count - 1);
  return start + static_cast<double>(iterations) * iteration_seconds(shape, rates, count);
}

int gpus_that_pay(const Shape& shape, std::int64_t iterations, const execution::GpuRates& rates,
                  const std::function<bool(int)>& can_run) {
  constexpr double least_gain = 0.95;
  int best = 0;
  double best_seconds = std::numeric_limits<double>::infinity();
  for (int count = 1; count <= static_cast<int>(rates.speeds.size()); ++count) {
    if (!can_run(count)) continue;
    const double seconds = fit_seconds(shape, iterations, rates, count);
    if (!(seconds < least_gain * best_seconds)) continue;
    best = count;
    best_seconds = seconds;
  }
  return best;
}

namespace {

/// Returns the usable GPUs, beginning with the GPU of the request.
std::vector<int> usable_gpus(const Execution& execution) {
  std::vector<int> gpus;
  for (const execution::Gpu& gpu : execution::this_machine().gpus())
    if (gpu.usable) gpus.push_back(gpu.index);
  std::ranges::stable_partition(gpus, [&](int gpu) { return gpu == execution.gpu; });
  return gpus;
}

bool may_use_several(const KMeansShape& shape, const Execution& execution) {
  if (execution.communicator != nullptr || execution.device == Device::cpu || !shape.place.is_host()) return false;
  return execution.variant.empty() || core::find_variant(variants(), execution.variant, Room::name).on_ranks;
}

}  // namespace

}  // namespace kmeans_detail

std::vector<int> kmeans_gpus(const KMeansShape& shape, const KMeansOptions& options, const Execution& execution) {
  KMeansShape checked = shape;
  if (shape.points > 0) checked.points = std::max(shape.points, options.clusters);
  kmeans_memory(checked, options, execution);  // only for its checks of the arguments
  if (!execution.gpus.empty() || !room::may_use_several(shape, execution)) return execution.gpus;
  const room::Shape sizes = room::shape_of(shape, options);
  const std::vector<int> gpus = room::usable_gpus(execution);
  if (gpus.size() < 2) return {};
  const execution::GrantedMachine machine(execution);
  const auto can_run = [&](int count) {
    room::Shape part = sizes;
    part.points = (sizes.points + count - 1) / count;
    const room::Variant& variant = execution.variant.empty()
                                       ? room::choose(part, machine, Device::automatic)
                                       : core::find_variant(room::variants(), execution.variant, room::Room::name);
    return variant.backend == core::Backend::cuda && (count == 1 || variant.on_ranks);
  };
  // Most fits end far below the limit of their iterations.
  constexpr int usual_iterations = 20;
  const std::int64_t iterations =
      std::int64_t{std::min(options.max_iterations, usual_iterations)} * std::max(options.restarts, 1);
  const int count = room::gpus_that_pay(sizes, iterations, execution::rates_of(gpus), can_run);
  if (count < 2) return {};
  return {gpus.begin(), gpus.begin() + count};
}

}  // namespace gradus
