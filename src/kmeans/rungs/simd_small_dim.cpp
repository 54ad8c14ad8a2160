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
// * Bounds. With at least 5 columns and many clusters, a point may have an upper bound of the distance to its centroid
//   and a lower bound of the distance to every other centroid. When the centroids move, the bounds move by the lengths
//   of these movements. While the upper bound is below the lower bound, the point keeps its label and is not read.
//   Bounds follow from the two best scores: D(x,c) = |y|^2 + 2 (s - B), with an error of at most 2 E. They are rounded
//   to the safe side. In the first iterations, bounds decide few points, and in uniform data they do so for long. So
//   one block of 32 has bounds first. If they decide most points of these blocks, all points get bounds. The rule
//   counts points, not time, and does not affect the labels.
// * Sums. Only points that change cluster touch the exact sums (simd_engine.hpp).
//
// Work per iteration: (d + 5) n k / lanes vector instructions and one read of the points; with bounds, this work for
// the undecided points, and some operations for each point. Memory for bounds: 12 bytes per point. Limits: d <= 16.
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

// Each kernel is compiled for a number D of columns. Above `largest_exact` columns, only some values of D exist: the
// number of columns is rounded up to one of these values, and the extra columns are zero. For older CPUs, fewer kernels
// are compiled, to save space.
constexpr bool has_few_kernels = HWY_MAX_BYTES < 32;
constexpr int largest_exact = has_few_kernels ? 4 : 8;

template <class T, int D>
HWY_INLINE std::int64_t columns_of(const SmallDimBlock<T>& block) {
  return D <= largest_exact ? D : block.dimensions;
}

// Finds the clusters that may be nearest to some point in the box, in ascending order. Margins cover the rounding
// errors of the distances to the box and of the canonical distances.
template <class T, int D>
std::int64_t find_candidates(const SmallDimBlock<T>& block) {
  constexpr double slack = (2 * D + 8) * 0x1p-52;
  const std::int64_t d = columns_of<T, D>(block);
  double least_reach = HUGE_VAL;  // the smallest among the squared distances from each centroid to its farthest corner
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

#if HWY_MAX_BYTES >= 32
// Returns eight scaled coordinates of a row in float. Coordinates that the mask `used` excludes are zero.
template <class T, class Used>
HWY_INLINE hn::Vec<hn::FixedTag<float, 8>> eight_scaled(const T* row, Used used, const T* shift, T scale) {
  const hn::FixedTag<float, 8> eight;
  if constexpr (sizeof(T) == 4) {
    return hn::MulSub(hn::MaskedLoad(used, eight, row), hn::Set(eight, scale), hn::LoadU(eight, shift));
#if HWY_MAX_BYTES >= 64
  } else {
    const hn::FixedTag<double, 8> wide;
    return hn::DemoteTo(eight,
                        hn::MulSub(hn::MaskedLoad(used, wide, row), hn::Set(wide, scale), hn::LoadU(wide, shift)));
#else
  } else {
    const hn::FixedTag<double, 4> wide;
    const hn::FixedTag<float, 4> half;
    const auto factor = hn::Set(wide, scale);
    const auto low = hn::MulSub(hn::MaskedLoad(used.low, wide, row), factor, hn::LoadU(wide, shift));
    const auto high = hn::MulSub(hn::MaskedLoad(used.high, wide, row + 4), factor, hn::LoadU(wide, shift + 4));
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

// Transposes eight rows of eight elements. Stores the eight columns `tile_stride` elements apart.
template <class V>
HWY_INLINE void store_transposed(const V (&row)[8], float* out) {
  const hn::FixedTag<float, 8> eight;
  const hn::FixedTag<double, 4> pairs;
  const auto low = [&](V a, V b) HWY_ATTR { return hn::BitCast(pairs, hn::InterleaveLower(eight, a, b)); };
  const auto high = [&](V a, V b) HWY_ATTR { return hn::BitCast(pairs, hn::InterleaveUpper(eight, a, b)); };
  // Each vector holds columns 0 to 3 in its lower half and columns 4 to 7 in its upper half: `near` for points 0 to 3,
  // and `far` for points 4 to 7.
  const auto store = [&](int column, auto near, auto far) HWY_ATTR {
    hn::StoreU(hn::BitCast(eight, hn::ConcatLowerLower(pairs, far, near)), eight, out + column * tile_stride);
    hn::StoreU(hn::BitCast(eight, hn::ConcatUpperUpper(pairs, far, near)), eight, out + (column + 4) * tile_stride);
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

// Fills the tile from long rows by transposing squares of eight by eight elements in registers. Extra columns are zero.
template <class T>
void fill_tile_transposed(const SmallDimBlock<T>& block, int tile_rows, const double* shift, double scale) {
  T scaled_shift[16] = {};
  const std::int64_t d = block.dimensions;
  for (std::int64_t dim = 0; dim < d; ++dim) scaled_shift[dim] = static_cast<T>(shift[dim] * scale);
  const T factor = static_cast<T>(scale);
  std::int64_t index = 0;
#if HWY_MAX_BYTES >= 32
  for (; index + 8 <= block.count; index += 8)
    for (std::int64_t dim = 0; dim < d; dim += 8) {
      const T* row = block.rows + index * block.stride + dim;
      const auto used = first_of_eight<T>(d - dim);
      hn::Vec<hn::FixedTag<float, 8>> rows[8];
#pragma GCC unroll 8
      for (int point = 0; point < 8; ++point)
        rows[point] = eight_scaled(row + point * block.stride, used, scaled_shift + dim, factor);
      store_transposed(rows, block.tile + dim * tile_stride + index);
    }
#endif
  const std::int64_t unfilled = index;
  for (; index < block.count; ++index)
    for (std::int64_t dim = 0; dim < d; ++dim)
      block.tile[dim * tile_stride + index] =
          static_cast<float>(static_cast<T>(block.rows[index * block.stride + dim] * factor) - scaled_shift[dim]);
  for (; index % 64 != 0; ++index)  // fills the last vector
    for (std::int64_t dim = 0; dim < d; ++dim) block.tile[dim * tile_stride + index] = 0;
  for (std::int64_t dim = d; dim < tile_rows; ++dim)
    for (std::int64_t point = unfilled; point < index; ++point) block.tile[dim * tile_stride + point] = 0;
}

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
  if constexpr (D > 4) return fill_tile_transposed(block, D, shift, scale);
  if (block.stride == D) {
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
  for (; index < block.count; ++index)
    for (int dim = 0; dim < D; ++dim)
      block.tile[dim * tile_stride + index] =
          static_cast<float>(static_cast<T>(block.rows[index * block.stride + dim] * static_cast<T>(scale)) -
                             static_cast<T>(shift[dim] * scale));
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

template <class T>
std::int64_t assign_any(const SmallDimBlock<T>& block, std::int64_t dimensions, std::int32_t* labels) {
  switch (dimensions) {
    case 1: return assign_kernel<T, 1>(block, labels);
    case 2: return assign_kernel<T, 2>(block, labels);
    case 3: return assign_kernel<T, 3>(block, labels);
    case 4: return assign_kernel<T, 4>(block, labels);
    case 5: return assign_kernel < T, has_few_kernels ? 8 : 5 > (block, labels);
    case 6: return assign_kernel < T, has_few_kernels ? 8 : 6 > (block, labels);
    case 7: return assign_kernel < T, has_few_kernels ? 8 : 7 > (block, labels);
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

template <class T>
std::int64_t search_small_block(const SmallDimBlock<T>& block, std::int32_t* labels) {
  if constexpr (sizeof(T) == 4) return HWY_DYNAMIC_DISPATCH(assign_small_f32)(block, block.dimensions, labels);
  else return HWY_DYNAMIC_DISPATCH(assign_small_f64)(block, block.dimensions, labels);
}

std::int64_t groups_of(std::int64_t clusters) { return (clusters + group_size - 1) / group_size * group_size; }

}  // namespace

SmallDimScratch::SmallDimScratch(std::int64_t clusters, std::int64_t dimensions)
    : tile(padded_rows(dimensions) * tile_stride, 0.0F),
      coefficients(static_cast<std::size_t>(groups_of(clusters) * (padded_rows(dimensions) + 1))),
      candidates(static_cast<std::size_t>(clusters + 1)), nearest_corner(static_cast<std::size_t>(clusters)) {}

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
             (4 * static_cast<std::uint64_t>(padded_rows(shape.dimensions) * tile_stride) + k * (4 * (d + 1) + 12));
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
    const double search = static_cast<double>((problem_.d() + 5) * problem_.k()) / 16 + 8;
    const double bounded = 4 + static_cast<double>(searched) / static_cast<double>(seen) * (search + 30);
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
    .summary = "a float filter across points, doubtful ones in double; exact sums",
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
