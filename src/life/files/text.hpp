// Tools of the readers of patterns: lines with their positions, cells that arrive in runs, and rules with a topology.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
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
  std::optional<LifeBoundary> boundary = {};  ///< dead or torus, if the world is bounded by `width` and `height`
  std::int64_t width = 0;
  std::int64_t height = 0;
};
/// Parses a rule. If the text is malformed, sets `place` to the position of the fault, and throws UsageError.
LifeWorld parse_life_world(std::string_view text, std::size_t* place = nullptr);

/// Base class for readers of patterns. A pattern is read in chunks.
class LifeReader {
 public:
  LifeReader(std::string name, const LifeReadOptions& options) : name_(std::move(name)), options_(options) {}
  LifeReader(const LifeReader&) = delete;
  LifeReader& operator=(const LifeReader&) = delete;
  virtual ~LifeReader() = default;

  /// Called before the first chunk if the number of bytes of the text is known.
  void promise_bytes(std::uint64_t bytes) { promised_bytes_ = bytes; }

  /// Consumes whole lines of a chunk, or any bytes if the format has no lines. Returns the number of bytes used, as for
  /// TakeLines.
  virtual std::size_t take(std::string_view text, bool last);
  /// Returns the pattern. Called once, after the last chunk.
  virtual LifePattern finish() = 0;

 protected:
  /// Consumes a line, without its line end. `line_` is the number of the line.
  virtual void take_line(std::string_view) {}
  /// Throws InputError about a column of the current line. Columns count from 1.
  [[noreturn]] void fail_at(std::size_t column, const std::string& what) const;
  /// Throws InputError about the whole current line.
  [[noreturn]] void fail(const std::string& what) const { fail_at(0, what); }

  /// Parses all of `text` as an integer in [least, most]. `column` is the column of the first character.
  std::int64_t whole(std::string_view text, std::size_t column, std::string_view what, std::int64_t least,
                     std::int64_t most) const;
  /// Parses two coordinates "X Y", separated by blanks. `text` is a part of the current line.
  std::pair<std::int64_t, std::int64_t> place_in(std::string_view line, std::string_view text,
                                                 std::int64_t farthest = farthest_cell) const;
  /// Parses the number of a generation, which has at most 64 bits.
  void take_generation(std::string_view text, std::size_t column);
  /// Parses "B3/S23" or "B3/S23:T64,48".
  void take_rule(std::string_view text, std::size_t column);
  /// Throws an error: the live cells up to this place need more memory than the limit allows. Throws Error and not
  /// InputError, because this is not a fault of the input.
  [[noreturn]] void fail_memory(std::size_t column) const;

  /// Returns "FILE:LINE:COLUMN: " for the current line.
  std::string where(std::size_t column) const;

  std::string name_;
  LifeReadOptions options_;
  LifePattern pattern_;
  std::uint64_t promised_bytes_ = 0;  ///< 0: unknown
  std::size_t line_ = 0;
  bool line_is_open_ = false;  ///< true if the current line is the last line of the file and has no line end

 private:
  char line_end_ = '\0';  ///< the line end; '\r' in old files that have no '\n'
};

/// Creates a reader. Used as LifeFormat::reader.
template <class Reader>
std::unique_ptr<LifeReader> make_life_reader(std::string name, const LifeReadOptions& options) {
  return std::make_unique<Reader>(std::move(name), options);
}

/// Packs the lowest bits of eight bytes. Bit i of the result comes from byte i. All other bits must be 0.
constexpr std::uint64_t packed_bits(std::uint64_t eight_bytes) { return eight_bytes * 0x0102040810204080 >> 56; }

/// Returns the word whose bit i is is_set(i), for i from 0 to 63. Compilers turn is_set() into vector comparisons.
template <class IsSet>
std::uint64_t bits_of_64(const IsSet& is_set) {
  alignas(64) std::array<std::uint8_t, 64> bytes;
  for (std::size_t at = 0; at < 64; ++at) bytes[at] = is_set(at) ? 1 : 0;
  std::uint64_t word = 0;
  for (std::size_t byte = 0; byte < 8; ++byte) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, bytes.data() + 8 * byte, sizeof eight);
    word |= packed_bits(eight) << (8 * byte);
  }
  return word;
}

/// Sets the cells [first, first + count) of a row to alive. `first` must not be negative, and `count` must be positive.
inline void set_run(std::uint64_t* words, std::int64_t first, std::int64_t count) {
  constexpr std::uint64_t all = ~std::uint64_t{0};
  const auto bit = static_cast<std::uint64_t>(first) % 64;  // without a sign, this is one operation
  std::uint64_t* word = words + static_cast<std::uint64_t>(first) / 64;
  std::uint64_t left = static_cast<std::uint64_t>(count);
  if (bit + left <= 64) {
    *word |= all >> (64 - left) << bit;
    return;
  }
  *word++ |= all << bit;
  for (left -= 64 - bit; left > 64; left -= 64) *word++ = all;
  *word |= all >> (64 - left);
}

/// Live cells that arrive in runs. They are stored as a hash table of 8 x 8 blocks. If the size of the pattern is
/// known, and a grid of this size would be small or densely populated, the cells are stored as a grid instead.
class LifeCells {
 public:
  explicit LifeCells(std::uint64_t memory_limit) : memory_limit_(memory_limit) {}

  /// Promises that all cells will be in [0, width) x [0, height), so that a grid can be used. `text_bytes` is the size
  /// of the text that describes the cells, or 0 if it is unknown.
  void promise(std::int64_t width, std::int64_t height, std::uint64_t text_bytes);
  /// Adds the cells [x, x + count) of row y. |x|, |y| and |x + count| must not exceed farthest_cell. If the memory
  /// limit would be exceeded, adds no cells and returns false.
  [[nodiscard]] bool add(std::int64_t x, std::int64_t y, std::int64_t count) {
    if (!is_grid_) return add_to_blocks(x, y, count);
    set_run(grid_.words() + y * grid_.stride(), x, count);
    return true;
  }
  /// Returns true if the memory limit allows any cells in this many further blocks of 8 x 8 cells.
  bool has_room_for(std::size_t blocks) const;
  /// Returns true if finish() would store a pattern with this bounding box and this number of blocks as a grid.
  bool prefers_grid(std::int64_t width, std::int64_t height, std::size_t blocks) const;
  /// Returns the words of row y, or null if there is no such row or the cells are not stored as a grid.
  std::uint64_t* row(std::int64_t y) { return is_grid_ && y < height_ ? grid_.words() + y * grid_.stride() : nullptr; }
  /// Moves the cells to the pattern. Cell (0, 0) gets the coordinates `left` and `top` of the pattern. A grid covers
  /// the promised size or, without a promise, the smallest rectangle of live cells.
  void finish(LifePattern& pattern, const std::stop_token& stop);

 private:
  bool add_to_blocks(std::int64_t x, std::int64_t y, std::int64_t count);
  life_detail::LifeBlock& block_at(std::int64_t x, std::int64_t y);
  bool grow();
  void become_grid();
  void move_to(std::int64_t left, std::int64_t top);
  /// Returns the smallest box that contains all live cells. Returns nothing if a side of this box has the length 2^63.
  std::optional<life_detail::LifeBox> box() const;

  std::uint64_t memory_limit_;
  bool promised_ = false;
  bool is_grid_ = false;
  LifeGrid grid_;
  std::int64_t width_ = 0;
  std::int64_t height_ = 0;
  std::vector<life_detail::LifeBlock> slots_;  ///< a slot is free if its block has no live cells
  std::size_t taken_ = 0;
};

/// The characters that two-state RLE runs may contain, except the '!' that ends them.
inline constexpr std::string_view run_letters = "0123456789boA$. \t\r";

/// Returns true for a line of runs, with or without the final '!'. Returns false for dots alone, which are plaintext.
bool is_runs(std::string_view line);

}  // namespace gradus::files
