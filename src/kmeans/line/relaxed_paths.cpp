#include "kmeans/line/relaxed_paths.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "core/stop.hpp"
#include "kmeans/line/pairs.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr std::int32_t most_rows = 64;
constexpr double after_divisions = 16;  ///< errors that divide() adds up: two per level, and its ends

}  // namespace

RelaxedPaths::RelaxedPaths(const LineSums& sums, const std::stop_token& stop)
    : sums_(sums), stop_(stop), steps_(static_cast<std::int32_t>(sums.groups())),
      best_(static_cast<std::size_t>(steps_) + 1), from_(best_.size()), rows_(most_rows) {}

void RelaxedPaths::search(double penalty, std::span<const std::int32_t> positions, std::span<const std::int32_t> from) {
  penalty_ = penalty;
  tiles_.clear();
  std::size_t next = 1;  // in positions
  const auto limit = [&](std::size_t index) {
    return positions[std::min(static_cast<std::size_t>(from[index]) + 2, positions.size() - 1)];
  };
  for (std::int32_t before = 0; before < steps_; before = tiles_.back().last) {
    if (tiles_.size() % 0x40 == 0) core::honour_stop(stop_, "stopped while searching the borders");
    while (positions[next] <= before) ++next;
    Tile tile{before, before + 1, tiles_.empty() ? 0 : this->from(before), limit(next), 0, 0};
    if (tile.most <= before) {
      tile.last = std::min(positions[next], before + most_rows);
      while (next + 1 < positions.size() && positions[next + 1] <= before + most_rows && limit(next + 1) <= before) {
        tile.last = positions[++next];
        tile.most = limit(next);
      }
    }
    tile.most = tile.last == steps_ ? before : std::clamp(tile.most, tile.least, before);
    solve(tile);
    tiles_.push_back(tile);
    // A later row may prove that the rows before it had too few candidates.
    std::size_t first = tiles_.size() - 1;
    for (; first > 0; --first) {
      Tile& earlier = tiles_[first - 1];
      const std::int32_t wanted = std::min(earlier.before, this->from(tiles_[first].last));
      if (earlier.most >= wanted) break;
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
      solve(later);
    }
  }
}

void RelaxedPaths::solve(Tile& tile) {
  fill_rows(tile);
  for (;;) {
    fill(tile);
    const Best last = best(tile, tile.last, tile.least, tile.most);
    const bool is_short = tile.most < tile.before;
    if (is_short && tile.most - last.from < 4) {
      tile.most = std::min(tile.before, tile.most + (tile.most - tile.least) + 16);
      continue;
    }
    tile.error = 0;
    set(tile, tile.last, last);
    divide(tile, tile.before + 1, tile.last - 1, tile.least, last.from);
    if (tile.last - tile.before == 1 || !has_better_row(tile)) break;
    tile.last -= (tile.last - tile.before) / 2;
    tile.most = tile.before;
  }
  tile.least_excess = best(tile, tile.last, tile.least, tile.least).value - best_[static_cast<std::size_t>(tile.last)];
  tile.error += 0x1p-49 * best_[static_cast<std::size_t>(tile.last)];
}

void RelaxedPaths::set(Tile& tile, std::int32_t row, Best found) {
  best_[static_cast<std::size_t>(row)] = found.value;
  from_[static_cast<std::size_t>(row)] = found.from;
  const double squares = start_[static_cast<std::size_t>(found.from - tile.least)] -
                         best_[static_cast<std::size_t>(found.from)] +
                         rows_[static_cast<std::size_t>(row - tile.before - 1)].squares;
  tile.error = std::max(tile.error, 3 * tile.rounding() * squares + 2 * slack(tile, found.from));
}

/// Returns true if a row of the tile is a better predecessor of the last row than the candidates.
bool RelaxedPaths::has_better_row(const Tile& tile) const {
  const LineMoments& all = rows_[static_cast<std::size_t>(tile.last - tile.before - 1)];
  for (std::int32_t row = tile.before + 1; row < tile.last; ++row) {
    const LineMoments& until = rows_[static_cast<std::size_t>(row - tile.before - 1)];
    const double sum = all.sum - until.sum;
    const double cost = (all.squares - until.squares) - sum * (sum / (all.weight - until.weight));
    if (best_[static_cast<std::size_t>(row)] + penalty_ + cost < best_[static_cast<std::size_t>(tile.last)])
      return true;
  }
  return false;
}

double RelaxedPaths::slack(const Tile& tile, std::int32_t from) const {
  if (tile.last - from == 1) return 0;  // a group has no cost
  return from == tile.least ? slack_of_least_ : slack_;
}

void RelaxedPaths::fill(const Tile& tile) {
  const auto many = static_cast<std::size_t>(tile.most - tile.least) + 1;
  weight_.resize(many);
  sum_.resize(many);
  start_.resize(many);
  // The slack of the sums falls toward their origin, and rises behind it.
  slack_of_least_ = 2 * sums_.slack(tile.least, tile.last);
  slack_ = 2 * std::max(sums_.slack(std::min(tile.least + 1, tile.most), tile.last), sums_.slack(tile.most, tile.last));
  LineMoments sums = sums_.moments(tile.most, tile.before);
  for (std::size_t index = many; index-- > 0;) {
    const std::int32_t position = tile.least + static_cast<std::int32_t>(index);
    if (index + 1 < many) sums.add(sums_.weight(position, position + 1), sums_.extent(tile.before, position));
    weight_[index] = sums.weight;
    sum_[index] = sums.sum;
    start_[index] = best_[static_cast<std::size_t>(position)] + penalty_ + sums.squares * (1 - tile.rounding()) -
                    slack(tile, position);
  }
}

void RelaxedPaths::fill_rows(const Tile& tile) {
  LineMoments sums;
  for (std::int32_t group = tile.before; group < tile.last; ++group) {
    sums.add(sums_.weight(group, group + 1), sums_.extent(tile.before, group));
    rows_[static_cast<std::size_t>(group - tile.before)] = sums;
  }
}

void RelaxedPaths::divide(Tile& tile, std::int32_t first, std::int32_t last, std::int32_t least, std::int32_t most) {
  if (first > last) return;
  const std::int32_t middle = first + (last - first) / 2;
  const Best found = best(tile, middle, least, most);
  set(tile, middle, found);
  divide(tile, first, middle - 1, least, found.from);
  divide(tile, middle + 1, last, found.from, most);
}

RelaxedPaths::Best RelaxedPaths::best(const Tile& tile, std::int32_t row, std::int32_t least, std::int32_t most) const {
  const LineMoments& to = rows_[static_cast<std::size_t>(row - tile.before - 1)];
  const double squares = to.squares * (1 - tile.rounding());
  const double* const weight = weight_.data() - tile.least;
  const double* const sum = sum_.data() - tile.least;
  const double* const start = start_.data() - tile.least;
  const auto value = [&](std::int32_t from) {
    const double both = sum[from] + to.sum;
    return (start[from] + squares) - both * (both / (weight[from] + to.weight));
  };
  Best best{least, value(least)};
  std::array<double, 32> values;
  for (std::int32_t from = least + 1; from <= most;) {
    const std::int32_t many = std::min(static_cast<std::int32_t>(values.size()), most - from + 1);
    for (std::int32_t index = 0; index < many; ++index) values[static_cast<std::size_t>(index)] = value(from + index);
    for (std::int32_t index = 0; index < many; ++index, ++from)
      if (values[static_cast<std::size_t>(index)] < best.value) best = {from, values[static_cast<std::size_t>(index)]};
  }
  return best;
}

std::vector<std::int32_t> RelaxedPaths::path() const {
  std::vector<std::int32_t> path{steps_};
  while (path.back() > 0) path.push_back(from(path.back()));
  return path;
}

RelaxedPaths::Excess RelaxedPaths::excess(std::int32_t from, std::int32_t to) const {
  const double of_from = best_[static_cast<std::size_t>(from)];
  const double of_to = best_[static_cast<std::size_t>(to)];
  const double cost = sums_.precise_cost(from, to).high;
  return {of_from - of_to + penalty_ + cost,
          0x1p-50 * (of_from + of_to + penalty_ + cost) +
              (to - from == 1 ? 0 : 0x1p-95 * sums_.squares(from, to) + sums_.slack(from, to))};
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
      const Excess again = excess(proven, tile.last);
      above_same = std::max(above + again.error - again.value, 0.0);
    }
    for (std::int32_t from = tile.most + 1; from <= std::min(proven, tile.last - 1); ++from) {
      const Excess found = excess(from, tile.last);
      above_same = std::max(above_same, found.error - found.value);
    }
    losses[index].of_step = std::max(losses[index].of_step, above_same + after_divisions * tile.error);
  }
  std::ranges::sort(losses, std::ranges::greater{}, &TileLoss::of_step);
  double sum = 0;
  for (const TileLoss& loss : losses) {
    if (steps <= 0) break;
    sum += loss.of_step * static_cast<double>(std::min<std::int64_t>(steps, loss.rows));
    steps -= loss.rows;
  }
  return {losses.front().of_step, sum * (1 + 0x1p-20)};
}

std::int32_t RelaxedPaths::last_from(double most) const {
  const Tile& tile = tiles_.back();
  std::int32_t last = steps_ - 1;
  while (last > tile.before && excess(last, steps_).value - excess(last, steps_).error > most) --last;
  if (last > tile.before) return last;
  while (best(tile, steps_, last, last).value - best_.back() - 2 * tile.error > most) --last;
  return last;
}

}  // namespace gradus::kmeans_detail
