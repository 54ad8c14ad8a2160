// What the rows of all formats have in common, and the formats that this program reads.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::files {

/// Purpose for which a file is read.
enum class Reader : std::uint8_t { points, graph, frames, pattern };
inline constexpr std::array all_readers = {Reader::points, Reader::graph, Reader::frames, Reader::pattern};

/// Returns true if `word` is one of the words, which blanks separate.
bool is_among(std::string_view words, std::string_view word);

/// What every row of a format says of its files. The file of a reader ends with the row.
struct Format {
  std::string_view name;     ///< "Matrix Market"
  std::string_view endings;  ///< of file names in small letters, between blanks; the first one is that of written files
  std::string_view rules;    ///< for the guide, in Markdown
  bool may_be_packed = true;  ///< endings may have .gz behind them

  /// The ending of the file's name, if it is one of these, without .gz; otherwise an empty text.
  std::string_view ending_in(const std::string& path) const;
  bool names(const std::string& path) const { return !ending_in(path).empty(); }
};

/// The formats that are read for a purpose.
struct ReadFormats {
  std::string_view kind;                 ///< what the files hold, for the guide: "graph"
  std::vector<const Format*> (*rows)();  ///< in the order in which texts list them
  std::string (*text)();                 ///< for messages: ".npy, .npz, … can be read"
  std::string (*generated)() = nullptr;  ///< what `gradus generate` writes: "graphs .mtx (Matrix Market), … or .npy"
};

/// Registers formats. The unit that lists their rows has a static object, so that units that do not know the list can
/// name them: readers below it, readers for another purpose, the guide. A program that does not read for a purpose has
/// no such formats.
class RegisteredFormats {
 public:
  RegisteredFormats(Reader reader, ReadFormats formats) noexcept;
};

/// The formats for this purpose, or null.
const ReadFormats* formats_for(Reader reader);

/// Returns true if the name of the file is that of such a format.
bool names_format(Reader reader, const std::string& path);

/// All their endings: ".xyz, .extxyz and .gro", with `last` before the last one. Empty if there are no such formats.
std::string endings_for(Reader reader, std::string_view last = " and ");

/// The formats that this reader takes, for messages: ".npy, .npz, … can be read".
std::string readable(Reader reader);

}  // namespace gradus::files
