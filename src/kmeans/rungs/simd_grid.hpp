// The assigner for one to three dimensions. simd_grid.cpp explains the idea.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kmeans/assign/cell_table.hpp"
#include "kmeans/assign/simd_engine.hpp"
#include "kmeans/assign/small_dim_assigner.hpp"

namespace gradus::kmeans_detail {

/// Parameters that determine the cell of a point x. On each axis, the index of the cell is (x - origin) * scale in the
/// data's arithmetic, rounded to the nearest integer and clamped to [0, last].
template <class T>
struct CellIndex {
  T origin[grid_dim_limit];
  T scale[grid_dim_limit];
  T last[grid_dim_limit];
  int shift[grid_dim_limit];
};

template <class T>
class GridAssigner {
 public:
  GridAssigner(const Problem<T>& problem, int threads);

  void prepare(MatrixView<const T> centroids);

  struct Scratch {
    explicit Scratch(const GridAssigner& assigner) : assigner_(assigner) {}
    /// Returns the scratch memory of the filter, allocated on first use.
    typename SmallDimAssigner<T>::Scratch& filter();

    std::int32_t cells[block_points];
    std::int32_t pairs[block_points];  ///< points whose cells have two candidates
    std::int32_t longer[block_points];

   private:
    const GridAssigner& assigner_;
    std::optional<typename SmallDimAssigner<T>::Scratch> filter_;
  };

  std::int64_t assign(BlockRows<T>& block, const std::int32_t* before, std::int32_t* labels, Scratch& scratch);

  static std::uint64_t bytes(const Shape& shape, int threads);

 private:
  void lay_grid();
  void divide(std::vector<CellAxis>& axes, const std::vector<double>& lengths, int bits);
  std::vector<std::uint8_t> occupied_cells(int bits) const;
  bool grid_pays() const;

  const Problem<T>& problem_;
  int threads_;
  CellIndex<T> index_{};
  CellTable table_;
  std::vector<std::int32_t> sample_;  ///< cells of the sampled points
  std::vector<double> centroids_;     ///< centroids of this pass
  bool use_grid_ = false;             ///< true if this pass uses the grid
  SmallDimAssigner<T> filter_;
};

}  // namespace gradus::kmeans_detail
