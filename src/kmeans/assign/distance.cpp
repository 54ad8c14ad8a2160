// A group of points is transposed, as doubles, into a tile in which equal coordinates of neighbouring points are
// adjacent. Each vector lane computes the canonical chain of one point, so the results are bit-identical to the results
// of the plain loop. Each tile serves up to 16 centroids. On a CPU without fused multiply-add instructions, the plain
// loop runs instead. Its std::fma rounds once on every machine.
//
// Per point, centroid and coordinate, a lane does one subtraction and one fused multiply-add. The transposition takes
// about half a cycle per point and coordinate, so the distances to one or two centroids take almost as long as the
// distances to four.
#include "kmeans/assign/distance.hpp"

#include <algorithm>
#include <vector>

#include "core/stop.hpp"
#include "cpu/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kmeans/assign/distance.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gradus::kmeans_detail::HWY_NAMESPACE {

#if HWY_NATIVE_FMA && HWY_HAVE_FLOAT64 && !HWY_HAVE_SCALABLE && HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;

using Lanes = hn::ScalableTag<double>;
constexpr std::int64_t lanes = hn::MaxLanes(Lanes());
constexpr std::int64_t group = 4 * lanes;  // number of points in a tile
constexpr std::int64_t tile_dims = 64;     // a tile of 8 KiB (AVX2) or 16 KiB (AVX-512), at most half of the L1 cache
// Number of coordinates of each centroid that are converted to double at a time.
constexpr std::int64_t panel_dims = 1024;
constexpr std::int64_t panel_values = 8192;  // the converted coordinates occupy 64 KiB, which fit in the L2 cache
constexpr std::int64_t most_centroids = 16;

// Loads 4 (or 2) coordinates as doubles.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_doubles(D d, const T* from) {
  if constexpr (sizeof(T) == 4) return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), from));
  else return hn::LoadU(d, from);
}

// Fills tile[dim][point] with the points' coordinates. If `centroids` is not null, subtracts the coordinates of
// centroids[point]. `points` must have a multiple of `lanes` elements.
template <class T>
HWY_INLINE void fill_tile(const T* const* points, const T* const* centroids, std::int64_t count, std::int64_t first_dim,
                          std::int64_t dims, double* HWY_RESTRICT tile) {
  std::int64_t done = 0;
#if HWY_MAX_BYTES >= 32
  const hn::FixedTag<double, 4> d;
  done = dims / 4 * 4;
  for (std::int64_t point = 0; point < count; point += 4)
    for (std::int64_t dim = 0; dim < done; dim += 4) {
      const std::int64_t at = first_dim + dim;
      auto a = load_doubles(d, points[point] + at);
      auto b = load_doubles(d, points[point + 1] + at);
      auto c = load_doubles(d, points[point + 2] + at);
      auto e = load_doubles(d, points[point + 3] + at);
      if (centroids != nullptr) {
        a = hn::Sub(a, load_doubles(d, centroids[point] + at));
        b = hn::Sub(b, load_doubles(d, centroids[point + 1] + at));
        c = hn::Sub(c, load_doubles(d, centroids[point + 2] + at));
        e = hn::Sub(e, load_doubles(d, centroids[point + 3] + at));
      }
      const auto lower_ab = hn::InterleaveLower(d, a, b);
      const auto upper_ab = hn::InterleaveUpper(d, a, b);
      const auto lower_ce = hn::InterleaveLower(d, c, e);
      const auto upper_ce = hn::InterleaveUpper(d, c, e);
      double* to = tile + dim * group + point;
      hn::StoreU(hn::ConcatLowerLower(d, lower_ce, lower_ab), d, to);
      hn::StoreU(hn::ConcatLowerLower(d, upper_ce, upper_ab), d, to + group);
      hn::StoreU(hn::ConcatUpperUpper(d, lower_ce, lower_ab), d, to + 2 * group);
      hn::StoreU(hn::ConcatUpperUpper(d, upper_ce, upper_ab), d, to + 3 * group);
    }
#endif
  if (done == dims) return;
  for (std::int64_t point = 0; point < count; ++point) {
    const T* row = points[point] + first_dim;
    for (std::int64_t dim = done; dim < dims; ++dim) tile[dim * group + point] = static_cast<double>(row[dim]);
    if (centroids == nullptr) continue;
    row = centroids[point] + first_dim;
    for (std::int64_t dim = done; dim < dims; ++dim) tile[dim * group + point] -= static_cast<double>(row[dim]);
  }
}

// The sums of a group's chains. The sum for a centroid c and a point is at[c * stride + point]. If `fresh` is true, all
// chains start at zero, and the stored sums are ignored.
struct Sums {
  double* at;
  std::int64_t stride;
  bool fresh;
};

// Adds the terms of the tile's coordinates to the chain of each pair of a centroid and a point. There are `count`
// centroids and `vectors` vectors of points.
template <int count, int vectors>
HWY_INLINE void chain(const double* HWY_RESTRICT tile, std::int64_t dims, const double* HWY_RESTRICT centroids,
                      std::int64_t centroid_stride, const Sums& sums, std::int64_t first_centroid,
                      std::int64_t first_point) {
  const Lanes d;
  double* HWY_RESTRICT at = sums.at + first_centroid * sums.stride + first_point;
  hn::Vec<Lanes> sum[count][vectors];
  for (int c = 0; c < count; ++c)
    for (int v = 0; v < vectors; ++v)
      sum[c][v] = sums.fresh ? hn::Zero(d) : hn::LoadU(d, at + c * sums.stride + v * lanes);
  for (std::int64_t dim = 0; dim < dims; ++dim) {
    hn::Vec<Lanes> point[vectors];
    for (int v = 0; v < vectors; ++v) point[v] = hn::Load(d, tile + dim * group + v * lanes);
    for (int c = 0; c < count; ++c) {
      const auto centroid = hn::Set(d, centroids[c * centroid_stride + dim]);
      for (int v = 0; v < vectors; ++v) {
        const auto difference = hn::Sub(point[v], centroid);
        sum[c][v] = hn::MulAdd(difference, difference, sum[c][v]);
      }
    }
  }
  for (int c = 0; c < count; ++c)
    for (int v = 0; v < vectors; ++v) hn::StoreU(sum[c][v], d, at + c * sums.stride + v * lanes);
}

// Adds the terms of the tile's coordinates to the chains of the first `count` points of a group, for all centroids.
// Runs eight chains at a time: four centroids with two vectors of points, or two centroids with four vectors. Eight
// chains hide the latency of the fused multiply-add and leave registers for the points.
HWY_INLINE void chains(std::int64_t count, const double* tile, std::int64_t dims, const double* centroids,
                       std::int64_t centroid_stride, std::int64_t clusters, const Sums& sums) {
  std::int64_t c = 0;
  for (; c + 4 <= clusters; c += 4)
    for (std::int64_t point = 0; point < count; point += 2 * lanes)
      chain<4, 2>(tile + point, dims, centroids + c * centroid_stride, centroid_stride, sums, c, point);
  for (; c < clusters; c += 2) {
    const double* const from = centroids + c * centroid_stride;
    const bool two = c + 1 < clusters;
    if (count <= 2 * lanes && two) chain<2, 2>(tile, dims, from, centroid_stride, sums, c, 0);
    else if (count <= 2 * lanes) chain<1, 2>(tile, dims, from, centroid_stride, sums, c, 0);
    else if (two) chain<2, 4>(tile, dims, from, centroid_stride, sums, c, 0);
    else chain<1, 4>(tile, dims, from, centroid_stride, sums, c, 0);
  }
}

// Copies the addresses of a group. If the group is short, repeats its last address, so that no tile has undefined
// values.
template <class T>
HWY_INLINE void gather_group(const T* const* from, std::int64_t count, const T** to) {
  for (std::int64_t point = 0; point < group; ++point) to[point] = from[point < count ? point : count - 1];
}

// Prefetches the coordinates [first_dim, end_dim) of a group. Each point's coordinates are in a separate row, and the
// hardware does not predict the addresses of the rows.
template <class T>
HWY_INLINE void prefetch(const T* const* points, std::int64_t first, std::int64_t count, std::int64_t first_dim,
                         std::int64_t end_dim) {
  constexpr std::int64_t line = 64 / sizeof(T);
  for (std::int64_t point = first; point < count && point < first + group; ++point)
    for (std::int64_t dim = first_dim; dim < end_dim; dim += line) hwy::Prefetch(points[point] + dim);
}

template <class T>
void block(const T* const* points, std::int64_t count, const T* const* centroids, std::int64_t clusters,
           std::int64_t dimensions, double* out) {
  HWY_ALIGN double tile[tile_dims * group];
  double short_sums[most_centroids * group];
  double panel[panel_values];
  const T* group_points[group];
  const std::int64_t panel_stride = dimensions < panel_dims ? dimensions : panel_dims;
  const std::int64_t at_once =
      panel_stride * most_centroids <= panel_values ? most_centroids : panel_values / panel_stride;
  for (std::int64_t panel_first = 0; panel_first < dimensions; panel_first += panel_stride) {
    const std::int64_t panel_end = panel_first + panel_stride < dimensions ? panel_first + panel_stride : dimensions;
    for (std::int64_t cluster = 0; cluster < clusters; cluster += at_once) {
      const std::int64_t some = clusters - cluster < at_once ? clusters - cluster : at_once;
      for (std::int64_t c = 0; c < some; ++c)
        for (std::int64_t dim = panel_first; dim < panel_end; ++dim)
          panel[c * panel_stride + dim - panel_first] = static_cast<double>(centroids[cluster + c][dim]);
      for (std::int64_t first = 0; first < count; first += group) {
        const std::int64_t present = count - first < group ? count - first : group;
        gather_group(points + first, present, group_points);
        // The sums of a full group accumulate in the result. The sums of a short group accumulate in a buffer, because
        // storing whole vectors would write past the end of the result.
        double* const result = out + cluster * count + first;
        Sums sums{result, count, panel_first == 0};
        if (present < group) {
          sums.at = short_sums;
          sums.stride = group;
          if (!sums.fresh)
            for (std::int64_t c = 0; c < some; ++c)
              for (std::int64_t point = 0; point < group; ++point)
                short_sums[c * group + point] = point < present ? result[c * count + point] : 0.0;
        }
        for (std::int64_t dim = panel_first; dim < panel_end; dim += tile_dims) {
          const std::int64_t dims = panel_end - dim < tile_dims ? panel_end - dim : tile_dims;
          fill_tile<T>(group_points, nullptr, present <= 2 * lanes ? 2 * lanes : group, dim, dims, tile);
          // Prefetch the next tile of these rows. After the last tile, prefetch the first tile of the next group.
          if (dim + dims < panel_end)
            prefetch(points, first, count, dim + dims, panel_end < dim + 2 * dims ? panel_end : dim + 2 * dims);
          else prefetch(points, first + group, count, panel_first, panel_first + (dims < tile_dims ? dims : tile_dims));
          chains(present, tile, dims, panel + dim - panel_first, panel_stride, some, sums);
          sums.fresh = false;
        }
        if (present < group)
          for (std::int64_t c = 0; c < some; ++c)
            for (std::int64_t point = 0; point < present; ++point)
              result[c * count + point] = short_sums[c * group + point];
      }
    }
  }
}

template <class T>
void own_block(const T* const* points, const T* const* centroids, std::int64_t count, std::int64_t dimensions,
               double* out) {
  HWY_ALIGN double tile[tile_dims * group];
  double own_sums[group];
  const T* group_points[group];
  const T* group_centroids[group];
  double zeros[tile_dims] = {};  // the tile already contains differences t, and t - 0 = t
  for (std::int64_t first = 0; first < count; first += group) {
    const std::int64_t present = count - first < group ? count - first : group;
    gather_group(points + first, present, group_points);
    gather_group(centroids + first, present, group_centroids);
    Sums sums{own_sums, group, true};
    for (std::int64_t dim = 0; dim < dimensions; dim += tile_dims) {
      const std::int64_t dims = dimensions - dim < tile_dims ? dimensions - dim : tile_dims;
      fill_tile<T>(group_points, group_centroids, group, dim, dims, tile);
      chain<1, 4>(tile, dims, zeros, 0, sums, 0, 0);
      sums.fresh = false;
    }
    for (std::int64_t point = 0; point < present; ++point) out[first + point] = own_sums[point];
  }
}

#else

template <class T>
double plain_chain(const T* point, const T* centroid, std::int64_t dimensions) {
  double sum = 0;
  for (std::int64_t dim = 0; dim < dimensions; ++dim) {
    const double difference = static_cast<double>(point[dim]) - static_cast<double>(centroid[dim]);
    sum = __builtin_fma(difference, difference, sum);
  }
  return sum;
}

template <class T>
void block(const T* const* points, std::int64_t count, const T* const* centroids, std::int64_t clusters,
           std::int64_t dimensions, double* out) {
  for (std::int64_t cluster = 0; cluster < clusters; ++cluster)
    for (std::int64_t point = 0; point < count; ++point)
      out[cluster * count + point] = plain_chain(points[point], centroids[cluster], dimensions);
}

template <class T>
void own_block(const T* const* points, const T* const* centroids, std::int64_t count, std::int64_t dimensions,
               double* out) {
  for (std::int64_t point = 0; point < count; ++point)
    out[point] = plain_chain(points[point], centroids[point], dimensions);
}

#endif

void block_f32(const float* const* points, std::int64_t count, const float* const* centroids, std::int64_t clusters,
               std::int64_t dimensions, double* out) {
  block(points, count, centroids, clusters, dimensions, out);
}
void block_f64(const double* const* points, std::int64_t count, const double* const* centroids, std::int64_t clusters,
               std::int64_t dimensions, double* out) {
  block(points, count, centroids, clusters, dimensions, out);
}
void own_block_f32(const float* const* points, const float* const* centroids, std::int64_t count,
                   std::int64_t dimensions, double* out) {
  own_block(points, centroids, count, dimensions, out);
}
void own_block_f64(const double* const* points, const double* const* centroids, std::int64_t count,
                   std::int64_t dimensions, double* out) {
  own_block(points, centroids, count, dimensions, out);
}

}  // namespace gradus::kmeans_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::kmeans_detail {

HWY_EXPORT(block_f32);
HWY_EXPORT(block_f64);
HWY_EXPORT(own_block_f32);
HWY_EXPORT(own_block_f64);

namespace {

constexpr std::int64_t addresses = 256;  // a local array holds this number of addresses, of points or of centroids

template <class T>
std::int64_t take_addresses(MatrixView<const T> rows, std::int64_t first, const T** to) {
  const std::int64_t count = std::min(addresses, rows.rows() - first);
  for (std::int64_t row = 0; row < count; ++row) to[row] = rows.row(first + row);
  return count;
}

}  // namespace

template <class T>
void squared_distances(const T* const* points, std::int64_t count, const T* const* centroids, std::int64_t clusters,
                       std::int64_t dimensions, double* out) {
  if constexpr (sizeof(T) == 4) HWY_DYNAMIC_DISPATCH(block_f32)(points, count, centroids, clusters, dimensions, out);
  else HWY_DYNAMIC_DISPATCH(block_f64)(points, count, centroids, clusters, dimensions, out);
}

template <class T>
void squared_distances(MatrixView<const T> points, MatrixView<const T> centroids, double* out) {
  // Callers in parallel loops pass few points at a time. For few points, this function allocates no memory, because no
  // exception may leave a parallel loop.
  const T* few[addresses];
  std::vector<const T*> many(points.rows() > addresses ? static_cast<std::size_t>(points.rows()) : 0);
  const T** const rows = many.empty() ? few : many.data();
  for (std::int64_t point = 0; point < points.rows(); ++point) rows[point] = points.row(point);
  const T* some[addresses];
  for (std::int64_t cluster = 0; cluster < centroids.rows(); cluster += addresses) {
    const std::int64_t count = take_addresses(centroids, cluster, some);
    squared_distances<T>(rows, points.rows(), some, count, points.columns(), out + cluster * points.rows());
  }
}

template <class T>
void squared_distances_of_pairs(const T* const* points, const T* const* centroids, std::int64_t count,
                                std::int64_t dimensions, double* out) {
  if constexpr (sizeof(T) == 4) HWY_DYNAMIC_DISPATCH(own_block_f32)(points, centroids, count, dimensions, out);
  else HWY_DYNAMIC_DISPATCH(own_block_f64)(points, centroids, count, dimensions, out);
}

template <class T>
void own_squared_distances(MatrixView<const T> points, MatrixView<const T> centroids, const std::int32_t* labels,
                           double* out, int threads, const std::stop_token& stop) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t first = 0; first < points.rows(); first += addresses) {
    if (stop.stop_requested()) continue;
    const T* rows[addresses];
    const T* own[addresses];
    const std::int64_t count = take_addresses(points, first, rows);
    for (std::int64_t point = 0; point < count; ++point) own[point] = centroids.row(labels[first + point]);
    squared_distances_of_pairs(rows, own, count, points.columns(), out + first);
  }
  core::honour_stop(stop, "stopped while measuring distances");
}

#define GRADUS_INSTANTIATE(T)                                                                                      \
  template void squared_distances(MatrixView<const T>, MatrixView<const T>, double*);                              \
  template void squared_distances(const T* const*, std::int64_t, const T* const*, std::int64_t, std::int64_t,      \
                                  double*);                                                                        \
  template void squared_distances_of_pairs(const T* const*, const T* const*, std::int64_t, std::int64_t, double*); \
  template void own_squared_distances(MatrixView<const T>, MatrixView<const T>, const std::int32_t*, double*, int, \
                                      const std::stop_token&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
#endif  // HWY_ONCE
