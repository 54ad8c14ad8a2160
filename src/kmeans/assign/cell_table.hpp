// A regular grid of cells over the box of the points and, for each cell, the clusters that can be nearest to a point in
// it: usually one. Behind simd_grid.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "gradus/array.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

inline constexpr std::int64_t grid_dim_limit = 3;
inline constexpr std::int64_t grid_cluster_limit = 65536;

/// One axis of the grid. Cell i holds the coordinates x with |(x - origin) / step - i| <= 1/2 + slack; the first and
/// the last cell reach on to the least and the greatest coordinate of all.
struct CellAxis {
  double origin = 0;  ///< the middle of the first cell
  double step = 1;
  double slack = 0;  ///< covers the rounding of whoever computes i, in cells
  double lowest = 0;
  double highest = 0;
  int bits = 0;  ///< there are 2^bits cells
};

class CellTable {
 public:
  /// Set in the entry of a cell with more than one candidate; the rest but `pair` is the place of its list.
  static constexpr std::int32_t mixed = INT32_MIN;
  /// Set besides where the list holds two clusters.
  static constexpr std::int32_t pair = 1 << 30;
  static constexpr std::int32_t place = pair - 1;

  CellTable() = default;
  /// `occupied`: per cell, whether any point will ask for its entry; other cells are left out. Empty: all are.
  CellTable(std::vector<CellAxis> axes, std::int64_t clusters, std::span<const std::uint8_t> occupied);

  /// Fills the table for these centroids (as doubles, row after row), by `threads` threads. Where lists stay long, as
  /// for many centroids within one cell, the work is cut short: it is O(cells + clusters) for each of the up to 64
  /// tiles of the table.
  /// InterruptedError after a stop request.
  void build(const std::vector<double>& centroids, int threads, const std::stop_token& stop);

  /// Per cell, the first axis running fastest: the label of all its points, or mixed | pair? | place of a list.
  const std::int32_t* entries() const { return entries_.data(); }
  /// At each place: how many clusters, and then these, ascending.
  const std::int32_t* lists() const { return lists_.data(); }

  static std::uint64_t bytes(std::int64_t cells, std::int64_t clusters, int threads);

 private:
  template <int D>
  class TileBuilder;

  /// A box of 2^size cells an axis.
  struct Node {
    std::int32_t first[grid_dim_limit];
    int size[grid_dim_limit];
  };

  bool split(const Node& node, Node& lower, Node& upper) const;
  void plant_tree(std::span<const std::uint8_t> occupied);
  bool is_occupied(std::int64_t box) const { return tree_.empty() || tree_[static_cast<std::size_t>(box)] != 0; }
  template <int D>
  void build_tiles(const std::vector<double>& centroids, int threads, const std::stop_token& stop);

  std::vector<CellAxis> axes_;
  std::int64_t clusters_ = 0;
  std::int64_t tile_capacity_ = 0;  ///< of lists_, for each tile
  std::vector<Node> tiles_;
  std::vector<std::int64_t> tile_cells_;  ///< occupied ones in each tile
  /// Whether a box holds an occupied cell, as a binary heap: all space is box 1, the halves of box i are 2 i and
  /// 2 i + 1. All boxes of a level are split along the same axis. Empty: all are occupied.
  std::vector<std::uint8_t> tree_;
  Buffer<std::int32_t> entries_;
  Buffer<std::int32_t> lists_;
};

}  // namespace gradus::kmeans_detail
