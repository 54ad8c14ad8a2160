// Checks that a room's files, its list of rungs and the documents that name some of its variants agree. docs/tables.py
// writes and checks the tables that list all variants.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace gradus::tests {

/// The input of the check. Tests also fill it with inconsistent data.
struct Room {
  std::string problem;
  std::vector<std::string> table;                  ///< names of the variants, in the order of the table
  std::map<std::string, std::string> first_lines;  ///< first line of every .cpp and .cu file, by file name
  /// README.md and pages of docs/reference, by name. A table after "<!-- variants of PROBLEM -->" must name existing
  /// variants.
  std::map<std::string, std::string> documents;
};

/// Reads the folder src/`problem`. Leaves the member `table` empty.
Room read_room(const std::string& problem);

template <class Rows>
Room room_of(const std::string& problem, const Rows& variants) {
  Room room = read_room(problem);
  for (const auto& variant : variants) room.table.emplace_back(variant.name);
  return room;
}

/// Returns one line per disagreement.
std::vector<std::string> drift(const Room& room);

}  // namespace gradus::tests
