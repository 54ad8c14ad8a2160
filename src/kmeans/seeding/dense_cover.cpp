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

// Loads the coordinates of four or eight neighbouring rows in one column.
template <class Lanes>
HWY_INLINE hn::Vec<Lanes> load_column(Lanes lanes, const double* from, std::int64_t stride) {
  const hn::RebindToSigned<Lanes> integers;
  return hn::GatherIndex(lanes, from, hn::Iota(integers, 0) * hn::Set(integers, stride));
}
template <class Lanes>
HWY_INLINE hn::Vec<Lanes> load_column(Lanes lanes, const float* from, std::int64_t stride) {
  const hn::Rebind<float, Lanes> narrow;
  const hn::RebindToSigned<decltype(narrow)> integers;
  const auto index = hn::Iota(integers, 0) * hn::Set(integers, static_cast<std::int32_t>(stride));
  return hn::PromoteTo(lanes, hn::GatherIndex(narrow, from, index));
}

template <int D, class T>
void few_distances(const T* rows, std::int64_t stride, std::int64_t count, const T* const* centroids,
                   std::int64_t clusters, double* out) {
  std::int64_t point = 0;
#if HWY_NATIVE_FMA && HWY_HAVE_FLOAT64 && HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<double> lanes;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  if (stride < (std::int64_t{1} << 24))
    for (; point + width <= count; point += width) {
      hn::Vec<decltype(lanes)> column[D];
      for (int dim = 0; dim < D; ++dim) column[dim] = load_column(lanes, rows + point * stride + dim, stride);
      for (std::int64_t cluster = 0; cluster < clusters; ++cluster) {
        auto sum = hn::Zero(lanes);
        for (int dim = 0; dim < D; ++dim) {
          const auto difference = column[dim] - hn::Set(lanes, static_cast<double>(centroids[cluster][dim]));
          sum = hn::MulAdd(difference, difference, sum);
        }
        hn::StoreU(sum, lanes, out + cluster * count + point);
      }
    }
#endif
  for (; point < count; ++point)
    for (std::int64_t cluster = 0; cluster < clusters; ++cluster) {
      double sum = 0;
      for (int dim = 0; dim < D; ++dim) {
        const double difference =
            static_cast<double>(rows[point * stride + dim]) - static_cast<double>(centroids[cluster][dim]);
        sum = __builtin_fma(difference, difference, sum);
      }
      out[cluster * count + point] = sum;
    }
}

template <class T>
void few_distances_of(const T* rows, std::int64_t stride, std::int64_t count, const T* const* centroids,
                      std::int64_t clusters, std::int64_t columns, double* out) {
  switch (columns) {
    case 1: return few_distances<1>(rows, stride, count, centroids, clusters, out);
    case 2: return few_distances<2>(rows, stride, count, centroids, clusters, out);
    case 3: return few_distances<3>(rows, stride, count, centroids, clusters, out);
    case 4: return few_distances<4>(rows, stride, count, centroids, clusters, out);
    default: return few_distances<5>(rows, stride, count, centroids, clusters, out);
  }
}

void few_distances_f32(const float* rows, std::int64_t stride, std::int64_t count, const float* const* centroids,
                       std::int64_t clusters, std::int64_t columns, double* out) {
  few_distances_of(rows, stride, count, centroids, clusters, columns, out);
}
void few_distances_f64(const double* rows, std::int64_t stride, std::int64_t count, const double* const* centroids,
                       std::int64_t clusters, std::int64_t columns, double* out) {
  few_distances_of(rows, stride, count, centroids, clusters, columns, out);
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

template void few_squared_distances(const float*, std::int64_t, std::int64_t, const float* const*, std::int64_t,
                                    std::int64_t, double*);
template void few_squared_distances(const double*, std::int64_t, std::int64_t, const double* const*, std::int64_t,
                                    std::int64_t, double*);

}  // namespace gradus::kmeans_detail
#endif
