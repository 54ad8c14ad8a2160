// simd_grid: a table over a grid of cells gives most labels by look-up. The production variant up to 3 columns.
//
// The idea. In few dimensions, the regions of the clusters are few, large and convex, so most of the space is deep
// inside one region. A regular grid over the bounding box of the points is classified once for each set of centroids
// (cell_table.cpp). If only one cluster can be nearest in a cell, the cell gives its label to every point in it. A cell
// across a border lists its few candidates. One index computation and one look-up replace k distances per point, for
// any k.
//
// * Certainty. The index of a point is computed in the data's own arithmetic: v = x - origin, u = v * scale, and u is
//   rounded to the nearest integer. Two roundings change u by at most 2^(1-p) of its value (p = 24 or 53 bits). This
//   change is less than cells * 2^(2-p). Each cell is enlarged by this slack before it is classified, so a point is
//   always inside the cell of its index. The classification allows for the rounding of the canonical distance. It never
//   decides between two clusters at equal distance.
// * Doubt. Points in cells with candidates are queued. The canonical chain in double compares only these candidates,
//   and the lowest cluster wins ties. simd_small_dim treats its doubtful points in the same way. It finds them by a
//   float filter; here the grid finds them.
// * Grid size. Cells are as close to cubes as possible. Their number grows with the number of points, up to the number
//   that fits in the L2 cache. A sample of the points detects outliers, which fall into the outermost cells. These
//   cells extend outwards without limit. In three dimensions, points often occupy only a part of space, like the
//   colours of a photograph. So a grid of up to 2^21 cells is tried first. It is used if there is at most one occupied
//   cell per 16 points, because only occupied cells are classified and their entries fit in the caches. If a sample
//   shows that most points are in cells of many candidates, as with clusters much smaller than a cell, the pass uses
//   the filter of simd_small_dim instead.
//
// Work per iteration: per point one index (five vector instructions per vector of coordinates), one look-up and one
// comparison with the old label; and one read of the points, which is the bottleneck in two dimensions. For the table,
// a border cell costs as much as some dozens of points. Memory: 23 bytes per cell, and the memory of the filter.
// Limits: d <= 3.
// Source of the idea: the pruning of candidates in T. Kanungo et al., "An efficient k-means clustering algorithm"
// (2002), with a table over space instead of a tree of points.
#include "kmeans/rungs/simd_grid.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kmeans/rungs/simd_grid.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#ifndef GRADUS_KMEANS_SIMD_GRID
#define GRADUS_KMEANS_SIMD_GRID
namespace gradus::kmeans_detail {

// After this constant is added to a number below 2^21 in magnitude, the low bits of the sum contain the number, rounded
// to an integer.
template <class T>
inline constexpr T index_magic = sizeof(T) == 4 ? T{0x1.8p23} : T{0x1.8p52};

template <class T>
struct GridBlock {
  const T* rows;
  std::int64_t stride;
  std::int64_t count;
  CellIndex<T> index;
  const std::int32_t* entries;
  const std::int32_t* lists;
  const double* centroids;
  const std::int32_t* before;
  std::int32_t* cells;
  std::int32_t* pairs;
  std::int32_t* longer;
};

/// Two numbers of queued points: those whose cell has two candidates, and those whose cell has more.
struct Doubtful {
  std::int64_t pairs = 0;
  std::int64_t longer = 0;
};

// Returns the cell of one point. Uses the same operations as the vector code.
template <class T, int D>
inline std::int32_t cell_of(const CellIndex<T>& index, const T* point) {
  std::int32_t cell = 0;
  for (int dim = 0; dim < D; ++dim) {
    T at = (point[dim] - index.origin[dim]) * index.scale[dim];
    at = at > T{0} ? at : T{0};
    at = at < index.last[dim] ? at : index.last[dim];
    cell += static_cast<std::int32_t>((at + index_magic<T>)-index_magic<T>) << index.shift[dim];
  }
  return cell;
}

}  // namespace gradus::kmeans_detail
#endif

HWY_BEFORE_NAMESPACE();
namespace gradus::kmeans_detail {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Runs the canonical search for the queued points. At the start, the label of a queued point is the entry of its cell.
template <class T, int D>
void search_candidates(const GridBlock<T>& block, const Doubtful& doubtful, std::int32_t* labels) {
  const T* const rows = block.rows;
  const std::int64_t stride = block.stride;
  const std::int32_t* const lists = block.lists;
  const double* const centroids = block.centroids;
  const auto distance = [&](const double(&point)[D], std::int32_t cluster) HWY_ATTR {
    const double* centroid = centroids + std::int64_t{cluster} * D;
    double sum = 0;
    for (int dim = 0; dim < D; ++dim) {
      const double difference = point[dim] - centroid[dim];
      sum = __builtin_fma(difference, difference, sum);
    }
    return sum;
  };
  // Selects by a mask. A branch would be mispredicted half of the time.
  const auto select = [](bool second, std::int32_t a, std::int32_t b)
                          HWY_ATTR { return a ^ ((a ^ b) & -static_cast<std::int32_t>(second)); };
  double point[D];
  for (std::int64_t step = 0; step < doubtful.pairs; ++step) {
    const std::int64_t index = block.pairs[step];
    for (int dim = 0; dim < D; ++dim) point[dim] = static_cast<double>(rows[index * stride + dim]);
    const std::int32_t* list = lists + (labels[index] & CellTable::place);
    const double first = distance(point, list[1]);
    const double second = distance(point, list[2]);
    labels[index] = select(second < first, list[1], list[2]);
  }
  for (std::int64_t step = 0; step < doubtful.longer; ++step) {
    const std::int64_t index = block.longer[step];
    for (int dim = 0; dim < D; ++dim) point[dim] = static_cast<double>(rows[index * stride + dim]);
    const std::int32_t* list = lists + (labels[index] & CellTable::place);
    double least = distance(point, list[1]);
    std::int32_t nearest = list[1];
    const std::int32_t count = list[0];
    for (std::int32_t candidate = 2; candidate <= count; ++candidate) {
      const double other = distance(point, list[candidate]);
      nearest = select(other < least, nearest, list[candidate]);
      least = other < least ? other : least;
    }
    labels[index] = nearest;
  }
}

#if HWY_TARGET != HWY_SCALAR
// Loads a vector of points. Returns one vector per column.
template <class T, int D, class Lanes, class V>
HWY_INLINE void load_rows(Lanes lanes, const T* rows, V (&columns)[D]) {
  if constexpr (D == 1) columns[0] = hn::LoadU(lanes, rows);
  if constexpr (D == 2) hn::LoadInterleaved2(lanes, rows, columns[0], columns[1]);
  if constexpr (D == 3) hn::LoadInterleaved3(lanes, rows, columns[0], columns[1], columns[2]);
}

// Returns the cells of a vector of points as 32-bit integers.
template <class T, int D, class Lanes>
HWY_INLINE auto cells_of(Lanes lanes, const CellIndex<T>& index, const T* rows) {
  const hn::RebindToUnsigned<Lanes> bits;
  const hn::Rebind<std::int32_t, Lanes> integers;
  hn::Vec<Lanes> columns[D];
  load_rows<T, D>(lanes, rows, columns);
  auto sum = hn::Zero(bits);
  for (int dim = 0; dim < D; ++dim) {
    auto at = (columns[dim] - hn::Set(lanes, index.origin[dim])) * hn::Set(lanes, index.scale[dim]);
    at = hn::Min(hn::Max(at, hn::Zero(lanes)), hn::Set(lanes, index.last[dim]));
    // In double, the low 32 bits of the constant are zero. In float, the constant's bits must be subtracted.
    auto number = hn::BitCast(bits, at + hn::Set(lanes, index_magic<T>));
    if constexpr (sizeof(T) == 4) number = number - hn::BitCast(bits, hn::Set(lanes, index_magic<T>));
    sum = sum + (dim == 0 ? number : hn::ShiftLeftSame(number, index.shift[dim]));
  }
  if constexpr (sizeof(T) == 4) {
    return hn::BitCast(integers, sum);
  } else {
    const hn::Rebind<std::uint32_t, Lanes> narrow;
    return hn::BitCast(integers, hn::TruncateTo(narrow, sum));
  }
}
#endif

template <class T, int D>
void find_cells(const GridBlock<T>& block) {
  std::int64_t index = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<T> lanes;
  const hn::Rebind<std::int32_t, decltype(lanes)> integers;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  if (block.stride == D)
    for (; index + width <= block.count; index += width) {
      // Prefetches the next block. At the end of the points, this is harmless.
      constexpr std::int64_t row_bytes = D * sizeof(T);
      const char* ahead = reinterpret_cast<const char*>(block.rows) + (index + block_points) * row_bytes;
      for (std::int64_t byte = 0; byte < width * row_bytes; byte += 64) hwy::Prefetch(ahead + byte);
      if (block.before != nullptr) hwy::Prefetch(block.before + index + block_points);
      hn::StoreU(cells_of<T, D>(lanes, block.index, block.rows + index * D), integers, block.cells + index);
    }
#endif
  for (; index < block.count; ++index)
    block.cells[index] = cell_of<T, D>(block.index, block.rows + index * block.stride);
}

// Queues the points whose cells have several candidates. Avoids unpredictable branches. At the start, the labels are
// entries of cells.
template <class T>
Doubtful find_doubtful(const GridBlock<T>& block, const std::int32_t* labels) {
  const hn::ScalableTag<std::int32_t> lanes;
  const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
  const auto pair_bit = hn::Set(lanes, CellTable::pair);
  const auto first_numbers = hn::Iota(lanes, 0);
  Doubtful doubtful;
  std::int64_t index = 0;
  for (; index + width <= block.count; index += width) {
    const auto entries = hn::LoadU(lanes, labels + index);
    const auto mixed = entries < hn::Zero(lanes);
    const auto pair = hn::And(mixed, hn::TestBit(entries, pair_bit));
    const auto longer = hn::AndNot(pair, mixed);
    const auto numbers = first_numbers + hn::Set(lanes, static_cast<std::int32_t>(index));
    hn::StoreU(hn::Compress(numbers, pair), lanes, block.pairs + doubtful.pairs);
    hn::StoreU(hn::Compress(numbers, longer), lanes, block.longer + doubtful.longer);
    doubtful.pairs += static_cast<std::int64_t>(hn::CountTrue(lanes, pair));
    doubtful.longer += static_cast<std::int64_t>(hn::CountTrue(lanes, longer));
  }
  for (; index < block.count; ++index) {
    block.pairs[doubtful.pairs] = block.longer[doubtful.longer] = static_cast<std::int32_t>(index);
    // The flag `pair` is set only in entries of cells with several candidates.
    const bool pair = (labels[index] & CellTable::pair) != 0;
    doubtful.pairs += pair;
    doubtful.longer += labels[index] < 0 && !pair;
  }
  return doubtful;
}

template <class T, int D>
std::int64_t assign_kernel(const GridBlock<T>& block, std::int32_t* labels) {
  find_cells<T, D>(block);
#pragma GCC unroll 8
  for (std::int64_t index = 0; index < block.count; ++index) labels[index] = block.entries[block.cells[index]];
  const Doubtful doubtful = find_doubtful(block, labels);
  search_candidates<T, D>(block, doubtful, labels);
  return doubtful.pairs + doubtful.longer;
}

template <class T>
std::int64_t assign_any(const GridBlock<T>& block, std::int64_t dimensions, std::int32_t* labels) {
  switch (dimensions) {
    case 1: return assign_kernel<T, 1>(block, labels);
    case 2: return assign_kernel<T, 2>(block, labels);
    default: return assign_kernel<T, 3>(block, labels);
  }
}

template <class T>
void find_cells_any(const GridBlock<T>& block, std::int64_t dimensions) {
  switch (dimensions) {
    case 1: return find_cells<T, 1>(block);
    case 2: return find_cells<T, 2>(block);
    default: return find_cells<T, 3>(block);
  }
}

void find_cells_f32(const GridBlock<float>& block, std::int64_t dimensions) { find_cells_any(block, dimensions); }

void find_cells_f64(const GridBlock<double>& block, std::int64_t dimensions) { find_cells_any(block, dimensions); }

std::int64_t assign_grid_f32(const GridBlock<float>& block, std::int64_t dimensions, std::int32_t* labels) {
  return assign_any(block, dimensions, labels);
}

std::int64_t assign_grid_f64(const GridBlock<double>& block, std::int64_t dimensions, std::int32_t* labels) {
  return assign_any(block, dimensions, labels);
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace gradus::kmeans_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <atomic>

#include "core/stop.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

HWY_EXPORT(find_cells_f32);
HWY_EXPORT(find_cells_f64);
HWY_EXPORT(assign_grid_f32);
HWY_EXPORT(assign_grid_f64);

namespace {

constexpr std::int64_t grid_sample_rows = 4096;

// The logarithm of the number of cells in the finest grid. This grid is used if points occupy only few of its cells, or
// if there are many clusters.
constexpr int finest_bits = 21;

// Returns the binary logarithm of the number of cells. It takes as long to classify a border cell as to process some
// dozens of points. So the grid has one cell per 64 points. If there are many clusters, it has more cells: 32 per
// cluster, but not more than one per 16 points and one per cluster. The number of cells is limited so that the table
// fits in the L2 cache, unless the clusters outnumber the cells. In one dimension, two cells per cluster are always
// worthwhile, because with many clusters the float filter is in doubt nearly everywhere.
int bits_for(std::int64_t points, std::int64_t dimensions, std::int64_t clusters) {
  int most = dimensions == 3 ? 18 : 17;
  while (most < finest_bits && (std::int64_t{1} << most) < clusters) ++most;
  std::int64_t cells = std::max({points / 64, std::min(points / 16, 32 * clusters), clusters});
  if (dimensions == 1) cells = std::max(cells, std::min(points, 2 * clusters));
  int bits = 4;
  while (bits < most && (std::int64_t{1} << bits) < cells) ++bits;
  return bits;
}

template <class T>
std::int32_t cell_of(const CellIndex<T>& index, const T* point, std::int64_t dimensions) {
  switch (dimensions) {
    case 1: return cell_of<T, 1>(index, point);
    case 2: return cell_of<T, 2>(index, point);
    default: return cell_of<T, 3>(index, point);
  }
}

// Returns some evenly spaced points. Uses `room` for points that are not in the type of the job.
template <class T>
std::vector<const T*> sampled(const Problem<T>& problem, Buffer<T>& room) {
  const std::int64_t count = std::min(problem.n(), grid_sample_rows);
  const PointRows<T> points = problem.rows();
  room = Buffer<T>(points.room(count));
  std::vector<const T*> rows;
  for (std::int64_t number = 0; number < count; ++number)
    rows.push_back(points.row(number * (problem.n() / count), room.data(), number));
  return rows;
}

// Returns the part of a column's range that the grid divides. This is the whole range, unless the whole range is much
// larger than the range of nearly all points.
template <class T>
std::pair<double, double> common_range(const std::vector<const T*>& rows, std::int64_t dim, double lowest,
                                       double highest) {
  std::vector<double> values;
  for (const T* row : rows) values.push_back(static_cast<double>(row[dim]));
  const auto rare = static_cast<std::ptrdiff_t>(values.size() / 256);
  std::nth_element(values.begin(), values.begin() + rare, values.end());
  const double low = values[static_cast<std::size_t>(rare)];
  std::nth_element(values.begin(), values.end() - 1 - rare, values.end());
  const double high = values[values.size() - 1 - static_cast<std::size_t>(rare)];
  const double margin = 0.05 * (high - low);
  if (!(high - low > 0) || 1.4 * (high - low) > highest - lowest) return {lowest, highest};
  return {std::max(lowest, low - margin), std::min(highest, high + margin)};
}

}  // namespace

template <class T>
typename SmallDimAssigner<T>::Scratch& GridAssigner<T>::Scratch::filter() {
  if (!filter_) filter_.emplace(assigner_.filter_);
  return *filter_;
}

template <class T>
GridAssigner<T>::GridAssigner(const Problem<T>& problem, int threads)
    : problem_(problem), threads_(threads), filter_(problem) {
  bool possible = problem.k() <= grid_cluster_limit;
  for (std::size_t column = 0; column < problem.statistics.lowest.size(); ++column)  // x - origin must not overflow
    possible = possible && problem.statistics.highest[column] - problem.statistics.lowest[column] <
                               static_cast<double>(std::numeric_limits<T>::max()) / 4;
  if (possible) lay_grid();
}

template <class T>
void GridAssigner<T>::lay_grid() {
  const std::int64_t d = problem_.d();
  Buffer<T> room;
  const std::vector<const T*> rows = sampled(problem_, room);
  std::vector<CellAxis> axes(static_cast<std::size_t>(d));
  std::vector<double> lengths;
  for (std::int64_t dim = 0; dim < d; ++dim) {
    const auto column = static_cast<std::size_t>(dim);
    CellAxis& axis = axes[column];
    axis.lowest = problem_.statistics.lowest[column];
    axis.highest = problem_.statistics.highest[column];
    const auto [low, high] = common_range(rows, dim, axis.lowest, axis.highest);
    index_.origin[dim] = static_cast<T>(low);
    axis.origin = static_cast<double>(index_.origin[dim]);
    lengths.push_back(high - low);
  }
  // In three dimensions, a finer grid is worthwhile if the points occupy only a part of space. The colours of a
  // photograph are an example.
  const int bits = bits_for(problem_.n(), d, problem_.k());
  std::vector<std::uint8_t> occupied;
  for (int finer = d == 3 ? finest_bits : bits; finer > bits; finer -= 2) {
    divide(axes, lengths, finer);
    occupied = occupied_cells(finer);
    core::honour_stop(problem_.stop, "stopped while laying a grid");
    if (std::count(occupied.begin(), occupied.end(), std::uint8_t{1}) <= problem_.n() / 16) break;
    occupied.clear();
  }
  if (occupied.empty()) divide(axes, lengths, bits);
  table_ = CellTable(std::move(axes), problem_.k(), occupied);
  for (const T* row : rows) sample_.push_back(cell_of(index_, row, d));
}

// Divides the box into 2^bits cells whose shape is as close to a cube as possible. Sets the axes and the index.
template <class T>
void GridAssigner<T>::divide(std::vector<CellAxis>& axes, const std::vector<double>& lengths, int bits) {
  std::vector<double> edges = lengths;  // edge lengths of a cell
  for (CellAxis& axis : axes) axis.bits = 0;
  for (; bits > 0; --bits) {
    const auto longest = static_cast<std::size_t>(std::max_element(edges.begin(), edges.end()) - edges.begin());
    if (!(edges[longest] > 0)) break;
    edges[longest] *= 0.5;
    ++axes[longest].bits;
  }
  int shift = 0;
  for (std::size_t dim = 0; dim < axes.size(); ++dim) {
    CellAxis& axis = axes[dim];
    const double last = std::ldexp(1.0, axis.bits) - 1;
    // If the extent of a column is near the smallest numbers of T, the scale would overflow. Therefore, the scale has a
    // maximum, and some cells stay empty.
    constexpr double greatest = sizeof(T) == 4 ? 0x1p100 : 0x1p900;
    const double scale = axis.bits > 0 ? std::min(greatest, last / lengths[dim]) : 1.0;
    index_.scale[dim] = static_cast<T>(scale);
    index_.last[dim] = static_cast<T>(last);
    index_.shift[dim] = shift;
    shift += axis.bits;
    axis.step = 1 / static_cast<double>(index_.scale[dim]);
    axis.slack = std::ldexp(last + 1, 2 - std::numeric_limits<T>::digits);
  }
}

// Returns one number for each cell of the current grid: 1 if the cell contains a point, otherwise 0.
template <class T>
std::vector<std::uint8_t> GridAssigner<T>::occupied_cells(int bits) const {
  std::vector<std::uint8_t> occupied(std::size_t{1} << bits);
  const PointRows<T> points = problem_.rows();
#pragma omp parallel num_threads(threads_)
  {
    T room[block_points * grid_dim_limit];
    std::int32_t cells[block_points];
    GridBlock<T> block{};
    block.index = index_;
    block.cells = cells;
#pragma omp for schedule(static)
    for (std::int64_t first = 0; first < problem_.n(); first += block_points) {
      if (problem_.stop.stop_requested()) continue;
      const MatrixView<const T> rows = points.block(first, std::min(block_points, problem_.n() - first), room);
      block.rows = rows.data();
      block.stride = rows.row_stride();
      block.count = rows.rows();
      if constexpr (sizeof(T) == 4) HWY_DYNAMIC_DISPATCH(find_cells_f32)(block, problem_.d());
      else HWY_DYNAMIC_DISPATCH(find_cells_f64)(block, problem_.d());
      for (std::int64_t point = 0; point < block.count; ++point) {
        // Several threads may mark the same cell. If a cell is already marked, it is not written again, because writes
        // move its cache line between cores.
        const std::atomic_ref<std::uint8_t> mark(occupied[static_cast<std::size_t>(cells[point])]);
        if (mark.load(std::memory_order_relaxed) == 0) mark.store(1, std::memory_order_relaxed);
      }
    }
  }
  return occupied;
}

// Returns true if it is faster to process the sampled points with the grid than with the filter. Uses rough estimates
// in CPU cycles.
template <class T>
bool GridAssigner<T>::grid_pays() const {
  double cycles = 0;
  for (const std::int32_t cell : sample_) {
    const std::int32_t entry = table_.entries()[cell];
    if (entry < 0) cycles += 10 + 6 * table_.lists()[entry & CellTable::place];
  }
  const double filter = static_cast<double>((problem_.d() + 5) * problem_.k()) / 14 + 10;
  return cycles <= filter * static_cast<double>(sample_.size());
}

template <class T>
void GridAssigner<T>::prepare(MatrixView<const T> centroids) {
  use_grid_ = false;
  if (!sample_.empty()) {
    centroids_.assign(centroids.data(), centroids.data() + centroids.rows() * centroids.columns());
    use_grid_ = table_.build(centroids_, threads_, problem_.stop) && grid_pays();
  }
  if (!use_grid_) filter_.prepare(centroids);
}

template <class T>
std::int64_t GridAssigner<T>::assign(BlockRows<T>& points, const std::int32_t* before, std::int32_t* labels,
                                     Scratch& scratch) {
  if (!use_grid_) return filter_.assign(points, before, labels, scratch.filter());
  const MatrixView<const T> rows = points.all();
  const GridBlock<T> block{rows.data(),      rows.row_stride(), rows.rows(),       index_,
                           table_.entries(), table_.lists(),    centroids_.data(), before,
                           scratch.cells,    scratch.pairs,     scratch.longer};
  if constexpr (sizeof(T) == 4) return HWY_DYNAMIC_DISPATCH(assign_grid_f32)(block, problem_.d(), labels);
  else return HWY_DYNAMIC_DISPATCH(assign_grid_f64)(block, problem_.d(), labels);
}

template <class T>
std::uint64_t GridAssigner<T>::bytes(const Shape& shape, int threads) {
  const std::uint64_t filter = SmallDimAssigner<T>::bytes(shape, threads);
  if (shape.clusters > grid_cluster_limit) return filter;
  const int bits = bits_for(shape.points, shape.dimensions, shape.clusters);
  const std::int64_t cells = std::int64_t{1} << (shape.dimensions == 3 ? finest_bits : bits);
  return filter + CellTable::bytes(cells, shape.clusters, shape.dimensions, threads) +
         8 * static_cast<std::uint64_t>(shape.clusters * shape.dimensions) + 32 * grid_sample_rows;
}

template class GridAssigner<float>;
template class GridAssigner<double>;

template <class T>
KMeansResult<T> simd_grid(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const int threads = cpu::thread_count(execution);
  GridAssigner<T> assigner(problem, threads);
  SimdEngine<T, GridAssigner<T>> engine(problem, threads, assigner);
  return lloyd(problem, execution, engine, phases);
}

namespace {

core::Support grid_dim(const Shape& shape, const execution::Machine&) {
  return at_most(grid_dim_limit, "columns", shape.dimensions, "; simd_small_dim and simd_large_dim take more");
}

}  // namespace

extern constinit const Variant simd_grid_rung{
    .name = "simd_grid",
    .summary = "a table over a grid gives the label or a few candidates; exact sums",
    .change =
        "at most three columns: one index and one look-up per point for any number of clusters; candidates "
        "compared in double; the oracle's bits",
    .contract = exact,
    .backend = core::Backend::simd,
    .on_ranks = true,
    .supports = grid_dim,
    .memory = simd_memory<GridAssigner>,
    .facts = {.widens_rows = true},
    .run = {simd_grid<float>, simd_grid<double>},
};

}  // namespace gradus::kmeans_detail
#endif
