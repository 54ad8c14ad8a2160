// The driver's work around a GPU variant.
#pragma once

#include <cstdint>
#include <vector>

#include "life/problem.hpp"

namespace gradus::life_detail {

inline MatrixView<const std::uint64_t> rows_of(const LifeGridView& grid) {
  return {grid.words, grid.height, grid.row_words(), grid.stride, grid.place};
}
inline MatrixView<std::uint64_t> rows_of(const LifeGridSpan& grid) {
  return {grid.words, grid.height, grid.row_words(), grid.stride, grid.place};
}

/// Runs a GPU variant: copies the cells to the GPU, calls variant.run(), and copies the result back. Returns the number
/// of live cells if the result stays on the GPU, otherwise 0.
std::uint64_t run_on_gpu(const Problem& given, const Variant& variant, const Execution& execution,
                         std::vector<Phase>& phases);

}  // namespace gradus::life_detail
