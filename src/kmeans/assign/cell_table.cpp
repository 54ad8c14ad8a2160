// The table is filled from coarse to fine. A box of cells inherits the candidates of its parent box and keeps the
// candidates that may be nearest to some point in the box. If one candidate is left, all cells of the box are settled.
// Otherwise the box is halved along its longest edge, down to single cells. Only boxes across a border between clusters
// are halved, so the work grows with the length (or area) of the borders, not with the product of clusters and cells.
//
// Selection of candidates. Let m be the middle of a box, r_j half the length of its edge j, D the squared distance, and
// a the candidate nearest to m. For every candidate b and every x in the box
//
//   D(x, b) - D(x, a) = D(m, b) - D(m, a) - 2 sum (x_j - m_j) (b_j - a_j) >= D(m, b) - D(m, a) - 2 sum r_j |b_j - a_j|.
//
// If this lower bound exceeds all rounding errors, b is ruled out. If two candidates are equally near to some point of
// the box, both are kept.
//
// Rounding errors. Let u = 2^-53, d <= 3 and R = sum r_j^2. The canonical chain computes D(x, .) with an error of at
// most (d + 2) u D(x, .), and D(x, .) <= 2 (D(m, .) + R). The values of D(m, .) computed here have the same relative
// error. The computed term 2 sum r_j |b_j - a_j| has a relative error of (d + 2) u, and the term is at most R + 2 D(m,
// a) + 2 D(m, b). All these errors add up to less than 2^-47 (D(m, a) + D(m, b) + R). Underflow adds far less than
// 1e-290.
#include "kmeans/assign/cell_table.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>

#include "core/failure.hpp"
#include "core/stop.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr std::size_t most_tiles = 64;
// The most work for a tile, in comparisons of a centroid with a box.
constexpr std::int64_t work_per_cell = 48;
constexpr std::int64_t work_per_candidate = 256;
constexpr std::int64_t few_clusters = 65536;  // up to this number, memory for the longest possible lists is cheap

/// Returns for how many list elements per cell there is memory, in addition to candidates_of_tiles(). When a tile has
/// used up its share, a box uses the list of a larger box.
std::int64_t listed_per_cell(std::int64_t clusters, std::size_t dimensions) {
  return clusters <= few_clusters ? 4 : std::int64_t{1} << (2 * dimensions);
}

/// Returns the greatest total length of the lists of all tiles. Up to `few_clusters` clusters, every tile may list all
/// of them.
std::int64_t candidates_of_tiles(std::int64_t clusters) {
  constexpr auto tiles = static_cast<std::int64_t>(most_tiles);
  return std::min(tiles * (clusters + 1), std::max(tiles * (few_clusters + 1), 16 * clusters));
}

/// Returns the length of a thread's stack of candidates. Up to `few_clusters` clusters, all boxes from a tile to a cell
/// may list all of them.
std::int64_t stack_length(std::int64_t clusters) {
  constexpr std::int64_t levels = 24;
  return std::min(levels * clusters, std::max(levels * few_clusters, 4 * clusters));
}

}  // namespace

CellTable::CellTable(std::vector<CellAxis> axes, std::int64_t clusters, std::span<const std::uint8_t> occupied)
    : axes_(std::move(axes)), clusters_(clusters) {
  std::int64_t cells = 1;
  for (const CellAxis& axis : axes_) cells <<= axis.bits;
  tiles_ = {whole()};
  while (2 * tiles_.size() <= most_tiles) {
    std::vector<Node> halves;
    for (const Node& tile : tiles_) {
      Node lower;
      Node upper;
      if (!split(tile, lower, upper)) break;
      halves.push_back(lower);
      halves.push_back(upper);
    }
    if (halves.size() < 2 * tiles_.size()) break;
    tiles_ = std::move(halves);
  }
  entries_ = Buffer<std::int32_t>(cells);
  lists_ = Buffer<std::int32_t>(cells * listed_per_cell(clusters, axes_.size()) + candidates_of_tiles(clusters));
  tile_cells_.assign(tiles_.size(), cells / static_cast<std::int64_t>(tiles_.size()));
  if (!occupied.empty()) plant_tree(occupied);
}

void CellTable::plant_tree(std::span<const std::uint8_t> occupied) {
  // In the last level of the tree, the cells have another order than their indices. The cell's index on each axis
  // contributes a part to its position in the last level. The code below computes these parts for each axis.
  const auto cells = static_cast<std::int64_t>(occupied.size());
  std::vector<std::vector<std::int64_t>> place_of(axes_.size());
  Node box = whole();
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) place_of[axis].resize(std::size_t{1} << axes_[axis].bits);
  std::int64_t bit = cells;
  Node lower;
  Node upper;
  while (split(box, lower, upper)) {
    bit /= 2;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis)
      for (std::size_t number = 0; number < place_of[axis].size(); ++number)
        if (upper.first[axis] != lower.first[axis] && (number >> upper.size[axis] & 1) != 0)
          place_of[axis][number] += bit;
    box = lower;
  }
  tree_.assign(static_cast<std::size_t>(2 * cells), 0);
  const auto bits = [&](std::size_t axis) { return axis < axes_.size() ? axes_[axis].bits : 0; };
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    if (occupied[static_cast<std::size_t>(cell)] == 0) continue;
    std::int64_t place = cells;
    std::int64_t rest = cell;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      place += place_of[axis][static_cast<std::size_t>(rest & ((std::int64_t{1} << bits(axis)) - 1))];
      rest >>= bits(axis);
    }
    tree_[static_cast<std::size_t>(place)] = 1;
  }
  for (auto parent = static_cast<std::size_t>(cells); --parent > 0;)
    tree_[parent] = tree_[2 * parent] | tree_[2 * parent + 1];
  const std::int64_t tile_size = cells / static_cast<std::int64_t>(tiles_.size());
  for (std::size_t tile = 0; tile < tiles_.size(); ++tile) {
    const auto first = tree_.begin() + cells + static_cast<std::int64_t>(tile) * tile_size;
    tile_cells_[tile] = std::count(first, first + tile_size, std::uint8_t{1});
  }
}

std::uint64_t CellTable::bytes(std::int64_t cells, std::int64_t clusters, std::int64_t dimensions, int threads) {
  const std::int64_t listed = listed_per_cell(clusters, static_cast<std::size_t>(dimensions));
  const std::int64_t of_a_thread = 4 * stack_length(clusters) + 8 * clusters;
  // The candidates of the tiles exist twice: in their own lists, and in lists_.
  return static_cast<std::uint64_t>(4 * (cells * (1 + listed) + 2 * candidates_of_tiles(clusters)) + 3 * cells +
                                    threads * of_a_thread);
}

CellTable::Node CellTable::whole() const {
  Node node{};
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) node.size[axis] = axes_[axis].bits;
  return node;
}

// Halves a box along its longest edge. Returns false for a single cell.
bool CellTable::split(const Node& node, Node& lower, Node& upper) const {
  std::size_t longest = axes_.size();
  double length = -1;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    if (node.size[axis] == 0) continue;
    const double edge = axes_[axis].step * static_cast<double>(1 << node.size[axis]);
    if (edge > length) {
      length = edge;
      longest = axis;
    }
  }
  if (longest == axes_.size()) return false;
  lower = node;
  --lower.size[longest];
  upper = lower;
  upper.first[longest] += 1 << upper.size[longest];
  return true;
}

// Fills the tiles of the table, one per call. Each thread has its own builder.
template <int D>
class CellTable::TileBuilder {
 public:
  TileBuilder(CellTable& table, const double* centroids)
      : table_(table), centroids_(centroids), distances_(table.clusters_), stack_(stack_length(table.clusters_)) {}

  /// Returns the clusters among `known` that may be nearest to some point in the box.
  std::vector<std::int32_t> candidates_in(const Node& node, std::span<const std::int32_t> known) {
    const std::int64_t count = keep(node, known, stack_.data());
    return {stack_.data(), stack_.data() + count};
  }

  /// Fills a tile. Its lists take the elements of lists_ from `begin` to before `end`.
  void fill_tile(std::size_t tile, std::span<const std::int32_t> candidates, std::int64_t begin, std::int64_t end) {
    next_ = begin;
    end_ = end;
    work_left_ = table_.tile_cells_[tile] * work_per_cell + work_per_candidate * std::ssize(candidates);
    std::fill(std::begin(recent_), std::end(recent_), -1);
    List all{candidates, nullptr, -1};
    reserved_ = std::ssize(candidates) + 1;
    visit(table_.tiles_[tile], static_cast<std::int64_t>(table_.tiles_.size() + tile), all, stack_.data());
  }

 private:
  /// A list of candidates, for a box. `entry` is the list's table entry, or -1 if the list is not stored yet.
  struct List {
    std::span<const std::int32_t> clusters;
    List* wider;  ///< the list of a larger box, or null
    std::int32_t entry;
  };

  // Settles a box or halves it. `box` is the node's number in the tree; `free` is the end of the stack of candidates.
  void visit(const Node& node, std::int64_t box, List& known, std::int32_t* free) {
    if (!table_.is_occupied(box)) return;
    if (std::ssize(known.clusters) > stack_.end() - free) return fill(node, entry_of(known));
    const std::int64_t count = keep(node, known.clusters, free);
    if (count == 1) return fill(node, *free);
    if (count == static_cast<std::int64_t>(known.clusters.size())) return descend(node, box, known, free);
    List kept{{free, static_cast<std::size_t>(count)}, &known, -1};
    descend(node, box, kept, free + count);
  }

  void descend(const Node& node, std::int64_t box, List& list, std::int32_t* free) {
    Node lower;
    Node upper;
    if (work_left_ <= 0 || !table_.split(node, lower, upper)) return fill(node, entry_of(list));
    visit(lower, 2 * box, list, free);
    visit(upper, 2 * box + 1, list, free);
  }

  // Selects the candidates that may be nearest to some point in the box. Writes them to `kept` in ascending order and
  // returns their number.
  std::int64_t keep(const Node& node, std::span<const std::int32_t> known, std::int32_t* kept) {
    double middle[D];
    double half[D];
    double extent = 0;  // R in the derivation above
    for (int axis = 0; axis < D; ++axis) {
      edges(axis, node.first[axis], node.size[axis], middle[axis], half[axis]);
      extent += half[axis] * half[axis];
    }
    double least = HUGE_VAL;
    const double* nearest = centroids_;  // an initial value that the first candidate replaces
    for (std::size_t index = 0; index < known.size(); ++index) {
      const double* centroid = centroids_ + std::int64_t{known[index]} * D;
      double sum = 0;
      for (int axis = 0; axis < D; ++axis) sum += (middle[axis] - centroid[axis]) * (middle[axis] - centroid[axis]);
      distances_[static_cast<std::int64_t>(index)] = sum;
      nearest = sum < least ? centroid : nearest;
      least = sum < least ? sum : least;
    }
    std::int64_t count = 0;
    for (std::size_t index = 0; index < known.size(); ++index) {
      const double* centroid = centroids_ + std::int64_t{known[index]} * D;
      double gain = 0;
      for (int axis = 0; axis < D; ++axis) gain += half[axis] * std::abs(centroid[axis] - nearest[axis]);
      const double distance = distances_[static_cast<std::int64_t>(index)];
      const double margin = 0x1p-46 * (distance + least + extent) + 1e-290;
      kept[count] = known[index];
      count += !(distance - least > 2 * gain + margin);
    }
    work_left_ -= static_cast<std::int64_t>(known.size());
    return count;
  }

  // Computes the middle of an edge of a box, and half the length of the edge. Rounds the half length up, so that the
  // edge contains all points of the box.
  void edges(int number, std::int32_t first, int size, double& middle, double& half) const {
    const CellAxis& axis = table_.axes_[static_cast<std::size_t>(number)];
    const std::int32_t last = first + (1 << size) - 1;
    const auto edge = [&](double cells, double outwards) {
      const double offset = cells * axis.step;
      return axis.origin + offset + outwards * (0x1p-50 * (std::abs(axis.origin) + std::abs(offset)) + 1e-300);
    };
    double low = axis.lowest;
    double high = axis.highest;
    if (first > 0) low = std::max(low, edge(first - 0.5 - axis.slack, -1));
    if (last < (1 << axis.bits) - 1) high = std::min(high, edge(last + 0.5 + axis.slack, 1));
    middle = 0.5 * low + 0.5 * high;
    half = std::max(high - middle, middle - low) * (1 + 0x1p-50) + 1e-300;
  }

  void fill(const Node& node, std::int32_t entry) {
    std::int32_t stop[3] = {1, 1, 1};
    for (int axis = 0; axis < D; ++axis) stop[axis] = 1 << node.size[axis];
    const auto bits = [&](std::size_t axis) { return axis < D ? table_.axes_[axis].bits : 0; };
    for (std::int64_t third = 0; third < stop[2]; ++third)
      for (std::int64_t second = 0; second < stop[1]; ++second) {
        const std::int64_t row = ((node.first[2] + third) << bits(1)) + node.first[1] + second;
        std::fill_n(table_.entries_.data() + (row << bits(0)) + node.first[0], stop[0], entry);
      }
  }

  // Returns the table entry of the list. Stores the list if no recent list is equal, because adjacent boxes often have
  // the same list.
  std::int32_t entry_of(List& list) {
    if (list.entry != -1) return list.entry;
    const std::span<const std::int32_t> clusters = list.clusters;
    const auto count = static_cast<std::int64_t>(clusters.size());
    std::uint32_t hash = static_cast<std::uint32_t>(count);
    for (const std::int32_t cluster : clusters) hash = (hash ^ static_cast<std::uint32_t>(cluster)) * 0x9e3779b1U;
    std::int64_t& recent = recent_[hash >> 24];
    std::int32_t* lists = table_.lists_.data();
    const bool known =
        recent >= 0 && lists[recent] == count && std::equal(clusters.begin(), clusters.end(), lists + recent + 1);
    if (!known) {
      // Space for the list of the tile always stays reserved, so that the largest box can store its list.
      if (list.wider != nullptr && next_ + count + 1 + reserved_ > end_) return list.entry = entry_of(*list.wider);
      lists[next_] = static_cast<std::int32_t>(count);
      std::copy(clusters.begin(), clusters.end(), lists + next_ + 1);
      recent = next_;
      next_ += count + 1;
    }
    return list.entry = mixed | (count == 2 ? pair : 0) | static_cast<std::int32_t>(recent);
  }

  CellTable& table_;
  const double* centroids_;
  Buffer<double> distances_;
  Buffer<std::int32_t> stack_;
  std::int64_t recent_[256] = {};
  std::int64_t next_ = 0;      ///< place of the tile's next list
  std::int64_t end_ = 0;       ///< end of the places for the tile's lists
  std::int64_t reserved_ = 0;  ///< places for the longest list of the tile
  std::int64_t work_left_ = 0;
};

/// One builder per thread.
template <int D>
class CellTable::Builders {
 public:
  Builders(CellTable& table, const double* centroids, int threads)
      : table_(table), centroids_(centroids), of_threads_(static_cast<std::size_t>(threads)) {}

  /// Calls work(builder, index) for all indices below `count`, on all threads. The first exception ends the calls.
  template <class Work>
  void for_each(std::size_t count, const std::stop_token& stop, const Work& work) {
    core::FirstFailure failure;
#pragma omp parallel for num_threads(static_cast <int>(of_threads_.size())) schedule(dynamic, 1)
    for (std::size_t index = 0; index < count; ++index)
      if (!stop.stop_requested() && !failure.happened())
        failure.run([&] {
          std::optional<TileBuilder<D>>& own = of_threads_[static_cast<std::size_t>(omp_get_thread_num())];
          if (!own) own.emplace(table_, centroids_);
          work(*own, index);
        });
    failure.rethrow();
    core::honour_stop(stop, "stopped while laying a grid");
  }

 private:
  CellTable& table_;
  const double* centroids_;
  std::vector<std::optional<TileBuilder<D>>> of_threads_;
};

template <int D>
bool CellTable::build_tiles(const std::vector<double>& centroids, int threads, const std::stop_token& stop) {
  constexpr std::int64_t worth_threads = 4096;  // with fewer cells and clusters, a single thread is faster
  if (std::max(entries_.size(), clusters_) < worth_threads) threads = 1;
  Builders<D> builders(*this, centroids.data(), threads);

  // Halves the space down to the tiles, and shares the clusters among the halves.
  constexpr std::int64_t worth_sharing = 1024;  // with fewer clusters, each tile begins with all
  std::vector<std::vector<std::int32_t>> candidates(1, std::vector<std::int32_t>(static_cast<std::size_t>(clusters_)));
  std::iota(candidates.front().begin(), candidates.front().end(), 0);
  std::vector<Node> nodes{whole()};
  while (clusters_ > worth_sharing && nodes.size() < tiles_.size()) {
    std::vector<Node> halves(2 * nodes.size());
    std::vector<std::vector<std::int32_t>> of_halves(halves.size());
    for (std::size_t node = 0; node < nodes.size(); ++node) split(nodes[node], halves[2 * node], halves[2 * node + 1]);
    builders.for_each(halves.size(), stop, [&](TileBuilder<D>& builder, std::size_t half) {
      of_halves[half] = builder.candidates_in(halves[half], candidates[half / 2]);
    });
    nodes = std::move(halves);
    candidates = std::move(of_halves);
    std::int64_t listed = 0;
    for (const std::vector<std::int32_t>& list : candidates) listed += std::ssize(list) + 1;
    if (listed > candidates_of_tiles(clusters_)) return false;
  }

  // Shares the memory for lists. A tile with more candidates gets more of it.
  std::vector<std::span<const std::int32_t>> of_tile;
  std::int64_t listed = 0;
  for (std::size_t tile = 0; tile < tiles_.size(); ++tile) {
    of_tile.emplace_back(candidates[candidates.size() == 1 ? 0 : tile]);
    listed += std::ssize(of_tile[tile]) + 1;
  }
  const double for_candidates = static_cast<double>(candidates_of_tiles(clusters_)) / static_cast<double>(listed);
  const std::int64_t for_cells = (lists_.size() - candidates_of_tiles(clusters_)) / std::ssize(tiles_);
  std::vector<std::int64_t> begins{0};
  for (const std::span<const std::int32_t> some : of_tile)
    begins.push_back(begins.back() + for_cells +
                     static_cast<std::int64_t>(for_candidates * static_cast<double>(std::ssize(some) + 1)));
  builders.for_each(tiles_.size(), stop, [&](TileBuilder<D>& builder, std::size_t tile) {
    builder.fill_tile(tile, of_tile[tile], begins[tile], begins[tile + 1]);
  });
  return true;
}

bool CellTable::build(const std::vector<double>& centroids, int threads, const std::stop_token& stop) {
  switch (axes_.size()) {
    case 1: return build_tiles<1>(centroids, threads, stop);
    case 2: return build_tiles<2>(centroids, threads, stop);
    default: return build_tiles<3>(centroids, threads, stop);
  }
}

}  // namespace gradus::kmeans_detail
