#include "kmeans/assign/integer_filter.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kmeans/assign/integer_filter.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "kmeans/assign/integer_filter-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gradus::kmeans_detail {
namespace HWY_NAMESPACE {
namespace {

#if GRADUS_DOT_INSTRUCTIONS
bool ask_for_dot_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
#if HWY_TARGET == HWY_AVX3
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c >> 11 & 1) != 0;  // AVX512-VNNI
#else
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1) != 0;  // AVX-VNNI
#endif
}

bool has_dot_instructions() {
  static const bool has = ask_for_dot_instructions();  // CPUID takes 20 us in a virtual machine
  return has;
}

// The size of the block of products whose sums fit in registers: the number of vectors of clusters, and the number of
// points.
constexpr std::int64_t byte_vectors = HWY_TARGET == HWY_AVX3 ? 4 : 2;
constexpr std::int64_t byte_points = 4;
constexpr std::int64_t byte_panel = byte_vectors * vector_lanes;
static_assert(sub_block % byte_points == 0 && padded_clusters(1) % byte_panel == 0);

// Quantizes the negated points of a tile to 8 bits. place(p, dim) is the index in `out`. errors[p] receives the norm of
// the rounding errors of point p, in steps, and sums[p] the sum of its integers.
template <class Place>
void quantize_bytes(const float* tile, std::int64_t count, std::int64_t stride, float steps, std::int8_t* out,
                    const Place& place, double* errors, std::int32_t* sums) {
  const hn::ScalableTag<float> f;
  const hn::Rebind<std::int8_t, decltype(f)> narrow;
  const auto factor = hn::Set(f, -steps);
  for (std::int64_t point = 0; point < count; ++point) {
    auto squares = hn::Zero(f);
    auto sum = hn::Zero(WideTag());
    for (std::int64_t dim = 0; dim < stride; dim += vector_lanes) {
      const auto value = hn::LoadU(f, tile + point * stride + dim);
      const auto rounded = hn::NearestInt(hn::Mul(value, factor));
      const auto error = hn::MulSub(value, factor, hn::ConvertTo(f, rounded));
      squares = hn::MulAdd(error, error, squares);
      sum = sum + rounded;
      hn::StoreU(hn::DemoteTo(narrow, rounded), narrow, out + place(point, dim));
    }
    sums[point] = hn::GetLane(hn::SumOfLanes(WideTag(), sum));
    errors[point] = __builtin_sqrt(static_cast<double>(hn::GetLane(hn::SumOfLanes(f, squares))));
  }
}

float largest_magnitude(const float* tile, std::int64_t values) {
  const hn::ScalableTag<float> f;
  auto largest = hn::Zero(f);
  for (std::int64_t index = 0; index < values; index += vector_lanes)
    largest = hn::Max(largest, hn::Abs(hn::LoadU(f, tile + index)));
  return hn::GetLane(hn::MaxOfLanes(f, largest));
}

// Computes the same scores as multiply(), except for a constant per point. Orders the scores by panels, and within a
// panel by points. For each point p and each panel, also computes the least score of each lane, and stores these scores
// as a vector at the index p * least_stride + panel * vector_lanes of `least`.
void multiply_bytes(const std::int8_t* points, std::int64_t count, const std::uint8_t* panels,
                    const std::int32_t* offsets, std::int64_t dimensions, std::int64_t clusters, std::int32_t* scores,
                    std::int32_t* least, std::int64_t least_stride) {
  const WideTag wide;
  const hn::Repartition<std::uint8_t, WideTag> bytes;
  const std::int64_t stride = padded_dimensions(dimensions);
  const std::int64_t panel_stride = padded_bytes(dimensions);
  const std::int64_t quads = (dimensions + 7) / 8 * 2;  // the padding is zero, so each step may process two quads
  for (std::int64_t cluster = 0; cluster < clusters; cluster += byte_panel) {
    const std::uint8_t* const panel = panels + cluster * panel_stride;
    for (std::int64_t point = 0; point < count; point += byte_points) {
      DotVector sums[byte_points][byte_vectors];
#pragma GCC unroll 8
      for (std::int64_t row = 0; row < byte_points; ++row)
#pragma GCC unroll 8
        for (std::int64_t vector = 0; vector < byte_vectors; ++vector)
          sums[row][vector] = hn::LoadU(wide, offsets + cluster + vector * vector_lanes).raw;
      const std::int8_t* const rows = points + point * stride;
      for (std::int64_t step = 0; step < quads; step += 2)
#pragma GCC unroll 2
        for (std::int64_t quad = step; quad < step + 2; ++quad) {
          DotVector centroids[byte_vectors];
#pragma GCC unroll 8
          for (std::int64_t vector = 0; vector < byte_vectors; ++vector)
            centroids[vector] = hn::LoadU(bytes, panel + 4 * (quad * byte_panel + vector * vector_lanes)).raw;
#pragma GCC unroll 8
          for (std::int64_t row = 0; row < byte_points; ++row) {
            std::int32_t four;
            __builtin_memcpy(&four, rows + row * stride + 4 * quad, sizeof four);
            const DotVector values = hn::Set(wide, four).raw;
#pragma GCC unroll 8
            for (std::int64_t vector = 0; vector < byte_vectors; ++vector)
              sums[row][vector] = dot_bytes(sums[row][vector], centroids[vector], values);
          }
        }
      std::int32_t* out = scores + cluster * sub_block + point * byte_panel;
#pragma GCC unroll 8
      for (std::int64_t row = 0; row < byte_points; ++row) {
        auto smallest = hn::Vec<WideTag>{sums[row][0]};
#pragma GCC unroll 8
        for (std::int64_t vector = 0; vector < byte_vectors; ++vector) {
          const hn::Vec<WideTag> sum{sums[row][vector]};
          hn::StoreU(sum, wide, out + row * byte_panel + vector * vector_lanes);
          if (vector > 0) smallest = hn::Min(smallest, sum);
        }
        hn::StoreU(smallest, wide, least + (point + row) * least_stride + cluster / byte_vectors);
      }
    }
  }
}

// Stores the clusters whose score is at most `limit`, in any order, and their scores. `scores` and `least` belong to
// one point and begin with the cluster `begin`. First finds the lanes that contain such a cluster, then the scores in
// these lanes. Avoids branches.
std::int64_t collect_bytes(const std::int32_t* scores, const std::int32_t* least, std::int64_t begin,
                           std::int64_t clusters, std::int32_t limit, std::int32_t* hits, std::int32_t* places,
                           std::int32_t* values) {
  const WideTag wide;
  const auto bound = hn::Set(wide, limit);
  std::int64_t found = 0;
  auto first = hn::Iota(wide, 0);
  for (std::int64_t lane = 0; lane < clusters / byte_vectors; lane += vector_lanes) {
    const auto hit = hn::Not(hn::LoadU(wide, least + lane) > bound);
    // Without AVX-512, it takes longer to compress than to branch.
    if (HWY_TARGET == HWY_AVX3 || !hn::AllFalse(wide, hit)) {
      hn::StoreU(hn::Compress(first, hit), wide, hits + found);
      found += static_cast<std::int64_t>(hn::CountTrue(wide, hit));
    }
    first = first + hn::Set(wide, static_cast<std::int32_t>(byte_panel));
  }
  std::int64_t count = 0;
  for (std::int64_t hit = 0; hit < found; ++hit) {
    // An element of `hits` stands for a lane. Its value is the cluster of this lane in the first vector of the panel.
    const std::int64_t cluster = hits[hit];
    const std::int32_t* const lane = scores + cluster / byte_panel * (byte_panel * sub_block) + cluster % byte_panel;
#pragma GCC unroll 8
    for (std::int64_t vector = 0; vector < byte_vectors; ++vector) {
      places[count] = static_cast<std::int32_t>(begin + cluster + vector * vector_lanes);
      values[count] = lane[vector * vector_lanes];
      count += lane[vector * vector_lanes] <= limit;
    }
  }
  return count;
}

// A sub-block of points whose negated coordinates are quantized to 8 bits.
struct QuantizedBytes {
  double unit;                      // number of score steps in a scaled squared length of 1
  double squared_norms[sub_block];  // see square_rounding()
  double errors[sub_block];         // error bounds of the scores, in score steps
  std::int32_t sums[sub_block];     // sums of the integers
};

// Quantizes points to bytes.
template <class T, class Place>
void quantize_byte_points(const FilterView<T>& filter, const T* const* rows, std::int64_t count, float* tile,
                          std::int8_t* out, const Place& place, QuantizedBytes& points) {
  const std::int64_t d = filter.dimensions;
  const std::int64_t stride = padded_dimensions(d);
  load_tile(filter, rows, count, tile, points.squared_norms);
  const auto largest = static_cast<double>(largest_magnitude(tile, count * stride));
  // The largest magnitude becomes 127 steps, or fewer if half the squared norm of a centroid would then exceed 29 bits.
  double steps = 127.0 / (largest > 0 ? largest : 1.0);
  const double most =
      0x1p29 / (filter.byte_steps * (filter.largest_half_square > 0 ? filter.largest_half_square : 1.0));
  if (steps > most) steps = most;
  if (steps > 0x1p60) steps = 0x1p60;
  steps = static_cast<double>(static_cast<float>(steps * (1 - 0x1p-20)));
  points.unit = steps * filter.byte_steps;
  quantize_bytes(tile, count, stride, static_cast<float>(steps), out, place, points.errors, points.sums);
  for (std::int64_t point = 0; point < count; ++point) {
    const double length = __builtin_sqrt(points.squared_norms[point] * (1 + square_rounding(d)));
    const double norm = length * steps;
    // This error bound follows by Cauchy-Schwarz from y.b - qy.qb = ey.qb + y.eb (simd_large_dim.cpp). Here ey includes
    // the rounding of the tile to float.
    points.errors[point] =
        (points.errors[point] * (1 + square_rounding(d)) + 0x1p-22 * norm + 1e-6) * filter.byte_largest_norm +
        norm * filter.byte_largest_error + 3 + chain_error(filter, length, points.unit);
  }
}

// Searches like search_kernel below, but with 8-bit integers and a block of clusters at a time, so that scores stay in
// the cache. Each block may lower the limits, so candidates are kept with their scores. Returns -1 if a point has too
// many candidates.
template <class T>
std::int64_t search_bytes(const FilterView<T>& filter, const T* const* rows, std::int64_t count, std::int32_t* labels,
                          FilterScratch& scratch) {
  const std::int64_t d = filter.dimensions;
  const std::int64_t places = padded_clusters(filter.clusters);
  const std::int64_t block = ByteCandidates::block(filter.clusters);
  const std::int64_t least_stride = ByteCandidates::least_stride(filter.clusters);
  const std::int64_t capacity = ByteCandidates::capacity(filter.clusters);
  auto* const bytes = reinterpret_cast<std::int8_t*>(scratch.points.data());
  ByteCandidates& found = scratch.byte_candidates;
  QuantizedBytes points;
  const auto place = [d](std::int64_t point, std::int64_t dim) { return point * padded_dimensions(d) + dim; };
  quantize_byte_points(filter, rows, count, scratch.tile.data(), bytes, place, points);
  std::int32_t lowest[sub_block];  // the least score of each point so far
  std::int64_t counts[sub_block];
  for (std::int64_t point = 0; point < count; ++point) {
    lowest[point] = no_limit;
    counts[point] = 0;
  }
  const auto limit_of = [&](std::int64_t point) {
    const double limit = static_cast<double>(lowest[point]) + 2.001 * points.errors[point];
    return static_cast<std::int32_t>(limit < no_limit ? limit : no_limit);
  };
  // Copies the candidates within the limit and, if `scores` is not null, their scores. Returns their number.
  const auto keep = [&](std::int64_t point, std::int32_t* clusters, std::int32_t* scores) {
    const std::int32_t limit = limit_of(point);
    std::int64_t left = 0;
    for (std::int64_t index = point * capacity; index < point * capacity + counts[point]; ++index) {
      const std::int32_t score = found.scores.data()[index];
      clusters[left] = found.clusters.data()[index];
      if (scores != nullptr) scores[left] = score;
      left += score <= limit;
    }
    return left;
  };

  for (std::int64_t begin = 0; begin < places; begin += block) {
    const std::int64_t size = block < places - begin ? block : places - begin;
    quantize_offsets(filter, points.unit, begin, begin + size, scratch.offsets.data());
    multiply_bytes(bytes, count, filter.byte_panels + begin * padded_bytes(d), scratch.offsets.data() + begin, d, size,
                   scratch.scores.data(), found.least.data(), least_stride);
    for (std::int64_t point = 0; point < count; ++point) {
      const std::int32_t* const least = found.least.data() + point * least_stride;
      const std::int32_t here = least_score(least, size / byte_vectors);
      lowest[point] = here < lowest[point] ? here : lowest[point];
      const std::int32_t limit = limit_of(point);
      if (here > limit) continue;
      std::int32_t* const clusters = found.clusters.data() + point * capacity;
      std::int32_t* const kept_scores = found.scores.data() + point * capacity;
      if (counts[point] + block > capacity) counts[point] = keep(point, clusters, kept_scores);
      if (counts[point] + block > capacity) return -1;
      counts[point] += collect_bytes(scratch.scores.data() + point * byte_panel, least, begin, size, limit,
                                     found.hits.data(), clusters + counts[point], kept_scores + counts[point]);
    }
  }

  std::int64_t rechecked = 0;
  std::int64_t all_candidates = 0;
  for (std::int64_t point = 0; point < count; ++point) {
    const std::int64_t candidates = keep(point, scratch.candidates.data(), nullptr);
    all_candidates += candidates;
    bool doubtful = false;
    labels[point] = nearest_candidate(filter, rows[point], candidates, scratch, doubtful);
    rechecked += doubtful;
  }
  // If there are more candidates than this, it takes longer to compute their distances than the 8-bit level saves. The
  // next sub-blocks therefore use 16 bits.
  if (all_candidates > count * (2 + filter.clusters / 16)) scratch.word_searches = 15;
  return rechecked;
}
#else
bool has_dot_instructions() { return false; }
#endif

template <class T>
std::int64_t search_kernel(const FilterView<T>& filter, const T* const* rows, std::int64_t count, std::int32_t* labels,
                           const DistanceBounds& bounds, FilterScratch& scratch) {
  const std::int64_t d = filter.dimensions;
  const std::int64_t stride = whole_panels(filter.clusters);
#if GRADUS_DOT_INSTRUCTIONS
  if (filter.byte_panels && !bounds.lower && scratch.word_searches == 0) {
    const std::int64_t by_bytes = search_bytes(filter, rows, count, labels, scratch);
    if (by_bytes >= 0) return by_bytes;
    scratch.word_searches = 16;
  }
  if (scratch.word_searches > 0) --scratch.word_searches;
#endif
  QuantizedPoints points;
  quantize_points(filter, rows, count, scratch, points);
  multiply(filter.dot_instructions, points.rows, count, filter.panels, scratch.offsets.data(), d, 0, stride,
           scratch.scores.data(), stride);

  std::int64_t rechecked = 0;
  for (std::int64_t point = 0; point < count; ++point) {
    std::int32_t* scores = scratch.scores.data() + point * stride;
    const std::int32_t least = least_score(scores, stride);
    const double limit = static_cast<double>(least) + 2.01 * points.label_error;
    const std::int64_t candidates = collect(
        scores, stride, static_cast<std::int32_t>(limit < 0x7e000000 ? limit : 0x7e000000), scratch.candidates.data());
    bool doubtful = false;
    const std::int32_t label = nearest_candidate(filter, rows[point], candidates, scratch, doubtful);
    rechecked += doubtful;
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

#if GRADUS_DOT_INSTRUCTIONS && HWY_TARGET == HWY_AVX3
// Computes the distance to one cluster and returns the limit that follows for the scores of the other clusters. If a
// score exceeds the limit, its cluster is farther, also by the canonical chain. `limit` is returned if it is lower.
//
// A score is the offset plus the products of the point's negated integers with the centroid's integers plus 128. So it
// differs from unit (|b|^2 / 2 - y.b) = unit (D - |y|^2) / 2 by 128 times the sum of the point's integers and by the
// error. distance_rounding() covers the errors of the distance and of this cluster's chain. The error of the score
// covers the chain of the other cluster, because chain_error() exceeds g D / 2.
template <class T>
std::int32_t limit_by(const FilterView<T>& filter, const QuantizedBytes& points, std::int64_t point, const T* row,
                      std::int32_t cluster, std::int32_t limit) {
  const std::int64_t d = filter.dimensions;
  const double distance = near_distance(row, filter.centroids + cluster * d, d) * (1 + distance_rounding<T>(d)) +
                          (sizeof(T) == 4 ? 1e-30 : 1e-290);
  const double lowered =
      0.5 * points.unit *
          (distance * filter.scale * filter.scale - points.squared_norms[point] * (1 - square_rounding(d))) +
      128.0 * points.sums[point] + 1.001 * points.errors[point] + 1;
  return lowered < limit ? static_cast<std::int32_t>(lowered > -no_limit ? lowered : -no_limit) : limit;
}

// Prefetches the first lines of a centroid. The hardware prefetches the other lines.
template <class T>
void prefetch_centroid(const FilterView<T>& filter, std::int32_t cluster) {
  constexpr std::int64_t most_bytes = 512;
  const auto* const row = reinterpret_cast<const char*>(filter.centroids + cluster * filter.dimensions);
  const std::int64_t bytes = filter.dimensions * static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t at = 0; at < bytes && at < most_bytes; at += 64) __builtin_prefetch(row + at, 0, 3);
}

// Searches at most TileScratch::points points with AMX tiles. Before the search, the distance to the centroid of the
// previous label limits the scores; afterwards, the distance to the candidate with the least score does. Only
// candidates within this limit are compared by their distances.
template <class T>
std::int64_t search_with_tiles(const FilterView<T>& filter, const T* const* rows, std::int64_t count,
                               std::int64_t ahead, const std::int32_t* before, std::int32_t* labels,
                               FilterScratch& scratch) {
  const std::int64_t places = padded_clusters(filter.clusters);
  const std::int64_t row_bytes = padded_bytes(filter.dimensions);
  const std::int64_t capacity = TileScratch::capacity(filter.clusters);
  TileScratch& tiles = scratch.tiles;
  QuantizedBytes groups[tile_groups];
  std::int32_t bands[TileScratch::points];
  std::int32_t limits[TileScratch::points];
  std::int32_t counts[TileScratch::points];
  for (std::int64_t first = 0; first < count; first += tile_group) {
    const std::int64_t size = count - first < tile_group ? count - first : tile_group;
    QuantizedBytes& points = groups[first / tile_group];
    for (std::int64_t point = 0; point < size; ++point)
      if (before[first + point] >= 0) prefetch_centroid(filter, before[first + point]);
    const auto place = [row_bytes](std::int64_t point, std::int64_t dim) { return tile_index(point, dim, row_bytes); };
    quantize_byte_points(filter, rows + first, size, scratch.tile.data(), tiles.rows.data() + first * row_bytes, place,
                         points);
    quantize_offsets(filter, points.unit, 0, places, tiles.offsets.data() + first / tile_group * places);
    for (std::int64_t point = 0; point < tile_group; ++point) {
      const std::int64_t at = first + point;
      limits[at] = -no_limit;  // rows without a point have no candidates
      bands[at] = 0;
      if (point >= size) continue;
      const double band = 2.001 * points.errors[point] + 1;
      bands[at] = static_cast<std::int32_t>(band < no_limit ? band : no_limit);
      limits[at] = before[at] < 0 ? no_limit : limit_by(filter, points, point, rows[at], before[at], no_limit);
    }
  }
  search_tiles({row_bytes, places, (count + tile_group - 1) / tile_group, filter.byte_panels, tiles.rows.data(),
                tiles.offsets.data(), bands, limits, counts, capacity, tiles.scores.data(), tiles.clusters.data(),
                reinterpret_cast<const char* const*>(rows + count), ahead,
                filter.dimensions * static_cast<std::int64_t>(sizeof(T))});

  std::int64_t rechecked = 0;
  for (std::int64_t first = 0; first < count; first += tile_group) {
    const std::int64_t end = count - first < tile_group ? count : first + tile_group;
    std::int64_t all_candidates = 0;
    bool overflows = false;
    for (std::int64_t at = first; at < end; ++at)
      for (std::int64_t index = 0; counts[at] > 1 && index < counts[at]; ++index)
        if (tiles.scores[at * capacity + index] <= limits[at])
          prefetch_centroid(filter, tiles.clusters[at * capacity + index]);
    for (std::int64_t at = first; at < end; ++at) {
      if (counts[at] == too_many) {
        overflows = true;
        continue;
      }
      std::int32_t* const scores = tiles.scores.data() + at * capacity;
      const std::int32_t* const clusters = tiles.clusters.data() + at * capacity;
      std::int32_t* const candidates = scratch.candidates.data();
      std::int64_t best = 0;
      for (std::int64_t index = 1; index < counts[at]; ++index) best = scores[index] < scores[best] ? index : best;
      std::int32_t limit = limits[at];
      const auto keep = [&] {
        std::int64_t left = 0;
        for (std::int64_t index = 0; index < counts[at]; ++index) {
          candidates[left] = clusters[index];
          left += scores[index] <= limit;
        }
        return left;
      };
      std::int64_t left = keep();
      if (left > 1 && clusters[best] != before[at]) {
        limit = limit_by(filter, groups[first / tile_group], at - first, rows[at], clusters[best], limit);
        left = keep();
      }
      all_candidates += left;
      bool doubtful = false;
      labels[at] = nearest_candidate(filter, rows[at], left, scratch, doubtful);
      rechecked += doubtful;
    }
    // As in search_bytes(), but tiles save more of the time of the 16-bit level.
    if (overflows || all_candidates > (end - first) * (2 + filter.clusters / 8)) scratch.word_searches = 15;
    if (overflows) rechecked += search_kernel(filter, rows + first, end - first, labels + first, {}, scratch);
  }
  return rechecked;
}

bool can_use_tiles() { return true; }
#else
template <class T>
std::int64_t search_with_tiles(const FilterView<T>&, const T* const*, std::int64_t, std::int64_t, const std::int32_t*,
                               std::int32_t*, FilterScratch&) {
  return 0;
}

bool can_use_tiles() { return false; }
#endif

std::int64_t search_tiles_f32(const FilterView<float>& filter, const float* const* rows, std::int64_t count,
                              std::int64_t ahead, const std::int32_t* before, std::int32_t* labels,
                              FilterScratch& scratch) {
  return search_with_tiles(filter, rows, count, ahead, before, labels, scratch);
}

std::int64_t search_tiles_f64(const FilterView<double>& filter, const double* const* rows, std::int64_t count,
                              std::int64_t ahead, const std::int32_t* before, std::int32_t* labels,
                              FilterScratch& scratch) {
  return search_with_tiles(filter, rows, count, ahead, before, labels, scratch);
}

std::int64_t search_f32(const FilterView<float>& filter, const float* const* rows, std::int64_t count,
                        std::int32_t* labels, const DistanceBounds& bounds, FilterScratch& scratch) {
  return search_kernel(filter, rows, count, labels, bounds, scratch);
}

std::int64_t search_f64(const FilterView<double>& filter, const double* const* rows, std::int64_t count,
                        std::int32_t* labels, const DistanceBounds& bounds, FilterScratch& scratch) {
  return search_kernel(filter, rows, count, labels, bounds, scratch);
}

std::int32_t nearest_of_f32(const FilterView<float>& filter, const float* row, std::int64_t count,
                            FilterScratch& scratch, bool& doubtful) {
  return nearest_candidate(filter, row, count, scratch, doubtful);
}

std::int32_t nearest_of_f64(const FilterView<double>& filter, const double* row, std::int64_t count,
                            FilterScratch& scratch, bool& doubtful) {
  return nearest_candidate(filter, row, count, scratch, doubtful);
}

// Writes a centroid relative to the middle, scaled and zero-padded to padded_dimensions(). Returns its squared norm. If
// a coordinate has a greater magnitude than `largest`, sets `largest` to that magnitude.
template <class T>
double move_centroid(const T* centroid, const T* middle, std::int64_t dimensions, double scale, double* row,
                     double* largest) {
  const hn::CappedTag<double, 8> lanes;
  const hn::Rebind<T, decltype(lanes)> elements;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  const auto load = [&](const T* from) HWY_ATTR {
    if constexpr (sizeof(T) == 4) return hn::PromoteTo(lanes, hn::LoadU(elements, from));
    else return hn::LoadU(elements, from);
  };
  const auto factor = hn::Set(lanes, scale);  // the scale is a power of two, so products are exact
  auto all_squares = hn::Zero(lanes);
  auto greatest = hn::Zero(lanes);
  std::int64_t dim = 0;
  for (; dim + width <= dimensions; dim += width) {
    const auto value = hn::MulSub(load(centroid + dim), factor, load(middle + dim));
    hn::StoreU(value, lanes, row + dim);
    all_squares = hn::MulAdd(value, value, all_squares);
    greatest = hn::Max(greatest, hn::Abs(value));
  }
  double squares = hn::GetLane(hn::SumOfLanes(lanes, all_squares));
  double most = hn::GetLane(hn::MaxOfLanes(lanes, greatest));
  for (; dim < dimensions; ++dim) {
    const double value = static_cast<double>(centroid[dim]) * scale - static_cast<double>(middle[dim]);
    row[dim] = value;
    squares += value * value;
    most = __builtin_fmax(most, __builtin_fabs(value));
  }
  for (; dim < padded_dimensions(dimensions); ++dim) row[dim] = 0;
  *largest = __builtin_fmax(*largest, most);
  return squares;
}

double move_centroid_f32(const float* centroid, const float* middle, std::int64_t dimensions, double scale, double* row,
                         double* largest) {
  return move_centroid(centroid, middle, dimensions, scale, row, largest);
}

double move_centroid_f64(const double* centroid, const double* middle, std::int64_t dimensions, double scale,
                         double* row, double* largest) {
  return move_centroid(centroid, middle, dimensions, scale, row, largest);
}

// Quantizes a row that move_centroid() has written. Calls put(dim, integers) for 16 dimensions at a time. Returns the
// norm of the quantization error. Sets `norm` to the norm of the row, in steps.
template <class Put>
HWY_INLINE double quantize_centroid(const double* row, std::int64_t dimensions, double steps, double* norm,
                                    const Put& put) {
  const hn::CappedTag<double, 8> lanes;
  const hn::Rebind<std::int32_t, decltype(lanes)> narrow;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  const auto factor = hn::Set(lanes, steps);
  const auto magic = hn::Set(lanes, 0x1.8p52);
  auto errors = hn::Zero(lanes);
  auto squares = hn::Zero(lanes);
  HWY_ALIGN std::int32_t integers[16];
  for (std::int64_t first = 0; first < padded_dimensions(dimensions); first += 16) {
    for (std::int64_t dim = 0; dim < 16; dim += width) {
      const auto value = hn::LoadU(lanes, row + first + dim) * factor;
      const auto rounded = (value + magic) - magic;
      const auto error = value - rounded;
      errors = hn::MulAdd(error, error, errors);
      squares = hn::MulAdd(rounded, rounded, squares);
      hn::StoreU(hn::DemoteTo(narrow, rounded), narrow, integers + dim);
    }
    put(first, integers);
  }
  *norm = __builtin_sqrt(hn::GetLane(hn::SumOfLanes(lanes, squares)));
  return __builtin_sqrt(hn::GetLane(hn::SumOfLanes(lanes, errors)));
}

// Quantizes one centroid to 8 bits, adds 128, and stores the result in the panels. Returns the norm of the quantization
// error. Sets `norm` to the norm of the quantized centroid, in steps.
double pack_bytes(const double* row, std::int64_t cluster, std::int64_t dimensions, double steps, std::uint8_t* panels,
                  double* norm) {
#if GRADUS_DOT_INSTRUCTIONS
  std::uint8_t* const panel = panels + cluster / byte_panel * byte_panel * padded_bytes(dimensions);
  return quantize_centroid(row, dimensions, steps, norm, [&](std::int64_t first, std::int32_t* integers) HWY_ATTR {
    for (std::int64_t dim = 0; dim < 16; ++dim) integers[dim] = first + dim < dimensions ? integers[dim] + 128 : 0;
    for (std::int64_t quad = 0; quad < 4; ++quad) {
      std::uint32_t four = 0;
      for (int dim = 0; dim < 4; ++dim) four |= static_cast<std::uint32_t>(integers[4 * quad + dim]) << (8 * dim);
      __builtin_memcpy(panel + 4 * ((first / 4 + quad) * byte_panel + cluster % byte_panel), &four, sizeof four);
    }
  });
#else
  (void)row, (void)cluster, (void)dimensions, (void)steps, (void)panels;
  *norm = 0;
  return 0;
#endif
}

// Quantizes one centroid to 16 bits and stores it in the panels. Returns the norm of the quantization error. Sets
// `norm` to the norm of the quantized centroid, in steps.
double pack_centroid(const double* row, std::int64_t cluster, std::int64_t dimensions, double steps,
                     std::int16_t* panels, double* norm) {
  const std::int64_t stride = padded_dimensions(dimensions);
  return quantize_centroid(row, dimensions, steps, norm, [&](std::int64_t first, const std::int32_t* integers) {
    std::int16_t* const out = panels + panel_index(cluster, first, stride);
    for (std::int64_t pair = 0; pair < 8; ++pair) {
      const std::int16_t both[] = {static_cast<std::int16_t>(integers[2 * pair]),
                                   static_cast<std::int16_t>(integers[2 * pair + 1])};
      __builtin_memcpy(out + pair * 2 * panel_clusters, both, sizeof both);
    }
  });
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::kmeans_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <type_traits>

#include "core/failure.hpp"

namespace gradus::kmeans_detail {

HWY_EXPORT(search_f32);
HWY_EXPORT(search_f64);
HWY_EXPORT(search_tiles_f32);
HWY_EXPORT(search_tiles_f64);
HWY_EXPORT(can_use_tiles);
HWY_EXPORT(nearest_of_f32);
HWY_EXPORT(nearest_of_f64);
HWY_EXPORT(move_centroid_f32);
HWY_EXPORT(move_centroid_f64);
HWY_EXPORT(pack_centroid);
HWY_EXPORT(pack_bytes);
HWY_EXPORT(has_dot_instructions);

bool machine_has_dot_instructions() { return dot_instructions_allowed && HWY_DYNAMIC_DISPATCH(has_dot_instructions)(); }

ByteCandidates::ByteCandidates(std::int64_t of_clusters) {
  if (of_clusters <= too_few_for_bytes) return;
  scores = Buffer<std::int32_t>(sub_block * capacity(of_clusters));
  clusters = Buffer<std::int32_t>(scores.size());
  least = Buffer<std::int32_t>(sub_block * least_stride(of_clusters));
  hits = Buffer<std::int32_t>(block(of_clusters));
}

std::uint64_t ByteCandidates::bytes(std::int64_t of_clusters) {
  if (of_clusters <= too_few_for_bytes) return 0;
  return 4 * static_cast<std::uint64_t>(sub_block * (2 * capacity(of_clusters) + least_stride(of_clusters)) +
                                        block(of_clusters));
}

TileScratch::TileScratch(std::int64_t of_clusters, std::int64_t dimensions) {
  if (!uses_tiles(dimensions, of_clusters)) return;
  rows = Buffer<std::int8_t>(points * padded_bytes(dimensions), 0);
  offsets = Buffer<std::int32_t>(tile_groups * padded_clusters(of_clusters));
  scores = Buffer<std::int32_t>(points * capacity(of_clusters));
  clusters = Buffer<std::int32_t>(points * capacity(of_clusters));
}

FilterScratch::FilterScratch(std::int64_t clusters, std::int64_t dimensions)
    : tile(sub_block * padded_dimensions(dimensions)), points(sub_block * padded_dimensions(dimensions)),
      scores(sub_block * padded_clusters(clusters)), offsets(padded_clusters(clusters)),
      candidates(static_cast<std::size_t>(padded_clusters(clusters) + 1)), distances(candidates.size()),
      byte_candidates(clusters), tiles(clusters, dimensions) {}

std::uint64_t FilterScratch::bytes(const Shape& shape) {
  const auto d = static_cast<std::uint64_t>(padded_dimensions(shape.dimensions));
  const auto k = static_cast<std::uint64_t>(padded_clusters(shape.clusters));
  const std::uint64_t of_tiles = uses_tiles(shape.dimensions, shape.clusters)
                                     ? static_cast<std::uint64_t>(TileScratch::points) *
                                               (static_cast<std::uint64_t>(padded_bytes(shape.dimensions)) +
                                                8 * static_cast<std::uint64_t>(TileScratch::capacity(shape.clusters))) +
                                           static_cast<std::uint64_t>(4 * tile_groups) * k
                                     : 0;
  return static_cast<std::uint64_t>(sub_block) * (6 * d + 4 * k) + 16 * k + ByteCandidates::bytes(shape.clusters) +
         of_tiles;
}

template <class T>
IntegerFilter<T>::IntegerFilter(const Problem<T>& problem, int threads)
    : problem_(problem), threads_(threads), middle_(static_cast<std::size_t>(problem.d())),
      half_squares_(static_cast<std::size_t>(problem.k())),
      panels_(padded_clusters(problem.k()) * padded_dimensions(problem.d()), 0) {
  double extent = 0;
  double magnitude = 0;
  for (std::size_t dim = 0; dim < middle_.size(); ++dim) {
    extent = std::max(extent, problem.statistics.highest[dim] - problem.statistics.lowest[dim]);
    magnitude =
        std::max({magnitude, std::abs(problem.statistics.lowest[dim]), std::abs(problem.statistics.highest[dim])});
  }
  // The limits of the exponent ensure that scaled differences neither overflow nor become subnormal. They also ensure
  // that scaled values do not overflow. The values may be large although the extent is small, because a column may have
  // a large constant value.
  const int least = std::max(sizeof(T) == 4 ? -120 : -400,
                             core::exponent_above(magnitude, -1100) - (std::numeric_limits<T>::max_exponent - 8));
  const int exponent = std::clamp(core::exponent_above(extent), least, sizeof(T) == 4 ? 120 : 500);
  scale_ = std::ldexp(1.0, -exponent);
  dot_instructions_ = machine_has_dot_instructions();
  // With very many columns, 8-bit sums may exceed 30 bits.
  has_bytes_ = dot_instructions_ && problem.k() > too_few_for_bytes && problem.d() <= 16384;
  has_tiles_ = has_bytes_ && uses_tiles(problem.d(), problem.k()) && HWY_DYNAMIC_DISPATCH(can_use_tiles)();
  if (has_bytes_) byte_panels_ = Buffer<std::uint8_t>(padded_clusters(problem.k()) * padded_bytes(problem.d()), 0);
}

namespace {

/// Computes the mean of each column of the centroids, rounds the mean, and stores the mean times `scale`.
template <class T>
void find_middle(const Problem<T>& problem, MatrixView<const T> centroids, double scale, bool large, int threads,
                 T* middle) {
  const std::int64_t d = problem.d();
  const std::int64_t k = problem.k();
  // From each centroid, read one cache line of columns at a time.
  constexpr std::int64_t at_once = 64 / static_cast<std::int64_t>(sizeof(T));
  const double share = 1.0 / static_cast<double>(k);
#pragma omp parallel for num_threads(threads) schedule(static) if (large)
  for (std::int64_t first = 0; first < d; first += at_once) {
    if (problem.stop.stop_requested()) continue;
    const std::int64_t columns = std::min(at_once, d - first);
    double sums[at_once] = {};
    T lowest[at_once];
    T highest[at_once];
    std::copy_n(centroids.row(0) + first, columns, lowest);
    std::copy_n(centroids.row(0) + first, columns, highest);
    const auto look = [&](auto count) {
      for (std::int64_t cluster = 0; cluster < k; ++cluster) {
        const T* const values = centroids.row(cluster) + first;
        for (std::int64_t column = 0; column < count; ++column) {
          const T value = values[column];
          sums[column] += static_cast<double>(value) * share;
          lowest[column] = value < lowest[column] ? value : lowest[column];
          highest[column] = value > highest[column] ? value : highest[column];
        }
      }
    };
    // The compiler unrolls the loop if the number of columns is a constant.
    if (columns == at_once) look(std::integral_constant<std::int64_t, at_once>());
    else look(columns);
    // Clamp the rounded mean to the range of the centroids. If the centroids hardly differ, the rounded mean may be
    // outside of this range, and far from the centroids compared with the distances between them. After clamping, no
    // difference between a centroid and the mean exceeds the extent of the column.
    for (std::int64_t column = 0; column < columns; ++column) {
      const T mean = std::clamp(static_cast<T>(sums[column]), lowest[column], highest[column]);
      middle[first + column] = static_cast<T>(static_cast<double>(mean) * scale);
    }
  }
}

}  // namespace

template <class T>
void IntegerFilter<T>::prepare(MatrixView<const T> centroids) {
  centroids_ = centroids;
  const std::int64_t d = problem_.d();
  const std::int64_t k = problem_.k();
  const bool large = k * d > 16384;
  find_middle(problem_, centroids, scale_, large, threads_, middle_.data());
  core::FirstFailure failure;
  const auto make_row = [&] {
    std::vector<double> row;
    failure.run([&] { row.resize(static_cast<std::size_t>(padded_dimensions(d))); });
    return row;
  };
  const auto move = [&](std::int64_t cluster, std::vector<double>& row, double& largest) {
    if constexpr (sizeof(T) == 4)
      return HWY_DYNAMIC_DISPATCH(move_centroid_f32)(centroids.row(cluster), middle_.data(), d, scale_, row.data(),
                                                     &largest);
    else
      return HWY_DYNAMIC_DISPATCH(move_centroid_f64)(centroids.row(cluster), middle_.data(), d, scale_, row.data(),
                                                     &largest);
  };
  double largest_half_square = 0;
  double largest = 0;
#pragma omp parallel num_threads(threads_) if (large) reduction(max : largest_half_square, largest)
  {
    std::vector<double> row = make_row();
#pragma omp for schedule(static)
    for (std::int64_t cluster = 0; cluster < k; ++cluster) {
      if (problem_.stop.stop_requested() || failure.happened()) continue;
      const double half_square = 0.5 * move(cluster, row, largest);
      half_squares_[static_cast<std::size_t>(cluster)] = half_square;
      largest_half_square = std::max(largest_half_square, half_square);
    }
  }
  largest_half_square_ = largest_half_square;
  steps_ = std::min(0x1p60, largest_half_square > 0 ? norm_limit / std::sqrt(2 * largest_half_square) : 1.0);
  byte_steps_ = std::min(0x1p60, largest > 0 ? 127.0 / largest : 1.0);
  double largest_norm = 0;
  double largest_error = 0;
  double byte_norm = 0;
  double byte_error = 0;
#pragma omp parallel num_threads(threads_) if (large) reduction(max \
                                                                : largest_norm, largest_error, byte_norm, byte_error)
  {
    std::vector<double> row = make_row();
#pragma omp for schedule(static)
    for (std::int64_t cluster = 0; cluster < k; ++cluster) {
      if (problem_.stop.stop_requested() || failure.happened()) continue;
      double known = 0;
      move(cluster, row, known);
      double norm = 0;
      const double error = HWY_DYNAMIC_DISPATCH(pack_centroid)(row.data(), cluster, d, steps_, panels_.data(), &norm);
      largest_norm = std::max(largest_norm, norm);
      largest_error = std::max(largest_error, error);
      if (!has_bytes_) continue;
      byte_error = std::max(byte_error, HWY_DYNAMIC_DISPATCH(pack_bytes)(row.data(), cluster, d, byte_steps_,
                                                                         byte_panels_.data(), &norm));
      byte_norm = std::max(byte_norm, norm);
    }
  }
  failure.rethrow();
  core::honour_stop(problem_.stop, while_preparing);
  largest_norm_ = largest_norm * (1 + 0x1p-20) + 1e-6;
  largest_error_ = largest_error * (1 + 0x1p-20) + 1e-6;
  byte_largest_norm_ = byte_norm * (1 + 0x1p-20) + 1e-6;
  byte_largest_error_ = byte_error * (1 + 0x1p-20) + 1e-6;
}

template <class T>
FilterView<T> IntegerFilter<T>::view() const {
  return {problem_.d(),
          problem_.k(),
          centroids_.data(),
          middle_.data(),
          half_squares_.data(),
          panels_.data(),
          scale_,
          steps_,
          largest_norm_,
          largest_error_,
          largest_half_square_,
          dot_instructions_,
          has_bytes_ ? byte_panels_.data() : nullptr,
          byte_steps_,
          byte_largest_norm_,
          byte_largest_error_,
          has_tiles_};
}

template <class T>
std::int64_t IntegerFilter<T>::search(const T* const* rows, std::int64_t count, std::int32_t* labels,
                                      const DistanceBounds& bounds, FilterScratch& scratch) const {
  if constexpr (sizeof(T) == 4) return HWY_DYNAMIC_DISPATCH(search_f32)(view(), rows, count, labels, bounds, scratch);
  else return HWY_DYNAMIC_DISPATCH(search_f64)(view(), rows, count, labels, bounds, scratch);
}

template <class T>
std::int64_t IntegerFilter<T>::search_block(const T* rows, std::int64_t stride, std::int64_t count,
                                            const std::int32_t* before, std::int32_t* labels,
                                            const DistanceBounds& bounds, FilterScratch& scratch) const {
  std::int64_t rechecked = 0;
  std::int64_t size;
  for (std::int64_t first = 0; first < count; first += size) {
    const T* pointers[2 * TileScratch::points];
    if (has_tiles_ && !bounds.lower && scratch.word_searches == 0) {
      size = std::min(TileScratch::points, count - first);
      const std::int64_t rest = problem_.n() - (rows - problem_.points.row(0)) / stride - first - size;
      const std::int64_t ahead = std::min(TileScratch::points, rest);
      for (std::int64_t index = 0; index < size + ahead; ++index) pointers[index] = rows + (first + index) * stride;
      if constexpr (sizeof(T) == 4)
        rechecked += HWY_DYNAMIC_DISPATCH(search_tiles_f32)(view(), pointers, size, ahead, before + first,
                                                            labels + first, scratch);
      else
        rechecked += HWY_DYNAMIC_DISPATCH(search_tiles_f64)(view(), pointers, size, ahead, before + first,
                                                            labels + first, scratch);
      continue;
    }
    size = std::min(sub_block, count - first);
    for (std::int64_t index = 0; index < size; ++index) pointers[index] = rows + (first + index) * stride;
    // Prefetch the next sub-block of points while the current one is searched.
    for (std::int64_t row = first + sub_block; row < std::min(first + 2 * sub_block, count); ++row)
      for (std::int64_t dim = 0; dim < problem_.d(); dim += 64 / static_cast<std::int64_t>(sizeof(T)))
        __builtin_prefetch(rows + row * stride + dim, 0, 2);
    DistanceBounds from = bounds;
    if (bounds.lower) {
      from.upper += first;
      from.lower += first * bounds.groups;
    }
    rechecked += search(pointers, size, labels + first, from, scratch);
  }
  return rechecked;
}

template <class T>
std::int32_t IntegerFilter<T>::nearest_of(const T* row, std::int64_t count, FilterScratch& scratch,
                                          bool& doubtful) const {
  if constexpr (sizeof(T) == 4) return HWY_DYNAMIC_DISPATCH(nearest_of_f32)(view(), row, count, scratch, doubtful);
  else return HWY_DYNAMIC_DISPATCH(nearest_of_f64)(view(), row, count, scratch, doubtful);
}

template <class T>
std::uint64_t IntegerFilter<T>::bytes(const Shape& shape) {
  const auto d = static_cast<std::uint64_t>(padded_dimensions(shape.dimensions));
  const auto k = static_cast<std::uint64_t>(padded_clusters(shape.clusters));
  return 2 * d * k + k * static_cast<std::uint64_t>(padded_bytes(shape.dimensions)) + 8 * (d + k);
}

template class IntegerFilter<float>;
template class IntegerFilter<double>;

}  // namespace gradus::kmeans_detail
#endif
