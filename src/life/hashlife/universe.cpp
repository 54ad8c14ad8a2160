#include "life/hashlife/universe.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "cpu/memory.hpp"
#include "life/quadtree.hpp"

namespace gradus::life_detail {

namespace {

constexpr std::string_view stopped = "stopped while calculating generations";
constexpr std::uint64_t index_bits = 31;
constexpr std::uint64_t placed_bit = std::uint64_t{1} << index_bits;
constexpr std::uint64_t index_mask = placed_bit - 1;
constexpr std::uint64_t records_of_a_growth = std::uint64_t{1} << 14;
constexpr int least_slot_bits = 13;
/// Number of records that a call of make_future() may create between two checks for room: five blocks, four futures of
/// blocks, the future of the square, and a record of steps.
constexpr std::uint64_t records_of_a_call = 11;
/// A call at the lowest level computes 13 blocks of 32 x 32 cells. For each block, it creates at most a leaf and a
/// record of steps.
constexpr std::uint64_t records_of_blocks = 26;
constexpr std::uint64_t reserve = records_of_a_call * most_tree_levels + records_of_blocks;

/// Combines the upper and the lower half of the product, so that each bit of the result depends on both factors.
std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Random odd numbers, which serve as keys of the hash.
constexpr std::uint64_t key0 = 0xa0761d6478bd642f;
constexpr std::uint64_t key1 = 0xe7037ed1a0b428db;
constexpr std::uint64_t key2 = 0x8ebc6af09c88c6e3;
constexpr std::uint64_t key3 = 0x589965cc75374cc3;

std::uint64_t hash_of(const std::array<std::uint32_t, 4>& quarters) {
  return fold((std::uint64_t{quarters[0]} << 32 | quarters[1]) ^ key0,
              (std::uint64_t{quarters[2]} << 32 | quarters[3]) ^ key1);
}

std::uint64_t hash_of(const std::array<std::uint64_t, 4>& cells) {
  return fold(cells[0] ^ key0, cells[1] ^ key1) ^ fold(cells[2] ^ key2, cells[3] ^ key3);
}

/// Returns the part of the hash that the table stores. The lowest bit of this part distinguishes leaves from nodes,
/// because a leaf and a node could have the same bytes.
std::uint32_t tag_of(std::uint64_t hash, bool leaf) {
  return (static_cast<std::uint32_t>(hash >> 32) & ~1U) | (leaf ? 1U : 0U);
}
bool is_leaf_entry(std::uint64_t entry) { return (entry >> 32 & 1) != 0; }

template <class T>
T* map_zeros(std::uint64_t count) {
  const std::uint64_t bytes = count * sizeof(T);
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  cpu::prefer_large_pages(memory, bytes);
  return static_cast<T*>(memory);
}

template <class T>
void unmap(T* memory, std::uint64_t count) {
  if (memory) ::munmap(memory, count * sizeof(T));
}

}  // namespace

Universe::Universe(const LifeRule& rule, std::uint64_t memory_limit, std::stop_token stop)
    : step_(step_of(rule)), memory_limit_(memory_limit), stop_(std::move(stop)) {
  if ((rule.birth & 1U) != 0)
    throw UnsupportedError("hashlife: by " + to_string(rule) +
                           " empty space comes alive (B0); give the pattern a torus or dead cells around");
  most_records_ = std::clamp<std::uint64_t>(memory_limit / sizeof(Record), 2 * reserve, index_mask);
  slot_bits_ = least_slot_bits;
  slots_ = map_zeros<std::uint64_t>(std::uint64_t{1} << slot_bits_);
  reserve_records();
  if (!slots_ || !records_) {
    unmap(slots_, std::uint64_t{1} << slot_bits_);
    unmap(records_, most_records_);
    throw OutOfMemoryError("hashlife: the system does not give even " +
                           core::size_text(most_records_ * sizeof(Record)) + " of address space (ulimit -v)");
  }
  end_ = 1;
  marks_ = {1};  // index 0 is the empty square; it is never free
}

/// Reserves address space for as many records as the limit allows. If the system grants less (ulimit -v), uses half of
/// the granted space, because the table and the result also need address space.
void Universe::reserve_records() {
  const std::uint64_t wanted = most_records_;
  const auto halve = [&] { most_records_ = std::max(most_records_ / 2, 2 * reserve); };
  while (!(records_ = map_zeros<Record>(most_records_)) && most_records_ > 2 * reserve) halve();
  if (!records_ || most_records_ == wanted) return;
  unmap(records_, most_records_);
  halve();
  records_ = map_zeros<Record>(most_records_);
  memory_limit_ = std::min(memory_limit_, most_records_ * sizeof(Record) * 3 / 2);
}

Universe::~Universe() {
  unmap(slots_, std::uint64_t{1} << slot_bits_);
  unmap(records_, most_records_);
}

Universe::Counts Universe::counts() const { return {end_ - 1 - spare_, collections_, peak_}; }

// ---- Records ----

/// Compares arrays without calling a library function.
bool same(const std::array<std::uint32_t, 4>& a, const std::array<std::uint32_t, 4>& b) {
  return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0;
}
bool same(const std::array<std::uint64_t, 4>& a, const std::array<std::uint64_t, 4>& b) {
  return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0;
}

template <class Key>
Universe::Index Universe::find_or_add(const Key& key, std::uint32_t tag) {
  constexpr bool is_leaf = std::is_same_v<Key, LeafCells>;
  const std::uint64_t mask = (std::uint64_t{1} << slot_bits_) - 1;
  for (std::uint64_t slot = tag >> (32 - slot_bits_);; slot = (slot + 1) & mask) {
    const std::uint64_t entry = slots_[slot];
    if (entry == 0) {
      const Index index = take_record();
      Record& record = records_[index];
      if constexpr (is_leaf) record.leaf = key;
      else record.node = {key, unknown, unknown, 0, 0};
      slots_[slot] = std::uint64_t{tag} << 32 | placed_ | index;
      ++taken_slots_;
      return index;
    }
    if (entry >> 32 != tag) continue;
    const auto index = static_cast<Index>(entry & index_mask);
    if constexpr (is_leaf) {
      if (same(records_[index].leaf, key)) return index;
    } else {
      if (same(records_[index].node.quarters, key)) return index;
    }
  }
}

Universe::Index Universe::find_node(const Quarters& quarters) {
  if ((quarters[0] | quarters[1] | quarters[2] | quarters[3]) == empty) return empty;
  return find_or_add(quarters, tag_of(hash_of(quarters), false));
}

/// Finds several nodes. Prefetches the memory for all of them before the first look-up.
template <std::size_t count>
void Universe::find_nodes(const std::array<Quarters, count>& keys, Index* found) {
  std::array<std::uint32_t, count> tags;
  for (std::size_t key = 0; key < count; ++key) {
    tags[key] = tag_of(hash_of(keys[key]), false);
    __builtin_prefetch(&slots_[tags[key] >> (32 - slot_bits_)]);
  }
  for (const std::uint32_t tag : tags) __builtin_prefetch(&records_[slots_[tag >> (32 - slot_bits_)] & index_mask]);
  for (std::size_t key = 0; key < count; ++key) {
    const Quarters& quarters = keys[key];
    const bool is_empty = (quarters[0] | quarters[1] | quarters[2] | quarters[3]) == empty;
    found[key] = is_empty ? empty : find_or_add(quarters, tags[key]);
  }
}

template void Universe::find_nodes(const std::array<Quarters, 4>&, Index*);
template void Universe::find_nodes(const std::array<Quarters, 5>&, Index*);

Universe::Index Universe::find_leaf(const LeafCells& cells) {
  if ((cells[0] | cells[1] | cells[2] | cells[3]) == 0) return empty;
  return find_or_add(cells, tag_of(hash_of(cells), true));
}

/// Returns the next free record. A record is free if the last collection did not mark it. make_room() guarantees that a
/// free record exists.
Universe::Index Universe::take_record() {
  std::uint64_t word = ~marks_[next_ / 64] & (~std::uint64_t{0} << (next_ % 64));
  while (word == 0) {
    next_ = (next_ / 64 + 1) * 64;
    word = ~marks_[next_ / 64];
  }
  next_ = next_ / 64 * 64 + static_cast<std::uint64_t>(std::countr_zero(word));
  --spare_;
  return static_cast<Index>(next_++);
}

// ---- Memory ----

std::uint64_t Universe::bytes_in_use() const {
  return end_ * sizeof(Record) + (sizeof(std::uint64_t) << slot_bits_) + marks_.size() * sizeof(std::uint64_t);
}

void Universe::refuse_limit() const {
  throw OutOfMemoryError("hashlife: " + core::size_text(memory_limit_) +
                         " do not suffice for this pattern; give it more memory, or fewer generations at a time");
}

/// Guarantees room for all records that the active calls may add before the next check.
void Universe::make_room(const Frame* frame) {
  if (spare_ >= reserve) return;
  if (grow_records()) return;
  const auto suffices = [&] { return spare_ >= std::max(reserve, end_ / 4); };
  collect(frame, true);
  if (!suffices()) collect(frame, false);
  if (!suffices()) refuse_limit();
}

bool Universe::grow_records() {
  const std::uint64_t least = reserve + records_of_a_growth;
  const std::uint64_t wanted = std::min(end_ + std::max(least, end_ / 8), most_records_);
  if (wanted < end_ + least) return false;
  // The table needs slots for all records at a load factor of at most 3/4. The old table still exists while the new one
  // is filled.
  int bits = slot_bits_;
  while ((std::uint64_t{3} << bits) / 4 < wanted) ++bits;
  const std::uint64_t table = bits == slot_bits_ ? 0 : sizeof(std::uint64_t) << bits;
  const std::uint64_t more = (wanted - end_) * sizeof(Record) + (wanted - end_) / 8;
  if (bytes_in_use() + more + table > memory_limit_ || bits > 31) return false;
  if (table > 0 && !grow_table(bits)) return false;
  spare_ += wanted - end_;
  end_ = wanted;
  marks_.resize(wanted / 64 + 1);
  peak_ = std::max(peak_, bytes_in_use());
  return true;
}

/// Returns false if the system does not grant the address space.
bool Universe::grow_table(int bits) {
  std::uint64_t* const larger = map_zeros<std::uint64_t>(std::uint64_t{1} << bits);
  if (!larger) return false;
  const std::uint64_t count = std::uint64_t{1} << slot_bits_;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  std::uint64_t* const old = std::exchange(slots_, larger);
  slot_bits_ = bits;
  for (std::uint64_t from = 0; from < count; ++from) {
    if (from % records_of_a_growth == 0 && stop_.stop_requested()) break;
    if (old[from] == 0) continue;
    std::uint64_t to = old[from] >> 32 >> (32 - bits);
    while (larger[to] != 0) to = (to + 1) & mask;
    larger[to] = old[from];
  }
  unmap(old, count);
  core::honour_stop(stop_, stopped);
  return true;
}

bool Universe::set_mark(Index index) {
  std::uint64_t& word = marks_[index / 64];
  const std::uint64_t bit = std::uint64_t{1} << (index % 64);
  return std::exchange(word, word | bit) & bit;
}

void Universe::mark(Index index, int level, bool with_futures) {
  if (index == empty || set_mark(index)) return;
  ++marked_;
  if (level == leaf_level) return;
  poll_stop();
  Node& square = records_[index].node;
  for (const Index quarter : square.quarters) mark(quarter, level - 1, with_futures);
  if (!with_futures) return;
  if (square.future != unknown) mark(square.future, level - 1, true);
  if (square.step_future != unknown) mark(square.step_future, level - 1, true);
  for (Index more = square.more_steps; more != 0; more = records_[more].steps.more_steps) {
    const Steps& steps = records_[more].steps;
    if (!set_mark(more)) ++marked_;
    for (int step = 0; step < steps.count; ++step) mark(steps.futures[static_cast<std::size_t>(step)], level - 1, true);
  }
}

/// Frees the records that neither the root nor an active call needs. If `keep_futures` is set, also keeps the known
/// futures of the squares that are needed. Otherwise keeps a future only if the root or an active call needs it.
void Universe::collect(const Frame* frame, bool keep_futures) {
  ++collections_;
  std::fill(marks_.begin(), marks_.end(), 0);
  marked_ = 0;
  mark(root_, level_, keep_futures);
  for (; frame; frame = frame->above) {
    mark(frame->node, frame->level, keep_futures);
    for (const Index block : frame->blocks) mark(block, frame->level - 1, keep_futures);
    for (const Index future : frame->futures) mark(future, frame->level - 2, keep_futures);
  }
  if (!keep_futures) forget_unmarked_futures();
  place_marked();
  marks_[0] |= 1;
  next_ = 1;
  spare_ = end_ - 1 - marked_;
}

/// Clears pointers to futures that were not marked.
void Universe::forget_unmarked_futures() {
  const std::uint64_t count = std::uint64_t{1} << slot_bits_;
  const auto forget = [&](Index& future) {
    if (future != unknown && future != empty && !is_marked(future)) future = unknown;
  };
  for (std::uint64_t slot = 0; slot < count; ++slot) {
    poll_stop();
    const std::uint64_t entry = slots_[slot];
    const auto index = static_cast<Index>(entry & index_mask);
    if (entry == 0 || !is_marked(index) || is_leaf_entry(entry)) continue;
    Node& square = records_[index].node;
    forget(square.future);
    forget(square.step_future);
    square.more_steps = 0;
  }
}

/// Removes unmarked records from the table. Moves the remaining entries to the slots that they would have if the
/// removed records had never existed.
void Universe::place_marked() {
  const std::uint64_t count = std::uint64_t{1} << slot_bits_;
  const std::uint64_t mask = count - 1;
  taken_slots_ = 0;
  for (std::uint64_t slot = 0; slot < count; ++slot) {
    poll_stop();
    if (slots_[slot] == 0) continue;
    if (is_marked(static_cast<Index>(slots_[slot] & index_mask))) ++taken_slots_;
    else slots_[slot] = 0;
  }
  // An entry that is already in its final slot is skipped. An entry that is not yet in its final slot may be displaced
  // by another entry.
  placed_ ^= placed_bit;
  for (std::uint64_t slot = 0; slot < count; ++slot) {
    poll_stop();
    std::uint64_t entry = slots_[slot];
    if (entry == 0 || (entry & placed_bit) == placed_) continue;
    slots_[slot] = 0;
    while (entry != 0) {
      std::uint64_t to = entry >> 32 >> (32 - slot_bits_);
      while (slots_[to] != 0 && (slots_[to] & placed_bit) == placed_) to = (to + 1) & mask;
      entry = std::exchange(slots_[to], entry ^ placed_bit);
    }
  }
}

void Universe::poll_stop() {
  if (++looks_ % 1024 != 0) return;
  core::honour_stop(stop_, stopped);
  if (progress_) progress_(done_);
}

// ---- From trees and to trees ----

void Universe::load(const LifeTree& given) {
  const LifeTree* tree = &given;
  LifeTree larger;
  if (given.nodes.at(given.root).level < least_root_level) {
    larger = given;
    while (larger.root != 0 && larger.nodes[larger.root].level < least_root_level) life_detail::expand(larger);
    tree = &larger;
  }
  root_ = empty;
  level_ = least_root_level;
  if (tree->root == 0) return;
  const auto becomes_record = [](const LifeTree::Node& square) { return square.level >= leaf_level; };
  const std::uint64_t wanted = static_cast<std::uint64_t>(std::ranges::count_if(tree->nodes, becomes_record)) + reserve;
  while (spare_ < wanted && grow_records()) {
  }
  if (spare_ < wanted) {
    collect(nullptr, false);
    if (spare_ < wanted) refuse_limit();
  }
  std::vector<Index> found(tree->nodes.size());
  for (std::size_t index = 1; index < found.size(); ++index) {
    poll_stop();
    const LifeTree::Node& square = tree->nodes[index];
    if (square.level < leaf_level) continue;
    if (square.level > leaf_level) {
      Quarters quarters;
      for (std::size_t quarter = 0; quarter < 4; ++quarter) quarters[quarter] = found[square.quarters[quarter]];
      found[index] = find_node(quarters);
      continue;
    }
    LeafCells cells{};
    for (std::size_t quarter = 0; quarter < 4; ++quarter)
      for (std::size_t row = 0; row < 8; ++row)
        cells[quarter / 2 * 2 + row / 4] |= (tree->nodes[square.quarters[quarter]].cells >> (8 * row) & 0xff)
                                            << (row % 4 * 16 + quarter % 2 * 8);
    found[index] = find_leaf(cells);
  }
  root_ = found[tree->root];
  level_ = tree->nodes[tree->root].level;
}

/// Adds the record to `tree` as a node, after the nodes of its quarters.
std::uint32_t Universe::copy(Index index, int level, LifeTreeBuilder& tree, std::vector<std::uint32_t>& copies) {
  if (index == empty) return 0;
  if (copies[index] != 0) return copies[index];
  poll_stop();
  Quarters parts;
  for (std::size_t quarter = 0; quarter < 4; ++quarter) {
    if (level > leaf_level) {
      parts[quarter] = copy(quarters(index)[quarter], level - 1, tree, copies);
      continue;
    }
    std::uint64_t cells = 0;
    for (std::size_t row = 0; row < 8; ++row)
      cells |= (records_[index].leaf[quarter / 2 * 2 + row / 4] >> (row % 4 * 16 + quarter % 2 * 8) & 0xff)
               << (8 * row);
    parts[quarter] = tree.leaf(cells);
  }
  return copies[index] = tree.new_node(level, parts);
}

LifeTree Universe::tree() {
  while (shrink()) {
  }
  LifeTreeBuilder tree;
  std::vector<std::uint32_t> copies(end_);
  return tree.finish(copy(root_, level_, tree, copies));
}

}  // namespace gradus::life_detail
