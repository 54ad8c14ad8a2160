// Tests that files on disk, the table of variants and the documents agree. The k-means room tests the check itself.
#include <gtest/gtest.h>

#include "shortest_paths/problem.hpp"
#include "tests/room_drift.hpp"

namespace gradus::shortest_paths_detail {
namespace {

TEST(shortest_paths_drift, files_table_and_documents_agree) {
  const tests::Room room = tests::room_of("shortest_paths", variants());
  ASSERT_FALSE(room.table.empty());
  for (const std::string& line : tests::drift(room)) ADD_FAILURE() << line;
}

}  // namespace
}  // namespace gradus::shortest_paths_detail
