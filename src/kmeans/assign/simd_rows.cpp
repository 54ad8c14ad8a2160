#include "kmeans/assign/simd_rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kmeans/assign/simd_rows.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#ifndef GRADUS_KMEANS_SIMD_ROWS
#define GRADUS_KMEANS_SIMD_ROWS
namespace gradus::kmeans_detail {

// The arguments of move_rows() for the kernels. Plain data, because the reading code is compiled for other instruction
// sets.
template <class T>
struct MovedRows {
  const T* rows;  // rows of a block
  std::int64_t stride;
  std::int64_t dimensions;
  const std::int32_t* indices;  // indices of the points that move
  std::int64_t count;
  const std::int32_t* before;  // old labels of the block
  const std::int32_t* now;     // new labels of the block
  const double* to_high;       // for each column: the factor that scales to the high limb
  double to_low;
  std::int64_t* limbs;   // clusters x 2 limb_columns(d)
  std::int64_t* counts;  // one count per cluster
};

template <class T>
struct InertiaBlock {
  const T* rows;
  std::int64_t stride;
  std::int64_t dimensions;
  std::int64_t count;
  const T* centroids;
  const std::int32_t* labels;
  const double* distances;  // one per point, or null
  const T* weights;         // null if there are no weights
  double weight_scale;
  double to_high;
  double to_low;
  double exact_from;
  std::int32_t* too_small;  // indices of the points whose summands the limbs cannot hold; has space for `count`
};

struct InertiaLimbs {
  std::int64_t limbs[3];   // high, middle, low
  std::int64_t too_small;  // number of indices stored in `too_small`
};

}  // namespace gradus::kmeans_detail
#endif

HWY_BEFORE_NAMESPACE();
namespace gradus::kmeans_detail {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

std::int64_t find_changed_kernel(const std::int32_t* now, const std::int32_t* before, std::int64_t count,
                                 std::int32_t* out) {
  const hn::ScalableTag<std::int32_t> lanes;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  std::int64_t found = 0;
  std::int64_t index = 0;
  // Uses no branches, because the changes are unpredictable. The store of a whole vector at out + found is safe: since
  // found <= index, the vector ends within the `count` elements of `out`.
  const auto first_numbers = hn::Iota(lanes, 0);
  for (; index + width <= count; index += width) {
    const auto differ = hn::LoadU(lanes, now + index) != hn::LoadU(lanes, before + index);
    const auto numbers = first_numbers + hn::Set(lanes, static_cast<std::int32_t>(index));
    hn::StoreU(hn::Compress(numbers, differ), lanes, out + found);
    found += static_cast<std::int64_t>(hn::CountTrue(lanes, differ));
  }
  for (; index < count; ++index) {
    out[found] = static_cast<std::int32_t>(index);
    found += now[index] != before[index];
  }
  return found;
}

// Adds a row to the 2 d raw limbs of a cluster or, if `subtract` is true, subtracts the row. Like ExactSums::add,
// rounds each value once to the high limb and once to the low limb. `lanes` is the type of the vectors.
template <class T, class Lanes>
HWY_INLINE void accumulate_row(Lanes lanes, const T* row, std::int64_t d, const double* to_high, double to_low,
                               bool subtract, std::int64_t* limbs) {
  const hn::RebindToSigned<Lanes> integers;
  const hn::Rebind<T, Lanes> narrow;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  const auto magic = hn::Set(lanes, core::integer_magic);
  const auto finer = hn::Set(lanes, to_low);
  std::int64_t* low_limbs = limbs + limb_columns(d);
  std::int64_t dim = 0;
  for (; dim + width <= d; dim += width) {
    hn::Vec<Lanes> value;
    if constexpr (sizeof(T) == 8) value = hn::LoadU(lanes, row + dim);
    else value = hn::PromoteTo(lanes, hn::LoadU(narrow, row + dim));
    const auto scaled = value * hn::LoadU(lanes, to_high + dim);
    const auto rounded = scaled + magic;
    const auto rest = (scaled - (rounded - magic)) * finer + magic;
    const auto high = hn::LoadU(integers, limbs + dim);
    const auto low = hn::LoadU(integers, low_limbs + dim);
    const auto high_bits = hn::BitCast(integers, rounded);
    const auto low_bits = hn::BitCast(integers, rest);
    hn::StoreU(subtract ? high - high_bits : high + high_bits, integers, limbs + dim);
    hn::StoreU(subtract ? low - low_bits : low + low_bits, integers, low_limbs + dim);
  }
  for (; dim < d; ++dim) {
    const double scaled = static_cast<double>(row[dim]) * to_high[dim];
    const double rounded = scaled + core::integer_magic;
    const double rest = (scaled - (rounded - core::integer_magic)) * to_low + core::integer_magic;
    std::uint64_t high_bits;
    std::uint64_t low_bits;
    __builtin_memcpy(&high_bits, &rounded, sizeof high_bits);
    __builtin_memcpy(&low_bits, &rest, sizeof low_bits);
    const auto high = static_cast<std::uint64_t>(limbs[dim]);
    const auto low = static_cast<std::uint64_t>(low_limbs[dim]);
    limbs[dim] = static_cast<std::int64_t>(subtract ? high - high_bits : high + high_bits);
    low_limbs[dim] = static_cast<std::int64_t>(subtract ? low - low_bits : low + low_bits);
  }
}

template <class T, class Lanes>
void move_rows_with(Lanes lanes, const MovedRows<T>& moved) {
  const std::int64_t d = moved.dimensions;
  for (std::int64_t step = 0; step < moved.count; ++step) {
    const std::int32_t index = moved.indices[step];
    const T* row = moved.rows + index * moved.stride;
    const std::int32_t from = moved.before[index];
    const std::int32_t to = moved.now[index];
    if (from >= 0) {
      accumulate_row(lanes, row, d, moved.to_high, moved.to_low, true, moved.limbs + 2 * limb_columns(d) * from);
      --moved.counts[from];
    }
    accumulate_row(lanes, row, d, moved.to_high, moved.to_low, false, moved.limbs + 2 * limb_columns(d) * to);
    ++moved.counts[to];
  }
}

#if HWY_MAX_BYTES >= 32
// Moves rows of up to three columns. The limbs of a row fill one or two vectors, which are computed once and used for
// the old and the new cluster.
template <class T, int D>
void move_short_rows(const MovedRows<T>& moved) {
  constexpr int columns = limb_columns(D);
  constexpr bool one_vector = 2 * columns * sizeof(double) <= HWY_MAX_BYTES;
  const hn::FixedTag<double, columns> lanes;
  const hn::FixedTag<T, columns> narrow;
  const hn::FixedTag<double, one_vector ? 2 * columns : columns> wide;
  const hn::RebindToSigned<decltype(wide)> integers;
  const auto magic = hn::Set(lanes, core::integer_magic);
  const auto finer = hn::Set(lanes, moved.to_low);
  const auto used = hn::FirstN(narrow, D);
  HWY_ALIGN double scale[columns] = {};
  for (int dim = 0; dim < D; ++dim) scale[dim] = moved.to_high[dim];
  const auto coarser = hn::Load(lanes, scale);
  const T* const rows = moved.rows;
  const std::int32_t* const before = moved.before;
  const std::int32_t* const now = moved.now;
  std::int64_t* const limbs = moved.limbs;
  std::int64_t* const counts = moved.counts;
  const std::int64_t stride = moved.stride;
  const std::int64_t count = moved.count;
  for (std::int64_t step = 0; step < count; ++step) {
    const std::int32_t index = moved.indices[step];
    const T* row = rows + index * stride;
    hn::Vec<decltype(narrow)> coordinates;
    if constexpr (D == columns) coordinates = hn::LoadU(narrow, row);
    else coordinates = hn::MaskedLoad(used, narrow, row);
    hn::Vec<decltype(lanes)> value;
    if constexpr (sizeof(T) == 8) value = coordinates;
    else value = hn::PromoteTo(lanes, coordinates);
    const auto scaled = value * coarser;
    const auto high = scaled + magic;
    const auto low = (scaled - (high - magic)) * finer + magic;
    const auto put = [&](std::int64_t cluster, auto combine) HWY_ATTR {
      std::int64_t* sums = limbs + cluster * 2 * columns;
      if constexpr (one_vector) {
        hn::StoreU(combine(hn::LoadU(integers, sums), hn::BitCast(integers, hn::Combine(wide, low, high))), integers,
                   sums);
      } else {
        hn::StoreU(combine(hn::LoadU(integers, sums), hn::BitCast(integers, high)), integers, sums);
        hn::StoreU(combine(hn::LoadU(integers, sums + columns), hn::BitCast(integers, low)), integers, sums + columns);
      }
    };
    const std::int32_t from = before[index];
    const std::int32_t to = now[index];
    if (from >= 0) {
      put(from, [](auto sum, auto bits) HWY_ATTR { return sum - bits; });
      --counts[from];
    }
    put(to, [](auto sum, auto bits) HWY_ATTR { return sum + bits; });
    ++counts[to];
  }
}
#endif

template <class T>
void move_rows_kernel(const MovedRows<T>& moved) {
#if HWY_MAX_BYTES >= 32
  if (moved.dimensions == 1) return move_short_rows<T, 1>(moved);
  if (moved.dimensions == 2) return move_short_rows<T, 2>(moved);
  if (moved.dimensions == 3) return move_short_rows<T, 3>(moved);
#elif HWY_TARGET != HWY_SCALAR
  if (moved.dimensions < 4) return move_rows_with(hn::FixedTag<double, 2>(), moved);
#endif
  move_rows_with(hn::ScalableTag<double>(), moved);
}

// Adds one vector of columns of `rows` rows. Returns a mask. A lane of the mask is set if the limbs hold all of the
// lane's values exactly: see add_to_columns().
template <std::int64_t rows, class Lanes, class T>
HWY_INLINE hn::Mask<Lanes> add_values(Lanes lanes, const T* values, std::int64_t stride, std::int64_t dim,
                                      const ColumnLimbs& columns) {
  const hn::RebindToUnsigned<Lanes> integers;
  const hn::Rebind<T, Lanes> narrow;
  const auto magic = hn::Set(lanes, core::integer_magic);
  const auto finer = hn::Set(lanes, columns.to_low);
  const auto exact_from = hn::LoadU(lanes, columns.exact_from + dim);
  const auto to_high = hn::LoadU(lanes, columns.to_high + dim);
  std::uint64_t* const to = columns.limbs + dim;
  auto high_sum = hn::LoadU(integers, to);
  auto middle_sum = hn::LoadU(integers, to + columns.stride);
  auto low_sum = hn::LoadU(integers, to + 2 * columns.stride);
  auto all_held = hn::FirstN(lanes, hn::Lanes(lanes));
  for (std::int64_t row = 0; row < rows; ++row) {
    hn::Vec<Lanes> value;
    if constexpr (sizeof(T) == 8) value = hn::LoadU(lanes, values + row * stride + dim);
    else value = hn::PromoteTo(lanes, hn::LoadU(narrow, values + row * stride + dim));
    const auto held = hn::Not(hn::Abs(value) < exact_from);
    all_held = hn::And(all_held, hn::Or(held, value == hn::Zero(lanes)));
    const auto scaled = hn::IfThenElseZero(held, value) * to_high;
    const auto high = scaled + magic;
    const auto rest = (scaled - (high - magic)) * finer;
    const auto middle = rest + magic;
    const auto low = (rest - (middle - magic)) * finer + magic;
    high_sum = high_sum + hn::BitCast(integers, high);
    middle_sum = middle_sum + hn::BitCast(integers, middle);
    low_sum = low_sum + hn::BitCast(integers, low);
  }
  hn::StoreU(high_sum, integers, to);
  hn::StoreU(middle_sum, integers, to + columns.stride);
  hn::StoreU(low_sum, integers, to + 2 * columns.stride);
  return all_held;
}

// Adds all columns of `rows` rows to the sums.
template <std::int64_t rows, class T>
HWY_INLINE bool add_some_rows(const T* values, std::int64_t stride, const ColumnLimbs& columns) {
  const hn::ScalableTag<double> lanes;
  const hn::CappedTag<double, 1> one;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  bool all_held = true;
  std::int64_t dim = 0;
  for (; dim + width <= columns.columns; dim += width)
    all_held &= hn::AllTrue(lanes, add_values<rows>(lanes, values, stride, dim, columns));
  for (; dim < columns.columns; ++dim)
    all_held &= hn::AllTrue(one, add_values<rows>(one, values, stride, dim, columns));
  return all_held;
}

template <class T>
AddedRows add_to_columns_kernel(const T* rows, std::int64_t row_stride, std::int64_t count,
                                const ColumnLimbs& columns) {
  // Adds several rows per step, so that the limbs are read and written only once for all of them.
  constexpr std::int64_t together = 4;
  std::int64_t row = 0;
  for (; row + together <= count; row += together)
    if (!add_some_rows<together>(rows + row * row_stride, row_stride, columns)) return {row + together, together};
  for (; row < count; ++row)
    if (!add_some_rows<1>(rows + row * row_stride, row_stride, columns)) return {row + 1, 1};
  return {count, 0};
}

template <class T>
AddedRows add_to_clusters_kernel(const T* rows, std::int64_t row_stride, std::int64_t count, const std::int32_t* labels,
                                 const ColumnLimbs& columns) {
  ColumnLimbs own = columns;
  for (std::int64_t row = 0; row < count; ++row) {
    own.limbs = columns.limbs + std::int64_t{3} * labels[row] * columns.stride;
    if (!add_some_rows<1>(rows + row * row_stride, row_stride, own)) return {row + 1, 1};
  }
  return {count, 0};
}

AddedRows add_to_clusters_f32(const float* rows, std::int64_t row_stride, std::int64_t count,
                              const std::int32_t* labels, const ColumnLimbs& columns) {
  return add_to_clusters_kernel(rows, row_stride, count, labels, columns);
}
AddedRows add_to_clusters_f64(const double* rows, std::int64_t row_stride, std::int64_t count,
                              const std::int32_t* labels, const ColumnLimbs& columns) {
  return add_to_clusters_kernel(rows, row_stride, count, labels, columns);
}

template <class T>
Magnitudes<T> find_magnitudes_kernel(const T* values, std::int64_t count) {
  const hn::ScalableTag<T> lanes;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  Magnitudes<T> found;
  const auto none = hn::Set(lanes, found.least);
  auto least = none;
  auto greatest = hn::Zero(lanes);
  std::int64_t index = 0;
  for (; index + width <= count; index += width) {
    const auto magnitude = hn::Abs(hn::LoadU(lanes, values + index));
    least = hn::Min(least, hn::IfThenElse(magnitude == hn::Zero(lanes), none, magnitude));
    greatest = hn::Max(greatest, magnitude);
  }
  found = {hn::GetLane(hn::MinOfLanes(lanes, least)), hn::GetLane(hn::MaxOfLanes(lanes, greatest))};
  for (; index < count; ++index) {
    const T magnitude = values[index] < 0 ? -values[index] : values[index];
    if (magnitude != 0 && magnitude < found.least) found.least = magnitude;
    if (magnitude > found.greatest) found.greatest = magnitude;
  }
  return found;
}

Magnitudes<float> find_magnitudes_f32(const float* values, std::int64_t count) {
  return find_magnitudes_kernel(values, count);
}
Magnitudes<double> find_magnitudes_f64(const double* values, std::int64_t count) {
  return find_magnitudes_kernel(values, count);
}

AddedRows add_to_columns_f32(const float* rows, std::int64_t row_stride, std::int64_t count,
                             const ColumnLimbs& columns) {
  return add_to_columns_kernel(rows, row_stride, count, columns);
}
AddedRows add_to_columns_f64(const double* rows, std::int64_t row_stride, std::int64_t count,
                             const ColumnLimbs& columns) {
  return add_to_columns_kernel(rows, row_stride, count, columns);
}

void move_rows_f32(const MovedRows<float>& moved) { move_rows_kernel(moved); }
void move_rows_f64(const MovedRows<double>& moved) { move_rows_kernel(moved); }

// Computes four canonical chains at a time, because the additions of a chain depend on each other. D is the number of
// columns, or 0 for any number.
template <class T, int D>
void own_distances(const InertiaBlock<T>& block, std::int64_t first, std::int64_t count, double* out) {
  const std::int64_t d = D > 0 ? D : block.dimensions;
  const T* const rows = block.rows;
  const std::int64_t stride = block.stride;
  const T* const centroids = block.centroids;
  const std::int32_t* const labels = block.labels;
  const auto row_at = [&](std::int64_t index) { return rows + index * stride; };
  const auto centroid_at = [&](std::int64_t index) { return centroids + labels[index] * d; };
  std::int64_t index = 0;
  for (; index + 4 <= count; index += 4) {
    const T* const row[4] = {row_at(first + index), row_at(first + index + 1), row_at(first + index + 2),
                             row_at(first + index + 3)};
    const T* const centroid[4] = {centroid_at(first + index), centroid_at(first + index + 1),
                                  centroid_at(first + index + 2), centroid_at(first + index + 3)};
    double sums[4] = {0, 0, 0, 0};
    for (std::int64_t dim = 0; dim < d; ++dim)
      for (int lane = 0; lane < 4; ++lane) {
        const double difference = static_cast<double>(row[lane][dim]) - static_cast<double>(centroid[lane][dim]);
        sums[lane] = __builtin_fma(difference, difference, sums[lane]);
      }
    for (int lane = 0; lane < 4; ++lane) out[index + lane] = sums[lane];
  }
  for (; index < count; ++index) {
    double sum = 0;
    for (std::int64_t dim = 0; dim < d; ++dim) {
      const double difference =
          static_cast<double>(row_at(first + index)[dim]) - static_cast<double>(centroid_at(first + index)[dim]);
      sum = __builtin_fma(difference, difference, sum);
    }
    out[index] = sum;
  }
}

template <class T, int D>
InertiaLimbs inertia_kernel(const InertiaBlock<T>& block) {
  constexpr std::int64_t chunk = 256;
  const hn::ScalableTag<double> lanes;
  const hn::RebindToSigned<decltype(lanes)> integers;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  const auto magic = hn::Set(lanes, core::integer_magic);
  const auto magic_bits = hn::BitCast(integers, magic);
  const auto to_low = hn::Set(lanes, block.to_low);
  auto high_sum = hn::Zero(integers);
  auto middle_sum = hn::Zero(integers);
  auto low_sum = hn::Zero(integers);
  std::int64_t too_small = 0;
  for (std::int64_t first = 0; first < block.count; first += chunk) {
    double summands[chunk];
    const std::int64_t count = chunk < block.count - first ? chunk : block.count - first;
    if (block.distances != nullptr)
      __builtin_memcpy(summands, block.distances + first, static_cast<std::size_t>(count) * sizeof(double));
    else own_distances<T, D>(block, first, count, summands);
    for (std::int64_t index = count; index % width != 0; ++index) summands[index] = 0;  // zeros do not change the sum
    if (block.weights) {
      for (std::int64_t index = 0; index < count; ++index) {
        const double weight = static_cast<double>(block.weights[first + index]) * block.weight_scale;
        const double product = weight * summands[index];
        const bool plain = core::is_plain_product(weight, product) && product >= block.exact_from;
        if (!plain) block.too_small[too_small++] = static_cast<std::int32_t>(first + index);
        summands[index] = plain ? product : 0.0;
      }
    } else {
      for (std::int64_t index = 0; index < count; index += width) {
        const auto summand = hn::LoadU(lanes, summands + index);
        const auto tiny = hn::And(summand < hn::Set(lanes, block.exact_from), summand != hn::Zero(lanes));
        if (hn::AllFalse(lanes, tiny)) continue;
        for (std::int64_t lane = index; lane < index + width; ++lane)
          if (summands[lane] < block.exact_from && summands[lane] != 0) {
            block.too_small[too_small++] = static_cast<std::int32_t>(first + lane);
            summands[lane] = 0;
          }
      }
    }
    for (std::int64_t index = 0; index < count; index += width) {
      const auto on_grid = hn::LoadU(lanes, summands + index) * hn::Set(lanes, block.to_high);
      const auto high = on_grid + magic;
      const auto rest = (on_grid - (high - magic)) * to_low;
      const auto middle = rest + magic;
      const auto low = (rest - (middle - magic)) * to_low + magic;
      high_sum = high_sum + (hn::BitCast(integers, high) - magic_bits);
      middle_sum = middle_sum + (hn::BitCast(integers, middle) - magic_bits);
      low_sum = low_sum + (hn::BitCast(integers, low) - magic_bits);
    }
  }
  InertiaLimbs result{{0, 0, 0}, too_small};
  std::int64_t parts[hn::MaxLanes(integers)];
  const auto add_up = [&](auto sums, std::int64_t& total) HWY_ATTR {
    hn::StoreU(sums, integers, parts);
    for (std::int64_t lane = 0; lane < width; ++lane) total += parts[lane];
  };
  add_up(high_sum, result.limbs[0]);
  add_up(middle_sum, result.limbs[1]);
  add_up(low_sum, result.limbs[2]);
  return result;
}

template <class T>
InertiaLimbs inertia_any(const InertiaBlock<T>& block) {
  switch (block.dimensions) {
    case 1: return inertia_kernel<T, 1>(block);
    case 2: return inertia_kernel<T, 2>(block);
    case 3: return inertia_kernel<T, 3>(block);
    default: return inertia_kernel<T, 0>(block);
  }
}

InertiaLimbs inertia_f32(const InertiaBlock<float>& block) { return inertia_any(block); }
InertiaLimbs inertia_f64(const InertiaBlock<double>& block) { return inertia_any(block); }

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::kmeans_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <optional>

#include "core/failure.hpp"
#include "core/stop.hpp"
#include "kmeans/assign/distance.hpp"

namespace gradus::kmeans_detail {

HWY_EXPORT(find_changed_kernel);
HWY_EXPORT(add_to_clusters_f32);
HWY_EXPORT(add_to_clusters_f64);
HWY_EXPORT(find_magnitudes_f32);
HWY_EXPORT(find_magnitudes_f64);
HWY_EXPORT(add_to_columns_f32);
HWY_EXPORT(add_to_columns_f64);
HWY_EXPORT(move_rows_f32);
HWY_EXPORT(move_rows_f64);
HWY_EXPORT(inertia_f32);
HWY_EXPORT(inertia_f64);

std::int64_t find_changed(const std::int32_t* now, const std::int32_t* before, std::int64_t count, std::int32_t* out) {
  return HWY_DYNAMIC_DISPATCH(find_changed_kernel)(now, before, count, out);
}

template <class T>
void move_rows(const Problem<T>& problem, BlockRows<T>& block, const std::int32_t* indices, std::int64_t count,
               const std::int32_t* before, const std::int32_t* now, ExactSums<T>& sums) {
  const MatrixView<const T> rows = block.some(indices, count);
  if (!problem.weights.empty()) {
    for (std::int64_t step = 0; step < count; ++step) {
      const std::int32_t index = indices[step];
      const std::int64_t point = block.range().begin + index;
      if (before[index] >= 0) sums.remove(point, rows.row(index), before[index]);
      sums.add(point, rows.row(index), now[index]);
    }
    return;
  }
  const MovedRows<T> moved{rows.data(),
                           rows.row_stride(),
                           problem.d(),
                           indices,
                           count,
                           before,
                           now,
                           problem.statistics.to_high.data(),
                           problem.statistics.weight.to_low,
                           sums.raw(0),
                           &sums.raw_count(0)};
  if constexpr (sizeof(T) == 4) HWY_DYNAMIC_DISPATCH(move_rows_f32)(moved);
  else HWY_DYNAMIC_DISPATCH(move_rows_f64)(moved);
}

template <class T>
AddedRows add_to_columns(const T* rows, std::int64_t row_stride, std::int64_t count, const ColumnLimbs& columns) {
  if constexpr (sizeof(T) == 4) return HWY_DYNAMIC_DISPATCH(add_to_columns_f32)(rows, row_stride, count, columns);
  else return HWY_DYNAMIC_DISPATCH(add_to_columns_f64)(rows, row_stride, count, columns);
}

template <class T>
AddedRows add_to_clusters(const T* rows, std::int64_t row_stride, std::int64_t count, const std::int32_t* labels,
                          const ColumnLimbs& columns) {
  if constexpr (sizeof(T) == 4)
    return HWY_DYNAMIC_DISPATCH(add_to_clusters_f32)(rows, row_stride, count, labels, columns);
  else return HWY_DYNAMIC_DISPATCH(add_to_clusters_f64)(rows, row_stride, count, labels, columns);
}

template <class T>
Magnitudes<T> find_magnitudes(const T* values, std::int64_t count) {
  if constexpr (sizeof(T) == 4) return HWY_DYNAMIC_DISPATCH(find_magnitudes_f32)(values, count);
  else return HWY_DYNAMIC_DISPATCH(find_magnitudes_f64)(values, count);
}

template <class T>
void add_inertia(const Problem<T>& problem, MatrixView<const T> centroids, const std::int32_t* labels,
                 BlockRows<T>& block, core::ExactTotal& total) {
  const Statistics& statistics = problem.statistics;
  const MatrixView<const T> points = block.all();
  const std::int64_t begin = block.range().begin;
  std::int32_t too_small[block_points];
  // Longer rows use squared_distances_of_pairs(), which computes the chains of several points at once, one point per
  // vector lane.
  constexpr std::int64_t short_row = 8;
  double distances[block_points];
  const bool by_vectors = problem.d() > short_row;
  if (by_vectors) {
    const T* rows[block_points];
    const T* own[block_points];
    for (std::int64_t point = 0; point < block.size(); ++point) {
      rows[point] = points.row(point);
      own[point] = centroids.row(labels[begin + point]);
    }
    squared_distances_of_pairs(rows, own, block.size(), problem.d(), distances);
  }
  const InertiaBlock<T> job{points.data(),
                            points.row_stride(),
                            problem.d(),
                            block.size(),
                            centroids.data(),
                            labels + begin,
                            by_vectors ? distances : nullptr,
                            problem.weights.empty() ? nullptr : problem.weights.data() + begin,
                            statistics.weight_scale,
                            statistics.inertia.grid.to_high,
                            statistics.inertia.grid.to_low,
                            statistics.inertia.exact_from,
                            too_small};
  InertiaLimbs found;
  if constexpr (sizeof(T) == 4) found = HWY_DYNAMIC_DISPATCH(inertia_f32)(job);
  else found = HWY_DYNAMIC_DISPATCH(inertia_f64)(job);
  total.limbs.merge({found.limbs[0], found.limbs[1], found.limbs[2]});
  for (std::int64_t index = 0; index < found.too_small; ++index) {
    const std::int64_t point = begin + too_small[index];
    const double distance = squared_distance(points.row(too_small[index]), centroids.row(labels[point]), problem.d());
    total.small.add(core::rounded_product(problem.weight(point), distance));
  }
}

template <class T>
double total_inertia(const Problem<T>& problem, MatrixView<const T> centroids, const std::int32_t* labels,
                     int threads) {
  const PointRows<T> rows = problem.rows();
  const std::int64_t block_size = std::min(BlockRows<T>::cached_rows(rows, block_points),
                                           core::chunk_length(problem.n(), problem.d() / 8, threads));
  core::ExactTotal all;
  core::FirstFailure failure;
#pragma omp parallel num_threads(threads)
  {
    core::ExactTotal own;
    std::optional<BlockRows<T>> block;
    failure.run([&] { block.emplace(rows, block_size); });
#pragma omp for schedule(static)
    for (std::int64_t first = 0; first < problem.n(); first += block_size) {
      if (problem.stop.stop_requested() || failure.happened()) continue;
      block->begin({first, std::min(first + block_size, problem.n())});
      add_inertia(problem, centroids, labels, *block, own);
    }
#pragma omp critical(gradus_total_inertia)
    all.merge(own);
  }
  failure.rethrow();
  return round_inertia(problem, all);
}

#define GRADUS_INSTANTIATE(T)                                                                                        \
  template void move_rows(const Problem<T>&, BlockRows<T>&, const std::int32_t*, std::int64_t, const std::int32_t*,  \
                          const std::int32_t*, ExactSums<T>&);                                                       \
  template AddedRows add_to_columns(const T*, std::int64_t, std::int64_t, const ColumnLimbs&);                       \
  template AddedRows add_to_clusters(const T*, std::int64_t, std::int64_t, const std::int32_t*, const ColumnLimbs&); \
  template Magnitudes<T> find_magnitudes(const T*, std::int64_t);                                                    \
  template void add_inertia(const Problem<T>&, MatrixView<const T>, const std::int32_t*, BlockRows<T>&,              \
                            core::ExactTotal&);                                                                      \
  template double total_inertia(const Problem<T>&, MatrixView<const T>, const std::int32_t*, int)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
#endif
