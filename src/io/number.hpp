// Words and numbers in text, as every reader of text takes them.
#pragma once

#include <string_view>

namespace gradus::io {

inline bool is_blank(char character) { return character == ' ' || character == '\t'; }
inline bool is_digit(char character) { return character >= '0' && character <= '9'; }

/// Without the blanks at both ends.
std::string_view trimmed(std::string_view text);

/// Whether `text` is `lower`, which has small letters only, in letters of any size.
bool equal_but_for_case(std::string_view text, std::string_view lower);

/// Parses the number at `begin` to the double nearest to its text, whatever the locale: the end of the number, or
/// nullptr where there is none. Infinity where it overflows a double; also "nan" and "inf" are numbers here.
const char* parse_number(const char* begin, const char* end, double& value);

}  // namespace gradus::io
