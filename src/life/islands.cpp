#include "life/islands.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "life/bits/cells.hpp"

namespace gradus::life_detail {

namespace {

constexpr std::int64_t side = 64;

struct Place {
  std::int64_t y;
  std::int64_t x;
  friend bool operator==(const Place&, const Place&) = default;
};
struct PlaceHash {
  std::size_t operator()(const Place& place) const {
    return static_cast<std::size_t>(
        (static_cast<std::uint64_t>(place.y) * 0x9E3779B97F4A7C15 ^ static_cast<std::uint64_t>(place.x)) *
            0xBF58476D1CE4E5B9 >>
        16);
  }
};
template <class Value>
using ByPlace = std::unordered_map<Place, Value, PlaceHash>;

}  // namespace

/// The blocks after the current step, by position.
class Islands::Collected {
 public:
  explicit Collected(std::size_t count) { places_.reserve(2 * count); }

  /// Returns the block at this place. Creates the block if it does not exist.
  Block& at(std::int64_t y, std::int64_t x, std::int32_t island) {
    const auto [known, is_new] = places_.try_emplace({y, x}, static_cast<std::int32_t>(blocks_.size()));
    if (is_new) {
      blocks_.push_back({.y = y, .x = x, .island = island});
    } else if (Block& block = blocks_[static_cast<std::size_t>(known->second)]; block.island != island) {
      block.island = -1;
    }
    return blocks_[static_cast<std::size_t>(known->second)];
  }
  std::vector<Block> take() { return std::move(blocks_); }

 private:
  ByPlace<std::int32_t> places_;
  std::vector<Block> blocks_;
};

Islands::Islands(const LifeGridView& cells, std::int64_t left, std::int64_t top) {
  Collected collected(static_cast<std::size_t>(cells.height / side + 1));
  const std::int64_t words = cells.row_words();
  for (std::int64_t y = 0; y < cells.height; ++y)
    for (std::int64_t word = 0; word < words; ++word)
      if (cells.row(y)[word] != 0)
        collected.at((top + y) >> 6, (left >> 6) + word, -1).rows[static_cast<std::size_t>((top + y) & 63)] =
            cells.row(y)[word];
  blocks_ = collected.take();
}

int Islands::scale() const {
  // If there are many blocks, they are more like a soup than like islands. With larger steps, it then takes less time
  // to copy cells.
  return blocks_.size() < 512 ? 0 : blocks_.size() < 16384 ? 2 : 4;
}

std::int64_t Islands::next_step(std::int64_t most) const { return std::min((side / 2) << scale(), most); }

std::vector<Islands::Island> Islands::find(int scale) const {
  // Groups squares whose sides have 64 << scale cells. Squares that touch are in the same group.
  ByPlace<std::int32_t> squares;
  squares.reserve(2 * blocks_.size());
  std::vector<Place> places;
  std::vector<std::int32_t> square_of;
  for (const Block& block : blocks_) {
    const Place place{block.y >> scale, block.x >> scale};
    const auto [known, is_new] = squares.try_emplace(place, static_cast<std::int32_t>(places.size()));
    if (is_new) places.push_back(place);
    square_of.push_back(known->second);
  }
  std::vector<std::int32_t> parent(places.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root_of = [&parent](std::int32_t square) {
    while (parent[static_cast<std::size_t>(square)] != square) {
      std::int32_t& up = parent[static_cast<std::size_t>(square)];
      up = parent[static_cast<std::size_t>(up)];
      square = up;
    }
    return square;
  };
  for (std::size_t square = 0; square < places.size(); ++square)
    for (const auto& [down, across] : {Place{0, 1}, Place{1, -1}, Place{1, 0}, Place{1, 1}}) {
      const auto neighbour = squares.find({places[square].y + down, places[square].x + across});
      if (neighbour == squares.end()) continue;
      parent[static_cast<std::size_t>(root_of(static_cast<std::int32_t>(square)))] = root_of(neighbour->second);
    }
  std::vector<Island> islands;
  std::vector<std::int32_t> island_of(places.size(), -1);
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    std::int32_t& island = island_of[static_cast<std::size_t>(root_of(square_of[block]))];
    if (island < 0) {
      island = static_cast<std::int32_t>(islands.size());
      islands.emplace_back();
    }
    islands[static_cast<std::size_t>(island)].blocks.push_back(static_cast<std::int32_t>(block));
  }
  return islands;
}

bool Islands::rests(const Island& island) const {
  const std::int32_t before = blocks_[static_cast<std::size_t>(island.blocks.front())].island;
  if (before < 0 || resting_[static_cast<std::size_t>(before)] != std::ssize(island.blocks)) return false;
  return std::ranges::all_of(
      island.blocks, [&](std::int32_t block) { return blocks_[static_cast<std::size_t>(block)].island == before; });
}

void Islands::advance(std::int64_t generations, const Advance& advance_grid) {
  const std::vector<Island> islands = find(scale());
  const bool same_step = generations == last_step_;
  std::vector<std::int32_t> resting(islands.size(), 0);
  Collected collected(blocks_.size());
  for (std::size_t index = 0; index < islands.size(); ++index) {
    const Island& island = islands[index];
    const auto number = static_cast<std::int32_t>(index);
    const auto blocks = [&](const auto& use) {
      for (const std::int32_t block : island.blocks) use(blocks_[static_cast<std::size_t>(block)]);
    };
    if (same_step && rests(island)) {
      resting[index] = static_cast<std::int32_t>(island.blocks.size());
      blocks([&](const Block& block) {
        Block& kept = collected.at(block.y, block.x, number);
        for (std::size_t row = 0; row < side; ++row) kept.rows[row] |= block.rows[row];
      });
      continue;
    }
    // At the end of the step, no cell outside of this rectangle of whole words can be alive.
    Box box{INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN};
    blocks([&](const Block& block) {
      std::uint64_t columns = 0;
      for (std::int64_t row = 0; row < side; ++row) {
        const std::uint64_t cells = block.rows[static_cast<std::size_t>(row)];
        if (cells == 0) continue;
        columns |= cells;
        box.top = std::min(box.top, block.y * side + row - generations);
        box.bottom = std::max(box.bottom, block.y * side + row + generations + 1);
      }
      box.left = std::min(box.left, block.x * side + std::countr_zero(columns) - generations);
      box.right = std::max(box.right, block.x * side + side - std::countl_zero(columns) + generations);
    });
    const std::int64_t first_word = box.left >> 6;
    LifeGrid grid(box.height(), ((box.right + 63) >> 6) * side - first_word * side);
    const auto word_at = [&](const Block& block, std::int64_t row) -> std::uint64_t* {
      return grid.words() + (block.y * side + row - box.top) * grid.stride() + block.x - first_word;
    };
    blocks([&](const Block& block) {
      for (std::int64_t row = 0; row < side; ++row)
        if (const std::uint64_t cells = block.rows[static_cast<std::size_t>(row)]; cells != 0)
          *word_at(block, row) = cells;
    });
    advance_grid(grid.span(), generations);

    // Converts the grid back to blocks, and compares them with the blocks before the step.
    std::int64_t words = 0;
    for (std::int64_t y = 0; y < grid.height(); ++y) {
      const std::uint64_t* const row = grid.words() + y * grid.stride();
      const std::int64_t at = box.top + y;
      for (std::int64_t word = 0; word < grid.stride(); ++word) {
        if (row[word] == 0) continue;
        ++words;
        collected.at(at >> 6, first_word + word, number).rows[static_cast<std::size_t>(at & 63)] |= row[word];
      }
    }
    bool is_same = true;
    blocks([&](const Block& block) {
      for (std::int64_t row = 0; row < side; ++row) {
        const std::uint64_t cells = block.rows[static_cast<std::size_t>(row)];
        if (cells == 0) continue;
        --words;
        is_same = is_same && *word_at(block, row) == cells;
      }
    });
    if (is_same && words == 0) resting[index] = static_cast<std::int32_t>(island.blocks.size());
  }
  blocks_ = collected.take();
  resting_ = std::move(resting);
  last_step_ = generations;
}

Islands::Rectangle Islands::rectangle() const {
  Rectangle all{blocks_.front().y, blocks_.front().y, blocks_.front().x, blocks_.front().x};
  for (const Block& block : blocks_)
    all = {std::min(all.top, block.y), std::max(all.bottom, block.y), std::min(all.left, block.x),
           std::max(all.right, block.x)};
  return all;
}

std::uint64_t Islands::Rectangle::bytes() const {
  constexpr std::uint64_t of_a_block = side * side / 8;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  const bool overflows = __builtin_mul_overflow(static_cast<std::uint64_t>(bottom - top + 1),
                                                static_cast<std::uint64_t>(right - left + 1), &blocks) ||
                         __builtin_mul_overflow(blocks, of_a_block, &bytes);
  return overflows ? ~std::uint64_t{0} : bytes;
}

bool Islands::is_sparse() const {
  constexpr std::uint64_t large = std::uint64_t{64} << 20;
  return !blocks_.empty() && rectangle().bytes() > std::max(large, 16 * blocks_.size() * sizeof(Block::rows));
}

std::vector<LifeBlock> Islands::small_blocks() const {
  std::vector<LifeBlock> small;
  for (const Block& block : blocks_)
    for (std::int64_t part = 0; part < 64; ++part) {
      const std::int64_t column = part % 8;
      std::uint64_t cells = 0;
      for (std::int64_t row = 0; row < 8; ++row)
        cells |= (block.rows[static_cast<std::size_t>(part / 8 * 8 + row)] >> (8 * column) & 0xff) << (8 * row);
      if (cells != 0) small.push_back({block.x * 8 + column, block.y * 8 + part / 8, cells});
    }
  return small;
}

LifeGrid Islands::grid(std::int64_t& left, std::int64_t& top,
                       const std::function<void(std::uint64_t bytes)>& check) const {
  if (blocks_.empty()) return {};
  const Rectangle all = rectangle();
  check(all.bytes());
  const std::int64_t words = all.right - all.left + 1;
  LifeGrid grid((all.bottom - all.top + 1) * side, words * side);
  for (const Block& block : blocks_) {
    std::uint64_t* to = grid.words() + (block.y - all.top) * side * words + block.x - all.left;
    for (std::size_t row = 0; row < side; ++row, to += words) *to = block.rows[row];
  }
  top = all.top * side;
  left = all.left * side;
  return grid;
}

}  // namespace gradus::life_detail
