#include "kmeans/line/borders.hpp"

#include <algorithm>

#include "core/stop.hpp"
#include "execution/request.hpp"
#include "kmeans/line/exact_costs.hpp"
#include "kmeans/line/pairs.hpp"
#include "kmeans/line/windows.hpp"

namespace gradus::kmeans_detail {

namespace {

/// The best paths over the windows, window by window. The best predecessor of a position does not decrease with the
/// position, so the position in the middle of a window bounds the predecessors of the others. A comparison is made in
/// double if its error bound permits, then in pairs of doubles, then in integers.
class WindowPaths {
 public:
  WindowPaths(const LineValues& line, const LineSums& sums, const std::vector<LineWindow>& windows,
              const Execution& execution)
      : sums_(sums), windows_(windows), execution_(execution), exact_(line) {
    std::int64_t positions = 0;
    std::int64_t widest = 0;
    for (const LineWindow& window : windows) {
      positions += window.size();
      widest = std::max(widest, window.size());
    }
    execution::check_memory(static_cast<std::uint64_t>(positions) * sizeof(std::int32_t) +
                                static_cast<std::uint64_t>(widest) * 2 * sizeof(Path),
                            execution, "fewer clusters need less");
    from_.reserve(windows.size());
  }

  std::vector<std::int32_t> best() {
    from_.emplace_back(1, 0);
    before_.assign(1, {sums_.node(0), {}, 0});
    for (border_ = 1; border_ < windows_.size(); ++border_) {
      const LineWindow window = windows_[border_];
      from_.emplace_back(static_cast<std::size_t>(window.size()));
      here_.clear();
      for (std::int32_t at = window.first; at <= window.last; ++at) here_.push_back({sums_.node(at), {}, 0});
      solve(window, windows_[border_ - 1]);
      before_.swap(here_);
      if (execution_.progress)
        execution_.progress({"borders", static_cast<std::int64_t>(border_), std::ssize(windows_) - 1, {}});
    }
    std::vector<std::int32_t> borders(windows_.size());
    std::int32_t at = windows_.back().first;
    for (std::size_t border = windows_.size(); border-- > 0;) {
      borders[border] = at;
      at = from(border, at);
    }
    return borders;
  }

 private:
  /// The cost of the best path to a position.
  struct Path {
    LineNode node;
    core::TwoDoubles cost;
    double error = 0;
  };
  struct Candidate {
    std::int32_t from;
    double value;
    double error;
  };

  std::int32_t from(std::size_t border, std::int32_t at) const {
    return from_[border][static_cast<std::size_t>(at - windows_[border].first)];
  }
  Path& here(std::int32_t at) { return here_[static_cast<std::size_t>(at - windows_[border_].first)]; }
  const Path& before(std::int32_t at) const {
    return before_[static_cast<std::size_t>(at - windows_[border_ - 1].first)];
  }

  /// Finds the predecessors of the positions `to`, all of which are in `candidates`.
  void solve(LineWindow to, LineWindow candidates) {
    if (to.first > to.last) return;
    const std::int32_t middle = to.first + (to.last - to.first) / 2;
    const std::int32_t best = predecessor(middle, {candidates.first, std::min(candidates.last, middle - 1)});
    solve({to.first, middle - 1}, {candidates.first, best});
    solve({middle + 1, to.last}, {best, candidates.last});
  }

  std::int32_t predecessor(std::int32_t to, LineWindow candidates) {
    count_ += candidates.size();
    if (count_ >= core::operations_between_polls / 8) {
      count_ = 0;
      core::honour_stop(execution_.stop, "stopped while placing the borders");
    }
    const LineNode& node = here(to).node;
    Candidate best = candidate(candidates.first, node);
    for (std::int32_t next = candidates.first + 1; next <= candidates.last; ++next) {
      const Candidate other = candidate(next, node);
      const double difference = other.value - best.value;
      const double error = other.error + best.error;
      if (difference < -error || (!(difference > error) && is_better(next, best.from, node))) best = other;
    }
    from_[border_][static_cast<std::size_t>(to - windows_[border_].first)] = best.from;
    here(to) = path(best.from, node);
    return best.from;
  }

  Candidate candidate(std::int32_t from, const LineNode& to) const {
    const Path& path = before(from);
    const LineCost step = sums_.cost(path.node, to);
    const double value = path.cost.high + step.cost;
    return {from, value, 0x1p-49 * step.squares + 0x1p-51 * value + path.error + sums_.slack(from, to.position)};
  }

  Path path(std::int32_t from, const LineNode& to) const {
    const Path& before = this->before(from);
    const core::TwoDoubles cost = plus(before.cost, sums_.precise_cost(before.node, to));
    return {to, cost,
            before.error + sums_.slack(from, to.position) + 0x1p-95 * sums_.cost(before.node, to).squares +
                0x1p-98 * cost.high};
  }

  /// Returns true if the path to position `to` is better from `one` than from `other`.
  bool is_better(std::int32_t one, std::int32_t other, const LineNode& to) {
    const Path a = path(one, to);
    const Path b = path(other, to);
    const double difference = minus(a.cost, b.cost).high;
    if (std::abs(difference) > a.error + b.error) return difference < 0;
    one_.assign(1, {one, to.position});
    other_.assign(1, {other, to.position});
    for (std::size_t border = border_ - 1; one != other; --border) {
      const std::int32_t before_one = from(border, one);
      const std::int32_t before_other = from(border, other);
      one_.push_back({before_one, std::exchange(one, before_one)});
      other_.push_back({before_other, std::exchange(other, before_other)});
    }
    return exact_.compare(one_, other_) < 0;
  }

  const LineSums& sums_;
  const std::vector<LineWindow>& windows_;
  const Execution& execution_;
  ExactCosts exact_;
  std::vector<std::vector<std::int32_t>> from_;  ///< of each border, the predecessors of the positions in its window
  std::vector<Path> before_;                     ///< paths to the border before
  std::vector<Path> here_;
  std::vector<LineRange> one_;
  std::vector<LineRange> other_;
  std::size_t border_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace

std::vector<std::int32_t> best_borders(const LineValues& line, const LineSums& sums, std::int64_t clusters,
                                       const Execution& execution) {
  const std::vector<LineWindow> windows = border_windows(sums, clusters, execution.stop);
  return WindowPaths(line, sums, windows, execution).best();
}

}  // namespace gradus::kmeans_detail
