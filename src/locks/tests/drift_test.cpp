// Checks that the files on disk, the table of variants and the documents agree. The tests of k-means test the check
// itself.
#include <gtest/gtest.h>

#include "locks/variants.hpp"
#include "tests/room_drift.hpp"

namespace gradus::locks_detail {
namespace {

TEST(locks_drift, files_table_and_documents_agree) {
  const tests::Room room = tests::room_of("locks", variants());
  ASSERT_FALSE(room.table.empty());
  for (const std::string& line : tests::drift(room)) ADD_FAILURE() << line;
}

}  // namespace
}  // namespace gradus::locks_detail
