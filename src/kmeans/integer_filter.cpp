#include "kmeans/integer_filter.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kmeans/integer_filter.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "kmeans/integer_filter-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gradus::kmeans_detail {
namespace HWY_NAMESPACE {
namespace {

template <class T>
std::int64_t search_kernel(const FilterView<T>& filter, const T* const* rows, std::int64_t count, std::int32_t* labels,
                           const DistanceBounds& bounds, FilterScratch& scratch) {
  const std::int64_t d = filter.dimensions;
  const std::int64_t stride = whole_panels(filter.clusters);
  QuantizedPoints points;
  quantize_points(filter, rows, count, scratch, points);
  multiply(points.rows, count, filter.panels, scratch.offsets.data(), d, 0, stride, scratch.scores.data(), stride);

  std::int64_t rechecked = 0;
  for (std::int64_t point = 0; point < count; ++point) {
    std::int32_t* scores = scratch.scores.data() + point * stride;
    const std::int32_t least = least_score(scores, stride);
    const double limit = static_cast<double>(least) + 2.01 * points.error;
    const std::int64_t candidates = collect(
        scores, stride, static_cast<std::int32_t>(limit < 0x7e000000 ? limit : 0x7e000000), scratch.candidates.data());
    std::int32_t label = scratch.candidates[0];
    if (candidates > 1) {
      ++rechecked;
      double best = __builtin_huge_val();
      for (std::int64_t index = 0; index < candidates; ++index) {
        const std::int32_t cluster = scratch.candidates[static_cast<std::size_t>(index)];
        const double distance = exact_distance(rows[point], filter.centroids + cluster * d, d);
        if (distance < best) {
          best = distance;
          label = cluster;
        }
      }
    }
    labels[point] = label;
    if (!bounds.lower) continue;
    const double squared = points.squared_norms[point] * (1 + square_rounding(d)) +
                           2 * ((static_cast<double>(scores[label]) + 1.01 * points.error) / points.unit);
    bounds.upper[point] = squared > 0 ? static_cast<float>(__builtin_sqrt(squared) * (1 + 0x1p-20)) : 0.0F;
    scores[label] = unused_score;
    for (std::int64_t group = 0; group < bounds.groups; ++group) {
      const std::int64_t first = group * bounds.group_clusters;
      const std::int64_t size = bounds.group_clusters < stride - first ? bounds.group_clusters : stride - first;
      bounds.lower[point * bounds.groups + group] =
          distance_above(filter, points, point, least_score(scores + first, size));
    }
  }
  return rechecked;
}

std::int64_t search_f32(const FilterView<float>& filter, const float* const* rows, std::int64_t count,
                        std::int32_t* labels, const DistanceBounds& bounds, FilterScratch& scratch) {
  return search_kernel(filter, rows, count, labels, bounds, scratch);
}

std::int64_t search_f64(const FilterView<double>& filter, const double* const* rows, std::int64_t count,
                        std::int32_t* labels, const DistanceBounds& bounds, FilterScratch& scratch) {
  return search_kernel(filter, rows, count, labels, bounds, scratch);
}

// Quantizes one centroid into the panels; returns the norm of its quantization error, and its norm in steps.
double pack_centroid(const double* centroid, std::int64_t cluster, std::int64_t dimensions, double steps,
                     std::int16_t* panels, double* norm) {
  const std::int64_t stride = padded_dimensions(dimensions);
  double errors = 0;
  double squares = 0;
  for (std::int64_t dim = 0; dim < dimensions; ++dim) {
    const double value = centroid[dim] * steps;
    const double rounded = (value + 0x1.8p52) - 0x1.8p52;
    errors += (value - rounded) * (value - rounded);
    squares += rounded * rounded;
    panels[panel_index(cluster, dim, stride)] = static_cast<std::int16_t>(rounded);
  }
  *norm = __builtin_sqrt(squares);
  return __builtin_sqrt(errors);
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::kmeans_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::kmeans_detail {

HWY_EXPORT(search_f32);
HWY_EXPORT(search_f64);
HWY_EXPORT(pack_centroid);

FilterScratch::FilterScratch(std::int64_t clusters, std::int64_t dimensions)
    : tile(sub_block * padded_dimensions(dimensions)), points(sub_block * padded_dimensions(dimensions)),
      scores(sub_block * padded_clusters(clusters)), offsets(padded_clusters(clusters)),
      candidates(static_cast<std::size_t>(padded_clusters(clusters) + 1)) {}

std::uint64_t FilterScratch::bytes(const Shape& shape) {
  const auto d = static_cast<std::uint64_t>(padded_dimensions(shape.dimensions));
  const auto k = static_cast<std::uint64_t>(padded_clusters(shape.clusters));
  return static_cast<std::uint64_t>(sub_block) * (6 * d + 4 * k) + 8 * k;
}

template <class T>
IntegerFilter<T>::IntegerFilter(const Problem<T>& problem, int threads)
    : problem_(problem), threads_(threads), middle_(static_cast<std::size_t>(problem.d())),
      half_squares_(static_cast<std::size_t>(problem.k())),
      panels_(padded_clusters(problem.k()) * padded_dimensions(problem.d()), 0) {
  double extent = 0;
  for (std::size_t dim = 0; dim < middle_.size(); ++dim)
    extent = std::max(extent, problem.statistics.highest[dim] - problem.statistics.lowest[dim]);
  // Kept where scaled values neither overflow nor fall below the normal range.
  const int exponent =
      std::clamp(core::exponent_above(extent), sizeof(T) == 4 ? -120 : -400, sizeof(T) == 4 ? 120 : 500);
  scale_ = std::ldexp(1.0, -exponent);
}

template <class T>
void IntegerFilter<T>::prepare(MatrixView<const T> centroids) {
  centroids_ = centroids;
  const std::int64_t d = problem_.d();
  const std::int64_t k = problem_.k();
  const bool large = k * d > 16384;
#pragma omp parallel for num_threads(threads_) schedule(static) if (large)
  for (std::int64_t dim = 0; dim < d; ++dim) {
    double sum = 0;
    for (std::int64_t cluster = 0; cluster < k; ++cluster)
      sum += static_cast<double>(centroids(cluster, dim)) / static_cast<double>(k);
    middle_[static_cast<std::size_t>(dim)] = static_cast<T>(static_cast<double>(static_cast<T>(sum)) * scale_);
  }
  const auto moved = [&](std::int64_t cluster, std::int64_t dim) {
    return static_cast<double>(centroids(cluster, dim)) * scale_ -
           static_cast<double>(middle_[static_cast<std::size_t>(dim)]);
  };
  double largest_half_square = 0;
#pragma omp parallel for num_threads(threads_) schedule(static) if (large) reduction(max : largest_half_square)
  for (std::int64_t cluster = 0; cluster < k; ++cluster) {
    double squares = 0;
    for (std::int64_t dim = 0; dim < d; ++dim) squares += moved(cluster, dim) * moved(cluster, dim);
    half_squares_[static_cast<std::size_t>(cluster)] = 0.5 * squares;
    largest_half_square = std::max(largest_half_square, 0.5 * squares);
  }
  largest_half_square_ = largest_half_square;
  steps_ = std::min(0x1p60, largest_half_square > 0 ? norm_limit / std::sqrt(2 * largest_half_square) : 1.0);
  double largest_norm = 0;
  double largest_error = 0;
#pragma omp parallel num_threads(threads_) if (large) reduction(max : largest_norm, largest_error)
  {
    std::vector<double> row(static_cast<std::size_t>(d));
#pragma omp for schedule(static)
    for (std::int64_t cluster = 0; cluster < k; ++cluster) {
      for (std::int64_t dim = 0; dim < d; ++dim) row[static_cast<std::size_t>(dim)] = moved(cluster, dim);
      double norm = 0;
      const double error = HWY_DYNAMIC_DISPATCH(pack_centroid)(row.data(), cluster, d, steps_, panels_.data(), &norm);
      largest_norm = std::max(largest_norm, norm);
      largest_error = std::max(largest_error, error);
    }
  }
  largest_norm_ = largest_norm * (1 + 0x1p-20) + 1e-6;
  largest_error_ = largest_error * (1 + 0x1p-20) + 1e-6;
}

template <class T>
FilterView<T> IntegerFilter<T>::view() const {
  return {problem_.d(), problem_.k(), centroids_.data(), middle_.data(), half_squares_.data(), panels_.data(),
          scale_,       steps_,       largest_norm_,     largest_error_, largest_half_square_};
}

template <class T>
std::int64_t IntegerFilter<T>::search(const T* const* rows, std::int64_t count, std::int32_t* labels,
                                      const DistanceBounds& bounds, FilterScratch& scratch) const {
  if constexpr (sizeof(T) == 4) return HWY_DYNAMIC_DISPATCH(search_f32)(view(), rows, count, labels, bounds, scratch);
  else return HWY_DYNAMIC_DISPATCH(search_f64)(view(), rows, count, labels, bounds, scratch);
}

template <class T>
std::uint64_t IntegerFilter<T>::bytes(const Shape& shape) {
  const auto d = static_cast<std::uint64_t>(padded_dimensions(shape.dimensions));
  const auto k = static_cast<std::uint64_t>(padded_clusters(shape.clusters));
  return 2 * d * k + 8 * (d + k);
}

template class IntegerFilter<float>;
template class IntegerFilter<double>;

}  // namespace gradus::kmeans_detail
#endif
