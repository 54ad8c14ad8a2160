// Packed cells on a GPU, in words of 32 bits, the size of a register. The networks of network/ process these words.
#pragma once

#include <cstdint>

#include "core/host_device.hpp"
#include "cuda/check.hpp"
#include "cuda/job.hpp"
#include "life/network/plan.hpp"
#include "life/problem.hpp"

namespace gradus::life_detail {

using Word = std::uint32_t;
inline constexpr int word_bits = 32;

/// A grid in GPU memory, in words of 32 bits: bit i of word c of a row is column 32 c + i.
struct Words {
  Word* words;
  std::int64_t stride;  ///< distance between rows, in words
  __device__ Word* row(std::int64_t y) const { return words + y * stride; }
};
struct ConstWords {
  const Word* words;
  std::int64_t stride;
  __device__ const Word* row(std::int64_t y) const { return words + y * stride; }
};

/// Properties that all grids of a job share.
struct Extent {
  std::int64_t height;
  std::int64_t width;
  bool torus;

  /// Returns the words per row in memory. Rows are padded to a multiple of 64 cells.
  GRADUS_HOST_DEVICE std::int64_t row_words() const { return (width + 63) / 64 * 2; }
  /// Returns the mask of the cells in word `column`.
  __device__ Word mask(std::int64_t column) const {
    const std::int64_t cells = column < 0 ? 0 : width - column * word_bits;
    return cells >= word_bits ? ~Word{0} : cells <= 0 ? Word{0} : (Word{1} << cells) - 1;
  }
};

inline Extent extent_of(const Problem& problem) {
  return {problem.cells.height, problem.cells.width, problem.is_torus()};
}
inline ConstWords words_of(const LifeGridView& grid) {
  return {reinterpret_cast<const Word*>(grid.words), grid.stride * 2};
}
inline Words words_of(const LifeGridSpan& grid) { return {reinterpret_cast<Word*>(grid.words), grid.stride * 2}; }
inline Words take_words(const Extent& extent, cuda::Arena& memory) {
  return {memory.take<Word>(extent.height * extent.row_words()), extent.row_words()};
}
inline std::uint64_t words_bytes(const Shape& shape) {
  return static_cast<std::uint64_t>(shape.height) * static_cast<std::uint64_t>((shape.width + 63) / 64 * 8);
}

__device__ inline std::int64_t wrapped(std::int64_t value, std::int64_t size) {
  if (value >= 0 && value < size) return value;
  value %= size;
  return value < 0 ? value + size : value;
}

/// Loads the 32 cells of word number `column` of any row. `column` may be outside the grid. Beyond a border, the cells
/// are dead; on a torus, they come from the opposite side. The load sees words that other blocks have written.
///
/// If the width of a torus is no multiple of 32, its seam is inside a word. Cells near the seam come from up to three
/// words.
class Column {
 public:
  __device__ Column(const Extent& extent, std::int64_t column) {
    if (!extent.torus) {
      mask_ = extent.mask(column);
      word_ = mask_ == 0 ? 0 : column;
      return;
    }
    if (extent.width % word_bits == 0) {
      word_ = wrapped(column, extent.width / word_bits);
      return;
    }
    const std::int64_t x = wrapped(column * word_bits, extent.width);
    word_ = x / word_bits;
    shift_ = static_cast<int>(x % word_bits);
    if (extent.width < word_bits) {
      period_ = static_cast<int>(extent.width);
      return;
    }
    before_seam_ = static_cast<int>(min(std::int64_t{word_bits}, extent.width - x));
    is_apart_ = true;
  }

  __device__ Word load(const Word* row) const {
    const Word word = __ldcg(row + word_);
    if (period_ > 0) return repeated(word);
    if (!is_apart_) return word & mask_;
    Word cells = word >> shift_;
    if (shift_ > 0 && before_seam_ > word_bits - shift_) cells |= __ldcg(row + word_ + 1) << (word_bits - shift_);
    if (before_seam_ == word_bits) return cells;
    return (cells & ((Word{1} << before_seam_) - 1)) | __ldcg(row) << before_seam_;
  }

 private:
  /// Repeats the cells of a torus that is narrower than a word.
  __device__ Word repeated(Word word) const {
    std::uint64_t cells = word & ((Word{1} << period_) - 1);
    for (int known = period_; known < 2 * word_bits; known *= 2) cells |= cells << known;
    return static_cast<Word>(cells >> shift_);
  }

  std::int64_t word_ = 0;
  Word mask_ = ~Word{0};
  int shift_ = 0;
  int before_seam_ = word_bits;  ///< number of loaded cells before the seam
  int period_ = 0;               ///< width of a torus that is narrower than a word, otherwise 0
  bool is_apart_ = false;
};

/// The operations on words that network-inl.hpp requires.
struct WordOps {
  using V = Word;
  template <Table table>
  __device__ static Word lut(Word a, Word b, Word c) {
    Word result;
    asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(result) : "r"(a), "r"(b), "r"(c), "n"(table));
    return result;
  }
  __device__ static Word load(std::uint64_t word) { return static_cast<Word>(word); }
};

#define GRADUS_LIFE_INLINE __device__ __forceinline__
#include "life/network/network-inl.hpp"
#undef GRADUS_LIFE_INLINE

/// The rules of even and odd generations, in the form that the general network reads.
struct AnyRule {
  Coefficients of[2];
};
inline AnyRule any_rule(const Problem& problem) {
  return {{coefficients_of(problem.even), coefficients_of(problem.odd)}};
}

/// Returns the row sums of a word. `left` and `right` are the words next to it.
__device__ __forceinline__ RowSums<Word> sums_of(Word left, Word here, Word right) {
  return row_sums<WordOps>(__funnelshift_l(left, here, 1), here, __funnelshift_r(here, right, 1));
}

}  // namespace gradus::life_detail
