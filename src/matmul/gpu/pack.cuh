// Packs unmodified elements into panels (panels.hpp), in the order that the panels' consumer requires.
#pragma once

#include "matmul/gpu/panels.cuh"

namespace gradus::matmul_detail {

inline constexpr int packing_threads = 256;

/// The position of a block's tile in the matrices.
struct PackedTile {
  std::int64_t matrix;
  std::int64_t first_line;
  std::int64_t first;

  __device__ explicit PackedTile(const Panels& panels) {
    const std::int64_t deep = panels.tiles_deep();
    const std::int64_t panel = blockIdx.x / deep;
    matrix = panel / panels.of_a_matrix();
    first_line = panel % panels.of_a_matrix() * panel_lines;
    first = blockIdx.x % deep * panels.tile_depth;
  }
};

// Packs tiles through shared memory: reads along the rows of the matrices and writes along the tile. The packed lines
// are rows of A if `along_k` is true, otherwise columns of B. Past the end of k, a tile is padded with `beyond`.
// A place of a tile holds the element of line Order::line(place) at k = Order::k(place). Groups of Order::depth values
// of k are stored together.
//
// Launch shape: one block per tile.
template <class T, class Order, bool along_k>
__global__ void __launch_bounds__(packing_threads)
    pack_plain(Operand<const T> matrices, Panels panels, T beyond, T* packed) {
  constexpr int deep = Order::depth;
  constexpr int together = panel_lines * deep;
  constexpr int in_a_row = along_k ? deep : panel_lines;
  static_assert(together % packing_threads == 0 && plain_tile_depth<T> % deep == 0);
  __shared__ T turned[panel_lines][deep + 1];
  const PackedTile place(panels);
  const T* const from = matrices.data + place.matrix * matrices.batch_stride;
  T* const tile = packed + std::int64_t{blockIdx.x} * panel_lines * plain_tile_depth<T>;
  for (int first = 0; first < plain_tile_depth<T>; first += deep) {
#pragma unroll
    for (int turn = 0; turn < together / packing_threads; ++turn) {
      const int index = turn * packing_threads + static_cast<int>(threadIdx.x);
      const int line = along_k ? index / in_a_row : index % in_a_row;
      const int inner = along_k ? index % in_a_row : index / in_a_row;
      const std::int64_t of_line = place.first_line + line;
      const std::int64_t of_k = place.first + first + inner;
      T value = of_k < panels.depth ? T(0) : beyond;
      if (of_k < panels.depth && of_line < panels.lines)
        value = along_k ? from[of_line * matrices.row_stride + of_k] : from[of_k * matrices.row_stride + of_line];
      turned[line][inner] = value;
    }
    __syncthreads();  // all elements have been written
#pragma unroll
    for (int turn = 0; turn < together / packing_threads; ++turn) {
      const int to = first * panel_lines + turn * packing_threads + static_cast<int>(threadIdx.x);
      tile[to] = turned[Order::line(to)][Order::k(to) - first];
    }
    __syncthreads();  // all elements have been read
  }
}

template <class T, class Order, bool along_k>
T* packed_operand(const Operand<const T>& matrices, const Panels& panels, T beyond, cuda::Arena& memory,
                  const cuda::Stream& stream) {
  T* const packed = reinterpret_cast<T*>(memory.take<unsigned char>(panels.bytes()));
  pack_plain<T, Order, along_k>
      <<<static_cast<unsigned>(panels.tiles()), packing_threads, 0, stream>>>(matrices, panels, beyond, packed);
  cuda::check_launch("pack_plain");
  return packed;
}

/// Packs both operands of a product, each in its own order.
template <class T, class OrderOfA, class OrderOfB>
PackedProduct<T> packed_product(const Problem<T>& problem, cuda::Arena& memory, const cuda::Stream& stream) {
  const auto a = plain_panels<T>(problem.a.batch_stride == 0 ? 1 : problem.batches, problem.m, problem.k);
  const auto b = plain_panels<T>(problem.b.batch_stride == 0 ? 1 : problem.batches, problem.n, problem.k);
  // Past the end of k, the products of the padding are -0, which changes no sum.
  const T* const packed_a = packed_operand<T, OrderOfA, true>(problem.a, a, T(-0.0), memory, stream);
  const T* const packed_b = packed_operand<T, OrderOfB, false>(problem.b, b, T(0), memory, stream);
  return {problem, a, b, reinterpret_cast<const unsigned char*>(packed_a),
          reinterpret_cast<const unsigned char*>(packed_b)};
}

}  // namespace gradus::matmul_detail
