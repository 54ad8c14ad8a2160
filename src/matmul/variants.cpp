// THE table of variants of matrix multiplication, in the order of the ladder, and the choice among them.
#include "matmul/variants.hpp"

#include <algorithm>
#include <string>

#include "core/checked.hpp"
#include "cuda/job.hpp"
#include "cuda/sizes.hpp"
#include "execution/gpu_support.hpp"
#include "matmul/gpu/panel_plan.hpp"
#include "matmul/gpu/plan.hpp"
#include "matmul/tensor/panels.hpp"

namespace gradus::matmul_detail {

namespace {

using core::Backend;
using core::Memory;
using core::Support;

// Sums and products rounded one by one, in the order of k.
constexpr core::Contract textbook{.kind = core::Contract::within, .bound = rounded_unit<float>, .of = "k |A| |B|"};

Memory row_of_sums(const Shape& shape, int threads) {
  return {.host = core::checked_multiply(
              core::checked_multiply(static_cast<std::uint64_t>(shape.n), static_cast<std::uint64_t>(threads), "sums"),
              static_cast<std::uint64_t>(shape.element_bytes), "sums")};
}

Memory tiles_of_threads(const Shape& shape, int threads) {
  constexpr std::uint64_t elements = std::uint64_t{64 + 256} * 256;
  return {.host = elements * static_cast<std::uint64_t>(shape.element_bytes) * static_cast<std::uint64_t>(threads)};
}

Support on_gpu(const Shape&, const execution::Machine& machine) { return execution::supported_on_gpu(machine); }

// The matrices, and what they pass through on their way.
Memory gpu_memory(const Shape& shape, int) {
  return {.host = cuda::staging_bytes + shape.bring.host, .device = shape.bring.device};
}

std::uint64_t packed_bytes(const Shape& shape) {
  return plain_panel_bytes(shape.batches, shape.m, shape.n, shape.k, shape.element_bytes);
}

Support pipelined_on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (Support gpu = on_gpu(shape, machine); !gpu) return gpu;
  return execution::fits_shared(most_shared_bytes, "tiles", machine);
}

// Packed operands, or sums of blocks of k that are found side by side.
Memory pipelined_memory(const Shape& shape, int threads) {
  Memory memory = gpu_memory(shape, threads);
  memory.device += shape.element_bytes == sizeof(float) && packing_pays(shape) ? packed_bytes(shape) : sum_bytes(shape);
  return memory;
}

Memory packed_gpu_memory(const Shape& shape, int threads) {
  Memory memory = gpu_memory(shape, threads);
  if (shape.element_bytes == sizeof(double)) memory.device += packed_bytes(shape);
  return memory;
}

Support double_on_tensor_cores(const Shape& shape, const execution::Machine& machine) {
  if (Support gpu = on_gpu(shape, machine); !gpu) return gpu;
  if (shape.element_bytes != sizeof(double)) return Support::no("made for double; products of float by cuda_pipelined");
  return execution::has_warpgroup_products(machine);
}

PanelNeeds any_panels(const execution::Machine& machine) {
  return {.working = [&machine](const Shape& step) { return working_memory_there(step, machine); }};
}

Support panels_on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (Support gpu = pipelined_on_gpu(shape, machine); !gpu) return gpu;
  if (shape.operations() > 0 &&
      least_panel_bytes(shape, any_panels(machine)) > execution::to_plan_with(execution::least_gpu(machine)))
    return Support::no("panels of " + std::to_string(panel_granule) + " rows and columns do not fit the GPU's memory");
  return Support::yes();
}
// What has to be there; with more it travels less.
Memory panels_memory(const Shape& shape, int) {
  const std::uint64_t least =
      shape.operations() > 0 ? least_panel_bytes(shape, any_panels(execution::this_machine())) : 0;
  return {.host = cuda::staging_bytes + shape.bring.host, .device = least};
}

// Panels of the tensor cores, and what `strict` takes where they cannot be used.
Support on_tensor_cores(const Shape& shape, const execution::Machine& machine) {
  if (Support gpu = pipelined_on_gpu(shape, machine); !gpu) return gpu;
  if (shape.element_bytes != sizeof(float)) return Support::no("made for float; products of double by cuda_tensor_f64");
  return execution::has_warpgroup_products(machine);
}
template <int parts>
Memory panels_memory(const Shape& shape, int threads) {
  Memory memory = pipelined_memory(shape, threads);
  if (shape.element_bytes == sizeof(float)) memory.device += tensor::bytes_of(shape, parts);
  return memory;
}

Support with_cublas(const Shape& shape, const execution::Machine& machine) {
  Support support = on_gpu(shape, machine);
  if (support) support = cublas_is_here();
  return support;
}

Support with_emulation(const Shape& shape, const execution::Machine& machine) {
  if (shape.element_bytes != sizeof(double)) return Support::no("made for double; products of float by cublas");
  Support support = on_gpu(shape, machine);
  if (support) support = cublas_emulates();
  return support;
}

Support with_openblas(const Shape&, const execution::Machine&) { return openblas_is_here(); }

constexpr Variant table[] = {
    {.name = "sequential",
     .summary = "the textbook's three loops on one core",
     .contract = textbook,
     .backend = Backend::sequential,
     .run = {sequential<float>, sequential<double>}},
    {.name = "openmp",
     .summary = "rows among threads; columns innermost, side by side in memory",
     .contract = textbook,
     .backend = Backend::openmp,
     .memory = row_of_sums,
     .run = {openmp<float>, openmp<double>}},
    {.name = "openmp_tiled",
     .summary = "tiles that stay in the caches until all that need them have used them",
     .contract = textbook,
     .backend = Backend::openmp,
     .memory = tiles_of_threads,
     .run = {openmp_tiled<float>, openmp_tiled<double>}},
    {.name = "simd_packed",
     .summary = "packed panels, sums in vector registers, each level of the memory with a block of its own",
     .backend = Backend::simd,
     .memory = packed_memory,
     .run = {simd_packed<float>, simd_packed<double>}},
    {.name = "openblas",
     .summary = "the library OpenBLAS, for comparison",
     .contract = textbook,
     .backend = Backend::openmp,
     .deterministic = false,
     .rival = true,
     .supports = with_openblas,
     .run = {openblas<float>, openblas<double>}},
    {.name = "cuda_naive",
     .summary = "a GPU thread for each element",
     .backend = Backend::cuda,
     .device_input = true,
     .supports = on_gpu,
     .memory = gpu_memory,
     .run = GRADUS_CUDA_RUNS(cuda_naive<float>, cuda_naive<double>)},
    {.name = "cuda_tiled",
     .summary = "32 x 32 elements share tiles of A and B in shared memory",
     .backend = Backend::cuda,
     .device_input = true,
     .supports = on_gpu,
     .memory = gpu_memory,
     .run = GRADUS_CUDA_RUNS(cuda_tiled<float>, cuda_tiled<double>)},
    {.name = "cuda_unrolled",
     .summary = "the innermost loop written out, its operands in registers some at a time",
     .backend = Backend::cuda,
     .device_input = true,
     .supports = on_gpu,
     .memory = gpu_memory,
     .run = GRADUS_CUDA_RUNS(cuda_unrolled<float>, cuda_unrolled<double>)},
    {.name = "cuda_hoisted",
     .summary = "addresses and comparisons with borders before the loops",
     .backend = Backend::cuda,
     .device_input = true,
     .supports = on_gpu,
     .memory = gpu_memory,
     .run = GRADUS_CUDA_RUNS(cuda_hoisted<float>, cuda_hoisted<double>)},
    {.name = "cuda_register_tiled",
     .summary = "64 elements of a thread in registers: a quarter of a load for each multiply-add",
     .backend = Backend::cuda,
     .device_input = true,
     .supports = on_gpu,
     .memory = gpu_memory,
     .run = GRADUS_CUDA_RUNS(cuda_register_tiled<float>, cuda_register_tiled<double>)},
    {.name = "cuda_warp_tiled",
     .summary = "tiles of warps, 128 bits with every load",
     .backend = Backend::cuda,
     .device_input = true,
     .supports = on_gpu,
     .memory = gpu_memory,
     .run = GRADUS_CUDA_RUNS(cuda_warp_tiled<float>, cuda_warp_tiled<double>)},
    {.name = "cuda_pipelined",
     .summary = "copies ahead of the arithmetic; a kernel for each kind of shape, long k split by its blocks",
     .backend = Backend::cuda,
     .device_input = true,
     .supports = pipelined_on_gpu,
     .memory = pipelined_memory,
     .run = GRADUS_CUDA_RUNS(cuda_pipelined<float>, cuda_pipelined<double>)},
    {.name = "cuda_panels",
     .summary = "host matrices in panels, which come and go while the GPU is at work; also larger than its memory",
     .backend = Backend::cuda,
     .supports = panels_on_gpu,
     .memory = panels_memory,
     .run = GRADUS_CUDA_RUNS(cuda_panels<float>, cuda_panels<double>)},
    {.name = "cuda_tensor_f64",
     .summary = "double on the tensor cores, whose sums are the same chains",
     .backend = Backend::cuda,
     .device_input = true,
     .supports = double_on_tensor_cores,
     .memory = packed_gpu_memory,
     .run = GRADUS_CUDA_RUNS(cuda_tensor_f64<float>, cuda_tensor_f64<double>)},
    {.name = "cuda_tensor_fast",
     .summary = "the tensor cores, one pass in FP16 with scaled rows and columns: 11 bits of each factor",
     .contract = {.kind = core::Contract::within, .bound = 9.8e-4, .of = "|A| |B|"},
     .backend = Backend::cuda,
     .device_input = true,
     .supports = on_tensor_cores,
     .memory = panels_memory<1>,
     .facts = {.accuracy = MatmulAccuracy::fast},
     .run = GRADUS_CUDA_RUNS(cuda_tensor_fast<float>, cuda_tensor_fast<double>)},
    {.name = "cuda_tensor_split",
     .summary = "the tensor cores, three passes over two parts of each float: the accuracy of float",
     .contract = {.kind = core::Contract::within, .bound = rounded_unit<float>, .of = "(208 + k / 42) |A| |B|"},
     .backend = Backend::cuda,
     .device_input = true,
     .supports = on_tensor_cores,
     .memory = panels_memory<2>,
     .facts = {.accuracy = MatmulAccuracy::split},
     .run = GRADUS_CUDA_RUNS(cuda_tensor_split<float>, cuda_tensor_split<double>)},
    {.name = "cublas",
     .summary = "NVIDIA's library cuBLAS, for comparison",
     .contract = textbook,
     .backend = Backend::cuda,
     .deterministic = false,
     .device_input = true,
     .rival = true,
     .supports = with_cublas,
     .memory = gpu_memory,
     .run = GRADUS_CUDA_RUNS(cublas<float>, cublas<double>)},
    {.name = "cublas_emulated",
     .summary = "the same, double by passes over slices of whole numbers",
     .contract = textbook,
     .backend = Backend::cuda,
     .deterministic = false,
     .device_input = true,
     .rival = true,
     .supports = with_emulation,
     .memory = gpu_memory,
     .run = GRADUS_CUDA_RUNS(cublas_emulated<float>, cublas_emulated<double>)},
};

}  // namespace

std::span<const Variant> variants() { return table; }

constinit const core::Ladder ladder{
    .problem = Room::name,
    .variants = [] { return std::vector<core::VariantInfo>(variants().begin(), variants().end()); },
    .support =
        [](std::string_view name, const execution::Machine& machine) {
          constexpr Shape usual[] = {{.m = 1000, .n = 1000, .k = 1000},
                                     {.m = 1000, .n = 1000, .k = 1000, .element_bytes = sizeof(double)}};
          return core::supports_any(core::find_variant(variants(), name, Room::name), usual, machine);
        },
};

namespace {

const Variant& find(std::string_view name) { return core::find_variant(variants(), name, Room::name); }

/// Whether C has tiles enough for the multiprocessors; then packing pays, however small k is.
bool tensor_f64_pays(const Shape& shape) {
  constexpr double enough = 40;
  constexpr std::int64_t half_filled = panel_lines / 2;
  const double tiles = static_cast<double>(shape.batches) * static_cast<double>(pieces(shape.m, panel_lines)) *
                       static_cast<double>(pieces(shape.n, panel_lines));
  return tiles >= enough && std::min(shape.m, shape.n) >= half_filled;
}

/// Whether the tensor cores gain more than it takes to split and pack.
bool panels_of_halves_pay(const Shape& shape) { return packing_pays(shape); }

/// Whether a GPU is done sooner, with getting ready and the way there and back, than the processor.
bool gpu_pays(const Shape& shape, const execution::Machine& machine) {
  // Measured (docs/results): a core's share of simd_packed, an H200, and its link.
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
  return variant.memory(shape, 1).device <= execution::to_plan_with(execution::least_gpu(machine));
}

}  // namespace

const Variant& choose_there(const Shape& shape, const execution::Machine& machine) {
  const bool in_parts = shape.accuracy == MatmulAccuracy::split || shape.accuracy == MatmulAccuracy::fast;
  const Variant& tensor = find(shape.element_bytes == sizeof(double)    ? "cuda_tensor_f64"
                               : shape.accuracy == MatmulAccuracy::fast ? "cuda_tensor_fast"
                                                                        : "cuda_tensor_split");
  const bool pays =
      shape.element_bytes == sizeof(double) ? tensor_f64_pays(shape) : in_parts && panels_of_halves_pay(shape);
  static const Variant& pipelined = find("cuda_pipelined");
  return pays && tensor.supports(shape, machine) ? tensor : pipelined;
}

std::uint64_t working_memory_there(const Shape& shape, const execution::Machine& machine) {
  return choose_there(shape, machine).memory(shape, 1).device;
}

const Variant& choose(const Shape& shape, const execution::Machine& machine, Device device) {
  static const Variant& packed = find("simd_packed");
  const bool is_wanted = device == Device::gpu;
  if (!is_wanted && (device == Device::cpu || !gpu_pays(shape, machine) || !execution::supported_on_gpu(machine)))
    return packed;
  const Variant& whole = choose_there(shape, machine);
  if (fits_gpu(whole, shape, machine)) return whole;
  static const Variant& panels = find("cuda_panels");
  if (panels.supports(shape, machine)) return panels;
  return is_wanted ? whole : packed;
}

}  // namespace gradus::matmul_detail
