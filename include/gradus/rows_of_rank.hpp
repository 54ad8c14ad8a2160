/// Splits the rows of a problem evenly over the ranks (gradus/communicator.hpp), and returns the rows of one rank.
#pragma once

#include <cstdint>

#include "gradus/communicator.hpp"
#include "gradus/export.hpp"

namespace gradus {

/// Consecutive rows of a matrix.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t rows = 0;
};

/// Returns the rows of one rank if `rows` rows are split evenly over `size` ranks, in rank order. With fewer than
/// 16,384 rows per rank, the shares of two ranks differ by at most one row. From 16,384 rows per rank on, shares begin
/// at multiples of 1,024 rows and differ by less than 2,048 rows. If there are fewer rows than ranks, the last ranks
/// have none. Throws UsageError for a negative number of rows and for a rank outside 0 to size - 1.
GRADUS_EXPORT RowRange rows_of_rank(std::int64_t rows, int rank, int size);
/// Returns the rows of this rank. Collective: all ranks call it together. Throws UsageError on all ranks unless `rows`
/// is the same on every rank.
GRADUS_EXPORT RowRange rows_of_rank(std::int64_t rows, Communicator& communicator);

}  // namespace gradus
