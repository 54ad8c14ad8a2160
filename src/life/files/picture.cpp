// Life patterns as pictures. This file reads PBM and PGM; the readers of pictures read PNG and JPEG.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "files/image.hpp"
#include "files/number.hpp"
#include "life/files/output.hpp"
#include "life/files/text.hpp"

namespace gradus::files {

namespace {

/// The meaning of a character in a plain picture. The lowest bit is set for a live cell only.
struct PlainLetter {
  static constexpr std::uint8_t dead = 0;
  static constexpr std::uint8_t live = 1;
  static constexpr std::uint8_t space = 2;
  static constexpr std::uint8_t other = 4;

  static std::uint8_t meaning(char letter) {
    static constexpr auto meanings = [] {
      std::array<std::uint8_t, 256> all{};
      all.fill(other);
      for (const char blank : std::string_view(" \t\n\r\v\f")) all[static_cast<unsigned char>(blank)] = space;
      all['0'] = dead;
      all['1'] = live;
      return all;
    }();
    return meanings[static_cast<unsigned char>(letter)];
  }
};

bool is_space(char letter) { return PlainLetter::meaning(letter) == PlainLetter::space; }

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
    const auto is_alive_at = [&](std::size_t cell) { return is_alive(x + static_cast<std::int64_t>(cell)); };
    const auto left = static_cast<std::size_t>(width - x);
    words[x / 64] = left >= 64 ? bits_of_64(is_alive_at)
                               : bits_of_64([&](std::size_t cell) { return cell < left && is_alive_at(cell); });
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
    const std::size_t newline = text.substr(0, at).rfind('\n');
    begun_ = newline == std::string_view::npos ? begun_ + at : at - newline - 1;
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
    const std::size_t newline = before.rfind('\n');
    fail_at((newline == std::string_view::npos ? begun_ + at : at - newline - 1) + 1, what);
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
    // If the text is long enough, its cells go directly to the grid. Otherwise rows are allocated when they arrive, so
    // that a header alone takes no memory.
    const auto cells = static_cast<std::uint64_t>(width_) * static_cast<std::uint64_t>(height_);
    const std::uint64_t least = is_binary() ? row_bytes() * static_cast<std::uint64_t>(height_)
                                : is_gray() ? 2 * cells - 1
                                            : cells;
    has_grid_ = promised_bytes_ >= least;
    if (has_grid_) pattern_.cells = LifeGrid(height_, width_, LifeGrid::Uninitialised{});
  }

  /// Returns the words of the next row. For plain pictures, they are 0.
  std::uint64_t* next_row() {
    const auto words = static_cast<std::size_t>(width_ / 64 + (width_ % 64 > 0 ? 1 : 0));
    if (has_grid_) {
      std::uint64_t* const row = pattern_.cells.words() + y_ * pattern_.cells.stride();
      if (!is_binary()) std::fill_n(row, words, 0);
      return row;
    }
    rows_.resize(rows_.size() + words);
    return rows_.data() + (rows_.size() - words);
  }
  void end_row() {
    x_ = 0;
    if (++y_ < height_) return;
    done_ = true;
    if (has_grid_) return;
    pattern_.cells = LifeGrid(height_, width_, LifeGrid::Uninitialised{});
    std::ranges::copy(rows_, pattern_.cells.words());
    rows_ = {};
  }

  std::size_t sample_bytes() const { return white_ > 255 ? 2 : 1; }
  std::size_t row_bytes() const {
    return is_gray() ? static_cast<std::size_t>(width_) * sample_bytes() : static_cast<std::size_t>((width_ + 7) / 8);
  }

  void take_bytes(std::string_view text, std::size_t& at) {
    while (!done_ && text.size() - at >= row_bytes()) {
      std::uint64_t* const words = next_row();
      const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data()) + at;
      if (!is_gray()) from_pbm(bytes, width_, words);
      else if (sample_bytes() == 1)
        from_gray(width_, words,
                  [bytes, white = static_cast<unsigned char>(white_)](std::int64_t x) { return bytes[x] < white; });
      else
        from_gray(width_, words, [bytes, white = static_cast<int>(white_)](std::int64_t x) {
          return (bytes[2 * x] << 8 | bytes[2 * x + 1]) < white;
        });
      at += row_bytes();
      end_row();
    }
  }

  /// Parses cells and blanks of a plain PBM, up to the first other character.
  void take_plain_bits(std::string_view text, std::size_t& at) {
    const char* next = text.data() + at;
    const char* const end = text.data() + text.size();
    for (bool word_is_full = true; !done_ && word_is_full;) {
      const auto first = static_cast<int>(x_ % 64);
      const auto wanted = static_cast<int>(std::min<std::int64_t>(64 - first, width_ - x_));
      std::uint64_t cells = 0;
      int count = 0;
      while (count < wanted && next != end) {
        constexpr std::uint64_t lowest_bits = 0x0101010101010101;
        std::uint64_t eight = 0;
        if (wanted - count >= 8 && end - next >= 8) std::memcpy(&eight, next, sizeof eight);
        if ((eight & ~lowest_bits) == '0' * lowest_bits) {
          cells |= packed_bits(eight & lowest_bits) << count;
          count += 8;
          next += 8;
          continue;
        }
        const std::uint8_t kind = PlainLetter::meaning(*next);
        if (kind == PlainLetter::other) break;
        cells |= static_cast<std::uint64_t>(kind & PlainLetter::live) << count;
        count += kind == PlainLetter::space ? 0 : 1;
        ++next;
      }
      word_is_full = count == wanted;
      if (count == 0) break;
      if (x_ == 0) row_ = next_row();
      row_[x_ / 64] |= cells << first;
      x_ += count;
      if (x_ == width_) end_row();
    }
    at = static_cast<std::size_t>(next - text.data());
  }

  /// Parses short numbers and blanks of a plain PGM, up to anything else and before the last number of the text.
  void take_plain_numbers(std::string_view text, std::size_t& at) {
    const char* next = text.data() + at;
    const char* const end = text.data() + text.size();
    while (!done_) {
      while (next != end && is_space(*next)) ++next;
      std::uint64_t value = 0;
      const char* const stop = digits_at(next, end, value);
      constexpr std::ptrdiff_t safe_digits = 9;
      if (stop == next || stop == end || stop - next > safe_digits || value > static_cast<std::uint64_t>(white_)) break;
      if (x_ == 0) row_ = next_row();
      row_[x_ / 64] |= std::uint64_t{value < static_cast<std::uint64_t>(white_)} << (x_ % 64);
      if (++x_ == width_) end_row();
      next = stop;
    }
    at = static_cast<std::size_t>(next - text.data());
  }

  void take_letters(std::string_view text, std::size_t& at, bool last) {
    while (!done_) {
      if (is_gray()) take_plain_numbers(text, at);
      else take_plain_bits(text, at);
      if (done_) return;
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
  bool has_grid_ = false;  ///< true if rows go to `pattern_.cells`, false if they go to `rows_`
  bool line_counted_ = false;
  std::size_t begun_ = 0;  ///< number of bytes of the current line in earlier chunks
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

/// The cells of a picture. If they are a part of the pattern's grid that begins with a word, `copy` is empty.
struct PictureCells {
  LifeGrid copy;
  LifeGridView view;
};

/// Returns the cells of a picture: the bounded world, or the smallest rectangle of live cells. The caller keeps the
/// pattern alive.
PictureCells picture_of(const LifePattern& pattern, const LifeTarget& target, std::int64_t scale) {
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
  PictureCells picture;
  if (!pattern.tree) {
    const LifeGridView& cells = pattern.cells;
    const std::int64_t left = box.left - pattern.left;
    const std::int64_t top = box.top - pattern.top;
    const bool is_part = left >= 0 && top >= 0 && box.width <= cells.width - left && box.height <= cells.height - top;
    // The bits after the last column must be 0.
    const bool is_clear = box.width % 64 == 0 || box.left + box.width == runs.box().left + runs.box().width;
    if (is_part && is_clear && left % 64 == 0) {
      picture.view = {cells.row(top) + left / 64, box.height, box.width, cells.stride};
      return picture;
    }
    picture.copy = window_of(cells, left, top, box, target);
    picture.view = picture.copy;
    return picture;
  }
  LifeGrid cells(box.height, box.width);
  runs.for_each([&](std::int64_t x, std::int64_t y, std::int64_t count) {
    set_run(cells.words() + (y - box.top) * cells.stride(), x - box.left, count);
  });
  picture.copy = std::move(cells);
  picture.view = picture.copy;
  return picture;
}

/// Paints a row in grey: dead cells white, live cells black.
template <class Byte>
void paint_row(const LifeGridView& cells, std::int64_t y, std::int64_t scale, Byte* pixels) {
  static constexpr auto eight_pixels = [] {
    std::array<std::array<Byte, 8>, 256> pixels{};
    for (std::size_t bits = 0; bits < pixels.size(); ++bits)
      for (std::size_t cell = 0; cell < 8; ++cell) pixels[bits][cell] = static_cast<Byte>(bits >> cell & 1 ? 0 : 255);
    return pixels;
  }();
  std::int64_t x = 0;
  if (scale == 1)
    for (; x + 8 <= cells.width; x += 8) {
      const std::uint64_t bits = cells.row(y)[x / 64] >> (x % 64) & 0xff;
      std::memcpy(pixels + x, eight_pixels[bits].data(), 8);
    }
  for (; x < cells.width; ++x) std::fill_n(pixels + x * scale, scale, static_cast<Byte>(cells(y, x) ? 0 : 255));
}

/// Repeats each cell of a row `scale` times. `words` is a buffer.
const std::uint64_t* scaled(const LifeGridView& cells, std::int64_t y, std::int64_t scale,
                            std::vector<std::uint64_t>& words) {
  words.assign(static_cast<std::size_t>(cells.width * scale / 64 + 1), 0);
  for (std::int64_t x = 0; x < cells.width; ++x)
    if (cells(y, x)) set_run(words.data(), x * scale, scale);
  return words.data();
}

void write_netpbm(TextOutput& output, const LifePattern& pattern, bool gray, std::int64_t scale) {
  const PictureCells picture = picture_of(pattern, output.target(), scale);
  const LifeGridView& cells = picture.view;
  const std::string sizes = std::to_string(cells.width * scale) + " " + std::to_string(cells.height * scale) + "\n";
  output.write(gray ? "P5\n" + sizes + "255\n" : "P4\n" + sizes);
  const std::int64_t width = cells.width * scale;
  std::string row(static_cast<std::size_t>(gray ? width : (width + 7) / 8), '\0');
  std::vector<std::uint64_t> larger;
  for (std::int64_t y = 0; y < cells.height; ++y) {
    core::honour_stop(output.target().stop, "stopped while writing a picture");
    if (gray) paint_row(cells, y, scale, row.data());
    else to_pbm(scale == 1 ? cells.row(y) : scaled(cells, y, scale, larger), width, row.data());
    for (std::int64_t line = 0; line < scale; ++line) output.write(row);
  }
}

void write_life_png(core::AtomicFile& file, const LifePattern& pattern, std::int64_t scale) {
  const PictureCells picture = picture_of(pattern, {file.path(), file.stop()}, scale);
  const LifeGridView& cells = picture.view;
  const std::int64_t width = cells.width * scale;
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width * cells.height * scale));
  for (std::int64_t y = 0; y < cells.height; ++y) {
    file.honour_stop();
    for (std::int64_t line = 0; line < scale; ++line)
      paint_row(cells, y, scale, pixels.data() + (y * scale + line) * width);
  }
  write_png(file, {width, cells.height * scale, 1}, pixels);
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
