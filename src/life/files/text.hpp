// Tools that the readers of patterns share: lines with their positions, cells that arrive in runs, and rules with a
// topology.
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

/// The largest coordinate, in absolute value, that a file may use.
inline constexpr std::int64_t farthest_cell = std::int64_t{1} << 62;

/// A rule with an optional topology: "B3/S23:T64,48".
struct LifeWorld {
  LifeRule rule;
  std::optional<LifeBoundary> boundary = {};  ///< dead or torus, of this size:
  std::int64_t width = 0;
  std::int64_t height = 0;
};
/// Throws UsageError for malformed text and sets `place` to the position of the fault.
LifeWorld parse_life_world(std::string_view text, std::size_t* place = nullptr);

/// A pattern that is read in chunks.
class LifeReader {
 public:
  LifeReader(std::string name, const LifeReadOptions& options) : name_(std::move(name)), options_(options) {}
  LifeReader(const LifeReader&) = delete;
  LifeReader& operator=(const LifeReader&) = delete;
  virtual ~LifeReader() = default;

  /// Consumes a chunk and returns the number of bytes used, as for TakeLines: whole lines, if the format has lines.
  virtual std::size_t take(std::string_view text, bool last);
  /// Called after the last chunk.
  virtual LifePattern finish() = 0;

 protected:
  /// Consumes a line without its end. `line_` is its number.
  virtual void take_line(std::string_view) {}
  /// Throws InputError for this column of the current line; columns count from 1.
  [[noreturn]] void fail_at(std::size_t column, const std::string& what) const;
  [[noreturn]] void fail(const std::string& what) const { fail_at(0, what); }  ///< reports the line as a whole

  /// Parses all of `text` as an integer in [least, most]. The text starts at this column.
  std::int64_t whole(std::string_view text, std::size_t column, std::string_view what, std::int64_t least,
                     std::int64_t most) const;
  /// Parses "X Y" separated by blanks; `text` is a part of the line.
  std::pair<std::int64_t, std::int64_t> place_in(std::string_view line, std::string_view text,
                                                 std::int64_t farthest = farthest_cell) const;
  /// Parses a generation of 64 bits.
  void take_generation(std::string_view text, std::size_t column);
  /// Parses "B3/S23" or "B3/S23:T64,48".
  void take_rule(std::string_view text, std::size_t column);
  /// Throws Error, not InputError: the live cells up to this place need more memory than allowed.
  [[noreturn]] void fail_memory(std::size_t column) const;

  /// Returns "FILE:LINE:COLUMN: ".
  std::string where(std::size_t column) const;

  std::string name_;
  LifeReadOptions options_;
  LifePattern pattern_;
  std::size_t line_ = 0;
  bool line_is_open_ = false;  ///< the current line is the last of the file and has no end

 private:
  char line_end_ = '\0';  ///< '\r' in old files without '\n', once known
};

/// For LifeFormat::reader.
template <class Reader>
std::unique_ptr<LifeReader> make_life_reader(std::string name, const LifeReadOptions& options) {
  return std::make_unique<Reader>(std::move(name), options);
}

/// Live cells that arrive in runs. They are stored as a grid if its size is known and it is small or densely populated,
/// and otherwise as a hash table of 8 x 8 blocks.
class LifeCells {
 public:
  explicit LifeCells(std::uint64_t memory_limit) : memory_limit_(memory_limit) {}

  /// Promises that all cells will be in [0, width) x [0, height).
  void promise(std::int64_t width, std::int64_t height);
  /// Adds the cells [x, x + count) of row y. |x|, |y| and |x + count| must not exceed farthest_cell. Returns false,
  /// without adding cells, if the memory limit would be exceeded.
  [[nodiscard]] bool add(std::int64_t x, std::int64_t y, std::int64_t count);
  /// Moves the cells to the pattern, whose cell (0, 0) is at `left` and `top`. The grid covers the promised size, or
  /// else the smallest rectangle of live cells.
  void finish(LifePattern& pattern, const std::stop_token& stop);

 private:
  life_detail::LifeBlock& block_at(std::int64_t x, std::int64_t y);
  bool grow();
  void become_grid();
  void move_to(std::int64_t left, std::int64_t top);
  /// Returns the smallest box around the live cells, or nothing if a side is 2^63.
  std::optional<life_detail::LifeBox> box() const;

  std::uint64_t memory_limit_;
  bool promised_ = false;
  bool is_grid_ = false;
  LifeGrid grid_;
  std::int64_t width_ = 0;
  std::int64_t height_ = 0;
  std::vector<life_detail::LifeBlock> slots_;  ///< a block without cells is a free slot
  std::size_t taken_ = 0;
};

/// The characters of two-state RLE runs, before the '!' that ends them.
inline constexpr std::string_view run_letters = "0123456789boA$. \t\r";

/// Returns true for a line of runs, with or without the final '!'. Dots alone are plaintext.
bool is_runs(std::string_view line);

/// Makes the cells [first, first + count) of a row alive.
void set_run(std::uint64_t* words, std::int64_t first, std::int64_t count);

}  // namespace gradus::files
