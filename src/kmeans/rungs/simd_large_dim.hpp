// The assigner for many dimensions. simd_large_dim.cpp explains the idea.
#pragma once

#include "kmeans/assign/integer_filter.hpp"
#include "kmeans/assign/simd_engine.hpp"

namespace gradus::kmeans_detail {

template <class T>
class LargeDimAssigner {
 public:
  using TakesAnyBlocks = void;

  LargeDimAssigner(const Problem<T>& problem, int threads) : problem_(problem), filter_(problem, threads) {}

  void prepare(MatrixView<const T> centroids) { filter_.prepare(centroids); }

  struct Scratch : FilterScratch {
    explicit Scratch(const LargeDimAssigner& assigner) : FilterScratch(assigner.problem_.k(), assigner.problem_.d()) {}
  };

  std::int64_t assign(BlockRows<T>& block, const std::int32_t* before, std::int32_t* labels, FilterScratch& scratch);

  static std::uint64_t bytes(const Shape& shape, int threads) {
    return IntegerFilter<T>::bytes(shape) + static_cast<std::uint64_t>(threads) * FilterScratch::bytes(shape);
  }

 private:
  const Problem<T>& problem_;
  IntegerFilter<T> filter_;
};

}  // namespace gradus::kmeans_detail
