// The ladder of matrix multiplication in order, and the choice of a variant.
#include "matmul/variants.hpp"

#include <algorithm>
#include <vector>

#include "execution/gpu_support.hpp"
#include "matmul/gpu/plan.hpp"

namespace gradus::matmul_detail {

// clang-format off
#define GRADUS_LADDER(RUNG) \
  RUNG(sequential) \
  RUNG(openmp) \
  RUNG(openmp_tiled) \
  RUNG(simd_packed) \
  RUNG(openblas) \
  RUNG(cuda_naive) \
  RUNG(cuda_tiled) \
  RUNG(cuda_unrolled) \
  RUNG(cuda_hoisted) \
  RUNG(cuda_register_tiled) \
  RUNG(cuda_warp_tiled) \
  RUNG(cuda_pipelined) \
  RUNG(cuda_panels) \
  RUNG(cuda_tensor_f64) \
  RUNG(cuda_tensor_fast) \
  RUNG(cuda_tensor_split) \
  RUNG(cublas) \
  RUNG(cublas_emulated)
// clang-format on

GRADUS_LADDER(GRADUS_DECLARE_RUNG)

namespace {

constexpr const Variant* table[] = {GRADUS_LADDER(GRADUS_POINT_TO_RUNG)};

}  // namespace

core::Rows<Variant> variants() { return table; }

namespace {

std::vector<Shape> usual_shapes() {
  return {{.m = 1000, .n = 1000, .k = 1000}, {.m = 1000, .n = 1000, .k = 1000, .element_bytes = sizeof(double)}};
}

}  // namespace

constinit const core::Ladder ladder = core::ladder_of<Room, variants, usual_shapes>;

namespace {

/// Returns true if C has enough tiles to occupy the multiprocessors. If so, packing for cuda_tensor_f64 pays for every
/// k, however small.
bool tensor_f64_pays(const Shape& shape) {
  constexpr double enough = 40;
  constexpr std::int64_t half_filled = panel_lines / 2;
  const double tiles = static_cast<double>(shape.batches) * static_cast<double>(pieces(shape.m, panel_lines)) *
                       static_cast<double>(pieces(shape.n, panel_lines));
  return tiles >= enough && std::min(shape.m, shape.n) >= half_filled;
}

/// Returns true if the tensor cores save more time than it takes to split the elements into FP16 and to pack them.
bool panels_of_halves_pay(const Shape& shape) { return packing_pays(shape); }

/// Returns true if a GPU finishes before the CPU, although the GPU's start-up and the transfers take time.
bool gpu_pays(const Shape& shape, const execution::Machine& machine) {
  // Three rates: of simd_packed per core, of an H200, and of the link between CPU and GPU.
  const double of_a_core = shape.element_bytes == sizeof(float) ? 5e10 : 2.5e10;
  constexpr double of_gpu = 2e13;
  constexpr double bytes_per_second = 2e10;
  const auto area = [](std::int64_t rows, std::int64_t columns) {
    return static_cast<double>(rows) * static_cast<double>(columns);
  };
  const double bytes = static_cast<double>(shape.batches) * shape.element_bytes *
                       (area(shape.m, shape.k) + area(shape.k, shape.n) + area(shape.m, shape.n));
  return shape.operations() / (of_a_core * machine.layout().physical_cores) >
         execution::gpu_ready_seconds + bytes / bytes_per_second + shape.operations() / of_gpu;
}

bool fits_gpu(const Variant& variant, const Shape& shape, const execution::Machine& machine) {
  return variant.memory(shape, 1).device <= execution::plannable_memory(execution::least_gpu(machine));
}

}  // namespace

const Variant& choose_there(const Shape& shape, const execution::Machine& machine) {
  const bool in_parts = shape.accuracy == MatmulAccuracy::split || shape.accuracy == MatmulAccuracy::fast;
  const Variant& tensor = shape.element_bytes == sizeof(double)    ? cuda_tensor_f64_rung
                          : shape.accuracy == MatmulAccuracy::fast ? cuda_tensor_fast_rung
                                                                   : cuda_tensor_split_rung;
  const bool pays =
      shape.element_bytes == sizeof(double) ? tensor_f64_pays(shape) : in_parts && panels_of_halves_pay(shape);
  return pays && tensor.supports(shape, machine) ? tensor : cuda_pipelined_rung;
}

std::uint64_t working_memory_there(const Shape& shape, const execution::Machine& machine) {
  return choose_there(shape, machine).memory(shape, 1).device;
}

const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device) {
  const bool is_wanted = device == Device::gpu;
  if (!is_wanted && (device == Device::cpu || !gpu_pays(shape, machine) || !execution::supported_on_gpu(machine)))
    return simd_packed_rung;
  const Variant& whole = choose_there(shape, machine);
  if (fits_gpu(whole, shape, machine)) return whole;
  if (cuda_panels_rung.supports(shape, machine)) return cuda_panels_rung;
  return is_wanted ? whole : simd_packed_rung;
}

}  // namespace gradus::matmul_detail
