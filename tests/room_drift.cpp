#include "tests/room_drift.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

namespace gradus::tests {

Room read_room(const std::string& problem) {
  const std::filesystem::path folder = std::filesystem::path(GRADUS_SOURCE_DIR) / "src" / problem;
  Room room;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".cu") continue;
    std::ifstream file(entry.path());
    std::getline(file, room.first_lines[entry.path().filename().string()]);
  }
  std::ifstream readme(folder / "README.md");
  room.readme.assign(std::istreambuf_iterator<char>(readme), {});
  return room;
}

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

}  // namespace gradus::tests
