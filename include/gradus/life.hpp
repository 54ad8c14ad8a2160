/// Life: generations of Conway's Game of Life and of every other outer-totalistic rule B/S of two states.
///
/// A cell is alive or dead and has eight neighbours. A dead cell with n live neighbours is born if n is in the rule's
/// list B, a live one survives if n is in S; all cells change at once.
///
/// Canonical result: the cells after N generations, and nothing else is right. Of a boundary:
///
/// * `plane`: the unbounded plane, all cells of which are dead beside the given ones. There is no border that anything
///   could reach. The result is the smallest rectangle that holds all live cells, and where it lies.
/// * `dead`: the cells outside the grid are dead for ever. (A grid of the published experiment, whose cells at the edge
///   stay dead, is one of `dead` with two rows and two columns less.)
/// * `torus`: above the first row lies the last one, left of the first column the last one. Where the grid is one or
///   two cells wide or high, a cell is its own neighbour or has one neighbour twice; it is then counted as often.
///
/// A rule with B0 lights up the whole plane in the first generation. There LifeResult::background says what the cells
/// are beyond the result's rectangle, and that holds the cells that are different from them, so that nothing is
/// infinite and nothing is lost. (Golly shows the same cells at even generations of rules without S8; with S8 it
/// inverts the pattern at the beginning, which is another one then.)
///
/// The hash of a generation is the sum modulo 2^64, over all words of 64 cells side by side that hold a live one, of a
/// mixture of word, row and column. A word begins where its column is a multiple of 64 (LifeOptions::left counts from
/// there): it depends on the live cells and on where they lie, and on nothing else, not on the grid's width either.
///
/// Complexity: N times the area, 64 cells with some sixteen instructions; on the plane, the area of the rectangle at
/// each generation. Memory: two or three grids of a bit for each cell; of textbook variants eight bytes for each.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/array.hpp"
#include "gradus/execution.hpp"
#include "gradus/export.hpp"
#include "gradus/names.hpp"
#include "gradus/run_report.hpp"

namespace gradus {

/// An outer-totalistic rule of two states. Bit n of a list: with n live neighbours, 0 <= n <= 8.
struct LifeRule {
  std::uint16_t birth = 1U << 3;
  std::uint16_t survival = (1U << 2) | (1U << 3);
  friend constexpr bool operator==(LifeRule, LifeRule) = default;
};

/// The rule of a text: "B3/S23", "b3s23", "B3S23", or "23/3", survival first; blanks around it are nothing, and so is a
/// digit that is there again, as for Golly. Or one of the names "Life", "HighLife", "Seeds", "Day & Night",
/// "Replicator", "Life without Death", "Maze", "Diamoeba", "2x2", "Morley", "Anneal", "DryLife", in letters of any
/// size. UsageError for what is none, which names the kinds of rules that are not supported: more than two states
/// (Generations, as "345/2/4"), Hensel's letters ("B2-a/S12"), the von Neumann and the hexagonal neighbourhood
/// ("B2/S013V", "…H").
GRADUS_EXPORT LifeRule life_rule(std::string_view text);
/// "B3/S23"
GRADUS_EXPORT std::string to_string(const LifeRule& rule);

enum class LifeBoundary : std::uint8_t { plane, dead, torus };
template <>
inline constexpr auto enum_names<LifeBoundary> = std::to_array<EnumName<LifeBoundary>>(
    {{LifeBoundary::plane, "plane"}, {LifeBoundary::dead, "dead"}, {LifeBoundary::torus, "torus"}});

/// Packed cells: rows of 64-bit words, cell x of a row is bit x % 64 of word x / 64. Bits past `width` are 0 in what
/// the library gives, and mean nothing in what it is given.
struct LifeGridView {
  const std::uint64_t* words = nullptr;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t stride = 0;  ///< words from one row to the next
  MemoryPlace place = {};

  /// Words of a row.
  constexpr std::int64_t row_words() const { return width / 64 + (width % 64 > 0 ? 1 : 0); }
  constexpr const std::uint64_t* row(std::int64_t y) const { return words + y * stride; }
  constexpr bool operator()(std::int64_t y, std::int64_t x) const { return (row(y)[x / 64] >> (x % 64) & 1) != 0; }
};

/// The same, to be written.
struct LifeGridSpan {
  std::uint64_t* words = nullptr;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t stride = 0;
  MemoryPlace place = {};

  constexpr std::int64_t row_words() const { return width / 64 + (width % 64 > 0 ? 1 : 0); }
  constexpr std::uint64_t* row(std::int64_t y) const { return words + y * stride; }
  constexpr operator LifeGridView() const { return {words, height, width, stride, place}; }
};

/// An owned grid in host memory, without anything between its rows.
class LifeGrid {
 public:
  struct Uninitialised {};

  LifeGrid() = default;
  /// All cells are dead. OutOfMemoryError where the sizes are negative or overflow, or there is no memory.
  LifeGrid(std::int64_t height, std::int64_t width) : LifeGrid(height, width, Uninitialised{}) {
    for (std::uint64_t& word : words_) word = 0;
  }
  /// The cells are anything, for who writes all of their words.
  LifeGrid(std::int64_t height, std::int64_t width, Uninitialised)
      : height_(height), width_(width), stride_(words_of(height, width)), words_(area_of(height, stride_)) {}

  std::int64_t height() const { return height_; }
  std::int64_t width() const { return width_; }
  std::int64_t stride() const { return stride_; }
  std::uint64_t* words() { return words_.data(); }
  const std::uint64_t* words() const { return words_.data(); }
  bool operator()(std::int64_t y, std::int64_t x) const { return view()(y, x); }
  void set(std::int64_t y, std::int64_t x, bool alive = true) {
    std::uint64_t& word = words_[y * stride_ + x / 64];
    const std::uint64_t bit = std::uint64_t{1} << (x % 64);
    word = alive ? word | bit : word & ~bit;
  }
  LifeGridView view() const { return {words_.data(), height_, width_, stride_}; }
  LifeGridSpan span() { return {words_.data(), height_, width_, stride_}; }
  operator LifeGridView() const { return view(); }

 private:
  static std::int64_t words_of(std::int64_t height, std::int64_t width) {
    if (height < 0 || width < 0)
      throw OutOfMemoryError("a grid of " + std::to_string(height) + " x " + std::to_string(width) +
                             " is out of range");
    return LifeGridView{nullptr, height, width, 0}.row_words();
  }
  static std::int64_t area_of(std::int64_t height, std::int64_t stride) {
    std::int64_t area = 0;
    if (__builtin_mul_overflow(height, stride, &area))
      throw OutOfMemoryError("a grid of " + std::to_string(height) + " rows of " + std::to_string(stride) +
                             " words is out of range");
    return area;
  }
  std::int64_t height_ = 0;
  std::int64_t width_ = 0;
  std::int64_t stride_ = 0;
  Buffer<std::uint64_t> words_;
};

/// The plane as a quadtree whose equal parts are there once, as files in the Macrocell format have it. nodes[0] is the
/// empty one. A leaf, of level 3, holds 8 x 8 cells, bit 8 * row + column. Another node holds the indices of its
/// quarters nw, ne, sw, se, each before it in the list and one level lower, 0 for an empty one. The root covers
/// [-2^(level-1), 2^(level-1)) in both directions around the place that `left` and `top` of a pattern or result name;
/// x grows to the right, y downwards.
struct LifeTree {
  struct Node {
    std::int32_t level = 0;
    std::uint64_t cells = 0;  ///< of a leaf
    std::array<std::uint32_t, 4> quarters = {};
  };
  std::vector<Node> nodes;
  std::uint32_t root = 0;
};

/// A number of live cells, of 128 bits.
struct LifePopulation {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend constexpr bool operator==(LifePopulation, LifePopulation) = default;
};
/// In decimal.
GRADUS_EXPORT std::string to_string(LifePopulation population);

/// Columns and rows.
struct LifeRectangle {
  std::int64_t width = 0;
  std::int64_t height = 0;
};

/// What a pattern file says.
struct LifePattern {
  std::optional<LifeRule> rule;          ///< where it names one
  std::optional<LifeBoundary> boundary;  ///< where it names a topology, of this size:
  std::int64_t width = 0;
  std::int64_t height = 0;
  /// The place of the first cell of `cells`, or of the middle of `tree`.
  std::int64_t left = 0;
  std::int64_t top = 0;
  /// Set if the file names no place: the size of its rectangle, which begins at (0, 0). life() moves such a pattern on
  /// `dead` and `torus`.
  std::optional<LifeRectangle> unplaced;
  LifeGrid cells;
  std::optional<LifeTree> tree;  ///< instead of cells
  std::uint64_t generation = 0;  ///< at which the file says that it is
  std::vector<std::string> comments;
};

struct LifeOptions {
  LifeRule rule = {};
  LifeBoundary boundary = LifeBoundary::plane;
  std::int64_t generations = 1;  ///< N >= 0
  /// Where the first cell lies. It matters for hashes, and of `plane` for where the result lies.
  std::int64_t left = 0;
  std::int64_t top = 0;
  bool hashes = false;  ///< also the hash of each generation
  /// Stop as soon as a generation is one that was there before, cell by cell and in the same place; N is the limit.
  bool until_stable = false;
};

/// Where results go instead of into new memory. Empty ones: new memory of the host.
struct LifeMemory {
  LifeGridSpan cells = {};                ///< of the grid's size; may be the input. Not of a `plane`
  VectorView<std::uint64_t> hashes = {};  ///< N + 1, in host memory
};

/// A pattern that came back: that of generation `preperiod` is there again after `period` more, for the first time.
struct LifeCycle {
  std::int64_t preperiod = 0;
  std::int64_t period = 0;
  friend constexpr bool operator==(LifeCycle, LifeCycle) = default;
};

struct LifeResult {
  LifeGrid cells;           ///< empty where the caller gave memory, or `tree` holds them
  std::int64_t left = 0;    ///< column of the first cell of `cells`, or of the middle of `tree`
  std::int64_t top = 0;     ///< its row
  bool background = false;  ///< `plane`: all cells beyond are alive, and `cells` are those that are dead
  /// Of a variant that works on trees, where the rectangle of live cells is too large for a grid.
  std::optional<LifeTree> tree;
  LifePopulation population;          ///< of live ones; with a live background of dead ones
  std::int64_t generations = 0;       ///< that were computed: N, or less where `until_stable` has found a cycle
  std::vector<std::uint64_t> hashes;  ///< of generations 0 to `generations`; empty unless wanted
  std::optional<LifeCycle> cycle;     ///< of `until_stable`, unless the limit came first
  RunReport report;
};

/// The sizes on which a job's memory depends, beside LifeOptions. Of a `plane`: the rectangle of the live cells at its
/// largest.
struct LifeShape {
  std::int64_t height = 0;
  std::int64_t width = 0;
  MemoryPlace place = {};
};

/// Generations of these cells. Of `dead` and `torus` the grid is the whole world, and cells and memory for them may lie
/// on a GPU, which then does the work; not where hashes or cycles are asked for. Throws UsageError for impossible
/// options and views, UnsupportedError for a variant or device that cannot run here, OutOfMemoryError where
/// memory does not suffice (on a `plane`, also when it has grown that far), InterruptedError after a stop request.
/// After an error the caller's memory holds anything.
GRADUS_EXPORT LifeResult life(const LifeGridView& cells, const LifeOptions& options, const LifeMemory& memory,
                              const Execution& execution = {});
inline LifeResult life(const LifeGridView& cells, const LifeOptions& options = {}, const Execution& execution = {}) {
  return life(cells, options, LifeMemory{}, execution);
}

/// The options that a pattern asks for: its rule and boundary, or B3/S23 and the plane.
GRADUS_EXPORT LifeOptions life_options(const LifePattern& pattern);

/// Computes generations of a pattern. On the plane LifeOptions::left and top are added to its place. On `dead` and
/// `torus` the world is a grid of `height` x `width` cells, and the first cell of the grid and of the result is
/// (-(width / 2), -(height / 2)). A pattern without a place goes where Golly puts it: on the plane its first cell is
/// (0, 0); on a grid that holds its rectangle of w x h cells it is (-(w / 2), -(h / 2)); on a smaller grid it is the
/// grid's first cell. Throws InputError if a live cell is outside the grid.
GRADUS_EXPORT LifeResult life(const LifePattern& pattern, const LifeOptions& options, std::int64_t height,
                              std::int64_t width, const Execution& execution = {});

/// Bytes of the host and of a GPU that life() takes beyond its input. Errors as those of life().
GRADUS_EXPORT MemoryEstimate life_memory(const LifeShape& shape, const LifeOptions& options,
                                         const Execution& execution = {});

}  // namespace gradus
