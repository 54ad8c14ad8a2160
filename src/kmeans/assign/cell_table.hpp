// A regular grid of cells over the bounding box of the points. For each cell, the table stores the clusters that may be
// nearest to a point in the cell, usually one. Used by simd_grid.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "gradus/array.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

inline constexpr std::int64_t grid_dim_limit = 3;
inline constexpr std::int64_t grid_cluster_limit = 1 << 24;

/// One axis of the grid. Cell i contains the coordinates x with |(x - origin) / step - i| <= 1/2 + slack. The first and
/// the last cell extend to `lowest` and `highest`.
struct CellAxis {
  double origin = 0;  ///< middle of the first cell
  double step = 1;
  double slack = 0;  ///< in cells; covers the rounding errors of callers that compute i
  double lowest = 0;
  double highest = 0;
  int bits = 0;  ///< the axis has 2^bits cells
};

class CellTable {
 public:
  /// Flag of an entry with several candidates. The bits `place` of such an entry hold the position of its list in
  /// lists().
  static constexpr std::int32_t mixed = INT32_MIN;
  /// Additional flag of an entry whose list contains two clusters.
  static constexpr std::int32_t pair = 1 << 30;
  static constexpr std::int32_t place = pair - 1;

  CellTable() = default;
  /// `occupied` has one element per cell. The element is nonzero if the cell contains a point. build() skips empty
  /// cells. If `occupied` has no elements, all cells count as occupied.
  CellTable(std::vector<CellAxis> axes, std::int64_t clusters, std::span<const std::uint8_t> occupied);

  /// Fills the table for `centroids` (row-major). The table consists of at most 64 tiles. The work for a tile is
  /// O(cells of the tile + candidates of the tile). Because of this bound, the table may keep long lists if many
  /// centroids share a cell. Returns false, and leaves a table without meaning, if the memory does not suffice for the
  /// candidates of all tiles. Throws InterruptedError after a stop request.
  bool build(const std::vector<double>& centroids, int threads, const std::stop_token& stop);

  /// Returns one entry per cell; the index along the first axis varies fastest. If only one cluster can be nearest, the
  /// entry is the label of all points in the cell. Otherwise the entry is the position of a list in lists(), combined
  /// with the flag `mixed` and, if the list has two clusters, the flag `pair`.
  const std::int32_t* entries() const { return entries_.data(); }
  /// Returns the lists. The first element of a list is its number of clusters. The clusters follow in ascending order.
  const std::int32_t* lists() const { return lists_.data(); }

  static std::uint64_t bytes(std::int64_t cells, std::int64_t clusters, std::int64_t dimensions, int threads);

 private:
  template <int D>
  class TileBuilder;
  template <int D>
  class Builders;

  /// A box of 2^size[i] cells along each axis i.
  struct Node {
    std::int32_t first[grid_dim_limit];
    int size[grid_dim_limit];
  };

  Node whole() const;
  bool split(const Node& node, Node& lower, Node& upper) const;
  void plant_tree(std::span<const std::uint8_t> occupied);
  bool is_occupied(std::int64_t box) const { return tree_.empty() || tree_[static_cast<std::size_t>(box)] != 0; }
  template <int D>
  bool build_tiles(const std::vector<double>& centroids, int threads, const std::stop_token& stop);

  std::vector<CellAxis> axes_;
  std::int64_t clusters_ = 0;
  std::vector<Node> tiles_;
  std::vector<std::int64_t> tile_cells_;  ///< number of occupied cells in each tile
  /// One flag per box. A flag is nonzero if the box contains an occupied cell. The boxes form a binary heap: box 1 is
  /// the whole space, and the halves of box i are boxes 2 i and 2 i + 1. All boxes of a level are split along the same
  /// axis. If tree_ is empty, all cells are occupied.
  std::vector<std::uint8_t> tree_;
  Buffer<std::int32_t> entries_;
  Buffer<std::int32_t> lists_;
};

}  // namespace gradus::kmeans_detail
