// Words and numbers in text, as every reader of text takes them.
#pragma once

#include <cstdint>
#include <string_view>

#include "gradus/names.hpp"

namespace gradus::files {

inline bool is_blank(char character) { return character == ' ' || character == '\t'; }
inline bool is_digit(char character) { return character >= '0' && character <= '9'; }

/// Without the blanks at both ends.
std::string_view trimmed(std::string_view text);

/// Whether `text` is `lower`, which has small letters only, in letters of any size.
bool equal_but_for_case(std::string_view text, std::string_view lower);

/// Parses the number at `begin` to the double nearest to its text, whatever the locale: the end of the number, or
/// nullptr where there is none. Infinity where it overflows a double; also "nan" and "inf" are numbers here.
const char* parse_number(const char* begin, const char* end, double& value);

/// How the numbers of a table are written.
struct NumberFormat {
  char point = '.';  ///< before decimals; 0: there are none
  char group = 0;    ///< between groups of three digits before them; 0: nothing is

  bool is_plain() const { return point == '.' && group == 0; }
};

/// The same in another format than the plain one.
const char* parse_foreign_number(const char* begin, const char* end, double& value, NumberFormat format);

/// As parse_number(), of numbers with or without groups of digits. A group that has not three digits ends the number.
inline const char* parse_number(const char* begin, const char* end, double& value, NumberFormat format) {
  return format.is_plain() ? parse_number(begin, end, value) : parse_foreign_number(begin, end, value, format);
}

/// What decimals follow.
enum class Decimal : std::uint8_t {
  automatic,  ///< a point, or what the table at hand shows beyond doubt
  point,
  comma
};

/// How numbers are said to be written.
struct NumberStyle {
  Decimal decimal = Decimal::automatic;
  char group = 0;  ///< as in NumberFormat

  bool is_default() const { return decimal == Decimal::automatic && group == 0; }
};

/// Whether all of the text is a number.
bool is_number(std::string_view text, NumberFormat format = {});

/// Meanings of the comma in a number.
enum class Comma : std::uint8_t { none, decimals, either };
/// Returns none if the field is no number with a comma, and either if three digits follow that may be a group.
Comma comma_in(std::string_view field);

/// Messages where decimals are taken to follow a comma, and where a comma may mean either.
inline constexpr std::string_view decimal_comma_note =
    "decimals are taken to follow a comma (--decimal comma says so; --decimal point: a point)";
inline constexpr std::string_view either_comma_fault =
    " may have decimals behind its comma, or a group of three digits; say --decimal comma or --thousands comma";

}  // namespace gradus::files

namespace gradus {

template <>
inline constexpr auto enum_names<files::Decimal> = std::to_array<EnumName<files::Decimal>>(
    {{files::Decimal::automatic, "auto"}, {files::Decimal::point, "point"}, {files::Decimal::comma, "comma"}});

}  // namespace gradus
