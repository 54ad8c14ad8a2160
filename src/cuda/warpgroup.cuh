// Hopper's matrix instructions of a warpgroup (four neighbouring warps), and what brings their operands: copies of
// whole tiles by the copy engine, which count their bytes at a barrier in shared memory.
//
// A tile in shared memory has rows of 128 bytes, 64 elements of FP16 along the dimension that is summed over, and
// begins at a multiple of 1024 bytes. Within a row the eight units of 16 bytes are permuted by swizzled(), so that the
// eight rows that the matrix unit reads at once lie in different banks.
//
// Source: NVIDIA, PTX ISA: wgmma, cp.async.bulk, mbarrier.
#pragma once

#include <cuda.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "core/host_device.hpp"

namespace gradus::cuda {

// The instructions are those of compute capability 9.0 alone.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(GRADUS_NO_WARPGROUP_PRODUCT)
#define GRADUS_WARPGROUP_PRODUCT
#endif

inline constexpr int tile_row_bytes = 128;
inline constexpr int tile_depth = 64;  ///< elements of FP16 in a row

inline __device__ unsigned int shared_address(const void* pointer) {
  return static_cast<unsigned int>(__cvta_generic_to_shared(pointer));
}

/// Where the row's unit of 16 bytes lies in a tile, in bytes.
GRADUS_HOST_DEVICE inline unsigned int swizzled(int row, int unit) {
  return static_cast<unsigned int>(row * tile_row_bytes + ((unit ^ (row % 8)) << 4));
}

/// Sums in registers, of 64 x 128 elements by a warpgroup: sums[c][2 h + e] is that of row 16 (warp % 4) + 8 h +
/// lane / 4 and column 8 c + 2 (lane % 4) + e.
using WarpgroupSums = float[16][4];

#ifdef GRADUS_WARPGROUP_PRODUCT

/// What the instruction is told of a tile: where it begins, 1024 bytes from eight rows to the next eight, and that its
/// units are permuted. 16 elements further along a row: 2 more.
inline __device__ std::uint64_t tile_descriptor(unsigned int address) {
  return std::uint64_t{1} << 62 | std::uint64_t{1024 / 16} << 32 | std::uint64_t{1} << 16 | (address & 0x3ffffu) >> 4;
}

/// sums = rows columns', or where `adds` is not 0 sums += that: 64 rows by 128 columns by 16 elements of FP16. Runs on
/// by itself until it is waited for.
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

/// Before the first product, and after anything else touched its registers.
inline __device__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// Ends a group of products; wait_for_products<left>() waits until no more than `left` groups are under way.
inline __device__ void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int left>
__device__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory");
}

/// Keeps the compiler from moving what it does with the sums across the wait for the product.
inline __device__ void pin(WarpgroupSums& sums) {
#pragma unroll
  for (int column = 0; column < 16; ++column)
#pragma unroll
    for (int index = 0; index < 4; ++index) asm volatile("" : "+f"(sums[column][index])::"memory");
}

/// Registers of each thread of this warpgroup, from those of the others of the block or to them.
template <int count>
__device__ void give_up_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
__device__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

/// A barrier in shared memory at which threads arrive and bytes of copies are counted; it goes from one phase to the
/// next when all of both are there.
class Barrier {
 public:
  /// By one thread, before make_barriers_known() and a barrier of the block.
  __device__ void start(unsigned int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(arrivals) : "memory");
  }
  __device__ void arrive() {
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory");
  }
  /// Arrives, and says how many bytes will come.
  __device__ void arrive_for(unsigned int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes)
                 : "memory");
  }
  /// Waits for the end of the phase of this parity: 0 for the first, 1 for the second, 0 for the third.
  __device__ void wait(unsigned int parity) {
    asm volatile(
        "{\n.reg .pred done;\n"
        "again_%=:\n"
        "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again_%=;\n}\n" ::"r"(address()),
        "r"(parity)
        : "memory");
  }
  /// Whether that phase has ended; may take a moment to find out, and say no where it is about to.
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
  /// Bytes, a multiple of 16, by the copy engine; their arrival counts here.
  __device__ void copy(void* to, const void* from, unsigned int bytes) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(from), "r"(bytes), "r"(address())
                 : "memory");
  }
  /// Likewise the box of a tensor map (tensor_map.hpp) whose first element is that of this column, row and matrix.
  __device__ void copy_box(void* to, const CUtensorMap& map, int column, int row, int matrix) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::
            "r"(shared_address(to)),
        "l"(&map), "r"(column), "r"(row), "r"(matrix), "r"(address())
        : "memory");
  }

 private:
  __device__ unsigned int address() const { return shared_address(&word_); }

  std::uint64_t word_;
};

inline __device__ void make_barriers_known() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

#endif

}  // namespace gradus::cuda
