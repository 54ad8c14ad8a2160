#include "files/format.hpp"

#include <algorithm>
#include <optional>

#include "files/file.hpp"

namespace gradus::files {

namespace {

constinit std::array<std::optional<ReadFormats>, all_readers.size()> registered;

}  // namespace

bool is_among(std::string_view words, std::string_view word) {
  for (std::size_t at = 0; !word.empty() && (at = words.find(word, at)) != std::string_view::npos; ++at) {
    const std::size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

std::string_view Format::ending_in(const std::string& path) const {
  std::string ending = ending_of(path);
  if (may_be_packed && ending == ".gz") ending = ending_of(path.substr(0, path.size() - ending.size()));
  return is_among(endings, ending) ? endings.substr(endings.find(ending), ending.size()) : std::string_view();
}

RegisteredFormats::RegisteredFormats(Reader reader, ReadFormats formats) noexcept {
  registered[static_cast<std::size_t>(reader)] = formats;
}

const ReadFormats* formats_for(Reader reader) {
  const std::optional<ReadFormats>& formats = registered[static_cast<std::size_t>(reader)];
  return formats ? &*formats : nullptr;
}

bool names_format(Reader reader, const std::string& path) {
  const ReadFormats* const formats = formats_for(reader);
  return formats != nullptr &&
         std::ranges::any_of(formats->rows(), [&](const Format* format) { return format->names(path); });
}

std::string endings_for(Reader reader, std::string_view last) {
  std::string words;
  if (const ReadFormats* const formats = formats_for(reader))
    for (const Format* const format : formats->rows()) words.append(words.empty() ? "" : " ").append(format->endings);
  std::string text;
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t end = std::min(words.find(' ', begin), words.size());
    text.append(begin == 0 ? "" : end == words.size() ? last : ", ").append(words, begin, end - begin);
    begin = end + 1;
  }
  return text;
}

std::string readable(Reader reader) {
  const ReadFormats* const formats = formats_for(reader);
  return formats == nullptr ? "" : formats->text();
}

}  // namespace gradus::files
