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

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>

#include "core/failure.hpp"
#include "core/stop.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr std::size_t most_tiles = 64;
// Each tile has memory for this number of list elements per cell, on average. When the memory is used up, a box uses
// the list of a larger box.
constexpr std::int64_t listed_per_cell = 4;
constexpr std::int64_t work_per_cell = 48;  // maximum work per occupied cell of a tile

}  // namespace

CellTable::CellTable(std::vector<CellAxis> axes, std::int64_t clusters, std::span<const std::uint8_t> occupied)
    : axes_(std::move(axes)), clusters_(clusters) {
  Node all{};
  std::int64_t cells = 1;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    all.size[axis] = axes_[axis].bits;
    cells <<= axes_[axis].bits;
  }
  tiles_ = {all};
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
  const auto tiles = static_cast<std::int64_t>(tiles_.size());
  tile_capacity_ = cells / tiles * listed_per_cell + clusters + 1;
  entries_ = Buffer<std::int32_t>(cells);
  lists_ = Buffer<std::int32_t>(tiles * tile_capacity_);
  tile_cells_.assign(tiles_.size(), cells / tiles);
  if (!occupied.empty()) plant_tree(occupied);
}

void CellTable::plant_tree(std::span<const std::uint8_t> occupied) {
  // In the last level of the tree, the cells have another order than their indices. The cell's index on each axis
  // contributes a part to its position in the last level. The code below computes these parts for each axis.
  const auto cells = static_cast<std::int64_t>(occupied.size());
  std::vector<std::vector<std::int64_t>> place_of(axes_.size());
  Node box{};
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    box.size[axis] = axes_[axis].bits;
    place_of[axis].resize(std::size_t{1} << axes_[axis].bits);
  }
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

std::uint64_t CellTable::bytes(std::int64_t cells, std::int64_t clusters, int threads) {
  const auto k = static_cast<std::uint64_t>(clusters);
  return 4 * (static_cast<std::uint64_t>(cells) * (1 + listed_per_cell) + most_tiles * (k + 1)) +
         3 * static_cast<std::uint64_t>(cells) + static_cast<std::uint64_t>(threads) * (24 * 4 + 8) * k;
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
      : table_(table), centroids_(centroids), distances_(static_cast<std::size_t>(table.clusters_)) {
    std::size_t levels = 1;
    for (const CellAxis& axis : table.axes_) levels += static_cast<std::size_t>(axis.bits);
    stack_.resize((levels + 1) * static_cast<std::size_t>(table.clusters_));
    for (std::int64_t cluster = 0; cluster < table.clusters_; ++cluster)
      stack_[static_cast<std::size_t>(cluster)] = static_cast<std::int32_t>(cluster);
  }

  void fill_tile(std::size_t tile) {
    const Node& node = table_.tiles_[tile];
    begin_ = static_cast<std::int64_t>(tile) * table_.tile_capacity_;
    next_ = begin_;
    work_left_ = table_.tile_cells_[tile] * work_per_cell + 4 * table_.clusters_;
    std::fill(std::begin(recent_), std::end(recent_), -1);
    List all{{stack_.data(), static_cast<std::size_t>(table_.clusters_)}, nullptr, -1};
    visit(node, static_cast<std::int64_t>(table_.tiles_.size() + tile), all, stack_.data() + table_.clusters_);
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
      distances_[index] = sum;
      nearest = sum < least ? centroid : nearest;
      least = sum < least ? sum : least;
    }
    std::int64_t count = 0;
    for (std::size_t index = 0; index < known.size(); ++index) {
      const double* centroid = centroids_ + std::int64_t{known[index]} * D;
      double gain = 0;
      for (int axis = 0; axis < D; ++axis) gain += half[axis] * std::abs(centroid[axis] - nearest[axis]);
      const double margin = 0x1p-46 * (distances_[index] + least + extent) + 1e-290;
      kept[count] = known[index];
      count += !(distances_[index] - least > 2 * gain + margin);
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
      // Space for one list of all clusters always stays reserved, so that the largest box can store its list.
      const std::int64_t end = next_ + count + 1 + table_.clusters_ + 1;
      if (list.wider != nullptr && end > begin_ + table_.tile_capacity_) return list.entry = entry_of(*list.wider);
      lists[next_] = static_cast<std::int32_t>(count);
      std::copy(clusters.begin(), clusters.end(), lists + next_ + 1);
      recent = next_;
      next_ += count + 1;
    }
    return list.entry = mixed | (count == 2 ? pair : 0) | static_cast<std::int32_t>(recent);
  }

  CellTable& table_;
  const double* centroids_;
  std::vector<double> distances_;
  std::vector<std::int32_t> stack_;
  std::int64_t recent_[256] = {};
  std::int64_t begin_ = 0;  ///< start of the tile's part of the lists
  std::int64_t next_ = 0;
  std::int64_t work_left_ = 0;
};

template <int D>
void CellTable::build_tiles(const std::vector<double>& centroids, int threads, const std::stop_token& stop) {
  constexpr std::int64_t worth_threads = 4096;  // with fewer cells, a single thread is faster
  core::FirstFailure failure;
#pragma omp parallel num_threads(threads) if (entries_.size() >= worth_threads)
  {
    std::optional<TileBuilder<D>> builder;
    failure.run([&] { builder.emplace(*this, centroids.data()); });
#pragma omp for schedule(dynamic, 1)
    for (std::size_t tile = 0; tile < tiles_.size(); ++tile)
      if (!stop.stop_requested() && !failure.happened()) failure.run([&] { builder->fill_tile(tile); });
  }
  failure.rethrow();
}

void CellTable::build(const std::vector<double>& centroids, int threads, const std::stop_token& stop) {
  switch (axes_.size()) {
    case 1: build_tiles<1>(centroids, threads, stop); break;
    case 2: build_tiles<2>(centroids, threads, stop); break;
    default: build_tiles<3>(centroids, threads, stop); break;
  }
  core::honour_stop(stop, "stopped while laying a grid");
}

}  // namespace gradus::kmeans_detail
