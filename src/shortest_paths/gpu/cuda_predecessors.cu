// Integer predecessors on a GPU, computed from distances and weights alone: P(i, j) is the lowest v with an edge to j
// and D(i, v) + weights(v, j) = D(i, j).
//
// Dense graphs: no sum is below D(i, j). The lowest v is therefore in the first block of vertices after which the
// minimum of the sums equals D(i, j). The sums are a min-plus product like the rest of a round, and are computed at the
// rate of cuda_dpx. Each element has a counter. After each block, the counter is incremented if the element's minimum
// still differs from D(i, j). At the end, the counter is the number of blocks before the block of v (`find_blocks`). A
// second kernel searches this block for v (`resolve_blocks`).
//
// Sparse graphs: each vertex has a list of its incoming edges in ascending order of tails. A warp processes the list of
// one vertex for 128 sources, whose distances are contiguous.
//
// Work: N^3 additions and comparisons for dense graphs; N additions and comparisons per edge for sparse graphs. Memory:
// panels of `predecessor_depth` x N elements for dense graphs; the lists and one such panel for sparse graphs.
#include <cub/device/device_scan.cuh>
#include <limits>

#include "core/stop.hpp"
#include "cuda/launch.hpp"
#include "cuda/portions.hpp"
#include "shortest_paths/gpu/carriers.cuh"
#include "shortest_paths/gpu/cuda_limits.hpp"
#include "shortest_paths/gpu/gpu_graph.hpp"
#include "shortest_paths/gpu/graph_there.cuh"
#include "shortest_paths/gpu/squares.cuh"
#include "shortest_paths/gpu/tiles.cuh"

namespace gradus::shortest_paths_detail {

namespace {

using Bound = long long;  // a type that CUDA's atomic operations support

// The number of sums that even a slow GPU computes in a tenth of a second.
constexpr double portion_of_sums = 1e11;

constexpr int block_of_vertices = 32;  // vertices per block; a counter identifies one block
static_assert(predecessor_depth / block_of_vertices <= 255, "they are counted in 8 bits");

/// The type in which a single scalar is stored.
template <class Carrier>
using CompactScalar = std::conditional_t<Carrier::pack == 2, std::uint16_t, typename Carrier::Scalar>;

// ---------------------------------------------------------------------------------------------------------------------
// The range of distances

// Launch shape: in x, one thread per column; in y, each block processes every gridDim.y-th row.
template <class C>
__global__ void __launch_bounds__(256) find_range(const C* distances, std::int64_t n, C greatest, Bound* range) {
  const std::int64_t to = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  Bound low = 0;
  Bound high = 0;
  if (to < n)
    for (std::int64_t from = blockIdx.y; from < n; from += gridDim.y) {
      const C distance = distances[from * n + to];
      if (distance > greatest) continue;
      low = min(low, static_cast<Bound>(distance));
      high = max(high, static_cast<Bound>(distance));
    }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    low = min(low, __shfl_xor_sync(0xffffffffu, low, lanes));
    high = max(high, __shfl_xor_sync(0xffffffffu, high, lanes));
  }
  if (threadIdx.x % 32 != 0) return;
  atomicMin(&range[0], low);
  atomicMax(&range[1], high);
}

// ---------------------------------------------------------------------------------------------------------------------
// Dense graphs

/// The operands for the intermediate vertices [first, first + depth). Vertices beyond n have no edges.
template <class Carrier>
struct Panels {
  using Word = typename Carrier::Word;
  Word* to_via;                      ///< depth x rows elements: distances to the intermediate vertices, one per word
  Word* onward;                      ///< depth x words elements: edges from the intermediate vertices
  CompactScalar<Carrier>* backward;  ///< columns x depth elements: the same edges, contiguous for each end vertex
  std::int64_t first;
  int depth;
  int rows;   ///< number of sources, including the padding of the last tile
  int words;  ///< words per row of `onward`
  int one;    ///< the value 1, hidden from the compiler; see carriers.cuh

  __device__ __host__ int columns() const { return words * Carrier::pack; }
};

template <class Carrier, class T>
__device__ __forceinline__ typename Carrier::Scalar edge_of(const DeviceGraph<T>& graph, std::int64_t from,
                                                            std::int64_t to) {
  const auto none = Carrier::get(Carrier::nothing(), 0);
  if (from >= graph.n || to >= graph.n || from == to) return none;
  const T weight = graph.row(from)[to];
  return graph.is_edge(weight) ? Carrier::from(weight) : none;
}

// Launch shape: blocks of 32 x 8 threads. x: squares of intermediate vertices; y: squares of sources.
template <class Carrier, class C>
__global__ void __launch_bounds__(square * 8)
    turn_distances(Panels<Carrier> panels, const C* distances, std::int64_t n) {
  using Word = typename Carrier::Word;
  const std::int64_t via = panels.first + std::int64_t{blockIdx.x} * square;
  const std::int64_t from = std::int64_t{blockIdx.y} * square;
  Word* const to = panels.to_via + static_cast<std::size_t>(blockIdx.x) * square * panels.rows + from;
  turn_square<Word>(
      [&](int row, int column) {
        const bool exists = from + row < n && via + column < n;
        return exists ? Carrier::both(Carrier::from(distances[(from + row) * n + via + column])) : Carrier::nothing();
      },
      [&](int column, int row, Word word) { to[static_cast<std::size_t>(column) * panels.rows + row] = word; });
}

// Launch shape: blocks of 32 x 8 threads. x: squares of end vertices; y: squares of intermediate vertices.
template <class Carrier, class T>
__global__ void __launch_bounds__(square * 8) turn_edges(Panels<Carrier> panels, DeviceGraph<T> graph) {
  const std::int64_t left = std::int64_t{blockIdx.x} * square;
  const int via = static_cast<int>(blockIdx.y) * square;
  CompactScalar<Carrier>* const to = panels.backward + static_cast<std::size_t>(left) * panels.depth + via;
  turn_square<CompactScalar<Carrier>>(
      [&](int row, int column) {
        return static_cast<CompactScalar<Carrier>>(edge_of<Carrier>(graph, panels.first + via + row, left + column));
      },
      [&](int column, int row, CompactScalar<Carrier> weight) {
        to[static_cast<std::size_t>(column) * panels.depth + row] = weight;
      });
}

// Launch shape: x: one thread per word; y: intermediate vertices.
template <class Carrier, class T>
__global__ void __launch_bounds__(256) pack_edges(Panels<Carrier> panels, DeviceGraph<T> graph) {
  const int word = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int via = static_cast<int>(blockIdx.y);
  if (word >= panels.words) return;
  const std::int64_t to = std::int64_t{word} * Carrier::pack;
  panels.onward[static_cast<std::size_t>(via) * panels.words + word] =
      Carrier::word_of(edge_of<Carrier>(graph, panels.first + via, to),
                       edge_of<Carrier>(graph, panels.first + via, to + Carrier::pack - 1));
}

/// 8-bit counters, one for each element of a thread, packed in registers.
template <class Carrier, class Tile>
struct Counts {
  static constexpr int of_a_register = 4 / Carrier::pack;  // number of words whose counters share a register
  static constexpr int count = (Tile::own_rows * Tile::own_columns + of_a_register - 1) / of_a_register;
  unsigned int at[count];

  __device__ __forceinline__ void add(int word, unsigned int ones) {
    at[word / of_a_register] += ones << (word % of_a_register * 8);
  }
  __device__ __forceinline__ int get(int word, int half) const {
    return static_cast<int>(at[word / of_a_register] >> (word % of_a_register * 8 + 16 * half) & 0xff);
  }
};

// Writes -2 - (block number) for elements that have no result so far and whose vertex is in this panel. Other elements
// stay unchanged. If `fresh` is true, no element has a result yet. Launch shape: one block per tile, starting with
// `first_tile`.
template <class Carrier, class Shape, class C>
__global__ void __launch_bounds__(Shape::Tile::threads, Shape::blocks_per_multiprocessor)
    find_blocks(Panels<Carrier> panels, const C* distances, int n, int first_tile, bool fresh,
                std::int32_t* predecessors) {
  using Word = typename Carrier::Word;
  using Tile = typename Shape::Tile;
  constexpr int portions_of_a_block = block_of_vertices / Shape::portion;
  static_assert(block_of_vertices % Shape::portion == 0);
  extern __shared__ __align__(16) unsigned char memory[];
  const int tiles_in_a_row = panels.words / Tile::columns;
  const int tile = first_tile + static_cast<int>(blockIdx.x);
  const int top = tile / tiles_in_a_row * Tile::rows;
  const int left = tile % tiles_in_a_row * Tile::columns;
  const auto length = [&](int from, int to) {
    return from < n && to < n ? Carrier::from(distances[static_cast<std::size_t>(from) * n + to])
                              : Carrier::get(Carrier::nothing(), 0);
  };
  Word best[Tile::own_rows][Tile::own_columns];
  Word wanted[Tile::own_rows][Tile::own_columns];
  Counts<Carrier, Tile> counts{};
  const auto load = [&] {
    fill_cells<Tile>(best, Carrier::nothing());
#pragma unroll
    for (int row = 0; row < Tile::own_rows; ++row)
#pragma unroll
      for (int column = 0; column < Tile::own_columns; ++column) {
        const int to = (left + Tile::column(column)) * Carrier::pack;
        wanted[row][column] = Carrier::negated(
            Carrier::word_of(length(top + Tile::row(row), to), length(top + Tile::row(row), to + Carrier::pack - 1)));
      }
  };
  const auto count = [&](int portion) {
    if ((portion + 1) % portions_of_a_block != 0) return;
#pragma unroll
    for (int row = 0; row < Tile::own_rows; ++row)
#pragma unroll
      for (int column = 0; column < Tile::own_columns; ++column)
        counts.add(row * Tile::own_columns + column, Carrier::differs(best[row][column], wanted[row][column]));
  };
  min_plus_by_portions<Carrier, Shape>(best, panels.to_via + top, panels.rows, panels.onward + left, panels.words,
                                       panels.depth / Shape::portion, reinterpret_cast<Word*>(memory), panels.one, load,
                                       count);
  const int blocks = panels.depth / block_of_vertices;
#pragma unroll
  for (int row = 0; row < Tile::own_rows; ++row)
#pragma unroll
    for (int column = 0; column < Tile::own_columns; ++column)
#pragma unroll
      for (int half = 0; half < Carrier::pack; ++half) {
        const int from = top + Tile::row(row);
        const int to = (left + Tile::column(column)) * Carrier::pack + half;
        if (from >= n || to >= n) continue;
        std::int32_t& predecessor = predecessors[static_cast<std::size_t>(from) * n + to];
        const int block = counts.get(row * Tile::own_columns + column, half);
        if (fresh) predecessor = block < blocks ? -2 - block : -1;
        else if (block < blocks && predecessor == -1) predecessor = -2 - block;
      }
}

// Launch shape: one block per source, with shared memory for `depth` distances.
template <class Carrier, class C>
__global__ void __launch_bounds__(256)
    resolve_blocks(Panels<Carrier> panels, const C* distances, std::int64_t n, C greatest, std::int32_t* predecessors) {
  using Scalar = typename Carrier::Scalar;
  constexpr int lanes = 16 / int(sizeof(CompactScalar<Carrier>));
  using Some = Vector<CompactScalar<Carrier>, lanes>;
  extern __shared__ __align__(16) unsigned char memory[];
  auto* const to_via = reinterpret_cast<CompactScalar<Carrier>*>(memory);
  const std::int64_t from = blockIdx.x;
  const C* const row = distances + from * n;
  for (int via = static_cast<int>(threadIdx.x); via < panels.depth; via += 256)
    to_via[via] = panels.first + via < n ? static_cast<CompactScalar<Carrier>>(Carrier::from(row[panels.first + via]))
                                         : static_cast<CompactScalar<Carrier>>(Carrier::get(Carrier::nothing(), 0));
  __syncthreads();  // all distances are loaded
  for (std::int64_t to = threadIdx.x; to < n; to += 256) {
    std::int32_t& predecessor = predecessors[from * n + to];
    const std::int32_t found = predecessor;
    if (found >= -1) continue;
    std::int32_t result = -1;
    if (from != to && row[to] <= greatest) {
      const Scalar wanted = Carrier::from(row[to]);
      const int begin = (-2 - found) * block_of_vertices;
      const CompactScalar<Carrier>* const backward = panels.backward + static_cast<std::size_t>(to) * panels.depth;
      for (int via = begin; via < begin + block_of_vertices && result < 0; via += lanes) {
        const Some first = *reinterpret_cast<const Some*>(to_via + via);
        const Some second = *reinterpret_cast<const Some*>(backward + via);
#pragma unroll
        for (int lane = lanes - 1; lane >= 0; --lane)
          if (static_cast<Scalar>(first.at[lane]) + static_cast<Scalar>(second.at[lane]) == wanted)
            result = static_cast<std::int32_t>(panels.first + via + lane);
      }
    }
    predecessor = result;
  }
}

template <class Carrier, class Shape, class T, class C>
void by_product(const DeviceGraph<T>& graph, const C* distances, C greatest, std::int32_t* predecessors,
                cuda::Job& job) {
  using Word = typename Carrier::Word;
  using Tile = typename Shape::Tile;
  const std::int64_t n = graph.n;
  const auto whole = [n](std::int64_t granule) { return (n + granule - 1) / granule * granule; };
  Panels<Carrier> panels{};
  panels.rows = static_cast<int>(whole(Tile::rows));
  panels.words = static_cast<int>(whole(std::int64_t{Tile::columns} * Carrier::pack) / Carrier::pack);
  panels.one = 1;
  const std::int64_t depth = std::min<std::int64_t>(predecessor_depth, whole(block_of_vertices));
  static_assert(predecessor_granule % Tile::rows == 0 && predecessor_granule % (Tile::columns * Carrier::pack) == 0);
  job.memory().reserve(predecessor_panel_bytes(n, sizeof(Word), sizeof(CompactScalar<Carrier>)));
  panels.to_via = job.memory().template take<Word>(depth * panels.rows);
  panels.onward = job.memory().template take<Word>(depth * panels.words);
  panels.backward = job.memory().template take<CompactScalar<Carrier>>(depth * panels.columns());

  const auto kernel = find_blocks<Carrier, Shape, C>;
  constexpr std::size_t bytes = Shape::template bytes<Word>;
  cuda::allow_shared_memory(reinterpret_cast<const void*>(kernel), bytes);
  const cuda::Stream& stream = job.stream();
  const dim3 turning(square, 8);
  const std::int64_t tiles_in_a_row = panels.words / Tile::columns;
  cuda::Portions portions(job.stop(), portion_of_sums);
  for (panels.first = 0; panels.first < n; panels.first += depth) {
    panels.depth = static_cast<int>(
        std::min(depth, (n - panels.first + block_of_vertices - 1) / block_of_vertices * block_of_vertices));
    const auto squares = static_cast<unsigned int>(panels.depth / square);
    turn_distances<<<dim3(squares, static_cast<unsigned int>(panels.rows / square)), turning, 0, stream>>>(
        panels, distances, n);
    turn_edges<<<dim3(static_cast<unsigned int>(panels.columns() / square), squares), turning, 0, stream>>>(panels,
                                                                                                            graph);
    pack_edges<<<dim3(cuda::blocks_for(panels.words, 256), static_cast<unsigned int>(panels.depth)), 256, 0, stream>>>(
        panels, graph);
    cuda::check_launch("pack_edges");
    const double sums = static_cast<double>(panels.depth) * Tile::rows * static_cast<double>(panels.columns());
    portions.run(panels.rows / Tile::rows, sums, 1, stream, [&](std::int64_t first, std::int64_t number) {
      kernel<<<static_cast<unsigned int>(number * tiles_in_a_row), Tile::threads, bytes, stream>>>(
          panels, distances, static_cast<int>(n), static_cast<int>(first * tiles_in_a_row), panels.first == 0,
          predecessors);
      cuda::check_launch("find_blocks");
    });
    resolve_blocks<Carrier>
        <<<static_cast<unsigned int>(n), 256, static_cast<std::size_t>(panels.depth) * sizeof(CompactScalar<Carrier>),
           stream>>>(panels, distances, n, greatest, predecessors);
    cuda::check_launch("resolve_blocks");
  }
  stream.wait();
}

// ---------------------------------------------------------------------------------------------------------------------
// Sparse graphs

template <class Scalar>
struct EdgeTo {
  Scalar weight;
  std::int32_t from;
};

/// The edges to each vertex in ascending order of tails. A thread lists the edges that lead to one vertex from the rows
/// of one group of `list_rows` rows.
template <class Scalar>
struct Lists {
  /// begin[to * groups + group] is the index in `edges` of the first edge to vertex `to` from that group of rows. The
  /// last element is the number of all edges.
  std::int64_t* begin;
  EdgeTo<Scalar>* edges;
  std::int64_t groups;
};

// Launch shape of the next two kernels: x: one thread per end vertex; y: groups of rows.
template <class T, class Scalar>
__global__ void __launch_bounds__(256) count_edges(DeviceGraph<T> graph, Lists<Scalar> lists) {
  const std::int64_t to = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (to >= graph.n) return;
  const std::int64_t first = std::int64_t{blockIdx.y} * list_rows;
  const std::int64_t end = min(first + list_rows, graph.n);
  std::int64_t count = 0;
  for (std::int64_t from = first; from < end; ++from) count += from != to && graph.is_edge(graph.row(from)[to]);
  lists.begin[to * lists.groups + blockIdx.y] = count;
}
template <class Carrier, class T>
__global__ void __launch_bounds__(256) list_edges(DeviceGraph<T> graph, Lists<typename Carrier::Scalar> lists) {
  const std::int64_t to = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (to >= graph.n) return;
  const std::int64_t first = std::int64_t{blockIdx.y} * list_rows;
  const std::int64_t end = min(first + list_rows, graph.n);
  std::int64_t place = lists.begin[to * lists.groups + blockIdx.y];
  for (std::int64_t from = first; from < end; ++from) {
    const T weight = graph.row(from)[to];
    if (from != to && graph.is_edge(weight))
      lists.edges[place++] = {Carrier::from(weight), static_cast<std::int32_t>(from)};
  }
}

/// Distances from the sources [first, first + width). The distances to one end vertex are contiguous.
template <class Scalar>
struct Slab {
  Scalar* to_vertex;  ///< n x width distances
  std::int64_t first;
  int width;
};

// Launch shape: as for turn_distances(). x: squares of end vertices; y: squares of sources.
template <class Carrier, class C>
__global__ void __launch_bounds__(square * 8)
    turn_sources(Slab<typename Carrier::Scalar> slab, const C* distances, std::int64_t n) {
  using Scalar = typename Carrier::Scalar;
  const std::int64_t left = std::int64_t{blockIdx.x} * square;
  const int top = static_cast<int>(blockIdx.y) * square;
  turn_square<Scalar>(
      [&](int row, int column) {
        const bool exists = slab.first + top + row < n && left + column < n;
        return exists ? Carrier::from(distances[(slab.first + top + row) * n + left + column])
                      : Carrier::get(Carrier::nothing(), 0);
      },
      [&](int column, int row, Scalar length) {
        if (left + column < n) slab.to_vertex[(left + column) * slab.width + top + row] = length;
      });
}

constexpr int sources_of_a_lane = 4;
constexpr int sources_of_a_block = 32 * sources_of_a_lane;
constexpr int vertices_of_a_block = 32;
static_assert(predecessor_depth % sources_of_a_block == 0);

// Launch shape: blocks of 256 threads. x: 32 end vertices per block; y: 128 sources per block.
template <class Scalar>
__global__ void __launch_bounds__(256)
    search_lists(Lists<Scalar> lists, Slab<Scalar> slab, std::int64_t n, Scalar greatest, std::int32_t* predecessors) {
  using Some = Vector<Scalar, sources_of_a_lane>;
  __shared__ std::int32_t results[sources_of_a_block][vertices_of_a_block + 1];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t left = std::int64_t{blockIdx.x} * vertices_of_a_block;
  const int top = static_cast<int>(blockIdx.y) * sources_of_a_block;
  const int own = top + lane * sources_of_a_lane;
  const auto lengths_to = [&](std::int64_t vertex) {
    return *reinterpret_cast<const Some*>(slab.to_vertex + vertex * slab.width + own);
  };
  for (int which = warp; which < vertices_of_a_block && left + which < n; which += 8) {
    const std::int64_t to = left + which;
    const Some wanted = lengths_to(to);
    std::int32_t found[sources_of_a_lane];
    bool done = true;
#pragma unroll
    for (int source = 0; source < sources_of_a_lane; ++source) {
      // There is no predecessor if there is no route, if the source is past the last vertex, or if the source is the
      // end vertex itself.
      const bool none = wanted.at[source] > greatest || slab.first + own + source == to;
      found[source] = none ? -1 : -2;
      done &= none;
    }
    const std::int64_t end = lists.begin[(to + 1) * lists.groups];
    for (std::int64_t first = lists.begin[to * lists.groups]; first < end && !__all_sync(0xffffffffu, done);
         first += 32) {
      EdgeTo<Scalar> edge{0, 0};  // one edge per lane; lanes beyond the end of the list have no edge

      if (first + lane < end) edge = lists.edges[first + lane];
      const int count = static_cast<int>(min(end - first, std::int64_t{32}));
      for (int some = 0; some < count; some += 4) {
#pragma unroll
        for (int one = 0; one < 4; ++one) {
          const Scalar weight = __shfl_sync(0xffffffffu, edge.weight, some + one);
          const std::int32_t from = __shfl_sync(0xffffffffu, edge.from, some + one);
          const Some lengths = lengths_to(from);
#pragma unroll
          for (int source = 0; source < sources_of_a_lane; ++source)
            if (found[source] == -2 && some + one < count && lengths.at[source] + weight == wanted.at[source])
              found[source] = from;
        }
      }
      done = true;
#pragma unroll
      for (int source = 0; source < sources_of_a_lane; ++source) done &= found[source] != -2;
    }
#pragma unroll
    for (int source = 0; source < sources_of_a_lane; ++source)
      results[lane * sources_of_a_lane + source][which] = max(found[source], -1);
  }
  __syncthreads();  // the results are complete
  if (left + lane < n)
    for (int source = warp; source < sources_of_a_block; source += 8)
      if (const std::int64_t from = slab.first + top + source; from < n)
        predecessors[from * n + left + lane] = results[source][lane];
}

template <class Carrier, class T, class C>
void by_lists(const DeviceGraph<T>& graph, std::int64_t edges, const C* distances, C greatest,
              std::int32_t* predecessors, cuda::Job& job) {
  using Scalar = typename Carrier::Scalar;
  const std::int64_t n = graph.n;
  const cuda::Stream& stream = job.stream();
  Lists<Scalar> lists{};
  lists.groups = (n + list_rows - 1) / list_rows;
  const std::int64_t begins = n * lists.groups + 1;
  std::size_t scan_bytes = 0;
  cuda::check(cub::DeviceScan::ExclusiveSum(nullptr, scan_bytes, lists.begin, lists.begin, begins, stream),
              "cub::DeviceScan::ExclusiveSum");
  const std::int64_t width =
      std::min<std::int64_t>(predecessor_depth, (n + sources_of_a_block - 1) / sources_of_a_block * sources_of_a_block);
  job.memory().reserve(cuda::part_bytes(begins, sizeof(std::int64_t)) +
                       cuda::part_bytes(edges, sizeof(EdgeTo<Scalar>)) + cuda::part_bytes(n * width, sizeof(Scalar)) +
                       cuda::part_bytes(static_cast<std::int64_t>(scan_bytes), 1));
  lists.begin = cuda::zero_part<std::int64_t>(job.memory(), begins, stream);
  lists.edges = job.memory().template take<EdgeTo<Scalar>>(edges);
  Slab<Scalar> slab{job.memory().template take<Scalar>(n * width), 0, static_cast<int>(width)};
  auto* const scan = job.memory().template take<unsigned char>(static_cast<std::int64_t>(scan_bytes));

  const dim3 groups(cuda::blocks_for(n, 256), static_cast<unsigned int>(lists.groups));
  count_edges<<<groups, 256, 0, stream>>>(graph, lists);
  cuda::check_launch("count_edges");
  cuda::check(cub::DeviceScan::ExclusiveSum(scan, scan_bytes, lists.begin, lists.begin, begins, stream),
              "cub::DeviceScan::ExclusiveSum");
  list_edges<Carrier><<<groups, 256, 0, stream>>>(graph, lists);
  cuda::check_launch("list_edges");
  for (; slab.first < n; slab.first += width) {
    core::honour_stop(job.stop(), "stopped while finding predecessors");
    const std::int64_t sources = std::min(width, n - slab.first);
    turn_sources<Carrier><<<dim3(cuda::blocks_for(n, square),
                                 cuda::blocks_for(sources, sources_of_a_block) * (sources_of_a_block / square)),
                            dim3(square, 8), 0, stream>>>(slab, distances, n);
    search_lists<<<dim3(cuda::blocks_for(n, vertices_of_a_block), cuda::blocks_for(sources, sources_of_a_block)), 256,
                   0, stream>>>(lists, slab, n, static_cast<Scalar>(greatest), predecessors);
    cuda::check_launch("search_lists");
    stream.wait();
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// The choice

template <class Word>
using Product8x8 = ProductShape<RegisterTile<Word, 8, 8, 4, 2>, 16, 3, 1>;
template <class Word>
using Product8x4 = ProductShape<RegisterTile<Word, 8, 4, 4, 2>, 16, 3, 1>;

}  // namespace

template <class T, class C>
void find_predecessors_on_gpu(const Graph<T>& graph, const Facts& facts, MatrixView<const C> distances, C greatest,
                              MatrixView<std::int32_t> predecessors, cuda::Job& job) {
  const std::int64_t n = graph.n();
  if (n == 0) return;
  auto* const range = reinterpret_cast<Bound*>(job.scratch(2));
  cuda::check(cudaMemsetAsync(range, 0, 2 * sizeof(Bound), job.stream()), "cudaMemsetAsync");
  const dim3 blocks(cuda::blocks_for(n, 256), static_cast<unsigned int>(std::min<std::int64_t>(n, 128)));
  find_range<<<blocks, 256, 0, job.stream()>>>(distances.data(), n, greatest, range);
  cuda::check_launch("find_range");
  Bound found[2] = {};
  cuda::fetch_part(range, std::span<Bound>(found), job.stream());
  // Edges need no type that is wider than the type of distances: no edge is shorter than the distance between its ends,
  // and edges that are longer than all distances do not matter.
  constexpr Bound of_pairs = 0x7ffe;
  constexpr Bound of_32 = unreachable<std::int32_t>() / 3 - 1;  // the limit up to which the driver uses int32
  const DeviceGraph<T> there(graph);
  const bool narrow = sizeof(C) == 4 || (found[0] >= -of_32 && found[1] <= of_32);
  if (facts.edges < n * n / 16) {
    const auto most = std::min<C>(greatest, static_cast<C>(found[1]));
    if (narrow) by_lists<Whole32<0>>(there, facts.edges, distances.data(), most, predecessors.data(), job);
    else if constexpr (sizeof(C) == 8)
      by_lists<Plain64<C>>(there, facts.edges, distances.data(), most, predecessors.data(), job);
  } else if (found[0] >= 0 && found[1] <= of_pairs) {
    by_product<Pairs16<4>, Product8x8<std::uint32_t>>(there, distances.data(), greatest, predecessors.data(), job);
  } else if (narrow) {
    by_product<Whole32<3>, Product8x8<std::int32_t>>(there, distances.data(), greatest, predecessors.data(), job);
  } else if constexpr (sizeof(C) == 8) {
    by_product<Plain64<C>, Product8x4<C>>(there, distances.data(), greatest, predecessors.data(), job);
  }
}

#define GRADUS_INSTANTIATE(T, C)                                                                \
  template void find_predecessors_on_gpu(const Graph<T>&, const Facts&, MatrixView<const C>, C, \
                                         MatrixView<std::int32_t>, cuda::Job&)
GRADUS_INSTANTIATE(std::int32_t, std::int32_t);
GRADUS_INSTANTIATE(std::int32_t, std::int64_t);
GRADUS_INSTANTIATE(std::int64_t, std::int64_t);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::shortest_paths_detail
