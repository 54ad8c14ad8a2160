#include "gradus/rows_of_rank.hpp"

#include <string>

#include "core/text.hpp"
#include "cpu/threads.hpp"
#include "gradus/error.hpp"
#include "ranks/same_call.hpp"

namespace gradus {

RowRange rows_of_rank(std::int64_t rows, int rank, int size) {
  if (rows < 0)
    throw UsageError(about("rows") + std::to_string(rows) + "; a number of rows is at least 0",
                     {.code = error_code::out_of_range, .value = std::to_string(rows), .allowed = "at least 0"});
  if (size < 1 || rank < 0 || rank >= size)
    throw UsageError(about("rank") + "there is no rank " + std::to_string(rank) + " of " + std::to_string(size),
                     {.code = error_code::out_of_range,
                      .value = std::to_string(rank),
                      .allowed = "from 0 to one less than the number of ranks"});
  // If there are many rows, the share of each rank begins at a multiple of this number.
  constexpr std::int64_t granule = 1024;
  const cpu::Range own = cpu::share(rows, rank, size, rows / size >= 16 * granule ? granule : 1);
  return {own.begin, own.size()};
}

RowRange rows_of_rank(std::int64_t rows, Communicator& communicator) {
  core::Ranks ranks(communicator, {});
  return ranks.run([&] {
    core::require_same_call(ranks, "rows_of_rank");
    core::require_same_options(ranks, core::call_line("rows", rows));
    return rows_of_rank(rows, ranks.rank(), ranks.size());
  });
}

}  // namespace gradus
