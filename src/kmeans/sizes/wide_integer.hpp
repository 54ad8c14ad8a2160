// A signed integer that represents every sum of some doubles exactly, whatever their exponents. It takes the place of a
// 128-bit integer for data whose squared distances differ by more than about 16 orders of magnitude.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

namespace gradus::kmeans_detail {

/// An integer of 2304 bits in two's complement. A finite double in units of 2^-1074 has at most 2098 bits.
class WideInteger {
 public:
  static constexpr std::size_t words = 36;

  WideInteger() = default;
  /// Represents mantissa * 2^shift. `shift` is at least 0 and less than 2112.
  WideInteger(std::int64_t mantissa, int shift) {
    const auto word = static_cast<std::size_t>(shift / 64);
    const int bit = shift % 64;
    const auto low = static_cast<std::uint64_t>(mantissa);
    const std::uint64_t sign = mantissa < 0 ? ~std::uint64_t{0} : 0;
    words_[word] = low << bit;
    words_[word + 1] = bit == 0 ? sign : low >> (64 - bit) | sign << bit;
    for (std::size_t next = word + 2; next < words; ++next) words_[next] = sign;
  }

  WideInteger& operator+=(const WideInteger& other) {
    std::uint64_t carry = 0;
    for (std::size_t word = 0; word < words; ++word) {
      const std::uint64_t sum = words_[word] + other.words_[word];
      const std::uint64_t total = sum + carry;
      carry = static_cast<std::uint64_t>(sum < other.words_[word]) | static_cast<std::uint64_t>(total < sum);
      words_[word] = total;
    }
    return *this;
  }
  friend WideInteger operator+(WideInteger a, const WideInteger& b) { return a += b; }
  friend WideInteger operator-(const WideInteger& a, const WideInteger& b) {
    WideInteger result;
    std::uint64_t borrow = 0;
    for (std::size_t word = 0; word < words; ++word) {
      const std::uint64_t difference = a.words_[word] - b.words_[word];
      result.words_[word] = difference - borrow;
      borrow =
          static_cast<std::uint64_t>(a.words_[word] < b.words_[word]) | static_cast<std::uint64_t>(difference < borrow);
    }
    return result;
  }
  friend bool operator==(const WideInteger& a, const WideInteger& b) = default;
  friend std::strong_ordering operator<=>(const WideInteger& a, const WideInteger& b) {
    if (a.is_negative() != b.is_negative())
      return a.is_negative() ? std::strong_ordering::less : std::strong_ordering::greater;
    for (std::size_t word = words; word-- > 0;)
      if (a.words_[word] != b.words_[word]) return a.words_[word] <=> b.words_[word];
    return std::strong_ordering::equal;
  }

  bool is_negative() const { return words_.back() >> 63 != 0; }
  /// Returns the 64-bit words, lowest first.
  const std::array<std::uint64_t, words>& bits() const { return words_; }

 private:
  std::array<std::uint64_t, words> words_{};
};

}  // namespace gradus::kmeans_detail
