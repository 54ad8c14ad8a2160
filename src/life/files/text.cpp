#include "life/files/text.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "files/file_fields.hpp"
#include "files/number.hpp"
#include "gradus/error.hpp"

namespace gradus::files {

// ---- Lines ----

std::size_t LifeReader::take(std::string_view text, bool last) {
  std::size_t taken = 0;
  if (line_end_ == '\0') {
    const std::string_view rest = text.substr(std::min(text.find_first_of("\r\n"), text.size()));
    if (rest.size() < 2 && !last) return 0;
    line_end_ = rest.size() > 1 && rest[0] == '\r' && rest[1] != '\n' ? '\r' : '\n';
  }
  while (taken < text.size()) {
    if (line_ % 1024 == 0) core::honour_stop(options_.stop, "stopped while reading " + name_);
    const std::size_t end = text.find(line_end_, taken);
    if (end == std::string_view::npos && !last) break;
    std::string_view line = text.substr(taken, std::min(end, text.size()) - taken);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++line_;
    line_is_open_ = end == std::string_view::npos;
    take_line(line);
    taken = end == std::string_view::npos ? text.size() : end + 1;
  }
  return taken;
}

std::string LifeReader::where(std::size_t column) const {
  return name_ + ":" + std::to_string(line_) + ":" + (column == 0 ? "" : std::to_string(column) + ":") + " ";
}

void LifeReader::fail_at(std::size_t column, const std::string& what) const {
  throw InputError(where(column) + what, fields_of_file(name_, line_, column));
}

std::int64_t LifeReader::whole(std::string_view text, std::size_t column, std::string_view what, std::int64_t least,
                               std::int64_t most) const {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error == std::errc::invalid_argument || end != text.data() + text.size())
    fail_at(column, std::string(what) + ": " + core::excerpt(text) + " is not an integer");
  if (error != std::errc() || value < least || value > most)
    fail_at(column, std::string(what) + ": " + core::excerpt(text) + " is out of range, which is " +
                        std::to_string(least) + " to " + std::to_string(most));
  return value;
}

std::pair<std::int64_t, std::int64_t> LifeReader::place_in(std::string_view line, std::string_view text,
                                                           std::int64_t farthest) const {
  const auto column_of = [line](std::string_view part) {
    return static_cast<std::size_t>(part.data() - line.data()) + 1;
  };
  // Most lines are two short numbers that one blank separates.
  const auto short_number = [end = text.data() + text.size()](const char* at, std::int64_t& value) {
    const bool negative = at != end && *at == '-';
    std::uint64_t magnitude = 0;
    const char* const first = at + (negative ? 1 : 0);
    const char* const stop = digits_at(first, end, magnitude);
    constexpr std::ptrdiff_t safe_digits = 17;
    if (stop == first || stop - first > safe_digits) return static_cast<const char*>(nullptr);
    value = negative ? -static_cast<std::int64_t>(magnitude) : static_cast<std::int64_t>(magnitude);
    return stop;
  };
  std::int64_t x = 0;
  std::int64_t y = 0;
  const char* at = short_number(text.data(), x);
  if (at != nullptr && at != text.data() + text.size() && is_blank(*at)) at = short_number(at + 1, y);
  else at = nullptr;
  if (at == text.data() + text.size() && std::max(std::abs(x), std::abs(y)) < farthest) return {x, y};
  const std::size_t blank = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view second = trimmed(text.substr(blank));
  if (second.empty()) fail_at(column_of(text) + blank, "the line ends where y is expected");
  return {whole(text.substr(0, blank), column_of(text), "x", -farthest, farthest - 1),
          whole(second, column_of(second), "y", -farthest, farthest - 1)};
}

void LifeReader::take_generation(std::string_view text, std::size_t column) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pattern_.generation);
  if (error == std::errc() && end == text.data() + text.size()) return;
  fail_at(column, "the generation: " + core::excerpt(text) + " is not an integer from 0 to 2^64 - 1");
}

void LifeReader::fail_memory(std::size_t column) const {
  throw Error(where(column) + "the live cells up to here take more than " + core::size_text(options_.memory_limit),
              fields_of_file(name_, line_, column));
}

void LifeReader::take_rule(std::string_view text, std::size_t column) {
  std::size_t place = 0;
  try {
    const LifeWorld world = parse_life_world(text, &place);
    pattern_.rule = world.rule;
    if (!world.boundary) return;
    pattern_.boundary = world.boundary;
    pattern_.width = world.width;
    pattern_.height = world.height;
  } catch (const UsageError& error) {
    fail_at(column + place, error.what());
  }
}

bool is_runs(std::string_view line) {
  const std::size_t end = std::min(line.find('!'), line.size());
  const std::string_view runs = line.substr(0, end);
  if (runs.find_first_not_of(run_letters) != std::string_view::npos) return false;
  return runs.find_first_of("boA$") != std::string_view::npos || (end < line.size() && !trimmed(runs).empty());
}

// ---- Rules ----

LifeWorld parse_life_world(std::string_view text, std::size_t* place) {
  const std::size_t colon = text.find(':');
  LifeWorld world{.rule = life_rule(text.substr(0, colon))};
  if (colon == std::string_view::npos) return world;
  const auto stand_at = [&](std::size_t offset) {
    if (place) *place = offset;
  };
  stand_at(colon + 1);
  const std::string_view topology = text.substr(colon + 1);
  const auto refuse = [&](const std::string& why) {
    throw UsageError("topology " + core::excerpt(topology) + ": " + why +
                     "; :T64,48 is a torus, :P64,48 has dead cells around it");
  };
  const char kind = topology.empty() ? '\0' : static_cast<char>(topology.front() & ~0x20);  // upper case
  if (kind == 'T') world.boundary = LifeBoundary::torus;
  else if (kind == 'P') world.boundary = LifeBoundary::dead;
  else if (kind == 'K') refuse("a Klein bottle is not supported");
  else if (kind == 'C') refuse("a cross-surface is not supported");
  else if (kind == 'S') refuse("a sphere is not supported");
  else refuse("it is not known");
  const std::string_view sizes = topology.substr(1);
  if (sizes.find_first_of("+-*") != std::string_view::npos) refuse("a shifted or twisted border is not supported");
  const std::size_t comma = sizes.find(',');
  const auto side = [&](std::string_view part, std::size_t offset) {
    constexpr std::int64_t longest = std::int64_t{1} << 48;
    const std::string_view digits = trimmed(part);
    std::int64_t length = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
    if (error == std::errc() && end == digits.data() + digits.size() && length == 0)
      refuse("a world without bounds in one direction is not supported");
    if (error == std::errc() && end == digits.data() + digits.size() && length <= longest) return length;
    stand_at(colon + 2 + offset);
    throw UsageError("the size of the topology: " + core::excerpt(digits) + " is not an integer from 1 to 2^48");
  };
  world.width = side(sizes.substr(0, comma), 0);
  world.height = comma == std::string_view::npos ? world.width : side(sizes.substr(comma + 1), comma + 1);
  return world;
}

// ---- Cells ----

namespace {

/// A grid of at most this size is allocated before any of its cells is known.
constexpr std::uint64_t small_grid_bytes = std::uint64_t{16} << 20;

/// Returns the size of a grid in bytes, or the largest number if the size overflows.
std::uint64_t grid_bytes(std::int64_t width, std::int64_t height) {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::uint64_t>(width / 64 + 1) * 8, static_cast<std::uint64_t>(height),
                             &bytes))
    return ~std::uint64_t{0};
  return bytes;
}

std::size_t hash_of(std::int64_t x, std::int64_t y) {
  const std::uint64_t mixed =
      (static_cast<std::uint64_t>(x) * 0x9e3779b97f4a7c15) ^ (static_cast<std::uint64_t>(y) * 0xd1342543de82ef95);
  return static_cast<std::size_t>((mixed ^ mixed >> 32) * 0xa0761d6478bd642f >> 20);
}

}  // namespace

void LifeCells::promise(std::int64_t width, std::int64_t height, std::uint64_t text_bytes) {
  promised_ = true;
  width_ = width;
  height_ = height;
  // The cells of a text of at least half the size of the grid are usually in most blocks of the grid.
  const std::uint64_t enough = std::max(small_grid_bytes, 2 * std::min(text_bytes, memory_limit_));
  if (grid_bytes(width, height) <= std::min(enough, memory_limit_)) become_grid();
}

void LifeCells::become_grid() {
  grid_ = LifeGrid(height_, width_);
  is_grid_ = true;
  for (const life_detail::LifeBlock& block : slots_)
    for (std::int64_t row = 0; row < 8; ++row) {
      const std::uint64_t bits = block.cells >> (8 * row) & 0xff;
      // Blocks are aligned to 8 columns, so no block spans two words.
      if (bits != 0) grid_.words()[(block.y * 8 + row) * grid_.stride() + block.x / 8] |= bits << (block.x % 8 * 8);
    }
  slots_ = {};
}

namespace {

constexpr std::size_t fewest_slots = 1024;

/// Returns the size of the hash table after this many blocks were added.
std::size_t slots_for(std::size_t blocks) { return std::bit_ceil(std::max(fewest_slots, 2 * blocks)); }

}  // namespace

bool LifeCells::has_room_for(std::size_t blocks) const {
  // A table is twice as large if a cell follows in one of its blocks.
  return 2 * slots_for(taken_ + blocks) * sizeof(life_detail::LifeBlock) <= memory_limit_;
}

bool LifeCells::prefers_grid(std::int64_t width, std::int64_t height, std::size_t blocks) const {
  const std::uint64_t enough = 4 * std::uint64_t{slots_for(blocks)} * sizeof(life_detail::LifeBlock);
  return grid_bytes(width, height) <= std::min(std::max(small_grid_bytes, enough), memory_limit_);
}

life_detail::LifeBlock& LifeCells::block_at(std::int64_t x, std::int64_t y) {
  std::size_t slot = hash_of(x, y) & (slots_.size() - 1);
  while (slots_[slot].cells != 0 && (slots_[slot].x != x || slots_[slot].y != y))
    slot = (slot + 1) & (slots_.size() - 1);
  if (slots_[slot].cells == 0) {
    ++taken_;
    slots_[slot].x = x;
    slots_[slot].y = y;
  }
  return slots_[slot];
}

/// Makes room for more blocks. If a grid needs at most as much memory as the blocks would, stores the cells in a grid
/// from now on. Returns false if the memory limit allows neither.
bool LifeCells::grow() {
  const std::size_t larger = std::max(2 * slots_.size(), fewest_slots);
  const std::uint64_t bytes = std::uint64_t{larger} * sizeof(life_detail::LifeBlock);
  if (promised_ && grid_bytes(width_, height_) <= std::min(2 * bytes, memory_limit_)) {
    become_grid();
    return true;
  }
  if (bytes > memory_limit_) return false;
  std::vector<life_detail::LifeBlock> old(larger);
  old.swap(slots_);
  taken_ = 0;
  for (const life_detail::LifeBlock& block : old)
    if (block.cells != 0) block_at(block.x, block.y).cells = block.cells;
  return true;
}

bool LifeCells::add_to_blocks(std::int64_t x, std::int64_t y, std::int64_t count) {
  if (static_cast<std::uint64_t>(count / 8) > memory_limit_ / (2 * sizeof(life_detail::LifeBlock)) &&
      !(promised_ && grid_bytes(width_, height_) <= memory_limit_))
    return false;
  const std::int64_t end = x + count;
  while (x < end && !is_grid_) {
    if (taken_ >= slots_.size() / 2) {
      if (!grow()) return false;
      continue;
    }
    // Uses a shift instead of a division, because coordinates may be negative, and the quotient must be rounded down.
    const std::int64_t next = std::min(end, ((x >> 3) + 1) * 8);
    const std::uint64_t bits = ((std::uint64_t{1} << (next - x)) - 1) << (x & 7);
    block_at(x >> 3, y >> 3).cells |= bits << (8 * (y & 7));
    x = next;
  }
  if (x < end) set_run(grid_.words() + y * grid_.stride(), x, end - x);
  return true;
}

std::optional<life_detail::LifeBox> LifeCells::box() const {
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::int64_t left = none;
  std::int64_t top = none;
  std::int64_t right = -none;
  std::int64_t bottom = -none;
  for (const life_detail::LifeBlock& block : slots_) {
    if (block.cells == 0) continue;
    std::uint64_t columns = block.cells | block.cells >> 32;
    columns |= columns >> 16;
    columns = (columns | columns >> 8) & 0xff;
    left = std::min(left, block.x * 8 + std::countr_zero(columns));
    right = std::max(right, block.x * 8 + static_cast<int>(std::bit_width(columns)));
    top = std::min(top, block.y * 8 + std::countr_zero(block.cells) / 8);
    bottom = std::max(bottom, block.y * 8 + (static_cast<int>(std::bit_width(block.cells)) + 7) / 8);
  }
  if (left == none) return life_detail::LifeBox{};
  life_detail::LifeBox box{left, top, 0, 0};
  if (__builtin_sub_overflow(right, left, &box.width) || __builtin_sub_overflow(bottom, top, &box.height))
    return std::nullopt;
  return box;
}

/// Moves all blocks. A moved block overlaps up to four aligned blocks.
void LifeCells::move_to(std::int64_t left, std::int64_t top) {
  std::vector<life_detail::LifeBlock> moved;
  for (const life_detail::LifeBlock& block : slots_) {
    if (block.cells == 0) continue;
    const std::int64_t x = block.x * 8 + left;
    const std::int64_t y = block.y * 8 + top;
    const int across = static_cast<int>(x & 7);
    const int down = static_cast<int>(y & 7);
    const std::uint64_t western =
        // The mask of the cells that stay in the western one of two blocks.
        std::uint64_t{0x0101010101010101} * ((1U << (8 - across)) - 1);
    const std::uint64_t west = (block.cells & western) << across;
    const std::uint64_t east = across == 0 ? 0 : (block.cells & ~western) >> (8 - across);
    const auto put = [&](std::uint64_t cells, std::int64_t at_x, std::int64_t at_y) {
      if (cells != 0) moved.push_back({at_x, at_y, cells});
    };
    put(west << (8 * down), x >> 3, y >> 3);
    put(east << (8 * down), (x >> 3) + 1, y >> 3);
    if (down == 0) continue;
    put(west >> (64 - 8 * down), x >> 3, (y >> 3) + 1);
    put(east >> (64 - 8 * down), (x >> 3) + 1, (y >> 3) + 1);
  }
  slots_ = std::move(moved);
}

void LifeCells::finish(LifePattern& pattern, const std::stop_token& stop) {
  if (!is_grid_) {
    const std::optional<life_detail::LifeBox> live = promised_ ? life_detail::LifeBox{0, 0, width_, height_} : box();
    if (!live || !prefers_grid(live->width, live->height, taken_)) {
      pattern.tree = life_detail::life_tree(std::move(slots_), stop);
      return;
    }
    // Moves the corner of the bounding box to the first cell of the grid.
    if ((live->left | live->top) != 0) move_to(-live->left, -live->top);
    pattern.left += live->left;
    pattern.top += live->top;
    width_ = live->width;
    height_ = live->height;
    become_grid();
  }
  pattern.cells = std::move(grid_);
}

}  // namespace gradus::files
