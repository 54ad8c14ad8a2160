// Recognises file formats that are unsupported or belong to other commands, and states how the user can convert such
// files.
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
  unsigned readers = 0;   ///< sum of Remedy::bit() over the readers for which the remedy is useful
  std::string_view text;  ///< text with placeholders: {in} is the file's name, {out} the name without its ending,
                          ///< {ending} the ending
  std::string_view imports = {};  ///< modules that an expression imports; for networkx, an additional package

  static constexpr unsigned bit(Reader reader) { return 1u << static_cast<unsigned>(reader); }
  /// Returns the complete statements, command or sentence, with placeholders.
  std::string in_full() const;
};

struct ForeignFormat {
  std::string_view name;     ///< name of the format, with an article
  std::string_view endings;  ///< endings of file names in lower case, or whole file names; blank-separated
  std::string_view begins;   ///< signature at the beginning of the file; empty if the format has none
  /// Recognises the content if a signature does not suffice. Without signature and function, only the name counts.
  bool (*recognises)(std::string_view bytes) = nullptr;
  std::array<Remedy, 3> remedies = {};
  /// The readers that support this format, as a sum of Remedy::bit(). They recognise it by the name of the file. If a
  /// file in this format has another name and there is a remedy, these readers refuse the file too. For all other
  /// readers, the format is foreign.
  unsigned readers = 0;

  bool has_content(std::string_view bytes) const;
  bool has_name(std::string_view path) const;
  /// Returns the remedy for the reader, as a text that the user can paste into a shell, or "" if there is none.
  std::string remedy(const std::string& path, Reader reader) const;
};

/// Returns the rows of all formats. If several rows match the content, the name of the file decides. If it does not
/// indicate any of these rows, the first of them applies.
std::span<const ForeignFormat> foreign_formats();

/// Returns the format that the content indicates, or else the format that the name indicates, or null. `bytes` contains
/// at least the first 64 KiB of the file, or all of it.
const ForeignFormat* foreign_format(std::string_view bytes, const std::string& path);

/// If foreign_format() recognises a format, throws an error with the format's name and a remedy: UnsupportedError if
/// the reader is Reader::frames, otherwise InputError. Each reader calls this
/// function before parsing, after it has excluded the formats that it supports.
void refuse_foreign(std::string_view bytes, const std::string& path, Reader reader);

/// Returns "for example: " followed by a command for the file. `command` may contain the placeholders of Remedy::text.
std::string advice_to_run(std::string_view command, const std::string& path);

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
}  // namespace gradus::files
