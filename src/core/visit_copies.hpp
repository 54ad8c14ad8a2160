// Visits rows of a matrix through copies in host memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gradus/array.hpp"

namespace gradus::core {

/// Calls visit(index of the first row, copied rows) for consecutive blocks of at most `count` rows until it returns
/// false. copy(first, number) returns a block in host memory. The first blocks are small, because the visit may end
/// soon, and later blocks grow.
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
