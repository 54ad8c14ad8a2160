// Writes animated GIFs with two colours.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/atomic_file.hpp"

namespace gradus::files {

/// Writes a black-and-white animation that repeats forever.
class GifWriter {
 public:
  /// Each frame is shown for `hundredths` hundredths of a second. Throws Error if the width or height exceeds 65,535
  /// pixels. Does not own `file`.
  GifWriter(core::AtomicFile& file, std::int64_t width, std::int64_t height, int hundredths);
  GifWriter(const GifWriter&) = delete;
  GifWriter& operator=(const GifWriter&) = delete;
  ~GifWriter();

  /// Adds a frame of width * height pixels, row by row from the top. A pixel of 0 is white, and a pixel of 1 is black.
  /// Writes only the rectangle that differs from the previous frame. Throws InterruptedError after a stop request.
  void add(std::span<const std::uint8_t> pixels);
  /// Ends the animation. Does not commit the file.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gradus::files
