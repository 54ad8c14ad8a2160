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

const char* parse_number(const char* begin, const char* end, double& value, NumberFormat format) {
  if (format.is_plain()) return parse_number(begin, end, value);
  const auto digits_end = [end](const char* at) { return std::find_if_not(at, end, is_digit); };
  const char* const first = begin != end && (*begin == '-' || *begin == '+') ? begin + 1 : begin;
  const bool word = first != end && !is_digit(*first) && (*first != format.point || format.point == 0);
  if (word) return *first == '.' ? nullptr : parse_number(begin, end, value);
  // The number again, as it is written elsewhere.
  static thread_local std::string text;
  const char* at = digits_end(first);
  text.assign(begin, at);
  const auto is_group = [&](const char* mark) {
    return end - mark >= 4 && *mark == format.group && digits_end(mark + 1) == mark + 4;
  };
  // "1234,567" has no groups, nor has "0,567".
  if (format.group != 0 && at != first && at - first <= 3 && *first != '0')
    for (; is_group(at); at += 4) text.append(at + 1, at + 4);
  if (at != end && format.point != 0 && *at == format.point) {
    const char* const stop = digits_end(at + 1);
    if (at != first || stop != at + 1) {
      (text += '.').append(at + 1, stop);
      at = stop;
    }
  }
  if (at == first) return nullptr;
  if (at != end && (*at == 'e' || *at == 'E')) {
    const char* const power = at + 1 != end && (at[1] == '-' || at[1] == '+') ? at + 2 : at + 1;
    if (const char* const stop = digits_end(power); stop != power) {
      text.append(at, stop);
      at = stop;
    }
  }
  const char* const text_end = text.data() + text.size();
  return parse_number(text.data(), text_end, value) == text_end ? at : nullptr;
}

bool is_number(std::string_view text, NumberFormat format) {
  double value = 0;
  return parse_number(text.data(), text.data() + text.size(), value, format) == text.data() + text.size();
}

}  // namespace gradus::io
