// Pictures: PNG and JPEG in, PNG out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/atomic_file.hpp"
#include "files/values.hpp"
#include "gradus/array.hpp"

namespace gradus::files {

/// Eight bits per channel, row after row from the top, the channels of a pixel side by side.
struct Image {
  PictureShape shape;
  Buffer<std::uint8_t> pixels;  ///< width * height * channels
};

/// More pixels than this are refused before anything is allocated.
inline constexpr std::int64_t most_pixels = std::int64_t{1} << 28;

/// Every kind of PNG, and JPEG in gray or colour. Palettes are looked up, 16 bits are rounded to 8, and opacity is kept
/// (as a fourth channel) only where some pixel is not opaque. Stored values are taken as they are: no colour profile,
/// gamma or orientation is applied. Throws InputError for anything damaged, also where a viewer would show a part;
/// InterruptedError after a stop request.
Image read_image(const std::string& path, const std::stop_token& stop = {});

/// The same from memory; `name` stands in messages.
Image parse_image(std::span<const std::byte> bytes, std::string_view name, std::int64_t pixel_limit = most_pixels,
                  const std::stop_token& stop = {});

/// Whether the bytes begin as a PNG or JPEG file does.
bool looks_like_image(std::span<const std::byte> bytes);

/// One point per pixel, its channels as coordinates from 0 to 255.
Points to_points(const Image& image, const std::stop_token& stop = {});

/// 1, 3 or 4 channels.
void write_png(core::AtomicFile& file, const PictureShape& shape, std::span<const std::uint8_t> pixels);
/// The same in memory; `name` stands in messages.
std::vector<std::byte> png_bytes(std::string_view name, const PictureShape& shape, std::span<const std::uint8_t> pixels,
                                 const std::stop_token& stop = {});

}  // namespace gradus::files
