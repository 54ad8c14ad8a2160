// The members that the rows of all formats have in common, and the registry of the formats that this program reads.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::files {

enum class Reader : std::uint8_t { points, graph, frames, pattern };
inline constexpr std::array all_readers = {Reader::points, Reader::graph, Reader::frames, Reader::pattern};

/// Returns true if `word` is one of the blank-separated words.
bool is_among(std::string_view words, std::string_view word);

/// The members that the rows of all formats have in common. Each reader's source file ends with the row of its format.
struct Format {
  std::string_view name;      ///< for example "Matrix Market"
  std::string_view endings;   ///< blank-separated, in lower case; written files get the first one
  std::string_view rules;     ///< text for the guide, in Markdown
  bool may_be_packed = true;  ///< true if .gz may follow the ending

  /// Returns the ending of the file's name, without .gz, if it is one of `endings`; otherwise "".
  std::string_view ending_in(const std::string& path) const;
  bool names(const std::string& path) const { return !ending_in(path).empty(); }
};

struct ReadFormats {
  std::string_view kind;                 ///< kind of content, for the guide; for example "graph"
  std::vector<const Format*> (*rows)();  ///< returns the formats, in the order in which lists show them
  std::string (*text)();                 ///< returns a text for messages: ".npy, .npz, … can be read"
  /// Returns the formats that `gradus generate` writes: "graphs .mtx (Matrix Market), … or .npy".
  std::string (*generated)() = nullptr;
};

/// Registers the formats of a reader. The source file with the list of the reader's formats defines a static object of
/// this class. Other code can then name these formats without including the list: lower-level readers, readers for
/// other purposes, and the guide.
class RegisteredFormats {
 public:
  RegisteredFormats(Reader reader, ReadFormats formats) noexcept;
};

/// Returns the registered formats of `reader`, or null if none are registered.
const ReadFormats* formats_for(Reader reader);

bool names_format(Reader reader, const std::string& path);

/// Returns the endings of all formats of a reader, with the word `last` before the last ending: ".xyz, .extxyz and
/// .gro".
std::string endings_for(Reader reader, std::string_view last = " and ");

/// Returns the formats of a reader, for messages: ".npy, .npz, … can be read".
std::string readable(Reader reader);

}  // namespace gradus::files
