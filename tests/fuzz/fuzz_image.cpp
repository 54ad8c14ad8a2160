// Parses any bytes with parse_image(), which must return a complete picture or throw InputError.
#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "files/image.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::int64_t pixel_limit = 1 << 20;  // larger pictures would only make the fuzzer slow
  try {
    const gradus::files::Image image =
        gradus::files::parse_image(std::as_bytes(std::span(data, size)), "input", pixel_limit);
    const auto [width, height, channels] = image.shape;
    if (width < 1 || height < 1 || (channels != 1 && channels != 3 && channels != 4)) std::abort();
    if (image.pixels.size() != width * height * channels) std::abort();
    volatile std::uint8_t sink = 0;
    for (const std::uint8_t value : image.pixels) sink = value;
    (void)sink;
  } catch (const gradus::InputError&) {
    // expected for invalid input
  }
  return 0;
}

/// Corrects the checksums of a PNG's chunks after most mutations. With incorrect checksums, the reader would reject
/// nearly all mutations.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, most);
  if (seed % 8 == 0 || size < 8 || std::memcmp(data, "\x89PNG", 4) != 0) return size;
  const auto load = [&](std::size_t at) {
    return std::uint32_t{data[at]} << 24 | std::uint32_t{data[at + 1]} << 16 | std::uint32_t{data[at + 2]} << 8 |
           data[at + 3];
  };
  for (std::size_t at = 8; size - at >= 12;) {  // a chunk has a length, a type, its content and a checksum
    const std::size_t length = load(at);
    if (length > size - at - 12) break;
    const auto checksum = static_cast<std::uint32_t>(crc32(0, data + at + 4, static_cast<uInt>(length + 4)));
    at += length + 8;
    for (int byte = 0; byte < 4; ++byte) data[at + byte] = static_cast<std::uint8_t>(checksum >> (24 - 8 * byte));
    at += 4;
  }
  return size;
}
