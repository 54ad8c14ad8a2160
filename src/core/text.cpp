#include "core/text.hpp"

#include <charconv>
#include <cstdio>
#include <iterator>
#include <system_error>

namespace gradus::core {

namespace {

/// Returns the text. Replaces each byte for which plain(byte) is false by \xNN.
template <class Plain>
std::string escaped(std::string_view text, const Plain& plain) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (plain(byte)) {
      result += character;
    } else {
      result += "\\x";
      result += digits[byte >> 4];
      result += digits[byte & 15];
    }
  }
  return result;
}

}  // namespace

std::string excerpt(std::string_view text) {
  constexpr std::size_t most = 40;
  const auto is_plain = [](unsigned char byte) { return byte >= 0x20 && byte < 0x7f; };
  std::string quoted = "'";  // not operator+, for which GCC 12 gives a false warning (-Wrestrict)
  quoted += escaped(text.substr(0, most), is_plain);
  quoted += text.size() > most ? "...'" : "'";
  return quoted;
}

std::string without_control(std::string_view text) {
  return escaped(text, [](unsigned char byte) { return byte >= 0x20 && byte != 0x7f; });
}

std::string number_text(double number) {
  char text[40];
  const double magnitude = number < 0 ? -number : number;
  const bool plain = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);  // false for NaN and infinity
  char* const end = text + sizeof text;
  return {text,
          (plain ? std::to_chars(text, end, number, std::chars_format::fixed) : std::to_chars(text, end, number)).ptr};
}

std::string size_text(std::uint64_t bytes) {
  std::string exact = std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  if (bytes < 1024) return exact;
  constexpr std::string_view units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < std::size(units); ++unit) value /= 1024;
  char text[16];
  return exact + " (" +
         std::string(text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, 3).ptr) + " " +
         std::string(units[unit]) + ")";
}

std::string reason(int error_number) { return ": " + std::generic_category().message(error_number); }

std::string call_line(const char* name, const std::string& value) { return std::string(name) + "=" + value + "\n"; }

std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return hash;
}

std::string text_of(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", number);
  return text;
}

}  // namespace gradus::core
