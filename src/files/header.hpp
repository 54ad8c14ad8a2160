// Whether the first line of a table names its columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/names.hpp"

namespace gradus::files {

/// What the first line of a table is.
enum class HeaderLine : std::uint8_t {
  automatic,  ///< what guess_header() makes of it
  yes,        ///< names of the columns
  no          ///< a row of numbers
};

/// Lines that are no part of a table.
struct Comment {
  char mark = '#';    ///< with which they begin; 0: there are none
  bool said = false;  ///< by a person; otherwise a comment with as many fields as the table is refused in doubt

  bool is_default() const { return !said; }
};

/// What becomes of a row that lacks a number: a field is empty, NA, nan or the like.
enum class Missing : std::uint8_t {
  error,     ///< the table is refused
  drop_rows  ///< the row is left out
};

/// A field of the first line, without padding and quotes.
struct FirstField {
  std::string text;
  bool quoted = false;
};

struct HeaderGuess {
  bool is_header = false;
  bool doubtful = false;  ///< it may well be the other; a person should hear of it
  /// Field that makes a broken row of the line, from 0: to take the line as names would lose a row in silence.
  std::optional<std::size_t> broken = std::nullopt;
  /// Field, from 0, that leaves open what the line is, so that only a person can tell.
  std::optional<std::size_t> undecided = std::nullopt;
};

/// Judges a first line by itself:
/// * A line of words is a header. Where numbers are among them, only if a word is the first of all: id,2019,2020.
/// * A line of numbers is a row. It is doubtful where it counts up (0,1,2), is evenly spaced (400,402,404), is made of
///   years or has all its numbers in quotes.
/// * A line without words and numbers is a header where some of it begins like a number but is none, as in dates and
///   in 1st,2nd.
/// * Any other is a broken row: 1.5,N/A,2 and 0x10,2, for example.
HeaderGuess guess_header(std::span<const FirstField> fields);

/// Judges all of a first line by itself and by the row that follows (`next`, empty where there is none), whatever the
/// columns that are `coordinates`:
/// * A word that the next row repeats, alike but for digits, is a value: setosa,5.1 above setosa,4.9.
/// * An empty field before numbers that look like names is the header that pandas and R write above an index.
/// * A line of numbers above a row of one field more, a word first, is the header that R writes.
/// * A word that is no coordinate leaves the line undecided where the next row has a number in its place, or where the
///   numbers of the line look like names. Otherwise it is part of a row, with a doubt.
HeaderGuess guess_header(std::span<const FirstField> first, std::span<const FirstField> next,
                         const std::vector<bool>& coordinates);

/// Returns true if a first line of numbers rather names columns, in view of up to 16 rows below it:
/// * it rises, has at least three numbers, and some row does not rise;
/// * it has integers above numbers that all have decimals, in at least two rows;
/// * each of its numbers is farther from those of its column than ten times their spread, in at least three rows.
bool numbers_unlike_rows(std::span<const FirstField> first, std::span<const std::vector<FirstField>> rows,
                         const std::vector<bool>& coordinates);

/// Whether a field is neither empty, nor a number in any notation, nor what stands for a missing one.
bool is_text(std::string_view field);

/// Whether a field is empty or stands for a missing number: NA, N/A, null and the like.
bool is_missing(std::string_view field);

/// Whether a field is a number, perhaps in another notation: 5%, 1'000, 0x10.
bool is_any_number(std::string_view field);

/// Returns the separator that a line "sep=;" above a table gives to spreadsheets; nothing: the line is another one.
std::optional<char> separator_given_by(std::string_view line);

/// Follows a mark that is given so and separates no fields.
inline constexpr std::string_view separator_fault =
    ": fields are separated by semicolons, commas, tabs, bars or blanks";
inline bool may_separate(char mark) { return mark == ';' || mark == ',' || mark == '\t' || mark == '|'; }

/// Whether all of the line is numbers, finite or not.
bool all_numbers(std::span<const FirstField> fields);

}  // namespace gradus::files

namespace gradus {

template <>
inline constexpr auto enum_names<files::HeaderLine> = std::to_array<EnumName<files::HeaderLine>>(
    {{files::HeaderLine::automatic, "auto"}, {files::HeaderLine::yes, "yes"}, {files::HeaderLine::no, "no"}});

template <>
inline constexpr auto enum_names<files::Missing> = std::to_array<EnumName<files::Missing>>(
    {{files::Missing::error, "error"}, {files::Missing::drop_rows, "drop-rows"}});

}  // namespace gradus
