// Checks that the files on disk, the table of variants and the documents agree. The drift test of k-means also tests
// this check itself.
#include <gtest/gtest.h>

#include "sets/problem.hpp"
#include "tests/room_drift.hpp"

namespace gradus::sets_detail {
namespace {

TEST(sets_drift, files_table_and_documents_agree) {
  const tests::Room room = tests::room_of("sets", variants());
  ASSERT_FALSE(room.table.empty());
  for (const std::string& line : tests::drift(room)) ADD_FAILURE() << line;
}

}  // namespace
}  // namespace gradus::sets_detail
