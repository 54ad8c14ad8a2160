#include "files/number.hpp"

#include <locale.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>

namespace gradus::files {

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

/// Parses a number that std::from_chars reports as out of range. The C library is used, because it distinguishes
/// overflow from underflow.
double value_out_of_range(const char* begin, const char* end) {
  static const locale_t c_locale = ::newlocale(LC_ALL_MASK, "C", nullptr);
  return ::strtod_l(std::string(begin, end).c_str(), nullptr, c_locale);
}

__extension__ using UInt128 = unsigned __int128;

constexpr std::array<std::uint64_t, 8> whole_powers_of_ten = {1,      10,      100,       1'000,
                                                              10'000, 100'000, 1'000'000, 10'000'000};

/// An approximation of 10^-n by mantissa * 2^exponent. 10^-n is at least this number and less than (mantissa + 1) *
/// 2^exponent; for n = 0, 10^-n is equal to this number. The highest bit of the mantissa is set.
struct NegativePower {
  std::uint64_t mantissa = 0;
  int exponent = 0;
};

constexpr int most_decimals = 27;

/// Computes 10^-decimals: divides a power of two by 5^decimals in long division. The power of two is chosen so that the
/// first bit of the quotient is 1.
constexpr NegativePower negative_power_of_ten(int decimals) {
  UInt128 five = 1;
  for (int step = 0; step < decimals; ++step) five *= 5;
  UInt128 rest = 1;
  int shift = 0;
  for (; rest < five; ++shift) rest <<= 1;
  std::uint64_t mantissa = 0;
  for (int bit = 0; bit < 64; ++bit, rest <<= 1) {
    const bool fits = rest >= five;
    if (fits) rest -= five;
    mantissa = mantissa << 1 | static_cast<std::uint64_t>(fits);
  }
  return {mantissa, -decimals - shift - 63};
}

constexpr auto negative_powers_of_ten = [] {
  std::array<NegativePower, most_decimals + 1> powers{};
  for (int decimals = 0; decimals <= most_decimals; ++decimals)
    powers[static_cast<std::size_t>(decimals)] = negative_power_of_ten(decimals);
  return powers;
}();

/// Computes the double nearest to number / 10^decimals, ties to even. Returns false if 64 bits of the power do not
/// suffice to decide. Requires number > 0 and 0 < decimals <= most_decimals.
bool nearest_double(std::uint64_t number, int decimals, double& value) {
  const NegativePower& power = negative_powers_of_ten[static_cast<std::size_t>(decimals)];
  const int shift = std::countl_zero(number);
  // `high` is the product of the shifted number and the mantissa, divided by 2^64 and rounded down. The exact value
  // exceeds the product by less than 2^64. If `high` is one less than a tie, the exact value may therefore be below the
  // tie, equal to it or above it.
  const auto high = static_cast<std::uint64_t>(static_cast<UInt128>(number << shift) * power.mantissa >> 64);
  const int dropped = high >> 63 != 0 ? 11 : 10;
  const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
  const std::uint64_t rest = high & (2 * half - 1);
  if (rest == half - 1) return false;
  std::uint64_t mantissa = (high >> dropped) + (rest >= half ? 1 : 0);
  int exponent = power.exponent - shift + 64 + dropped;
  if (mantissa >> 53 != 0) {
    mantissa >>= 1;
    ++exponent;
  }
  // The result is a normal number, because it is at least 10^-27.
  value = std::bit_cast<double>((mantissa & ((std::uint64_t{1} << 52) - 1)) |
                                static_cast<std::uint64_t>(exponent + 52 + 1023) << 52);
  return true;
}

constexpr auto exact_powers_of_ten = [] {
  std::array<double, 23> powers{};  // the last power is 10^22: it is exact in double, because 5^22 has 52 bits
  double power = 1;
  for (double& one : powers) {
    one = power;
    power *= 10;
  }
  return powers;
}();

/// Parses a number without a loop. The number must have no sign and no exponent, and end within seven characters. Most
/// numbers in tables with few decimals have this form. Returns the end of the number, or nullptr for any other number.
const char* short_number(const char* at, const char* end, double& value) {
  std::uint64_t eight = 0;
  if (end - at < std::ptrdiff_t{sizeof eight}) return nullptr;
  std::memcpy(&eight, at, sizeof eight);
  const int whole = leading_digits(eight);
  if (whole == 8) return nullptr;
  int digits = whole;
  int length = whole;
  if ((eight >> (8 * whole) & 0xff) == '.') {
    const std::uint64_t before = (std::uint64_t{1} << (8 * whole)) - 1;
    eight = (eight & before) | (eight >> (8 * whole) >> 8) << (8 * whole);  // deletes the point
    digits = leading_digits(eight);
    length = digits + 1;
  }
  if (digits == 0 || length == 8 || at[length] == 'e' || at[length] == 'E') return nullptr;
  const std::uint64_t number = value_of_digits(eight << (64 - 8 * digits));
  value = static_cast<double>(number) / exact_powers_of_ten[static_cast<std::size_t>(digits - whole)];  // rounded once
  return at + length;
}

/// Handles the common case: parses a number of at most 19 digits without an exponent. Returns the end of the number, or
/// nullptr for any other number.
const char* everyday_number(const char* begin, const char* end, double& value) {
  const bool negative = *begin == '-';
  const char* at = begin + (negative ? 1 : 0);
  if (const char* const stop = short_number(at, end, value)) {
    if (negative) value = -value;
    return stop;
  }
  const char* const first = at;
  std::uint64_t number = 0;
  const auto append_digits = [&] {
    for (; at != end; ++at) {
      const unsigned digit = static_cast<unsigned char>(*at) - unsigned{'0'};
      if (digit > 9) return;
      number = number * 10 + digit;
    }
  };
  append_digits();
  std::ptrdiff_t digits = at - first;
  std::ptrdiff_t decimals = 0;
  if (at != end && *at == '.') {
    const char* const point = at++;
    for (std::uint64_t eight = 0; end - at >= 8; at += 8) {
      std::memcpy(&eight, at, sizeof eight);
      if (const int count = leading_digits(eight); count < 8) {
        if (count == 0) break;
        number =
            number * whole_powers_of_ten[static_cast<std::size_t>(count)] + value_of_digits(eight << (64 - 8 * count));
        at += count;
        break;
      }
      number = number * 100'000'000 + value_of_digits(eight);
    }
    append_digits();
    decimals = at - point - 1;
    digits += decimals;
  }
  constexpr std::ptrdiff_t most_digits = 19;  // 19 digits fit in 64 bits, because 10^19 < 2^64
  if (digits == 0 || digits > most_digits || (at != end && (*at == 'e' || *at == 'E'))) return nullptr;
  constexpr std::uint64_t exact = std::uint64_t{1} << 53;
  if (number == 0 || (decimals == 0 && number <= exact)) value = static_cast<double>(number);
  else if (number <= exact && decimals < std::ssize(exact_powers_of_ten))
    value = static_cast<double>(number) / exact_powers_of_ten[static_cast<std::size_t>(decimals)];  // rounded once
  else if (decimals == 0 || !nearest_double(number, static_cast<int>(decimals), value)) return nullptr;
  if (negative) value = -value;
  return at;
}

}  // namespace

const char* parse_number(const char* begin, const char* end, double& value) {
  if (begin != end && *begin == '+') {
    ++begin;
    if (begin != end && *begin == '-') return nullptr;
  }
  if (begin == end) return nullptr;
  if (const char* const stop = everyday_number(begin, end, value)) return stop;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc{}) return stop;
  if (error != std::errc::result_out_of_range) return nullptr;
  value = value_out_of_range(begin, stop);
  return stop;
}

const char* parse_foreign_number(const char* begin, const char* end, double& value, NumberFormat format) {
  const auto digits_end = [end](const char* at) { return std::find_if_not(at, end, is_digit); };
  const char* const first = begin != end && (*begin == '-' || *begin == '+') ? begin + 1 : begin;
  const bool word = first != end && !is_digit(*first) && (*first != format.point || format.point == 0);
  if (word) return *first == '.' ? nullptr : parse_number(begin, end, value);
  // Rewrites the number in plain notation.
  static thread_local std::string text;
  const char* at = digits_end(first);
  text.assign(begin, at);
  const auto is_group = [&](const char* mark) {
    return end - mark >= 4 && *mark == format.group && digits_end(mark + 1) == mark + 4;
  };
  // The number has no groups if more than three digits, or a leading 0, precede the first separator: "1234,567",
  // "0,567".
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

Comma comma_in(std::string_view field) {
  const std::size_t comma = field.find(',');
  if (comma == std::string_view::npos || !is_number(field, {.point = ',', .group = 0})) return Comma::none;
  const std::string_view before = field.substr(field.find_first_of("0123456789,"));
  const std::size_t digits = comma - (field.size() - before.size());
  const bool group = digits >= 1 && digits <= 3 && before.front() != '0' && field.size() - comma == 4 &&
                     std::all_of(field.begin() + static_cast<std::ptrdiff_t>(comma) + 1, field.end(), is_digit);
  return group ? Comma::either : Comma::decimals;
}

}  // namespace gradus::files
