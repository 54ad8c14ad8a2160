#include "shortest_paths/simd/mark_predecessors.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shortest_paths/simd/mark_predecessors.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace gradus::shortest_paths_detail {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Returns the greatest sums that are as good as the lengths.
template <class D, class V>
HWY_INLINE V sufficient(D d, V lengths) {
  using C = hn::TFromD<D>;
  if constexpr (std::is_floating_point_v<C>) return hn::Mul(lengths, hn::Set(d, marked_tolerance<C>));
  else return lengths;
}

/// Compares sums with the greatest sufficient ones. No integer sum is below the length.
template <class V>
HWY_INLINE auto suffices(V sum, V wanted) {
  if constexpr (std::is_floating_point_v<hn::TFromV<V>>) return hn::Le(sum, wanted);
  else return hn::Eq(sum, wanted);
}

/// Keeps the lengths and results of four rows by two vectors in registers. If there are only 16 registers, keeps four
/// rows by one vector.
template <class C>
HWY_INLINE void mark(const C* const* to_via, const C* weights, const C* lengths, std::int64_t first_via,
                     std::int64_t vias, C* best) {
  constexpr int vectors = HWY_TARGET <= HWY_AVX3 ? 2 : 1;
  const hn::CappedTag<C, marked_columns / vectors> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t column = 0; column < marked_columns; column += vectors * lanes) {
    V wanted[marked_rows][vectors];
    V found[marked_rows][vectors];
#pragma GCC unroll 4
    for (int r = 0; r < marked_rows; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) {
        wanted[r][v] = sufficient(d, hn::Load(d, lengths + r * marked_columns + column + v * lanes));
        found[r][v] = hn::Load(d, best + r * marked_columns + column + v * lanes);
      }
    for (std::int64_t via = vias - 1; via >= 0; --via) {  // descending, so that the lowest vertex is written last
      const V name = hn::Set(d, static_cast<C>(first_via + via));
      V onward[vectors];
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) onward[v] = hn::Load(d, weights + via * marked_columns + column + v * lanes);
#pragma GCC unroll 4
      for (int r = 0; r < marked_rows; ++r) {
        const V there = hn::Set(d, to_via[r][via]);
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v)
          found[r][v] = hn::IfThenElse(suffices(hn::Add(there, onward[v]), wanted[r][v]), name, found[r][v]);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < marked_rows; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) hn::Store(found[r][v], d, best + r * marked_columns + column + v * lanes);
  }
}

/// Finds predecessors from edge lists. Each edge is processed for at least one vector of sources at a time.
template <class C>
HWY_INLINE void mark_listed(std::int64_t vertices, const std::int64_t* begin, const std::int32_t* from,
                            const C* weights, const C* lengths, C* best) {
  constexpr int vectors = HWY_TARGET <= HWY_AVX3 ? 2 : 4;
  const hn::CappedTag<C, listed_sources<C> / vectors> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t source = 0; source < listed_sources<C>; source += vectors * lanes)
    for (std::int64_t vertex = 0; vertex < vertices; ++vertex) {
      V wanted[vectors];
      V found[vectors];
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        wanted[v] = sufficient(d, hn::Load(d, lengths + vertex * listed_sources<C> + source + v * lanes));
        found[v] = hn::Set(d, static_cast<C>(-1));
      }
      // The lowest vertex is written last.
      for (std::int64_t edge = begin[vertex + 1] - 1; edge >= begin[vertex]; --edge) {
        const V name = hn::Set(d, static_cast<C>(from[edge]));
        const V weight = hn::Set(d, weights[edge]);
        const C* const there = lengths + from[edge] * listed_sources<C> + source;
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) {
          const V by_way = hn::Add(hn::Load(d, there + v * lanes), weight);
          found[v] = hn::IfThenElse(suffices(by_way, wanted[v]), name, found[v]);
        }
      }
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) hn::Store(found[v], d, best + vertex * listed_sources<C> + source + v * lanes);
    }
}

}  // namespace

void mark_i32(const std::int32_t* const* to_via, const std::int32_t* weights, const std::int32_t* lengths,
              std::int64_t first_via, std::int64_t vias, std::int32_t* best) {
  mark(to_via, weights, lengths, first_via, vias, best);
}
void mark_i64(const std::int64_t* const* to_via, const std::int64_t* weights, const std::int64_t* lengths,
              std::int64_t first_via, std::int64_t vias, std::int64_t* best) {
  mark(to_via, weights, lengths, first_via, vias, best);
}
void mark_f32(const float* const* to_via, const float* weights, const float* lengths, std::int64_t first_via,
              std::int64_t vias, float* best) {
  mark(to_via, weights, lengths, first_via, vias, best);
}
void mark_f64(const double* const* to_via, const double* weights, const double* lengths, std::int64_t first_via,
              std::int64_t vias, double* best) {
  mark(to_via, weights, lengths, first_via, vias, best);
}

void mark_listed_i32(std::int64_t vertices, const std::int64_t* begin, const std::int32_t* from,
                     const std::int32_t* weights, const std::int32_t* lengths, std::int32_t* best) {
  mark_listed(vertices, begin, from, weights, lengths, best);
}
void mark_listed_i64(std::int64_t vertices, const std::int64_t* begin, const std::int32_t* from,
                     const std::int64_t* weights, const std::int64_t* lengths, std::int64_t* best) {
  mark_listed(vertices, begin, from, weights, lengths, best);
}
void mark_listed_f32(std::int64_t vertices, const std::int64_t* begin, const std::int32_t* from, const float* weights,
                     const float* lengths, float* best) {
  mark_listed(vertices, begin, from, weights, lengths, best);
}
void mark_listed_f64(std::int64_t vertices, const std::int64_t* begin, const std::int32_t* from, const double* weights,
                     const double* lengths, double* best) {
  mark_listed(vertices, begin, from, weights, lengths, best);
}

}  // namespace HWY_NAMESPACE
}  // namespace gradus::shortest_paths_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::shortest_paths_detail {

namespace {

HWY_EXPORT(mark_i32);
HWY_EXPORT(mark_i64);
HWY_EXPORT(mark_f32);
HWY_EXPORT(mark_f64);
HWY_EXPORT(mark_listed_i32);
HWY_EXPORT(mark_listed_i64);
HWY_EXPORT(mark_listed_f32);
HWY_EXPORT(mark_listed_f64);

}  // namespace

void mark_predecessors(const std::int32_t* const* to_via, const std::int32_t* weights, const std::int32_t* lengths,
                       std::int64_t first_via, std::int64_t vias, std::int32_t* best) {
  HWY_DYNAMIC_DISPATCH(mark_i32)(to_via, weights, lengths, first_via, vias, best);
}
void mark_predecessors(const std::int64_t* const* to_via, const std::int64_t* weights, const std::int64_t* lengths,
                       std::int64_t first_via, std::int64_t vias, std::int64_t* best) {
  HWY_DYNAMIC_DISPATCH(mark_i64)(to_via, weights, lengths, first_via, vias, best);
}
void mark_predecessors(const float* const* to_via, const float* weights, const float* lengths, std::int64_t first_via,
                       std::int64_t vias, float* best) {
  HWY_DYNAMIC_DISPATCH(mark_f32)(to_via, weights, lengths, first_via, vias, best);
}
void mark_predecessors(const double* const* to_via, const double* weights, const double* lengths,
                       std::int64_t first_via, std::int64_t vias, double* best) {
  HWY_DYNAMIC_DISPATCH(mark_f64)(to_via, weights, lengths, first_via, vias, best);
}

void mark_listed_predecessors(std::int64_t vertices, const std::int64_t* begin, const std::int32_t* from,
                              const std::int32_t* weights, const std::int32_t* lengths, std::int32_t* best) {
  HWY_DYNAMIC_DISPATCH(mark_listed_i32)(vertices, begin, from, weights, lengths, best);
}
void mark_listed_predecessors(std::int64_t vertices, const std::int64_t* begin, const std::int32_t* from,
                              const std::int64_t* weights, const std::int64_t* lengths, std::int64_t* best) {
  HWY_DYNAMIC_DISPATCH(mark_listed_i64)(vertices, begin, from, weights, lengths, best);
}
void mark_listed_predecessors(std::int64_t vertices, const std::int64_t* begin, const std::int32_t* from,
                              const float* weights, const float* lengths, float* best) {
  HWY_DYNAMIC_DISPATCH(mark_listed_f32)(vertices, begin, from, weights, lengths, best);
}
void mark_listed_predecessors(std::int64_t vertices, const std::int64_t* begin, const std::int32_t* from,
                              const double* weights, const double* lengths, double* best) {
  HWY_DYNAMIC_DISPATCH(mark_listed_f64)(vertices, begin, from, weights, lengths, best);
}

}  // namespace gradus::shortest_paths_detail
#endif  // HWY_ONCE
