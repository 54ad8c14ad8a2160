// Tests that the files on disk match the list of rungs. The k-means room tests the check itself.
#include <gtest/gtest.h>

#include "skeleton/problem.hpp"
#include "tests/room_drift.hpp"

namespace gradus::skeleton_detail {
namespace {

TEST(skeleton_drift, files_list_and_documents_agree) {
  const tests::Room room = tests::room_of("skeleton", variants());
  ASSERT_FALSE(room.table.empty());
  for (const std::string& line : tests::drift(room)) ADD_FAILURE() << line;
}

}  // namespace
}  // namespace gradus::skeleton_detail
