// The assigner for few dimensions, which several variants use. simd_small_dim.cpp explains the idea and has the code.
#pragma once

#include <cstdint>
#include <vector>

#include "core/stop.hpp"
#include "kmeans/assign/simd_engine.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

inline constexpr std::int64_t small_dim_limit = 16;

/// The scratch memory of a thread.
struct SmallDimScratch {
  explicit SmallDimScratch(std::int64_t clusters, std::int64_t dimensions);

  Buffer<float> tile;               ///< dimensions x block: coordinates relative to the block's middle, scaled
  std::vector<float> coefficients;  ///< candidates x (dimensions + 1): the negated centroid, and half its squared norm
  std::vector<std::int32_t> candidates;  ///< clusters that may be nearest to some point of the block
  std::vector<double> nearest_corner;    ///< per cluster: lower bound of the distance to the bounding box of the block
  std::int32_t found[block_points + 64];
};

template <class T>
class SmallDimAssigner {
 public:
  explicit SmallDimAssigner(const Problem<T>& problem);

  void prepare(MatrixView<const T> centroids) { centroids_ = centroids; }

  struct Scratch : SmallDimScratch {
    explicit Scratch(const SmallDimAssigner& assigner)
        : SmallDimScratch(assigner.problem_.k(), assigner.problem_.d()) {}
  };

  std::int64_t assign(BlockRows<T>& block, const std::int32_t* before, std::int32_t* labels, Scratch& scratch);

  static std::uint64_t bytes(const Shape& shape, int threads);

 private:
  const Problem<T>& problem_;
  MatrixView<const T> centroids_;
  Matrix<T> boxes_;  ///< per block: the least and the greatest value of each column, determined when first needed
  std::vector<std::uint8_t> box_known_;
};

inline core::Support small_dim(const Shape& shape, const execution::Machine&) {
  return at_most(small_dim_limit, "columns", shape.dimensions, "; simd_large_dim takes more");
}

}  // namespace gradus::kmeans_detail
