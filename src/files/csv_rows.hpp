// The rows of a text table. Several threads parse chunks of whole rows concurrently.
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

#include "files/columns.hpp"
#include "files/header.hpp"
#include "files/number.hpp"
#include "files/text_input.hpp"

namespace gradus::files {

inline const char* find_character(const char* at, const char* end, char character) {
  const void* const found = at == end ? nullptr : std::memchr(at, character, static_cast<std::size_t>(end - at));
  return found ? static_cast<const char*>(found) : end;
}

/// Returns true if a line ends at `at`, with LF or CRLF. At the end of the text, a line may also end with CR or without
/// any line end.
inline bool at_line_end(const char* at, const char* end) {
  return at == end || *at == '\n' || (*at == '\r' && (at + 1 == end || at[1] == '\n'));
}

/// Returns the end of the line that begins at `at`, without its LF or CRLF. `next` must be the beginning of the next
/// line.
inline const char* without_line_end(const char* at, const char* next) {
  while (next != at && (next[-1] == '\n' || next[-1] == '\r')) --next;
  return next;
}

/// Returns the closing quote of the field at `at`, or nullptr if there is none. Skips doubled quotes.
const char* closing_quote(const char* at, const char* end);

/// Returns the text of a field without the enclosing quotes, and with one quote for each doubled quote.
std::string without_quotes(std::string_view field);

/// The message about a comment that may be a row.
inline constexpr std::string_view row_or_comment =
    "the line begins with '#' and has as many fields as the table; say --comment none if it is a row, or --comment '#' "
    "if "
    "it is a comment";

struct IncompleteRows {
  std::vector<std::size_t> rows;        ///< numbers of the rows, counted from 0
  std::vector<std::size_t> per_column;  ///< for each column, the number of rows that lack its number; or empty
  // Position of the first field that lacks a number.
  std::size_t line = 0;
  std::size_t field = 0;
  std::string text;

  bool empty() const { return rows.empty(); }
  void clear() { *this = {}; }
};

/// A chunk of complete rows and its parsed content. Within the chunk, lines count from 1 and rows from 0.
struct CsvChunk {
  std::string_view text;
  std::unique_ptr<double[]> values;  ///< the numbers of all rows, one after the other
  std::size_t room = 0;
  std::size_t count = 0;
  RowNames row_names;
  std::size_t rows = 0;  ///< number of complete rows
  IncompleteRows incomplete;
  std::size_t lines = 0;           ///< number of lines in the chunk
  std::size_t leading_blank = 0;   ///< first blank line before the first row; 0 if there is none
  std::size_t trailing_blank = 0;  ///< first blank line after the last row; 0 if there is none
  // The first error; unset if there is none.
  std::string fault;
  std::size_t fault_line = 0;
  std::size_t fault_field = 0;
  std::string fault_value;
  bool fault_is_in_row = false;  ///< the error is in a row, not in a comment

  std::size_t all_rows() const { return rows + incomplete.rows.size(); }
};

/// Parses the rows of a table. Any number of threads may use the same object concurrently.
struct CsvRows {
  char separator = ',';  ///< ' ' stands for any number of blanks
  Comment comment = {};
  NumberFormat quoted_format = {};
  NumberFormat format = {};  ///< notation outside of quotes, where numbers cannot contain the separator of fields
  std::size_t columns = 0;
  std::vector<std::ptrdiff_t> places = {};
  std::size_t coordinates = 0;  ///< number of coordinates per row
  std::size_t numbers = 0;      ///< numbers read from a row: one per coordinate, then one for the weight
  std::size_t first_line = 0;   ///< the line of the file that determines the number of columns
  std::vector<std::string> names = {};
  bool offers_columns = false;  ///< messages may recommend options for columns and rows
  bool offers_drop = false;     ///< messages may also recommend --drop-columns

  void parse(CsvChunk& chunk) const;

  /// Returns true for a comment. If the line begins with a spreadsheet's error value, it is a row, although the value
  /// begins with '#'.
  bool is_comment(const char* at, const char* end) const {
    return comment.mark != 0 && *at == comment.mark && !is_spreadsheet_error({at, end});
  }

  /// Returns true if a comment may be a row with `fields` fields.
  bool is_like_row(std::string_view line, std::size_t fields) const;

  /// Returns the end of the row or comment at `at`, or nullptr if a quote is not closed. Newlines within quotes do not
  /// end a row.
  const char* row_end(const char* at, const char* end) const;

  /// Sets `text` to the field at `at`, including its quotes. Returns the end of the field. A separator should follow
  /// there.
  const char* field(const char* at, const char* end, std::string_view& text) const;

  /// Returns the fields of a row. The row ends at `stop`, before its line end. A field includes its quotes and any text
  /// after the closing quote.
  std::vector<std::string_view> split(const char* at, const char* stop) const;

  bool separates(char character) const { return separator == ' ' ? is_blank(character) : character == separator; }
  /// Skips blanks, unless blanks separate fields.
  const char* skip_padding(const char* at, const char* end) const {
    while (at != end && is_blank(*at) && (separator != '\t' || *at != '\t')) ++at;
    return at;
  }

  bool ends_field(const char* at, const char* end) const {
    const char* const next = skip_padding(at, end);
    return at_line_end(next, end) || (separator == ' ' ? next != at : *next == separator);
  }

  // ---- Messages: csv_faults.cpp ----

  /// Returns the message for a field that should be a number.
  std::string fault_of(std::string_view field, std::size_t column) const;
  /// Returns the message for a field that lacks a number: "'NA' is not a number".
  std::string lack_of(std::string_view field) const;
  /// Returns the message, with remedies, for a table in which some of `rows` rows lack a number.
  std::string fault_of(const IncompleteRows& incomplete, std::size_t rows) const;
  /// Returns "1 of 3 rows lacks a number (column 'x')".
  std::string count_of(const IncompleteRows& incomplete, std::size_t rows) const;
  /// Returns the message for a first row that has text in coordinate columns, or "" if it has no such text. The message
  /// depends on the rows below. Sets `field` to the column of the text, counted from 0.
  std::string fault_of_text(std::span<const std::string_view> first,
                            std::span<const std::vector<std::string_view>> below, std::size_t& field,
                            bool offers_id) const;

 private:
  struct Bad;
  const char* row(const char* at, const char* end, CsvChunk& chunk) const;
  const char* number(const char* at, const char* end, double& value) const;
  const char* skip(const char* at, const char* end, std::size_t column, CsvChunk& chunk) const;
  bool lacks_number(std::string_view field) const;
  bool is_text_for_us(std::string_view field) const;
  bool is_coordinate(std::size_t column) const {
    return places[column] >= 0 && static_cast<std::size_t>(places[column]) < coordinates;
  }
};

}  // namespace gradus::files
