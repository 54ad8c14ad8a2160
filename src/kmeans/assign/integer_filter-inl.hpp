// The parts of the integer filter that are compiled once per instruction set. simd_large_dim.cpp explains the filter.
// Highway includes this file once per instruction set, so a toggle replaces the ordinary include guard.

#if defined(GRADUS_KMEANS_INTEGER_FILTER_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef GRADUS_KMEANS_INTEGER_FILTER_TOGGLE
#undef GRADUS_KMEANS_INTEGER_FILTER_TOGGLE
#else
#define GRADUS_KMEANS_INTEGER_FILTER_TOGGLE
#endif

#include <hwy/highway.h>

#include "kmeans/assign/integer_filter.hpp"

// NOLINTBEGIN(misc-definitions-in-headers): compiled once for each instruction set, in one source file each

HWY_BEFORE_NAMESPACE();
namespace gradus::kmeans_detail {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#undef GRADUS_INTEGER_PANELS
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
#define GRADUS_INTEGER_PANELS 1
using WideTag = hn::ScalableTag<std::int32_t>;
using DotVector = decltype(hn::Zero(WideTag()).raw);
constexpr std::int64_t vector_lanes = hn::MaxLanes(WideTag());
#else
#define GRADUS_INTEGER_PANELS 0
constexpr std::int64_t vector_lanes = 16;  // arrays are padded to whole vectors of any length
#endif
constexpr std::int64_t panel_clusters = 2 * vector_lanes;

// Instructions that multiply small integers and accumulate in 32 bits: AVX512-VNNI, or AVX-VNNI for AVX2 vectors.
// Highway 1.0.3 does not offer these instructions, and its AVX3_DL target does not distinguish the two extensions.
// Therefore, the code uses inline assembly. The filter's constructor checks at run time whether the CPU has the
// instructions.
#undef GRADUS_DOT_INSTRUCTIONS
#if GRADUS_INTEGER_PANELS && (HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2)
#define GRADUS_DOT_INSTRUCTIONS 1
#if HWY_TARGET == HWY_AVX3
#define GRADUS_DOT_ENCODING ""
#define GRADUS_DOT_REGISTER "v"
#else
#define GRADUS_DOT_ENCODING "%{vex%} "
#define GRADUS_DOT_REGISTER "x"
#endif

// For each i, multiplies 2 pairs of 16-bit integers and adds the products to sum[i].
HWY_INLINE DotVector dot_words(DotVector sum, DotVector a, DotVector b) {
  asm(GRADUS_DOT_ENCODING "vpdpwssd %2, %1, %0"
      : "+" GRADUS_DOT_REGISTER(sum)
      : GRADUS_DOT_REGISTER(a), GRADUS_DOT_REGISTER(b));
  return sum;
}

// For each i, multiplies 4 unsigned bytes with 4 signed bytes and adds the products to sum[i].
HWY_INLINE DotVector dot_bytes(DotVector sum, DotVector without_sign, DotVector with_sign) {
  asm(GRADUS_DOT_ENCODING "vpdpbusd %2, %1, %0"
      : "+" GRADUS_DOT_REGISTER(sum)
      : GRADUS_DOT_REGISTER(without_sign), GRADUS_DOT_REGISTER(with_sign));
  return sum;
}
#else
#define GRADUS_DOT_INSTRUCTIONS 0
#endif

[[maybe_unused]] constexpr std::int64_t whole_panels(std::int64_t clusters) {
  return (clusters + panel_clusters - 1) / panel_clusters * panel_clusters;
}

[[maybe_unused]] inline std::int64_t panel_index(std::int64_t cluster, std::int64_t dim, std::int64_t stride) {
  return (cluster / panel_clusters) * panel_clusters * stride +
         ((dim / 2) * panel_clusters + cluster % panel_clusters) * 2 + dim % 2;
}

// Returns a bound of the relative error of a point's squared norm. The norm is computed in float, from coordinates that
// are rounded to float.
inline double square_rounding(std::int64_t dimensions) { return static_cast<double>(dimensions + 16) * 0x1p-22; }

// Returns a bound of the canonical chain's rounding, which callers add to the error of each score.
//
// If two scores differ by more than twice their error, the exact distances have the same order as the scores. But the
// label is the cluster with the least *canonical* distance, and the chain's rounding may reverse the order. This
// rounding dominates if a point is far away from centroids that are close together: the large term |y|^2 is part of the
// chain but not of the score.
//
// Let x be a point and c a centroid, and let y and b be x and c relative to the middle. Let u = 2^-53, let D = |x -
// c|^2, and let C be the result of the chain. Each difference is rounded once, which counts twice in its square. The
// square passes through at most d fused additions of non-negative terms. So |C - D| <= g D with g = (d + 2) u plus
// terms of order u^2. The code uses d + 16 instead of d + 2, which also covers the rounding of the lengths and of the
// operations below. (Underflow in the chain, d 2^-1074, is far below one step of a score: a step is at least 2^-120 of
// a scaled square, whose scale is at most 2^400.)
//
// All squared distances of a point are at most r^2, where r = |y| + max |b|. Let a be the cluster with the least true
// score (D - |y|^2) / 2, and let c be a cluster whose true score exceeds the score of a by more than g r^2. Then
//   C_c - C_a >= D_c - D_a - g (D_c + D_a) > 2 g r^2 - 2 g r^2 = 0,
// so c is not canonically nearest, not even in a tie. Hence g r^2 / 2 is added to the error of each score. If two
// computed scores differ by more than twice the enlarged error, the true scores differ by more than g r^2.
//
// If the centroids are spread as widely as the points, the added term is about a millionth of a step and has no effect.
template <class T>
double chain_error(const FilterView<T>& filter, double length, double unit) {
  const double reach = length + __builtin_sqrt(2 * filter.largest_half_square);
  return 0.5 * (static_cast<double>(filter.dimensions + 16) * 0x1p-53) * reach * reach * unit;
}

// Loads rows into the tile in float, scaled and relative to the middle. Computes their squared norms and returns the
// greatest squared norm.
template <class T>
double load_tile(const FilterView<T>& filter, const T* const* rows, std::int64_t count, float* tile,
                 double* squared_norms) {
  const std::int64_t d = filter.dimensions;
  const std::int64_t stride = padded_dimensions(d);
  const hn::ScalableTag<T> lanes;
  const hn::Rebind<float, decltype(lanes)> narrow;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  const auto scale = hn::Set(lanes, static_cast<T>(filter.scale));
  double largest = 0;
  for (std::int64_t point = 0; point < count; ++point) {
    const T* row = rows[point];
    float* out = tile + point * stride;
    auto squares = hn::Zero(narrow);
    std::int64_t dim = 0;
    for (; dim + width <= d; dim += width) {
      const auto middle = hn::LoadU(lanes, filter.middle + dim);
      const auto moved = hn::MulSub(hn::LoadU(lanes, row + dim), scale, middle);
      if constexpr (sizeof(T) == 8) {
        const auto value = hn::DemoteTo(narrow, moved);
        hn::StoreU(value, narrow, out + dim);
        squares = hn::MulAdd(value, value, squares);
      } else {
        hn::StoreU(moved, narrow, out + dim);
        squares = hn::MulAdd(moved, moved, squares);
      }
    }
    double sum = static_cast<double>(hn::GetLane(hn::SumOfLanes(narrow, squares)));
    for (; dim < d; ++dim) {
      out[dim] = static_cast<float>(static_cast<T>(row[dim] * static_cast<T>(filter.scale)) - filter.middle[dim]);
      sum += static_cast<double>(out[dim]) * static_cast<double>(out[dim]);
    }
    for (; dim < stride; ++dim) out[dim] = 0;
    squared_norms[point] = sum;
    if (sum > largest) largest = sum;
  }
  return largest;
}

[[maybe_unused]] void quantize_tile(const float* tile, std::int64_t values, float steps, std::int16_t* out) {
  const hn::ScalableTag<float> f;
  const hn::Rebind<std::int16_t, decltype(f)> narrow;
  const auto width = static_cast<std::int64_t>(hn::Lanes(f));
  const auto factor = hn::Set(f, steps);
  for (std::int64_t index = 0; index < values; index += width) {
    const auto rounded = hn::NearestInt(hn::Mul(hn::LoadU(f, tile + index), factor));
    hn::StoreU(hn::DemoteTo(narrow, rounded), narrow, out + index);
  }
}

#if GRADUS_INTEGER_PANELS
// Adds the products of pairs of 16-bit integers to the sums, with one instruction if `dot` is true and with two
// instructions otherwise.
template <bool dot>
HWY_INLINE DotVector add_pairs(DotVector sum, DotVector point, DotVector centroids) {
#if GRADUS_DOT_INSTRUCTIONS
  if constexpr (dot) return dot_words(sum, point, centroids);
#endif
  const WideTag wide;
  using Pairs = hn::Vec<hn::Repartition<std::int16_t, WideTag>>;
  auto unused = hn::Zero(wide);
  return hn::ReorderWidenMulAccumulate(wide, Pairs{point}, Pairs{centroids}, hn::Vec<WideTag>{sum}, unused).raw;
}
#endif

#if GRADUS_INTEGER_PANELS
// Multiplies four rows of points by `vectors` vectors of clusters, which form one or two panels.
template <bool dot, std::int64_t vectors>
HWY_INLINE void multiply_tile(const std::int16_t* const* rows, const std::int16_t* panel, const std::int32_t* offsets,
                              std::int64_t stride, std::int64_t pairs, std::int32_t* scores,
                              std::int64_t score_stride) {
  const WideTag wide;
  const hn::Repartition<std::int16_t, WideTag> narrow;
  DotVector sums[4][vectors];
#pragma GCC unroll 8
  for (auto& row : sums)
#pragma GCC unroll 8
    for (auto& sum : row) sum = hn::Zero(wide).raw;
  // Without dot instructions, the loop processes one pair at a time. With two pairs, the compiler would sum several
  // pairs first and run out of registers.
  constexpr std::int64_t together = dot ? 2 : 1;
#pragma GCC unroll 2
  for (std::int64_t step = 0; step < pairs; step += together)
#pragma GCC unroll 2
    for (std::int64_t pair = step; pair < step + together; ++pair) {
      DotVector centroids[vectors];
#pragma GCC unroll 8
      for (std::int64_t vector = 0; vector < vectors; ++vector)
        centroids[vector] = hn::LoadU(narrow, panel + vector / 2 * panel_clusters * stride +
                                                  2 * (pair * panel_clusters + vector % 2 * vector_lanes))
                                .raw;
#pragma GCC unroll 8
      for (std::int64_t row = 0; row < 4; ++row) {
        std::int32_t both;
        __builtin_memcpy(&both, rows[row] + 2 * pair, sizeof both);
        const auto point = hn::Set(wide, both);
#pragma GCC unroll 8
        for (std::int64_t vector = 0; vector < vectors; ++vector)
          sums[row][vector] = add_pairs<dot>(sums[row][vector], point.raw, centroids[vector]);
      }
    }
#pragma GCC unroll 8
  for (std::int64_t row = 0; row < 4; ++row)
#pragma GCC unroll 8
    for (std::int64_t vector = 0; vector < vectors; ++vector)
      hn::StoreU(hn::LoadU(wide, offsets + vector * vector_lanes) - hn::Vec<WideTag>{sums[row][vector]}, wide,
                 scores + row * score_stride + vector * vector_lanes);
}
#endif

// Computes scores[r * score_stride + c] = offsets[c] - (quantized point rows[r] . quantized centroid c) exactly, for
// the clusters in the panels [first, last). Processes four rows at a time, so `rows` must be padded to a multiple of
// four.
template <bool dot>
[[maybe_unused]] void multiply_with(const std::int16_t* const* rows, std::int64_t count, const std::int16_t* panels,
                                    const std::int32_t* offsets, std::int64_t dimensions, std::int64_t first,
                                    std::int64_t last, std::int32_t* scores, std::int64_t score_stride) {
  const std::int64_t stride = padded_dimensions(dimensions);
  const std::int64_t pairs = (dimensions + 3) / 4 * 2;  // the padding is zero, so each step may process two pairs
#if GRADUS_INTEGER_PANELS
  std::int64_t cluster = first;
  if constexpr (vector_lanes == 16)  // AVX-512 has enough registers for two panels at a time
    for (; cluster + 2 * panel_clusters <= last; cluster += 2 * panel_clusters)
      for (std::int64_t row = 0; row < count; row += 4)
        multiply_tile<dot, 4>(rows + row, panels + cluster * stride, offsets + cluster, stride, pairs,
                              scores + row * score_stride + cluster - first, score_stride);
  for (; cluster < last; cluster += panel_clusters)
    for (std::int64_t row = 0; row < count; row += 4)
      multiply_tile<dot, 2>(rows + row, panels + cluster * stride, offsets + cluster, stride, pairs,
                            scores + row * score_stride + cluster - first, score_stride);
#else
  for (std::int64_t row = 0; row < count; ++row)
    for (std::int64_t cluster = first; cluster < last; ++cluster) {
      std::int32_t sum = 0;
      for (std::int64_t dim = 0; dim < 2 * pairs; ++dim)
        sum += rows[row][dim] * panels[panel_index(cluster, dim, stride)];  // NOLINT(clang-analyzer-*): never null
      scores[row * score_stride + cluster - first] = offsets[cluster] - sum;
    }
#endif
}

[[maybe_unused]] void multiply(bool dot_instructions, const std::int16_t* const* rows, std::int64_t count,
                               const std::int16_t* panels, const std::int32_t* offsets, std::int64_t dimensions,
                               std::int64_t first, std::int64_t last, std::int32_t* scores, std::int64_t score_stride) {
#if GRADUS_DOT_INSTRUCTIONS
  if (dot_instructions)
    return multiply_with<true>(rows, count, panels, offsets, dimensions, first, last, scores, score_stride);
#endif
  (void)dot_instructions;
  multiply_with<false>(rows, count, panels, offsets, dimensions, first, last, scores, score_stride);
}

// Returns the least score of a row of `count` scores. `count` is a multiple of the vector length.
[[maybe_unused]] std::int32_t least_score(const std::int32_t* scores, std::int64_t count) {
  const hn::ScalableTag<std::int32_t> lanes;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  auto least = hn::LoadU(lanes, scores);
  for (std::int64_t cluster = width; cluster < count; cluster += width)
    least = hn::Min(least, hn::LoadU(lanes, scores + cluster));
  return hn::GetLane(hn::MinOfLanes(lanes, least));
}

// Stores the indices of the scores that are at most `limit`, in ascending order, and returns their number.
[[maybe_unused]] std::int64_t collect(const std::int32_t* scores, std::int64_t size, std::int32_t limit,
                                      std::int32_t* places) {
  const hn::ScalableTag<std::int32_t> lanes;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  const auto bound = hn::Set(lanes, limit);
  std::int64_t count = 0;
  const auto bits_at = [&](std::int64_t first) HWY_ATTR {
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(lanes, hn::Not(hn::LoadU(lanes, scores + first) > bound), bytes);
    std::uint64_t bits;
    __builtin_memcpy(&bits, bytes, sizeof bits);
    return bits;
  };
  const auto put = [&](std::uint64_t bits, std::int64_t first) {
    for (; bits != 0; bits &= bits - 1) places[count++] = static_cast<std::int32_t>(first + __builtin_ctzll(bits));
  };
  if (size <= 64 && width > 1) {  // all bits fit in one word, which needs no branches that depend on the data
    std::uint64_t bits = 0;
    for (std::int64_t first = 0; first < size; first += width) bits |= bits_at(first) << first;
    put(bits, 0);
    return count;
  }
  for (std::int64_t first = 0; first < size; first += width)
    if (!hn::AllTrue(lanes, hn::LoadU(lanes, scores + first) > bound)) put(bits_at(first), first);
  return count;
}

// A sub-block of points, quantized relative to the middle of the centroids.
struct QuantizedPoints {
  double squared_norms[sub_block];      // squared norms of the scaled points; see square_rounding()
  const std::int16_t* rows[sub_block];  // addresses of quantized points, padded to a multiple of four
  double steps;                         // number of quantization steps in a scaled length of 1
  double unit;                          // number of score steps in a scaled squared length of 1
  double error;                         // error bound of a score, in score steps, without the canonical chain's error
  double label_error;                   // the same bound with the canonical chain's error
};

// Computes half the squared norm of the centroids [first, last), in score steps. `offsets` begins with centroid 0.
template <class T>
void quantize_offsets(const FilterView<T>& filter, double unit, std::int64_t first, std::int64_t last,
                      std::int32_t* offsets) {
  const std::int64_t end = last < filter.clusters ? last : filter.clusters;
  for (std::int64_t cluster = first; cluster < end; ++cluster)
    offsets[cluster] = static_cast<std::int32_t>(filter.half_squares[cluster] * unit);
  for (std::int64_t cluster = end; cluster < last; ++cluster) offsets[cluster] = unused_score;
}

template <class T>
void quantize_points(const FilterView<T>& filter, const T* const* rows, std::int64_t count, FilterScratch& scratch,
                     QuantizedPoints& points) {
  const std::int64_t d = filter.dimensions;
  const std::int64_t stride = padded_dimensions(d);
  const double largest = __builtin_sqrt(load_tile(filter, rows, count, scratch.tile.data(), points.squared_norms) *
                                        (1 + square_rounding(d)));
  // The number of steps has two limits: a point's norm is at most norm_limit steps, and half a centroid's squared norm
  // is at most 2^29 steps of a score.
  double steps = norm_limit / (largest > 0 ? largest : 1.0);
  const double most = 0x1p29 / (filter.steps * (filter.largest_half_square > 0 ? filter.largest_half_square : 1.0));
  if (steps > most) steps = most;
  if (steps > 0x1p60) steps = 0x1p60;
  points.steps = static_cast<double>(static_cast<float>(steps));
  points.unit = points.steps * filter.steps;
  // The error bound of a score follows by Cauchy-Schwarz. The rounding error of a point is half a step per dimension,
  // and the factor 0.51 also covers the rounding of the tile.
  const double point_error = 0.51 * __builtin_sqrt(static_cast<double>(d));
  points.error = (largest * points.steps + point_error) * filter.largest_error +
                 point_error * (filter.largest_norm + filter.largest_error) + 4;
  points.label_error = points.error + chain_error(filter, largest, points.unit);
  quantize_tile(scratch.tile.data(), count * stride, static_cast<float>(points.steps), scratch.points.data());
  for (std::int64_t row = 0; row < (count + 3) / 4 * 4; ++row)
    points.rows[row] = scratch.points.data() + (row < count ? row : 0) * stride;
  quantize_offsets(filter, points.unit, 0, whole_panels(filter.clusters), scratch.offsets.data());
}

// Converts a score to a lower bound of the scaled distance. The last factor covers the rounding of the canonical chain,
// too.
template <class T>
float distance_above(const FilterView<T>& filter, const QuantizedPoints& points, std::int64_t point,
                     std::int32_t score) {
  const double squared = points.squared_norms[point] * (1 - square_rounding(filter.dimensions)) +
                         2 * ((static_cast<double>(score) - 1.01 * points.error) / points.unit);
  return squared > 0 ? static_cast<float>(__builtin_sqrt(squared) * (1 - 0x1p-20)) : 0.0F;
}

// Returns the canonical squared distance.
template <class T>
double exact_distance(const T* point, const T* centroid, std::int64_t dimensions) {
  double sum = 0;
  for (std::int64_t dim = 0; dim < dimensions; ++dim) {
    const double difference = static_cast<double>(point[dim]) - static_cast<double>(centroid[dim]);
    sum = __builtin_fma(difference, difference, sum);
  }
  return sum;
}

// Computes the squared distance in the type T. Processes whole vectors of coordinates. The relative error is at most
// distance_rounding().
template <class T>
double near_distance(const T* point, const T* centroid, std::int64_t dimensions) {
  const hn::ScalableTag<T> lanes;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  auto sum = hn::Zero(lanes);
  auto other = sum;
  std::int64_t dim = 0;
  for (; dim + 2 * width <= dimensions; dim += 2 * width) {
    const auto difference = hn::LoadU(lanes, point + dim) - hn::LoadU(lanes, centroid + dim);
    const auto second = hn::LoadU(lanes, point + dim + width) - hn::LoadU(lanes, centroid + dim + width);
    sum = hn::MulAdd(difference, difference, sum);
    other = hn::MulAdd(second, second, other);
  }
  for (; dim + width <= dimensions; dim += width) {
    const auto difference = hn::LoadU(lanes, point + dim) - hn::LoadU(lanes, centroid + dim);
    sum = hn::MulAdd(difference, difference, sum);
  }
  T total = hn::GetLane(hn::SumOfLanes(lanes, sum + other));
  for (; dim < dimensions; ++dim) total += (point[dim] - centroid[dim]) * (point[dim] - centroid[dim]);
  return static_cast<double>(total);
}

// Returns a bound of the sum of two relative errors: the error of near_distance() and the error of the canonical chain.
// Each of these computations makes at most dimensions + 8 roundings and adds only positive terms.
template <class T>
constexpr double distance_rounding(std::int64_t dimensions) {
  return static_cast<double>(dimensions + 16) * (sizeof(T) == 4 ? 0x1p-23 : 0x1p-51);
}

// Returns the canonical label among `count` candidates. First excludes most candidates by distances in the type T. If
// several candidates are left, the canonical chain decides, and `rechecked` becomes true.
template <class T>
std::int32_t nearest_candidate(const FilterView<T>& filter, const T* row, std::int64_t count, FilterScratch& scratch,
                               bool& rechecked) {
  std::int32_t* candidates = scratch.candidates.data();
  if (count == 1) return candidates[0];
  const std::int64_t d = filter.dimensions;
  double* distances = scratch.distances.data();
  double least = __builtin_huge_val();
  for (std::int64_t index = 0; index < count; ++index) {
    distances[index] = near_distance(row, filter.centroids + candidates[index] * d, d);
    least = distances[index] < least ? distances[index] : least;
  }
  // If a distance overflows, it becomes infinite and its cluster stays a candidate. Errors caused by underflow are far
  // below the constant that is added to the limit.
  const double limit = least * (1 + 2.1 * distance_rounding<T>(d)) + (sizeof(T) == 4 ? 1e-30 : 1e-290);
  std::int64_t left = 0;
  for (std::int64_t index = 0; index < count; ++index) {
    candidates[left] = candidates[index];
    left += distances[index] <= limit;
  }
  if (left == 1) return candidates[0];
  rechecked = true;
  std::int32_t label = candidates[0];
  double best = __builtin_huge_val();
  for (std::int64_t index = 0; index < left; ++index) {
    const double distance = exact_distance(row, filter.centroids + candidates[index] * d, d);
    if (distance < best || (distance == best && candidates[index] < label)) {
      best = distance;
      label = candidates[index];
    }
  }
  return label;
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::kmeans_detail
HWY_AFTER_NAMESPACE();
// NOLINTEND(misc-definitions-in-headers)

#endif  // per target
