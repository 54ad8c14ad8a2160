// The rows of a table of text: what several threads do at once, each with a stretch of whole rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/columns.hpp"
#include "io/number.hpp"

namespace gradus::io {

/// The first such character, or the end.
inline const char* find_character(const char* at, const char* end, char character) {
  const void* const found = at == end ? nullptr : std::memchr(at, character, static_cast<std::size_t>(end - at));
  return found ? static_cast<const char*>(found) : end;
}

/// A line's end is LF, CRLF, or CR or nothing at the end of the text.
inline bool at_line_end(const char* at, const char* end) {
  return at == end || *at == '\n' || (*at == '\r' && (at + 1 == end || at[1] == '\n'));
}

/// The quote that ends the field which the one at `at` begins, over doubled ones; nullptr where there is none.
const char* closing_quote(const char* at, const char* end);

/// Whole rows, and what was found in them. Lines count from 1, those of the stretch alone.
struct CsvStretch {
  std::string_view text;
  std::unique_ptr<double[]> values;  ///< those of all rows, one after the other
  std::size_t room = 0;
  std::size_t count = 0;
  RowNames row_names;
  std::size_t rows = 0;
  std::size_t lines = 0;           ///< that lie behind
  std::size_t leading_blank = 0;   ///< the first blank line before the first row; 0: there is none
  std::size_t trailing_blank = 0;  ///< the first one behind the last row
  // What is wrong, where something is.
  std::string wrong;
  std::size_t wrong_line = 0;
  std::size_t wrong_field = 0;
  bool wrong_row = false;  ///< it is in a row, not in a comment
};

/// How the rows of a table are taken apart. Any number of threads may use it at once.
struct CsvRows {
  char separator = ',';  ///< ' ' stands for blanks, as many as there are
  NumberFormat quoted_format;
  NumberFormat format;  ///< outside quotes, where what separates fields is no part of a number
  std::size_t columns = 0;
  std::vector<std::ptrdiff_t> places;  ///< see ChosenColumns
  std::size_t taken = 0;               ///< columns
  std::size_t first_line = 0;          ///< of the file, that settled the number of columns
  std::vector<std::string> names;      ///< of all columns, or empty
  bool offers_drop = false;            ///< messages may recommend --drop-columns

  void parse(CsvStretch& stretch) const;

  /// The end of the row or comment that begins at `at`, over newlines within quotes; nullptr where a quote stays open.
  const char* row_end(const char* at, const char* end) const;

  /// The text of the field at `at`, with its quotes where it has some; its end, where a separator or the end of the
  /// line should follow.
  const char* field(const char* at, const char* end, std::string_view& text) const;

  bool separates(char character) const { return separator == ' ' ? is_blank(character) : character == separator; }
  /// Blanks that do not separate.
  const char* skip_padding(const char* at, const char* end) const {
    while (at != end && is_blank(*at) && (separator != '\t' || *at != '\t')) ++at;
    return at;
  }

  /// What is wrong with a field that should be a number.
  std::string fault_of(std::string_view field, std::size_t column) const;
  /// "; …: --drop-columns NAME", where that can be said.
  std::string way_out(std::size_t column) const;

 private:
  struct Bad;
  const char* row(const char* at, const char* end, CsvStretch& stretch) const;
  const char* number(const char* at, const char* end, double& value) const;
  const char* skip(const char* at, const char* end, std::size_t column, CsvStretch& stretch) const;
};

}  // namespace gradus::io
