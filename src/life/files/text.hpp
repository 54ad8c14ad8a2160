// What the readers of patterns share: lines with their places, cells that are gathered one run after the other, and
// rules with a topology behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/life.hpp"
#include "life/files/format.hpp"
#include "life/quadtree.hpp"

namespace gradus::files {

/// Places of cells that files may name, to both sides of 0.
inline constexpr std::int64_t farthest_cell = std::int64_t{1} << 62;

/// A rule, and a topology where one stands behind it: "B3/S23:T64,48".
struct LifeWorld {
  LifeRule rule;
  std::optional<LifeBoundary> boundary = {};  ///< dead or torus, of this size:
  std::int64_t width = 0;
  std::int64_t height = 0;
};
/// UsageError for what is none; `place` then says where it stands in the text.
LifeWorld parse_life_world(std::string_view text, std::size_t* place = nullptr);

/// A pattern that is read piece by piece.
class LifeReader {
 public:
  LifeReader(std::string name, const LifeReadOptions& options) : name_(std::move(name)), options_(options) {}
  LifeReader(const LifeReader&) = delete;
  LifeReader& operator=(const LifeReader&) = delete;
  virtual ~LifeReader() = default;

  /// As TakeLines: whole lines, unless the format has no lines.
  virtual std::size_t take(std::string_view text, bool last);
  /// After the last piece.
  virtual LifePattern finish() = 0;

 protected:
  /// Without the line's end. `line_` counts it.
  virtual void take_line(std::string_view) {}
  /// InputError at this place of the line at hand; columns count from 1.
  [[noreturn]] void fail_at(std::size_t column, const std::string& what) const;
  [[noreturn]] void fail(const std::string& what) const { fail_at(0, what); }  ///< somewhere in the line

  /// A whole number of [least, most] that is all of `text`, which begins at this column.
  std::int64_t whole(std::string_view text, std::size_t column, std::string_view what, std::int64_t least,
                     std::int64_t most) const;
  /// "X Y", with blanks between; `text` is a part of the line.
  std::pair<std::int64_t, std::int64_t> place_in(std::string_view line, std::string_view text,
                                                 std::int64_t farthest = farthest_cell) const;
  /// A generation, of 64 bits.
  void take_generation(std::string_view text, std::size_t column);
  /// "B3/S23", "B3/S23:T64,48"
  void take_rule(std::string_view text, std::size_t column);
  /// Error, which is not the file's: its live cells up to this place need more memory than allowed.
  [[noreturn]] void fail_memory(std::size_t column) const;

  /// "FILE:LINE:COLUMN: "
  std::string where(std::size_t column) const;

  std::string name_;
  LifeReadOptions options_;
  LifePattern pattern_;
  std::size_t line_ = 0;
  bool line_is_open_ = false;  ///< the line at hand is the file's last, and has no end

 private:
  char line_end_ = '\0';  ///< '\r' of old files that have no other, once known
};

/// For LifeFormat::reader.
template <class Reader>
std::unique_ptr<LifeReader> make_life_reader(std::string name, const LifeReadOptions& options) {
  return std::make_unique<Reader>(std::move(name), options);
}

/// Live cells that come run by run: a grid where its size is known and small or much of it is alive, otherwise blocks
/// of 8 x 8 cells that are found by a table.
class LifeCells {
 public:
  explicit LifeCells(std::uint64_t memory_limit) : memory_limit_(memory_limit) {}

  /// All cells will lie in [0, width) and [0, height).
  void promise(std::int64_t width, std::int64_t height);
  /// The cells [x, x + count) of row y; |x|, |y| and |x + count| are at most farthest_cell. False where that would take
  /// more memory than allowed; nothing is added then.
  [[nodiscard]] bool add(std::int64_t x, std::int64_t y, std::int64_t count);
  /// Gives the cells to the pattern, in which the cell (0, 0) is at `left` and `top`. The grid covers what was
  /// promised, otherwise the smallest rectangle of live cells.
  void finish(LifePattern& pattern, const std::stop_token& stop);

 private:
  life_detail::LifeBlock& block_at(std::int64_t x, std::int64_t y);
  bool grow();
  void become_grid();
  void move_to(std::int64_t left, std::int64_t top);
  /// The smallest box around the live cells; nothing if a side is 2^63.
  std::optional<life_detail::LifeBox> box() const;

  std::uint64_t memory_limit_;
  bool promised_ = false;
  bool is_grid_ = false;
  LifeGrid grid_;
  std::int64_t width_ = 0;
  std::int64_t height_ = 0;
  std::vector<life_detail::LifeBlock> slots_;  ///< a block without cells is a free one
  std::size_t taken_ = 0;
};

/// What runs of two states consist of (RLE), up to the '!' behind them.
inline constexpr std::string_view run_letters = "0123456789boA$. \t\r";

/// Returns true for a line of runs, with or without the end of the pattern. Dots alone are plaintext.
bool is_runs(std::string_view line);

/// Lives in [first, first + count) of a row of words.
void set_run(std::uint64_t* words, std::int64_t first, std::int64_t count);

}  // namespace gradus::files
