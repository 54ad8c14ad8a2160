// A job's part on a GPU: what the frame does around a variant that works there.
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

/// As variant.run() for a variant that works on a GPU: brings the cells there, and the result back. Returns the number
/// of live cells where the result stays there, and otherwise 0.
std::uint64_t run_on_gpu(const Problem& given, const Variant& variant, const Execution& execution,
                         std::vector<Phase>& phases);

}  // namespace gradus::life_detail
