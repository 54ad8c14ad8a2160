/// The rows of a rank where the rows of a problem are split evenly over ranks: see gradus/communicator.hpp.
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

/// Returns the rows of one rank where `rows` rows are split evenly over `size` ranks, in the order of the ranks. Shares
/// differ by at most one row; from 16,384 rows for each rank on they begin at multiples of 1,024 rows and differ by
/// less than twice as many. With fewer rows than ranks the last ranks have none. Throws UsageError for a negative
/// number of rows and a rank that is not from 0 to size - 1.
GRADUS_EXPORT RowRange rows_of_rank(std::int64_t rows, int rank, int size);
/// Returns the rows of this rank. All ranks call this together; throws UsageError on all of them unless `rows` is the
/// same everywhere.
GRADUS_EXPORT RowRange rows_of_rank(std::int64_t rows, Communicator& communicator);

}  // namespace gradus
