// Whether the first line of a table names its columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gradus::io {

/// What the first line of a table is.
enum class HeaderLine : std::uint8_t {
  automatic,  ///< what guess_header() makes of it
  yes,        ///< names of the columns
  no          ///< a row of numbers
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
  std::optional<std::size_t> broken;
};

/// * A line of words is a header. Where numbers are among them, only if a word is the first of all: id,2019,2020.
/// * A line of numbers is a row. It is doubtful where it counts up (0,1,2), is evenly spaced (400,402,404), is made of
///   years or has all its numbers in quotes.
/// * A line without words and numbers is a header where some of it begins like a number but is none, as in dates and
///   in 1st,2nd.
/// * Any other is a broken row: 1.5,N/A,2 and 0x10,2, for example.
HeaderGuess guess_header(std::span<const FirstField> fields);

/// Whether a field is neither empty, nor a number in any notation, nor what stands for a missing one.
bool is_text(std::string_view field);

/// Whether a field is empty or stands for a missing number: NA, N/A, null and the like.
bool is_missing(std::string_view field);

/// Whether all of the line is numbers, finite or not.
bool all_numbers(std::span<const FirstField> fields);

}  // namespace gradus::io
