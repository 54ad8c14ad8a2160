#include "life/bits/cells.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

#include "core/stop.hpp"
#include "cpu/threads.hpp"
#include "life/simd/steps.hpp"

namespace gradus::life_detail {

namespace {

constexpr std::string_view while_looking = "stopped while scanning cells";

/// Returns 64 cells of the row, beginning with column x. The column may be unaligned, and some of the cells may be
/// outside the row.
std::uint64_t cells_from(const LifeGridView& from, const std::uint64_t* row, std::int64_t x) {
  const std::int64_t words = from.row_words();
  const auto word_at = [&](std::int64_t word) -> std::uint64_t {
    if (word < 0 || word >= words) return 0;
    return word == words - 1 ? row[word] & last_word_mask(from.width) : row[word];
  };
  const std::int64_t word = x >= 0 ? x / 64 : -((63 - x) / 64);
  const auto shift = static_cast<int>(x - word * 64);
  if (shift == 0) return word_at(word);
  return word_at(word) >> shift | word_at(word + 1) << (64 - shift);
}

/// Mixes a word so that each of its bits affects all 64 bits of the result (the finalizer of SplitMix64).
constexpr std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ bits >> 27) * 0x94D049BB133111EB;
  return bits ^ bits >> 31;
}

}  // namespace

void copy_cells(const LifeGridView& from, std::int64_t down, std::int64_t across, const LifeGridSpan& to,
                const std::stop_token& stop) {
  const std::int64_t words = to.row_words();
  for (std::int64_t y = 0; y < to.height; ++y) {
    if (y % 64 == 0 && stop.stop_requested()) return;
    std::uint64_t* const row = to.row(y);
    if (y + down < 0 || y + down >= from.height) {
      std::fill_n(row, words, 0);
      continue;
    }
    const std::uint64_t* const source = from.row(y + down);
    // If the columns are shifted by whole words, copies the complete words of the source row without shifts and range
    // checks.
    std::int64_t word = 0;
    if (across % 64 == 0 && across >= 0) {
      const std::int64_t whole = std::clamp<std::int64_t>(from.width / 64 - across / 64, 0, words);
      std::copy_n(source + across / 64, whole, row);
      word = whole;
    }
    for (; word < words; ++word) row[word] = cells_from(from, source, word * 64 + across);
    if (words > 0) row[words - 1] &= last_word_mask(to.width);
  }
}

Box live_box(const LifeGridView& cells, const std::stop_token& stop) {
  const std::int64_t words = cells.row_words();
  Box box{cells.height, 0, cells.width, 0};
  std::int64_t first = words;  // range of words that have live cells
  std::int64_t last = -1;
  for (std::int64_t y = 0; y < cells.height; ++y) {
    if (y % 64 == 0) core::honour_stop(stop, while_looking);
    const std::uint64_t* const row = cells.row(y);
    std::int64_t begin = 0;
    while (begin < words && row[begin] == 0) ++begin;
    if (begin == words) continue;
    std::int64_t end = words - 1;
    while (row[end] == 0) --end;
    box.top = std::min(box.top, y);
    box.bottom = y + 1;
    first = std::min(first, begin);
    last = std::max(last, end);
  }
  if (last < 0) return {};
  std::uint64_t of_first = 0;
  std::uint64_t of_last = 0;
  for (std::int64_t y = box.top; y < box.bottom; ++y) {
    of_first |= cells.row(y)[first];
    of_last |= cells.row(y)[last];
  }
  box.left = first * 64 + std::countr_zero(of_first);
  box.right = last * 64 + 64 - std::countl_zero(of_last);
  return box;
}

std::uint64_t population(const LifeGridView& cells, int threads, const std::stop_token& stop) {
  std::uint64_t count = 0;
  const std::int64_t words = cells.row_words();
  // Contiguous rows are hashed as a single row.
  const std::int64_t rows =
      words == cells.stride ? std::max<std::int64_t>((1 << 14) / std::max<std::int64_t>(words, 1), 1) : 1;
  const int team = cpu::threads_for(cells.height * words / 4, threads);
#pragma omp parallel for num_threads(team) if (team > 1) schedule(static) reduction(+ : count)
  for (std::int64_t y = 0; y < cells.height; y += rows)
    if (!stop.stop_requested()) count += count_ones(cells.row(y), std::min(rows, cells.height - y) * words);
  core::honour_stop(stop, while_looking);
  return count;
}

std::uint64_t hash_of(const LifeGridView& cells, std::int64_t left, std::int64_t top, const std::stop_token& stop) {
  std::uint64_t hash = 0;
  const auto skip = static_cast<std::int64_t>(static_cast<std::uint64_t>(left) % 64);
  const std::uint64_t column = static_cast<std::uint64_t>(left) - static_cast<std::uint64_t>(skip);
  const std::int64_t words = (cells.width + skip + 63) / 64;
  for (std::int64_t y = 0; y < cells.height; ++y) {
    if (y % 64 == 0) core::honour_stop(stop, while_looking);
    const std::uint64_t* const row = cells.row(y);
    const std::uint64_t of_row = mixed(static_cast<std::uint64_t>(top + y) + 0x9E3779B97F4A7C15);
    for (std::int64_t word = 0; word < words; ++word) {
      const std::uint64_t bits = skip == 0 ? row[word] : cells_from(cells, row, word * 64 - skip);
      if (bits == 0) continue;
      hash += mixed(bits ^ mixed(of_row + column + static_cast<std::uint64_t>(word) * 64));
    }
  }
  return hash;
}

bool same_cells(const LifeGridView& one, const LifeGridView& other) {
  for (std::int64_t y = 0; y < one.height; ++y)
    if (!std::equal(one.row(y), one.row(y) + one.row_words(), other.row(y))) return false;
  return true;
}

}  // namespace gradus::life_detail
