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

#include "files/columns.hpp"
#include "files/header.hpp"
#include "files/number.hpp"
#include "files/text_input.hpp"

namespace gradus::files {

/// The first such character, or the end.
inline const char* find_character(const char* at, const char* end, char character) {
  const void* const found = at == end ? nullptr : std::memchr(at, character, static_cast<std::size_t>(end - at));
  return found ? static_cast<const char*>(found) : end;
}

/// A line's end is LF, CRLF, or CR or nothing at the end of the text.
inline bool at_line_end(const char* at, const char* end) {
  return at == end || *at == '\n' || (*at == '\r' && (at + 1 == end || at[1] == '\n'));
}

/// The end of the line from `at` up to the beginning of the next one.
inline const char* without_line_end(const char* at, const char* next) {
  while (next != at && (next[-1] == '\n' || next[-1] == '\r')) --next;
  return next;
}

/// The quote that ends the field which the one at `at` begins, over doubled ones; nullptr where there is none.
const char* closing_quote(const char* at, const char* end);

/// The text of a field without its quotes, of which doubled ones become one.
std::string without_quotes(std::string_view field);

/// What is wrong with a comment that may be a row.
inline constexpr std::string_view row_or_comment =
    "the line begins with '#' and has as many fields as the table; say --comment none if it is a row, or --comment '#' "
    "if "
    "it is a comment";

/// Rows that lack a number.
struct LackingRows {
  std::vector<std::size_t> rows;        ///< their numbers, counted from 0
  std::vector<std::size_t> per_column;  ///< how many lack that of each column; empty: none does
  // The first field that does.
  std::size_t line = 0;
  std::size_t field = 0;
  std::string text;

  bool empty() const { return rows.empty(); }
  void clear() { *this = {}; }
};

/// Whole rows, and what was found in them. Lines count from 1, rows from 0, those of the stretch alone.
struct CsvStretch {
  std::string_view text;
  std::unique_ptr<double[]> values;  ///< those of all rows, one after the other
  std::size_t room = 0;
  std::size_t count = 0;
  RowNames row_names;
  std::size_t rows = 0;  ///< that lack nothing
  LackingRows lacking;
  std::size_t lines = 0;           ///< that lie behind
  std::size_t leading_blank = 0;   ///< the first blank line before the first row; 0: there is none
  std::size_t trailing_blank = 0;  ///< the first one behind the last row
  // What is wrong, where something is.
  std::string wrong;
  std::size_t wrong_line = 0;
  std::size_t wrong_field = 0;
  std::string wrong_value;
  bool wrong_row = false;  ///< it is in a row, not in a comment

  std::size_t all_rows() const { return rows + lacking.rows.size(); }
};

/// How the rows of a table are taken apart. Any number of threads may use it at once.
struct CsvRows {
  char separator = ',';  ///< ' ' stands for blanks, as many as there are
  Comment comment = {};
  NumberFormat quoted_format = {};
  NumberFormat format = {};  ///< outside quotes, where what separates fields is no part of a number
  std::size_t columns = 0;
  std::vector<std::ptrdiff_t> places = {};  ///< see ChosenColumns
  std::size_t coordinates = 0;              ///< of a row
  std::size_t numbers = 0;                  ///< of a row: its coordinates, and its weight behind them
  std::size_t first_line = 0;               ///< of the file, that settled the number of columns
  std::vector<std::string> names = {};      ///< of all columns, or empty
  bool offers_columns = false;              ///< messages may recommend options of columns and rows
  bool offers_drop = false;                 ///< also --drop-columns

  void parse(CsvStretch& stretch) const;

  /// An error value of a spreadsheet begins with '#', and is part of a row.
  bool is_comment(const char* at, const char* end) const {
    return comment.mark != 0 && *at == comment.mark && !is_spreadsheet_error({at, end});
  }

  /// Whether the comment may be a row of so many fields.
  bool is_like_row(std::string_view line, std::size_t fields) const;

  /// The end of the row or comment that begins at `at`, over newlines within quotes; nullptr where a quote stays open.
  const char* row_end(const char* at, const char* end) const;

  /// The text of the field at `at`, with its quotes where it has some; its end, where a separator or the end of the
  /// line should follow.
  const char* field(const char* at, const char* end, std::string_view& text) const;

  /// The fields of a row without its line's end, with their quotes and what follows these.
  std::vector<std::string_view> split(const char* at, const char* stop) const;

  bool separates(char character) const { return separator == ' ' ? is_blank(character) : character == separator; }
  /// Blanks that do not separate.
  const char* skip_padding(const char* at, const char* end) const {
    while (at != end && is_blank(*at) && (separator != '\t' || *at != '\t')) ++at;
    return at;
  }

  /// Returns true if a separator or the end of the line follows what was read up to `at`.
  bool ends_field(const char* at, const char* end) const {
    const char* const next = skip_padding(at, end);
    return at_line_end(next, end) || (separator == ' ' ? next != at : *next == separator);
  }

  // ---- Messages: csv_faults.cpp ----

  /// What is wrong with a field that should be a number.
  std::string fault_of(std::string_view field, std::size_t column) const;
  /// "'NA' is not a number", where the field lacks a number.
  std::string lack_of(std::string_view field) const;
  /// What is wrong with a table of which some of `rows` lack a number, and what can be done about it.
  std::string fault_of(const LackingRows& lacking, std::size_t rows) const;
  /// "1 of 3 rows lacks a number (column 'x')"
  std::string count_of(const LackingRows& lacking, std::size_t rows) const;
  /// What is wrong with a first row that has text where coordinates should be, in view of the rows below; its field
  /// from 0 goes to `field`. Empty where nothing is.
  std::string fault_of_text(std::span<const std::string_view> first,
                            std::span<const std::vector<std::string_view>> below, std::size_t& field,
                            bool offers_id) const;

 private:
  struct Bad;
  const char* row(const char* at, const char* end, CsvStretch& stretch) const;
  const char* number(const char* at, const char* end, double& value) const;
  const char* skip(const char* at, const char* end, std::size_t column, CsvStretch& stretch) const;
  bool lacks_number(std::string_view field) const;
  bool is_text_for_us(std::string_view field) const;
  bool is_coordinate(std::size_t column) const {
    return places[column] >= 0 && static_cast<std::size_t>(places[column]) < coordinates;
  }
};

}  // namespace gradus::files
