#include "kmeans/line/relaxed_paths.hpp"

#include <algorithm>
#include <limits>

#include "core/stop.hpp"
#include "cpu/memory.hpp"
#include "kmeans/line/pairs.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr std::int32_t most_rows = 128;
constexpr double after_divisions = 16;  ///< errors that divide() adds up: two per level, and its ends

}  // namespace

RelaxedPaths::RelaxedPaths(const LineSums& sums, const std::stop_token& stop)
    : sums_(sums), stop_(stop), steps_(static_cast<std::int32_t>(sums.groups())), best_(std::int64_t{steps_} + 1),
      from_(static_cast<std::size_t>(steps_) + 1), row_weight_(most_rows + rows_together), row_sum_(row_weight_.size()),
      row_squares_(row_weight_.size()) {
  cpu::prefer_large_pages(best_.data(), static_cast<std::uint64_t>(best_.size()) * sizeof(double));
  best_[0] = 0;
}

void RelaxedPaths::search(double penalty, std::span<const std::int32_t> positions, std::span<const std::int32_t> from) {
  constexpr std::int32_t align = LineSums::spacing;  // the sums are known there
  penalty_ = penalty;
  tiles_.clear();
  std::size_t next = 1;  // in positions
  const auto limit = [&](std::size_t index) {
    return positions[std::min(static_cast<std::size_t>(from[index]) + 1, positions.size() - 1)];
  };
  for (std::int32_t before = 0; before < steps_; before = tiles_.back().last) {
    if (tiles_.size() % 0x40 == 0) core::honour_stop(stop_, "stopped while searching the borders");
    while (positions[next] <= before) ++next;
    Tile tile{before, before + 1, tiles_.empty() ? 0 : this->from(before), limit(next)};
    if (tile.most <= before) {
      tile.last = std::min(positions[next], before + most_rows);
      while (next + 1 < positions.size() && positions[next + 1] <= before + most_rows && limit(next + 1) <= before) {
        tile.last = positions[++next];
        tile.most = limit(next);
      }
      if (tile.last < steps_ && tile.last - before > align) tile.last -= tile.last % align;
    }
    tile.most = tile.last == steps_ ? before : std::clamp(tile.most, tile.least, before);
    tile.most = std::min(before, (tile.most + align - 1) / align * align);
    solve(tile);
    tiles_.push_back(tile);
    // A later row may prove that the rows before it had too few candidates.
    std::size_t first = tiles_.size() - 1;
    for (; first > 0; --first) {
      Tile& earlier = tiles_[first - 1];
      const std::int32_t wanted = std::min(earlier.before, this->from(tiles_[first].last));
      if (first + 1 == tiles_.size() && tile.before == earlier.last ? examine(earlier, tile, wanted)
                                                                    : earlier.examined >= wanted)
        break;
      earlier.most = wanted;
      solve(earlier);
    }
    for (; first + 1 < tiles_.size(); ++first) {
      Tile& later = tiles_[first + 1];
      if (later.before != tiles_[first].last) {  // some rows before it have to be searched again
        tiles_.resize(first + 1);
        break;
      }
      later.least = this->from(later.before);
      later.most = std::max(later.most, later.least);
      solve(later);
    }
  }
}

void RelaxedPaths::solve(Tile& tile) {
  // An origin among the groups of the tile may be heavy. Its offset is then 0.
  about_ = tile.least <= sums_.origin() && sums_.origin() < tile.last ? sums_.origin() : tile.before;
  fill_rows(tile);
  for (;;) {
    fill(tile);
    const Best last = best(tile, tile.last, tile.least, tile.most);
    const bool is_short = tile.most < tile.before;
    if (is_short && tile.most - last.from < 4) {
      tile.most = std::min(tile.before, tile.most + (tile.most - tile.least) + 16);
      continue;
    }
    set(tile.last, last);
    divide(tile, tile.before + 1, tile.last - 1, tile.least, last.from);
    if (tile.last - tile.before == 1 || !has_better_row(tile)) break;
    tile.last -= (tile.last - tile.before) / 2;
    tile.most = tile.before;
  }
  tile.examined = tile.most;
  tile.bounded = -1;
  tile.least_excess = best(tile, tile.last, tile.least, tile.least).value - best_[tile.last];
  tile.error = error_of(tile);
}

void RelaxedPaths::set(std::int32_t row, Best found) {
  best_[row] = std::max(found.value, 0.0);
  from_[static_cast<std::size_t>(row)] = found.from;
}

/// Bounds the errors of all rows by the errors of the longest step.
double RelaxedPaths::error_of(const Tile& tile) const {
  const std::int32_t from = this->from(tile.before + 1);
  const double squares = start_[static_cast<std::size_t>(from - tile.least)] - best_[from] +
                         row_squares_[static_cast<std::size_t>(tile.last - tile.before - 1)];
  const double slack = this->slack(tile, from);
  return 3 * tile.rounding() * squares + 2 * (slack > 0 ? std::max(slack, slack_) : 0) + 0x1p-49 * best_[tile.last];
}

/// Returns true if no candidate of the last row of `earlier` up to `wanted` is better than the known predecessor, by
/// the sums of the next tile.
bool RelaxedPaths::examine(Tile& earlier, const Tile& tile, std::int32_t wanted) const {
  const auto excess = [&](std::int32_t from) {
    const auto index = static_cast<std::size_t>(from - tile.least);
    return start_[index] - sum_[index] * (sum_[index] / weight_[index]) - best_[tile.before];
  };
  for (std::int32_t from = earlier.examined + 1; from <= wanted; ++from)
    if (excess(from) < 0) return false;
  earlier.examined = std::max(earlier.examined, wanted);
  earlier.bounded = wanted;
  earlier.excess_of_bounded = excess(wanted);
  return true;
}

/// Returns true if a row of the tile is a better predecessor of the last row than the candidates.
bool RelaxedPaths::has_better_row(const Tile& tile) const {
  const auto all = static_cast<std::size_t>(tile.last - tile.before - 1);
  for (std::size_t until = 0; until < all; ++until) {
    const double sum = row_sum_[all] - row_sum_[until];
    const double cost =
        (row_squares_[all] - row_squares_[until]) - sum * (sum / (row_weight_[all] - row_weight_[until]));
    if (best_[tile.before + 1 + static_cast<std::int64_t>(until)] + penalty_ + cost < best_[tile.last]) return true;
  }
  return false;
}

double RelaxedPaths::slack(const Tile& tile, std::int32_t from) const {
  if (tile.last - from == 1) return 0;
  return from == tile.least ? slack_of_least_ : slack_;
}

void RelaxedPaths::fill(const Tile& tile) {
  const auto many = static_cast<std::size_t>(tile.most - tile.least) + 1;
  for (std::vector<double>* const sums : {&weight_, &sum_, &start_}) sums->resize(many + rows_together);
  // The slack of the sums falls toward their origin, and rises behind it.
  slack_of_least_ = 2 * sums_.slack(tile.least, tile.last);
  slack_ = 2 * std::max(sums_.slack(std::min(tile.least + 1, tile.most), tile.last), sums_.slack(tile.most, tile.last));
  LineMoments sums = sums_.moments(tile.most, tile.before, about_);
  sums.weight += 0x1p-1000;  // prevents a division by 0
  for (std::size_t index = many; index-- > 0;) {
    const std::int32_t position = tile.least + static_cast<std::int32_t>(index);
    if (index + 1 < many) sums.add(sums_.weight(position), sums_.extent(about_, position));
    weight_[index] = sums.weight;
    sum_[index] = sums.sum;
    start_[index] = best_[position] + penalty_ + sums.squares * (1 - tile.rounding()) - slack(tile, position);
  }
}

void RelaxedPaths::fill_rows(const Tile& tile) {
  LineMoments sums;
  for (std::int32_t group = tile.before; group < tile.last; ++group) {
    sums.add(sums_.weight(group), sums_.extent(about_, group));
    const auto row = static_cast<std::size_t>(group - tile.before);
    row_weight_[row] = sums.weight;
    row_sum_[row] = sums.sum;
    row_squares_[row] = sums.squares;
  }
}

void RelaxedPaths::divide(const Tile& tile, std::int32_t first, std::int32_t last, std::int32_t least,
                          std::int32_t most) {
  if (first > last) return;
  if (last - first < rows_together && most - least < 3 * rows_together)
    return solve_rows(tile, first, last, least, most);
  const std::int32_t middle = first + (last - first) / 2;
  const Best found = best(tile, middle, least, most);
  set(middle, found);
  divide(tile, first, middle - 1, least, found.from);
  divide(tile, middle + 1, last, found.from, most);
}

Candidates RelaxedPaths::candidates(const Tile& tile, std::int32_t least, std::int32_t most) const {
  const std::int32_t skipped = least - tile.least;
  return {weight_.data() + skipped, sum_.data() + skipped, start_.data() + skipped, most - least + 1};
}

void RelaxedPaths::solve_rows(const Tile& tile, std::int32_t first, std::int32_t last, std::int32_t least,
                              std::int32_t most) {
  const std::int32_t row = first - tile.before - 1;
  RowBlock block{
      row_weight_.data() + row, row_sum_.data() + row, row_squares_.data() + row, 1 - tile.rounding(), {}, {}};
  find_best(candidates(tile, least, most), block);
  for (std::int32_t index = 0; index <= last - first; ++index)
    set(first + index, {least + static_cast<std::int32_t>(block.index[index]), block.value[index]});
}

RelaxedPaths::Best RelaxedPaths::best(const Tile& tile, std::int32_t row, std::int32_t least, std::int32_t most) const {
  const auto index = static_cast<std::size_t>(row - tile.before - 1);
  const BestCandidate found = find_best(candidates(tile, least, most), row_weight_[index], row_sum_[index],
                                        row_squares_[index] * (1 - tile.rounding()));
  return {least + static_cast<std::int32_t>(found.index), found.value};
}

std::vector<std::int32_t> RelaxedPaths::path() const {
  std::vector<std::int32_t> path{steps_};
  while (path.back() > 0) path.push_back(from(path.back()));
  return path;
}

RelaxedPaths::Excess RelaxedPaths::excess(std::int32_t from, std::int32_t to) const {
  const double of_from = best_[from];
  const double of_to = best_[to];
  const LineNode a = sums_.node(from);
  const LineNode b = sums_.node(to);
  const double cost = sums_.precise_cost(a, b).high;
  return {of_from - of_to + penalty_ + cost,
          0x1p-50 * (of_from + of_to + penalty_ + cost) +
              (to - from == 1 ? 0 : 0x1p-95 * (b.squares.high - a.squares.high) + sums_.slack(from, to))};
}

RelaxedPaths::Loss RelaxedPaths::loss(std::int64_t steps) const {
  struct TileLoss {
    double of_step;
    std::int32_t rows;
  };
  std::vector<TileLoss> losses;
  double below = 0;  // bounds -excess(i, last row of the tile before) for positions i before its predecessor
  double below_same = 0;
  double error = 0;
  for (std::size_t index = 0; index < tiles_.size(); ++index) {
    const Tile& tile = tiles_[index];
    if (index > 0 && tile.least != tiles_[index - 1].least) {  // otherwise an earlier tile has the same predecessor
      error = tiles_[index - 1].error;
      below = std::max(below_same, error) + error;
    }
    losses.push_back({below + after_divisions * tile.error, tile.last - tile.before});
    below_same = std::max(below + tile.error - tile.least_excess, 0.0);
  }
  double above = 0;  // bounds -excess(i, last row of the tile after) for positions i after its predecessor
  double above_same = 0;
  std::int32_t proven = steps_;  // the predecessor
  for (std::size_t index = tiles_.size(); index-- > 0;) {
    if (index % 0x400 == 0) core::honour_stop(stop_, "stopped while searching the borders");
    const Tile& tile = tiles_[index];
    if (index + 1 < tiles_.size() && proven != from(tiles_[index + 1].last)) {
      proven = from(tiles_[index + 1].last);
      above = std::max(above_same, tiles_[index + 1].error) + tiles_[index + 1].error;
    }
    above_same = 0;
    if (proven < tile.last - 1) {
      double least = tile.excess_of_bounded;
      if (tile.bounded != proven) {
        const Excess again = excess(proven, tile.last);
        least = again.value - again.error;
      }
      above_same = std::max(above - least, 0.0);
    }
    for (std::int32_t from = tile.examined + 1; from <= std::min(proven, tile.last - 1); ++from) {
      const Excess found = excess(from, tile.last);
      above_same = std::max(above_same, found.error - found.value);
    }
    losses[index].of_step = std::max(losses[index].of_step, above_same + after_divisions * tile.error);
  }
  std::ranges::make_heap(losses, {}, &TileLoss::of_step);
  const double of_step = losses.front().of_step;
  double sum = 0;
  for (auto end = losses.end(); steps > 0 && end != losses.begin(); steps -= end->rows) {
    std::ranges::pop_heap(losses.begin(), end--, {}, &TileLoss::of_step);
    sum += end->of_step * static_cast<double>(std::min<std::int64_t>(steps, end->rows));
  }
  return {of_step, sum * (1 + 0x1p-20)};
}

std::int32_t RelaxedPaths::last_from(double most) const {
  const Tile& tile = tiles_.back();
  std::int32_t last = steps_ - 1;
  while (last > tile.before && excess(last, steps_).value - excess(last, steps_).error > most) --last;
  if (last > tile.before) return last;
  while (best(tile, steps_, last, last).value - best_[steps_] - 2 * tile.error > most) --last;
  return last;
}

}  // namespace gradus::kmeans_detail
