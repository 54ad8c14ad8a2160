// Unsupported file formats, and formats of other commands: how to recognise them, and how the user can convert them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "files/format.hpp"

namespace gradus::files {

struct Remedy {
  enum class Kind : std::uint8_t {
    none,
    pandas,    ///< an expression after "pandas." that gives a data frame
    array,     ///< an expression that gives a NumPy array
    matrix,    ///< an expression that gives a SciPy matrix
    networkx,  ///< an expression that gives a networkx graph
    python,
    shell,
    advice
  };
  Kind kind = Kind::none;
  unsigned readers = 0;           ///< readers for which it is useful, as a sum of bit()
  std::string_view text;          ///< {in}: the file's name; {out}: the name without its ending; {ending}: the ending
  std::string_view imports = {};  ///< modules that an expression needs; for networkx an additional package

  static constexpr unsigned bit(Reader reader) { return 1u << static_cast<unsigned>(reader); }
  /// Returns the complete statements, command or sentence, with placeholders.
  std::string in_full() const;
};

struct ForeignFormat {
  std::string_view name;     ///< with an article
  std::string_view endings;  ///< of file names, lower case, blank-separated; or whole file names
  std::string_view begins;   ///< signature at the start of the file; empty: none
  /// Recognises the content if a signature does not suffice. If both are missing, only the name counts.
  bool (*recognises)(std::string_view bytes) = nullptr;
  std::array<Remedy, 3> remedies = {};
  /// Readers that support files of that name, as a sum of Remedy::bit(). The format is foreign to all other readers;
  /// and to these, if the content occurs under another name and there is a remedy.
  unsigned readers = 0;

  bool has_content(std::string_view bytes) const;
  bool has_name(std::string_view path) const;
  /// Returns the remedy for that reader, ready to paste into a shell, or "" if there is none.
  std::string remedy(const std::string& path, Reader reader) const;
};

/// Returns all rows. Of rows with the same content, the first one applies unless the name indicates another.
std::span<const ForeignFormat> foreign_formats();

/// Returns the format of the content, or else of the name, or null. `bytes`: at least the first 64 KiB, or all.
const ForeignFormat* foreign_format(std::string_view bytes, const std::string& path);

/// Throws InputError, or UnsupportedError for frames, with the name of the format and a remedy, if foreign_format()
/// recognises one. Call it after ruling out the reader's own formats and before parsing.
void refuse_foreign(std::string_view bytes, const std::string& path, Reader reader);

/// Returns "for example: " and a command for the file. The command may have the placeholders of Remedy::text.
std::string advice_to_run(std::string_view command, const std::string& path);

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
}  // namespace gradus::files
