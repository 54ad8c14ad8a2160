// Files on disk, the table of variants and the documents agree: whoever adds a rung to one of them and forgets another
// is told which.
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

// The check itself: each thing taken away or added is noticed.
TEST(ladder_drift, notices_a_missing_table_row) {
  Room room = this_room();
  room.table.pop_back();
  EXPECT_GE(drift(room).size(), 3u);  // the file's head, the README row, the other documents
}

TEST(ladder_drift, notices_a_missing_file) {
  Room room = this_room();
  ASSERT_EQ(room.first_lines.erase(room.table.back() + ".cpp") + room.first_lines.erase(room.table.back() + ".cu"), 1u);
  EXPECT_EQ(drift(room).size(), 2u);  // the table's row and the README's link
}

TEST(ladder_drift, notices_a_file_without_its_name_at_the_head) {
  Room room = this_room();
  for (auto& [file, line] : room.first_lines)
    if (file.starts_with(room.table.front() + ".")) line = "// Lloyd's iteration.";
  EXPECT_EQ(drift(room).size(), 1u);
}

TEST(ladder_drift, notices_a_missing_readme_row) {
  Room room = this_room();
  const std::size_t begin = room.readme.find("\n| [`" + room.table.back() + "`]");
  ASSERT_NE(begin, std::string::npos);
  room.readme.erase(begin, room.readme.find('\n', begin + 1) - begin);
  EXPECT_EQ(drift(room).size(), 1u);
}

TEST(ladder_drift, notices_a_file_and_a_readme_row_too_many) {
  Room room = this_room();
  room.first_lines["openmp_unlisted.cpp"] = "// openmp_unlisted: no row has it.";
  EXPECT_EQ(drift(room).size(), 1u);
  room.readme += "\n| [`openmp_unlisted`](openmp_unlisted.cpp) | no row has it | nothing | — |\n";
  EXPECT_EQ(drift(room).size(), 2u);
}

TEST(ladder_drift, notices_another_order) {
  Room room = this_room();
  ASSERT_GE(room.table.size(), 2u);
  std::swap(room.table[0], room.table[1]);
  EXPECT_EQ(drift(room).size(), 2u);  // of the room's README and of the project's
}

TEST(ladder_drift, notices_documents_that_list_other_variants) {
  Room room = this_room();
  std::string& readme = room.documents.at("README.md");
  readme.erase(readme.find("\n| `" + room.table.back() + "`"), 1);  // two rows in one line
  EXPECT_EQ(drift(room).size(), 1u);
  room.documents.at("docs/guide.md") += "\n<!-- variants of kmeans -->\n| variant |\n|---|\n| `openmp_unlisted` |\n";
  EXPECT_EQ(drift(room).size(), 2u);
}

}  // namespace
}  // namespace gradus::kmeans_detail
