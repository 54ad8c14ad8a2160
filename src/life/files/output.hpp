// Tools of the writers of patterns: text, optionally gzip-compressed, and the live cells of a grid or tree as runs.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/atomic_file.hpp"
#include "core/stop.hpp"
#include "gradus/life.hpp"
#include "life/quadtree.hpp"

namespace gradus::files {

/// The destination of a pattern: its name for messages, and a stop token.
struct LifeTarget {
  std::string name;
  std::stop_token stop;
};

/// Writes text to memory or to a file. Compresses it with gzip if `packed` is set.
class TextOutput {
 public:
  TextOutput(core::AtomicFile& file, bool packed);
  TextOutput(std::string& memory, LifeTarget target);
  TextOutput(const TextOutput&) = delete;
  TextOutput& operator=(const TextOutput&) = delete;
  ~TextOutput();
  void write(std::string_view text);
  /// Ends the text. The caller must commit the file.
  void finish();
  const LifeTarget& target() const { return target_; }

 private:
  struct Packing;
  void flush(bool last);

  LifeTarget target_;
  core::AtomicFile* file_ = nullptr;
  std::string* memory_ = nullptr;
  std::string text_;
  std::unique_ptr<Packing> packing_;
};

/// The live cells of a pattern as runs. The caller must keep the pattern alive.
class LifeRuns {
 public:
  /// Throws Error with the target's name if the cells are too numerous or too far apart for all formats except
  /// Macrocell.
  LifeRuns(const LifePattern& pattern, const LifeTarget& target);
  const life_detail::LifeBox& box() const { return box_; }
  /// Calls use(x, y, cells) for all words of up to 64 cells that are not all dead, row by row from the top, and from
  /// left to right within a row. The lowest bit is the cell at (x, y). Throws InterruptedError after a stop request.
  template <class Use>
  void for_each_word(const Use& use) const;
  /// Returns the number of cells of a word of for_each_word().
  int word_cells() const { return pattern_.tree ? 8 : 64; }
  /// Calls use(x, y, count) for all runs, row by row from the top, and from left to right within a row. Two runs may be
  /// adjacent. Throws InterruptedError after a stop request.
  template <class Use>
  void for_each(const Use& use) const;

 private:
  static constexpr std::string_view stopped = "stopped while writing a pattern";

  void find_box_of_grid();
  template <class Use>
  static void for_each_in_word(std::uint64_t cells, std::int64_t x, std::int64_t y, const Use& use);

  const LifePattern& pattern_;
  const LifeTarget& target_;
  life_detail::LifeBox box_;
  std::vector<life_detail::LifeBlock> blocks_;
};

/// Calls use(x, y, count) for the runs of up to 64 cells, of which the first is at (x, y).
template <class Use>
void LifeRuns::for_each_in_word(std::uint64_t cells, std::int64_t x, std::int64_t y, const Use& use) {
  while (cells != 0) {
    const int first = std::countr_zero(cells);
    const int count = std::countr_one(cells >> first);
    use(x + first, y, std::int64_t{count});
    cells = first + count == 64 ? 0 : cells >> (first + count) << (first + count);
  }
}

template <class Use>
void LifeRuns::for_each_word(const Use& use) const {
  if (!pattern_.tree) {
    const LifeGridView& cells = pattern_.cells;
    for (std::int64_t y = box_.top - pattern_.top; y < box_.top - pattern_.top + box_.height; ++y) {
      core::honour_stop(target_.stop, stopped);
      const std::uint64_t* const row = cells.row(y);
      for (std::int64_t word = 0; word < cells.row_words(); ++word)
        if (row[word] != 0) use(pattern_.left + word * 64, pattern_.top + y, row[word]);
    }
    return;
  }
  for (auto begin = blocks_.begin(); begin != blocks_.end();) {
    core::honour_stop(target_.stop, stopped);
    auto end = begin;
    while (end != blocks_.end() && end->y == begin->y) ++end;
    for (std::int64_t row = 0; row < 8; ++row)
      for (auto block = begin; block != end; ++block)
        if (const std::uint64_t cells = block->cells >> (8 * row) & 0xff; cells != 0)
          use(pattern_.left + block->x * 8, pattern_.top + block->y * 8 + row, cells);
    begin = end;
  }
}

template <class Use>
void LifeRuns::for_each(const Use& use) const {
  for_each_word([&](std::int64_t x, std::int64_t y, std::uint64_t cells) { for_each_in_word(cells, x, y, use); });
}

/// Returns "B3/S23", followed by the topology if there is one.
std::string rule_text(const LifePattern& pattern);
/// Writes each comment as a line. Replaces its first character by `mark`. If the line would have another meaning with
/// the mark '#', writes "#C " instead.
void write_comments(TextOutput& output, const LifePattern& pattern, std::string_view mark);

}  // namespace gradus::files
