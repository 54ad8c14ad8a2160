// Life patterns as pictures. This file reads PBM and PGM; the readers of pictures read PNG and JPEG.
#include <algorithm>
#include <array>
#include <limits>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "files/image.hpp"
#include "files/number.hpp"
#include "life/files/output.hpp"
#include "life/files/text.hpp"

namespace gradus::files {

namespace {

bool is_space(char letter) {
  return is_blank(letter) || letter == '\n' || letter == '\r' || letter == '\v' || letter == '\f';
}

/// Reverses the bits of each byte, because a grid's words begin with the lowest bit and PBM's bytes begin with the
/// highest bit.
constexpr std::uint64_t with_bytes_reversed(std::uint64_t word) {
  word = (word & 0x5555555555555555) << 1 | (word >> 1 & 0x5555555555555555);
  word = (word & 0x3333333333333333) << 2 | (word >> 2 & 0x3333333333333333);
  return (word & 0x0f0f0f0f0f0f0f0f) << 4 | (word >> 4 & 0x0f0f0f0f0f0f0f0f);
}

void from_pbm(const unsigned char* bytes, std::int64_t width, std::uint64_t* words) {
  for (std::int64_t x = 0; x < width; x += 64, bytes += 8) {
    const std::int64_t cells = std::min<std::int64_t>(width - x, 64);
    std::uint64_t word = 0;
    if (cells == 64)  // compilers compile this loop to one load
      for (int byte = 0; byte < 8; ++byte) word |= std::uint64_t{bytes[byte]} << (8 * byte);
    else
      for (int byte = 0; byte < (cells + 7) / 8; ++byte) word |= std::uint64_t{bytes[byte]} << (8 * byte);
    word = with_bytes_reversed(word);
    words[x / 64] = cells == 64 ? word : word & ((std::uint64_t{1} << cells) - 1);
  }
}

void to_pbm(const std::uint64_t* words, std::int64_t width, char* bytes) {
  for (std::int64_t x = 0; x < width; x += 64, bytes += 8) {
    const std::uint64_t word = with_bytes_reversed(words[x / 64]);
    const std::int64_t count = std::min<std::int64_t>((width - x + 7) / 8, 8);
    if (count == 8)
      for (int byte = 0; byte < 8; ++byte) bytes[byte] = static_cast<char>(word >> (8 * byte));
    else
      for (int byte = 0; byte < count; ++byte) bytes[byte] = static_cast<char>(word >> (8 * byte));
  }
}

template <class IsAlive>
void from_gray(std::int64_t width, std::uint64_t* words, const IsAlive& is_alive) {
  for (std::int64_t x = 0; x < width; x += 64) {
    const std::int64_t cells = std::min<std::int64_t>(width - x, 64);
    std::uint64_t word = 0;
    for (std::int64_t cell = 0; cell < cells; ++cell) word |= std::uint64_t{is_alive(x + cell)} << cell;
    words[x / 64] = word;
  }
}

class NetpbmReader final : public LifeReader {
 public:
  NetpbmReader(std::string name, const LifeReadOptions& options) : LifeReader(std::move(name), options) { line_ = 1; }

  std::size_t take(std::string_view text, bool last) override {
    std::size_t at = 0;
    while (at < text.size() && !done_) {
      core::honour_stop(options_.stop, "stopped while reading " + name_);
      const std::size_t before = at;
      if (header_ < needed()) take_header(text, at, last);
      else if (is_binary()) take_bytes(text, at);
      else take_letters(text, at, last);
      if (at == before) break;
    }
    if (done_) at = text.size();  // ignores further pictures in the file
    count_lines(text.substr(0, at));
    return at;
  }

  LifePattern finish() override {
    if (header_ < needed())
      fail("the file ends within the header, which is P1, P2, P4 or P5, width, height" +
           std::string(is_gray() ? " and the value of white" : ""));
    if (!done_) fail("the file ends in row " + std::to_string(y_ + 1) + " of " + std::to_string(height_));
    pattern_.unplaced = {width_, height_};
    return std::move(pattern_);
  }

 private:
  bool is_gray() const { return kind_ == 2 || kind_ == 5; }
  bool is_binary() const { return kind_ >= 4; }
  int needed() const { return is_gray() ? 4 : 3; }

  void count_lines(std::string_view text) {
    if (header_ >= needed() && is_binary() && line_counted_) return;
    line_ += static_cast<std::size_t>(std::ranges::count(text, '\n'));
    line_counted_ = header_ >= needed();
  }
  [[noreturn]] void fail_in(std::string_view text, std::size_t at, const std::string& what) {
    const std::string_view before = text.substr(0, at);
    line_ += static_cast<std::size_t>(std::ranges::count(before, '\n'));
    fail_at(at - (before.rfind('\n') + 1) + 1, what);
  }

  /// Skips blanks and comments. Returns false if the text ends before anything else follows.
  static bool skip(std::string_view text, std::size_t& at) {
    std::size_t next = at;
    for (; next < text.size(); ++next) {
      if (is_space(text[next])) continue;
      if (text[next] != '#') break;
      next = std::min(text.find('\n', next), text.size() - 1);
    }
    if (next == text.size()) return false;
    at = next;
    return true;
  }

  void take_header(std::string_view text, std::size_t& at, bool last) {
    std::size_t begin = at;
    if (!skip(text, begin)) {
      if (last) at = text.size();
      return;
    }
    std::size_t end = begin;
    while (end < text.size() && !is_space(text[end]) && text[end] != '#') ++end;
    constexpr std::size_t longest_word = 100;
    if (end == text.size() && !last && end - begin < longest_word) return;
    const std::string_view word = text.substr(begin, end - begin);
    const auto number = [&](std::string_view what, std::int64_t most) {
      std::int64_t value = 0;
      for (const char letter : word) {
        if (!is_digit(letter) || value > most)
          fail_in(text, begin,
                  std::string(what) + ": " + core::excerpt(word) + " is not an integer up to " + std::to_string(most));
        value = value * 10 + (letter - '0');
      }
      if (value < 1 || value > most)
        fail_in(
            text, begin,
            std::string(what) + ": " + core::excerpt(word) + " is out of range, which is 1 to " + std::to_string(most));
      return value;
    };
    constexpr std::int64_t longest = std::numeric_limits<std::int32_t>::max();
    switch (header_) {
      case 0:
        if (word == "P3" || word == "P6")
          fail_in(text, begin, "a picture in colours (PPM); save it as PBM, PGM or PNG");
        if (word != "P1" && word != "P2" && word != "P4" && word != "P5")
          fail_in(text, begin, core::excerpt(word) + " where P1 or P4 (PBM), P2 or P5 (PGM) is expected");
        kind_ = word[1] - '0';
        break;
      case 1: width_ = number("the width", longest); break;
      case 2: height_ = number("the height", longest); break;
      default: white_ = number("the value of white", 65535);
    }
    at = end;
    if (++header_ < needed()) return;
    // In binary formats, exactly one blank ends the header.
    if (is_binary() && at < text.size()) ++at;
    else if (is_binary() && !last) fail_in(text, begin, "nothing follows the header");
    const auto bytes = static_cast<std::uint64_t>(width_ / 64 + 1) * 8 * static_cast<std::uint64_t>(height_);
    if (bytes > options_.memory_limit)
      fail_in(text, begin,
              "a picture of " + std::to_string(width_) + " x " + std::to_string(height_) +
                  " cells, which take more than " + core::size_text(options_.memory_limit));
    promised_ = true;
  }

  /// Allocates the next row of the grid. A row is allocated only when its cells arrive. So a file that is only a header
  /// takes no memory.
  std::uint64_t* next_row() {
    const std::int64_t words = width_ / 64 + (width_ % 64 > 0 ? 1 : 0);
    rows_.resize(rows_.size() + static_cast<std::size_t>(words));
    return rows_.data() + (rows_.size() - static_cast<std::size_t>(words));
  }
  void end_row() {
    x_ = 0;
    if (++y_ < height_) return;
    done_ = true;
    pattern_.cells = LifeGrid(height_, width_, LifeGrid::Uninitialised{});
    std::ranges::copy(rows_, pattern_.cells.words());
    rows_ = {};
  }

  void take_bytes(std::string_view text, std::size_t& at) {
    const std::size_t sample = white_ > 255 ? 2 : 1;
    const std::size_t row_bytes =
        is_gray() ? static_cast<std::size_t>(width_) * sample : static_cast<std::size_t>((width_ + 7) / 8);
    while (!done_ && text.size() - at >= row_bytes) {
      std::uint64_t* const words = next_row();
      const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data()) + at;
      if (!is_gray()) from_pbm(bytes, width_, words);
      else if (sample == 1) from_gray(width_, words, [&](std::int64_t x) { return bytes[x] < white_; });
      else from_gray(width_, words, [&](std::int64_t x) { return (bytes[2 * x] << 8 | bytes[2 * x + 1]) < white_; });
      at += row_bytes;
      end_row();
    }
  }

  void take_letters(std::string_view text, std::size_t& at, bool last) {
    while (!done_) {
      std::size_t begin = at;
      if (!skip(text, begin)) {
        if (last) at = text.size();
        return;
      }
      std::size_t end = begin + 1;
      if (is_gray()) {
        while (end < text.size() && is_digit(text[end])) ++end;
        if (end == text.size() && !last && end - begin < 10) return;
      }
      const std::string_view word = text.substr(begin, end - begin);
      std::int64_t value = 0;
      for (const char letter : word) {
        value = value * 10 + (letter - '0');
        if (!is_digit(letter) || value > white_)
          fail_in(text, begin,
                  core::excerpt(word) +
                      (is_gray() ? " where a number up to " + std::to_string(white_) : std::string(" where 0 or 1")) +
                      " is expected");
      }
      if (x_ == 0) row_ = next_row();
      if (is_gray() ? value < white_ : value == 1) row_[x_ / 64] |= std::uint64_t{1} << (x_ % 64);
      if (++x_ == width_) end_row();
      at = end;
    }
  }

  int header_ = 0;
  int kind_ = 1;
  std::int64_t width_ = 0;
  std::int64_t height_ = 0;
  std::int64_t white_ = 1;
  bool promised_ = false;
  bool line_counted_ = false;
  bool done_ = false;
  std::vector<std::uint64_t> rows_;
  std::uint64_t* row_ = nullptr;
  std::int64_t x_ = 0;
  std::int64_t y_ = 0;
};

class ImageReader final : public LifeReader {
 public:
  using LifeReader::LifeReader;

  std::size_t take(std::string_view text, bool) override {
    bytes_.append(text);
    return text.size();
  }

  LifePattern finish() override {
    const Image image = parse_image(std::as_bytes(std::span(bytes_)), name_, most_pixels, options_.stop);
    const std::int64_t channels = image.shape.channels;
    pattern_.cells = LifeGrid(image.shape.height, image.shape.width);
    core::RarePoll look(options_.stop, "stopped while reading a picture");
    for (std::int64_t y = 0; y < image.shape.height; ++y)
      for (std::int64_t x = 0; x < image.shape.width; ++x) {
        look.honour_stop();
        const std::uint8_t* const pixel = image.pixels.data() + (y * image.shape.width + x) * channels;
        bool white = true;
        for (std::int64_t channel = 0; channel < std::min<std::int64_t>(channels, 3); ++channel)
          white = white && pixel[channel] == 255;
        if (!white && (channels < 4 || pixel[3] > 0)) pattern_.cells.set(y, x);
      }
    pattern_.unplaced = {image.shape.width, image.shape.height};
    return std::move(pattern_);
  }

 private:
  std::string bytes_;
};

/// Copies a window that has the size of the box and begins at (left, top). Cells outside of the given grid are dead.
LifeGrid window_of(const LifeGridView& cells, std::int64_t left, std::int64_t top, const life_detail::LifeBox& box,
                   const LifeTarget& target) {
  LifeGrid window(box.height, box.width);
  const std::uint64_t last = box.width % 64 == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << box.width % 64) - 1;
  const auto across = static_cast<unsigned>(left & 63);
  for (std::int64_t y = std::max<std::int64_t>(0, -top); y < std::min(box.height, cells.height - top); ++y) {
    if (y % 64 == 0) core::honour_stop(target.stop, "stopped while writing a picture");
    const std::uint64_t* const from = cells.row(y + top);
    const auto word = [&](std::int64_t at) { return at >= 0 && at < cells.row_words() ? from[at] : 0; };
    std::uint64_t* const to = window.words() + y * window.stride();
    for (std::int64_t at = 0; at < window.stride(); ++at) {
      const std::int64_t first = (left >> 6) + at;
      to[at] = across == 0 ? word(first) : word(first) >> across | word(first + 1) << (64 - across);
    }
    if (window.stride() > 0) to[window.stride() - 1] &= last;
  }
  return window;
}

/// Returns the cells that a picture shows: the bounded world, or the smallest rectangle of live cells.
LifeGrid picture_of(const LifePattern& pattern, const LifeTarget& target, std::int64_t scale) {
  const LifeRuns runs(pattern, target);
  life_detail::LifeBox box = runs.box();
  if (pattern.boundary && *pattern.boundary != LifeBoundary::plane)
    box = life_detail::world_box(pattern.width, pattern.height);
  if (box.width < 1 || box.height < 1) box = {0, 0, 1, 1};  // a picture must have at least one pixel
  if (scale > most_pixels / scale || box.height > most_pixels / (scale * scale) / box.width)
    throw Error("cannot write '" + target.name + "': " + std::to_string(box.width) + " x " +
                std::to_string(box.height) + " cells of " + std::to_string(scale) + " x " + std::to_string(scale) +
                " pixels; up to " + std::to_string(most_pixels) +
                " pixels can be written; .rle and .mc have no such limit");
  if (!pattern.tree) return window_of(pattern.cells, box.left - pattern.left, box.top - pattern.top, box, target);
  LifeGrid cells(box.height, box.width);
  runs.for_each([&](std::int64_t x, std::int64_t y, std::int64_t count) {
    set_run(cells.words() + (y - box.top) * cells.stride(), x - box.left, count);
  });
  return cells;
}

/// Paints a row in grey: dead cells white, live cells black.
template <class Byte>
void paint_row(const LifeGrid& cells, std::int64_t y, std::int64_t scale, Byte* pixels) {
  for (std::int64_t x = 0; x < cells.width(); ++x)
    std::fill_n(pixels + x * scale, scale, static_cast<Byte>(cells(y, x) ? 0 : 255));
}

/// Repeats each cell of a row `scale` times. Writes the cells to `words` and returns their address.
const std::uint64_t* scaled(const LifeGrid& cells, std::int64_t y, std::int64_t scale,
                            std::vector<std::uint64_t>& words) {
  words.assign(static_cast<std::size_t>(cells.width() * scale / 64 + 1), 0);
  for (std::int64_t x = 0; x < cells.width(); ++x)
    if (cells(y, x)) set_run(words.data(), x * scale, scale);
  return words.data();
}

void write_netpbm(TextOutput& output, const LifePattern& pattern, bool gray, std::int64_t scale) {
  const LifeGrid cells = picture_of(pattern, output.target(), scale);
  const std::string sizes = std::to_string(cells.width() * scale) + " " + std::to_string(cells.height() * scale) + "\n";
  output.write(gray ? "P5\n" + sizes + "255\n" : "P4\n" + sizes);
  const std::int64_t width = cells.width() * scale;
  std::string row(static_cast<std::size_t>(gray ? width : (width + 7) / 8), '\0');
  std::vector<std::uint64_t> larger;
  for (std::int64_t y = 0; y < cells.height(); ++y) {
    core::honour_stop(output.target().stop, "stopped while writing a picture");
    if (gray) paint_row(cells, y, scale, row.data());
    else to_pbm(scale == 1 ? cells.words() + y * cells.stride() : scaled(cells, y, scale, larger), width, row.data());
    for (std::int64_t line = 0; line < scale; ++line) output.write(row);
  }
}

void write_life_png(core::AtomicFile& file, const LifePattern& pattern, std::int64_t scale) {
  const LifeGrid cells = picture_of(pattern, {file.path(), file.stop()}, scale);
  const std::int64_t width = cells.width() * scale;
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width * cells.height() * scale));
  for (std::int64_t y = 0; y < cells.height(); ++y) {
    file.honour_stop();
    for (std::int64_t line = 0; line < scale; ++line)
      paint_row(cells, y, scale, pixels.data() + (y * scale + line) * width);
  }
  write_png(file, {width, cells.height() * scale, 1}, pixels);
}

}  // namespace

extern constinit const LifeFormat life_netpbm_format{
    .id = "life_netpbm",
    .file = {.name = "PBM or PGM",
             .endings = ".pbm .pgm .pnm",
             .rules = "Plain or binary. In PBM 1 is alive; in PGM and in pictures what is not white"},
    .is_picture = true,
    .begins =
        [](std::string_view text) {
          return text.size() > 2 && text[0] == 'P' && text[1] >= '1' && text[1] <= '6' &&
                 (text[2] == '\n' || text[2] == ' ' || text[2] == '\r' || text[2] == '#');
        },
    .reader = make_life_reader<NetpbmReader>,
    .written = ".pbm .pgm",
    .write = [](TextOutput& output, const LifePattern& pattern, std::string_view ending,
                std::int64_t scale) { write_netpbm(output, pattern, ending == ".pgm", scale); },
};

extern constinit const LifeFormat life_image_format{
    .id = "life_image",
    .file = {.name = "picture",
             .endings = ".png .jpg .jpeg",
             .rules =
                 "As in PGM; what is fully transparent is dead. A pixel is a cell: a picture written with `--scale` "
                 "shows a larger pattern, write it with `--scale 1` to read it back"},
    .is_picture = true,
    .begins = [](std::string_view text) { return looks_like_image(std::as_bytes(std::span(text))); },
    .reader = make_life_reader<ImageReader>,
    .written = ".png",
    .write_file = write_life_png,
};

}  // namespace gradus::files
