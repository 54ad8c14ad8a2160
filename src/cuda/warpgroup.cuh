// Hopper's matrix instructions for a warpgroup (four consecutive warps). The operands of these instructions are tiles
// in shared memory. The copy engine copies whole tiles and counts their bytes at a barrier in shared memory.
//
// A tile begins at a multiple of 1024 bytes. Its rows have 128 bytes: 64 FP16 elements along the summed dimension.
// swizzled() permutes the eight 16-byte units of a row, so that eight rows that are read together use all banks.
//
// Source: NVIDIA, PTX ISA: wgmma, cp.async.bulk, mbarrier.
#pragma once

#include <cuda.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "core/host_device.hpp"

namespace gradus::cuda {

// The instructions exist only for compute capability 9.0.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(GRADUS_NO_WARPGROUP_PRODUCT)
#define GRADUS_WARPGROUP_PRODUCT
#endif

inline constexpr int tile_row_bytes = 128;
inline constexpr int tile_depth = 64;  ///< FP16 elements per row

inline __device__ unsigned int shared_address(const void* pointer) {
  return static_cast<unsigned int>(__cvta_generic_to_shared(pointer));
}

/// Returns the byte offset, in a tile, of a 16-byte unit of a row.
GRADUS_HOST_DEVICE inline unsigned int swizzled(int row, int unit) {
  return static_cast<unsigned int>(row * tile_row_bytes + ((unit ^ (row % 8)) << 4));
}

/// A block of 64 x 128 sums, in the registers of a warpgroup. sums[c][2 h + e] belongs to row 16 (warp % 4) + 8 h +
/// lane / 4 and column 8 c + 2 (lane % 4) + e.
using WarpgroupSums = float[16][4];
/// A block of 64 x 256 sums, in the order of WarpgroupSums.
using WideWarpgroupSums = float[32][4];

#ifdef GRADUS_WARPGROUP_PRODUCT

/// Returns the descriptor of a tile, which the instruction needs. It encodes the tile's address, the distance of
/// 1024 bytes between groups of eight rows, and the permutation of the units. Add 2 to the descriptor to move 16
/// elements along a row.
inline __device__ std::uint64_t tile_descriptor(unsigned int address) {
  return std::uint64_t{1} << 62 | std::uint64_t{1024 / 16} << 32 | std::uint64_t{1} << 16 | (address & 0x3ffffu) >> 4;
}

/// Computes the products of 64 rows and 128 columns, over 16 FP16 elements of the summed dimension. If `adds` is 0, the
/// products overwrite `sums`. Otherwise they are added to `sums`. Runs asynchronously; see wait_for_products().
inline __device__ void multiply_by_warpgroup(WarpgroupSums& sums, std::uint64_t rows, std::uint64_t columns, int adds) {
#define GRADUS_FOUR(c) "+f"(sums[c][0]), "+f"(sums[c][1]), "+f"(sums[c][2]), "+f"(sums[c][3])
  asm volatile(
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, adds, 1, 1, 0, 0;\n}\n"
      : GRADUS_FOUR(0), GRADUS_FOUR(1), GRADUS_FOUR(2), GRADUS_FOUR(3), GRADUS_FOUR(4), GRADUS_FOUR(5), GRADUS_FOUR(6),
        GRADUS_FOUR(7), GRADUS_FOUR(8), GRADUS_FOUR(9), GRADUS_FOUR(10), GRADUS_FOUR(11), GRADUS_FOUR(12),
        GRADUS_FOUR(13), GRADUS_FOUR(14), GRADUS_FOUR(15)
      : "l"(rows), "l"(columns), "r"(adds));
#undef GRADUS_FOUR
}

/// Overload for 256 columns.
inline __device__ void multiply_by_warpgroup(WideWarpgroupSums& sums, std::uint64_t rows, std::uint64_t columns,
                                             int adds) {
#define GRADUS_FOUR(c) "+f"(sums[c][0]), "+f"(sums[c][1]), "+f"(sums[c][2]), "+f"(sums[c][3])
#define GRADUS_SIXTEEN(c) GRADUS_FOUR(c), GRADUS_FOUR((c) + 1), GRADUS_FOUR((c) + 2), GRADUS_FOUR((c) + 3)
  asm volatile(
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
      "%128, %129, adds, 1, 1, 0, 0;\n}\n"
      : GRADUS_SIXTEEN(0), GRADUS_SIXTEEN(4), GRADUS_SIXTEEN(8), GRADUS_SIXTEEN(12), GRADUS_SIXTEEN(16),
        GRADUS_SIXTEEN(20), GRADUS_SIXTEEN(24), GRADUS_SIXTEEN(28)
      : "l"(rows), "l"(columns), "r"(adds));
#undef GRADUS_SIXTEEN
#undef GRADUS_FOUR
}

/// Must be called before the first product, and after any other access to the registers of the sums.
inline __device__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// Ends a group of products. wait_for_products<left>() waits until at most `left` groups are in flight.
inline __device__ void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int left>
__device__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory");
}

/// Prevents the compiler from moving uses of the sums across the wait for the product.
template <int columns>
__device__ void pin(float (&sums)[columns][4]) {
#pragma unroll
  for (int column = 0; column < columns; ++column)
#pragma unroll
    for (int index = 0; index < 4; ++index) asm volatile("" : "+f"(sums[column][index])::"memory");
}

/// Changes the number of registers per thread to `count`. Registers that a warpgroup releases become available to the
/// block's other warpgroups.
template <int count>
__device__ void give_up_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
__device__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

/// A barrier in shared memory that counts arrived threads and copied bytes. A phase ends when both are complete.
class Barrier {
 public:
  /// Initialises the barrier. Called by one thread, before make_barriers_known() and a block barrier.
  __device__ void start(unsigned int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(arrivals) : "memory");
  }
  __device__ void arrive() {
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory");
  }
  /// Announces how many bytes will be copied, and arrives at the barrier.
  __device__ void arrive_for(unsigned int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes)
                 : "memory");
  }
  /// Waits for the end of the phase with this parity: 0 for the first phase, 1 for the second, 0 for the third.
  __device__ void wait(unsigned int parity) {
    asm volatile(
        "{\n.reg .pred done;\n"
        "again_%=:\n"
        "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again_%=;\n}\n" ::"r"(address()),
        "r"(parity)
        : "memory");
  }
  /// Returns true if the phase with this parity has ended. If it has not, the hardware may wait briefly for its end
  /// before the function returns.
  __device__ bool has_ended(unsigned int parity) {
    unsigned int done;
    asm volatile(
        "{\n.reg .pred done;\n"
        "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%1], %2;\n"
        "selp.u32 %0, 1, 0, done;\n}\n"
        : "=r"(done)
        : "r"(address()), "r"(parity)
        : "memory");
    return done != 0;
  }
  /// Copies bytes with the copy engine. This barrier counts the copied bytes. `bytes` must be a multiple of 16.
  __device__ void copy(void* to, const void* from, unsigned int bytes) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(from), "r"(bytes), "r"(address())
                 : "memory");
  }
  /// Copies a box of the tensor map (see tensor_map.hpp). The box begins at this column, row and matrix. The barrier
  /// counts the copied bytes.
  __device__ void copy_box(void* to, const CUtensorMap& map, int column, int row, int matrix) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::
            "r"(shared_address(to)),
        "l"(&map), "r"(column), "r"(row), "r"(matrix), "r"(address())
        : "memory");
  }
  /// Copies a box of a tensor map that has only one matrix. Elements outside of the matrix arrive as zeros, and their
  /// bytes are counted.
  __device__ void copy_box(void* to, const CUtensorMap& map, int column, int row) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
        "[%4];" ::"r"(shared_address(to)),
        "l"(&map), "r"(column), "r"(row), "r"(address())
        : "memory");
  }

 private:
  __device__ unsigned int address() const { return shared_address(&word_); }

  std::uint64_t word_;
};

inline __device__ void make_barriers_known() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

#endif

}  // namespace gradus::cuda
