// HashLife's representation of the plane. Equal squares share one node, whose future is computed once.
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

/// All squares of a run. A square of level n has 2^n cells on a side. Squares of level 4 are leaves, whose cells are
/// bits. A square of a higher level is a node, which has four quarters of the level below. Equal squares share one
/// record, so the index of a record identifies its cells, and squares are compared by their indices.
///
/// Memory: 32 bytes per record and 8 bytes per slot of the hash table, whose load factor is at most 3/4. `memory_limit`
/// bounds the sum. When the limit is reached, unused records are collected. After an exception, the universe can only
/// be destroyed.
class Universe {
 public:
  /// Throws UnsupportedError for rules in which empty space comes alive (B0).
  Universe(const LifeRule& rule, std::uint64_t memory_limit, std::stop_token stop);
  Universe(const Universe&) = delete;
  Universe& operator=(const Universe&) = delete;
  ~Universe();

  /// Replaces the cells but keeps the known futures. Throws OutOfMemoryError if the memory limit is too small.
  void load(const LifeTree& tree);

  /// Advances by powers of two, one for each binary digit of `generations`. Calls `progress` occasionally with the
  /// number of finished generations. Throws InterruptedError after a stop request, and OutOfMemoryError if the memory
  /// limit is too small.
  void advance(std::uint64_t generations, std::function<void(std::uint64_t)> progress = {});

  LifeTree tree();

  struct Counts {
    std::uint64_t records = 0;
    std::uint64_t collections = 0;  ///< number of collections so far
    std::uint64_t bytes = 0;        ///< peak memory
  };
  Counts counts() const;

 private:
  using Index = std::uint32_t;

  static constexpr Index empty = 0;  ///< represents the square without live cells, on every level
  static constexpr Index unknown = ~Index{0};
  static constexpr int leaf_level = 4;
  static constexpr int block_level = 5;  ///< level of the squares whose future is computed cell by cell
  static constexpr int least_root_level = 6;
  /// The maximum level. It suffices for coordinates of 64 bits that move for 2^64 generations, with some room around
  /// them.
  static constexpr int most_levels = most_tree_levels;

  /// quarters in the order nw, ne, sw, se
  using Quarters = std::array<Index, 4>;
  /// 16 x 16 cells, four rows per word: the cell in row r, column c is bit 16 * (r % 4) + c of word r / 4.
  using LeafCells = std::array<std::uint64_t, 4>;

  struct Node {
    Quarters quarters;
    Index future;       ///< the central half after 2^(level - 2) generations, or unknown
    Index step_future;  ///< the central half after 2^step_exponent generations, or unknown; step_exponent < level - 2
    Index more_steps;   ///< record that holds `step_future` for other steps, or 0
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

  /// The squares that a call of make_future() needs. A collection keeps them.
  struct Frame {
    const Frame* above;
    int level;
    Index node;
    std::array<Index, 9> blocks;   ///< overlapping squares of the level below
    std::array<Index, 9> futures;  ///< squares two levels below
  };

  const Node& node(Index index) const { return records_[index].node; }
  const Quarters& quarters(Index index) const { return records_[index].node.quarters; }
  template <class Key>
  Index find_or_add(const Key& key, std::uint32_t tag);
  Index find_node(const Quarters& quarters);
  template <std::size_t count>
  void find_nodes(const std::array<Quarters, count>& keys, Index* found);
  Index find_leaf(const LeafCells& cells);
  Index take_record();

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
  void poll_stop();
  std::uint32_t copy(Index index, int level, LifeTreeBuilder& tree, std::vector<std::uint32_t>& copies);

  Step step_;  ///< the rule in the form of the kernels
  std::uint64_t memory_limit_;
  std::stop_token stop_;

  Record* records_ = nullptr;
  std::uint64_t most_records_ = 0;  ///< end of the records for which address space is reserved
  std::uint64_t end_ = 0;           ///< records below this index may be in use
  std::uint64_t next_ = 1;          ///< all records below this index are in use
  std::uint64_t spare_ = 0;         ///< number of free records from next_ to end_
  /// One bit per record below end_: 1 if the record was in use at the last collection.
  std::vector<std::uint64_t> marks_;
  std::uint64_t marked_ = 0;

  std::uint64_t* slots_ = nullptr;  ///< each slot holds a hash tag, the placement bit, and an index
  int slot_bits_ = 0;
  std::uint64_t taken_slots_ = 0;
  std::uint64_t placed_ = 0;  ///< value that the placement bit has in entries that are in their final slot

  Index root_ = empty;
  int level_ = least_root_level;
  int exponent_ = 0;
  std::uint32_t looks_ = 0;
  std::function<void(std::uint64_t)> progress_;
  std::uint64_t done_ = 0;  ///< number of generations that advance() has finished
  std::uint64_t collections_ = 0;
  std::uint64_t peak_ = 0;
};

}  // namespace gradus::life_detail
