// Tests that the files on disk, the table of variants and the documents agree. The drift test of k-means also tests
// this check itself.
#include <gtest/gtest.h>

#include "pair_histogram/problem.hpp"
#include "tests/room_drift.hpp"

namespace gradus::pair_histogram_detail {
namespace {

TEST(pair_histogram_drift, files_table_and_documents_agree) {
  const tests::Room room = tests::room_of("pair_histogram", variants());
  ASSERT_FALSE(room.table.empty());
  for (const std::string& line : tests::drift(room)) ADD_FAILURE() << line;
}

}  // namespace
}  // namespace gradus::pair_histogram_detail
