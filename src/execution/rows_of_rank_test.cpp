// Rows split over ranks: every row belongs to one rank, and shares are even.
#include "gradus/rows_of_rank.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "tests/helpers.hpp"
#include "tests/thread_ranks.hpp"

namespace gradus {
namespace {

TEST(RowsOfRank, CoverAllRowsInEvenShares) {
  for (const int size : {1, 2, 3, 7, 16, 64})
    for (const std::int64_t rows : {0, 1, 2, 5, 13, 63, 64, 65, 1009, 16384, 104729, 1048576, 15485863}) {
      std::int64_t next = 0;
      std::int64_t least = rows;
      std::int64_t most = 0;
      for (int rank = 0; rank < size; ++rank) {
        const RowRange own = rows_of_rank(rows, rank, size);
        EXPECT_EQ(own.first, next);
        next += own.rows;
        least = std::min(least, own.rows);
        most = std::max(most, own.rows);
        if (rows / size >= 16384) EXPECT_EQ(own.first % 1024, 0);
        else EXPECT_EQ(own.rows, rows / size + (rank < rows % size ? 1 : 0));
      }
      EXPECT_EQ(next, rows) << rows << " rows, " << size << " ranks";
      EXPECT_LE(most - least, rows / size < 16384 ? 1 : 2047) << rows << " rows, " << size << " ranks";
    }
}

TEST(RowsOfRank, AreThoseOfTheCommunicator) {
  for (const std::int64_t rows : {0, 1, 3, 1009}) {
    tests::ThreadRanks ranks(4);
    const auto thrown = ranks.run([rows](Communicator& communicator) {
      const RowRange own = rows_of_rank(rows, communicator);
      const RowRange expected = rows_of_rank(rows, communicator.rank(), 4);
      EXPECT_EQ(std::pair(own.first, own.rows), std::pair(expected.first, expected.rows));
    });
    for (const std::exception_ptr& each : thrown) EXPECT_EQ(each, nullptr);
  }
}

TEST(RowsOfRank, RefuseWhatCannotBe) {
  for (const auto& [rows, rank, size] : {std::tuple{-1, 0, 1}, {5, 3, 3}, {5, -1, 3}, {5, 0, 0}})
    EXPECT_THROW(rows_of_rank(rows, rank, size), UsageError) << rows << " " << rank << " " << size;
  const std::string differ = tests::common_error<UsageError>(
      3, [](Communicator& communicator) { rows_of_rank(communicator.rank() == 2 ? 11 : 10, communicator); });
  EXPECT_TRUE(tests::contains(differ, "rank 2 of 3: 'rows=11' here, but 'rows=10' on rank 0")) << differ;
  const std::string negative =
      tests::common_error<UsageError>(2, [](Communicator& communicator) { rows_of_rank(-1, communicator); });
  EXPECT_TRUE(tests::contains(negative, "rows: -1")) << negative;
}

}  // namespace
}  // namespace gradus
