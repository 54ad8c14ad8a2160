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

/// Returns true at a line end: LF, CRLF, or at the end of the text CR or nothing.
inline bool at_line_end(const char* at, const char* end) {
  return at == end || *at == '\n' || (*at == '\r' && (at + 1 == end || at[1] == '\n'));
}

/// Returns the end of the line from `at`, without its line end. `next` is the beginning of the next line.
inline const char* without_line_end(const char* at, const char* next) {
  while (next != at && (next[-1] == '\n' || next[-1] == '\r')) --next;
  return next;
}

/// Returns the closing quote of the field at `at`, skipping doubled quotes; nullptr if there is none.
const char* closing_quote(const char* at, const char* end);

/// Returns the text of a field without its quotes; doubled quotes become one.
std::string without_quotes(std::string_view field);

/// The message for a comment that may be a row.
inline constexpr std::string_view row_or_comment =
    "the line begins with '#' and has as many fields as the table; say --comment none if it is a row, or --comment '#' "
    "if "
    "it is a comment";

struct IncompleteRows {
  std::vector<std::size_t> rows;        ///< row numbers, from 0
  std::vector<std::size_t> per_column;  ///< rows that lack a number, per column; empty: none
  // The first field that lacks a number.
  std::size_t line = 0;
  std::size_t field = 0;
  std::string text;

  bool empty() const { return rows.empty(); }
  void clear() { *this = {}; }
};

/// A chunk of whole rows and its parsed content. Lines count from 1 and rows from 0, within the chunk.
struct CsvChunk {
  std::string_view text;
  std::unique_ptr<double[]> values;  ///< the numbers of all rows, one after the other
  std::size_t room = 0;
  std::size_t count = 0;
  RowNames row_names;
  std::size_t rows = 0;  ///< complete rows
  IncompleteRows incomplete;
  std::size_t lines = 0;           ///< number of lines in the chunk
  std::size_t leading_blank = 0;   ///< first blank line before the first row; 0: none
  std::size_t trailing_blank = 0;  ///< first blank line after the last row
  // The first error, if any.
  std::string fault;
  std::size_t fault_line = 0;
  std::size_t fault_field = 0;
  std::string fault_value;
  bool fault_is_in_row = false;  ///< the error is in a row, not in a comment

  std::size_t all_rows() const { return rows + incomplete.rows.size(); }
};

/// The parser of a table's rows. Any number of threads may use it concurrently.
struct CsvRows {
  char separator = ',';  ///< ' ' stands for any number of blanks
  Comment comment = {};
  NumberFormat quoted_format = {};
  NumberFormat format = {};  ///< outside quotes, where the separator of fields is not part of a number
  std::size_t columns = 0;
  std::vector<std::ptrdiff_t> places = {};
  std::size_t coordinates = 0;  ///< per row
  std::size_t numbers = 0;      ///< per row: the coordinates, followed by the weight
  std::size_t first_line = 0;   ///< line of the file that determined the number of columns
  std::vector<std::string> names = {};
  bool offers_columns = false;  ///< messages may recommend options for columns and rows
  bool offers_drop = false;     ///< messages may also recommend --drop-columns

  void parse(CsvChunk& chunk) const;

  /// Returns true for a comment. A spreadsheet's error value begins with '#' too, but is part of a row.
  bool is_comment(const char* at, const char* end) const {
    return comment.mark != 0 && *at == comment.mark && !is_spreadsheet_error({at, end});
  }

  /// Returns true if the comment may be a row of `fields` fields.
  bool is_like_row(std::string_view line, std::size_t fields) const;

  /// Returns the end of the row or comment at `at`, skipping newlines within quotes; nullptr if a quote is not closed.
  const char* row_end(const char* at, const char* end) const;

  /// Sets `text` to the field at `at`, with its quotes, and returns its end, where a separator should follow.
  const char* field(const char* at, const char* end, std::string_view& text) const;

  /// Returns the fields of a row without line end, each with its quotes and any text after them.
  std::vector<std::string_view> split(const char* at, const char* stop) const;

  bool separates(char character) const { return separator == ' ' ? is_blank(character) : character == separator; }
  /// Skips blanks that do not separate.
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
  /// Returns "'NA' is not a number" for a field that lacks a number.
  std::string lack_of(std::string_view field) const;
  /// Returns the message for a table in which some of `rows` rows lack a number, with remedies.
  std::string fault_of(const IncompleteRows& incomplete, std::size_t rows) const;
  /// Returns "1 of 3 rows lacks a number (column 'x')".
  std::string count_of(const IncompleteRows& incomplete, std::size_t rows) const;
  /// Returns the message for a first row with text in coordinate columns, in view of the rows below, and sets `field`
  /// to the column, from 0. Returns "" if there is no such text.
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
