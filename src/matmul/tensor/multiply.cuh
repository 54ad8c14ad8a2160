// Multiplies packed panels on tensor cores, and computes the rest of these products without tensor cores.
#pragma once

#include "matmul/tensor/packing.cuh"

namespace gradus::matmul_detail::tensor {

/// A product whose operands are packed in one or two FP16 parts.
struct HalfProduct : PackedProduct<float> {
  const int* a_lifts;
  const int* b_lifts;
  bool pairs;  ///< true if two adjacent elements of a row of C may be stored as a pair

  /// Returns the lifts of one product's matrix A.
  __device__ const int* a_lifts_of(std::int64_t batch) const {
    return a_lifts + (a_panels.matrices == 1 ? 0 : batch * product.m);
  }
  __device__ const int* b_lifts_of(std::int64_t batch) const {
    return b_lifts + (b_panels.matrices == 1 ? 0 : batch * product.n);
  }
};

/// Stores the final element of C. Removes the lifts and applies alpha and beta in double, so that the result is rounded
/// only once.
__device__ inline void finish_lifted(const Product<float>& product, float& cell, float total, int lift) {
  const double factor = __longlong_as_double(static_cast<long long>(1023 - lift) << 52);
  double value = static_cast<double>(product.alpha) * (static_cast<double>(total) * factor);
  if (product.beta != 0) value = fma(static_cast<double>(product.beta), static_cast<double>(cell), value);
  const auto rounded = static_cast<float>(value);
  cell = rounded == rounded ? rounded : __uint_as_float(0x7fc00000u);
}

/// Stores a warpgroup's 64 x 128 sums to C.
__device__ inline void store(const HalfProduct& packed, const Tiles::Place& tile, const cuda::WarpgroupSums& totals,
                             int warpgroup) {
  Product<float> product = packed.product;
  product.select(tile.batch);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
  const int* const a_lifts = packed.a_lifts_of(tile.batch);
  const int* const b_lifts = packed.b_lifts_of(tile.batch);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::int64_t row = tile.row * panel_lines + warpgroup * 64 + warp * 16 + half * 8 + lane / 4;
    if (row >= product.m) continue;
    const int row_lift = a_lifts[row];
    if (row_lift == odd_line) continue;
    const std::int64_t first_column = tile.column * panel_lines + lane % 4 * 2;
#pragma unroll
    for (int group = 0; group < 16; ++group) {
      const std::int64_t column = first_column + group * 8;
      if (column >= product.n) continue;
      const bool two = column + 1 < product.n;
      const int lifts[2] = {b_lifts[column], two ? b_lifts[column + 1] : odd_line};
      float* const cells = &product.c(row, column);
      if (packed.pairs && lifts[0] != odd_line && lifts[1] != odd_line) {
        float2 pair = product.beta != 0 ? *reinterpret_cast<const float2*>(cells) : float2{};
        finish_lifted(product, pair.x, totals[group][2 * half], row_lift + lifts[0]);
        finish_lifted(product, pair.y, totals[group][2 * half + 1], row_lift + lifts[1]);
        *reinterpret_cast<float2*>(cells) = pair;
        continue;
      }
#pragma unroll
      for (int next = 0; next < 2; ++next)
        if (lifts[next] != odd_line)
          finish_lifted(product, cells[next], totals[group][2 * half + next], row_lift + lifts[next]);
    }
  }
}

/// Consumer for multiply_panels(): two warpgroups, each of which computes 64 rows of the tile.
template <int parts>
class TensorCores {
 public:
  static constexpr bool loads_ahead = false;
  static constexpr int stages = 6 / parts;
  static constexpr int tile_bytes = parts * part_bytes;
  static constexpr int stage_bytes = 2 * tile_bytes;
  static constexpr std::size_t own_shared_bytes = 0;
  using Job = HalfProduct;

  __device__ TensorCores(const Job& job, unsigned char*)
      : job_(job), warpgroup_((static_cast<int>(threadIdx.x) - copying_threads) / 128) {
#pragma unroll
    for (int column = 0; column < 16; ++column)
#pragma unroll
      for (int index = 0; index < 4; ++index) totals_[column][index] = 0;
  }

  /// Computes sums = high high' and cross += high low' + low high', where the prime marks the parts of B.
  __device__ __forceinline__ void multiply(const unsigned char* tile, std::int64_t number) {
#ifdef GRADUS_WARPGROUP_PRODUCT
    const unsigned int address = cuda::shared_address(tile);
    const std::uint64_t a = cuda::tile_descriptor(address + warpgroup_ * 64 * cuda::tile_row_bytes);
    const std::uint64_t b = cuda::tile_descriptor(address + tile_bytes);
    constexpr std::uint64_t to_low = part_bytes / 16;
    cuda::begin_products();
#pragma unroll
    for (int step = 0; step < tile_depth / 16; ++step) {
      cuda::multiply_by_warpgroup(sums_, a + 2 * step, b + 2 * step, step > 0);
      if constexpr (parts == 2) {
        cuda::multiply_by_warpgroup(cross_, a + 2 * step, b + 2 * step + to_low, number > 0 || step > 0);
        cuda::multiply_by_warpgroup(cross_, a + 2 * step + to_low, b + 2 * step, 1);
      }
    }
    cuda::end_products();
    // During this wait, the other warpgroup's products keep the tensor cores busy.
    cuda::wait_for_products<0>();
    cuda::pin(sums_);
#endif
  }

  /// Adds the tensor core's sums of one tile to the totals. These sums are limited to one tile, because a tensor core
  /// truncates towards zero.
  __device__ __forceinline__ void add(std::int64_t, bool) {
#pragma unroll
    for (int column = 0; column < 16; ++column)
#pragma unroll
      for (int index = 0; index < 4; ++index) totals_[column][index] += sums_[column][index];
  }

  __device__ void finish(const Tiles::Place& place) {
#ifdef GRADUS_WARPGROUP_PRODUCT
    if constexpr (parts == 2) {
      cuda::pin(cross_);
#pragma unroll
      for (int column = 0; column < 16; ++column)
#pragma unroll
        for (int index = 0; index < 4; ++index)
          totals_[column][index] = fmaf(cross_[column][index], 1.0f / (1 << low_exponent), totals_[column][index]);
    }
#endif
    store(job_, place, totals_, warpgroup_);
  }

 private:
  const Job& job_;
  int warpgroup_;
  cuda::WarpgroupSums totals_;
  cuda::WarpgroupSums sums_;
  cuda::WarpgroupSums cross_;
};

// ---------------------------------------------------------------------------------------------------------------------
// Odd rows and columns, computed with the accuracy `strict` in chains of fma over blocks of k

constexpr int odd_threads = 128;

__device__ inline float strict_total(const Product<float>& product, std::int64_t row, std::int64_t column) {
  float total = -0.0f;
  for (std::int64_t block = 0; block < product.k; block += block_depth) {
    const std::int64_t end = min(block + block_depth, product.k);
    float sum = 0;
#pragma unroll 8
    for (std::int64_t inner = block; inner < end; ++inner)
      sum = fmaf(product.a(row, inner), product.b(inner, column), sum);
    total += sum;
  }
  return total;
}

/// The products of the batch that use an odd line.
struct Batches {
  std::int64_t first;
  std::int64_t end;

  __device__ Batches(const Panels& panels, std::int64_t line, std::int64_t batches)
      : first(panels.matrices == 1 ? 0 : line / panels.lines), end(panels.matrices == 1 ? batches : first + 1) {}
};

// Computes odd rows. Launch shape: one block per 128 columns of C. Blocks with different blockIdx.y take the odd rows
// in turn.
static __global__ void __launch_bounds__(odd_threads)
    multiply_odd_rows(const __grid_constant__ HalfProduct packed, std::int64_t batches, const std::int64_t* lines,
                      std::int64_t count) {
  const std::int64_t column = std::int64_t{blockIdx.x} * odd_threads + threadIdx.x;
  if (column >= packed.product.n) return;
  for (std::int64_t index = blockIdx.y; index < count; index += gridDim.y) {
    const std::int64_t line = lines[index];
    const Batches in(packed.a_panels, line, batches);
    for (std::int64_t batch = in.first; batch < in.end; ++batch) {
      Product<float> product = packed.product;
      product.select(batch);
      const std::int64_t row = line % product.m;
      product.finish(row, column, strict_total(product, row, column));
    }
  }
}

// Computes odd columns. Leaves out their elements in odd rows, which are already computed. Launch shape: one block per
// 128 rows of C.
static __global__ void __launch_bounds__(odd_threads)
    multiply_odd_columns(const __grid_constant__ HalfProduct packed, std::int64_t batches, const std::int64_t* lines,
                         std::int64_t count) {
  const std::int64_t row = std::int64_t{blockIdx.x} * odd_threads + threadIdx.x;
  if (row >= packed.product.m) return;
  for (std::int64_t index = blockIdx.y; index < count; index += gridDim.y) {
    const std::int64_t line = lines[index];
    const Batches in(packed.b_panels, line, batches);
    for (std::int64_t batch = in.first; batch < in.end; ++batch) {
      if (packed.a_lifts_of(batch)[row] == odd_line) continue;
      Product<float> product = packed.product;
      product.select(batch);
      const std::int64_t column = line % product.n;
      product.finish(row, column, strict_total(product, row, column));
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// The whole job

/// Computes C. If there are many odd lines, it may be faster to compute all of C with the accuracy `strict`. If so,
/// returns false and leaves C unchanged.
template <int parts>
bool multiply(const Problem<float>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const cuda::Stream& stream = problem.gpu->stream();
  cuda::Arena& memory = problem.gpu->memory();
  const Panels a = half_panels(problem.a.batch_stride == 0 ? 1 : problem.batches, problem.m, problem.k, parts);
  const Panels b = half_panels(problem.b.batch_stride == 0 ? 1 : problem.batches, problem.n, problem.k, parts);
  auto* const a_packed = memory.take<unsigned char>(a.bytes());
  auto* const b_packed = memory.take<unsigned char>(b.bytes());
  int* const a_lifts = memory.take<int>(a.matrices * a.lines);
  int* const b_lifts = memory.take<int>(b.matrices * b.lines);
  int* const counts = cuda::zero_part<int>(memory, 2, stream);
  const OddLines odd_rows{counts, memory.take<std::int64_t>(a.matrices * a.lines)};
  const OddLines odd_columns{counts + 1, memory.take<std::int64_t>(b.matrices * b.lines)};
  int odd[2];
  {
    const core::PhaseTimer timer(phases, "pack");
    const bool wide = has_vectors(problem.a);
    find_lifts_of_rows<<<static_cast<unsigned>(a.matrices * a.lines), packing_threads, 0, stream>>>(problem.a, a, wide,
                                                                                                    a_lifts, odd_rows);
    const std::int64_t columns = b.matrices * b.lines;
    auto* const extremes = reinterpret_cast<Extremes*>(cuda::zero_part<unsigned int>(memory, 2 * columns, stream));
    const std::int64_t looks =
        b.matrices * ((b.lines + 31) / 32) * ((b.depth + stretch_of_columns - 1) / stretch_of_columns);
    find_extremes_of_columns<<<static_cast<unsigned>(looks), packing_threads, 0, stream>>>(problem.b, b, extremes);
    find_lifts_of_columns<<<cuda::blocks_for(columns, packing_threads), packing_threads, 0, stream>>>(
        extremes, columns, b_lifts, odd_columns);
    pack_rows<parts>
        <<<static_cast<unsigned>(a.tiles()), packing_threads, 0, stream>>>(problem.a, a, wide, a_lifts, a_packed);
    pack_columns<parts>
        <<<static_cast<unsigned>(b.tiles()), packing_threads, 0, stream>>>(problem.b, b, b_lifts, b_packed);
    cuda::check_launch("pack");
    cuda::fetch_part<int>(counts, odd, stream);  // waits for all preceding work
  }
  const core::PhaseTimer timer(phases, "multiply");
  // The kernels for odd lines reach only a fraction of the speed of cuda_pipelined.
  constexpr double few = 1.0 / 64;
  const double share = static_cast<double>(odd[0]) / static_cast<double>(a.matrices * a.lines) +
                       static_cast<double>(odd[1]) / static_cast<double>(b.matrices * b.lines);
  if (share > few && odd[0] + odd[1] > 2) return false;

  const HalfProduct packed{{problem, a, b, a_packed, b_packed}, a_lifts, b_lifts, has_pairs(problem.c)};
  multiply_packed<TensorCores<parts>>(packed, execution, problem.stop, problem.batches, stream);
  const auto multiply_odd = [&](auto kernel, const Panels& panels, const OddLines& lines, int count,
                                std::int64_t across) {
    constexpr std::int64_t most_beside = 4096;
    const std::int64_t products = panels.matrices == 1 ? problem.batches : 1;  // number of products that contain a line
    // The kernel for odd columns reads A with a stride, which is far slower than Portions assumes.
    constexpr double slower = 64;
    cuda::Portions(problem.stop, first_portion<float>() / slower)
        .run(count, static_cast<double>(products * across) * static_cast<double>(problem.k), 1, stream,
             [&](std::int64_t first, std::int64_t number) {
               kernel<<<dim3(cuda::blocks_for(across, odd_threads),
                             static_cast<unsigned>(std::min(number, most_beside))),
                        odd_threads, 0, stream>>>(packed, problem.batches, lines.lines + first, number);
               cuda::check_launch("multiply_odd_lines");
             });
  };
  if (odd[0] > 0) multiply_odd(multiply_odd_rows, a, odd_rows, odd[0], problem.n);
  if (odd[1] > 0) multiply_odd(multiply_odd_columns, b, odd_columns, odd[1], problem.m);
  stream.wait();
  return true;
}

}  // namespace gradus::matmul_detail::tensor
