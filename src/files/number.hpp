// Parsing of words and numbers, shared by all readers of text.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "gradus/names.hpp"

namespace gradus::files {

inline bool is_blank(char character) { return character == ' ' || character == '\t'; }
inline bool is_digit(char character) { return character >= '0' && character <= '9'; }

static_assert(std::endian::native == std::endian::little, "the first of eight characters must be the lowest byte");

/// Compares eight characters with digits. The high half of each byte of the result is zero for leading digits and
/// nonzero for the first other character.
inline std::uint64_t differences_from_digits(std::uint64_t eight) {
  constexpr std::uint64_t high = 0xf0f0f0f0f0f0f0f0u;
  constexpr std::uint64_t zeros = 0x3030303030303030u;
  // The second term excludes the characters from ':' to '?', which have the same high half as digits. Only non-digits
  // produce carries.
  return ((eight & high) ^ zeros) | (((eight + 0x0606060606060606u) & high) ^ zeros);
}

/// Returns the number of leading digits among eight characters.
inline int leading_digits(std::uint64_t eight) { return std::countr_zero(differences_from_digits(eight)) / 8; }

/// Returns the number with these eight digits. Combines the digits to pairs, the pairs to groups of four digits, and
/// the two groups to the number.
inline std::uint64_t value_of_digits(std::uint64_t eight) {
  eight = (eight & 0x0f0f0f0f0f0f0f0fu) * (1 + (10u << 8)) >> 8;
  eight = (eight & 0x00ff00ff00ff00ffu) * (1 + (100u << 16)) >> 16;
  return (eight & 0x0000ffff0000ffffu) * (1 + (std::uint64_t{10000} << 32)) >> 32;
}

/// Parses the digits at `at` and returns their end. With more than 19 digits, the value is undefined. Up to seven
/// digits are parsed at once, because the branch at the end of a number is often mispredicted.
inline const char* digits_at(const char* at, const char* end, std::uint64_t& value) {
  value = 0;
  std::uint64_t eight = 0;
  if (end - at >= std::ptrdiff_t{sizeof eight}) {
    std::memcpy(&eight, at, sizeof eight);
    const int digits = leading_digits(eight);
    if (digits == 0) return at;
    if (digits < 8) {
      value = value_of_digits(eight << (64 - 8 * digits));
      return at + digits;
    }
  }
  for (; at != end && is_digit(*at); ++at) value = value * 10 + static_cast<std::uint64_t>(*at - '0');
  return at;
}

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
