#include "kmeans/certify/plane_bound.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/stop.hpp"
#include "kmeans/certify/rounding.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr std::int64_t most_plane_groups = 4096;
constexpr std::int32_t most_cells = 512;    ///< per side
constexpr std::int32_t cells_of_block = 8;  ///< squares of the search begin with this side
constexpr double widened = 1 + 0x1p-30;     ///< covers the rounding of a cell's borders

struct PlanePoint {
  double x = 0;
  double y = 0;
};

/// The points of a group in a cell: their weight and their moments about the middle of the cell.
struct PlaneEntry {
  PlanePoint middle;
  PlanePoint moment;
  double weight = 0;
  double squares = 0;
  std::int32_t group = 0;
  std::int32_t cell = 0;
};

class PlaneBoundJob {
 public:
  PlaneBoundJob(const GroupedRows& rows, std::int64_t clusters, int threads, const std::stop_token& stop)
      : rows_(rows), clusters_(clusters), threads_(threads), stop_(stop),
        groups_(static_cast<std::size_t>(rows.groups())), error_(error_of_sum(rows.rows() + 64)) {}

  double run() {
    measure_groups();
    if (!(side_ > 0)) return 0;
    fill_cells();
    double best = 0;
    for (const double level : {0.5, 1.0, 2.0, 4.0, 8.0}) {
      const double estimate = choose_potentials(level * spread_ / static_cast<double>(clusters_));
      if (!(estimate > best)) continue;
      best = estimate;
      chosen_ = potentials_;
    }
    if (chosen_.empty()) return 0;
    potentials_ = chosen_;
    return proven_bound();
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
      centers_.push_back(center);
      weights_.push_back(weight);
      weight_ += weight;
      for (std::int64_t row = rows_.first[group]; row < rows_.first[group + 1]; ++row)
        spread_ += rows_.weight(row) * squared(point(row), center);
    }
    const double side = std::max(high_.x - low_.x, high_.y - low_.y);
    const double reach = side > 0 ? std::min(4 * std::sqrt(spread_ / weight_) / side, 1.0) : 1;
    // The search compares about cells^4 reach^2 pairs of cells.
    const double pairs =
        std::clamp(64 * static_cast<double>(rows_.rows()) * static_cast<double>(clusters_), 0x1p20, 0x1p28);
    const double cells = std::sqrt(std::sqrt(pairs / (reach * reach)));
    cells_ = static_cast<std::int32_t>(std::clamp(cells, 32.0, static_cast<double>(most_cells))) / cells_of_block *
             cells_of_block;
    side_ = side * widened / cells_;
  }

  static double squared(PlanePoint a, PlanePoint b) { return (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y); }

  std::int32_t cell_of(double value, double low) const {
    return std::clamp(static_cast<std::int32_t>((value - low) / side_), 0, cells_ - 1);
  }
  PlanePoint middle_of(std::int32_t column, std::int32_t line) const {
    return {low_.x + (column + 0.5) * side_, low_.y + (line + 0.5) * side_};
  }

  /// Adds the points to the cells. Entries are ordered by cell, and cells by line.
  void fill_cells() {
    const auto all = static_cast<std::size_t>(cells_) * static_cast<std::size_t>(cells_);
    std::vector<std::int32_t> latest(all, -1);
    std::vector<PlaneEntry> found;
    for (std::size_t group = 0; group < groups_; ++group) {
      honour_stop();
      const auto first = static_cast<std::int32_t>(found.size());
      for (std::int64_t row = rows_.first[group]; row < rows_.first[group + 1]; ++row) {
        const PlanePoint at = point(row);
        const std::int32_t column = cell_of(at.x, low_.x);
        const std::int32_t line = cell_of(at.y, low_.y);
        std::int32_t& entry = latest[static_cast<std::size_t>(line * cells_ + column)];
        if (entry < first) {
          entry = static_cast<std::int32_t>(found.size());
          found.push_back({.middle = middle_of(column, line),
                           .moment = {},
                           .group = static_cast<std::int32_t>(group),
                           .cell = line * cells_ + column});
        }
        PlaneEntry& to = found[static_cast<std::size_t>(entry)];
        const double weight = rows_.weight(row);
        const PlanePoint from{at.x - to.middle.x, at.y - to.middle.y};
        to.weight += weight;
        to.moment.x += weight * from.x;
        to.moment.y += weight * from.y;
        to.squares += weight * (from.x * from.x + from.y * from.y);
      }
    }
    starts_.assign(all + 1, 0);
    for (const PlaneEntry& entry : found) ++starts_[static_cast<std::size_t>(entry.cell) + 1];
    for (std::size_t cell = 0; cell < all; ++cell) starts_[cell + 1] += starts_[cell];
    std::vector<std::int32_t> next(starts_.begin(), starts_.end() - 1);
    entries_.resize(found.size());
    of_group_.resize(groups_);
    for (const PlaneEntry& entry : found) {
      std::int32_t& place = next[static_cast<std::size_t>(entry.cell)];
      of_group_[static_cast<std::size_t>(entry.group)].push_back(place);
      entries_[static_cast<std::size_t>(place++)] = entry;
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
      const std::int32_t last = starts_[static_cast<std::size_t>(line * cells_ + right) + 1];
      for (std::int32_t entry = starts_[static_cast<std::size_t>(line * cells_ + left)]; entry < last; ++entry)
        use(entries_[static_cast<std::size_t>(entry)]);
    }
  }

  /// Returns about the part of F at a place that an entry adds.
  static double share_of(const PlaneEntry& entry, PlanePoint at, double potential) {
    const PlanePoint mean{entry.middle.x + entry.moment.x / entry.weight,
                          entry.middle.y + entry.moment.y / entry.weight};
    return entry.weight * std::max(potential - squared(mean, at), 0.0);
  }

  double reach_of_all() const { return std::sqrt(*std::max_element(potentials_.begin(), potentials_.end())); }

  /// Returns about F at the center of a group, without the group itself.
  double others_at(std::size_t group) const {
    double others = 0;
    for_entries_near(centers_[group], reach_of_all(), [&](const PlaneEntry& entry) {
      const auto of = static_cast<std::size_t>(entry.group);
      if (of != group) others += share_of(entry, centers_[group], potentials_[of]);
    });
    return others;
  }

  double own_at_center(std::size_t group, double potential) const {
    double own = 0;
    for (const std::int32_t entry : of_group_[group])
      own += share_of(entries_[static_cast<std::size_t>(entry)], centers_[group], potential);
    return own;
  }

  /// Chooses potentials with which F is about `level` at each center. Returns about the bound that they give.
  double choose_potentials(double level) {
    constexpr int rounds = 4;
    constexpr int halvings = 40;
    potentials_.assign(groups_, 0);
    double highest = 0;
    for (int round = 0; round < rounds; ++round) {
      honour_stop();
      for (std::size_t group = 0; group < groups_; ++group) {
        const double missing = level - others_at(group);
        double low = 0;
        double high = 8 * side_ * side_ * cells_ * cells_;
        for (int step = 0; step < halvings && missing > 0; ++step) {
          const double middle = 0.5 * (low + high);
          (own_at_center(group, middle) < missing ? low : high) = middle;
        }
        potentials_[group] = low;
      }
    }
    double sum = 0;
    for (std::size_t group = 0; group < groups_; ++group) {
      sum += weights_[group] * potentials_[group];
      highest = std::max(highest, others_at(group) + own_at_center(group, potentials_[group]));
    }
    return sum - static_cast<double>(clusters_) * highest;
  }

  /// Returns an upper bound for F in a square.
  double bound_in(PlanePoint at, double half) const {
    const double reach = (half + 0.5 * side_) * widened;
    double sum = 0;      // of the terms, at the middle of the square, that are positive in all of it
    double slope_x = 0;  // half the gradient of this sum
    double slope_y = 0;
    double weight = 0;
    double rest = 0;  // of the other terms
    double magnitude = 0;
    for_entries_near(at, reach_ + half, [&](const PlaneEntry& entry) {
      const double potential = potentials_[static_cast<std::size_t>(entry.group)];
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
  void search(std::int32_t column, std::int32_t line, std::int32_t cells, double& highest) const {
    const double half = 0.5 * cells * side_ * widened;
    const PlanePoint at{low_.x + (column + 0.5 * cells) * side_, low_.y + (line + 0.5 * cells) * side_};
    const double bound = bound_in(at, half);
    if (bound <= highest) return;
    if (cells == 1) {
      highest = bound;
      return;
    }
    const std::int32_t part = cells / 2;
    for (const std::int32_t down : {0, part})
      for (const std::int32_t right : {0, part}) search(column + right, line + down, part, highest);
  }

  double proven_bound() {
    reach_ = reach_of_all() * rounded_up;
    const std::int32_t blocks = cells_ / cells_of_block;
    double highest = 0;
    for (std::size_t group = 0; group < groups_; ++group)
      highest = std::max(highest, others_at(group) + own_at_center(group, potentials_[group]));
    const double enough = highest * (1 + 0x1p-8);  // a smaller maximum would hardly raise the bound
    highest = enough;
#pragma omp parallel for num_threads(threads_) schedule(dynamic, 1) reduction(max : highest)
    for (std::int32_t block = 0; block < blocks * blocks; ++block) {
      if (stop_.stop_requested()) continue;
      double of_block = enough;
      search(block % blocks * cells_of_block, block / blocks * cells_of_block, cells_of_block, of_block);
      highest = std::max(highest, of_block);
    }
    honour_stop();
    double sum = 0;
    for (std::size_t group = 0; group < groups_; ++group) sum += weights_[group] * potentials_[group];
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
  std::vector<PlanePoint> centers_;
  std::vector<double> weights_;
  double weight_ = 0;
  double spread_ = 0;  ///< about the inertia of the groups
  std::int32_t cells_ = 0;
  double side_ = 0;  ///< of a cell
  std::vector<PlaneEntry> entries_;
  std::vector<std::int32_t> starts_;  ///< first entry of each cell
  std::vector<std::vector<std::int32_t>> of_group_;
  std::vector<double> potentials_;  ///< per group
  std::vector<double> chosen_;
  double reach_ = 0;
};

}  // namespace

double plane_bound(const GroupedRows& rows, std::int64_t clusters, int threads, const std::stop_token& stop) {
  if (rows.groups() == 0 || rows.groups() > most_plane_groups || rows.rows() <= clusters) return 0;
  return PlaneBoundJob(rows, clusters, threads, stop).run();
}

std::uint64_t bytes_of_plane_bound(std::int64_t rows, std::int64_t clusters) {
  const std::int64_t groups = std::min(clusters, most_plane_groups);
  constexpr std::int64_t cells = static_cast<std::int64_t>(most_cells) * most_cells;
  const std::int64_t entries = std::min(rows, cells * groups);
  return static_cast<std::uint64_t>(entries) * (3 * sizeof(PlaneEntry) + 8) + cells * 16 + groups * 128;
}

}  // namespace gradus::kmeans_detail
