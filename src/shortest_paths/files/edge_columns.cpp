#include "shortest_paths/files/edge_columns.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <optional>
#include <utility>

#include "files/columns.hpp"
#include "files/number.hpp"

namespace gradus::files {

std::vector<std::string> words_of_name(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char character : text) {
    if (character == '_' || character == '-' || character == '.' || is_blank(character)) words.emplace_back();
    else words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
  }
  return words;
}

Role role_of(std::string_view text) {
  using Words = std::vector<std::string_view>;
  static const std::array<Words, roles> whole = {Words{"u", "i", "node1", "nodea", "node_1", "vertex1", "id1"},
                                                 Words{"v", "j", "node2", "nodeb", "node_2", "vertex2", "id2", "child"},
                                                 Words{"w", "value"}};
  static const std::array<Words, roles> parts = {
      Words{"from", "source", "src", "origin", "tail", "start"},
      Words{"to", "target", "dst", "dest", "destination", "head", "end"},
      Words{"weight", "weights", "length", "len", "cost", "distance", "dist", "time", "duration", "km", "miles",
            "meters", "metres", "hours", "minutes", "seconds"}};
  // Names of columns that hold neither an end nor the weight of an edge.
  static const Words others = {"x",         "y",    "lat",  "lon",  "lng",     "latitude",
                               "longitude", "date", "type", "name", "arrival", "departure"};
  for (std::size_t role = 0; role < roles; ++role)
    if (std::ranges::any_of(whole[role], [&](std::string_view word) { return equal_but_for_case(text, word); }))
      return static_cast<Role>(role);
  const std::vector<std::string> words = words_of_name(text);
  const auto any_of = [&](const Words& list) {
    return std::ranges::any_of(words, [&](const std::string& word) { return std::ranges::count(list, word) > 0; });
  };
  const bool begins = any_of(parts[0]);
  const bool ends = any_of(parts[1]);
  const bool weighs = any_of(parts[2]);
  if (words.size() > 1 && any_of(others)) return Role::none;
  if (begins != ends && !weighs) return begins ? Role::from : Role::to;
  return weighs && !begins && !ends ? Role::weight : Role::none;
}

bool names_vertices(std::string_view text) { return role_of(text) == Role::from || role_of(text) == Role::to; }

std::string columns_by_names(const std::vector<std::string>& names) {
  if ((names.size() == roles || names.size() == roles + 1) && names.front().empty() &&
      std::all_of(names.begin() + 1, names.end(), [](const auto& name) { return is_number(name); })) {
    std::vector<std::size_t> behind_index(names.size() - 1);
    std::iota(behind_index.begin(), behind_index.end(), 1);
    return column_items(names, behind_index);
  }
  std::array<std::optional<std::size_t>, roles> found;
  std::vector<std::size_t> others;
  for (std::size_t column = 0; column < names.size(); ++column) {
    const Role role = role_of(names[column]);
    if (role == Role::none) {
      if (!names[column].empty()) others.push_back(column);
    } else if (std::exchange(found[static_cast<std::size_t>(role)], column)) {
      return {};
    }
  }
  if (!found[0] || !found[1]) return {};
  std::vector<std::size_t> columns{*found[0], *found[1]};
  if (found[2]) columns.push_back(*found[2]);
  return found[2] || others.empty() ? column_items(names, columns) : std::string();
}

}  // namespace gradus::files
