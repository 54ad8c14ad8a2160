#include "kmeans/line/row_blocks.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kmeans/line/row_blocks.cpp"
// clang-format off
#define GRADUS_WITHOUT_SSE4
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace gradus::kmeans_detail {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Returns the costs of paths from some candidates to some rows. Vectors hold either several candidates or several
/// rows.
template <class V>
HWY_INLINE V costs(V candidate_weight, V candidate_sum, V start, V weight, V sum, V squares) {
  const V both = candidate_sum + sum;
  return (start + squares) - both * (both / (candidate_weight + weight));
}

void best_of_rows(const Candidates& candidates, RowBlock& rows) {
  const hn::CappedTag<double, rows_together> lanes;
  for (std::int64_t row = 0; row < rows_together; row += static_cast<std::int64_t>(hn::Lanes(lanes))) {
    const auto weight = hn::LoadU(lanes, rows.weight + row);
    const auto sum = hn::LoadU(lanes, rows.sum + row);
    const auto squares = hn::LoadU(lanes, rows.squares + row) * hn::Set(lanes, rows.scale);
    auto least = hn::Inf(lanes);
    auto best = hn::Zero(lanes);
    auto index = hn::Zero(lanes);
    for (std::int64_t from = 0; from < candidates.count; ++from) {
      const auto value = costs(hn::Set(lanes, candidates.weight[from]), hn::Set(lanes, candidates.sum[from]),
                               hn::Set(lanes, candidates.start[from]), weight, sum, squares);
      const auto is_better = value < least;
      least = hn::IfThenElse(is_better, value, least);
      best = hn::IfThenElse(is_better, index, best);
      index = index + hn::Set(lanes, 1.0);
    }
    hn::StoreU(least, lanes, rows.value + row);
    hn::StoreU(best, lanes, rows.index + row);
  }
}

BestCandidate best_of_row(const Candidates& candidates, double weight, double sum, double squares) {
  const hn::CappedTag<double, rows_together> lanes;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  auto least = hn::Inf(lanes);
  auto best = hn::Zero(lanes);
  auto index = hn::Iota(lanes, 0.0);
  for (std::int64_t from = 0; from < candidates.count; from += width) {
    const auto value = costs(hn::LoadU(lanes, candidates.weight + from), hn::LoadU(lanes, candidates.sum + from),
                             hn::LoadU(lanes, candidates.start + from), hn::Set(lanes, weight), hn::Set(lanes, sum),
                             hn::Set(lanes, squares));
    const auto is_better = hn::And(value < least, index < hn::Set(lanes, static_cast<double>(candidates.count)));
    least = hn::IfThenElse(is_better, value, least);
    best = hn::IfThenElse(is_better, index, best);
    index = index + hn::Set(lanes, static_cast<double>(width));
  }
  const auto least_of_all = hn::MinOfLanes(lanes, least);
  const auto first = hn::MinOfLanes(lanes, hn::IfThenElse(least == least_of_all, best, hn::Set(lanes, 0x1p40)));
  return {static_cast<std::int64_t>(hn::GetLane(first)), hn::GetLane(least_of_all)};
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gradus::kmeans_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::kmeans_detail {

HWY_EXPORT(best_of_row);
HWY_EXPORT(best_of_rows);

BestCandidate find_best(const Candidates& candidates, double weight, double sum, double squares) {
  return HWY_DYNAMIC_DISPATCH(best_of_row)(candidates, weight, sum, squares);
}

void find_best(const Candidates& candidates, RowBlock& rows) { HWY_DYNAMIC_DISPATCH(best_of_rows)(candidates, rows); }

}  // namespace gradus::kmeans_detail
#endif
