#include "core/text.hpp"

#include <charconv>
#include <system_error>

namespace gradus::core {

std::string excerpt(std::string_view text) {
  constexpr std::size_t most = 40;
  constexpr char digits[] = "0123456789abcdef";
  std::string result = "'";
  for (const char character : text.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte >= 0x20 && byte < 0x7f) {
      result += character;
    } else {
      result += "\\x";
      result += digits[byte >> 4];
      result += digits[byte & 15];
    }
  }
  return result + (text.size() > most ? "...'" : "'");
}

std::string number_text(double number) {
  char text[40];
  const double magnitude = number < 0 ? -number : number;
  const bool plain = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);  // NaN and infinity are not
  char* const end = text + sizeof text;
  return {text,
          (plain ? std::to_chars(text, end, number, std::chars_format::fixed) : std::to_chars(text, end, number)).ptr};
}

std::string reason(int error_number) { return ": " + std::generic_category().message(error_number); }

}  // namespace gradus::core
