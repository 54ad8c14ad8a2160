// Checks that the files of the rungs, the table of variants and the documents agree. Also tests drift(), the check
// itself.
#include <gtest/gtest.h>

#include "kmeans/problem.hpp"
#include "tests/room_drift.hpp"

namespace gradus::kmeans_detail {
namespace {

using tests::drift;
using tests::Room;

Room this_room() { return tests::room_of("kmeans", variants()); }

TEST(ladder_drift, files_table_and_documents_agree) {
  const Room room = this_room();
  ASSERT_FALSE(room.table.empty());
  for (const std::string& line : drift(room)) ADD_FAILURE() << line;
}

// The tests below add or remove items. drift() must report each of these changes.
TEST(ladder_drift, notices_a_missing_table_row) {
  Room room = this_room();
  room.table.pop_back();
  // drift() reports at least one fault, either in the first line of the file or in documents that name the variant.
  EXPECT_GE(drift(room).size(), 1u);
}

TEST(ladder_drift, notices_a_missing_file) {
  Room room = this_room();
  ASSERT_EQ(room.first_lines.erase(room.table.back() + ".cpp") + room.first_lines.erase(room.table.back() + ".cu"), 1u);
  EXPECT_EQ(drift(room).size(), 1u);
}

TEST(ladder_drift, notices_a_file_without_its_name_at_the_head) {
  Room room = this_room();
  for (auto& [file, line] : room.first_lines)
    if (file.starts_with(room.table.front() + ".")) line = "// Lloyd's iteration.";
  EXPECT_EQ(drift(room).size(), 1u);
}

TEST(ladder_drift, notices_a_file_too_many) {
  Room room = this_room();
  room.first_lines["openmp_unlisted.cpp"] = "// openmp_unlisted: no row has it.";
  EXPECT_EQ(drift(room).size(), 1u);
}

TEST(ladder_drift, notices_documents_that_name_other_variants) {
  Room room = this_room();
  room.documents.at("docs/reference/variants.md") +=
      "\n<!-- variants of kmeans -->\n| variant |\n|---|\n| `openmp_unlisted` |\n";
  EXPECT_EQ(drift(room).size(), 1u);
}

}  // namespace
}  // namespace gradus::kmeans_detail
