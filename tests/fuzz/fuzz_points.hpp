// Code that the fuzzers of point formats share.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "files/points_format.hpp"

namespace gradus::files {

/// Reads rows [first, last) and every element of them. Aborts if the rows have another shape or type than promised.
inline void read_rows_of(const RowsInFile& all, std::int64_t first, std::int64_t last) {
  const Points points = all.read(first, last, "input", {}, {});
  if (points.rows() != last - first || points.columns() != all.columns || points.type() != all.type()) std::abort();
  points.visit([](const auto& view) {
    volatile double sink = 0;
    for (std::int64_t row = 0; row < view.rows(); ++row)
      for (std::int64_t column = 0; column < view.columns(); ++column) sink = view(row, column);
    (void)sink;
  });
}

}  // namespace gradus::files
