// Files on disk, the table of variants and the room's README are kept in step: whoever adds a rung in one of them and
// forgets another is told which.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {
namespace {

/// What the check looks at, so that it can be tested with wrong rooms too.
struct Room {
  std::vector<std::string> table;                  ///< the variants' names in the table's order
  std::map<std::string, std::string> first_lines;  ///< of every .cpp and .cu file, by the file's name
  std::string readme;
};

Room this_room() {
  const std::filesystem::path folder = std::filesystem::path(GRADUS_SOURCE_DIR) / "src" / "kmeans";
  Room room;
  for (const Variant& variant : variants()) room.table.emplace_back(variant.name);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".cu") continue;
    std::ifstream file(entry.path());
    std::getline(file, room.first_lines[entry.path().filename().string()]);
  }
  std::ifstream readme(folder / "README.md");
  room.readme.assign(std::istreambuf_iterator<char>(readme), {});
  return room;
}

/// One line for everything that is out of step.
std::vector<std::string> drift(const Room& room) {
  std::vector<std::string> found;
  const auto in_table = [&](const std::string& name) { return std::ranges::count(room.table, name) > 0; };
  for (const std::string& name : room.table) {
    if (std::ranges::count(room.table, name) > 1) found.push_back("the table has " + name + " twice");
    const auto cpp = room.first_lines.find(name + ".cpp");
    const auto file = cpp != room.first_lines.end() ? cpp : room.first_lines.find(name + ".cu");
    if (file == room.first_lines.end()) found.push_back("there is no file " + name + (".cpp or " + name + ".cu"));
    else if (!file->second.starts_with("// " + name + ":"))
      found.push_back(file->first + " does not begin with '// " + name + ":'");
  }

  const std::regex head("// ([a-z0-9_]+):.*");
  for (const auto& [file, line] : room.first_lines) {
    std::smatch match;
    if (std::regex_match(line, match, head) && !in_table(match[1]))
      found.push_back(file + " introduces " + match[1].str() + ", which has no row in the table");
  }

  const std::regex row(R"(\| \[`([a-z0-9_]+)`\]\(([a-z0-9_.]+)\) \|.*)");
  std::vector<std::string> rows;
  std::istringstream lines(room.readme);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, row)) continue;
    rows.push_back(match[1]);
    if (!in_table(match[1])) found.push_back("README.md has a row " + match[1].str() + ", which is not in the table");
    if (room.first_lines.count(match[2]) == 0) found.push_back("README.md links to no file " + match[2].str());
    if (match[2] != match[1].str() + ".cpp" && match[2] != match[1].str() + ".cu")
      found.push_back("README.md links " + match[1].str() + " to " + match[2].str());
  }
  for (const std::string& name : room.table)
    if (std::ranges::count(rows, name) != 1)
      found.push_back("README.md has " + std::to_string(std::ranges::count(rows, name)) + " rows for " + name);
  if (found.empty() && rows != room.table) found.emplace_back("README.md has its rows in another order than the table");
  return found;
}

TEST(ladder_drift, files_table_and_readme_are_in_step) {
  const Room room = this_room();
  ASSERT_FALSE(room.table.empty());
  for (const std::string& line : drift(room)) ADD_FAILURE() << line;
}

// The check itself: each thing taken away or added is noticed.
TEST(ladder_drift, notices_a_missing_table_row) {
  Room room = this_room();
  room.table.pop_back();
  EXPECT_EQ(drift(room).size(), 2u);  // the file's head and the README row
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
  EXPECT_EQ(drift(room).size(), 1u);
}

}  // namespace
}  // namespace gradus::kmeans_detail
