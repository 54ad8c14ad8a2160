// Launches kernels that multiply packed operands. The rung supplies the code that multiplies tiles and processes the
// sums.
#pragma once

#include "cuda/warpgroup.cuh"
#include "matmul/gpu/panels.hpp"
#include "matmul/gpu/product.cuh"

namespace gradus::matmul_detail {

template <class T>
struct PackedProduct {
  Product<T> product;
  Tiles tiles;  ///< 128 x 128 tiles of C
  Panels a_panels;
  Panels b_panels;
  const unsigned char* a;
  const unsigned char* b;

  PackedProduct(const Problem<T>& problem, const Panels& a_in, const Panels& b_in, const unsigned char* packed_a,
                const unsigned char* packed_b)
      : product(problem), tiles(tiles_of(problem, panel_lines, panel_lines)), a_panels(a_in), b_panels(b_in),
        a(packed_a), b(packed_b) {}

  __device__ static const unsigned char* panel(const unsigned char* packed, const Panels& panels, std::int64_t batch,
                                               std::int64_t number) {
    const std::int64_t matrix = panels.matrices == 1 ? 0 : batch;
    return packed + (matrix * panels.of_a_matrix() + number) * panels.tiles_deep() * panels.tile_bytes;
  }

#ifdef GRADUS_WARPGROUP_PRODUCT
  /// Issues the copies for a tile of C, one step of k after another.
  class Source {
   public:
    __device__ Source(const PackedProduct& packed, const Tiles::Place& place)
        : a_(panel(packed.a, packed.a_panels, place.batch, place.row)),
          b_(panel(packed.b, packed.b_panels, place.batch, place.column)),
          bytes_(static_cast<unsigned int>(packed.a_panels.tile_bytes)) {}
    /// Issues the copies for the next step. In the stage, B follows A.
    __device__ void order(unsigned char* stage, cuda::Barrier& filled) {
      filled.arrive_for(2 * bytes_);
      filled.copy(stage, a_, bytes_);
      filled.copy(stage + bytes_, b_, bytes_);
      a_ += bytes_;
      b_ += bytes_;
    }

   private:
    const unsigned char* a_;
    const unsigned char* b_;
    unsigned int bytes_;
  };
#endif
};

/// The threads of a block: one warpgroup copies, two multiply.
inline constexpr int copying_threads = 128;
inline constexpr int multiplying_threads = 256;
inline constexpr int packed_threads = copying_threads + multiplying_threads;

/// Returns the number of bytes of shared memory that a block needs for stages, the consumer's memory, and padding for
/// alignment to 1024 bytes.
template <class Consumer>
constexpr std::size_t packed_shared_bytes =
    std::size_t{1024} + std::size_t{Consumer::stages} * Consumer::stage_bytes + Consumer::own_shared_bytes;

// Multiplies packed operands. For each stage, one thread issues the copies of a tile of A's panel and a tile of B's
// panel. Two warpgroups multiply the tiles and add the sums. Each stage has two barriers, `filled` and `emptied`. No
// barrier stops the whole block, so some warps multiply while others add or store. Most registers are assigned to the
// multiplying warps.
//
// A Consumer has the constants `stages`, `stage_bytes` and `own_shared_bytes`. Consumer::Job is PackedProduct or a
// class derived from PackedProduct with another Source. The constructor of a Consumer takes the job and the consumer's
// part of shared memory. A Consumer has the functions
//   multiply(stage, number)   multiplies the tiles that Source::order() has brought
//   add(number, is_last)      processes the sums after the stage is released
//   finish(place)             stores the tile of C
// A Consumer with `loads_ahead` also has load(stage) for the first stage. In this case, multiply(stage, next stage,
// wait) loads from the next stage after calling wait().
//
// Launch shape: packed_threads per block, one block per tile of C. Persistent blocks that take tiles in turn would be
// slower: they drift apart after some tiles and share less in the L2 cache.
template <class Consumer>
__global__ void __launch_bounds__(packed_threads, 1)
    multiply_panels(const __grid_constant__ typename Consumer::Job job, std::int64_t first_tile) {
#ifdef GRADUS_WARPGROUP_PRODUCT
  constexpr int stages = Consumer::stages;
  constexpr int bytes = Consumer::stage_bytes;
  extern __shared__ unsigned char dynamic_shared[];
  unsigned char* const memory = dynamic_shared + (1024 - cuda::shared_address(dynamic_shared) % 1024) % 1024;
  __shared__ cuda::Barrier filled[stages];
  __shared__ cuda::Barrier emptied[stages];
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < stages; ++stage) {
      filled[stage].start(1);
      emptied[stage].start(multiplying_threads);
    }
    cuda::make_barriers_known();
  }
  __syncthreads();  // the barriers are now initialized
  const Tiles::Place place = job.tiles.place_in_strips(first_tile + blockIdx.x);
  const std::int64_t tiles_deep = job.a_panels.tiles_deep();
  int stage = 0;
  unsigned int parity = 0;
  const auto advance = [&] {
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  };
  if (threadIdx.x < copying_threads) {
    cuda::give_up_registers<40>();
    if (threadIdx.x != 0) return;
    typename Consumer::Job::Source source(job, place);
    for (std::int64_t tile = 0; tile < tiles_deep; ++tile) {
      emptied[stage].wait(parity ^ 1);  // passes immediately in the first round
      source.order(memory + stage * bytes, filled[stage]);
      advance();
    }
  } else {
    cuda::take_registers<232>();
    Consumer consumer(job, memory + stages * bytes);
    if constexpr (Consumer::loads_ahead) {
      filled[stage].wait(parity);
      consumer.load(memory + stage * bytes);
#pragma unroll 1
      for (std::int64_t tile = 0; tile < tiles_deep; ++tile) {
        const int now = stage;
        advance();
        const bool is_last = tile + 1 == tiles_deep;
        // Nothing arrives after the last stage. The consumer loads from the next stage anyway but does not use the
        // values.
        const bool is_there = is_last || filled[stage].has_ended(parity);
        consumer.multiply(memory + now * bytes, memory + stage * bytes, [&] {
          if (!is_there) filled[stage].wait(parity);
        });
        emptied[now].arrive();
        consumer.add(tile, is_last);
      }
    } else {
#pragma unroll 1
      for (std::int64_t tile = 0; tile < tiles_deep; ++tile) {
        filled[stage].wait(parity);
        consumer.multiply(memory + stage * bytes, tile);
        emptied[stage].arrive();
        advance();
        consumer.add(tile, tile + 1 == tiles_deep);
      }
    }
    consumer.finish(place);
  }
#else
  __trap();
#endif
}

/// Multiplies packed operands. Divides long work into launches so that a stop request takes effect in time.
template <class Consumer>
void multiply_packed(const typename Consumer::Job& job, const Execution& execution, std::stop_token stop,
                     std::int64_t batches, const cuda::Stream& stream) {
  constexpr auto kernel = multiply_panels<Consumer>;
  constexpr std::size_t shared = packed_shared_bytes<Consumer>;
  cuda::allow_shared_memory(reinterpret_cast<const void*>(kernel), shared);
  const std::int64_t count = batches * job.tiles.of_a_product;
  const double operations = static_cast<double>(panel_lines * panel_lines) * static_cast<double>(job.a_panels.depth);
  // first_portion() is chosen for the slowest rung. Kernels for packed operands are several times as fast as that rung.
  cuda::Portions(std::move(stop), 4 * first_portion<decltype(job.product.alpha)>())
      .run(count, operations, 1, stream, [&](std::int64_t first, std::int64_t number) {
        if (execution.progress) execution.progress({"multiply", first, count, {}});
        kernel<<<static_cast<unsigned>(number), packed_threads, shared, stream>>>(job, first);
        cuda::check_launch("multiply_panels");
      });
}

}  // namespace gradus::matmul_detail
