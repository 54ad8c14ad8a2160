/// Life: generations of Conway's Game of Life and of every other outer-totalistic two-state rule B/S.
///
/// A cell is alive or dead and has eight neighbours. A dead cell is born if the number of its live neighbours is in the
/// rule's list B. A live cell survives if the number of its live neighbours is in the list S. All cells change at once.
///
/// Canonical result: the exact cells after N generations. The boundaries are:
///
/// * `plane`: the unbounded plane, on which all cells except the given ones are dead. The pattern can grow without
///   limit. The result is the smallest rectangle that holds all live cells, and its position.
/// * `dead`: all cells outside the grid stay dead. (To reproduce the published experiment, in which the cells on the
///   edge of the grid stay dead, use a grid with two rows and two columns less.)
/// * `torus`: the last row is above the first row, and the last column is to the left of the first column. In a grid
///   with a width or height of one or two, a cell can be its own neighbour or have the same neighbour twice; such a
///   neighbour counts each time.
///
/// A rule with B0 brings the whole plane to life in the first generation. LifeResult::background then gives the state
/// of all cells outside the result's rectangle, and `cells` holds the cells that differ from it. (Golly shows the same
/// cells at even generations of rules without S8. For rules with S8, Golly inverts the pattern at the start, which
/// makes it a different pattern.)
///
/// The hash of a generation is a sum modulo 2^64. Each 64-cell word with at least one live cell adds a number that is
/// mixed from its cells, its row and its column. Words begin at columns that are multiples of 64; LifeOptions::left is
/// the column of the grid's first cell. The hash thus depends only on the live cells and their positions, not on the
/// width of the grid.
///
/// Complexity: O(N * area) time, with about sixteen instructions per 64 cells. On the plane, the area is the size of
/// the rectangle of live cells in each generation. Memory: two or three grids of one bit per cell. Textbook variants
/// use eight bytes per cell.
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

/// An outer-totalistic two-state rule. Bit n of a list stands for n live neighbours, 0 <= n <= 8.
struct LifeRule {
  std::uint16_t birth = 1U << 3;
  std::uint16_t survival = (1U << 2) | (1U << 3);
  friend constexpr bool operator==(LifeRule, LifeRule) = default;
};

/// Parses a rule: "B3/S23", "b3s23", "B3S23", or "23/3" with survival first. Surrounding blanks and repeated digits are
/// ignored, as in Golly. Also accepts the names "Life", "HighLife", "Seeds", "Day & Night", "Replicator", "Life without
/// Death", "Maze", "Diamoeba", "2x2", "Morley", "Anneal" and "DryLife" in any case.
///
/// Throws UsageError for any other text. The message identifies kinds of rules that are not supported: more than two
/// states (Generations, such as "345/2/4"), Hensel's letters ("B2-a/S12"), and von Neumann and hexagonal neighbourhoods
/// ("B2/S013V", "…H").
GRADUS_EXPORT LifeRule life_rule(std::string_view text);
/// Returns the rule as text: "B3/S23".
GRADUS_EXPORT std::string to_string(const LifeRule& rule);

enum class LifeBoundary : std::uint8_t { plane, dead, torus };
template <>
inline constexpr auto enum_names<LifeBoundary> = std::to_array<EnumName<LifeBoundary>>(
    {{LifeBoundary::plane, "plane"}, {LifeBoundary::dead, "dead"}, {LifeBoundary::torus, "torus"}});

/// Packed cells: rows of 64-bit words, in which cell x of a row is bit x % 64 of word x / 64. The library ignores bits
/// past `width` in its input and sets them to 0 in its output.
struct LifeGridView {
  const std::uint64_t* words = nullptr;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t stride = 0;  ///< distance between rows, in words
  MemoryPlace place = {};

  constexpr std::int64_t row_words() const { return width / 64 + (width % 64 > 0 ? 1 : 0); }
  constexpr const std::uint64_t* row(std::int64_t y) const { return words + y * stride; }
  constexpr bool operator()(std::int64_t y, std::int64_t x) const { return (row(y)[x / 64] >> (x % 64) & 1) != 0; }
};

/// A writable LifeGridView.
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

/// An owned, contiguous grid in host memory.
class LifeGrid {
 public:
  struct Uninitialised {};

  LifeGrid() = default;
  /// Makes a grid of dead cells. Throws OutOfMemoryError if the sizes are negative, if they overflow, or if the grid
  /// does not fit in memory.
  LifeGrid(std::int64_t height, std::int64_t width) : LifeGrid(height, width, Uninitialised{}) {
    for (std::uint64_t& word : words_) word = 0;
  }
  /// Makes a grid with undefined cells, for code that writes every word.
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

/// The plane as a quadtree without duplicate nodes, as in the Macrocell file format. nodes[0] is the empty node. A leaf
/// has level 3 and holds 8 x 8 cells, bit 8 * row + column. Any other node holds the indices of its four quarters:
/// north-west, north-east, south-west, south-east. The index 0 stands for an empty quarter. Every other quarter
/// precedes the node in the list and is one level lower. The cells of the root have the coordinates -2^(level-1) to
/// 2^(level-1) - 1 in both directions, relative to the point (`left`, `top`) of the pattern or result. x grows to the
/// right, y downwards.
struct LifeTree {
  struct Node {
    std::int32_t level = 0;
    std::uint64_t cells = 0;  ///< cells of a leaf
    std::array<std::uint32_t, 4> quarters = {};
  };
  std::vector<Node> nodes;
  std::uint32_t root = 0;
};

/// A number of live cells, with 128 bits.
struct LifePopulation {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend constexpr bool operator==(LifePopulation, LifePopulation) = default;
};
GRADUS_EXPORT std::string to_string(LifePopulation population);

/// A size in cells.
struct LifeRectangle {
  std::int64_t width = 0;
  std::int64_t height = 0;
};

/// The contents of a pattern file.
struct LifePattern {
  std::optional<LifeRule> rule;          ///< set if the file names a rule
  std::optional<LifeBoundary> boundary;  ///< set if the file names a topology; `width` and `height` are its size
  std::int64_t width = 0;
  std::int64_t height = 0;
  /// The position of the first cell of `cells`, or of the centre of `tree`.
  std::int64_t left = 0;
  std::int64_t top = 0;
  /// Set if the file states no position: the size of the pattern's rectangle, which begins at (0, 0). On `dead` and
  /// `torus`, life() centres such a pattern.
  std::optional<LifeRectangle> unplaced;
  LifeGrid cells;
  std::optional<LifeTree> tree;  ///< replaces `cells`
  std::uint64_t generation = 0;  ///< the generation stated in the file
  std::vector<std::string> comments;
};

struct LifeOptions {
  LifeRule rule = {};
  LifeBoundary boundary = LifeBoundary::plane;
  std::int64_t generations = 1;  ///< N >= 0
  /// Position of the first cell. Affects hashes and, on `plane`, the position of the result.
  std::int64_t left = 0;
  std::int64_t top = 0;
  bool hashes = false;  ///< also returns the hash of each generation
  /// Stops as soon as a generation has the same cells at the same positions as an earlier generation, at the latest
  /// after N generations.
  bool until_stable = false;
};

/// Memory for results. If a view is empty, the call allocates host memory for this result.
struct LifeMemory {
  /// As large as the grid; may be the memory of the input. Must be empty on `plane`.
  LifeGridSpan cells = {};
  VectorView<std::uint64_t> hashes = {};  ///< N + 1 hashes, in host memory
};

/// A cycle: generation `preperiod` is the first that recurs, and it recurs after `period` generations.
struct LifeCycle {
  std::int64_t preperiod = 0;
  std::int64_t period = 0;
  friend constexpr bool operator==(LifeCycle, LifeCycle) = default;
};

struct LifeResult {
  LifeGrid cells;           ///< empty if the caller gave memory, or if `tree` is set
  std::int64_t left = 0;    ///< column of the first cell of `cells`, or of the centre of `tree`
  std::int64_t top = 0;     ///< row of the first cell of `cells`, or of the centre of `tree`
  bool background = false;  ///< true if all cells outside of `cells` are alive; `cells` then marks the dead cells
  /// Set if the variant works on trees and the rectangle of live cells is too large for a grid.
  std::optional<LifeTree> tree;
  LifePopulation population;          ///< number of live cells; if `background` is true: number of dead cells
  std::int64_t generations = 0;       ///< number of computed generations: N, or fewer if `until_stable` found a cycle
  std::vector<std::uint64_t> hashes;  ///< hashes of generations 0 to `generations`; empty unless requested
  std::optional<LifeCycle> cycle;     ///< the cycle that `until_stable` found, if any
  RunReport report;
};

/// The size of a job. Together with LifeOptions, it determines the memory that the job needs. On `plane`, height and
/// width are the size of the largest rectangle of live cells.
struct LifeShape {
  std::int64_t height = 0;
  std::int64_t width = 0;
  MemoryPlace place = {};
};

/// Computes generations of the given cells. On `dead` and `torus`, the grid is the whole world. The cells and the
/// memory for the result may be on a GPU. The job then runs on this GPU, and hashes and `until_stable` are not
/// supported.
///
/// Throws UsageError for invalid options and malformed views. Throws UnsupportedError if the variant or device cannot
/// run here. Throws OutOfMemoryError if memory does not suffice; on `plane`, this may happen after the pattern has
/// grown. Throws InterruptedError after a stop request. After an error the contents of the caller's memory are
/// undefined.
GRADUS_EXPORT LifeResult life(const LifeGridView& cells, const LifeOptions& options, const LifeMemory& memory,
                              const Execution& execution = {});
inline LifeResult life(const LifeGridView& cells, const LifeOptions& options = {}, const Execution& execution = {}) {
  return life(cells, options, LifeMemory{}, execution);
}

/// Returns options with the pattern's rule and boundary. If the pattern states no rule, the rule is B3/S23. If it
/// states no boundary, the boundary is `plane`.
GRADUS_EXPORT LifeOptions life_options(const LifePattern& pattern);

/// Computes generations of a pattern.
///
/// On the plane, LifeOptions::left and top are added to the pattern's position. On `dead` and `torus`, the world is a
/// grid of `height` x `width` cells, and the first cell of the grid and of the result is (-(width / 2), -(height / 2)).
///
/// A pattern without a position is placed as in Golly:
/// * On the plane, the first cell of the pattern is (0, 0).
/// * On a grid that can hold the pattern's rectangle of w x h cells, the first cell of the pattern is (-(w / 2), -(h /
///   2)).
/// * On a smaller grid, the first cell of the pattern is the first cell of the grid.
///
/// Throws InputError if a live cell is outside the grid.
GRADUS_EXPORT LifeResult life(const LifePattern& pattern, const LifeOptions& options, std::int64_t height,
                              std::int64_t width, const Execution& execution = {});

/// Returns the host and GPU memory that life() needs in addition to its input. Throws the errors of life().
GRADUS_EXPORT MemoryEstimate life_memory(const LifeShape& shape, const LifeOptions& options,
                                         const Execution& execution = {});

}  // namespace gradus
