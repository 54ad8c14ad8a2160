// Checks that files on disk, the table of variants and the documents agree. The check itself is tested with k-means.
#include <gtest/gtest.h>

#include "life/problem.hpp"
#include "tests/room_drift.hpp"

namespace gradus::life_detail {
namespace {

TEST(life_drift, files_table_and_documents_agree) {
  const tests::Room room = tests::room_of("life", variants());
  ASSERT_FALSE(room.table.empty());
  for (const std::string& line : tests::drift(room)) ADD_FAILURE() << line;
}

}  // namespace
}  // namespace gradus::life_detail
