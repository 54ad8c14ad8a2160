// Life patterns as rows of dots and letters (.cells, Life 1.05), and as lists of live cells (Life 1.06).
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "core/text.hpp"
#include "files/number.hpp"
#include "life/files/output.hpp"
#include "life/files/text.hpp"

namespace gradus::files {

namespace {

/// Adds the letters of a line from `x` on, eight at a time. `x` is a multiple of 8. Returns the place of the first
/// letter that must be added alone, because it may be malformed or its cell may exceed the memory limit.
std::size_t add_eights(LifeCells& cells, std::string_view line, std::size_t x, std::int64_t y) {
  // The lowest bit is set for live cells, the next bit for letters that are no cells.
  static constexpr std::uint8_t no_cell = 2;
  static constexpr auto meanings = [] {
    std::array<std::uint8_t, 256> all{};
    all.fill(no_cell);
    all['.'] = 0;
    all['O'] = all['*'] = 1;
    return all;
  }();
  for (; x + 8 <= line.size(); x += 8) {
    unsigned all = 0;
    std::uint64_t bits = 0;
    for (std::size_t letter = 0; letter < 8; ++letter) {
      const std::uint8_t meaning = meanings[static_cast<unsigned char>(line[x + letter])];
      all |= meaning;
      bits |= static_cast<std::uint64_t>(meaning & 1) << letter;
    }
    if ((all & no_cell) != 0 || !cells.add_eight(static_cast<std::int64_t>(x), y, bits)) break;
  }
  return x;
}

class PlaintextReader final : public LifeReader {
 public:
  PlaintextReader(std::string name, const LifeReadOptions& options)
      : LifeReader(std::move(name), options), cells_(options.memory_limit) {}

  LifePattern finish() override {
    pattern_.unplaced = {width_, height_};
    cells_.finish(pattern_, options_.stop);
    return std::move(pattern_);
  }

 private:
  void take_line(std::string_view line) override {
    if (line.starts_with('!')) {
      pattern_.comments.push_back("#C " + std::string(trimmed(line.substr(1))));
      return;
    }
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    for (std::size_t x = 0; x < line.size(); ++x) {
      if (x % 8 == 0) x = add_eights(cells_, line, x, height_);
      if (x == line.size()) break;
      if (line[x] == '.') continue;
      if (line[x] != 'O' && line[x] != '*')
        fail_at(x + 1, core::excerpt(line.substr(x, 1)) +
                           " where '.' (dead), 'O' (alive) or, at the beginning of a line, "
                           "'!' (a comment) is expected");
      if (!cells_.add(static_cast<std::int64_t>(x), height_, 1)) fail_memory(x + 1);
    }
    width_ = std::max(width_, static_cast<std::int64_t>(line.size()));
    ++height_;
  }

  LifeCells cells_;
  std::int64_t width_ = 0;
  std::int64_t height_ = 0;
};

/// Reads blocks of cells, each with a position.
class Life105Reader final : public LifeReader {
 public:
  Life105Reader(std::string name, const LifeReadOptions& options)
      : LifeReader(std::move(name), options), cells_(options.memory_limit) {}

  LifePattern finish() override {
    cells_.finish(pattern_, options_.stop);
    return std::move(pattern_);
  }

 private:
  void take_line(std::string_view line) override {
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    if (line.empty() || (line_ == 1 && line.starts_with("#Life"))) return;
    if (line.front() == '#') return take_comment(line);
    for (std::size_t place = 0; place < line.size(); ++place) {
      if (line[place] == '.') continue;
      if (line[place] != '*')
        fail_at(place + 1, core::excerpt(line.substr(place, 1)) + " where '.' (dead) or '*' (alive) is expected");
      if (!cells_.add(left_ + static_cast<std::int64_t>(place), y_, 1)) fail_memory(place + 1);
    }
    ++y_;
  }

  void take_comment(std::string_view line) {
    if (line.starts_with("#P")) {
      // A block without a position begins at the current position, which is initially (0, 0). The limit for positions
      // is lower than the limit for cells, so that a line of cells can follow.
      const std::string_view place = trimmed(line.substr(2));
      if (!place.empty()) std::tie(left_, y_) = place_in(line, place, farthest_cell / 2);
    } else if (line.starts_with("#N")) {
      pattern_.rule = LifeRule{};
    } else if (line.starts_with("#R")) {
      const std::string_view rule = trimmed(line.substr(2));
      take_rule(rule, static_cast<std::size_t>(rule.data() - line.data()) + 1);
    } else {
      pattern_.comments.push_back("#C " + std::string(trimmed(line.substr(std::min<std::size_t>(2, line.size())))));
    }
  }

  LifeCells cells_;
  std::int64_t left_ = 0;
  std::int64_t y_ = 0;
};

class Life106Reader final : public LifeReader {
 public:
  Life106Reader(std::string name, const LifeReadOptions& options)
      : LifeReader(std::move(name), options), cells_(options.memory_limit) {}

  LifePattern finish() override {
    if (line_ == 0) {
      ++line_;
      fail("the file is empty; '#Life 1.06' is its first line");
    }
    cells_.finish(pattern_, options_.stop);
    return std::move(pattern_);
  }

 private:
  void take_line(std::string_view line) override {
    if (line_ == 1) {
      if (trimmed(line) != "#Life 1.06") fail_at(1, core::excerpt(line) + " where '#Life 1.06' is expected");
      return;
    }
    const std::string_view text = trimmed(line);
    if (text.empty()) return;
    if (text.front() == '#') {
      pattern_.comments.emplace_back(text);
      return;
    }
    const auto [x, y] = place_in(line, text);
    if (!cells_.add(x, y, 1)) fail_memory(0);
  }

  LifeCells cells_;
};

void write_life106(TextOutput& output, const LifePattern& pattern) {
  const LifeRuns runs(pattern, output.target());
  std::int64_t count = 0;
  runs.for_each([&](std::int64_t, std::int64_t, std::int64_t length) { count += length; });
  constexpr std::int64_t most_cells = std::int64_t{1} << 30;
  if (count > most_cells)
    throw Error("cannot write '" + output.target().name + "': " + std::to_string(count) +
                " live cells, each of them a line; .rle and .mc are shorter");
  output.write("#Life 1.06\n");
  std::array<char, 48> line;
  runs.for_each([&](std::int64_t x, std::int64_t y, std::int64_t length) {
    for (const std::int64_t end = x + length; x < end; ++x) {
      char* at = std::to_chars(line.data(), line.data() + line.size(), x).ptr;
      *at++ = ' ';
      at = std::to_chars(at, line.data() + line.size(), y).ptr;
      *at++ = '\n';
      output.write({line.data(), static_cast<std::size_t>(at - line.data())});
    }
  });
}

void write_plaintext(TextOutput& output, const LifePattern& pattern) {
  const LifeRuns runs(pattern, output.target());
  const life_detail::LifeBox& box = runs.box();
  constexpr std::int64_t most_letters = std::int64_t{1} << 32;
  if (box.width > 0 && box.height > most_letters / box.width)
    throw Error("cannot write '" + output.target().name + "': " + std::to_string(box.width) + " x " +
                std::to_string(box.height) + " cells, each of them a letter; .rle and .mc are shorter");
  write_comments(output, pattern, "!");
  std::int64_t x = box.left;
  std::int64_t y = box.top;
  std::string line;
  runs.for_each([&](std::int64_t first, std::int64_t row, std::int64_t count) {
    for (; y < row; ++y) {
      output.write(line += '\n');
      line.clear();
      x = box.left;
    }
    line.append(static_cast<std::size_t>(first - x), '.').append(static_cast<std::size_t>(count), 'O');
    x = first + count;
  });
  output.write(line += box.height > 0 ? "\n" : ".\n");  // an empty file is not a pattern
}

}  // namespace

extern constinit const LifeFormat life_106_format{
    .id = "life_106",
    .file = {.name = "Life 1.06", .endings = ".lif .life", .rules = "Life 1.06: `x y` of each live cell"},
    .begins = [](std::string_view text) { return text.starts_with("#Life 1.06"); },
    .reader = make_life_reader<Life106Reader>,
    .written = ".lif .life",
    .write = [](TextOutput& output, const LifePattern& pattern, std::string_view,
                std::int64_t) { write_life106(output, pattern); },
};

extern constinit const LifeFormat life_105_format{
    .id = "life_105",
    .file = {.name = "Life 1.05",
             .endings = ".lif .life",
             .rules =
                 "Life 1.05: blocks of `.` and `*` behind lines `#P x y`; a block behind `#P` alone follows the one "
                 "before, or begins at (0, 0)"},
    .begins = [](std::string_view text) { return text.starts_with("#Life 1.05"); },
    // Recognises blocks of Life 1.05 whose first line is missing.
    .has_line = [](std::string_view line,
                   bool blocks) { return blocks && line.find_first_not_of(".*") == std::string_view::npos; },
    .reader = make_life_reader<Life105Reader>,
};

extern constinit const LifeFormat life_plaintext_format{
    .id = "life_plaintext",
    .file = {.name = "plaintext",
             .endings = ".cells",
             .rules = "Plaintext: `.` is dead, `O` or `*` alive, lines with `!` are comments"},
    .has_line = [](std::string_view line,
                   bool) { return line.front() == '!' || line.front() == '.' || line.front() == 'O'; },
    .reader = make_life_reader<PlaintextReader>,
    .written = ".cells",
    .write = [](TextOutput& output, const LifePattern& pattern, std::string_view,
                std::int64_t) { write_plaintext(output, pattern); },
};

}  // namespace gradus::files
