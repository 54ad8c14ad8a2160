// The plane as HashLife sees it: squares that look alike are one node, and what a node becomes is found once.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "gradus/life.hpp"
#include "life/quadtree.hpp"
#include "life/simd/steps.hpp"

namespace gradus::life_detail {

/// All squares that a run knows. A square of level n has 2^n cells on a side. Level 4 is a leaf: its cells are bits.
/// A square of a higher level is a node: its quarters, which are squares of the level below. Equal squares are one
/// record, so that the index of a record stands for its cells, and two squares are compared by one comparison.
///
/// Memory: 32 bytes for a record and 8 for a slot of the table that finds it, of which at most three in four are taken.
/// `memory_limit` bounds their sum; when it is reached, records that nothing needs are collected. After an exception
/// the universe can only be destroyed.
class Universe {
 public:
  /// UnsupportedError for rules by which empty space comes alive (B0).
  Universe(const LifeRule& rule, std::uint64_t memory_limit, std::stop_token stop);
  Universe(const Universe&) = delete;
  Universe& operator=(const Universe&) = delete;
  ~Universe();

  /// Replaces the cells. What is known of squares stays. OutOfMemoryError where the limit of memory is too small.
  void load(const LifeTree& tree);

  /// Any number of generations, a power of two after the other. InterruptedError after a stop request,
  /// OutOfMemoryError where the limit of memory is too small. `progress`: told now and then how many are done.
  void advance(std::uint64_t generations, std::function<void(std::uint64_t)> progress = {});

  /// The cells as they are now.
  LifeTree tree();

  struct Counts {
    std::uint64_t records = 0;      ///< that are in use
    std::uint64_t collections = 0;  ///< of unused records, so far
    std::uint64_t bytes = 0;        ///< of memory that was ever used at once
  };
  Counts counts() const;

 private:
  using Index = std::uint32_t;

  static constexpr Index empty = 0;  ///< the square without live cells, of every level
  static constexpr Index unknown = ~Index{0};
  static constexpr int leaf_level = 4;
  static constexpr int block_level = 5;  ///< whose future is calculated cell by cell
  static constexpr int least_root_level = 6;
  /// Coordinates of 2^64 cells that move for 2^64 generations, and some room around.
  static constexpr int most_levels = most_tree_levels;

  /// nw, ne, sw, se
  using Quarters = std::array<Index, 4>;
  /// 16 x 16 cells: four rows in a word, the cell in row r, column c is bit 16 * (r % 4) + c of word r / 4.
  using LeafCells = std::array<std::uint64_t, 4>;

  struct Node {
    Quarters quarters;
    Index future;       ///< the middle half, 2^(level - 2) generations later; or unknown
    Index step_future;  ///< the middle half, 2^step_exponent generations later, where those are fewer; or unknown
    Index more_steps;   ///< a record of what `step_future` was of other steps, or 0
    std::uint32_t step_exponent;
  };
  struct Steps {
    static constexpr std::uint32_t most = 5;
    std::array<Index, most> futures;
    Index more_steps;
    std::array<std::uint8_t, most> exponents;
    std::uint8_t count;
  };
  union Record {
    Node node;
    LeafCells leaf;
    Steps steps;
  };
  static_assert(sizeof(Record) == 32);

  /// What a call of advance_node() holds on to, so that a collection knows.
  struct Frame {
    const Frame* above;
    int level;
    Index node;
    std::array<Index, 9> blocks;   ///< of the level below
    std::array<Index, 9> futures;  ///< of the level below that
  };

  // Records and the table of them.
  const Node& node(Index index) const { return records_[index].node; }
  const Quarters& quarters(Index index) const { return records_[index].node.quarters; }
  template <class Key>
  Index find_or_add(const Key& key, std::uint32_t tag);
  Index find_node(const Quarters& quarters);
  template <std::size_t count>
  void find_nodes(const std::array<Quarters, count>& keys, Index* found);
  Index find_leaf(const LeafCells& cells);
  Index take_record();

  // Memory.
  void reserve_records();
  std::uint64_t bytes_in_use() const;
  void make_room(const Frame* frame);
  bool grow_records();
  bool grow_table(int bits);
  void collect(const Frame* frame, bool keep_futures);
  void mark(Index index, int level, bool with_futures);
  bool is_marked(Index index) const { return (marks_[index / 64] >> (index % 64) & 1) != 0; }
  bool set_mark(Index index);
  void forget_unmarked_futures();
  void place_marked();
  [[noreturn]] void refuse_limit() const;

  // The future.
  Index future_of(Index index, int level, const Frame* above);
  Index make_future(Index index, int level, const Frame* above);
  Index make_block_future(Index index);
  void find_blocks(const Quarters& whole, std::array<Index, 9>& blocks);
  Index middle(Index nw, Index ne, Index sw, Index se, int level);
  bool is_full_step(int level) const { return level - 2 <= exponent_; }
  Index known_step(const Node& node) const;
  void keep_step(Index index, Index future);
  void step(int exponent);
  void expand();
  bool shrink();
  void look_at_stop();
  std::uint32_t copy(Index index, int level, LifeTreeBuilder& tree, std::vector<std::uint32_t>& copies);

  Step step_;  ///< the rule, as the kernels take it
  std::uint64_t memory_limit_;
  std::stop_token stop_;

  Record* records_ = nullptr;
  std::uint64_t most_records_ = 0;    ///< for which there is address space
  std::uint64_t end_ = 0;             ///< records before it may be used
  std::uint64_t next_ = 1;            ///< from which on records may be free
  std::uint64_t spare_ = 0;           ///< free records from next_ to end_
  std::vector<std::uint64_t> marks_;  ///< a bit for each record before end_: in use when last collected
  std::uint64_t marked_ = 0;

  std::uint64_t* slots_ = nullptr;  ///< tag, a bit that tells a table's rebuilding, index
  int slot_bits_ = 0;
  std::uint64_t taken_slots_ = 0;
  std::uint64_t placed_ = 0;  ///< the value of that bit in entries that stand where they should

  Index root_ = empty;
  int level_ = least_root_level;
  int exponent_ = 0;  ///< of the step that is being made
  std::uint32_t looks_ = 0;
  std::function<void(std::uint64_t)> progress_;
  std::uint64_t done_ = 0;  ///< of the generations of advance()
  std::uint64_t collections_ = 0;
  std::uint64_t peak_ = 0;
};

}  // namespace gradus::life_detail
