#include "io/number.hpp"

#include <locale.h>
#include <stdlib.h>

#include <algorithm>
#include <charconv>
#include <string>

namespace gradus::io {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool equal_but_for_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b; });
}

namespace {

/// std::from_chars leaves the value alone where it under- or overflows; the C library tells the two apart.
double value_out_of_range(const char* begin, const char* end) {
  static const locale_t c_locale = ::newlocale(LC_ALL_MASK, "C", nullptr);
  return ::strtod_l(std::string(begin, end).c_str(), nullptr, c_locale);
}

}  // namespace

const char* parse_number(const char* begin, const char* end, double& value) {
  if (begin != end && *begin == '+') {
    ++begin;
    if (begin != end && *begin == '-') return nullptr;
  }
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc{}) return stop;
  if (error != std::errc::result_out_of_range) return nullptr;
  value = value_out_of_range(begin, stop);
  return stop;
}

}  // namespace gradus::io
