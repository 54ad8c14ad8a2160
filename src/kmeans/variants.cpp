// The k-means variants in the order of the ladder, and the choice among them.
#include <algorithm>
#include <string>
#include <vector>

#include "execution/gpu_support.hpp"
#include "kmeans/assign/cell_table.hpp"
#include "kmeans/assign/small_dim_assigner.hpp"
#include "kmeans/points/gpu_source.hpp"
#include "kmeans/points/gpu_tier.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

// clang-format off
#define GRADUS_LADDER(RUNG) \
  RUNG(sequential) \
  RUNG(openmp_shared) \
  RUNG(openmp_critical) \
  RUNG(openmp_locked) \
  RUNG(openmp_reduce) \
  RUNG(openmp_reduce_first_touch) \
  RUNG(openmp_reduce_first_touch_points) \
  RUNG(tbb_flow_graph) \
  RUNG(simd_float_sums) \
  RUNG(simd_small_dim) \
  RUNG(simd_grid) \
  RUNG(simd_large_dim) \
  RUNG(simd_bounds) \
  RUNG(cuda_naive) \
  RUNG(cuda_transpose) \
  RUNG(cuda_shared) \
  RUNG(cuda_unrolled) \
  RUNG(cuda_update_kernel) \
  RUNG(cuda_all_gpu) \
  RUNG(cuda_graph) \
  RUNG(cuda_small_dim) \
  RUNG(cuda_ordered) \
  RUNG(cuda_tensor)
// clang-format on

GRADUS_LADDER(GRADUS_DECLARE_RUNG)

namespace {

constexpr const Variant* table[] = {GRADUS_LADDER(GRADUS_POINT_TO_RUNG)};

}  // namespace

core::Rows<Variant> variants() { return table; }

namespace {

/// Returns shapes with few, some and many columns. Each variant that is specialised for certain numbers of columns
/// supports one of these shapes.
std::vector<Shape> usual_shapes() {
  std::vector<Shape> shapes;
  for (const std::int64_t dimensions : {2, 16, 128})
    for (const int element_bytes : {4, 8})
      shapes.push_back({.points = 1000000, .dimensions = dimensions, .clusters = 64, .element_bytes = element_bytes});
  return shapes;
}

}  // namespace

constinit const core::Ladder ladder = core::ladder_of<Room, variants, usual_shapes>;

namespace {

/// Returns the GPU memory for the points and for the memory of the variant and of k-means||, in bytes. Stored points
/// may be on the GPU in their type.
double gpu_bytes(const Variant& variant, const Shape& shape) {
  double needed = shape.bytes() + static_cast<double>(std::max(variant.memory(shape, 1).device,
                                                               gpu_cover_bytes(shape.points, shape.dimensions, true)));
  if (shape.weighted) needed += static_cast<double>(shape.points) * shape.element_bytes;
  if (shape.kept_bytes > 0 && reads_host_rows(variant))
    needed = std::min(needed, static_cast<double>(least_stored_bytes({shape, true, true, true})));
  return needed;
}

/// Returns true if every usable GPU has room for the job with one eighth to spare. The margin is needed because an
/// automatic choice of the GPU must not cause a job to be refused.
bool fits_gpu(const Variant& variant, const Shape& shape, const execution::Machine& machine) {
  const double needed = gpu_bytes(variant, shape);
  for (const execution::Gpu& gpu : machine.gpus())
    if (gpu.usable && needed > static_cast<double>(execution::plannable_memory(gpu))) return false;
  return true;
}

/// Returns true if the job cannot fit a GPU even if all its memory is free.
bool exceeds_gpu(const Variant& variant, const Shape& shape, const execution::Machine& machine) {
  const execution::Gpu gpu = execution::least_gpu(machine);
  return gpu.usable && gpu_bytes(variant, shape) > static_cast<double>(std::min(gpu.memory_bytes, gpu.granted_bytes));
}

/// Returns the best GPU variant for the shape, even if this variant cannot run here.
const Variant& choose_on_gpu(const Shape& shape, const execution::Machine& machine) {
  // If there are about 260,000 points or more and an ordered fit makes about thirty iterations, it takes less time to
  // order the points than the order saves (docs/decisions/0025).
  const bool ordered = shape.points >= 1 << 18 && cuda_ordered_rung.supports(shape, machine) &&
                       fits_gpu(cuda_ordered_rung, shape, machine);
  const Variant& few_columns = ordered ? cuda_ordered_rung : cuda_small_dim_rung;
  // With more than eight columns, both variants for few columns (cuda_ordered and cuda_small_dim) compute as if there
  // were sixteen columns. In this case, cuda_tensor is faster than both if there are more than about a hundred clusters
  // (docs/decisions/0021).
  // cuda_tensor can leave the points in host memory.
  const bool tiled = !few_columns.supports(shape, machine) || (shape.dimensions > 8 && shape.clusters > 128) ||
                     exceeds_gpu(few_columns, shape, machine);
  return tiled ? cuda_tensor_rung : few_columns;
}

}  // namespace

const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device) {
  // The first use of the GPU in a process takes about 0.3 s. If an iteration and the seeding need fewer multiply-adds
  // than the limits below, the CPU finishes each of them within this time (docs/decisions/0020).
  constexpr double worth_a_gpu = 1e9;
  constexpr double first_worth_a_gpu = 2e9;
  const bool much_work = shape.operations() >= worth_a_gpu || shape.first_operations() >= first_worth_a_gpu;
  if (device == Device::gpu || (device == Device::automatic && much_work)) {
    const Variant& variant = choose_on_gpu(shape, machine);
    const core::Support support = variant.supports(shape, machine);
    if (device == Device::gpu && !support)
      throw UnsupportedError("no exact GPU variant of kmeans takes this shape (" + std::string(variant.name) + ": " +
                             support.reason + "); use the CPU");
    if (support && (device == Device::gpu || fits_gpu(variant, shape, machine))) return variant;
  }
  // A grid of cells is worthwhile if there are at least about ten thousand points. In one dimension, it is also
  // worthwhile if there are many clusters. simd_bounds itself decides when it uses its bounds.
  constexpr std::int64_t many_on_a_line = 128;
  const std::int64_t points_for_grid = shape.dimensions == 1 ? 8192 : 32768;
  const bool grid = shape.dimensions <= grid_dim_limit &&
                    (shape.points >= points_for_grid || (shape.dimensions == 1 && shape.clusters > many_on_a_line));
  if (grid) return simd_grid_rung;
  return shape.dimensions <= small_dim_limit ? simd_small_dim_rung : simd_bounds_rung;
}

// Rough times on a Xeon with AVX-512. Only their order of magnitude matters.
double nanoseconds_of_a_pass(const Shape& shape) {
  const auto d = static_cast<double>(shape.dimensions);
  const double point = 30 + 0.125 * d * shape.element_bytes + 0.01 * d * static_cast<double>(shape.clusters);
  return point * static_cast<double>(shape.points);
}

double nanoseconds_of_distances(const Shape& shape) {
  const double distance = 2 + 0.1 * static_cast<double>(shape.dimensions);
  return distance * static_cast<double>(shape.points) * static_cast<double>(shape.clusters);
}

}  // namespace gradus::kmeans_detail
