// Whether a room's files, its list of rungs and the documents that name some of its variants agree. docs/tables.py
// writes and checks the tables that list all.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace gradus::tests {

/// What the check looks at, so that it can be tested with wrong rooms too.
struct Room {
  std::string problem;
  std::vector<std::string> table;                  ///< the variants' names in the table's order
  std::map<std::string, std::string> first_lines;  ///< of every .cpp and .cu file, by the file's name
  /// README.md and pages of docs/reference, by name. After "<!-- variants of PROBLEM -->" a table names variants that exist.
  std::map<std::string, std::string> documents;
};

/// The folder src/`problem` with everything but the table.
Room read_room(const std::string& problem);

template <class Rows>
Room room_of(const std::string& problem, const Rows& variants) {
  Room room = read_room(problem);
  for (const auto& variant : variants) room.table.emplace_back(variant.name);
  return room;
}

/// One line for each disagreement.
std::vector<std::string> drift(const Room& room);

}  // namespace gradus::tests
