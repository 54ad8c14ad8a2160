// Life patterns as rows of dots and letters (.cells, Life 1.05), and as lists of live cells (Life 1.06).
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "files/number.hpp"
#include "life/files/output.hpp"
#include "life/files/text.hpp"

namespace gradus::files {

namespace {

/// Converts up to 64 letters to bits, of which the set ones stand for '*' and `live`. Returns false if a letter is
/// malformed.
bool bits_of_letters(std::string_view text, char live, std::uint64_t& bits) {
  std::array<char, 64> letters;
  if (text.size() < 64) letters.fill('.');
  std::memcpy(letters.data(), text.data(), text.size());
  unsigned char others = 0;
  for (const char letter : letters) others |= letter != '.' && letter != '*' && letter != live ? 1 : 0;
  bits = bits_of_64([&](std::size_t at) { return letters[at] != '.'; });
  return others == 0;
}

/// Rows of bits of any length.
class BitRows {
 public:
  /// Adds a row of zeros and returns its words.
  std::uint64_t* add(std::size_t bits) {
    begins_.push_back(words_.size());
    words_.resize(words_.size() + (bits + 63) / 64);
    return words_.data() + begins_.back();
  }
  std::size_t count() const { return begins_.size(); }
  std::span<const std::uint64_t> row(std::size_t index) const {
    const std::size_t end = index + 1 < count() ? begins_[index + 1] : words_.size();
    return std::span(words_).subspan(begins_[index], end - begins_[index]);
  }

 private:
  std::vector<std::uint64_t> words_;
  std::vector<std::size_t> begins_;
};

/// Reads letters as rows of bits, because the size of the pattern is unknown until the last line. If the cells may
/// exceed the memory limit, adds them one by one, so that an error states the first cell that exceeds it.
class PlaintextReader final : public LifeReader {
 public:
  PlaintextReader(std::string name, const LifeReadOptions& options)
      : LifeReader(std::move(name), options), cells_(options.memory_limit) {}

  LifePattern finish() override {
    pattern_.unplaced = {width_, height_};
    if (!finish_grid()) {
      add_rows();
      cells_.finish(pattern_, options_.stop);
    }
    return std::move(pattern_);
  }

 private:
  void take_line(std::string_view line) override {
    if (line.starts_with('!')) {
      pattern_.comments.push_back("#C " + std::string(trimmed(line.substr(1))));
      return;
    }
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    if (has_room_) {
      if (height_ % 8 == 0) most_blocks_ += std::exchange(blocks_of_strip_, 0);
      blocks_of_strip_ = std::max(blocks_of_strip_, line.size() / 8 + 1);
      has_room_ = cells_.has_room_for(most_blocks_ + blocks_of_strip_);
      if (!has_room_) add_rows();
    }
    for (std::size_t x = has_room_ ? take_bits(line) : 0; x < line.size(); ++x) {
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

  /// Takes a line of letters. Returns its length or, if a letter is malformed, a place before this letter.
  std::size_t take_bits(std::string_view line) {
    std::uint64_t* word = rows_.add(line.size());
    for (std::size_t x = 0; x < line.size(); x += 64)
      if (!bits_of_letters(line.substr(x, 64), 'O', *word++)) return x;
    return line.size();
  }

  void poll(std::size_t row) const {
    if (row % 1024 == 0) core::honour_stop(options_.stop, "stopped while reading " + name_);
  }

  /// Moves the cells from `rows_` to `cells_`.
  void add_rows() {
    for (std::size_t y = 0; y < rows_.count(); ++y) {
      poll(y);
      std::int64_t x = 0;
      for (std::uint64_t bits : rows_.row(y)) {
        for (; bits != 0; bits &= bits - 1)
          if (!cells_.add(x + std::countr_zero(bits), static_cast<std::int64_t>(y), 1)) fail_memory(0);
        x += 64;
      }
    }
    rows_ = {};
  }

  /// Stores the cells in a grid. Returns false if there are none, or if LifeCells would not store them in a grid.
  bool finish_grid() {
    std::vector<std::uint64_t> columns(static_cast<std::size_t>(width_ + 63) / 64);  ///< columns with live cells
    std::vector<std::uint64_t> strip(columns.size());                                ///< the same of up to eight rows
    std::size_t blocks = 0;
    std::size_t top = 0;
    std::size_t bottom = 0;
    for (std::size_t y = 0; y < rows_.count(); ++y) {
      poll(y);
      std::uint64_t any = 0;
      for (std::size_t word = 0; const std::uint64_t bits : rows_.row(y)) {
        strip[word++] |= bits;
        any |= bits;
      }
      if (any != 0 && bottom == 0) top = y;
      if (any != 0) bottom = y + 1;
      if (y % 8 != 7 && y + 1 != rows_.count()) continue;
      for (std::size_t word = 0; word < strip.size(); ++word) {
        constexpr std::uint64_t low = 0x7f7f7f7f7f7f7f7f;
        blocks += static_cast<std::size_t>(std::popcount((((strip[word] & low) + low) | strip[word]) & ~low));
        columns[word] |= std::exchange(strip[word], 0);
      }
    }
    if (bottom == 0) return false;
    const auto first = std::ranges::find_if(columns, [](std::uint64_t bits) { return bits != 0; });
    while (columns.back() == 0) columns.pop_back();
    const std::int64_t left = (first - columns.begin()) * 64 + std::countr_zero(*first);
    const std::int64_t right = std::ssize(columns) * 64 - std::countl_zero(columns.back());
    const auto height = static_cast<std::int64_t>(bottom - top);
    if (!cells_.prefers_grid(right - left, height, blocks)) return false;
    LifeGrid grid(height, right - left);
    const auto words = static_cast<std::size_t>(left / 64);
    const int bits = static_cast<int>(left % 64);
    for (std::size_t y = top; y < bottom; ++y) {
      poll(y);
      std::uint64_t* to = grid.words() + static_cast<std::int64_t>(y - top) * grid.stride();
      const std::span<const std::uint64_t> row = rows_.row(y);
      for (std::size_t word = words; word < row.size() && word * 64 < static_cast<std::size_t>(right); ++word) {
        const std::uint64_t next = word + 1 < row.size() && bits != 0 ? row[word + 1] << (64 - bits) : 0;
        if (const std::uint64_t cells = row[word] >> bits | next; cells != 0) *to = cells;
        ++to;
      }
    }
    pattern_.cells = std::move(grid);
    pattern_.left = left;
    pattern_.top = static_cast<std::int64_t>(top);
    return true;
  }

  LifeCells cells_;
  BitRows rows_;  ///< all rows as long as has_room_ is true, then empty
  bool has_room_ = true;
  std::size_t most_blocks_ = 0;  ///< upper limit of the number of blocks of complete strips of eight rows
  std::size_t blocks_of_strip_ = 0;
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
    for (std::size_t place = take_common_runs(line); place < line.size(); ++place) {
      if (line[place] == '.') continue;
      if (line[place] != '*')
        fail_at(place + 1, core::excerpt(line.substr(place, 1)) + " where '.' (dead) or '*' (alive) is expected");
      if (!cells_.add(left_ + static_cast<std::int64_t>(place), y_, 1)) fail_memory(place + 1);
    }
    ++y_;
  }

  /// Adds the cells of a line in runs. Returns the place of the first letters that must be added one by one, because a
  /// letter is malformed or a cell may exceed the memory limit.
  std::size_t take_common_runs(std::string_view line) {
    if (!cells_.has_room_for(line.size() / 8 + 2)) return 0;
    for (std::size_t place = 0; place < line.size(); place += 64) {
      std::uint64_t bits = 0;
      if (!bits_of_letters(line.substr(place, 64), '*', bits)) return place;
      for (std::int64_t x = left_ + static_cast<std::int64_t>(place); bits != 0;) {
        const int dead = std::countr_zero(bits);
        bits >>= dead;
        const int alive = std::countr_one(bits);
        bits = alive < 64 ? bits >> alive : 0;
        if (!cells_.add(x + dead, y_, alive)) return place;
        x += dead + alive;
      }
    }
    return line.size();
  }

  void take_comment(std::string_view line) {
    if (line.starts_with("#P")) {
      // A block without a position begins at the current position, which is initially (0, 0). The limit for positions
      // is lower than the limit for cells, so that the cells after the position stay within the limit.
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

/// The letters of eight cells. The lowest bit is the first cell.
constexpr auto letters_of_bytes = [] {
  std::array<std::array<char, 8>, 256> letters{};
  for (std::size_t byte = 0; byte < letters.size(); ++byte)
    for (std::size_t bit = 0; bit < 8; ++bit) letters[byte][bit] = (byte >> bit & 1) != 0 ? 'O' : '.';
  return letters;
}();

void write_plaintext(TextOutput& output, const LifePattern& pattern) {
  const LifeRuns runs(pattern, output.target());
  const life_detail::LifeBox& box = runs.box();
  constexpr std::int64_t most_letters = std::int64_t{1} << 32;
  if (box.width > 0 && box.height > most_letters / box.width)
    throw Error("cannot write '" + output.target().name + "': " + std::to_string(box.width) + " x " +
                std::to_string(box.height) + " cells, each of them a letter; .rle and .mc are shorter");
  write_comments(output, pattern, "!");
  // Has room for a word that begins at the last cell. All letters are dots except while a row is written.
  std::string line(static_cast<std::size_t>(box.width) + 64, '.');
  std::size_t length = 0;
  std::int64_t y = box.top;
  const auto end_line = [&] {
    line[length] = '\n';
    output.write(std::string_view(line).substr(0, length + 1));
    std::fill_n(line.begin(), length + 1, '.');
    length = 0;
  };
  runs.for_each_word([&](std::int64_t x, std::int64_t row, std::uint64_t cells) {
    for (; y < row; ++y) end_line();
    if (x < box.left) cells >>= box.left - std::exchange(x, box.left);
    const auto first = static_cast<std::size_t>(x - box.left);
    length = first + static_cast<std::size_t>(std::bit_width(cells));
    for (char* at = line.data() + first; cells != 0; cells >>= 8, at += 8)
      std::memcpy(at, letters_of_bytes[cells & 0xff].data(), 8);
  });
  if (box.height == 0) length = 1;  // an empty file is not a pattern
  end_line();
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
    // Recognises files of Life 1.05 that lack the first line, by their blocks.
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
