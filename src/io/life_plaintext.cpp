// Life patterns as rows of dots and letters (.cells), and as a list of live cells (Life 1.06).
#include <algorithm>

#include "core/text.hpp"
#include "io/life_output.hpp"
#include "io/life_text.hpp"
#include "io/number.hpp"

namespace gradus::io {

namespace {

class PlaintextReader final : public LifeReader {
 public:
  PlaintextReader(std::string name, const LifeReadOptions& options)
      : LifeReader(std::move(name), options), cells_(options.memory_limit) {}

  LifePattern finish() override {
    // Where the rectangle of the file lies, whose first cells may be dead ones.
    cells_.finish(pattern_, -(width_ / 2), -(height_ / 2), options_.stop);
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
      if (line[x] == '.') continue;
      if (line[x] != 'O' && line[x] != '*')
        fail_at(x + 1, core::excerpt(line.substr(x, 1)) +
                           " where '.' (dead), 'O' (alive) or, at the beginning of a line, "
                           "'!' (a comment) is expected");
      if (!cells_.add(static_cast<std::int64_t>(x), height_, 1))
        fail_at(x + 1, "the live cells up to here take more than " + core::size_text(options_.memory_limit));
    }
    width_ = std::max(width_, static_cast<std::int64_t>(line.size()));
    ++height_;
  }

  LifeCells cells_;
  std::int64_t width_ = 0;
  std::int64_t height_ = 0;
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
    cells_.finish(pattern_, 0, 0, options_.stop);
    return std::move(pattern_);
  }

 private:
  void take_line(std::string_view line) override {
    if (line_ == 1) {
      if (line.starts_with("#Life 1.05"))
        fail_at(1, "Life 1.05 is not supported; save the pattern as RLE, or as Life 1.06");
      if (trimmed(line) != "#Life 1.06") fail_at(1, core::excerpt(line) + " where '#Life 1.06' is expected");
      return;
    }
    const std::string_view text = trimmed(line);
    if (text.empty()) return;
    if (text.front() == '#') {
      pattern_.comments.emplace_back(text);
      return;
    }
    const std::size_t begin = static_cast<std::size_t>(text.data() - line.data());
    const std::size_t blank = std::min(text.find_first_of(" \t"), text.size());
    const std::string_view second = trimmed(text.substr(blank));
    if (second.empty()) fail_at(begin + blank + 1, "the line ends where y is expected");
    const std::int64_t x = whole(text.substr(0, blank), begin + 1, "x", -farthest_cell, farthest_cell);
    const std::int64_t y =
        whole(second, static_cast<std::size_t>(second.data() - line.data()) + 1, "y", -farthest_cell, farthest_cell);
    if (!cells_.add(x, y, 1))
      fail("the live cells up to here take more than " + core::size_text(options_.memory_limit));
  }

  LifeCells cells_;
};

}  // namespace

std::unique_ptr<LifeReader> plaintext_reader(std::string name, const LifeReadOptions& options) {
  return std::make_unique<PlaintextReader>(std::move(name), options);
}

std::unique_ptr<LifeReader> life106_reader(std::string name, const LifeReadOptions& options) {
  return std::make_unique<Life106Reader>(std::move(name), options);
}

void write_plaintext(TextOutput& output, const LifePattern& pattern) {
  const LifeRuns runs(pattern, output.target());
  const core::LifeBox& box = runs.box();
  constexpr std::int64_t most_letters = std::int64_t{1} << 32;
  if (box.width > 0 && box.height > most_letters / box.width)
    throw Error("cannot write '" + output.target().name + "': " + std::to_string(box.width) + " x " +
                std::to_string(box.height) + " cells, each of them a letter; .rle and .mc are shorter");
  write_comments(output, pattern, "!");
  std::int64_t x = box.left;
  std::int64_t y = box.top;
  runs.for_each([&](std::int64_t first, std::int64_t row, std::int64_t count) {
    for (; y < row; ++y) {
      output.write("\n");
      x = box.left;
    }
    output.write(std::string(static_cast<std::size_t>(first - x), '.') +
                 std::string(static_cast<std::size_t>(count), 'O'));
    x = first + count;
  });
  output.write(box.height > 0 ? "\n" : ".\n");  // a file without a byte is no pattern
}

}  // namespace gradus::io
