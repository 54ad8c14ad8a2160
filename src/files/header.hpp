// Decides whether the first line of a table is a header with names of columns.
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

enum class HeaderLine : std::uint8_t {
  automatic,  ///< guess_header() decides
  yes,        ///< the line contains the names of the columns
  no          ///< the line is a row of numbers
};

struct Comment {
  char mark = '#';  ///< first character of a comment; 0 disables comments
  /// True if the user has chosen the mark. If false, a comment that has as many fields as the table is an error,
  /// because it may be a row.
  bool is_given = false;

  bool is_default() const { return !is_given; }
};

/// The treatment of a row that lacks a number because a field is empty, NA, nan or similar.
enum class Missing : std::uint8_t { error, drop_rows };

/// A field of the first line, without padding and quotes.
struct FirstField {
  std::string text;
  bool quoted = false;
};

struct HeaderGuess {
  bool is_header = false;
  bool doubtful = false;  ///< true if the decision may be incorrect and should be reported to the user
  /// The field, counted from 0, that makes the line a broken row. If such a line were read as names, a row would be
  /// lost silently.
  std::optional<std::size_t> broken = std::nullopt;
  /// The field, counted from 0, that makes the line ambiguous. If it is set, only the user can decide.
  std::optional<std::size_t> undecided = std::nullopt;
};

/// Judges a first line by itself:
/// * A line of words is a header. If it also has numbers, it is a header only if a word comes first: id,2019,2020.
/// * A line of numbers is a row. This is doubtful if the numbers count up (0,1,2), are evenly spaced (400,402,404), are
///   years or are all in quotes.
/// * A line without words and numbers is a header if a field begins like a number without being one, as in dates or in
///   1st,2nd.
/// * Any other line is a broken row: 1.5,N/A,2 and 0x10,2, for example.
HeaderGuess guess_header(std::span<const FirstField> fields);

/// Judges a complete first line by itself and by the next row (`next`, empty if there is none). `coordinates` marks the
/// columns that are coordinates:
/// * If a word of the line and the word below it are equal apart from digits, the word is a value: setosa,5.1 above
///   setosa,4.9.
/// * If only the first field is empty, and the numbers after it look like names, the line is the header that pandas and
///   R write above an index.
/// * If the line consists of numbers, and the next row begins with a word and has one field more, the line is the
///   header that R writes.
/// * A word in a coordinate column leaves the line undecided if the next row has a number below the word, or if the
///   numbers of the line look like names. Otherwise the line counts as a row, and this decision is doubtful.
HeaderGuess guess_header(std::span<const FirstField> first, std::span<const FirstField> next,
                         const std::vector<bool>& coordinates);

/// Returns true if, compared with the rows below (up to 16), the numbers of a first line look like names of columns.
/// This is so in three cases:
/// * The line has at least three numbers, which ascend, and the numbers of some row do not ascend.
/// * The line has integers, there are at least two rows, and all numbers of these rows have decimals.
/// * There are at least three rows, and every number of the line is far from the numbers of its column below. The
///   distance is more than ten times the range of these numbers.
bool numbers_unlike_rows(std::span<const FirstField> first, std::span<const std::vector<FirstField>> rows,
                         const std::vector<bool>& coordinates);

/// Returns true if a field is a text: neither empty, nor a number in any notation, nor a marker of a missing number.
bool is_text(std::string_view field);

/// Returns true if a field is empty or marks a missing number: NA, N/A, null and so on.
bool is_missing(std::string_view field);

/// Returns true if a field is a number in any notation, for example 5%, 1'000 or 0x10.
bool is_any_number(std::string_view field);

/// Returns the separator that a line "sep=;" above a table specifies, or nothing if the line does not have this form.
std::optional<char> separator_given_by(std::string_view line);

/// The second part of a message about a character that cannot separate fields. The first part is the character.
inline constexpr std::string_view separator_fault =
    ": fields are separated by semicolons, commas, tabs, bars or blanks";
inline bool may_separate(char mark) { return mark == ';' || mark == ',' || mark == '\t' || mark == '|'; }

/// Returns true if all fields of the line are numbers, including NaN and infinity.
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
