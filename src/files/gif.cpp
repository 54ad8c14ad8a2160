#include "files/gif.hpp"

#include <gif_lib.h>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "gradus/error.hpp"

namespace gradus::files {

namespace {

constexpr std::int64_t longest_side = 65535;

}  // namespace

struct GifWriter::State {
  core::AtomicFile& file;
  int width = 0;
  int height = 0;
  int hundredths = 0;
  std::exception_ptr failure = nullptr;  ///< an exception, which must not pass through the C library
  GifFileType* gif = nullptr;
  std::vector<std::uint8_t> shown = {};  ///< the previous frame

  static int put(GifFileType* gif, const GifByteType* bytes, int count) {
    auto& self = *static_cast<State*>(gif->UserData);
    if (self.failure) return 0;
    try {
      self.file.write(std::as_bytes(std::span(bytes, static_cast<std::size_t>(count))));
    } catch (...) {
      self.failure = std::current_exception();
      return 0;
    }
    return count;
  }

  void require(int status) {
    if (status == GIF_OK) return;
    if (failure) std::rethrow_exception(failure);
    const char* const reason = gif ? GifErrorString(gif->Error) : nullptr;
    throw Error("cannot write '" + file.path() + "': " + (reason ? reason : "out of memory"));
  }

  void begin() {
    int error = 0;
    gif = EGifOpen(this, put, &error);
    if (!gif) require(GIF_ERROR);
    EGifSetGifVersion(gif, true);
    const GifColorType colours[] = {{255, 255, 255}, {0, 0, 0}};
    ColorMapObject* const map = GifMakeMapObject(2, colours);
    const int status = EGifPutScreenDesc(gif, width, height, 1, 0, map);
    GifFreeMapObject(map);
    require(status);
    // The extension "NETSCAPE2.0" repeats the animation. Its block 1 contains the number of repetitions; 0 means
    // forever.
    require(EGifPutExtensionLeader(gif, APPLICATION_EXT_FUNC_CODE));
    require(EGifPutExtensionBlock(gif, 11, "NETSCAPE2.0"));
    const unsigned char for_ever[] = {1, 0, 0};
    require(EGifPutExtensionBlock(gif, 3, for_ever));
    require(EGifPutExtensionTrailer(gif));
  }
};

GifWriter::GifWriter(core::AtomicFile& file, std::int64_t width, std::int64_t height, int hundredths) {
  if (width < 1 || height < 1 || width > longest_side || height > longest_side)
    throw Error("cannot write '" + file.path() + "': a GIF of " + std::to_string(width) + " x " +
                std::to_string(height) + " pixels; a side has 1 to " + std::to_string(longest_side));
  state_ = std::make_unique<State>(State{
      .file = file, .width = static_cast<int>(width), .height = static_cast<int>(height), .hundredths = hundredths});
}

GifWriter::~GifWriter() {
  int error = 0;
  if (state_ && state_->gif) {
    state_->failure = std::make_exception_ptr(Error("not finished"));
    (void)EGifCloseFile(state_->gif, &error);
  }
}

void GifWriter::add(std::span<const std::uint8_t> pixels) {
  State& state = *state_;
  state.file.honour_stop();
  if (!state.gif) state.begin();
  int left = 0;
  int right = state.width;
  int top = 0;
  int bottom = state.height;
  const auto row_of = [&](std::span<const std::uint8_t> of, int y) {
    return of.subspan(static_cast<std::size_t>(y) * static_cast<std::size_t>(state.width),
                      static_cast<std::size_t>(state.width));
  };
  if (!state.shown.empty()) {
    const auto is_same = [&](int y) { return std::ranges::equal(row_of(pixels, y), row_of(state.shown, y)); };
    // Keeps at least one row: a frame without changes must still contain a pixel, or its duration would be lost.
    while (top < bottom - 1 && is_same(top)) ++top;
    while (bottom > top + 1 && is_same(bottom - 1)) --bottom;
    int first = state.width - 1;
    int last = 0;
    for (int y = top; y < bottom; ++y) {
      const auto now = row_of(pixels, y);
      const auto before = row_of(state.shown, y);
      for (int x = 0; x < first; ++x)
        if (now[static_cast<std::size_t>(x)] != before[static_cast<std::size_t>(x)]) first = x;
      for (int x = state.width - 1; x > last; --x)
        if (now[static_cast<std::size_t>(x)] != before[static_cast<std::size_t>(x)]) last = x;
    }
    left = std::min(first, last);
    right = last + 1;
  }
  GraphicsControlBlock control{};
  control.DisposalMode = DISPOSE_DO_NOT;
  control.DelayTime = state.hundredths;
  control.TransparentColor = NO_TRANSPARENT_COLOR;
  GifByteType extension[4];
  const auto length = static_cast<int>(EGifGCBToExtension(&control, extension));
  state.require(EGifPutExtension(state.gif, GRAPHICS_EXT_FUNC_CODE, length, extension));
  state.require(EGifPutImageDesc(state.gif, left, top, right - left, bottom - top, false, nullptr));
  std::vector<GifPixelType> line(static_cast<std::size_t>(right - left));
  for (int y = top; y < bottom; ++y) {
    state.file.honour_stop();
    const auto row = row_of(pixels, y).subspan(static_cast<std::size_t>(left), line.size());
    std::ranges::copy(row, line.begin());
    state.require(EGifPutLine(state.gif, line.data(), right - left));
  }
  state.shown.assign(pixels.begin(), pixels.end());
}

void GifWriter::finish() {
  int error = 0;
  const int status = EGifCloseFile(std::exchange(state_->gif, nullptr), &error);
  state_->require(status);
}

}  // namespace gradus::files
