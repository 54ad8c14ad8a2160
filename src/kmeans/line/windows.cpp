// Windows by Lagrangian relaxation (Aggarwal, Schieber and Tokuyama, "Finding a minimum-weight k-link path in graphs
// with the concave Monge property and applications", 1994).
//
// A clustering is a path over positions, and a step from position i to j costs w(i, j) plus a penalty. With the right
// penalty, the best path has the wanted number of steps. Let G(j) be the cost of the best path to j, and H(j) of the
// best path from j. No best clustering has a border at j if G(j) + H(j) exceeds the cost of the best path.
//
// The rounded G must be proven. w satisfies the quadrangle inequality, so for i < i' the difference
// (G(i) + w(i, j)) - (G(i') + w(i', j)) does not decrease with j. Two comparisons per position therefore prove that no
// position is a better predecessor than the one that was chosen, up to a loss that is added up.
#include "kmeans/line/windows.hpp"

#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "core/stop.hpp"
#include "kmeans/line/pairs.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr std::string_view while_searching = "stopped while searching the borders";

/// The costs of ranges between some positions, in ascending order.
struct ForwardCosts {
  const LineSums& sums;
  std::span<const std::int32_t> positions;  ///< empty: all positions

  std::int32_t steps() const {
    return static_cast<std::int32_t>(positions.empty() ? sums.groups() : std::ssize(positions) - 1);
  }
  LineCost operator()(std::int32_t from, std::int32_t to) const {
    if (positions.empty()) return sums.cost(from, to);
    return sums.cost(positions[static_cast<std::size_t>(from)], positions[static_cast<std::size_t>(to)]);
  }
  core::TwoDoubles precise(std::int32_t from, std::int32_t to) const {
    if (positions.empty()) return sums.precise_cost(from, to);
    return sums.precise_cost(positions[static_cast<std::size_t>(from)], positions[static_cast<std::size_t>(to)]);
  }
  double slack(std::int32_t from, std::int32_t to) const {
    if (positions.empty()) return sums.slack(from, to);
    return sums.slack(positions[static_cast<std::size_t>(from)], positions[static_cast<std::size_t>(to)]);
  }
};

/// The same costs for paths that start at the last position.
struct BackwardCosts {
  const LineSums& sums;

  std::int32_t steps() const { return static_cast<std::int32_t>(sums.groups()); }
  LineCost operator()(std::int32_t from, std::int32_t to) const { return sums.cost(steps() - to, steps() - from); }
  core::TwoDoubles precise(std::int32_t from, std::int32_t to) const {
    return sums.precise_cost(steps() - to, steps() - from);
  }
  double slack(std::int32_t from, std::int32_t to) const { return sums.slack(steps() - to, steps() - from); }
};

/// The best paths from position 0 to all positions with a penalty for each step.
template <class Costs>
class PenalizedPaths {
 public:
  PenalizedPaths(const Costs& costs, const std::stop_token& stop)
      : costs_(costs), stop_(stop), steps_(costs.steps()), slack_(2 * costs.sums.largest_slack()),
        best_(static_cast<std::size_t>(steps_) + 1), from_(best_.size()) {}

  /// Finds the best predecessors by a queue of the positions that will be best next.
  void search(double penalty) {
    struct Candidate {
      std::int32_t from;
      std::int32_t start;  ///< the first position whose predecessor it is
    };
    std::vector<Candidate> queue{{0, 1}};
    std::size_t head = 0;
    for (std::int32_t to = 1; to <= steps_; ++to) {
      poll(to);
      while (head + 1 < queue.size() && queue[head + 1].start <= to) ++head;
      set(to, queue[head].from, value(queue[head].from, to) + penalty);
      if (to == steps_) break;
      while (queue.back().start > to && excess(to, queue.back().from, std::max(queue.back().start, to + 1)).value < 0)
        queue.pop_back();
      const std::int32_t other = queue.back().from;
      const auto wins = [&](std::int32_t at) { return excess(to, other, at).value < 0; };
      std::int32_t below = std::max(queue.back().start - 1, to);  // does not win here
      std::int32_t stride = 1;
      while (stride <= steps_ - below && !wins(below + stride)) {
        below += stride;
        stride = std::min(2 * stride, 1 << 28);
      }
      std::int32_t above = stride <= steps_ - below ? below + stride : steps_ + 1;
      while (below + 1 < above) {
        const std::int32_t middle = below + (above - below) / 2;
        if (wins(middle)) above = middle;
        else below = middle;
      }
      if (above <= steps_) queue.push_back({to, above});
    }
  }

  double to(std::int32_t position) const { return best_[static_cast<std::size_t>(position)]; }
  double cost() const { return best_.back(); }

  /// Returns the positions of the best path, from the last one to 0.
  std::vector<std::int32_t> path() const {
    std::vector<std::int32_t> path{steps_};
    while (path.back() > 0) path.push_back(from_[static_cast<std::size_t>(path.back())]);
    return path;
  }

  /// Returns a bound of to(j) - (to(i) + w(i, j) + penalty) over all i < j, with the exact w.
  double loss() const {
    double of_owners = 0;  // the sum over the positions that are predecessors
    double of_others = 0;  // the largest one of the other positions
    double rounding = 0;   // the largest error of to(j) as the cost of its path
    const auto loss_at = [&](std::int32_t other, std::int32_t chosen, std::int32_t at) {
      const Excess found = excess(other, chosen, at);
      return found.value > found.error ? 0 : found.error - found.value;
    };
    for (std::int32_t at = 1; at <= steps_; ++at) {
      poll(at);
      const std::int32_t owner = from_[static_cast<std::size_t>(at)];
      rounding = std::max(rounding, 0x1p-49 * costs_(owner, at).squares + costs_.slack(owner, at));
      const std::int32_t before = at == 1 ? 0 : from_[static_cast<std::size_t>(at) - 1];
      if (owner == before) continue;
      of_owners += loss_at(before, owner, at);
      if (owner < at - 1) of_owners += loss_at(owner, before, at - 1);
      for (std::int32_t other = before + 1; other < owner; ++other) {
        of_others = std::max(of_others, loss_at(other, owner, at));
        if (other < at - 1) of_others = std::max(of_others, loss_at(other, before, at - 1));
      }
    }
    const std::int32_t last = from_.back();
    for (std::int32_t other = last + 1; other < steps_; ++other)
      of_others = std::max(of_others, loss_at(other, last, steps_));
    return of_owners + of_others + rounding + 0x1p-51 * cost();
  }

 private:
  double best(std::int32_t position) const { return best_[static_cast<std::size_t>(position)]; }
  double value(std::int32_t from, std::int32_t to) const { return best(from) + costs_(from, to).cost; }

  struct Excess {
    double value;
    double error;
  };
  /// Returns the difference that it makes to the path to `to` if `one`, and not `other`, is its predecessor.
  Excess excess(std::int32_t one, std::int32_t other, std::int32_t to) const {
    const LineCost a = costs_(one, to);
    const LineCost b = costs_(other, to);
    const double value_one = best(one) + a.cost;
    const double value_other = best(other) + b.cost;
    const double squares = a.squares + b.squares;
    const double difference = value_one - value_other;
    const double rounding = 0x1p-48 * squares + 0x1p-51 * (value_one + value_other);
    if (std::abs(difference) > rounding + slack_) return {difference, rounding + slack_};
    const double slack = costs_.slack(one, to) + costs_.slack(other, to);
    if (std::abs(difference) > rounding + slack) return {difference, rounding + slack};
    const core::TwoDoubles costs = minus(costs_.precise(one, to), costs_.precise(other, to));
    const core::TwoDoubles precise = plus(costs, two_sum(best(one), -best(other)));
    return {precise.high, 0x1p-95 * (squares + value_one + value_other) + slack + 0x1p-52 * std::abs(precise.high)};
  }

  void set(std::int32_t to, std::int32_t from, double value) {
    best_[static_cast<std::size_t>(to)] = value;
    from_[static_cast<std::size_t>(to)] = from;
  }
  void poll(std::int32_t position) const {
    if (position % 0x4000 == 0) core::honour_stop(stop_, while_searching);
  }

  const Costs& costs_;
  const std::stop_token& stop_;
  std::int32_t steps_;
  double slack_;
  std::vector<double> best_;
  std::vector<std::int32_t> from_;
};

/// Searches for a penalty with which the best path has the wanted number of steps.
class PenaltySearch {
 public:
  PenaltySearch(std::int64_t steps, double first) : wanted_(static_cast<double>(steps)), penalty_(first) {}

  double penalty() const { return penalty_; }

  /// Returns false if no other penalty is worth a try.
  bool next(std::int64_t found) {
    const double ratio = static_cast<double>(found) / wanted_;
    (ratio > 1 ? least_ : most_) = penalty_;
    if (most_ == 0 || least_ == 0) {
      penalty_ *= std::pow(ratio, 4);  // the third power would be exact for a uniform distribution
      return penalty_ > 0x1p-900 && penalty_ < 0x1p900;
    }
    penalty_ = least_ + (most_ - least_) / 2;
    return (most_ - least_) * std::abs(ratio - 1) * wanted_ > 0x1p-12 * least_ && least_ < penalty_ && penalty_ < most_;
  }

 private:
  double wanted_;
  double penalty_;
  double least_ = 0;  ///< too small: too many steps; 0: unknown
  double most_ = 0;   ///< too large; 0: unknown
};

/// Returns a path with the wanted number of steps, made of the beginning of a path with fewer steps and the end of a
/// path with more steps. If both paths are best for one penalty, so is the new one. Paths begin with the last position.
std::vector<std::int32_t> spliced(const std::vector<std::int32_t>& few, const std::vector<std::int32_t>& many,
                                  std::int64_t steps) {
  const std::int64_t more = std::ssize(many) - 1 - steps;
  const auto at = [](const std::vector<std::int32_t>& path, std::int64_t step) {
    return path[static_cast<std::size_t>(std::ssize(path) - 1 - step)];
  };
  for (std::int64_t step = 0; step + 1 < std::ssize(few); ++step) {
    const std::int64_t other = step + more;
    if (other + 1 >= std::ssize(many)) break;
    if (at(few, step) > at(many, other) || at(many, other + 1) > at(few, step + 1)) continue;
    std::vector<std::int32_t> path(many.begin(), many.end() - 1 - other);
    path.insert(path.end(), few.end() - 1 - step, few.end());
    return path;
  }
  return {};
}

std::vector<LineWindow> all_positions(std::int64_t groups, std::int64_t clusters) {
  std::vector<LineWindow> windows;
  for (std::int64_t border = 0; border <= clusters; ++border)
    windows.push_back({static_cast<std::int32_t>(border), static_cast<std::int32_t>(groups - clusters + border)});
  windows.front().last = 0;
  windows.back().first = static_cast<std::int32_t>(groups);
  return windows;
}

/// Returns a first guess of the penalty, and positions that are dense where clusters will be narrow, so that each
/// cluster has about `per_cluster` of them. The cube root of the density of the values gives the density of the
/// clusters (Panter and Dite, 1951).
std::vector<std::int32_t> sparse_positions(const LineSums& sums, std::int64_t clusters, int per_cluster,
                                           double& penalty) {
  const auto groups = static_cast<std::int32_t>(sums.groups());
  const std::int32_t blocks = std::min<std::int32_t>(groups, 4096);
  const auto start = [&](std::int32_t block) {
    return static_cast<std::int32_t>(std::int64_t{groups} * block / blocks);
  };
  std::vector<double> shares;
  double total = 0;
  for (std::int32_t block = 0; block < blocks; ++block) {
    const double extent = sums.extent(start(block), std::min(start(block + 1), groups - 1));
    shares.push_back(std::cbrt(sums.weight(start(block), start(block + 1)) * extent * extent));
    total += shares.back();
  }
  penalty = std::pow(total / static_cast<double>(clusters), 3) / 6;
  std::vector<std::int32_t> positions{0};
  const double unit = total / (static_cast<double>(clusters) * per_cluster);
  for (std::int32_t block = 0; block < blocks; ++block) {
    const std::int32_t length = start(block + 1) - start(block);
    const double wanted = total > 0 ? std::ceil(shares[static_cast<std::size_t>(block)] / unit) : 1;
    const auto parts = static_cast<std::int32_t>(std::clamp<double>(wanted, 1, length));
    for (std::int32_t part = 1; part <= parts; ++part)
      positions.push_back(start(block) + static_cast<std::int32_t>(std::int64_t{length} * part / parts));
  }
  return positions;
}

/// Finds the windows of a large problem.
class WindowSearch {
 public:
  WindowSearch(const LineSums& sums, std::int64_t clusters, const std::stop_token& stop)
      : sums_(sums), clusters_(clusters), stop_(stop), ahead_{sums, {}}, behind_{sums}, forward_(ahead_, stop),
        backward_(behind_, stop) {}

  std::vector<LineWindow> windows() {
    const double cost = cost_of_guess();
    if (!std::isfinite(cost)) return all_positions(sums_.groups(), clusters_);
    backward_.search(penalty_);
    // An outlier that costs more with its neighbour alone than all clusters of the guess is a cluster without errors.
    std::int64_t first = 0;
    std::int64_t last = sums_.groups();
    while (last - first > 2 && sums_.cost(last - 2, last).cost > 2 * cost) --last;
    while (last - first > 2 && sums_.cost(first, first + 2).cost > 2 * cost) ++first;
    // The excess of the guess over the bound, the losses of all steps of a path, and the error of the cost of the
    // guess.
    const double steps = static_cast<double>(clusters_);
    const double most_steps = std::max(steps, forward_.cost() / penalty_);
    const double error = std::max(cost + steps * penalty_ - forward_.cost(), 0.0) +
                         2 * (most_steps * (forward_.loss() + backward_.loss()) + 0x1p-47 * sums_.squares(first, last) +
                              4 * steps * sums_.slack(first, last));
    return windows_of_runs(error);
  }

 private:
  /// Sets the penalty, and returns the cost of a clustering that is nearly the best one. Returns infinity if there is
  /// none. The penalty of few positions is nearly the penalty of more positions.
  double cost_of_guess() {
    double penalty = 0;
    double first = 0;
    for (const int per_cluster : {16, 128}) {
      const std::vector<std::int32_t> positions = sparse_positions(sums_, clusters_, per_cluster, first);
      if (penalty == 0) penalty = first;
      if (!(penalty > 0)) return std::numeric_limits<double>::infinity();
      if (std::ssize(positions) > sums_.groups() / 2) break;
      const ForwardCosts sparse{sums_, positions};
      PenalizedPaths<ForwardCosts> paths(sparse, stop_);
      path_with(paths, penalty, 60);
      penalty = penalty_;
    }
    const std::vector<std::int32_t> path = path_with(forward_, penalty, 12);
    if (path.empty()) return std::numeric_limits<double>::infinity();
    double cost = 0;
    for (std::size_t index = 1; index < path.size(); ++index) cost += sums_.cost(path[index], path[index - 1]).cost;
    return cost;
  }

  /// Changes the penalty until the best path has the wanted number of steps, and returns that path. If there is none,
  /// returns a path that is spliced of two.
  template <class Paths>
  std::vector<std::int32_t> path_with(Paths& paths, double penalty, int attempts) {
    PenaltySearch search(clusters_, penalty);
    std::vector<std::int32_t> few;
    std::vector<std::int32_t> many;
    do {
      penalty_ = search.penalty();
      paths.search(penalty_);
      std::vector<std::int32_t> path = paths.path();
      const std::int64_t steps = std::ssize(path) - 1;
      if (steps == clusters_) return path;
      (steps < clusters_ ? few : many) = std::move(path);
      if (!search.next(steps)) break;
    } while (--attempts > 0);
    return few.empty() || many.empty() ? std::vector<std::int32_t>() : spliced(few, many, clusters_);
  }

  /// Groups the possible positions into runs that hold at most one border each, because a step within a run costs too
  /// much. The borders are then in different runs.
  std::vector<LineWindow> windows_of_runs(double error) const {
    const auto groups = static_cast<std::int32_t>(sums_.groups());
    std::vector<LineWindow> runs;
    for (std::int32_t at = 1; at < groups; ++at) {
      if (!(forward_.to(at) + backward_.to(groups - at) <= forward_.cost() + error)) continue;
      if (runs.empty() || !(forward_.to(at) - forward_.to(runs.back().first) < penalty_ - 8 * error))
        runs.push_back({at, at});
      runs.back().last = at;
    }
    std::vector<LineWindow> windows = all_positions(groups, clusters_);
    const std::int64_t spare = std::ssize(runs) - (clusters_ - 1);
    if (spare < 0) return windows;  // cannot happen
    for (std::int64_t border = 1; border < clusters_; ++border) {
      LineWindow& window = windows[static_cast<std::size_t>(border)];
      window.first = std::max(window.first, runs[static_cast<std::size_t>(border - 1)].first);
      window.last = std::min(window.last, runs[static_cast<std::size_t>(border - 1 + spare)].last);
    }
    return windows;
  }

  const LineSums& sums_;
  std::int64_t clusters_;
  const std::stop_token& stop_;
  ForwardCosts ahead_;
  BackwardCosts behind_;
  PenalizedPaths<ForwardCosts> forward_;
  PenalizedPaths<BackwardCosts> backward_;
  double penalty_ = 0;
};

}  // namespace

std::vector<LineWindow> border_windows(const LineSums& sums, std::int64_t clusters, const std::stop_token& stop) {
  constexpr std::int64_t few = std::int64_t{1} << 14;  // the search costs more than the tables of all positions
  if (clusters < 2 || clusters == sums.groups() || sums.groups() * clusters < few)
    return all_positions(sums.groups(), clusters);
  return WindowSearch(sums, clusters, stop).windows();
}

}  // namespace gradus::kmeans_detail
