#include "files/array_path.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "core/names.hpp"
#include "core/text.hpp"
#include "files/file.hpp"
#include "files/file_fields.hpp"
#include "files/format.hpp"
#include "gradus/error.hpp"

namespace gradus::files {

namespace {

std::string listed(std::span<const std::string_view> names, std::string_view file) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t index = 0; index < std::min(names.size(), most); ++index)
    text += (index == 0 ? "" : ", ") + std::string(file) + ":" + core::without_control(names[index]);
  return names.size() > most ? text + " and " + std::to_string(names.size() - most) + " more" : text;
}

}  // namespace

std::optional<ArrayPath> array_path(const std::string& path, std::string_view endings) {
  if (is_among(endings, ending_of(path))) return ArrayPath{path, ""};
  std::string lower = path;
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char character) { return static_cast<char>(std::tolower(character)); });
  while (!endings.empty()) {
    const std::string_view ending = endings.substr(0, endings.find(' '));
    const std::size_t end = lower.rfind(std::string(ending) + ":") + ending.size();
    if (end >= ending.size() && end + 1 < path.size()) return ArrayPath{path.substr(0, end), path.substr(end + 1)};
    endings.remove_prefix(std::min(ending.size() + 1, endings.size()));
  }
  return std::nullopt;
}

std::size_t choose_array(std::span<const std::string_view> names, std::string_view file, std::string_view array) {
  const auto refuse = [&](const std::string& what) {
    throw InputError("'" + std::string(file) + "': " + what, fields_of_file(file));
  };
  if (names.empty()) refuse("the file holds no array");
  if (array.empty()) {
    if (names.size() > 1)
      refuse("the file holds " + std::to_string(names.size()) + " arrays; say which one: " + listed(names, file));
    return 0;
  }
  const auto found = std::find(names.rbegin(), names.rend(), array);
  if (found == names.rend())
    refuse("there is no array " + core::excerpt(array) + core::did_you_mean(array, names) + "; there is " +
           listed(names, file));
  return static_cast<std::size_t>(names.rend() - found) - 1;
}

}  // namespace gradus::files
