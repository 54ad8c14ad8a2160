#include "kmeans/seeding/dense_cover.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kmeans/seeding/dense_cover.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace gradus::kmeans_detail {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Number of rows whose coordinates are converted at a time.
constexpr std::int64_t most_rows = 256;

// Stores the coordinates of `count` rows as doubles, column by column. The columns are most_rows elements apart.
template <class T>
HWY_INLINE void store_columns(const T* rows, std::int64_t stride, std::int64_t count, std::int64_t columns,
                              double* tile) {
  std::int64_t point = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<double> lanes;
  const hn::Rebind<T, decltype(lanes)> narrow;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  const auto put = [&](std::int64_t column, hn::Vec<decltype(narrow)> values) HWY_ATTR {
    hn::Vec<decltype(lanes)> wide;
    if constexpr (sizeof(T) == 8) wide = values;
    else wide = hn::PromoteTo(lanes, values);
    hn::StoreU(wide, lanes, tile + column * most_rows + point);
  };
  if (stride == columns && columns <= 4)
    for (; point + width <= count; point += width) {
      const T* const from = rows + point * columns;
      hn::Vec<decltype(narrow)> a, b, c, e;
      if (columns == 1) a = hn::LoadU(narrow, from);
      else if (columns == 2) hn::LoadInterleaved2(narrow, from, a, b);
      else if (columns == 3) hn::LoadInterleaved3(narrow, from, a, b, c);
      else hn::LoadInterleaved4(narrow, from, a, b, c, e);
      put(0, a);
      if (columns > 1) put(1, b);
      if (columns > 2) put(2, c);
      if (columns > 3) put(3, e);
    }
#endif
  for (; point < count; ++point)
    for (std::int64_t column = 0; column < columns; ++column)
      tile[column * most_rows + point] = static_cast<double>(rows[point * stride + column]);
}

template <class T>
HWY_INLINE void few_distances(const T* rows, std::int64_t stride, std::int64_t count, const T* const* centroids,
                              std::int64_t clusters, std::int64_t columns, double* out) {
  double tile[few_columns * most_rows];
  store_columns(rows, stride, count, columns, tile);
  for (std::int64_t cluster = 0; cluster < clusters; ++cluster, out += count) {
    double centroid[few_columns];
    for (std::int64_t column = 0; column < columns; ++column)
      centroid[column] = static_cast<double>(centroids[cluster][column]);
    std::int64_t point = 0;
#if HWY_NATIVE_FMA && HWY_HAVE_FLOAT64 && HWY_TARGET != HWY_SCALAR
    const hn::ScalableTag<double> lanes;
    const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
    for (; point + width <= count; point += width) {
      auto sum = hn::Zero(lanes);
      for (std::int64_t column = 0; column < columns; ++column) {
        const auto difference = hn::LoadU(lanes, tile + column * most_rows + point) - hn::Set(lanes, centroid[column]);
        sum = hn::MulAdd(difference, difference, sum);
      }
      hn::StoreU(sum, lanes, out + point);
    }
#endif
    for (; point < count; ++point) {
      double sum = 0;
      for (std::int64_t column = 0; column < columns; ++column) {
        const double difference = tile[column * most_rows + point] - centroid[column];
        sum = __builtin_fma(difference, difference, sum);
      }
      out[point] = sum;
    }
  }
}

void few_distances_f32(const float* rows, std::int64_t stride, std::int64_t count, const float* const* centroids,
                       std::int64_t clusters, std::int64_t columns, double* out) {
  few_distances(rows, stride, count, centroids, clusters, columns, out);
}
void few_distances_f64(const double* rows, std::int64_t stride, std::int64_t count, const double* const* centroids,
                       std::int64_t clusters, std::int64_t columns, double* out) {
  few_distances(rows, stride, count, centroids, clusters, columns, out);
}

template <class Mask>
HWY_INLINE std::uint32_t mask_bits(Mask mask) {
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(hn::ScalableTag<float>(), mask, bytes);
  std::uint16_t bits;
  __builtin_memcpy(&bits, bytes, sizeof bits);
  return bits;
}

// Compares some trials with all points. Eight products with two vectors of points hide the latency of the multiply-add.
template <int count>
HWY_INLINE void compare_some(const TileComparison& all, std::int64_t first, double* gains) {
  const hn::ScalableTag<float> lanes;
  using V = hn::Vec<decltype(lanes)>;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  const std::int64_t columns = all.columns;
  const std::int64_t stride = columns + 1;
  const float* const values = all.values + first * stride;
  V sums[count];
  for (int trial = 0; trial < count; ++trial) sums[trial] = hn::Zero(lanes);
  for (std::int64_t panel = 0; panel < all.panels; ++panel) {
    const float* const tile = all.tiles + panel * points_of_dense_tile * columns;
    const float* const limits = all.limits + panel * points_of_dense_tile;
    std::uint32_t nearer[count] = {};
    for (std::int64_t point = 0; point < points_of_dense_tile; point += 2 * width) {
      V product0[count], product1[count];
      for (int trial = 0; trial < count; ++trial)
        product0[trial] = product1[trial] = hn::Set(lanes, values[trial * stride + columns]);
      for (std::int64_t column = 0; column < columns; ++column) {
        const auto x0 = hn::LoadU(lanes, tile + column * points_of_dense_tile + point);
        const auto x1 = hn::LoadU(lanes, tile + column * points_of_dense_tile + point + width);
        for (int trial = 0; trial < count; ++trial) {
          const auto y = hn::Set(lanes, values[trial * stride + column]);
          product0[trial] = hn::MulAdd(x0, y, product0[trial]);
          product1[trial] = hn::MulAdd(x1, y, product1[trial]);
        }
      }
      const auto limit0 = hn::LoadU(lanes, limits + point);
      const auto limit1 = hn::LoadU(lanes, limits + point + width);
      for (int trial = 0; trial < count; ++trial) {
        const auto more0 = hn::Max(product0[trial] - limit0, hn::Zero(lanes));
        const auto more1 = hn::Max(product1[trial] - limit1, hn::Zero(lanes));
        sums[trial] = sums[trial] + (more0 + more1);
        nearer[trial] |= (mask_bits(product0[trial] > limit0) | mask_bits(product1[trial] > limit1) << width) << point;
      }
    }
    for (int trial = 0; trial < count; ++trial) all.nearer[panel * all.trials + first + trial] = nearer[trial];
  }
  for (int trial = 0; trial < count; ++trial)
    gains[first + trial] += static_cast<double>(hn::GetLane(hn::SumOfLanes(lanes, sums[trial])));
}

void compare_all(const TileComparison& all, double* gains) {
  std::int64_t trial = 0;
  for (; trial + 4 <= all.trials; trial += 4) compare_some<4>(all, trial, gains);
  if (trial + 2 <= all.trials) {
    compare_some<2>(all, trial, gains);
    trial += 2;
  }
  if (trial < all.trials) compare_some<1>(all, trial, gains);
}

std::uint64_t sum_lesser(double* closest, const double* others, std::int64_t count, double scale, bool keep) {
  const hn::ScalableTag<double> lanes;
  const hn::RebindToUnsigned<decltype(lanes)> integers;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  const auto factor = hn::Set(lanes, scale);
  const auto magic = hn::Set(lanes, core::integer_magic);
  auto sums = hn::Zero(integers);
  std::int64_t index = 0;
  for (; index + width <= count; index += width) {
    const auto least = hn::Min(hn::LoadU(lanes, others + index), hn::LoadU(lanes, closest + index));
    if (keep) hn::StoreU(least, lanes, closest + index);
    sums = sums + hn::BitCast(integers, least * factor + magic);
  }
  std::uint64_t sum = hn::GetLane(hn::SumOfLanes(integers, sums));
  for (; index < count; ++index) {
    const double least = others[index] < closest[index] ? others[index] : closest[index];
    if (keep) closest[index] = least;
    const double raw = least * scale + core::integer_magic;
    std::uint64_t bits;
    __builtin_memcpy(&bits, &raw, sizeof bits);
    sum += bits;
  }
  return sum;
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::kmeans_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::kmeans_detail {

HWY_EXPORT(few_distances_f32);
HWY_EXPORT(few_distances_f64);
HWY_EXPORT(sum_lesser);
HWY_EXPORT(compare_all);

template <class T>
void few_squared_distances(const T* rows, std::int64_t stride, std::int64_t count, const T* const* centroids,
                           std::int64_t clusters, std::int64_t columns, double* out) {
  const auto run = [&](const auto& function) { function(rows, stride, count, centroids, clusters, columns, out); };
  if constexpr (sizeof(T) == 4) run(HWY_DYNAMIC_DISPATCH(few_distances_f32));
  else run(HWY_DYNAMIC_DISPATCH(few_distances_f64));
}

std::uint64_t sum_of_lesser(double* closest, const double* others, std::int64_t count, const Quantizer& quantize,
                            bool keep) {
  return HWY_DYNAMIC_DISPATCH(sum_lesser)(closest, others, count, quantize.scale(), keep);
}

void compare_tiles(const TileComparison& comparison, double* gains) {
  HWY_DYNAMIC_DISPATCH(compare_all)(comparison, gains);
}

template void few_squared_distances(const float*, std::int64_t, std::int64_t, const float* const*, std::int64_t,
                                    std::int64_t, double*);
template void few_squared_distances(const double*, std::int64_t, std::int64_t, const double* const*, std::int64_t,
                                    std::int64_t, double*);

}  // namespace gradus::kmeans_detail
#endif
