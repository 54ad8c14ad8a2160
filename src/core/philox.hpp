// Philox 4x32-10, the counter-based random number generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers:
// as easy as 1, 2, 3" (SC 2011). A number depends only on (seed, stream, index), and not on the thread, rank or GPU
// that draws it.
#pragma once

#include <array>
#include <cstdint>

namespace gradus::core {

__extension__ using UInt128 = unsigned __int128;

class Philox {
 public:
  /// `stream` separates different uses of one seed, for example one stream per restart.
  constexpr explicit Philox(std::uint64_t seed, std::uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  /// Returns the 128 random bits at `index`.
  constexpr std::array<std::uint32_t, 4> block(std::uint64_t index) const {
    std::array<std::uint32_t, 4> counter = {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                                            static_cast<std::uint32_t>(stream_),
                                            static_cast<std::uint32_t>(stream_ >> 32)};
    std::uint32_t key0 = static_cast<std::uint32_t>(seed_);
    std::uint32_t key1 = static_cast<std::uint32_t>(seed_ >> 32);
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t product0 = std::uint64_t{0xD2511F53} * counter[0];
      const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * counter[2];
      counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<std::uint32_t>(product1),
                 static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<std::uint32_t>(product0)};
      key0 += 0x9E3779B9;  // the fractional part of the golden ratio, times 2^32
      key1 += 0xBB67AE85;  // the fractional part of sqrt(3), times 2^32
    }
    return counter;
  }

  constexpr std::uint64_t bits(std::uint64_t index) const {
    const auto words = block(index);
    return std::uint64_t{words[0]} | std::uint64_t{words[1]} << 32;
  }

  /// Returns a multiple of 2^-53, uniform in [0, 1).
  constexpr double uniform(std::uint64_t index) const { return static_cast<double>(bits(index) >> 11) * 0x1p-53; }

  /// Returns an integer, uniform in [0, bound), for bound > 0. The integer is the high half of a 128-bit product. The
  /// probability of each integer differs from 1 / bound by less than 2^-64.
  constexpr std::uint64_t below(std::uint64_t index, std::uint64_t bound) const {
    return static_cast<std::uint64_t>((static_cast<UInt128>(bits(index)) * bound) >> 64);
  }

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
};

}  // namespace gradus::core
