// Text from outside, made fit for a message.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace gradus::core {

/// 'text' in single quotes, at most 40 bytes of it, with control and non-ASCII bytes written as \xNN.
std::string excerpt(std::string_view text);

/// The text with control bytes (also of the end of a line) written as \xNN, for a terminal.
std::string without_control(std::string_view text);

/// The shortest text that reads back as this number; an exponent only where the number is very large or small.
std::string number_text(double number);

/// "2048 bytes (2 KiB)"
std::string size_text(std::uint64_t bytes);

/// ": No space left on device" and the like, for an errno value.
std::string reason(int error_number);

/// Returns the FNV-1a hash of the bytes. Texts of the same length that differ in one byte have different ones.
std::uint64_t hash_of(std::string_view bytes);

/// Writes all bits of the number.
std::string text_of(double number);

/// Writes a line "name=value".
std::string call_line(const char* name, const std::string& value);
inline std::string call_line(const char* name, double value) { return call_line(name, text_of(value)); }
std::string call_line(const char* name, std::integral auto value) { return call_line(name, std::to_string(value)); }

}  // namespace gradus::core
