// Animated GIFs of two colours.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/atomic_file.hpp"

namespace gradus::files {

/// Black on white, without end, frame by frame.
class GifWriter {
 public:
  /// Error where a side has more than 65,535 pixels. `hundredths` of a second after each frame. The file stays with the
  /// caller.
  GifWriter(core::AtomicFile& file, std::int64_t width, std::int64_t height, int hundredths);
  GifWriter(const GifWriter&) = delete;
  GifWriter& operator=(const GifWriter&) = delete;
  ~GifWriter();

  /// width * height pixels, row after row from the top: 0 is white and 1 black. Only the rectangle that differs from
  /// the frame before is written. InterruptedError after a stop request.
  void add(std::span<const std::uint8_t> pixels);
  /// After the last frame; the file is not committed.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gradus::files
