// simd_bounds: triangle-inequality bounds skip most work in late iterations. The production variant for many columns.
//
// The idea. Each point keeps an upper bound of the distance to its centroid and, for each group of clusters, a lower
// bound of the distance to every other centroid of the group. When the centroids move, the upper bound grows by the
// movement of the point's centroid, and a lower bound shrinks by the largest movement in its group. While the upper
// bound is below the lower bound of a group, no centroid of that group can be nearest. So a pass has three steps:
//
// 1. If the upper bound is below all lower bounds, the label stays and the point itself is not even read.
// 2. Otherwise the canonical distance to the point's centroid is computed again, which tightens the upper bound.
// 3. The 16-bit filter of simd_large_dim searches the groups whose lower bound still does not exceed the upper bound.
//    It processes four points that need the same group at a time. The canonical chain re-checks every cluster that the
//    filter cannot exclude.
//
// Certainty. Bounds are floats rounded to the safe side, so the labels are identical to the labels of a full search.
// Bounds are computed for exact distances. The canonical chain rounds a distance by at most (d + 2) 2^-54 of the
// distance. Upper bounds exceed the exact distances by at least 2^-23 (relative) when they are created and after each
// movement. Lower bounds and the limits of step 3 have the same margin on their safe side. So with up to 2^28 columns,
// all bounds also hold for canonical distances.
//
// When. In the first iterations, centroids move farther than the gaps between clusters, so bounds exclude no cluster.
// In these iterations, a full search with 8-bit integers is nearly twice as fast as a search that also computes bounds.
// So the first passes are plain, as in simd_large_dim. When few labels change, one full search computes the bounds. If
// a pass with bounds still searches too many pairs of a point and a cluster, plain passes follow until a pass changes
// at most a quarter as many labels as that pass did. Uniform data of many columns hardly ever gains from bounds; well
// separated clusters gain after three or four passes. The rule counts labels and searched pairs, not time, and does not
// affect the labels.
//
// A copy in bytes. For up to 64 clusters, reading and quantizing the points takes most of the time of every pass. So
// the first pass makes an 8-bit copy of the points, with a scale per row (seeding/byte_rows.hpp). Passes without bounds
// read this copy, which has an eighth of the bytes of doubles. The error bounds of the copy decide the nearest centroid
// of most points. For the other points, the distances of the remaining candidates are computed as in simd_large_dim. If
// memory does not suffice for the copy, passes read the points. Floor: n d bytes read, n k d products of bytes.
//
// A second byte. The centroids of few clusters in many columns are close together compared with the spread of the
// points, and the copy leaves many points undecided in every pass. For each undecided point, the search reads all
// coordinates, which take four or eight times as many bytes as the copy. So with up to 12 clusters, the coordinates of
// an undecided point get a second byte, which decides almost all points. Bounds are not used here, for two reasons. A
// search of the copy takes no longer than reading the bounds, and the full search that computes bounds would read all
// coordinates.
//
// Work per iteration: n operations if all bounds hold, at most n k d multiply-adds; floors as in simd_large_dim.
// Memory: from the first pass with bounds, 4 (groups + 1) bytes per point, which is at most the larger of 8 bytes and a
// quarter of the point's bytes. The copy takes d + 20 bytes per point, or twice as many if rows may have a second byte.
// Sources: C. Elkan (2003) and G. Hamerly (2010) for the bounds; Y. Ding et al., "Yinyang k-means" (2015), for the
// groups, which here are the panels of the filter.
#include "kmeans/rungs/simd_bounds.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kmeans/rungs/simd_bounds.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "kmeans/assign/integer_filter-inl.hpp"

#ifndef GRADUS_KMEANS_SIMD_BOUNDS
#define GRADUS_KMEANS_SIMD_BOUNDS
namespace gradus::kmeans_detail {

// The factors round to the safe side. Each factor covers two roundings: of one addition, and of the multiplication by
// the factor.
constexpr float outwards = 1 + 0x1p-22F;
constexpr float inwards = 1 - 0x1p-22F;

// The points that the bounds leave undecided, and the bounds of their block.
template <class T>
struct UndecidedPoints {
  const T* rows;  // rows of the block
  std::int64_t stride;
  const std::int32_t* active;  // indices of the undecided points within the block
  std::int64_t count;
  const double* distances;  // canonical squared distances to the points' centroids
  std::int32_t* labels;     // labels of the block; on entry, the labels of the previous pass
  float* upper;             // upper bounds of the block
  float* lower;             // lower bounds of the block
  std::int64_t groups;
  std::int64_t group_clusters;
  std::int32_t* queues;
  std::int64_t* searched;  // counts the pairs of a point and a cluster that are searched
};

}  // namespace gradus::kmeans_detail
#endif

HWY_BEFORE_NAMESPACE();
namespace gradus::kmeans_detail {
namespace HWY_NAMESPACE {
namespace {

// Updates the bounds of a block after the centroids have moved. Returns the number of points that the bounds leave
// undecided.
std::int64_t move_bounds_kernel(std::int64_t count, std::int64_t groups, const std::int32_t* labels,
                                const float* cluster_drifts, const float* group_drifts, float* upper, float* lower,
                                std::int32_t* undecided) {
  std::int64_t found = 0;
  if (groups == 1) {
    const float drift = group_drifts[0];
    for (std::int64_t point = 0; point < count; ++point) {
      const float farthest = (upper[point] + cluster_drifts[labels[point]]) * outwards;
      const float nearest = (lower[point] - drift) * inwards;
      upper[point] = farthest;
      lower[point] = nearest;
      undecided[found] = static_cast<std::int32_t>(point);
      found += !(farthest < nearest);
    }
    return found;
  }
  const hn::ScalableTag<float> f;
  const auto width = static_cast<std::int64_t>(hn::Lanes(f));
  const auto shrink = hn::Set(f, inwards);
  for (std::int64_t point = 0; point < count; ++point) {
    const float farthest = (upper[point] + cluster_drifts[labels[point]]) * outwards;
    upper[point] = farthest;
    float* bounds = lower + point * groups;
    std::int64_t group = 0;
    bool decided = true;
    const auto limit = hn::Set(f, farthest);
    auto all = hn::FirstN(f, static_cast<std::size_t>(width));
    for (; group + width <= groups; group += width) {
      const auto nearest = hn::Mul(hn::LoadU(f, bounds + group) - hn::LoadU(f, group_drifts + group), shrink);
      hn::StoreU(nearest, f, bounds + group);
      all = hn::And(all, limit < nearest);
    }
    decided = hn::AllTrue(f, all);
    for (; group < groups; ++group) {
      bounds[group] = (bounds[group] - group_drifts[group]) * inwards;
      decided = decided && farthest < bounds[group];
    }
    undecided[found] = static_cast<std::int32_t>(point);
    found += !decided;
  }
  return found;
}

// Computes four canonical distances at a time, because the additions of one distance depend on each other.
template <class T>
void own_distances_kernel(const T* rows, std::int64_t stride, const std::int32_t* points, std::int64_t count,
                          const std::int32_t* labels, const T* centroids, std::int64_t dimensions, double* out) {
  std::int64_t index = 0;
  for (; index + 4 <= count; index += 4) {
    const T* row[4];
    const T* centroid[4];
    for (int lane = 0; lane < 4; ++lane) {
      row[lane] = rows + points[index + lane] * stride;
      centroid[lane] = centroids + labels[points[index + lane]] * dimensions;
    }
    double sums[4] = {0, 0, 0, 0};
    for (std::int64_t dim = 0; dim < dimensions; ++dim)
      for (int lane = 0; lane < 4; ++lane) {
        const double difference = static_cast<double>(row[lane][dim]) - static_cast<double>(centroid[lane][dim]);
        sums[lane] = __builtin_fma(difference, difference, sums[lane]);
      }
    for (int lane = 0; lane < 4; ++lane) out[index + lane] = sums[lane];
  }
  for (; index < count; ++index)
    out[index] =
        exact_distance(rows + points[index] * stride, centroids + labels[points[index]] * dimensions, dimensions);
}

// The nearest cluster of a point that the search has found so far.
struct Best {
  double distance;
  std::int32_t label;
};

template <class T>
std::int64_t search_groups_kernel(const FilterView<T>& filter, const UndecidedPoints<T>& undecided,
                                  FilterScratch& scratch) {
  const std::int64_t d = filter.dimensions;
  const std::int64_t stride = whole_panels(filter.clusters);
  const double square_of_scale = filter.scale * filter.scale;
  std::int64_t rechecked = 0;
  for (std::int64_t first = 0; first < undecided.count; first += sub_block) {
    const std::int64_t count = sub_block < undecided.count - first ? sub_block : undecided.count - first;
    const std::int32_t* numbers = undecided.active + first;
    const T* rows[sub_block];
    for (std::int64_t point = 0; point < count; ++point)
      rows[point] = undecided.rows + numbers[point] * undecided.stride;
    QuantizedPoints points;
    quantize_points(filter, rows, count, scratch, points);

    Best best[sub_block];
    std::int32_t limits[sub_block];  // if a score exceeds this limit, its centroid is certainly not the nearest
    bool was_rechecked[sub_block];
    for (std::int64_t point = 0; point < count; ++point) {
      best[point] = {undecided.distances[first + point], undecided.labels[numbers[point]]};
      was_rechecked[point] = false;
      const double limit = 0.5 *
                               (best[point].distance * square_of_scale * (1 + 0x1p-20) -
                                points.squared_norms[point] * (1 - square_rounding(d))) *
                               points.unit +
                           1.01 * points.error + 1;
      limits[point] =
          static_cast<std::int32_t>(limit < 0x7e000000 ? (limit > -0x7e000000 ? limit : -0x7e000000) : 0x7e000000);
    }

    for (std::int64_t group = 0; group < undecided.groups; ++group) {
      std::int64_t queued = 0;
      std::int32_t* queue = undecided.queues;
      for (std::int64_t point = 0; point < count; ++point) {
        queue[queued] = static_cast<std::int32_t>(point);
        queued += !(undecided.upper[numbers[point]] < undecided.lower[numbers[point] * undecided.groups + group]);
      }
      if (queued == 0) continue;
      *undecided.searched += queued * undecided.group_clusters;
      const std::int16_t* queued_rows[sub_block + 3];
      for (std::int64_t index = 0; index < (queued + 3) / 4 * 4; ++index)
        queued_rows[index] = points.rows[queue[index < queued ? index : 0]];
      const std::int64_t begin = group * undecided.group_clusters;
      const std::int64_t end = begin + undecided.group_clusters < stride ? begin + undecided.group_clusters : stride;
      multiply(filter.dot_instructions, queued_rows, queued, filter.panels, scratch.offsets.data(), d, begin, end,
               scratch.scores.data(), end - begin);

      for (std::int64_t index = 0; index < queued; ++index) {
        const std::int64_t point = queue[index];
        std::int32_t* scores = scratch.scores.data() + index * (end - begin);
        const std::int32_t own = undecided.labels[numbers[point]];
        if (own >= begin && own < end) scores[own - begin] = unused_score;
        const std::int32_t least = least_score(scores, end - begin);
        float& bound = undecided.lower[numbers[point] * undecided.groups + group];
        bound = distance_above(filter, points, point, least);
        if (least > limits[point]) continue;
        was_rechecked[point] = true;
        const std::int64_t candidates = collect(scores, end - begin, limits[point], scratch.candidates.data());
        for (std::int64_t candidate = 0; candidate < candidates; ++candidate) {
          const auto cluster =
              static_cast<std::int32_t>(begin + scratch.candidates[static_cast<std::size_t>(candidate)]);
          const double distance = exact_distance(rows[point], filter.centroids + cluster * d, d);
          if (distance < best[point].distance || (distance == best[point].distance && cluster < best[point].label))
            best[point] = {distance, cluster};
        }
      }
    }

    for (std::int64_t point = 0; point < count; ++point) {
      const std::int32_t number = numbers[point];
      const std::int32_t own = undecided.labels[number];
      rechecked += was_rechecked[point];
      if (best[point].label == own) continue;
      // The old centroid is now one of the centroids that the group's lower bound must cover.
      float& bound = undecided.lower[number * undecided.groups + own / undecided.group_clusters];
      const float former = undecided.upper[number] * (1 - 0x1p-19F);
      if (former < bound) bound = former;
      undecided.labels[number] = best[point].label;
      undecided.upper[number] = static_cast<float>(__builtin_sqrt(best[point].distance) * filter.scale * (1 + 0x1p-22));
    }
  }
  return rechecked;
}

void own_distances_f32(const float* rows, std::int64_t stride, const std::int32_t* points, std::int64_t count,
                       const std::int32_t* labels, const float* centroids, std::int64_t dimensions, double* out) {
  own_distances_kernel(rows, stride, points, count, labels, centroids, dimensions, out);
}

void own_distances_f64(const double* rows, std::int64_t stride, const std::int32_t* points, std::int64_t count,
                       const std::int32_t* labels, const double* centroids, std::int64_t dimensions, double* out) {
  own_distances_kernel(rows, stride, points, count, labels, centroids, dimensions, out);
}

std::int64_t search_groups_f32(const FilterView<float>& filter, const UndecidedPoints<float>& points,
                               FilterScratch& scratch) {
  return search_groups_kernel(filter, points, scratch);
}

std::int64_t search_groups_f64(const FilterView<double>& filter, const UndecidedPoints<double>& points,
                               FilterScratch& scratch) {
  return search_groups_kernel(filter, points, scratch);
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::kmeans_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <bit>

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

HWY_EXPORT(move_bounds_kernel);
HWY_EXPORT(own_distances_f32);
HWY_EXPORT(own_distances_f64);
HWY_EXPORT(search_groups_f32);
HWY_EXPORT(search_groups_f64);

BoundGroups::BoundGroups(const Shape& shape) {
  const std::int64_t smallest = (shape.clusters + group_step - 1) / group_step;
  const std::int64_t most = std::max<std::int64_t>(1, shape.dimensions * shape.element_bytes / 16);
  const std::int64_t steps = (smallest + most - 1) / most;
  clusters = group_step * steps;
  count = (smallest + steps - 1) / steps;
}

namespace {

/// Returns true if rows may have a second byte. If rows have few coordinates, it takes little time to read all of them,
/// and a second byte is not worthwhile.
bool takes_rests(std::int64_t clusters, std::int64_t dimensions) {
  return clusters <= few_candidates && dimensions >= 64;
}

/// Returns true if searches use a copy of the points in bytes.
template <class T>
bool copies(const Problem<T>& problem) {
  return problem.may_copy && problem.max_iterations > 1 && problem.k() > 1 && bounds_copy_bytes(shape_of(problem)) > 0;
}

}  // namespace

std::uint64_t bounds_copy_bytes(const Shape& shape) {
  if (shape.clusters > most_clusters_by_copy || shape.dimensions > ByteRows<float>::most_columns) return 0;
  return ByteRows<float>::bytes(shape.points, shape.dimensions, takes_rests(shape.clusters, shape.dimensions));
}

BoundsScratch::BoundsScratch(const Shape& shape, bool has_copy)
    : FilterScratch(shape.clusters, shape.dimensions), active(block_points + 1), distances(block_points),
      queues(sub_block + 1),
      row(has_copy ? static_cast<std::size_t>(ByteRows<float>::scratch_floats(shape.dimensions)) : 0) {
  if (has_copy) bytes.make(shape.clusters);
}

template <class T>
BoundsAssigner<T>::BoundsAssigner(const Problem<T>& problem, int threads)
    : problem_(problem), shape_{problem.n(), problem.d(), problem.k(), static_cast<int>(sizeof(T)),
                                !problem.weights.empty()},
      groups_(shape_), threads_(threads), filter_(problem, threads),
      copy_(copies(problem) ? problem.bytes ? problem.bytes : std::make_shared<ByteRows<T>>(problem.points) : nullptr),
      comes_copied_(copy_ && problem.bytes), cheap_(copy_ || filter_.has_bytes()),
      cluster_drifts_(static_cast<std::size_t>(problem.k())), group_drifts_(static_cast<std::size_t>(groups_.count)),
      start_below_(copy_ && problem.k() <= few_candidates ? -1 : problem.n() / (cheap_ ? 128 : 16)) {
  if (copy_ && takes_rests(problem.k(), problem.d())) copy_->make_rests();
}

template <class T>
void BoundsAssigner<T>::prepare(MatrixView<const T> centroids) {
  if (phase_ == Phase::plain && copy_) filter_.prepare_candidates(centroids);
  else filter_.prepare(centroids);
  if (phase_ == Phase::plain) {
    if (!copy_) return;
    addresses_.clear();
    for (std::int64_t cluster = 0; cluster < centroids.rows(); ++cluster) addresses_.push_back(centroids.row(cluster));
    trials_.make(*copy_, std::span<const T* const>(addresses_));
    return;
  }
  if (upper_.size() == 0) {
    upper_ = Buffer<float>(problem_.n());
    lower_ = Buffer<float>(problem_.n() * groups_.count);
  }
  if (phase_ == Phase::first) {
    centroids_ = Matrix<T>::copy_of(centroids);
    return;
  }
  const double scale = filter_.view().scale;
  std::fill(group_drifts_.begin(), group_drifts_.end(), 0.0F);
  for (std::int64_t cluster = 0; cluster < centroids_.rows(); ++cluster) {
    core::honour_stop(problem_.stop, while_preparing);
    double squares = 0;
    bool moves = false;  // true after any movement, even if the square of the movement underflows
    for (std::int64_t dim = 0; dim < problem_.d(); ++dim) {
      moves = moves || centroids(cluster, dim) != centroids_(cluster, dim);
      const double moved =
          (static_cast<double>(centroids(cluster, dim)) - static_cast<double>(centroids_(cluster, dim))) * scale;
      squares += moved * moved;
    }
    const float drift = static_cast<float>(std::sqrt(squares) * (1 + 0x1p-20) + (moves ? 1e-36 : 0.0));
    cluster_drifts_[static_cast<std::size_t>(cluster)] = drift;
    float& group = group_drifts_[static_cast<std::size_t>(cluster / groups_.clusters)];
    group = std::max(group, drift);
  }
  centroids_ = Matrix<T>::copy_of(centroids);
}

template <class T>
std::int64_t BoundsAssigner<T>::assign(cpu::Range block, const std::int32_t* before, std::int32_t* labels,
                                       Scratch& scratch) {
  const std::int64_t count = block.size();
  const T* rows = problem_.points.row(block.begin);
  const std::int64_t stride = problem_.points.row_stride();
  if (phase_ == Phase::plain && copy_) return search_copy(block, labels, scratch);
  if (phase_ == Phase::plain) return filter_.search_block(rows, stride, count, before, labels, {}, scratch);
  float* upper = upper_.data() + block.begin;
  float* lower = lower_.data() + block.begin * groups_.count;
  if (phase_ == Phase::first)
    return filter_.search_block(rows, stride, count, before, labels, {upper, lower, groups_.count, groups_.clusters},
                                scratch);

  std::copy_n(before, count, labels);
  const std::int64_t undecided = HWY_DYNAMIC_DISPATCH(move_bounds_kernel)(
      count, groups_.count, labels, cluster_drifts_.data(), group_drifts_.data(), upper, lower, scratch.active.data());
  std::int64_t searched = undecided * own_distance_cost;
  if (groups_.count == 1) {
    searched_.fetch_add(undecided * problem_.k(), std::memory_order_relaxed);  // relaxed: only the total is used
    return search_anew(rows, undecided, labels, upper, lower, scratch);
  }
  const FilterView<T> filter = filter_.view();
  if constexpr (sizeof(T) == 4) HWY_DYNAMIC_DISPATCH(own_distances_f32)
  (rows, stride, scratch.active.data(), undecided, labels, filter.centroids, problem_.d(), scratch.distances.data());
  else HWY_DYNAMIC_DISPATCH(own_distances_f64)(rows, stride, scratch.active.data(), undecided, labels, filter.centroids,
                                               problem_.d(), scratch.distances.data());
  // Computed again, the upper bounds are tighter and decide more points.
  std::int64_t left = 0;
  for (std::int64_t index = 0; index < undecided; ++index) {
    const std::int32_t point = scratch.active[static_cast<std::size_t>(index)];
    const double distance = scratch.distances[static_cast<std::size_t>(index)];
    upper[point] = static_cast<float>(std::sqrt(distance) * filter.scale * (1 + 0x1p-22));
    const float* bounds = lower + point * groups_.count;
    bool decided = true;
    for (std::int64_t group = 0; group < groups_.count; ++group) decided = decided && upper[point] < bounds[group];
    scratch.active[static_cast<std::size_t>(left)] = point;
    scratch.distances[static_cast<std::size_t>(left)] = distance;
    left += !decided;
  }
  const UndecidedPoints<T> points{
      rows,          stride,           scratch.active.data(), left,     scratch.distances.data(), labels, upper, lower,
      groups_.count, groups_.clusters, scratch.queues.data(), &searched};
  std::int64_t rechecked;
  if constexpr (sizeof(T) == 4) rechecked = HWY_DYNAMIC_DISPATCH(search_groups_f32)(filter, points, scratch);
  else rechecked = HWY_DYNAMIC_DISPATCH(search_groups_f64)(filter, points, scratch);
  searched_.fetch_add(searched, std::memory_order_relaxed);
  return rechecked;
}

template <class T>
void BoundsAssigner<T>::finished(std::int64_t changed) {
  const std::int64_t searched = searched_.exchange(0, std::memory_order_relaxed);
  copied_ = true;
  if (phase_ == Phase::first) phase_ = Phase::bounds;
  else if (phase_ == Phase::plain && changed <= start_below_) phase_ = Phase::first;
  else if (phase_ == Phase::bounds) {
    const double plain = static_cast<double>(problem_.n()) * static_cast<double>(problem_.k());
    // In a pass with bounds, a searched pair costs more than a pair in a plain pass: 4.5 times as much if plain passes
    // are cheap, otherwise 1.25 times as much (both measured).
    if (static_cast<double>(searched) * (cheap_ ? 4.5 : 1.25) <= plain) return;
    phase_ = Phase::plain;  // the centroids still move too far for bounds
    start_below_ = changed / 4;
  }
}

// Searches the copy panel by panel. A point with a single candidate gets its label at once.
template <class T>
std::int64_t BoundsAssigner<T>::search_copy(cpu::Range block, std::int32_t* labels, Scratch& scratch) {
  constexpr std::int64_t panel_rows = ByteRows<T>::panel_rows;
  if (problem_.k() <= few_candidates) return search_copy_for_few(block, labels, scratch);
  std::int64_t rechecked = 0;
  for (std::int64_t first = block.begin; first < block.end; first += panel_rows) {
    if (problem_.stop.stop_requested()) break;
    const std::int64_t panel = first / panel_rows;
    const std::int64_t count = std::min(panel_rows, block.end - first);
    if (!copied_) {
      if (!comes_copied_) copy_->copy_panel(panel, scratch.row.data());
      for (std::int64_t row = first; row < first + count; ++row) copy_->set_no_limit(row);
    }
    const std::int64_t found = copy_->find_nearest(trials_, panel, scratch.bytes);
    std::uint32_t once = 0;
    std::uint32_t twice = 0;
    std::int32_t* const of_panel = labels + (first - block.begin);
    for (std::int64_t index = 0; index < found; ++index) {
      const Undecided open = scratch.bytes.undecided[static_cast<std::size_t>(index)];
      twice |= once & open.points;
      once |= open.points;
      for (std::uint32_t bits = open.points; bits != 0; bits &= bits - 1)
        of_panel[std::countr_zero(bits)] = open.candidate;
    }
    for (std::uint32_t bits = twice; bits != 0; bits &= bits - 1) {
      const int point = std::countr_zero(bits);
      std::int64_t candidates = 0;
      for (std::int64_t index = 0; index < found; ++index) {
        const Undecided open = scratch.bytes.undecided[static_cast<std::size_t>(index)];
        scratch.candidates[static_cast<std::size_t>(candidates)] = open.candidate;
        candidates += open.points >> point & 1;
      }
      bool doubtful = false;
      of_panel[point] = filter_.nearest_of(problem_.points.row(first + point), candidates, scratch, doubtful);
      rechecked += doubtful;
    }
  }
  return rechecked;
}

template <class T>
std::int64_t BoundsAssigner<T>::search_copy_for_few(cpu::Range block, std::int32_t* labels, Scratch& scratch) {
  constexpr std::int64_t panel_rows = ByteRows<T>::panel_rows;
  std::int64_t rechecked = 0;
  for (std::int64_t first = block.begin; first < block.end; first += panel_rows) {
    if (problem_.stop.stop_requested()) break;
    const std::int64_t panel = first / panel_rows;
    const std::int64_t count = std::min(panel_rows, block.end - first);
    if (!copied_ && !comes_copied_) copy_->copy_panel(panel, scratch.row.data());
    std::int32_t of_panel[panel_rows];
    std::uint32_t open = copy_->settle(trials_, panel, scratch.bytes, of_panel);
    if (count < panel_rows) open &= (std::uint32_t{1} << count) - 1;
    for (; open != 0; open &= open - 1) {
      const int point = std::countr_zero(open);
      const std::int64_t row = first + point;
      std::int64_t candidates = 0;
      for (std::int64_t cluster = 0; cluster < problem_.k(); ++cluster) {
        scratch.candidates[static_cast<std::size_t>(candidates)] = static_cast<std::int32_t>(cluster);
        candidates += scratch.bytes.open[static_cast<std::size_t>(cluster)] >> point & 1;
      }
      if (copy_->has_rest(row))
        candidates = copy_->settle_row(trials_, row, scratch.bytes, scratch.candidates.data(), candidates);
      else copy_->copy_rest(row, scratch.row.data());
      bool doubtful = false;
      of_panel[point] = filter_.nearest_of(problem_.points.row(row), candidates, scratch, doubtful);
      rechecked += doubtful;
    }
    std::copy_n(of_panel, count, labels + (first - block.begin));
  }
  return rechecked;
}

// Searches all clusters for the undecided points. If there is a single group, this takes little longer than computing
// the distance to the point's centroid, and it also yields new bounds.
template <class T>
std::int64_t BoundsAssigner<T>::search_anew(const T* rows, std::int64_t undecided, std::int32_t* labels, float* upper,
                                            float* lower, Scratch& scratch) {
  std::int64_t rechecked = 0;
  for (std::int64_t first = 0; first < undecided; first += sub_block) {
    const std::int64_t size = std::min(sub_block, undecided - first);
    const std::int32_t* points = scratch.active.data() + first;
    const T* pointers[sub_block];
    std::int32_t found[sub_block];
    float above[sub_block];
    float below[sub_block];
    for (std::int64_t index = 0; index < size; ++index)
      pointers[index] = rows + points[index] * problem_.points.row_stride();
    rechecked += filter_.search(pointers, size, found, {above, below, 1, groups_.clusters}, scratch);
    for (std::int64_t index = 0; index < size; ++index) {
      labels[points[index]] = found[index];
      upper[points[index]] = above[index];
      lower[points[index]] = below[index];
    }
  }
  return rechecked;
}

template <class T>
std::uint64_t BoundsAssigner<T>::bytes(const Shape& shape, int threads) {
  const auto groups = static_cast<std::uint64_t>(BoundGroups(shape).count);
  const auto n = static_cast<std::uint64_t>(shape.points);
  const auto k = static_cast<std::uint64_t>(shape.clusters);
  return 4 * n * (groups + 1) + k * static_cast<std::uint64_t>(shape.dimensions) * sizeof(T) +
         IntegerFilter<T>::bytes(shape) +
         static_cast<std::uint64_t>(threads) *
             (FilterScratch::bytes(shape) + 16 * static_cast<std::uint64_t>(block_points) +
              4 * static_cast<std::uint64_t>(ByteRows<float>::scratch_floats(shape.dimensions)) +
              272 * std::min(k, std::uint64_t{most_clusters_by_copy}));
}

template class BoundsAssigner<float>;
template class BoundsAssigner<double>;

template <class T>
KMeansResult<T> simd_bounds(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cpu::thread_count(execution);
  BoundsAssigner<T> assigner(problem, threads);
  SimdEngine<T, BoundsAssigner<T>> engine(problem, threads, assigner);
  return lloyd(problem, execution, engine, phases);
}

extern constinit const Variant simd_bounds_rung{
    .name = "simd_bounds",
    .summary = "as simd_large_dim; once few labels change, bounds by the triangle inequality avoid most searches",
    .change =
        "each point then keeps an upper bound for its centroid and lower bounds for groups of others; points they "
        "decide are not read; up to 64 clusters plain searches read a copy of the points in bytes; the oracle's "
        "bits",
    .contract = exact,
    .backend = core::Backend::simd,
    .on_ranks = true,
    .memory = simd_memory<BoundsAssigner>,
    .facts = {.copy_bytes = bounds_copy_bytes},
    .run = {simd_bounds<float>, simd_bounds<double>},
};

}  // namespace gradus::kmeans_detail
#endif
