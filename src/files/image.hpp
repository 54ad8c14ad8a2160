// Images: reads PNG and JPEG, writes PNG.
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

/// An image with eight bits per channel, row by row from the top. The channels of a pixel are adjacent.
struct Image {
  PictureShape shape;
  Buffer<std::uint8_t> pixels;  ///< width * height * channels
};

/// The maximum number of pixels, checked before any allocation.
inline constexpr std::int64_t most_pixels = std::int64_t{1} << 28;

/// Reads any PNG, and JPEG in grey or colour. Expands palettes and rounds 16 bits to 8. Keeps opacity (as a fourth
/// channel) only if some pixel is not opaque. Applies no colour profile, gamma or orientation. Throws InputError for
/// any damage, even if a viewer would show a part, and InterruptedError after a stop request.
Image read_image(const std::string& path, const std::stop_token& stop = {});

/// Reads an image from memory. `name` appears in messages.
Image parse_image(std::span<const std::byte> bytes, std::string_view name, std::int64_t pixel_limit = most_pixels,
                  const std::stop_token& stop = {});

bool looks_like_image(std::span<const std::byte> bytes);

/// Returns one point per pixel, with its channels as coordinates from 0 to 255.
Points to_points(const Image& image, const std::stop_token& stop = {});

/// Writes a PNG with 1, 3 or 4 channels.
void write_png(core::AtomicFile& file, const PictureShape& shape, std::span<const std::uint8_t> pixels);
/// Returns a PNG file in memory. `name` appears in messages.
std::vector<std::byte> png_bytes(std::string_view name, const PictureShape& shape, std::span<const std::uint8_t> pixels,
                                 const std::stop_token& stop = {});

}  // namespace gradus::files
