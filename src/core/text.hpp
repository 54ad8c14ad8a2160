// Formatting of text and numbers for messages.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace gradus::core {

/// Returns the text in single quotes, but at most 40 bytes of it. Control bytes and non-ASCII bytes are written as
/// \xNN.
std::string excerpt(std::string_view text);

/// Returns the text with control bytes (including line ends) written as \xNN, for a terminal.
std::string without_control(std::string_view text);

/// Returns the shortest text that parses to this number, with an exponent only for very large or small numbers.
std::string number_text(double number);

/// Formats a size: "2048 bytes (2 KiB)".
std::string size_text(std::uint64_t bytes);

/// Formats an errno value as the end of a message: ": No space left on device".
std::string reason(int error_number);

/// Returns the FNV-1a hash of the bytes. Two texts of the same length that differ in one byte have different hashes.
std::uint64_t hash_of(std::string_view bytes);

/// Returns the number with all significant digits (17).
std::string text_of(double number);

/// Returns a line "name=value".
std::string call_line(const char* name, const std::string& value);
inline std::string call_line(const char* name, double value) { return call_line(name, text_of(value)); }
std::string call_line(const char* name, std::integral auto value) { return call_line(name, std::to_string(value)); }

}  // namespace gradus::core
