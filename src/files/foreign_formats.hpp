// File formats that no reader of ours takes, or that another command takes: how to recognise them, and what to do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "files/format.hpp"

namespace gradus::files {

/// A way to a file that can be read.
struct Remedy {
  enum class Kind : std::uint8_t {
    none,
    pandas,    ///< the expression behind "pandas." that is a data frame
    array,     ///< an expression that is an array of NumPy
    matrix,    ///< an expression that is a matrix of SciPy
    networkx,  ///< an expression that is a graph of networkx
    python,    ///< statements
    shell,     ///< a command line
    advice     ///< a sentence
  };
  Kind kind = Kind::none;
  unsigned readers = 0;           ///< for which it is of use: a sum of bit()
  std::string_view text;          ///< {in}: the file's name; {out}: the same without its ending; {ending}: that ending
  std::string_view imports = {};  ///< modules that an expression needs; for networkx, a package that it needs

  static constexpr unsigned bit(Reader reader) { return 1u << static_cast<unsigned>(reader); }
  /// Statements, command or sentence, with its placeholders.
  std::string in_full() const;
};

struct ForeignFormat {
  std::string_view name;     ///< with its article
  std::string_view endings;  ///< of file names in small letters, between blanks; or whole names of files
  std::string_view begins;   ///< signature at the first byte; empty: none
  /// Recognises the content where a signature does not suffice. Without either, the name alone tells.
  bool (*recognises)(std::string_view bytes) = nullptr;
  std::array<Remedy, 3> remedies = {};
  /// Readers that take files of that name, a sum of Remedy::bit(). To the others, and where such content has another
  /// name and there is a remedy, the format is foreign.
  unsigned readers = 0;

  bool has_content(std::string_view bytes) const;
  bool has_name(std::string_view path) const;
  /// The remedy for that reader, ready to be copied to a shell; empty: there is none.
  std::string remedy(const std::string& path, Reader reader) const;
};

/// All rows. Of rows with the same content, the first one is meant unless the name tells another.
std::span<const ForeignFormat> foreign_formats();

/// The format of the content, or else the one that the name tells; null: none that is known. `bytes`: the beginning of
/// the content, 64 KiB if it has as many, or all of it.
const ForeignFormat* foreign_format(std::string_view bytes, const std::string& path);

/// Throws InputError, or UnsupportedError for frames, that names the format and a remedy, where foreign_format() knows
/// one. Call it before the bytes are parsed, and after the reader's own formats were ruled out.
void refuse_foreign(std::string_view bytes, const std::string& path, Reader reader);

/// Returns advice to run a command on the file: "for example: iconv … t.csv > t-converted.csv". The command has the
/// placeholders of Remedy::text.
std::string advice_to_run(std::string_view command, const std::string& path);

/// Bytes as these functions want them.
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
}  // namespace gradus::files
