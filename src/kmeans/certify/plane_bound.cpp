#include "kmeans/certify/plane_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/stop.hpp"
#include "kmeans/certify/rounding.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr std::int64_t most_plane_groups = 4096;
constexpr std::int32_t most_cells = 512;     ///< per side
constexpr std::int32_t cells_of_block = 8;   ///< squares of the search begin with this side
constexpr std::int32_t most_parts = 48;      ///< blocks per side
constexpr double potential_by_spread = 2.5;  ///< at first
constexpr double most_potential_by_spread = 64;
constexpr double widened = 1 + 0x1p-30;  ///< covers the rounding of a cell's borders

struct PlanePoint {
  double x = 0;
  double y = 0;
};

/// The points in a cell: their weight, their moments about the middle of the cell, and their potential.
struct PlaneEntry {
  PlanePoint middle;
  PlanePoint moment;
  double weight = 0;
  double squares = 0;
  double potential = 0;
  std::int32_t cell = 0;
};

/// Returns the place of a cell or block in a square with `side` of them per line.
std::size_t place_in(std::int32_t line, std::int32_t side, std::int32_t column) {
  return static_cast<std::size_t>(line) * static_cast<std::size_t>(side) + static_cast<std::size_t>(column);
}

/// The points in a block of cells, on which potentials are chosen.
struct PlaneBlock {
  PlanePoint mean;
  double weight = 0;
  double inner = 0;  ///< mean squared distance to the mean
  double potential = 0;
};

class PlaneBoundJob {
 public:
  PlaneBoundJob(const GroupedRows& rows, std::int64_t clusters, double budget, int threads, const std::stop_token& stop)
      : rows_(rows), clusters_(clusters), threads_(threads), stop_(stop),
        groups_(static_cast<std::size_t>(rows.groups())), error_(error_of_sum(rows.rows() + 64)), budget_(budget) {}

  double run() {
    measure_groups();
    if (!(side_ > 0 && spread_ > 0)) return 0;
    fill_cells();
    choose_potentials();
    double best = 0;
    double scale = 1;
    for (;;) {  // smaller cells give a better bound, and a search that takes up to 16 times as long
      double best_scale = scale;
      for (const double change : {1.0, 0.75, 1.33}) {
        if (best > 0 && spent_ + 2 * compared_ > budget_) continue;
        set_potentials(scale * change);
        const double bound = proven_bound(scale * change);
        if (bound > best) best_scale = scale * change;
        best = std::max(best, bound);
      }
      scale = best_scale;
      if (spent_ + 16 * compared_ > budget_ || cells_ * 2 > most_cells ||
          std::int64_t{cells_} * cells_ > 16 * rows_.rows())
        return best;
      cells_ *= 2;
      cells_of_part_ *= 2;
      side_ /= 2;
      fill_cells();
    }
  }

 private:
  void honour_stop() const { core::honour_stop(stop_, "stopped while certifying"); }

  PlanePoint point(std::int64_t row) const { return {rows_.row(row)[0], rows_.row(row)[1]}; }

  void measure_groups() {
    low_ = high_ = point(0);
    for (std::size_t group = 0; group < groups_; ++group) {
      PlanePoint sum;
      double weight = 0;
      for (std::int64_t row = rows_.first[group]; row < rows_.first[group + 1]; ++row) {
        const PlanePoint at = point(row);
        low_ = {std::min(low_.x, at.x), std::min(low_.y, at.y)};
        high_ = {std::max(high_.x, at.x), std::max(high_.y, at.y)};
        sum.x += rows_.weight(row) * at.x;
        sum.y += rows_.weight(row) * at.y;
        weight += rows_.weight(row);
      }
      const PlanePoint center{sum.x / weight, sum.y / weight};
      double spread = 0;
      for (std::int64_t row = rows_.first[group]; row < rows_.first[group + 1]; ++row)
        spread += rows_.weight(row) * squared(point(row), center);
      spreads_.push_back(spread / weight);
      weight_ += weight;
      spread_ += spread;
    }
    const double side = std::max(high_.x - low_.x, high_.y - low_.y);
    // Cells of an eighth of the clusters' radius, or larger ones if the budget is small: a search compares about
    // cells_^2 squares with the cells whose potentials reach them.
    const double reach = spread_ > 0 ? std::sqrt(potential_by_spread * spread_ / weight_) / side : 0;
    const double cells = reach > 0 ? 8 * std::sqrt(0.5 * potential_by_spread) / reach : 0;
    const double affordable = reach > 0 ? std::pow(budget_ / (16 * reach * reach), 0.25) : 0;
    cells_ = static_cast<std::int32_t>(std::clamp(std::min(std::max(cells, 64.0), affordable), 16.0, 256.0)) /
             cells_of_block * cells_of_block;
    side_ = side * widened / cells_;
  }

  static double squared(PlanePoint a, PlanePoint b) { return (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y); }

  std::int32_t cell_of(double value, double low) const {
    return std::clamp(static_cast<std::int32_t>((value - low) / side_), 0, cells_ - 1);
  }
  PlanePoint middle_of(std::int32_t column, std::int32_t line) const {
    return {low_.x + (column + 0.5) * side_, low_.y + (line + 0.5) * side_};
  }

  /// Adds the points to the cells. Entries are ordered by line, and in a line by column. The potentials that points
  /// have at first are in proportion to the spread of their groups.
  void fill_cells() {
    const auto all = static_cast<std::size_t>(cells_) * static_cast<std::size_t>(cells_);
    std::vector<PlaneEntry> cells(all);
    for (std::size_t group = 0; group < groups_; ++group) {
      honour_stop();
      for (std::int64_t row = rows_.first[group]; row < rows_.first[group + 1]; ++row) {
        const PlanePoint at = point(row);
        const std::int32_t column = cell_of(at.x, low_.x);
        const std::int32_t line = cell_of(at.y, low_.y);
        PlaneEntry& to = cells[place_in(line, cells_, column)];
        to.middle = middle_of(column, line);
        to.cell = line * cells_ + column;
        const double weight = rows_.weight(row);
        const PlanePoint from{at.x - to.middle.x, at.y - to.middle.y};
        to.weight += weight;
        to.moment.x += weight * from.x;
        to.moment.y += weight * from.y;
        to.squares += weight * (from.x * from.x + from.y * from.y);
        to.potential += weight * potential_by_spread * spreads_[group];
      }
    }
    starts_.assign(all + 1, 0);
    entries_.clear();
    for (std::size_t cell = 0; cell < all; ++cell) {
      if (cells[cell].weight > 0) {
        cells[cell].potential /= cells[cell].weight;
        entries_.push_back(cells[cell]);
      }
      starts_[cell + 1] = static_cast<std::int32_t>(entries_.size());
    }
  }

  /// Calls use(entry) for the entries whose cells may be nearer than `reach` to a square around `at`.
  template <class Use>
  void for_entries_near(PlanePoint at, double reach, const Use& use) const {
    const std::int32_t left = cell_of(at.x - reach - side_, low_.x);
    const std::int32_t right = cell_of(at.x + reach + side_, low_.x);
    const std::int32_t top = cell_of(at.y - reach - side_, low_.y);
    const std::int32_t bottom = cell_of(at.y + reach + side_, low_.y);
    for (std::int32_t line = top; line <= bottom; ++line) {
      const std::int32_t last = starts_[place_in(line, cells_, right) + 1];
      for (std::int32_t entry = starts_[place_in(line, cells_, left)]; entry < last; ++entry)
        use(entries_[static_cast<std::size_t>(entry)]);
    }
  }

  std::size_t block_of(const PlaneEntry& entry) const {
    return place_in(entry.cell / cells_ / cells_of_part_, parts_, entry.cell % cells_ / cells_of_part_);
  }

  /// Raises the bound by changing the potentials of blocks. A block whose points are served from the places where F is
  /// large loses potential, and others gain. Rounding errors of this search only make the bound smaller.
  void choose_potentials() {
    constexpr int most_steps = 120;
    constexpr int few_steps = 40;
    constexpr double first_step = 0.2;
    constexpr double last_step = 0.005;
    const double share = 0.25 * budget_;
    double of_step = 0;
    for (std::int32_t parts = most_parts;; parts /= 2) {
      cells_of_part_ = (cells_ + parts - 1) / parts;
      parts_ = (cells_ + cells_of_part_ - 1) / cells_of_part_;
      collect_blocks();
      const double before = spent_;
      best_estimate_ = estimate_bound();
      of_step = 2 * (spent_ - before);
      if (of_step * few_steps <= share || parts <= 6) break;
    }
    const int steps = static_cast<int>(std::clamp(share / of_step, 2.0, double{most_steps}));
    chosen_.clear();
    for (int step = 0; step < steps; ++step) {
      honour_stop();
      const double estimate = estimate_bound();
      if (estimate > best_estimate_ || chosen_.empty()) {
        best_estimate_ = estimate;
        chosen_.clear();
        for (const PlaneBlock& block : blocks_) chosen_.push_back(block.potential);
      }
      const double part = static_cast<double>(step) / (steps - 1);
      move_potentials(first_step * std::pow(last_step / first_step, part), 0.05 * std::pow(0.1, part));
    }
  }

  void set_potentials(double scale) {
    for (PlaneEntry& entry : entries_) entry.potential = scale * chosen_[block_of(entry)];
  }

  void collect_blocks() {
    blocks_.assign(static_cast<std::size_t>(parts_) * static_cast<std::size_t>(parts_), {});
    served_.assign(blocks_.size(), 0);
    for (const PlaneEntry& entry : entries_) {
      PlaneBlock& block = blocks_[block_of(entry)];
      block.weight += entry.weight;
      block.potential += entry.weight * entry.potential;
      block.mean.x += entry.weight * entry.middle.x + entry.moment.x;
      block.mean.y += entry.weight * entry.middle.y + entry.moment.y;
    }
    for (PlaneBlock& block : blocks_) {
      if (!(block.weight > 0)) continue;
      block.potential /= block.weight;
      block.mean = {block.mean.x / block.weight, block.mean.y / block.weight};
    }
    for (const PlaneEntry& entry : entries_) {
      PlaneBlock& block = blocks_[block_of(entry)];
      const PlanePoint mean{entry.middle.x + entry.moment.x / entry.weight,
                            entry.middle.y + entry.moment.y / entry.weight};
      block.inner += entry.weight * squared(mean, block.mean) / block.weight;
    }
  }

  /// Calls use(place, excess) for the blocks whose means can serve a block, with its potential less the cost.
  template <class Use>
  void for_places_of(const PlaneBlock& block, const Use& use) {
    const double reach = std::sqrt(block.potential);
    const double side = side_ * cells_of_part_;
    const auto part_of = [&](double value, double low) {
      return std::clamp(static_cast<std::int32_t>((value - low) / side), 0, parts_ - 1);
    };
    for (std::int32_t line = part_of(block.mean.y - reach, low_.y); line <= part_of(block.mean.y + reach, low_.y);
         ++line)
      for (std::int32_t column = part_of(block.mean.x - reach, low_.x); column <= part_of(block.mean.x + reach, low_.x);
           ++column) {
        const auto place = place_in(line, parts_, column);
        ++spent_;
        const double excess = block.potential - block.inner - squared(block.mean, blocks_[place].mean);
        if (blocks_[place].weight > 0 && excess > 0) use(place, excess);
      }
  }

  /// Returns about the bound of the potentials. Sets served_ to F at the means of the blocks.
  double estimate_bound() {
    std::fill(served_.begin(), served_.end(), 0);
    double sum = 0;
    for (const PlaneBlock& block : blocks_) {
      if (!(block.weight > 0)) continue;
      sum += block.weight * block.potential;
      for_places_of(block, [&](std::size_t place, double excess) { served_[place] += block.weight * excess; });
    }
    highest_ = *std::max_element(served_.begin(), served_.end());
    return sum - static_cast<double>(clusters_) * highest_;
  }

  /// Makes a step along the gradient of the bound, in which the maximum of F is a weighted mean of large values.
  void move_potentials(double step, double softness) {
    double total = 0;
    for (std::size_t place = 0; place < served_.size(); ++place) {
      if (!(blocks_[place].weight > 0)) continue;
      served_[place] =
          std::exp((served_[place] - highest_) / (softness * highest_ + std::numeric_limits<double>::min()));
      total += served_[place];
    }
    for (PlaneBlock& block : blocks_) {
      if (!(block.weight > 0)) continue;
      double share = 0;
      for_places_of(block, [&](std::size_t place, double /*excess*/) { share += served_[place]; });
      block.potential *= std::exp(step * std::max(1 - static_cast<double>(clusters_) * share / total, -1.0));
      block.potential = std::min(block.potential, most_potential_by_spread * spread_ / weight_);
    }
  }

  double reach_of_all() const {
    double most = 0;
    for (const PlaneEntry& entry : entries_) most = std::max(most, entry.potential);
    return std::sqrt(most);
  }

  /// Returns an upper bound for F in a square.
  double bound_in(PlanePoint at, double half, std::int64_t& compared) const {
    const double reach = (half + 0.5 * side_) * widened;
    double sum = 0;      // of the terms, at the middle of the square, that are positive in all of it
    double slope_x = 0;  // half the gradient of this sum
    double slope_y = 0;
    double weight = 0;
    double rest = 0;  // of the other terms
    double magnitude = 0;
    for_entries_near(at, reach_ + half, [&](const PlaneEntry& entry) {
      ++compared;
      const double potential = entry.potential;
      const double x = entry.middle.x - at.x;
      const double y = entry.middle.y - at.y;
      const double least_x = std::max(std::abs(x) - reach, 0.0);
      const double least_y = std::max(std::abs(y) - reach, 0.0);
      const double least = (least_x * least_x + least_y * least_y) * rounded_down;
      if (least >= potential) return;
      const double most_x = std::abs(x) + reach;
      const double most_y = std::abs(y) + reach;
      if ((most_x * most_x + most_y * most_y) * rounded_up > potential) {
        rest += entry.weight * (potential - least);
        return;
      }
      const double squares = x * x + y * y;
      sum += entry.weight * (potential - squares) - entry.squares - 2 * (x * entry.moment.x + y * entry.moment.y);
      magnitude += entry.weight * (potential + most_x * most_x + most_y * most_y);
      slope_x += entry.moment.x + entry.weight * x;
      slope_y += entry.moment.y + entry.weight * y;
      weight += entry.weight;
    });
    for (const double slope : {slope_x, slope_y}) {
      if (!(weight > 0)) break;
      const double step = std::clamp(slope / weight, -half, half);
      sum += 2 * step * slope - weight * step * step;
    }
    return (std::max(sum, 0.0) + rest) * rounded_up + 8 * error_ * (magnitude + rest);
  }

  /// Raises `highest` to an upper bound for F in the cells of a square, unless F is below `highest` there.
  void search(std::int32_t column, std::int32_t line, std::int32_t cells, double& highest,
              std::int64_t& compared) const {
    const double half = 0.5 * cells * side_ * widened;
    const PlanePoint at{low_.x + (column + 0.5 * cells) * side_, low_.y + (line + 0.5 * cells) * side_};
    const double bound = bound_in(at, half, compared);
    if (bound <= highest) return;
    if (cells == 1) {
      highest = bound;
      return;
    }
    const std::int32_t part = cells / 2;
    for (const std::int32_t down : {0, part})
      for (const std::int32_t right : {0, part}) search(column + right, line + down, part, highest, compared);
  }

  double proven_bound(double scale) {
    reach_ = reach_of_all() * rounded_up;
    const std::int32_t blocks = cells_ / cells_of_block;
    double sum = 0;
    for (const PlaneEntry& entry : entries_) sum += entry.weight * entry.potential;
    // A smaller maximum than the one of the estimate would hardly raise the bound.
    const double enough =
        std::min(scale, scale * scale) * std::max(sum / scale - best_estimate_, 0.0) / static_cast<double>(clusters_);
    double highest = enough;
    std::int64_t compared = 0;
#pragma omp parallel for num_threads(threads_) schedule(dynamic, 1) reduction(max : highest) reduction(+ : compared)
    for (std::int32_t block = 0; block < blocks * blocks; ++block) {
      if (stop_.stop_requested()) continue;
      double of_block = enough;
      search(block % blocks * cells_of_block, block / blocks * cells_of_block, cells_of_block, of_block, compared);
      highest = std::max(highest, of_block);
    }
    honour_stop();
    compared_ = static_cast<double>(compared);
    spent_ += compared_;
    const double slack = static_cast<double>(rows_.rows()) * 6 * underflow;
    return std::max(sum * (1 - error_) - static_cast<double>(clusters_) * highest * rounded_up - slack, 0.0);
  }

  const GroupedRows& rows_;
  std::int64_t clusters_;
  int threads_;
  const std::stop_token& stop_;
  std::size_t groups_;
  double error_;  ///< relative error of sums over all points
  PlanePoint low_;
  PlanePoint high_;
  std::vector<double> spreads_;  ///< per group: mean squared distance to the mean
  double weight_ = 0;
  double spread_ = 0;  ///< about the inertia of the groups
  std::int32_t cells_ = 0;
  double side_ = 0;  ///< of a cell
  std::vector<PlaneEntry> entries_;
  std::vector<std::int32_t> starts_;  ///< first entry of each cell
  std::int32_t cells_of_part_ = 1;    ///< side of a block, in cells
  std::int32_t parts_ = 0;            ///< blocks per side
  std::vector<PlaneBlock> blocks_;
  std::vector<double> served_;
  std::vector<double> chosen_;  ///< potentials, per block
  double budget_;               ///< pairs of cells that all searches may compare
  double spent_ = 0;
  double compared_ = 0;       ///< pairs that the latest search compared
  double highest_ = 0;        ///< largest element of served_
  double best_estimate_ = 0;  ///< of the bound
  double reach_ = 0;
};

}  // namespace

double plane_bound(const GroupedRows& rows, std::int64_t clusters, double budget, int threads,
                   const std::stop_token& stop) {
  if (rows.groups() == 0 || rows.groups() > most_plane_groups || rows.rows() <= clusters) return 0;
  return PlaneBoundJob(rows, clusters, budget, threads, stop).run();
}

std::uint64_t bytes_of_plane_bound() {
  constexpr std::uint64_t cells = static_cast<std::uint64_t>(most_cells) * most_cells;
  return cells * (3 * sizeof(PlaneEntry) + sizeof(std::int32_t)) + most_plane_groups * sizeof(double);
}

}  // namespace gradus::kmeans_detail
