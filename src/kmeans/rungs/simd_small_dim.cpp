// simd_small_dim: vector instructions across points, for few dimensions. The production variant up to 16 columns.
//
// The idea. A fast filter in float decides almost every point. The canonical chain in double decides the rest. This is
// a filtered predicate, as in computational geometry.
//
// * Blocks. A block has 1024 points and a bounding box, computed once. A centroid is ruled out if its distance to the
//   nearest point of the box exceeds the distance from another centroid to the farthest corner of the box. In shuffled
//   data, this test removes only far-away centroids; in pictures and in sorted or clustered data, it removes nearly
//   all.
// * Scores. Let m be the middle of the box, y = x - m and z = c - m. Then D(x,c) = |y|^2 - 2 y.z + |z|^2, so the
//   nearest centroid has the least score s = B + |z|^2 / 2 - y.z, which takes d fused multiply-adds. B makes every
//   score positive, so that scores compare like the integers with the same bits. The low 4 bits then hold the
//   centroid's index within a group of 16, and integer minimum and maximum find the best and the second-best score
//   without blends.
// * Certainty. The error of a score is at most E = A ((d + 4) 2^-24 + 2^-19), where A bounds the magnitude of the
//   terms. No distance exceeds 4 A, so the error of the canonical chain, (d + 2) 2^-53 of a distance, is far below E. A
//   point is decided if its second-best score exceeds the best by more than 2 E. All other points are re-checked.
// * Integers. From five columns and 17 clusters on, with vectors of 32 or 64 bytes, y and z are rounded to 16-bit
// integers, scaled to
//   the spread of the block and of its candidates. An instruction then multiplies two columns and adds both products,
//   so a score takes half as many instructions. The middle of the block costs no precision, because y and z are
//   differences. A score errs by half a unit times the sum of all magnitudes of both rows (pack_candidates()), so about
//   five times as many points are doubtful. For a doubtful point, the scores of all candidates are computed again,
//   vectors across candidates, and only candidates within twice the error are re-checked.
// * Bounds. With at least 5 columns and many clusters, a point may have an upper bound of the distance to its centroid
//   and a lower bound of the distance to every other centroid. When the centroids move, the bounds move by the lengths
//   of these movements. While the upper bound is below the lower bound, the point keeps its label and is not read.
//   Bounds follow from the two best float scores: D(x,c) = |y|^2 + 2 (s - B), with an error of at most 2 E. They are
//   rounded to the safe side. In the first iterations, bounds decide few points, and in uniform data they do so for
//   long. So one block of 32 has bounds first. If they decide most points of these blocks, all points get bounds. The
//   rule counts points, not time, and does not affect the labels.
// * Sums. Only points that change cluster touch the exact sums (simd_engine.hpp).
//
// Work per iteration: (d + 5) n k / lanes vector instructions and one read of the points; (d / 2 + 4) with integers;
// with bounds, d + 5 for the undecided points, and some operations for each point. Memory for bounds: 12 bytes per
// point. Limits: d <= 16.
// Sources: J. R. Shewchuk, "Adaptive precision floating-point arithmetic" (1997), applied to argmin; G. Hamerly,
// "Making k-means even faster" (2010), for the bounds.
#include "kmeans/assign/small_dim_assigner.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kmeans/rungs/simd_small_dim.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "kmeans/assign/integer_filter-inl.hpp"

#ifndef GRADUS_KMEANS_SIMD_SMALL_DIM
#define GRADUS_KMEANS_SIMD_SMALL_DIM
namespace gradus::kmeans_detail {

constexpr std::int64_t group_size = 16;  // number of centroids that the low bits of a score distinguish
// Number of points that are transposed at a time; their tile stays in the L1 cache.
constexpr std::int64_t chunk_points = 256;
constexpr std::int64_t tile_stride = chunk_points + 16;

// The middle of a box, and a scale that brings the scores of its points near 1.
struct ScoreScale {
  double middle[small_dim_limit] = {};
  double offset = 0;  // B in the explanation at the beginning of this file
  double scale = 1;
  float threshold = 0;  // 2 E in the explanation at the beginning of this file
  std::int64_t candidates = 0;
};

// A block, its box, and the inputs of the filter. Plain data, because the reading code is compiled for other
// instruction sets.
template <class T>
struct SmallDimBlock {
  const T* rows;
  std::int64_t stride;
  std::int64_t dimensions;
  std::int64_t count;
  const T* lowest;
  const T* highest;
  const T* centroids;
  std::int64_t clusters;
  float* tile;
  float* coefficients;
  std::int32_t* candidates;
  double* nearest_corner;
  std::int32_t* found;
  bool dot_instructions;
  core::StopPoll stop;
  // The members below are used only from 5 columns on, and may be null.
  ScoreScale* prepared;  // if it holds candidates, the coefficients of this box are there already
  float* best;           // output: the best score of each point
  float* second;         // output: the second-best score
};

}  // namespace gradus::kmeans_detail
#endif

HWY_BEFORE_NAMESPACE();
namespace gradus::kmeans_detail {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// With vectors of 32 or 64 bytes, blocks of more than four columns are packed: their coordinates are rounded to 16-bit
// integers, and a search multiplies two columns at a time. Only searches that compute bounds use floats.
#undef GRADUS_PACKED_BLOCKS
#if GRADUS_INTEGER_PANELS && HWY_MAX_BYTES >= 32
#define GRADUS_PACKED_BLOCKS 1
#else
#define GRADUS_PACKED_BLOCKS 0
#endif

// Each kernel is compiled for a number D of columns. Above `largest_exact` columns, only some values of D exist: the
// number of columns is rounded up to one of these values, and the extra columns are zero. For older CPUs, fewer kernels
// are compiled, to save space.
constexpr int largest_exact = HWY_ARCH_X86 ? 4 : 8;
constexpr bool has_few_kernels = HWY_ARCH_X86 && HWY_MAX_BYTES < 32;

template <class T, int D>
HWY_INLINE std::int64_t columns_of(const SmallDimBlock<T>& block) {
  return D <= largest_exact ? D : block.dimensions;
}

#if GRADUS_PACKED_BLOCKS
// Calls visit(dim, values) with vectors of coordinates of a centroid. Coordinates that do not exist are zero.
template <class T, int D, class Visit>
HWY_INLINE void for_columns(const SmallDimBlock<T>& block, std::int64_t cluster, const Visit& visit) {
  const hn::ScalableTag<double> lanes;
  const hn::Rebind<T, decltype(lanes)> narrow;
  constexpr auto width = static_cast<std::int64_t>(hn::MaxLanes(lanes));
  const std::int64_t d = block.dimensions;
  const T* const centroid = block.centroids + cluster * d;
#pragma GCC unroll 4
  for (std::int64_t dim = 0; dim < D; dim += width) {
    const std::int64_t left = d - dim < 0 ? 0 : (d - dim < width ? d - dim : width);
    const auto values = hn::MaskedLoad(hn::FirstN(narrow, static_cast<std::size_t>(left)), narrow, centroid + dim);
    if constexpr (sizeof(T) == 8) visit(dim, values);
    else visit(dim, hn::PromoteTo(lanes, values));
  }
}

// Finds the squared distance of each centroid to the nearest point of the box. Returns the smallest among the squared
// distances from each centroid to its farthest corner.
template <class T, int D>
double find_corners(const SmallDimBlock<T>& block) {
  const hn::ScalableTag<double> lanes;
  double low[16] = {};
  double high[16] = {};
  for (std::int64_t dim = 0; dim < block.dimensions; ++dim) {
    low[dim] = static_cast<double>(block.lowest[dim]);
    high[dim] = static_cast<double>(block.highest[dim]);
  }
  double least_reach = HUGE_VAL;
  for (std::int64_t cluster = 0; cluster < block.clusters; ++cluster) {
    auto near = hn::Zero(lanes);
    auto far = near;
    for_columns<T, D>(block, cluster, [&](std::int64_t dim, auto centroid) HWY_ATTR {
      const auto below = hn::LoadU(lanes, low + dim) - centroid;
      const auto above = centroid - hn::LoadU(lanes, high + dim);
      const auto outside = hn::Max(hn::Max(below, above), hn::Zero(lanes));
      const auto reach = hn::Min(below, above);
      near = hn::MulAdd(outside, outside, near);
      far = hn::MulAdd(reach, reach, far);
    });
    block.nearest_corner[cluster] = hn::GetLane(hn::SumOfLanes(lanes, near));
    const double reach = hn::GetLane(hn::SumOfLanes(lanes, far));
    if (reach < least_reach) least_reach = reach;
  }
  return least_reach;
}
#endif

// Finds the clusters that may be nearest to some point in the box, in ascending order. Margins cover the rounding
// errors of the distances to the box and of the canonical distances.
template <class T, int D>
std::int64_t find_candidates(const SmallDimBlock<T>& block) {
  constexpr double slack = (2 * D + 8) * 0x1p-52;
  [[maybe_unused]] const std::int64_t d = columns_of<T, D>(block);
  double least_reach = HUGE_VAL;  // the smallest among the squared distances from each centroid to its farthest corner
#if GRADUS_PACKED_BLOCKS
  if constexpr (D > largest_exact) least_reach = find_corners<T, D>(block);
  else
#endif
    for (std::int64_t cluster = 0; cluster < block.clusters; ++cluster) {
      double near = 0;
      double far = 0;
      for (std::int64_t dim = 0; dim < d; ++dim) {
        const double centroid = static_cast<double>(block.centroids[cluster * d + dim]);
        const double below = centroid - static_cast<double>(block.lowest[dim]);
        const double above = static_cast<double>(block.highest[dim]) - centroid;
        const double outside = below < 0 ? -below : (above < 0 ? -above : 0.0);
        const double reach = below > above ? below : above;
        near += outside * outside;
        far += reach * reach;
      }
      block.nearest_corner[cluster] = near;
      if (far < least_reach) least_reach = far;
    }
  const double limit = least_reach * (1 + slack) + 1e-300;
  std::int64_t count = 0;
  for (std::int64_t cluster = 0; cluster < block.clusters; ++cluster) {
    block.candidates[count] = static_cast<std::int32_t>(cluster);
    count += !(block.nearest_corner[cluster] * (1 - slack) > limit);
  }
  return count;
}

#if GRADUS_PACKED_BLOCKS
// Returns eight coordinates of a row relative to `middle`, scaled, in float. Coordinates that the mask `used` excludes
// are zero, and so must be their middles.
template <class T, class Used>
HWY_INLINE hn::Vec<hn::FixedTag<float, 8>> eight_scaled(const T* row, Used used, const T* middle, T scale) {
  const hn::FixedTag<float, 8> eight;
  if constexpr (sizeof(T) == 4) {
    return hn::Mul(hn::Sub(hn::MaskedLoad(used, eight, row), hn::LoadU(eight, middle)), hn::Set(eight, scale));
#if HWY_MAX_BYTES >= 64
  } else {
    const hn::FixedTag<double, 8> wide;
    return hn::DemoteTo(
        eight, hn::Mul(hn::Sub(hn::MaskedLoad(used, wide, row), hn::LoadU(wide, middle)), hn::Set(wide, scale)));
#else
  } else {
    const hn::FixedTag<double, 4> wide;
    const hn::FixedTag<float, 4> half;
    const auto factor = hn::Set(wide, scale);
    const auto low = hn::Mul(hn::Sub(hn::MaskedLoad(used.low, wide, row), hn::LoadU(wide, middle)), factor);
    const auto high = hn::Mul(hn::Sub(hn::MaskedLoad(used.high, wide, row + 4), hn::LoadU(wide, middle + 4)), factor);
    return hn::Combine(eight, hn::DemoteTo(half, high), hn::DemoteTo(half, low));
#endif
  }
}

// Returns the mask of the first `count` of eight elements, in the form that eight_scaled() expects.
template <class T>
HWY_INLINE auto first_of_eight(std::int64_t count) {
#if HWY_MAX_BYTES < 64
  if constexpr (sizeof(T) == 8) {
    const hn::FixedTag<double, 4> wide;
    struct Halves {
      decltype(hn::FirstN(wide, 0)) low, high;
    };
    return Halves{hn::FirstN(wide, static_cast<std::size_t>(count < 4 ? count : 4)),
                  hn::FirstN(wide, static_cast<std::size_t>(count < 4 ? 0 : count - 4))};
  } else
#endif
    return hn::FirstN(hn::FixedTag<T, 8>(), static_cast<std::size_t>(count < 8 ? count : 8));
}

// Transposes eight rows of eight elements. Stores the first `columns` columns `stride` elements apart.
template <int columns, class V>
HWY_INLINE void store_transposed(const V (&row)[8], std::int64_t stride, float* out) {
  const hn::FixedTag<float, 8> eight;
  const hn::FixedTag<double, 4> pairs;
  const auto low = [&](V a, V b) HWY_ATTR { return hn::BitCast(pairs, hn::InterleaveLower(eight, a, b)); };
  const auto high = [&](V a, V b) HWY_ATTR { return hn::BitCast(pairs, hn::InterleaveUpper(eight, a, b)); };
  // Each vector holds columns 0 to 3 in its lower half and columns 4 to 7 in its upper half: `near` for points 0 to 3,
  // and `far` for points 4 to 7.
  const auto store = [&](int column, auto near, auto far) HWY_ATTR {
    hn::StoreU(hn::BitCast(eight, hn::ConcatLowerLower(pairs, far, near)), eight, out + column * stride);
    if (column + 4 < columns)
      hn::StoreU(hn::BitCast(eight, hn::ConcatUpperUpper(pairs, far, near)), eight, out + (column + 4) * stride);
  };
  const auto near01 = low(row[0], row[1]), near23 = low(row[2], row[3]);
  const auto far01 = low(row[4], row[5]), far23 = low(row[6], row[7]);
  store(0, hn::InterleaveLower(pairs, near01, near23), hn::InterleaveLower(pairs, far01, far23));
  store(1, hn::InterleaveUpper(pairs, near01, near23), hn::InterleaveUpper(pairs, far01, far23));
  const auto next01 = high(row[0], row[1]), next23 = high(row[2], row[3]);
  const auto last01 = high(row[4], row[5]), last23 = high(row[6], row[7]);
  store(2, hn::InterleaveLower(pairs, next01, next23), hn::InterleaveLower(pairs, last01, last23));
  store(3, hn::InterleaveUpper(pairs, next01, next23), hn::InterleaveUpper(pairs, last01, last23));
}
#endif

template <class T, int D>
void fill_tile(const SmallDimBlock<T>& block, const double* shift, double scale) {
  const hn::ScalableTag<T> lanes;
  [[maybe_unused]] const hn::Rebind<float, decltype(lanes)> narrow;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  const auto put = [&](int dim, std::int64_t index, auto values) {
    // The value is rounded once to T and once to float. The product with `scale` is exact, because `scale` is a power
    // of two.
    const auto scaled =
        hn::MulSub(values, hn::Set(lanes, static_cast<T>(scale)), hn::Set(lanes, static_cast<T>(shift[dim] * scale)));
    if constexpr (sizeof(T) == 4) hn::StoreU(scaled, lanes, block.tile + dim * tile_stride + index);
    else hn::StoreU(hn::DemoteTo(narrow, scaled), narrow, block.tile + dim * tile_stride + index);
  };
  std::int64_t index = 0;
  if (D <= 4 && block.stride == D) {
    for (; index + width <= block.count; index += width) {
      const T* rows = block.rows + index * D;
      if constexpr (D == 1) put(0, index, hn::LoadU(lanes, rows));
      if constexpr (D == 2) {
        hn::Vec<decltype(lanes)> a, b;
        hn::LoadInterleaved2(lanes, rows, a, b);
        put(0, index, a);
        put(1, index, b);
      }
      if constexpr (D == 3) {
        hn::Vec<decltype(lanes)> a, b, c;
        hn::LoadInterleaved3(lanes, rows, a, b, c);
        put(0, index, a);
        put(1, index, b);
        put(2, index, c);
      }
      if constexpr (D == 4) {
        hn::Vec<decltype(lanes)> a, b, c, e;
        hn::LoadInterleaved4(lanes, rows, a, b, c, e);
        put(0, index, a);
        put(1, index, b);
        put(2, index, c);
        put(3, index, e);
      }
    }
  }
  const std::int64_t d = columns_of<T, D>(block);
#if GRADUS_PACKED_BLOCKS
  if constexpr (D > 4) {
    T middle[16] = {};
    for (std::int64_t dim = 0; dim < d; ++dim) middle[dim] = static_cast<T>(shift[dim]);
    for (; index + 8 <= block.count; index += 8)
      for (std::int64_t dim = 0; dim < D; dim += 8) {
        const auto used = first_of_eight<T>(d < dim ? 0 : d - dim);
        hn::Vec<hn::FixedTag<float, 8>> rows[8];
#pragma GCC unroll 8
        for (int row = 0; row < 8; ++row)
          rows[row] =
              eight_scaled(block.rows + (index + row) * block.stride + dim, used, middle + dim, static_cast<T>(scale));
        store_transposed<8>(rows, tile_stride, block.tile + dim * tile_stride + index);
      }
  }
#endif
  for (; index < block.count; ++index) {
    for (std::int64_t dim = 0; dim < d; ++dim)
      block.tile[dim * tile_stride + index] =
          static_cast<float>(static_cast<T>(block.rows[index * block.stride + dim] * static_cast<T>(scale)) -
                             static_cast<T>(shift[dim] * scale));
    for (std::int64_t dim = d; dim < D; ++dim) block.tile[dim * tile_stride + index] = 0;
  }
  for (; index % 64 != 0; ++index)  // fills the last vector
    for (int dim = 0; dim < D; ++dim) block.tile[dim * tile_stride + index] = 0;
}

// Runs the canonical search among the candidates.
template <class T, int D>
std::int32_t nearest_exactly(const SmallDimBlock<T>& block, const T* point, std::int64_t candidates) {
  const std::int64_t d = columns_of<T, D>(block);
  double least = HUGE_VAL;
  std::int32_t nearest = block.candidates[0];
  for (std::int64_t index = 0; index < candidates; ++index) {
    const T* centroid = block.centroids + block.candidates[index] * d;
    double sum = 0;
    for (std::int64_t dim = 0; dim < d; ++dim) {
      const double difference = static_cast<double>(point[dim]) - static_cast<double>(centroid[dim]);
      sum = __builtin_fma(difference, difference, sum);
    }
    if (sum < least) {
      least = sum;
      nearest = block.candidates[index];
    }
  }
  return nearest;
}

// Prefetches rows that later blocks need. At the end of the points, this is harmless.
template <class T>
HWY_INLINE void prefetch_rows(const SmallDimBlock<T>& block, std::int64_t first, std::int64_t count) {
  if (block.stride != block.dimensions) return;
  const char* ahead = reinterpret_cast<const char*>(block.rows + first * block.stride);
  const std::int64_t bytes = count * block.dimensions * static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t byte = 0; byte < bytes; byte += 64) hwy::Prefetch(ahead + byte);
}

template <class T, int D>
ScoreScale scale_of(const SmallDimBlock<T>& block, std::int64_t candidates) {
  // `A` in the explanation at the beginning of this file: an upper bound of all intermediate values of a score
  ScoreScale result;
  result.candidates = candidates;
  double half[D] = {};
  const std::int64_t d = columns_of<T, D>(block);
  for (std::int64_t dim = 0; dim < d; ++dim) {
    const double low = static_cast<double>(block.lowest[dim]);
    const double high = static_cast<double>(block.highest[dim]);
    const double middle = static_cast<double>(static_cast<T>(0.5 * low + 0.5 * high));
    result.middle[dim] = middle;
    half[dim] = (high - middle > middle - low ? high - middle : middle - low) * (1 + 0x1p-50);
    result.offset += half[dim] * half[dim];
  }
  double magnitude = 0;
  for (std::int64_t index = 0; index < candidates; ++index) {
    const T* centroid = block.centroids + block.candidates[index] * d;
    double squares = 0;
    double products = 0;
    for (std::int64_t dim = 0; dim < d; ++dim) {
      const double z = static_cast<double>(centroid[dim]) - result.middle[dim];
      squares += z * z;
      products += half[dim] * (z < 0 ? -z : z);
    }
    const double bound = result.offset + 0.5 * squares + products;
    if (bound > magnitude) magnitude = bound;
  }
  // The scale is a power of two that brings the scores near 1, which avoids overflow and denormals in float. Its
  // exponent is limited for two reasons. T must be able to hold the scale, and the underflow of the canonical chain, d
  // 2^-1074, must be negligible compared with the constant in the threshold. If the data are so small that this
  // exponent does not bring the scores near 1, both the scores and the chain stay below that constant.
  constexpr int least_exponent = sizeof(T) == 4 ? -100 : -400;
  int exponent = 0;
  __builtin_frexp(magnitude, &exponent);
  const int half_exponent = exponent / 2 > least_exponent ? exponent / 2 : least_exponent;
  result.scale = __builtin_ldexp(1.0, -half_exponent);
  const double magnitude_scaled = magnitude * result.scale * result.scale;
  result.threshold = static_cast<float>(2.05 * magnitude_scaled * ((D + 4) * 0x1p-24 + 0x1p-19) + 0x1p-100);
  return result;
}

// For each candidate, writes the negated centroid and half its squared norm. The candidates are padded to whole groups.
template <class T, int D>
void write_coefficients(const SmallDimBlock<T>& block, std::int64_t candidates, std::int64_t groups,
                        const ScoreScale& by) {
  const std::int64_t d = columns_of<T, D>(block);
  for (std::int64_t index = 0; index < groups * group_size; ++index) {
    float* row = block.coefficients + index * (D + 1);
    for (int dim = 0; dim < D; ++dim) row[dim] = 0;
    if (index >= candidates) {  // unused entries of the last group never have the least score
      row[D] = 1e30F;
      continue;
    }
    const T* centroid = block.centroids + block.candidates[index] * d;
    double squares = 0;
    for (std::int64_t dim = 0; dim < d; ++dim) {
      const double z = (static_cast<double>(centroid[dim]) - by.middle[dim]) * by.scale;
      squares += z * z;
      row[dim] = static_cast<float>(-z);
    }
    row[D] = static_cast<float>(by.offset * by.scale * by.scale + 0.5 * squares);
  }
}

// Searches a group of candidates for two vectors of points. Finds each point's best and second-best score. The low bits
// of the best score are the candidate's index in the group.
template <int D, class F, class V, class W>
HWY_INLINE void score_group(F f, const float* row, const float* tile, const V* point0, const V* point1, W& first0,
                            W& first1, W& next0, W& next1) {
  const hn::RebindToSigned<F> i;
  [[maybe_unused]] const auto width = static_cast<std::int64_t>(hn::Lanes(f));
  const auto score_bits = hn::Set(i, ~static_cast<std::int32_t>(group_size - 1));
  const auto take = [&](std::int32_t number, auto score0, auto score1) HWY_ATTR {
    const auto mark = hn::Set(i, number);
    const auto key0 = hn::Or(hn::And(hn::BitCast(i, score0), score_bits), mark);
    const auto key1 = hn::Or(hn::And(hn::BitCast(i, score1), score_bits), mark);
    next0 = hn::Min(next0, hn::Max(first0, key0));
    next1 = hn::Min(next1, hn::Max(first1, key1));
    first0 = hn::Min(first0, key0);
    first1 = hn::Min(first1, key1);
  };
  if constexpr (D <= 4) {  // the coordinates of the points stay in registers
#pragma GCC unroll 4
    for (std::int32_t number = 0; number < group_size; ++number, row += D + 1) {
      auto score0 = hn::Set(f, row[D]);
      auto score1 = score0;
#pragma GCC unroll 4
      for (int dim = 0; dim < D; ++dim) {
        const auto coefficient = hn::Set(f, row[dim]);
        score0 = hn::MulAdd(point0[dim], coefficient, score0);
        score1 = hn::MulAdd(point1[dim], coefficient, score1);
      }
      take(number, score0, score1);
    }
  } else {  // four centroids at a time give eight independent chains, which hide the latency of the multiply-add
    for (std::int32_t number = 0; number < group_size; number += 4, row += std::int64_t{4} * (D + 1)) {
      hn::Vec<F> score0[4], score1[4];
#pragma GCC unroll 4
      for (int step = 0; step < 4; ++step)
        score0[step] = score1[step] = hn::Set(f, row[std::int64_t{step} * (D + 1) + D]);
#pragma GCC unroll 4
      for (int dim = 0; dim < D; ++dim) {
        const auto x0 = hn::LoadU(f, tile + dim * tile_stride);
        const auto x1 = hn::LoadU(f, tile + dim * tile_stride + width);
#pragma GCC unroll 4
        for (int step = 0; step < 4; ++step) {
          const auto coefficient = hn::Set(f, row[step * (D + 1) + dim]);
          score0[step] = hn::MulAdd(x0, coefficient, score0[step]);
          score1[step] = hn::MulAdd(x1, coefficient, score1[step]);
        }
      }
#pragma GCC unroll 4
      for (int step = 0; step < 4; ++step) take(number + step, score0[step], score1[step]);
    }
  }
}

// Converts the results of the search to labels. If `are_clusters` is true, each result is a cluster. Otherwise it is
// the index of a candidate or, if the point was rechecked, the bitwise complement of its cluster.
template <class T>
void name_clusters(const SmallDimBlock<T>& block, bool are_clusters, std::int32_t* labels) {
  if (are_clusters) {
    for (std::int64_t index = 0; index < block.count; ++index) labels[index] = block.found[index];
    return;
  }
  for (std::int64_t index = 0; index < block.count; ++index) {
    const std::int32_t found = block.found[index];
    labels[index] = found < 0 ? ~found : block.candidates[found];
  }
}

template <class T, int D>
std::int64_t assign_kernel(const SmallDimBlock<T>& block, std::int32_t* labels) {
  const bool is_prepared = D > 4 && block.prepared != nullptr && block.prepared->candidates > 0;
  const std::int64_t candidates = is_prepared ? block.prepared->candidates : find_candidates<T, D>(block);
  if (candidates == 1 && block.prepared == nullptr) {
    for (std::int64_t index = 0; index < block.count; ++index) labels[index] = block.candidates[0];
    return 0;
  }
  const ScoreScale by = is_prepared ? *block.prepared : scale_of<T, D>(block, candidates);
  const std::int64_t groups = (candidates + group_size - 1) / group_size;
  if (!is_prepared) write_coefficients<T, D>(block, candidates, groups, by);
  if (D > 4 && block.prepared != nullptr) *block.prepared = by;

  const hn::ScalableTag<float> f;
  const hn::RebindToSigned<decltype(f)> i;
  const auto width = static_cast<std::int64_t>(hn::Lanes(f));
  const auto number_bits = hn::Set(i, static_cast<std::int32_t>(group_size - 1));
  const auto worst = hn::Set(i, 0x7f7fffff);  // bits of the greatest float
  const auto least_gap = hn::Set(f, by.threshold);
  // A block with many candidates takes long, so the loop polls for stop requests. After a stop request, the labels of
  // the block are invalid.
  const bool looks = candidates * D > 16384;
  std::int64_t rechecked = 0;

  for (std::int64_t first = 0; first < block.count; first += chunk_points) {
    SmallDimBlock<T> chunk = block;
    chunk.rows += first * block.stride;
    chunk.count = block.count - first < chunk_points ? block.count - first : chunk_points;
    chunk.found += first;
    fill_tile<T, D>(chunk, by.middle, by.scale);
    for (std::int64_t index = 0; index < chunk.count; index += 2 * width) {
      if (HWY_UNLIKELY(looks) && block.stop.look(block.stop.token)) return 0;
      prefetch_rows(chunk, index + chunk_points, 2 * width);
      [[maybe_unused]] hn::Vec<decltype(f)> point0[D], point1[D];
      for (int dim = 0; dim < D && D <= 4; ++dim) {
        point0[dim] = hn::LoadU(f, block.tile + dim * tile_stride + index);
        point1[dim] = hn::LoadU(f, block.tile + dim * tile_stride + index + width);
      }
      auto best0 = worst, best1 = worst, second0 = worst, second1 = worst;
      auto group0 = hn::Zero(i), group1 = hn::Zero(i);
      for (std::int64_t group = 0; group < groups; ++group) {
        const float* row = block.coefficients + group * group_size * (D + 1);
        auto first0 = worst, first1 = worst, next0 = worst, next1 = worst;
        score_group<D>(f, row, block.tile + index, point0, point1, first0, first1, next0, next1);
        const auto number = hn::Set(i, static_cast<std::int32_t>(group * group_size));
        group0 = hn::IfThenElse(first0 < best0, number, group0);
        group1 = hn::IfThenElse(first1 < best1, number, group1);
        second0 = hn::Min(hn::Min(second0, next0), hn::Max(best0, first0));
        second1 = hn::Min(hn::Min(second1, next1), hn::Max(best1, first1));
        best0 = hn::Min(best0, first0);
        best1 = hn::Min(best1, first1);
      }
      hn::StoreU(hn::Or(group0, hn::And(best0, number_bits)), i, chunk.found + index);
      hn::StoreU(hn::Or(group1, hn::And(best1, number_bits)), i, chunk.found + index + width);
      if constexpr (D > 4)
        if (block.best != nullptr) {
          hn::StoreU(best0, i, reinterpret_cast<std::int32_t*>(block.best) + first + index);
          hn::StoreU(best1, i, reinterpret_cast<std::int32_t*>(block.best) + first + index + width);
          hn::StoreU(second0, i, reinterpret_cast<std::int32_t*>(block.second) + first + index);
          hn::StoreU(second1, i, reinterpret_cast<std::int32_t*>(block.second) + first + index + width);
        }
      const auto gap0 = hn::BitCast(f, second0) - hn::BitCast(f, best0);
      const auto gap1 = hn::BitCast(f, second1) - hn::BitCast(f, best1);
      if (HWY_UNLIKELY(!hn::AllTrue(f, hn::And(gap0 > least_gap, gap1 > least_gap)))) {
        float gaps[2 * hn::MaxLanes(f)];
        hn::StoreU(gap0, f, gaps);
        hn::StoreU(gap1, f, gaps + width);
        for (std::int64_t lane = 0; lane < 2 * width && index + lane < chunk.count; ++lane) {
          if (gaps[lane] > by.threshold) continue;
          if (looks && block.stop.look(block.stop.token)) return 0;
          ++rechecked;
          chunk.found[index + lane] =
              ~nearest_exactly<T, D>(block, chunk.rows + (index + lane) * block.stride, candidates);
        }
      }
    }
  }
  name_clusters(block, candidates == block.clusters && rechecked == 0, labels);
  return rechecked;
}

#if GRADUS_PACKED_BLOCKS
constexpr std::int64_t strip = 2 * vector_lanes;  // points that a search compares with a centroid at a time

// The middle of a block, and what packing has found out about the block.
template <class T>
struct PackedScale {
  T middle[16] = {};
  double steps = 1;   // steps per unit
  double length = 0;  // bound of the Euclidean norms of the packed rows, in steps
  double sum = 0;     // bound of the sums of the packed rows' magnitudes, in steps
};

// A lower limit of spreads. With it, T can hold the number of steps per unit, and the underflow of the canonical chain,
// d 2^-1074, is negligible compared with a step of a score.
template <class T>
constexpr double least_spread = sizeof(T) == 4 ? 0x1p-100 : 0x1p-400;
constexpr double most_steps = 32767 / (1 + 0x1p-20);

// Returns eight pairs of 16-bit integers: the coordinates of a row relative to the middle, in steps. The error of a
// coordinate is at most 0.51. The integers after the first 2 * `pairs` are zero.
template <int pairs, class T, class Used>
HWY_INLINE hn::Vec<hn::FixedTag<float, 8>> packed_row(const T* row, Used first, Used rest, const T* middle, T steps) {
  const auto low = eight_scaled(row, first, middle, steps);
  auto high = hn::Zero(hn::FixedTag<float, 8>());
  if constexpr (pairs > 4) high = eight_scaled(row + 8, rest, middle + 8, steps);
  const hn::FixedTag<std::int16_t, 16> sixteen;
#if HWY_MAX_BYTES >= 64
  const auto packed = hn::DemoteTo(sixteen, hn::NearestInt(hn::Combine(hn::FixedTag<float, 16>(), high, low)));
#else
  const hn::FixedTag<std::int16_t, 8> half;
  const auto packed =
      hn::Combine(sixteen, hn::DemoteTo(half, hn::NearestInt(high)), hn::DemoteTo(half, hn::NearestInt(low)));
#endif
  return hn::BitCast(hn::FixedTag<float, 8>(), packed);
}

// Packs eight rows: row i is get(i). Rows from `count` on are zero. Stores a pair of columns of the eight rows, and
// each further pair `stride` elements later.
template <class T, int pairs, class Get>
HWY_INLINE void pack_eight(const SmallDimBlock<T>& block, std::int64_t count, const Get& get, const T* middle, T steps,
                           std::int64_t stride, float* out) {
  const auto first = first_of_eight<T>(block.dimensions);
  const auto rest = first_of_eight<T>(block.dimensions < 8 ? 0 : block.dimensions - 8);
  hn::Vec<hn::FixedTag<float, 8>> rows[8];
#pragma GCC unroll 8
  for (int row = 0; row < 8; ++row)
    rows[row] =
        row < count ? packed_row<pairs>(get(row), first, rest, middle, steps) : hn::Zero(hn::FixedTag<float, 8>());
  store_transposed<pairs>(rows, stride, out);
}

// Packs a block strip by strip. The last strip is padded with zeros.
template <class T, int pairs>
PackedScale<T> pack_block(const SmallDimBlock<T>& block) {
  PackedScale<T> scale;
  double spread = least_spread<T>;
  for (std::int64_t dim = 0; dim < block.dimensions; ++dim) {
    const auto low = static_cast<double>(block.lowest[dim]);
    const auto high = static_cast<double>(block.highest[dim]);
    scale.middle[dim] = static_cast<T>(0.5 * low + 0.5 * high);
    const auto middle = static_cast<double>(scale.middle[dim]);
    const double half = high - middle > middle - low ? high - middle : middle - low;
    if (half > spread) spread = half;
  }
  const T steps = static_cast<T>(most_steps / spread);
  scale.steps = static_cast<double>(steps);
  const std::int64_t padded = (block.count + strip - 1) / strip * strip;
  for (std::int64_t index = 0; index < padded; index += 8) {
    const T* const rows = block.rows + index * block.stride;
    pack_eight<T, pairs>(
        block, block.count - index, [&](int row) HWY_ATTR { return rows + row * block.stride; }, scale.middle, steps,
        strip, block.tile + index / strip * strip * pairs + index % strip);
  }
  const WideTag wide;
  const hn::Repartition<std::int16_t, WideTag> narrow;
  const auto one = hn::Set(narrow, 1);
  auto sums = hn::Zero(wide);
  auto squares = hn::Zero(wide);  // of a quarter of each magnitude, rounded up, because 32 bits must hold them
  for (std::int64_t index = 0; index < padded; index += vector_lanes) {
    const float* const column = block.tile + index / strip * strip * pairs + index % strip;
    auto sum = hn::Zero(wide).raw;
    auto square = sum;
#pragma GCC unroll 8
    for (int pair = 0; pair < pairs; ++pair) {
      const auto magnitudes = hn::Abs(hn::BitCast(narrow, hn::LoadU(hn::ScalableTag<float>(), column + pair * strip)));
      const auto quarters = hn::ShiftRight<2>(magnitudes) + one;
      sum = add_pairs<false>(sum, magnitudes.raw, one.raw);
      square = add_pairs<false>(square, quarters.raw, quarters.raw);
    }
    sums = hn::Max(sums, hn::Vec<WideTag>{sum});
    squares = hn::Max(squares, hn::Vec<WideTag>{square});
  }
  scale.sum = hn::GetLane(hn::MaxOfLanes(wide, sums));
  scale.length = 4 * __builtin_sqrt(static_cast<double>(hn::GetLane(hn::MaxOfLanes(wide, squares))));
  return scale;
}

// Packs the negated candidates in groups, each followed by half the squared norms of its candidates in units of the
// scores. Returns the difference of two scores above which the order of the scores is certain, or -1 if no difference
// is certain.
//
// A score is half the squared norm minus the product of two packed rows. The error of each coordinate is at most 0.51,
// which is multiplied with the other row. So the error of a score is at most 0.51 times the sum of both rows'
// magnitudes, plus 0.51^2 per column, plus the rounding of the squared norm. The bound also covers the rounding of the
// canonical chain: see chain_error(). The low bits of a score give way to the number of its candidate.
template <class T, int pairs>
std::int32_t pack_candidates(const SmallDimBlock<T>& block, std::int64_t candidates, const PackedScale<T>& by) {
  const std::int64_t d = block.dimensions;
  const auto centroid = [&](std::int64_t index) HWY_ATTR { return block.centroids + block.candidates[index] * d; };
  const hn::ScalableTag<double> lanes;
  double middle[16] = {};
  for (std::int64_t dim = 0; dim < d; ++dim) middle[dim] = static_cast<double>(by.middle[dim]);
  auto most = hn::Zero(lanes);
  double longest = 0;  // half of the greatest squared norm
  double* const halves = block.nearest_corner;
  for (std::int64_t index = 0; index < candidates; ++index) {
    auto squares = hn::Zero(lanes);
    for_columns<T, 2 * pairs>(block, block.candidates[index], [&](std::int64_t dim, auto values) HWY_ATTR {
      const auto moved = values - hn::LoadU(lanes, middle + dim);
      most = hn::Max(most, hn::Abs(moved));
      squares = hn::MulAdd(moved, moved, squares);
    });
    halves[index] = 0.5 * hn::GetLane(hn::SumOfLanes(lanes, squares));
    if (halves[index] > longest) longest = halves[index];
  }
  const double spread = hn::GetLane(hn::MaxOfLanes(lanes, hn::Max(most, hn::Set(lanes, least_spread<T>))));
  if (sizeof(T) == 4 && !(spread < 0x1p127)) return -1;  // differences may be beyond the range of float
  const double length = by.length / by.steps;
  const double of_candidates = __builtin_sqrt(2 * longest);
  const double largest = (longest + length * of_candidates) * by.steps;
  double steps = most_steps / spread;
  if (steps * largest > 0x1p30) steps = 0x1p30 / largest;
  const T negated = -static_cast<T>(steps);
  steps = -static_cast<double>(negated);
  const double unit = by.steps * steps;
  const double reach = length + of_candidates;
  const double error = 0.51 * (by.sum + 4 * of_candidates * steps + 32) + 2 +
                       static_cast<double>(d + 16) * 0x1p-53 * reach * reach * unit;
  const double threshold = 2 * error + 2 * group_size;
  if (!(threshold < 0x1p29)) return -1;

  for (std::int64_t first = 0; first < candidates; first += group_size) {
    float* const group = block.coefficients + first * (pairs + 1);
    for (std::int64_t half = 0; half < group_size; half += 8)
      pack_eight<T, pairs>(
          block, candidates - first - half, [&](int row) HWY_ATTR { return centroid(first + half + row); }, by.middle,
          negated, group_size, group + half);
    for (std::int64_t number = 0; number < group_size; ++number) {
      // Unused entries of the last group never have the least score.
      const std::int32_t half =
          first + number < candidates ? static_cast<std::int32_t>(halves[first + number] * unit + 0.5) : 0x7fffffff;
      __builtin_memcpy(group + pairs * group_size + number, &half, sizeof half);
    }
  }
  return static_cast<std::int32_t>(threshold);
}

// A search for the nearest candidates of a packed block.
struct PackedSearch {
  const float* points;
  std::int64_t count;
  const float* coefficients;
  std::int64_t groups;
  std::int32_t threshold;
  std::int32_t* found;     // per point: the index of the candidate with the least score
  std::int32_t* doubtful;  // the points whose second-best score does not exceed the best by more than the threshold
  const char* ahead;       // rows that will be read next
  std::int64_t ahead_bytes;
  bool looks;
  core::StopPoll stop;
};

HWY_INLINE hn::Vec<WideTag> load_packed(const float* from) {
  return hn::BitCast(WideTag(), hn::LoadU(hn::ScalableTag<float>(), from));
}
HWY_INLINE hn::Vec<WideTag> all_packed(const float* from) {
  return hn::BitCast(WideTag(), hn::Set(hn::ScalableTag<float>(), *from));
}

// The numbers of candidates in a group. Loading one is faster than moving it from an integer register to a vector.
constexpr std::int32_t marks[group_size] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// Returns the number of doubtful points. After a stop request, the results are invalid.
template <bool dot, int pairs>
std::int64_t search_packed(const PackedSearch& search) {
  const WideTag i;
  const auto number_bits = hn::Set(i, static_cast<std::int32_t>(group_size - 1));
  const auto score_bits = hn::Set(i, ~static_cast<std::int32_t>(group_size - 1));
  const auto worst = hn::Set(i, 0x7fffffff);
  const auto threshold = hn::Set(i, search.threshold);
  std::int64_t doubtful = 0;
  for (std::int64_t index = 0; index < search.count; index += strip) {
    if (HWY_UNLIKELY(search.looks) && search.stop.look(search.stop.token)) return 0;
    for (std::int64_t byte = index * search.ahead_bytes; byte < (index + strip) * search.ahead_bytes; byte += 64)
      hwy::Prefetch(search.ahead + byte);
    const float* const points = search.points + index * pairs;
    hn::Vec<WideTag> best[2] = {worst, worst}, second[2] = {worst, worst}, group_of[2] = {hn::Zero(i), hn::Zero(i)};
    for (std::int64_t group = 0; group < search.groups; ++group) {
      const float* const row = search.coefficients + group * group_size * (pairs + 1);
      hn::Vec<WideTag> first[2] = {worst, worst}, next[2] = {worst, worst};
      for (std::int32_t number = 0; number < group_size; number += 4) {
        DotVector scores[4][2];
#pragma GCC unroll 4
        for (int step = 0; step < 4; ++step)
          scores[step][0] = scores[step][1] = all_packed(row + pairs * group_size + number + step).raw;
#pragma GCC unroll 8
        for (int pair = 0; pair < pairs; ++pair) {
          const auto low = load_packed(points + pair * strip).raw;
          const auto high = load_packed(points + pair * strip + vector_lanes).raw;
#pragma GCC unroll 4
          for (int step = 0; step < 4; ++step) {
            const auto centroid = all_packed(row + pair * group_size + number + step).raw;
            scores[step][0] = add_pairs<dot>(scores[step][0], low, centroid);
            scores[step][1] = add_pairs<dot>(scores[step][1], high, centroid);
          }
        }
#pragma GCC unroll 4
        for (int step = 0; step < 4; ++step)
#pragma GCC unroll 2
          for (int half = 0; half < 2; ++half) {
            const auto score = hn::Vec<WideTag>{scores[step][half]};
            const auto key = hn::Or(hn::And(score, score_bits), hn::Set(i, marks[number + step]));
            next[half] = hn::Min(next[half], hn::Max(first[half], key));
            first[half] = hn::Min(first[half], key);
          }
      }
      const auto number = hn::Set(i, static_cast<std::int32_t>(group * group_size));
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half) {
        group_of[half] = hn::IfThenElse(first[half] < best[half], number, group_of[half]);
        second[half] = hn::Min(hn::Min(second[half], next[half]), hn::Max(best[half], first[half]));
        best[half] = hn::Min(best[half], first[half]);
      }
    }
    for (int half = 0; half < 2; ++half) {
      const std::int64_t place = index + half * vector_lanes;
      hn::StoreU(hn::Or(group_of[half], hn::And(best[half], number_bits)), i, search.found + place);
      const auto certain = second[half] > best[half] + threshold;
      if (HWY_LIKELY(hn::AllTrue(i, certain))) continue;
      std::int32_t numbers[vector_lanes];
      const auto count = static_cast<std::int64_t>(
          hn::CompressStore(hn::Iota(i, static_cast<std::int32_t>(place)), hn::Not(certain), i, numbers));
      for (std::int64_t step = 0; step < count; ++step) {
        search.doubtful[doubtful] = numbers[step];
        doubtful += numbers[step] < search.count;
      }
    }
  }
  return doubtful;
}

// Finds the candidates of a point whose scores do not exceed the least score by more than the threshold. Writes their
// indices in ascending order and returns their number.
std::int64_t close_candidates(const PackedSearch& search, std::int64_t point, std::int64_t pairs, std::int32_t* out) {
  const WideTag i;
  const float* const own = search.points + point / strip * strip * pairs + point % strip;
  const auto score = [&](std::int64_t index) HWY_ATTR {
    const float* const row = search.coefficients + index / group_size * group_size * (pairs + 1) + index % group_size;
    auto sum = load_packed(row + pairs * group_size).raw;
    for (std::int64_t pair = 0; pair < pairs; ++pair)
      sum = add_pairs<false>(sum, all_packed(own + pair * strip).raw, load_packed(row + pair * group_size).raw);
    return hn::Vec<WideTag>{sum};
  };
  auto least = hn::Set(i, 0x7fffffff);
  for (std::int64_t index = 0; index < search.groups * group_size; index += vector_lanes)
    least = hn::Min(least, score(index));
  const auto limit = hn::MinOfLanes(i, least) + hn::Set(i, search.threshold);
  std::int64_t found = 0;
  for (std::int64_t index = 0; index < search.groups * group_size; index += vector_lanes)
    found += static_cast<std::int64_t>(hn::CompressStore(hn::Iota(i, static_cast<std::int32_t>(index)),
                                                         hn::Not(score(index) > limit), i, out + found));
  return found;
}

// assign_kernel() for 5 to 16 columns.
template <class T, int pairs>
std::int64_t assign_packed(const SmallDimBlock<T>& block, std::int32_t* labels) {
  const std::int64_t candidates = find_candidates<T, 2 * pairs>(block);
  if (candidates == 1) {
    for (std::int64_t index = 0; index < block.count; ++index) labels[index] = block.candidates[0];
    return 0;
  }
  const PackedScale<T> scale = pack_block<T, pairs>(block);
  const std::int32_t threshold = pack_candidates<T, pairs>(block, candidates, scale);
  const auto exactly = [&](std::int64_t point, const std::int32_t* among, std::int64_t count) {
    SmallDimBlock<T> few = block;
    few.candidates = const_cast<std::int32_t*>(among);
    return nearest_exactly<T, 2 * pairs>(few, block.rows + point * block.stride, count);
  };
  // A block with many candidates takes long, so the loops poll for stop requests. After a stop request, the labels of
  // the block are invalid.
  const bool looks = candidates * 16 > 16384;
  if (threshold < 0) {
    for (std::int64_t point = 0; point < block.count && !block.stop.look(block.stop.token); ++point)
      labels[point] = exactly(point, block.candidates, candidates);
    return block.count;
  }
  std::int32_t doubtful[block_points + strip];
  const bool is_dense = block.stride == block.dimensions;
  const PackedSearch search{block.tile,
                            block.count,
                            block.coefficients,
                            (candidates + group_size - 1) / group_size,
                            threshold,
                            block.found,
                            doubtful,
                            reinterpret_cast<const char*>(block.rows + block.count * block.stride),
                            is_dense ? block.dimensions * static_cast<std::int64_t>(sizeof(T)) : 0,
                            looks,
                            block.stop};
  const std::int64_t open =
      block.dot_instructions ? search_packed<true, pairs>(search) : search_packed<false, pairs>(search);
  name_clusters(block, candidates == block.clusters, labels);
  std::int32_t* const close = block.candidates + candidates;
  for (std::int64_t step = 0; step < open; ++step) {
    if (looks && block.stop.look(block.stop.token)) return 0;
    const std::int64_t count = close_candidates(search, doubtful[step], pairs, close);
    for (std::int64_t index = 0; index < count; ++index) close[index] = block.candidates[close[index]];
    labels[doubtful[step]] = exactly(doubtful[step], close, count);
  }
  return open;
}
#endif

template <class T>
std::int64_t assign_any(const SmallDimBlock<T>& block, std::int64_t dimensions, std::int32_t* labels) {
#if GRADUS_PACKED_BLOCKS
  // With a single group of clusters, packing the points takes longer than it saves.
  if (dimensions > 4 && block.clusters > group_size && block.prepared == nullptr) {
    if (dimensions <= 8) return assign_packed<T, 4>(block, labels);
    return dimensions <= 12 ? assign_packed<T, 6>(block, labels) : assign_packed<T, 8>(block, labels);
  }
#endif
  switch (dimensions) {
    case 1: return assign_kernel<T, 1>(block, labels);
    case 2: return assign_kernel<T, 2>(block, labels);
    case 3: return assign_kernel<T, 3>(block, labels);
    case 4: return assign_kernel<T, 4>(block, labels);
#if !HWY_ARCH_X86
    case 5: return assign_kernel<T, 5>(block, labels);
    case 6: return assign_kernel<T, 6>(block, labels);
    case 7: return assign_kernel<T, 7>(block, labels);
#else
    case 5:
    case 6:
    case 7:
#endif
    case 8: return assign_kernel<T, 8>(block, labels);
    case 9:
    case 10:
    case 11:
    case 12: return assign_kernel < T, has_few_kernels ? 16 : 12 > (block, labels);
    default: return assign_kernel<T, 16>(block, labels);
  }
}

std::int64_t assign_small_f32(const SmallDimBlock<float>& block, std::int64_t dimensions, std::int32_t* labels) {
  return assign_any(block, dimensions, labels);
}

std::int64_t assign_small_f64(const SmallDimBlock<double>& block, std::int64_t dimensions, std::int32_t* labels) {
  return assign_any(block, dimensions, labels);
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::kmeans_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <atomic>
#include <utility>

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

HWY_EXPORT(assign_small_f32);
HWY_EXPORT(assign_small_f64);

namespace {

// Returns the number of rows of a tile, which is at least the number D of columns of any kernel for `dimensions`
// columns. It is a multiple of eight, because the transposition writes eight rows at a time.
std::int64_t padded_rows(std::int64_t dimensions) { return (dimensions + 7) / 8 * 8; }

// Returns the number of elements of a tile: a chunk of coordinates, or a block of pairs of packed coordinates.
std::int64_t tile_size(std::int64_t dimensions) {
  const std::int64_t rows = padded_rows(dimensions);
  return dimensions <= 4 ? rows * tile_stride : std::max(rows * tile_stride, rows / 2 * block_points);
}

template <class T>
std::int64_t search_small_block(const SmallDimBlock<T>& block, std::int32_t* labels) {
  if constexpr (sizeof(T) == 4) return HWY_DYNAMIC_DISPATCH(assign_small_f32)(block, block.dimensions, labels);
  else return HWY_DYNAMIC_DISPATCH(assign_small_f64)(block, block.dimensions, labels);
}

std::int64_t groups_of(std::int64_t clusters) { return (clusters + group_size - 1) / group_size * group_size; }

}  // namespace

SmallDimScratch::SmallDimScratch(std::int64_t clusters, std::int64_t dimensions)
    : tile(tile_size(dimensions), 0.0F),
      coefficients(static_cast<std::size_t>(groups_of(clusters) * (padded_rows(dimensions) + 1))),
      candidates(static_cast<std::size_t>(clusters + 1 + groups_of(clusters) + group_size)),
      nearest_corner(static_cast<std::size_t>(clusters)) {}

template <class T>
SmallDimAssigner<T>::SmallDimAssigner(const Problem<T>& problem)
    : problem_(problem), boxes_((problem.n() + block_points - 1) / block_points * 2, problem.d()),
      box_known_(static_cast<std::size_t>((problem.n() + block_points - 1) / block_points)) {}

template <class T>
std::int64_t SmallDimAssigner<T>::assign(BlockRows<T>& points, const std::int32_t* /*before*/, std::int32_t* labels,
                                         Scratch& scratch) {
  const MatrixView<const T> rows = points.all();
  const std::int64_t d = problem_.d();
  const std::int64_t number = points.range().begin / block_points;  // blocks start at multiples of block_points
  T* lowest = boxes_.row(2 * number);
  T* highest = boxes_.row(2 * number + 1);
  if (!box_known_[static_cast<std::size_t>(number)]) {
    box_known_[static_cast<std::size_t>(number)] = 1;
    std::copy_n(rows.data(), d, lowest);
    std::copy_n(rows.data(), d, highest);
    for (std::int64_t point = 0; point < rows.rows(); ++point)
      for (std::int64_t dim = 0; dim < d; ++dim) {
        const T value = rows(point, dim);
        lowest[dim] = value < lowest[dim] ? value : lowest[dim];
        highest[dim] = value > highest[dim] ? value : highest[dim];
      }
  }
  const SmallDimBlock<T> block{rows.data(),
                               rows.row_stride(),
                               d,
                               rows.rows(),
                               lowest,
                               highest,
                               centroids_.data(),
                               centroids_.rows(),
                               scratch.tile.data(),
                               scratch.coefficients.data(),
                               scratch.candidates.data(),
                               scratch.nearest_corner.data(),
                               scratch.found,
                               machine_has_dot_instructions(),
                               core::stop_poll(problem_.stop),
                               nullptr,
                               nullptr,
                               nullptr};
  return search_small_block(block, labels);
}

template <class T>
std::uint64_t SmallDimAssigner<T>::bytes(const Shape& shape, int threads) {
  const auto blocks = static_cast<std::uint64_t>((shape.points + block_points - 1) / block_points);
  const auto d = static_cast<std::uint64_t>(padded_rows(shape.dimensions));
  const auto k = static_cast<std::uint64_t>(groups_of(shape.clusters));
  return blocks * (2 * d * sizeof(T) + 1) +
         static_cast<std::uint64_t>(threads) *
             (4 * static_cast<std::uint64_t>(tile_size(shape.dimensions)) + k * (4 * (d + 1) + 16));
}

template class SmallDimAssigner<float>;
template class SmallDimAssigner<double>;

namespace {

/// Adds bounds to SmallDimAssigner.
template <class T>
class BoundedAssigner {
 public:
  explicit BoundedAssigner(const Problem<T>& problem) : problem_(problem), plain_(problem) {
    if (problem.max_iterations < 3 || !takes_bounds(shape_of(problem))) return;
    phase_ = Phase::sampled;
    bounds_ = Buffer<Bounds>(problem.n());
    squares_ = Buffer<float>(problem.n());
    drifts_.resize(static_cast<std::size_t>(problem.k()));
    for (std::int64_t dim = 0; dim < problem.d(); ++dim) {
      lowest_.push_back(outwards(problem.statistics.lowest[static_cast<std::size_t>(dim)], -1));
      highest_.push_back(outwards(problem.statistics.highest[static_cast<std::size_t>(dim)], 1));
    }
  }

  struct Scratch : SmallDimAssigner<T>::Scratch {
    explicit Scratch(const BoundedAssigner& assigner)
        : SmallDimAssigner<T>::Scratch(assigner.plain_),
          room(assigner.has_bounds() ? block_points * assigner.problem_.d() : 0) {}
    std::int64_t pass = 0;  ///< the pass for which `prepared` and the coefficients are valid
    ScoreScale prepared;
    Buffer<T> room;
    float best[block_points + 64];
    float second[block_points + 64];
    std::int32_t undecided[block_points + 1];
    std::int32_t nearest[block_points];
  };

  void prepare(MatrixView<const T> centroids) {
    plain_.prepare(centroids);
    if (!has_bounds()) return;
    if (++pass_ > 1) measure_drifts(centroids);
    centroids_ = Matrix<T>::copy_of(centroids);
  }

  std::int64_t assign(BlockRows<T>& block, const std::int32_t* before, std::int32_t* labels, Scratch& scratch) {
    const std::int64_t number = block.range().begin / block_points;
    if (!has_bounds() || (phase_ == Phase::sampled && number % sampled_blocks != 0)) {
      scratch.pass = 0;  // this search replaces the coefficients
      return plain_.assign(block, before, labels, scratch);
    }
    const std::int64_t count = block.size();
    std::int64_t undecided = count;
    if (pass_ == 1 || phase_ == Phase::first) all_undecided(count, scratch);
    else undecided = move_bounds(block.range().begin, count, before, scratch);
    if (phase_ == Phase::sampled) {
      // Sorted points are searched faster without bounds, because the box of a block excludes most clusters.
      std::int64_t borders = 0;
      for (std::int64_t point = 1; point < count; ++point) borders += before[point] != before[point - 1];
      seen_.fetch_add(count, std::memory_order_relaxed);  // relaxed: only the totals are used
      searched_.fetch_add(2 * borders < count ? count : undecided, std::memory_order_relaxed);
      all_undecided(count, scratch);
      undecided = count;
    } else {
      seen_.fetch_add(count, std::memory_order_relaxed);
      searched_.fetch_add(undecided, std::memory_order_relaxed);
      if (undecided < count) std::copy_n(before, count, labels);
    }
    return search(block, undecided, labels, scratch);
  }

  void finished(std::int64_t /*changed*/) {
    const std::int64_t seen = seen_.exchange(0, std::memory_order_relaxed);
    const std::int64_t searched = searched_.exchange(0, std::memory_order_relaxed);
    if (phase_ == Phase::none || seen == 0) return;
    // Rough estimates in CPU cycles per point, of a search and of a pass with bounds. To compute the bounds of all
    // points takes about 35 cycles, which few iterations must earn back.
    const auto clusters = static_cast<double>(problem_.k());
    const auto columns = static_cast<double>(problem_.d());
    const double search = (columns / 2 + 4) * clusters / 16 + 8;
    const double bounded =
        4 + static_cast<double>(searched) / static_cast<double>(seen) * ((columns + 5) * clusters / 16 + 38);
    if (phase_ == Phase::first) phase_ = Phase::bounded;
    else if (phase_ == Phase::sampled && 2 * bounded < search) phase_ = Phase::first;
    else if (phase_ == Phase::bounded && bounded > search) phase_ = Phase::sampled;
  }

  static std::uint64_t bytes(const Shape& shape, int threads) {
    const std::uint64_t plain = SmallDimAssigner<T>::bytes(shape, threads);
    if (!takes_bounds(shape)) return plain;
    const std::uint64_t of_a_thread =
        (sizeof(T) * static_cast<std::uint64_t>(shape.dimensions) + 16) * (block_points + 64);
    return plain + (sizeof(Bounds) + sizeof(float)) * static_cast<std::uint64_t>(shape.points) +
           static_cast<std::uint64_t>(shape.clusters) * (static_cast<std::uint64_t>(shape.dimensions) * sizeof(T) + 4) +
           static_cast<std::uint64_t>(threads) * of_a_thread;
  }

 private:
  /// `sampled`: some blocks have bounds, which show whether bounds are worthwhile. `first`: a full search that computes
  /// the bounds of all points.
  enum class Phase { none, sampled, first, bounded };

  struct Bounds {
    float upper;
    float lower;
  };

  static constexpr std::int64_t sampled_blocks = 32;  ///< one of this many blocks is sampled
  // The factors round to the safe side. Each covers an addition and the multiplication by the factor.
  static constexpr float outwards_factor = 1 + 0x1p-22F;
  static constexpr float inwards_factor = 1 - 0x1p-22F;
  static constexpr float tiny = 0x1p-50F;

  /// Returns true if a search takes much longer than moving the bounds.
  static bool takes_bounds(const Shape& shape) {
    return shape.dimensions > 4 && (shape.dimensions + 5) * shape.clusters >= 256 && shape.points >= 8 * block_points;
  }

  bool has_bounds() const { return phase_ != Phase::none; }

  static T outwards(double value, int direction) {
    const T rounded = static_cast<T>(value);
    return std::nextafter(rounded, direction < 0 ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max());
  }

  void measure_drifts(MatrixView<const T> centroids) {
    const double scale = coordinate_scale();
    largest_ = second_ = 0;
    for (std::int64_t cluster = 0; cluster < centroids.rows(); ++cluster) {
      double squares = 0;
      bool moves = false;  // true after any movement, even if the square of the movement underflows
      for (std::int64_t dim = 0; dim < centroids.columns(); ++dim) {
        const double moved =
            (static_cast<double>(centroids(cluster, dim)) - static_cast<double>(centroids_(cluster, dim))) * scale;
        moves = moves || centroids(cluster, dim) != centroids_(cluster, dim);
        squares += moved * moved;
      }
      const float drift = static_cast<float>(std::sqrt(squares) * (1 + 0x1p-20) + (moves ? 0x1p-100 : 0));
      drifts_[static_cast<std::size_t>(cluster)] = drift;
      if (drift > largest_) {
        second_ = std::exchange(largest_, drift);
        farthest_ = static_cast<std::int32_t>(cluster);
      } else {
        second_ = std::max(second_, drift);
      }
    }
  }

  static void all_undecided(std::int64_t count, Scratch& scratch) {
    for (std::int64_t point = 0; point < count; ++point) scratch.undecided[point] = static_cast<std::int32_t>(point);
  }

  /// Updates the bounds of a block after the centroids have moved. Returns the number of points that the bounds leave
  /// undecided.
  std::int64_t move_bounds(std::int64_t first, std::int64_t count, const std::int32_t* labels, Scratch& scratch) {
    Bounds* const bounds = bounds_.data() + first;
    std::int64_t found = 0;
    for (std::int64_t point = 0; point < count; ++point) {
      const std::int32_t label = labels[point];
      const float drift = label == farthest_ ? second_ : largest_;  // the largest drift of another cluster
      const float upper = (bounds[point].upper + drifts_[static_cast<std::size_t>(label)]) * outwards_factor;
      const float lower = (bounds[point].lower - drift) * inwards_factor;
      bounds[point] = {upper, lower};
      scratch.undecided[found] = static_cast<std::int32_t>(point);
      found += !(upper < lower);
    }
    return found;
  }

  /// Searches the undecided points of a block among all clusters, and computes their bounds.
  std::int64_t search(BlockRows<T>& points, std::int64_t count, std::int32_t* labels, Scratch& scratch) {
    if (count == 0) return 0;
    const std::int64_t d = problem_.d();
    const bool all = count == points.size();
    const MatrixView<const T> rows = all ? points.all() : points.some(scratch.undecided, count);
    if (!all)
      for (std::int64_t index = 0; index < count; ++index)
        std::copy_n(rows.row(scratch.undecided[index]), d, scratch.room.data() + index * d);
    if (std::exchange(scratch.pass, pass_) != pass_) scratch.prepared.candidates = 0;
    const SmallDimBlock<T> block{all ? rows.data() : scratch.room.data(),
                                 all ? rows.row_stride() : d,
                                 d,
                                 count,
                                 lowest_.data(),
                                 highest_.data(),
                                 centroids_.data(),
                                 centroids_.rows(),
                                 scratch.tile.data(),
                                 scratch.coefficients.data(),
                                 scratch.candidates.data(),
                                 scratch.nearest_corner.data(),
                                 scratch.found,
                                 machine_has_dot_instructions(),
                                 core::stop_poll(problem_.stop),
                                 &scratch.prepared,
                                 scratch.best,
                                 scratch.second};
    const std::int64_t rechecked = search_small_block(block, all ? labels : scratch.nearest);
    const ScoreScale& by = scratch.prepared;
    // The errors of these floats add up to less than a third of the threshold.
    const auto base = static_cast<float>(by.offset * by.scale * by.scale);
    const auto square_unit = static_cast<float>(by.scale * by.scale / (coordinate_scale() * coordinate_scale()));
    const auto unit = static_cast<float>(coordinate_scale() / by.scale);
    const float threshold = 1.5F * by.threshold;
    const std::int64_t first = points.range().begin;
    for (std::int64_t index = 0; index < count; ++index) {
      const std::int32_t point = scratch.undecided[index];
      if (phase_ != Phase::bounded) squares_[first + point] = square_of(block.rows + index * block.stride, by);
      const float squares = squares_[first + point] * square_unit;
      const float best = scratch.best[index];
      const float second = scratch.second[index];
      // If the point was rechecked, its label may be another cluster than the one with the best score.
      const float other = second - best > by.threshold ? second : best;
      const float nearest = std::max(squares + 2 * (best - base) + threshold, 0.0F);
      const float next = std::max(squares + 2 * (other - base) - threshold, 0.0F);
      bounds_[first + point] = {std::sqrt(nearest) * unit * (1 + 0x1p-20F) + tiny,
                                std::sqrt(next) * unit * (1 - 0x1p-20F) - tiny};
      if (!all) labels[point] = scratch.nearest[index];
    }
    return rechecked;
  }

  double coordinate_scale() const { return problem_.statistics.coordinate_scale; }

  /// Returns the squared distance between a point and the middle of all points, scaled.
  float square_of(const T* row, const ScoreScale& by) const {
    double squares = 0;
    for (std::int64_t dim = 0; dim < problem_.d(); ++dim) {
      const double y = (static_cast<double>(row[dim]) - by.middle[dim]) * coordinate_scale();
      squares += y * y;
    }
    return static_cast<float>(squares);
  }

  const Problem<T>& problem_;
  SmallDimAssigner<T> plain_;
  Phase phase_ = Phase::none;
  std::int64_t pass_ = 0;
  std::vector<T> lowest_, highest_;  ///< a box around all points
  Matrix<T> centroids_;              ///< centroids of this pass
  std::vector<float> drifts_;        ///< movement of each centroid, scaled, rounded up
  float largest_ = 0;
  float second_ = 0;
  std::int32_t farthest_ = 0;               ///< the cluster that moved by largest_
  Buffer<Bounds> bounds_;                   ///< per point: bounds of the distances to its centroid and to all others
  Buffer<float> squares_;                   ///< per point: square_of()
  std::atomic<std::int64_t> seen_ = 0;      ///< number of points of this pass that had bounds
  std::atomic<std::int64_t> searched_ = 0;  ///< number of points that the bounds left undecided
};

}  // namespace

template <class T>
KMeansResult<T> simd_small_dim(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  BoundedAssigner<T> assigner(problem);
  SimdEngine<T, BoundedAssigner<T>> engine(problem, cpu::thread_count(execution), assigner);
  return lloyd(problem, execution, engine, phases);
}

extern constinit const Variant simd_small_dim_rung{
    .name = "simd_small_dim",
    .summary = "a float or integer filter across points, doubtful ones in double; exact sums",
    .change =
        "few columns: vector instructions across points, whole blocks pruned by bounding boxes, only points that "
        "changed cluster touch the sums; the oracle's bits",
    .contract = exact,
    .backend = core::Backend::simd,
    .on_ranks = true,
    .supports = small_dim,
    .memory = simd_memory<BoundedAssigner>,
    .facts = {.widens_rows = true},
    .run = {simd_small_dim<float>, simd_small_dim<double>},
};

}  // namespace gradus::kmeans_detail
#endif
