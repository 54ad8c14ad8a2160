// Reads the beginning of a text table. The beginning determines how the rows after it are parsed.
#pragma once

#include <array>
#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "files/csv_options.hpp"
#include "files/csv_rows.hpp"

namespace gradus::files {

/// Reads a table up to its first row. The first line and the row below it determine the separator, notation, names and
/// columns.
class CsvBeginning {
 public:
  CsvBeginning(std::string_view name, const CsvOptions& options, const std::stop_token& stop);

  /// Consumes text up to the first row and returns the new position. settled() becomes true when enough text has been
  /// read for all decisions.
  const char* take(const char* at, const char* end, bool last);

  bool settled() const { return settled_; }
  /// Returns the line number, counted from 1, of the remaining text.
  std::size_t line() const { return line_; }
  const CsvRows& rows() const { return rows_; }
  const ChosenColumns& chosen() const { return chosen_; }
  /// Returns notes about doubtful decisions. `rows` is the number of rows of the table.
  std::vector<std::string> notes(std::size_t rows) const;

  /// Throws InputError for a position in the table. A `field` of 0 means the whole line.
  [[noreturn]] void fail(std::size_t line, std::size_t field, const std::string& what,
                         std::string_view value = {}) const;

 private:
  bool first_line(const char*& at, const char* end, bool last);
  bool first_row(const char* at, const char* end, bool last);
  using Marks = std::array<bool, 256>;
  const char* end_of_first_line(const char* at, const char* end, Marks& seen) const;
  bool take_separator_line(std::string_view line);
  void choose_separator(std::string_view line, std::string_view below, Marks& seen);
  char separator_of_one_column(std::string_view line, const char* row, const char* end) const;
  std::vector<std::string_view> lines_below(const char* at, const char* end) const;
  void choose_format(const char* at, const char* end);
  bool shows_decimal_commas(const char* at, const char* end) const;
  std::vector<FirstField> header_fields(const char* at, const char* stop) const;
  const char* row_below(const char* at, const char* end) const;
  bool is_header(const std::vector<FirstField>& fields, const std::vector<FirstField>& below, std::string_view line,
                 std::span<const std::string_view> rows);
  bool is_unlike(std::span<const FirstField> first, std::span<const std::string_view> rows) const;
  [[noreturn]] void refuse_first_line(const HeaderGuess& guess, const std::vector<FirstField>& fields,
                                      const std::vector<FirstField>& below) const;
  void refuse_preamble(std::string_view line) const;
  std::vector<bool> coordinates(std::size_t count) const;
  std::string plain_number(const FirstField& field) const;
  void take_comment(std::string_view line);
  void refuse_lost_rows() const;
  void refuse_text(std::span<const std::string_view> first, const char* at, const char* end) const;

  const char* next_line(const char* at, const char* end);
  std::string at_line(std::size_t line) const { return std::string(name_) + ":" + std::to_string(line) + ": "; }

  std::string_view name_;
  const CsvOptions& options_;
  const std::stop_token& stop_;
  Separator separator_;
  bool settled_ = false;
  std::size_t line_ = 1;        ///< line number of the current position
  std::size_t first_line_ = 0;  ///< first line that is not a comment; 0 if it has not been seen yet
  std::size_t below_line_ = 0;  ///< line number of the row that follows the first line in the file
  CsvRows rows_;
  ChosenColumns chosen_;
  std::string header_note_;
  std::vector<std::string> notes_;
  std::size_t longer_comment_ = 0;  ///< line of a comment that has one field more than the header above it; 0 if none
  /// Comments above the first line, with their line numbers.
  std::vector<std::pair<std::size_t, std::string>> comments_;
};

}  // namespace gradus::files
