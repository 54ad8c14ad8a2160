// Visits the rows of a matrix. Each visited block of rows is a copy in host memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gradus/array.hpp"

namespace gradus::core {

/// Calls visit(first, rows) for consecutive blocks of a matrix with `count` rows. Ends when visit() returns false.
/// `first` is the index of the block's first row, and `rows` is a copy of the block in host memory, made by copy(first,
/// number). The first blocks are small, because visit() may return false soon. Later blocks are larger.
template <class T, class Copy, class Visit>
void visit_copies(std::int64_t count, const Copy& copy, const Visit& visit) {
  constexpr std::int64_t most = 65536;
  std::int64_t number = 1024;
  for (std::int64_t first = 0; first < count; first += number, number = std::min(2 * number, most)) {
    number = std::min(number, count - first);
    const Matrix<T> rows = copy(first, number);
    if (!visit(first, rows.view())) return;
  }
}

}  // namespace gradus::core
