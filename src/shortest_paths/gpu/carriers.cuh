// The arithmetic of cuda_dpx: how registers represent distances, and how distances are relaxed.
//
// A Word is the content of one register, or of two registers for 64-bit types. A Word holds one or two Scalars
// (`pack`). relax2() relaxes through two vertices at once if that takes fewer instructions (`step` 2).
//
// Hopper has instructions for dynamic programming (DPX). One instruction adds and takes the minimum, on one 32-bit
// number or on two 16-bit numbers. Another instruction takes the minimum of three numbers. Older GPUs compile the same
// functions to two or three instructions. The DPX unit performs 64 instructions per clock and multiprocessor.
//
// A sum a + b is also 1 * a + b, which the multiplication unit computes. For `mix` eighths of the elements, two such
// additions and one three-way minimum replace the DPX instructions, so that both units are busy. Rates measured on an
// H200 with data in registers and shared memory, in 10^12 relaxations per second: 16.0 with DPX alone, and 17.3 if each
// of the two ways processes half of the elements. For pairs of 16-bit numbers: 32.1 and 33.9.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "shortest_paths/problem.hpp"

namespace gradus::shortest_paths_detail {

/// Returns true if the multiplication unit performs the additions for this element. Elements are numbered along the
/// rows of a thread.
template <int mix>
constexpr bool takes_multiplier(int element) {
  return element * 5 % 8 < mix;  // an odd factor, which spreads these elements evenly
}

// Integer carriers also define differs(best, negated(wanted)). differs() returns 1 (in each half of a pair) if `best`
// differs from `wanted`, otherwise 0. `best` must not be smaller than `wanted`.

/// 32-bit integers: the elements of a Problem unchanged. No sum of two elements wraps.
template <int mix>
struct Whole32 {
  using Word = std::int32_t;
  using Scalar = std::int32_t;
  static constexpr int pack = 1;
  static constexpr int step = 2;
  static constexpr Scalar none = unreachable<std::int32_t>();

  /// Converts from 64-bit elements if all distances fit 32 bits. "No route" is far above all distances.
  template <class Element>
  __device__ static Scalar from(Element element) {
    return element > Element{none} ? none : static_cast<Scalar>(element);
  }
  template <class Element>
  __device__ static Element to(Scalar scalar) {
    constexpr auto no_route = unreachable<Element>();
    return scalar > none / 2 ? no_route : Element{scalar};
  }
  __device__ static Word nothing() { return none; }
  __device__ static Scalar relax(Scalar best, Scalar a, Scalar b) { return __viaddmin_s32(a, b, best); }
  __device__ static Word relax_word(Word best, Word a, Word b) { return __viaddmin_s32(a, b, best); }
  template <int element>
  __device__ static Word relax2(Word best, Word a0, Word b0, Word a1, Word b1, int one) {
    if constexpr (takes_multiplier<mix>(element)) {
      int x;
      int y;
      asm("mad.lo.s32 %0,%1,%2,%3;" : "=r"(x) : "r"(a0), "r"(one), "r"(b0));
      asm("mad.lo.s32 %0,%1,%2,%3;" : "=r"(y) : "r"(a1), "r"(one), "r"(b1));
      return __vimin3_s32(best, x, y);
    } else {
      return __viaddmin_s32(a1, b1, __viaddmin_s32(a0, b0, best));
    }
  }
  __device__ static Word negated(Word word) { return -word; }
  __device__ static unsigned int differs(Word best, Word negated_wanted) {
    return __viaddmin_u32(static_cast<unsigned int>(best), static_cast<unsigned int>(negated_wanted), 1);
  }
  __device__ static Word word_of(Scalar first, Scalar) { return first; }
  __device__ static Word both(Scalar scalar) { return scalar; }
  __device__ static Scalar get(Word word, int) { return word; }
};

/// Two distances per word. The graph must have no negative edges, and its distances must not exceed 0x7ffe. "No route"
/// is 0x7fff. The sum of two values up to 0x7fff still fits 16 bits, so nothing carries into the upper half.
template <int mix>
struct Pairs16 {
  using Word = std::uint32_t;
  using Scalar = std::int32_t;
  static constexpr int pack = 2;
  static constexpr int step = 2;
  static constexpr Scalar none = 0x7fff;

  template <class Element>
  __device__ static Scalar from(Element element) {
    return element > Element{none} ? none : static_cast<Scalar>(element);
  }
  template <class Element>
  __device__ static Element to(Scalar scalar) {
    constexpr auto no_route = unreachable<Element>();
    return scalar >= none ? no_route : Element{scalar};
  }
  __device__ static Word nothing() { return 0x7fff7fffu; }
  __device__ static Scalar relax(Scalar best, Scalar a, Scalar b) { return __viaddmin_s32(a, b, best); }
  __device__ static Word relax_word(Word best, Word a, Word b) { return __viaddmin_u16x2(a, b, best); }
  template <int element>
  __device__ static Word relax2(Word best, Word a0, Word b0, Word a1, Word b1, int one) {
    if constexpr (takes_multiplier<mix>(element)) {
      unsigned int x;
      unsigned int y;
      asm("mad.lo.u32 %0,%1,%2,%3;" : "=r"(x) : "r"(a0), "r"(one), "r"(b0));
      asm("mad.lo.u32 %0,%1,%2,%3;" : "=r"(y) : "r"(a1), "r"(one), "r"(b1));
      return __vimin3_u16x2(best, x, y);
    } else {
      return __viaddmin_u16x2(a1, b1, __viaddmin_u16x2(a0, b0, best));
    }
  }
  __device__ static Word negated(Word word) { return __vsub2(0, word); }
  __device__ static unsigned int differs(Word best, Word negated_wanted) {
    return __viaddmin_u16x2(best, negated_wanted, 0x10001u);
  }
  __device__ static Word word_of(Scalar first, Scalar second) {
    return static_cast<Word>(first) | static_cast<Word>(second) << 16;
  }
  __device__ static Word both(Scalar scalar) { return static_cast<Word>(scalar) * 0x10001u; }
  __device__ static Scalar get(Word word, int half) { return static_cast<Scalar>(word >> (16 * half) & 0xffff); }
};

/// Computes in float. If `positive` is true, no weight is negative. The bits of distances are then ordered like
/// integers, and a three-way minimum accepts two sums.
template <bool positive>
struct Float32 {
  using Word = float;
  using Scalar = float;
  static constexpr int pack = 1;
  static constexpr int step = 2;

  template <class Element>
  __device__ static Scalar from(Element element) {
    return element;
  }
  template <class Element>
  __device__ static Element to(Scalar scalar) {
    return scalar;
  }
  __device__ static Word nothing() { return __int_as_float(0x7f800000); }
  __device__ static Scalar relax(Scalar best, Scalar a, Scalar b) { return fminf(best, a + b); }
  __device__ static Word relax_word(Word best, Word a, Word b) { return relax(best, a, b); }
  template <int element>
  __device__ static Word relax2(Word best, Word a0, Word b0, Word a1, Word b1, int) {
    if constexpr (positive)
      return __int_as_float(__vimin3_s32(__float_as_int(best), __float_as_int(a0 + b0), __float_as_int(a1 + b1)));
    else return fminf(fminf(best, a0 + b0), a1 + b1);
  }
  __device__ static Word word_of(Scalar first, Scalar) { return first; }
  __device__ static Word both(Scalar scalar) { return scalar; }
  __device__ static Scalar get(Word word, int) { return word; }
};

/// Computes in double or in 64-bit integers. A relaxation is an addition, a comparison and a selection.
template <class T>
struct Plain64 {
  using Word = T;
  using Scalar = T;
  static constexpr int pack = 1;
  static constexpr int step = 1;

  template <class Element>
  __device__ static Scalar from(Element element) {
    return element;
  }
  template <class Element>
  __device__ static Element to(Scalar scalar) {
    return scalar;
  }
  __device__ static Word nothing() {
    constexpr T none = unreachable<T>();
    return none;
  }
  __device__ static Scalar relax(Scalar best, Scalar a, Scalar b) {
    const T sum = a + b;
    return sum < best ? sum : best;
  }
  __device__ static Word relax_word(Word best, Word a, Word b) { return relax(best, a, b); }
  template <int element>
  __device__ static Word relax2(Word best, Word a0, Word b0, Word a1, Word b1, int) {
    return relax(relax(best, a0, b0), a1, b1);
  }
  __device__ static Word negated(Word word) { return -word; }
  __device__ static unsigned int differs(Word best, Word negated_wanted) { return best + negated_wanted != 0; }
  __device__ static Word word_of(Scalar first, Scalar) { return first; }
  __device__ static Word both(Scalar scalar) { return scalar; }
  __device__ static Scalar get(Word word, int) { return word; }
};

}  // namespace gradus::shortest_paths_detail
