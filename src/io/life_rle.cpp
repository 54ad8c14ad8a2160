#include "io/life_rle.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "io/number.hpp"
#include "io/text_input.hpp"

namespace gradus::io {

namespace {

constexpr std::int64_t most_cells = std::int64_t{1} << 40;  // a grid of 128 GiB

class Reader {
 public:
  explicit Reader(std::string name) : name_(std::move(name)) {}

  void take_line(std::string_view line) {
    ++line_;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (ended_) return;  // whatever follows `!` is a comment
    const std::string_view text = trimmed(line);
    if (!has_header_ && text.starts_with('#')) return take_comment(text);
    if (text.empty()) return;
    if (!has_header_) return take_header(text);
    take_cells(line);
  }

  LifePattern finish() {
    if (!has_header_) throw InputError(name_ + ": there is no header such as 'x = 3, y = 3, rule = B3/S23'");
    if (!ended_) fail("the end of the file, but no '!' that ends the pattern: a part of it may be missing");
    if (!positioned_) {
      pattern_.left = -(pattern_.cells.width() / 2);
      pattern_.top = -(pattern_.cells.height() / 2);
    }
    return std::move(pattern_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(name_ + ", line " + std::to_string(line_) + ": " + what);
  }

  std::int64_t whole(std::string_view text, const char* what, bool negative = false) const {
    text = trimmed(text);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || (!negative && value < 0) ||
        std::abs(value) > (std::int64_t{1} << 48))
      fail(std::string(what) + " " + core::excerpt(text) + " is no whole number up to 2^48");
    return value;
  }

  void take_comment(std::string_view text) {
    if (text.starts_with("#CXRLE")) {
      std::string_view rest = text.substr(6);
      while (!(rest = trimmed(rest)).empty()) {
        const std::string_view word = rest.substr(0, rest.find(' '));
        rest.remove_prefix(word.size());
        if (word.starts_with("Pos=")) {
          const std::size_t comma = word.find(',');
          if (comma == std::string_view::npos) fail("Pos= is followed by two numbers, as in Pos=-3,5");
          pattern_.left = whole(word.substr(4, comma - 4), "the position", true);
          pattern_.top = whole(word.substr(comma + 1), "the position", true);
          positioned_ = true;
        } else if (word.starts_with("Gen=")) {
          pattern_.generation = static_cast<std::uint64_t>(whole(word.substr(4), "the generation"));
        }
      }
      return;
    }
    pattern_.comments.emplace_back(text);
  }

  void take_header(std::string_view text) {
    has_header_ = true;
    std::optional<std::int64_t> width;
    std::optional<std::int64_t> height;
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t equals = rest.find('=');
      if (equals == std::string_view::npos)
        fail("a header such as 'x = 3, y = 3, rule = B3/S23' is expected, not " + core::excerpt(text));
      const std::string_view key = trimmed(rest.substr(0, equals));
      rest.remove_prefix(equals + 1);
      // A rule's topology has a comma of its own, and the rule comes last.
      const std::size_t end = key == "rule" ? rest.size() : std::min(rest.find(','), rest.size());
      const std::string_view value = trimmed(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (key == "x") width = whole(value, "the width");
      else if (key == "y") height = whole(value, "the height");
      else if (key == "rule") take_rule(value);
      else fail("the header has " + core::excerpt(key) + "; x, y and rule are known");
    }
    if (!width || !height) fail("the header must give x and y, as in 'x = 3, y = 3'");
    if (*height > 0 && *width > most_cells / *height)
      fail("the header says " + std::to_string(*width) + " x " + std::to_string(*height) +
           " cells, more than are supported (2^40)");
    pattern_.cells = LifeGrid(*height, *width);
  }

  void take_rule(std::string_view value) {
    const std::size_t colon = value.find(':');
    try {
      pattern_.rule = life_rule(value.substr(0, colon));
    } catch (const UsageError& error) {
      fail(error.what());
    }
    if (colon == std::string_view::npos) return;
    const std::string_view topology = trimmed(value.substr(colon + 1));
    const char kind = topology.empty() ? ' ' : static_cast<char>(topology.front() | 0x20);
    if (kind != 't' && kind != 'p')
      fail("topology " + core::excerpt(topology) +
           " is not supported, only a torus such as :T64,64 and a dead border, :P64,64");
    const std::size_t comma = topology.find(',');
    pattern_.boundary = kind == 't' ? LifeBoundary::torus : LifeBoundary::dead;
    pattern_.width = whole(topology.substr(1, comma - 1), "the topology's width");
    pattern_.height =
        comma == std::string_view::npos ? pattern_.width : whole(topology.substr(comma + 1), "the topology's height");
    if (pattern_.width == 0 || pattern_.height == 0)
      fail("topology " + core::excerpt(topology) + ": a side of 0 (unbounded in one direction) is not supported");
  }

  void take_cells(std::string_view line) {
    for (const char letter : line) {
      if (is_digit(letter)) {
        if (__builtin_mul_overflow(count_, 10, &count_) || __builtin_add_overflow(count_, letter - '0', &count_))
          fail("a run is longer than 64 bits count");
        counted_ = true;
        continue;
      }
      if (letter == ' ' || letter == '\t') continue;
      const std::int64_t count = counted_ ? count_ : 1;
      if (counted_ && count == 0) fail("a run of length 0");
      counted_ = false;
      count_ = 0;
      switch (letter) {
        case 'b':
        case '.': advance(count); break;
        case 'o':
        case 'A': {
          const std::int64_t first = x_;
          advance(count);
          if (y_ >= pattern_.cells.height())
            fail("live cells below the " + std::to_string(pattern_.cells.height()) + " rows of the header");
          for (std::int64_t x = first; x < x_; ++x) pattern_.cells.set(y_, x);
          break;
        }
        case '$':
          if (__builtin_add_overflow(y_, count, &y_)) fail("a run is longer than 64 bits count");
          x_ = 0;
          break;
        case '!': ended_ = true; return;
        default:
          fail(core::excerpt(std::string_view(&letter, 1)) +
               (letter >= 'B' && letter <= 'X' ? " is a state of a rule with more than two, which are not supported"
                                               : " is none of b, o, $, ! and digits"));
      }
    }
  }

  void advance(std::int64_t count) {
    if (__builtin_add_overflow(x_, count, &x_) || x_ > pattern_.cells.width())
      fail("a run goes beyond the " + std::to_string(pattern_.cells.width()) + " columns of the header");
  }

  std::string name_;
  LifePattern pattern_;
  std::int64_t line_ = 0;
  bool has_header_ = false;
  bool positioned_ = false;
  bool ended_ = false;
  bool counted_ = false;
  std::int64_t count_ = 0;
  std::int64_t x_ = 0;
  std::int64_t y_ = 0;
};

/// Runs as text, in lines of at most 70 characters.
class Writer {
 public:
  explicit Writer(std::string& text) : text_(text) {}
  void add(std::int64_t count, char letter) {
    if (count == 0) return;
    const std::string run = (count > 1 ? std::to_string(count) : "") + letter;
    if (column_ + run.size() > 70) {
      text_ += '\n';
      column_ = 0;
    }
    text_ += run;
    column_ += run.size();
  }

 private:
  std::string& text_;
  std::size_t column_ = 0;
};

}  // namespace

LifePattern read_life_rle(const std::string& path, const std::stop_token& stop) {
  TextInput input(path, stop);
  Reader reader(input.name());
  input.feed([&reader](std::string_view text, bool last) {
    std::size_t taken = 0;
    while (taken < text.size()) {
      const std::size_t end = text.find('\n', taken);
      if (end == std::string_view::npos && !last) break;
      const std::size_t stop_at = std::min(end, text.size());
      reader.take_line(text.substr(taken, stop_at - taken));
      taken = std::min(stop_at + 1, text.size());
    }
    return taken;
  });
  return reader.finish();
}

std::string life_rle(const LifeGridView& cells, const LifeRleHeader& header, const std::stop_token& stop) {
  std::int64_t top = cells.height;
  std::int64_t bottom = 0;
  std::int64_t left = cells.width;
  std::int64_t right = 0;
  for (std::int64_t y = 0; y < cells.height; ++y)
    for (std::int64_t word = 0; word < cells.row_words(); ++word) {
      const std::uint64_t bits = cells.row(y)[word];
      if (bits == 0) continue;
      top = std::min(top, y);
      bottom = y + 1;
      left = std::min(left, word * 64 + std::countr_zero(bits));
      right = std::max(right, word * 64 + 64 - std::countl_zero(bits));
    }
  if (bottom == 0) top = left = right = 0;
  std::string text = "#CXRLE Pos=" + std::to_string(header.left + left) + "," + std::to_string(header.top + top);
  if (header.generation > 0) text += " Gen=" + std::to_string(header.generation);
  text += "\nx = " + std::to_string(right - left) + ", y = " + std::to_string(bottom - top) +
          ", rule = " + to_string(header.rule);
  if (header.boundary != LifeBoundary::plane)
    text += (header.boundary == LifeBoundary::torus ? ":T" : ":P") + std::to_string(header.width) + "," +
            std::to_string(header.height);
  text += '\n';
  Writer writer(text);
  std::int64_t ends = 0;  // of rows that were not yet written
  for (std::int64_t y = top; y < bottom; ++y, ++ends) {
    if (y % 64 == 0) core::honour_stop(stop, "stopped while writing a pattern");
    std::int64_t x = left;
    while (x < right) {
      const bool alive = cells(y, x);
      std::int64_t end = x + 1;
      while (end < right && cells(y, end) == alive) ++end;
      if (!alive && end == right) break;
      if (ends > 0) writer.add(ends, '$');
      ends = 0;
      writer.add(end - x, alive ? 'o' : 'b');
      x = end;
    }
  }
  writer.add(1, '!');
  return text + "\n";
}

}  // namespace gradus::io
