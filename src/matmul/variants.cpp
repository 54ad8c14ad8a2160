// THE table of variants of matrix multiplication, in the order of the ladder, and the choice among them.
#include "matmul/variants.hpp"

#include <string>

#include "core/checked.hpp"
#include "cuda/job.hpp"
#include "cuda/sizes.hpp"
#include "execution/gpu_support.hpp"
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
  constexpr std::uint64_t elements = (64 + 256) * 256;
  return {.host = elements * static_cast<std::uint64_t>(shape.element_bytes) * static_cast<std::uint64_t>(threads)};
}

Support on_gpu(const Shape&, const execution::Machine& machine) { return execution::supported_on_gpu(machine); }

// The matrices, and what they pass through on their way.
Memory gpu_memory(const Shape& shape, int) {
  return {.host = cuda::staging_bytes + shape.bring.host, .device = shape.bring.device};
}

Support pipelined_on_gpu(const Shape& shape, const execution::Machine& machine) {
  if (Support gpu = on_gpu(shape, machine); !gpu) return gpu;
  return execution::fits_shared(most_shared_bytes, "tiles", machine);
}

// With the sums of blocks of k that are found side by side.
Memory pipelined_memory(const Shape& shape, int threads) {
  Memory memory = gpu_memory(shape, threads);
  memory.device += sum_bytes(shape);
  return memory;
}

Support double_on_tensor_cores(const Shape& shape, const execution::Machine& machine) {
  if (shape.element_bytes != sizeof(double)) return Support::no("made for double; products of float by cuda_pipelined");
  if (Support gpu = on_gpu(shape, machine); !gpu) return gpu;
  if (Support fits = execution::fits_shared(tensor_f64_shared_bytes, "tiles", machine); !fits) return fits;
  return execution::has_warpgroup_products(machine);
}

// Panels of the tensor cores, and what `strict` takes where they cannot be used.
Support on_tensor_cores(const Shape& shape, const execution::Machine& machine) {
  if (shape.element_bytes != sizeof(float)) return Support::no("made for float; products of double by cuda_pipelined");
  if (Support gpu = pipelined_on_gpu(shape, machine); !gpu) return gpu;
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
  if constexpr (cuda::is_compiled)
    if (support) support = cublas_is_here();
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
    {.name = "cuda_tensor_f64",
     .summary = "double on the tensor cores, whose sums are the same chains",
     .backend = Backend::cuda,
     .device_input = true,
     .supports = double_on_tensor_cores,
     .memory = gpu_memory,
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

const Variant& choose(const Shape&, const execution::Machine&, Device device) {
  static const Variant& packed = core::find_variant(variants(), "simd_packed", Room::name);
  static const Variant& best_on_gpu = core::find_variant(variants(), "cuda_pipelined", Room::name);
  return device == Device::gpu ? best_on_gpu : packed;
}

}  // namespace gradus::matmul_detail
