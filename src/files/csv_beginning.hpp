// The beginning of a table of text: what it settles of the rows that follow.
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

/// Reads up to the first row. Separator, notation of numbers, names and columns follow from the first line that is no
/// comment and from the row below it.
class CsvBeginning {
 public:
  CsvBeginning(std::string_view name, const CsvOptions& options, const std::stop_token& stop);

  /// The beginning of the first row, where `settled()` then; less where the text at hand does not hold what settles it.
  const char* take(const char* at, const char* end, bool last);

  bool settled() const { return settled_; }
  /// The line, from 1, of what follows.
  std::size_t line() const { return line_; }
  const CsvRows& rows() const { return rows_; }
  const ChosenColumns& chosen() const { return chosen_; }
  /// What was decided in doubt, of a table with so many rows.
  std::vector<std::string> notes(std::size_t rows) const;

  /// Throws InputError for a place; a field of 0 is none.
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

  /// Past the end of the line on which `at` stands.
  const char* next_line(const char* at, const char* end);
  std::string at_line(std::size_t line) const { return std::string(name_) + ":" + std::to_string(line) + ": "; }

  std::string_view name_;
  const CsvOptions& options_;
  const std::stop_token& stop_;
  Separator separator_;
  bool settled_ = false;        ///< what columns there are
  std::size_t line_ = 1;        ///< of the text at hand
  std::size_t first_line_ = 0;  ///< that is no comment; 0: not seen yet
  std::size_t below_line_ = 0;  ///< of the row below it
  CsvRows rows_;
  ChosenColumns chosen_;
  std::string header_note_;
  std::vector<std::string> notes_;
  std::size_t longer_comment_ = 0;  ///< line of a comment below the header that has one field more than it; 0: none
  std::vector<std::pair<std::size_t, std::string>> comments_;  ///< above the first line, with their lines
};

}  // namespace gradus::files
