// Parsing of words and numbers, shared by all readers of text.
#pragma once

#include <cstdint>
#include <string_view>

#include "gradus/names.hpp"

namespace gradus::files {

inline bool is_blank(char character) { return character == ' ' || character == '\t'; }
inline bool is_digit(char character) { return character >= '0' && character <= '9'; }

/// Returns the text without blanks at both ends.
std::string_view trimmed(std::string_view text);

/// Returns true if the texts are equal except for case. `lower` must be in lower case.
bool equal_but_for_case(std::string_view text, std::string_view lower);

/// Parses the number at `begin` to the nearest double, independent of the locale. Returns the end of the number, or
/// nullptr if there is none. A number that overflows becomes infinity; "nan" and "inf" are numbers too.
const char* parse_number(const char* begin, const char* end, double& value);

struct NumberFormat {
  char point = '.';  ///< decimal separator; 0: none
  char group = 0;    ///< separator of groups of three digits; 0: none

  bool is_plain() const { return point == '.' && group == 0; }
};

/// Parses a number in the notation `format`, for all notations except the plain one.
const char* parse_foreign_number(const char* begin, const char* end, double& value, NumberFormat format);

/// Parses a number in the notation `format`. The number may have groups of digits, but need not. A group that does not
/// have exactly three digits ends the number.
inline const char* parse_number(const char* begin, const char* end, double& value, NumberFormat format) {
  return format.is_plain() ? parse_number(begin, end, value) : parse_foreign_number(begin, end, value, format);
}

enum class Decimal : std::uint8_t {
  automatic,  ///< a comma if the table unambiguously has decimal commas, otherwise a point
  point,
  comma
};

struct NumberStyle {
  Decimal decimal = Decimal::automatic;
  char group = 0;  ///< separator of groups, as in NumberFormat

  bool is_default() const { return decimal == Decimal::automatic && group == 0; }
};

bool is_number(std::string_view text, NumberFormat format = {});

enum class Comma : std::uint8_t { none, decimals, either };
/// Returns Comma::none if the field is not a number with a comma. Returns Comma::either if exactly three digits follow
/// the comma. Otherwise returns Comma::decimals.
Comma comma_in(std::string_view field);

inline constexpr std::string_view decimal_comma_note =
    "decimals are assumed to follow a comma (--decimal comma says so; --decimal point: a point)";
inline constexpr std::string_view either_comma_fault =
    " may have decimals behind its comma, or a group of three digits; say --decimal comma or --thousands comma";

}  // namespace gradus::files

namespace gradus {

template <>
inline constexpr auto enum_names<files::Decimal> = std::to_array<EnumName<files::Decimal>>(
    {{files::Decimal::automatic, "auto"}, {files::Decimal::point, "point"}, {files::Decimal::comma, "comma"}});

}  // namespace gradus
