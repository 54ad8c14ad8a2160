// Reads and writes Life patterns as run-length encoded text (RLE).
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "files/number.hpp"
#include "life/files/output.hpp"
#include "life/files/text.hpp"

namespace gradus::files {

namespace {

/// The remedy in messages about an incorrect size in the header.
constexpr const char* correct_it = "; correct that number if all runs belong to the pattern";

class RleReader final : public LifeReader {
 public:
  RleReader(std::string name, const LifeReadOptions& options)
      : LifeReader(std::move(name), options), cells_(options.memory_limit) {}

  LifePattern finish() override {
    ++line_;
    if (!begun_) fail("the file ends without a header such as 'x = 3, y = 3, rule = B3/S23'");
    if (!ended_)
      fail("the file ends without the '!' that ends a pattern; a part of it may be missing; if it is whole, add a '!'");
    if (!has_header_) {
      width_ = greatest_x_;
      height_ = y_ + 1;
    }
    if (pattern_.left > farthest_cell - width_ || pattern_.top > farthest_cell - height_)
      fail("the pattern reaches further than 2^62");
    if (!positioned_) pattern_.unplaced = {width_, height_};
    cells_.finish(pattern_, options_.stop);
    return std::move(pattern_);
  }

 private:
  void take_line(std::string_view line) override {
    const std::string_view text = trimmed(line);
    if (!begun_) {
      if (text.starts_with("#CXRLE")) return take_place(line);
      // Older programs write the rule in a line "#r". If the header has a rule, too, it follows later and replaces this
      // rule.
      if (text.starts_with("#r ")) return take_rule(trimmed(text.substr(3)), column_of(line, text) + 3);
      if (text.starts_with("#P ") || text.starts_with("#R ")) return take_corner(line, text.substr(3));
    }
    if (text.starts_with('#')) {
      pattern_.comments.emplace_back(text);
      return;
    }
    if (ended_ || text.empty()) return;  // everything after the '!' is ignored
    if (begun_) return take_runs(line);
    begun_ = true;
    // Some files have no header.
    if (text.substr(0, text.find('!')).find_first_not_of(run_letters) == std::string_view::npos) return take_runs(line);
    take_header(line);
  }

  static std::size_t column_of(std::string_view line, std::string_view part) {
    return static_cast<std::size_t>(part.data() - line.data()) + 1;
  }

  /// Parses Golly's extension "#CXRLE Pos=-3,5 Gen=100".
  void take_place(std::string_view line) {
    std::string_view rest = trimmed(line).substr(6);
    while (!(rest = trimmed(rest)).empty()) {
      const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
      rest.remove_prefix(word.size());
      const std::size_t column = column_of(line, word);
      if (word.starts_with("Pos=")) {
        const std::size_t comma = std::min(word.find(','), word.size() - 1);
        pattern_.left = whole(word.substr(4, comma - 4), column + 4, "Pos", -farthest_cell, farthest_cell);
        pattern_.top = whole(word.substr(comma + 1), column + comma + 1, "Pos", -farthest_cell, farthest_cell);
        positioned_ = true;
      } else if (word.starts_with("Gen=")) {
        take_generation(word.substr(4), column + 4);
      }
    }
  }

  /// Parses XLife's line "#P -3 5", which states the place of the first cell. If the file has a place in Golly's
  /// extension, that place is used instead.
  void take_corner(std::string_view line, std::string_view rest) {
    const auto [left, top] = place_in(line, trimmed(rest));
    if (std::exchange(positioned_, true)) return;
    pattern_.left = left;
    pattern_.top = top;
  }

  void take_header(std::string_view line) {
    std::optional<std::int64_t> width;
    std::optional<std::int64_t> height;
    std::string_view rest = line;
    while (!trimmed(rest).empty()) {
      const std::string_view key = trimmed(rest.substr(0, rest.find('=')));
      const std::size_t column = column_of(line, key);
      if (rest.find('=') == std::string_view::npos || (key != "x" && key != "y" && key != "rule"))
        fail_at(column, core::excerpt(key) + " where a header such as 'x = 3, y = 3, rule = B3/S23' is expected");
      rest.remove_prefix(rest.find('=') + 1);
      // The rule is the last entry of the header. Its topology may contain a comma.
      const std::size_t end = key == "rule" ? rest.size() : std::min(rest.find(','), rest.size());
      const std::string_view value = trimmed(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const std::size_t place = column_of(line, value);
      if (key == "rule") {
        take_rule(value, place);
        continue;
      }
      if (key == "x") width = whole(value, place, "the width x", 0, farthest_cell);
      else height = whole(value, place, "the height y", 0, farthest_cell);
    }
    if (!width || !height) fail("a header without x and y; 'x = 3, y = 3, rule = B3/S23' is an example");
    has_header_ = true;
    width_ = *width;
    height_ = *height;
    cells_.promise(width_, height_, promised_bytes_);
  }

  void take_runs(std::string_view line) {
    for (std::size_t place = 0; place < line.size(); ++place) {
      if (count_column_ == 0) place = take_common_runs(line, place);
      if (place == line.size()) break;
      const char letter = line[place];
      if (is_digit(letter)) {
        if (count_column_ == 0) count_column_ = place + 1;
        if (__builtin_mul_overflow(count_, 10, &count_) || __builtin_add_overflow(count_, letter - '0', &count_) ||
            count_ > farthest_cell)
          fail_at(count_column_, "a run longer than 2^62");
        continue;
      }
      if (is_blank(letter)) continue;
      const std::size_t column = count_column_ == 0 ? place + 1 : count_column_;
      if (count_column_ != 0 && count_ == 0) fail_at(column, "a run of 0");
      const std::int64_t count = count_column_ == 0 ? 1 : count_;
      count_ = 0;
      count_column_ = 0;
      if (letter == '!') {
        if (column != place + 1) fail_at(column, "a number before '!', which ends a pattern once");
        ended_ = true;
        return;
      }
      take_run(letter, count, column);
    }
    // A line may end after a count. Its tag is then on the next line.
    if (count_column_ != 0) count_column_ = 1;
  }

  /// Takes complete runs of cells inside the rectangle, beginning at `place`, if the cells are stored as a grid.
  /// Returns the place of anything else.
  std::size_t take_common_runs(std::string_view line, std::size_t place) {
    std::int64_t x = x_;
    std::int64_t y = y_;
    std::uint64_t* row = cells_.row(y);
    while (row != nullptr && place < line.size()) {
      std::array<char, 64 + 2> text;  // has room for a load of two digits at the end
      text.fill('0');
      const std::size_t length = std::min<std::size_t>(line.size() - place, 64);
      std::memcpy(text.data(), line.data() + place, length);
      std::uint64_t tags = bits_of_64([&](std::size_t at) { return !is_digit(text[at]); });
      std::size_t first = 0;
      for (; tags != 0; tags &= tags - 1) {
        const auto tag = static_cast<std::size_t>(std::countr_zero(tags));
        const std::uint64_t count = common_count(text.data() + first, tag - first);
        const Tag kind = tag_of(text[tag]);
        // In this comparison, 0 is too large, too.
        const std::int64_t most = kind == Tag::end_of_row ? height_ - y : row != nullptr ? width_ - x : 0;
        if (kind == Tag::other || count - 1 >= static_cast<std::uint64_t>(most)) break;
        if (kind == Tag::end_of_row) {
          greatest_x_ = std::max(greatest_x_, x);
          y += static_cast<std::int64_t>(count);
          x = 0;
          row = cells_.row(y);
        } else {
          if (kind == Tag::alive) set_run(row, x, static_cast<std::int64_t>(count));
          x += static_cast<std::int64_t>(count);
        }
        first = tag + 1;
      }
      place += first;
      if (tags != 0 || first == 0 || length < 64) break;
    }
    greatest_x_ = std::max(greatest_x_, x);
    x_ = x;
    y_ = y;
    return place;
  }

  enum class Tag : std::uint8_t { dead, alive, end_of_row, other };

  static Tag tag_of(char letter) {
    static constexpr auto tags = [] {
      std::array<Tag, 256> all{};
      all.fill(Tag::other);
      all['b'] = all['.'] = Tag::dead;
      all['o'] = all['A'] = Tag::alive;
      all['$'] = Tag::end_of_row;
      return all;
    }();
    return tags[static_cast<unsigned char>(letter)];
  }

  /// Returns the count that these digits state, or 0 if they are too many. Up to two digits are parsed without
  /// branches, which the CPU could not predict. Reads two bytes.
  static std::uint64_t common_count(const char* text, std::size_t digits) {
    if (digits > 2) {
      constexpr std::size_t safe_digits = 17;
      std::uint64_t count = 0;
      if (digits <= safe_digits) digits_at(text, text + digits, count);
      return count;
    }
    std::uint16_t two = 0;
    std::memcpy(&two, text, sizeof two);
    const unsigned right = unsigned{two} << (16 - 8 * digits) & 0x0f0f;       // the last digit is in the higher byte
    static constexpr std::array<std::uint8_t, 3> without_digits = {1, 0, 0};  // compilers make a branch of a comparison
    return (right & 0xff) * 10 + (right >> 8) + without_digits[digits];
  }

  void take_run(char letter, std::int64_t count, std::size_t column) {
    switch (letter) {
      case 'b':
      case '.': advance(count, column); break;
      case 'o':
      case 'A': {
        const std::int64_t first = x_;
        advance(count, column);
        if (!cells_.add(first, y_, count)) fail_memory(column);
        break;
      }
      case '$':
        // The last row may have an end tag, like all other rows.
        if (count > height_ - y_)
          fail_at(column, has_header_ ? "the end of row " + number_text(y_, count) +
                                            "; the header says that y = " + std::to_string(height_) + correct_it
                                      : "more than 2^62 rows");
        y_ += count;
        x_ = 0;
        break;
      default:
        if ((letter >= 'B' && letter <= 'X') || (letter >= 'p' && letter <= 'y'))
          fail_at(column, core::excerpt({&letter, 1}) +
                              ": a state of a rule with more than two, which are not supported; the cells of rules B/S "
                              "are b and o");
        fail_at(column, core::excerpt({&letter, 1}) + " where a number, b, o, $ or ! is expected");
    }
  }

  static std::string number_text(std::int64_t before, std::int64_t count) {
    return std::to_string(static_cast<std::uint64_t>(before) + static_cast<std::uint64_t>(count));
  }

  void advance(std::int64_t count, std::size_t column) {
    if (y_ >= height_)
      fail_at(column, "a run in row " + std::to_string(y_ + 1) +
                          "; the header says that y = " + std::to_string(height_) + correct_it);
    if (count > width_ - x_)
      fail_at(column, has_header_ ? "a run up to cell " + number_text(x_, count) +
                                        " of its row; the header says that x = " + std::to_string(width_) + correct_it
                                  : "a row of more than 2^62 cells");
    x_ += count;
    greatest_x_ = std::max(greatest_x_, x_);
  }

  LifeCells cells_;
  // The size that the header states. All cells must be within this size.
  std::int64_t width_ = farthest_cell;
  std::int64_t height_ = farthest_cell;
  std::int64_t greatest_x_ = 0;
  bool begun_ = false;
  bool has_header_ = false;
  bool positioned_ = false;
  bool ended_ = false;
  std::int64_t count_ = 0;
  std::size_t count_column_ = 0;  ///< column of a count whose tag has not been read yet; 0 if there is none
  std::int64_t x_ = 0;
  std::int64_t y_ = 0;
};

/// The text of a short run: its length, unless it is 1, and its letter. A run of 0 cells has no text.
struct RunText {
  std::array<char, 4> text = {};
  std::uint32_t length = 0;
};

constexpr std::int64_t short_runs = 1000;

/// The texts of short runs of dead and of live cells.
constexpr auto run_texts = [] {
  std::array<std::array<RunText, short_runs>, 2> runs{};
  for (std::size_t alive = 0; alive < 2; ++alive)
    for (std::uint32_t count = 1; count < short_runs; ++count) {
      RunText& run = runs[alive][count];
      for (std::uint32_t power = 100; power > 0 && count > 1; power /= 10)
        if (count >= power) run.text[run.length++] = static_cast<char>('0' + count / power % 10);
      run.text[run.length++] = alive != 0 ? 'o' : 'b';
    }
  return runs;
}();

/// Writes lines of at most 70 characters. Does not separate a count from its tag.
class RleText {
 public:
  RleText(TextOutput& output, int word_cells)
      : output_(output), word_cells_(word_cells), word_bits_(~std::uint64_t{0} >> (64 - word_cells)) {}

  /// Adds a word of cells, of which the first is at (x, y). Calls must be in order: from the top row down, and within a
  /// row from left to right.
  void add(std::int64_t x, std::int64_t y, std::uint64_t cells) {
    if (y != y_) {
      end_row();
      end_ = put(end_, y - y_, '$');
      y_ = y;
      first_ = 0;
    } else if (alive_ && x != next_) {
      end_row();
      first_ = next_;
    }
    // A bit is set where a run ends and the next one begins.
    std::uint64_t ends = (cells ^ (cells << 1 | (alive_ ? 1 : 0))) & word_bits_;
    char* at = end_;
    std::int64_t first = first_;
    bool alive = alive_;
    for (; ends != 0; ends &= ends - 1) {
      const std::int64_t end = x + std::countr_zero(ends);
      at = put_run(at, end - first, alive);
      first = end;
      alive = !alive;
    }
    end_ = at;
    first_ = first;
    alive_ = alive;
    next_ = x + word_cells_;
    if (text_.size() - static_cast<std::size_t>(end_ - text_.data()) < longest_word) write_lines();
  }
  void finish() {
    end_row();
    end_ = put(end_, 1, '!');
    write_lines();
    output_.write({text_.data(), static_cast<std::size_t>(end_ - text_.data())});
    output_.write("\n");
  }

 private:
  static constexpr std::size_t longest_line = 70;
  static constexpr std::size_t longest_word = 512;

  /// Ends a run of live cells behind the last word. Dead cells at the end of a row are not written.
  void end_row() {
    if (alive_) end_ = put_run(end_, next_ - first_, true);
    alive_ = false;
  }

  // Both functions write a run to `at` and return its end.
  char* put_run(char* at, std::int64_t count, bool alive) {
    if (count >= short_runs) return put(at, count, alive ? 'o' : 'b');
    const RunText& run = run_texts[alive ? 1 : 0][static_cast<std::size_t>(count)];
    std::memcpy(at, run.text.data(), run.text.size());
    return at + run.length;
  }
  char* put(char* at, std::int64_t count, char letter) {
    if (count > 1) at = std::to_chars(at, text_.data() + text_.size(), count).ptr;
    *at++ = letter;
    return at;
  }

  /// Writes all lines that no further run changes, and keeps the rest.
  void write_lines() {
    const char* line = text_.data();
    lines_.clear();
    while (end_ - line > static_cast<std::ptrdiff_t>(longest_line)) {
      std::size_t length = longest_line;
      while (is_digit(line[length - 1])) --length;
      lines_.append(line, length).append(1, '\n');
      line += length;
    }
    output_.write(lines_);
    end_ = std::copy<const char*>(line, end_, text_.data());
  }

  TextOutput& output_;
  std::array<char, std::size_t{1} << 16> text_;  ///< runs without line ends
  char* end_ = text_.data();                     ///< end of the runs in `text_`
  std::string lines_;
  int word_cells_;
  std::uint64_t word_bits_;
  std::int64_t y_ = 0;
  // The run of the row's last cells, which the next word may extend.
  std::int64_t first_ = 0;
  bool alive_ = false;
  std::int64_t next_ = 0;  ///< first cell behind the last word
};

}  // namespace

namespace {

void write_rle(TextOutput& output, const LifePattern& pattern) {
  const LifeRuns runs(pattern, output.target());
  const life_detail::LifeBox& box = runs.box();
  if (std::max(box.width, box.height) > farthest_cell)
    throw Error("cannot write '" + output.target().name + "': a header of x = " + std::to_string(box.width) +
                ", y = " + std::to_string(box.height) + " does not read back; Macrocell (.mc) can hold the cells");
  output.write("#CXRLE Pos=" + std::to_string(box.left) + "," + std::to_string(box.top));
  if (pattern.generation > 0) output.write(" Gen=" + std::to_string(pattern.generation));
  output.write("\n");
  write_comments(output, pattern, "#");
  output.write("x = " + std::to_string(box.width) + ", y = " + std::to_string(box.height) +
               ", rule = " + rule_text(pattern) + "\n");
  const auto text = std::make_unique<RleText>(output, runs.word_cells());
  runs.for_each_word(
      [&](std::int64_t x, std::int64_t y, std::uint64_t cells) { text->add(x - box.left, y - box.top, cells); });
  text->finish();
}

}  // namespace

extern constinit const LifeFormat life_rle_format{
    .id = "life_rle",
    .file = {.name = "RLE",
             .endings = ".rle",
             .rules =
                 "A header `x = 3, y = 3, rule = B3/S23`, then runs of `b` and `o` (or `.` and `A`), `$` and `!`. "
                 "Golly's `#CXRLE Pos=… Gen=…` and the older `#P x y`, `#R x y` and `#r 23/3` are read, other lines "
                 "with `#` are kept as comments. A run or the end of a row beyond the header's rectangle, a number "
                 "before `!`, or a missing `!` is an error; a missing header and text behind the `!` are none"},
    .has_line = [](std::string_view line, bool) { return line.front() == 'x' || is_runs(line); },
    .reader = make_life_reader<RleReader>,
    .written = ".rle",
    .write = [](TextOutput& output, const LifePattern& pattern, std::string_view,
                std::int64_t) { write_rle(output, pattern); },
};

}  // namespace gradus::files
