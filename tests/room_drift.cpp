#include "tests/room_drift.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

namespace gradus::tests {

namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the rows of each table that follows a line `marker`, without the two header lines of the table.
std::vector<std::vector<std::string>> tables_behind(const std::string& marker, const std::string& document) {
  std::vector<std::vector<std::string>> tables;
  std::istringstream lines(document);
  for (std::string line; std::getline(lines, line);) {
    if (line != marker) continue;
    std::vector<std::string> rows;
    while (std::getline(lines, line) && (line.empty() ? rows.empty() : line.front() == '|'))
      if (!line.empty()) rows.push_back(line);
    rows.erase(rows.begin(), rows.begin() + std::min<std::ptrdiff_t>(2, std::ssize(rows)));
    tables.push_back(std::move(rows));
  }
  return tables;
}

/// Checks the variants' names in document tables that list only some variants.
void find_drift_of_documents(const Room& room, std::vector<std::string>& found) {
  const std::regex any_name("`((sequential|openmp|tbb|simd|cuda)[a-z0-9_]*)`");
  for (const auto& [name, document] : room.documents)
    for (const auto& rows : tables_behind("<!-- variants of " + room.problem + " -->", document))
      for (const std::string& row : rows)
        for (std::sregex_iterator match(row.begin(), row.end(), any_name), end; match != end; ++match)
          if (std::ranges::count(room.table, (*match)[1].str()) == 0)
            found.push_back(name + " names " + (*match)[1].str() + ", which is no variant of " + room.problem);
}

/// Returns, for each variant, the file that introduces it. The file's first line is "// name: …" or "// name, name: …".
std::map<std::string, std::string> files_of_variants(const Room& room) {
  const std::regex head("// ([a-z0-9_]+(?:, [a-z0-9_]+)*):.*");
  const std::regex any_name("[a-z0-9_]+");
  std::map<std::string, std::string> files;
  for (const auto& [file, line] : room.first_lines) {
    std::smatch match;
    if (!std::regex_match(line, match, head)) continue;
    const std::string names = match[1];
    for (std::sregex_iterator name(names.begin(), names.end(), any_name), end; name != end; ++name)
      files.emplace(name->str(), file);
  }
  return files;
}

/// Returns true if the file is named after the variant or after a prefix of the variant's name. For example,
/// skip_list.cpp contains skip_list_leak.
bool is_named_after(const std::string& file, const std::string& variant) {
  return (variant + '_').starts_with(std::filesystem::path(file).stem().string() + '_');
}

}  // namespace

Room read_room(const std::string& problem) {
  const std::filesystem::path source(GRADUS_SOURCE_DIR);
  const std::filesystem::path folder = source / "src" / problem;
  Room room;
  room.problem = problem;
  for (const char* document : {"README.md", "docs/reference/variants.md", "docs/reference/memory.md"})
    room.documents[document] = contents(source / document);
  for (const auto& place : {folder, folder / "rungs"}) {
    if (!std::filesystem::exists(place)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(place)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".cu") continue;
      std::ifstream file(entry.path());
      std::getline(file, room.first_lines[entry.path().filename().string()]);
    }
  }
  return room;
}

std::vector<std::string> drift(const Room& room) {
  std::vector<std::string> found;
  const auto in_table = [&](const std::string& name) { return std::ranges::count(room.table, name) > 0; };
  const std::map<std::string, std::string> files = files_of_variants(room);
  for (const auto& [name, file] : files)
    if (!in_table(name)) found.push_back(file + " introduces " + name + ", which has no row in the table");
  for (const std::string& name : room.table) {
    if (std::ranges::count(room.table, name) > 1) found.push_back("the table has " + name + " twice");
    const auto file = files.find(name);
    if (file == files.end() || !is_named_after(file->second, name))
      found.push_back("no file named after " + name + " begins with '// " + name + ":'");
  }
  find_drift_of_documents(room, found);
  return found;
}

}  // namespace gradus::tests
