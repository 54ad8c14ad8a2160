// Tests that the files on disk, the table of variants and the documents agree. The k-means tests test the check itself.
#include <gtest/gtest.h>

#include "matmul/variants.hpp"
#include "tests/room_drift.hpp"

namespace gradus::matmul_detail {
namespace {

TEST(matmul_drift, files_table_and_documents_agree) {
  const tests::Room room = tests::room_of("matmul", variants());
  ASSERT_FALSE(room.table.empty());
  for (const std::string& line : tests::drift(room)) ADD_FAILURE() << line;
}

}  // namespace
}  // namespace gradus::matmul_detail
