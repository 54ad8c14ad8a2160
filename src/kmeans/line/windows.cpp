// Windows by Lagrangian relaxation (Aggarwal, Schieber and Tokuyama, "Finding a minimum-weight k-link path in graphs
// with the concave Monge property and applications", 1994).
//
// A clustering is a path over positions, and a step from position i to j costs w(i, j) plus a penalty. With the right
// penalty, the best path has the wanted number of steps, and is a best clustering. The excesses (relaxed_paths.hpp) of
// the steps of any best clustering then add up to 0, except for rounding errors. So no step with a larger excess is in
// a best clustering, and the borders follow step by step from the last position.
#include "kmeans/line/windows.hpp"

#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "core/stop.hpp"
#include "kmeans/line/relaxed_paths.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr std::string_view while_searching = "stopped while searching the borders";

/// The best paths over few positions, which only guide the search over all of them.
class SparsePaths {
 public:
  SparsePaths(const LineSums& sums, const std::vector<std::int32_t>& positions)
      : sums_(sums), steps_(static_cast<std::int32_t>(positions.size()) - 1), best_(positions.size()),
        from_(positions.size()) {
    nodes_.reserve(positions.size());
    for (const std::int32_t position : positions) nodes_.push_back(sums.node(position));
  }

  /// Finds the best predecessors by a queue of the positions that will be best next.
  void search(double penalty) {
    struct Candidate {
      std::int32_t from;
      std::int32_t start;  ///< the first position whose predecessor it is
    };
    std::vector<Candidate> queue{{0, 1}};
    std::size_t head = 0;
    for (std::int32_t to = 1; to <= steps_; ++to) {
      while (head + 1 < queue.size() && queue[head + 1].start <= to) ++head;
      from_[static_cast<std::size_t>(to)] = queue[head].from;
      best_[static_cast<std::size_t>(to)] = value(queue[head].from, to) + penalty;
      if (to == steps_) break;
      const auto is_better = [&](std::int32_t other, std::int32_t at) { return value(to, at) < value(other, at); };
      while (queue.back().start > to && is_better(queue.back().from, std::max(queue.back().start, to + 1)))
        queue.pop_back();
      const std::int32_t other = queue.back().from;
      std::int32_t below = std::max(queue.back().start - 1, to);  // is not better here
      std::int32_t stride = 1;
      while (stride <= steps_ - below && !is_better(other, below + stride)) {
        below += stride;
        stride = std::min(2 * stride, 1 << 28);
      }
      std::int32_t above = stride <= steps_ - below ? below + stride : steps_ + 1;
      while (below + 1 < above) {
        const std::int32_t middle = below + (above - below) / 2;
        (is_better(other, middle) ? above : below) = middle;
      }
      if (above <= steps_) queue.push_back({to, above});
    }
  }

  std::span<const std::int32_t> from() const { return from_; }
  double cost() const { return best_.back(); }

  /// Returns the path to the last position, in numbers of positions, from the last one to 0.
  std::vector<std::int32_t> path() const {
    std::vector<std::int32_t> path{steps_};
    while (path.back() > 0) path.push_back(from_[static_cast<std::size_t>(path.back())]);
    return path;
  }

 private:
  double value(std::int32_t from, std::int32_t to) const {
    return best_[static_cast<std::size_t>(from)] +
           sums_.cost(nodes_[static_cast<std::size_t>(from)], nodes_[static_cast<std::size_t>(to)]).cost;
  }

  const LineSums& sums_;
  std::vector<LineNode> nodes_;  ///< sums at the positions
  std::int32_t steps_;
  std::vector<double> best_;
  std::vector<std::int32_t> from_;
};

/// Searches for a penalty with which the best path has the wanted number of steps. The cost of the best path with k
/// steps is a convex function of k, and a penalty is the slope of a tangent.
class PenaltySearch {
 public:
  PenaltySearch(std::int64_t steps, double first) : wanted_(static_cast<double>(steps)), penalty_(first) {}

  double penalty() const { return penalty_; }

  /// Takes the steps and the cost, without penalties, of the best path. Returns false if no other penalty is worth a
  /// try: the path is best for one of the penalties before, too, so that no path is between both.
  bool next(std::int64_t steps, double cost) {
    const Found found{static_cast<double>(steps), cost};
    Found& side = found.steps > wanted_ ? many_ : few_;
    if (few_.steps > 0 && many_.steps > 0 && found.steps == side.steps) return false;
    side = found;
    if (few_.steps > 0 && many_.steps > 0) penalty_ = (few_.cost - many_.cost) / (many_.steps - few_.steps);
    else penalty_ *= std::pow(found.steps / wanted_, 4);  // the third power would be exact for a uniform distribution
    return penalty_ > 0x1p-900 && penalty_ < 0x1p900;
  }

 private:
  struct Found {
    double steps = 0;  ///< 0: none
    double cost = 0;
  };
  double wanted_;
  double penalty_;
  Found few_;
  Found many_;
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

/// Returns a first guess of the penalty, and positions behind wide gaps. They are dense where clusters will be narrow,
/// so that each cluster has about `per_cluster` of them. The cube root of the density of the values gives the density
/// of the clusters (Panter and Dite, 1951).
std::vector<std::int32_t> sparse_positions(const LineSums& sums, std::int64_t clusters, double& penalty) {
  constexpr int per_cluster = 64;
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
    for (std::int32_t part = 1; part <= parts; ++part) {
      const auto last = start(block) + static_cast<std::int32_t>(std::int64_t{length} * part / parts);
      positions.push_back(last < groups ? sums.widest_gap(positions.back() + 1, last) : groups);
    }
  }
  return positions;
}

/// Finds the windows of a large problem.
class WindowSearch {
 public:
  WindowSearch(const LineSums& sums, std::int64_t clusters, const std::stop_token& stop)
      : sums_(sums), clusters_(clusters), stop_(stop), paths_(sums, stop) {}

  std::vector<LineWindow> windows() {
    const std::vector<std::int32_t> guess = guessed_path();
    if (guess.empty()) return all_positions(sums_.groups(), clusters_);
    // The excesses of a best clustering add up to at most this sum, and those below 0 to at least -loss.
    double sum = 0;
    for (std::size_t index = 1; index < guess.size(); ++index) {
      const RelaxedPaths::Excess step = paths_.excess(guess[index], guess[index - 1]);
      sum += std::max(step.value + step.error, 0.0);
    }
    // Bounds from another position of a window may have the loss of two more steps, twice.
    const RelaxedPaths::Loss loss = paths_.loss(clusters_);
    return windows_of(sum * (1 + 0x1p-20) + loss.of_path + 4 * loss.of_step);
  }

 private:
  /// Finds a penalty with which the best path has the wanted number of steps, and returns that path. If there is none,
  /// returns a path that is spliced of two, or no path. The penalty of few positions is nearly the penalty of more.
  std::vector<std::int32_t> guessed_path() {
    double penalty = 0;
    const std::vector<std::int32_t> positions = sparse_positions(sums_, clusters_, penalty);
    if (!(penalty > 0)) return {};
    std::optional<SparsePaths> sparse;
    for (const std::size_t spacing : {4, 1}) {
      std::vector<std::int32_t> some;
      for (std::size_t index = 0; index + 1 < positions.size(); index += spacing) some.push_back(positions[index]);
      some.push_back(positions.back());
      sparse.emplace(sums_, some);
      path_with(
          [&](double next) {
            sparse->search(next);
            core::honour_stop(stop_, while_searching);
            return sparse->path();
          },
          [&] { return sparse->cost(); }, penalty, 60);
    }
    return path_with(
        [&](double next) {
          paths_.search(next, positions, sparse->from());
          return paths_.path();
        },
        [&] { return paths_.cost(); }, penalty, 30);
  }

  template <class PathOf, class Cost>
  std::vector<std::int32_t> path_with(const PathOf& path_of, const Cost& cost, double& penalty, int attempts) const {
    PenaltySearch search(clusters_, penalty);
    std::vector<std::int32_t> few;
    std::vector<std::int32_t> many;
    do {
      penalty = search.penalty();
      std::vector<std::int32_t> path = path_of(penalty);
      const std::int64_t steps = std::ssize(path) - 1;
      if (steps == clusters_) return path;
      (steps < clusters_ ? few : many) = std::move(path);
      if (!search.next(steps, cost() - static_cast<double>(steps) * penalty)) break;
    } while (--attempts > 0);
    return few.empty() || many.empty() ? std::vector<std::int32_t>() : spliced(few, many, clusters_);
  }

  bool is_possible(std::int32_t from, std::int32_t to, double most) const {
    const RelaxedPaths::Excess step = paths_.excess(from, to);
    return step.value - step.error <= most;
  }

  /// Follows the steps whose excess is at most `most` from the last position to the first. The first predecessor of a
  /// window is a predecessor of its first position, and the last one of its last position, by the inequality of
  /// relaxed_paths.hpp. Positions that no step reaches are removed.
  std::vector<LineWindow> windows_of(double most) const {
    const auto groups = static_cast<std::int32_t>(sums_.groups());
    std::vector<LineWindow> windows = all_positions(groups, clusters_);
    for (std::int64_t border = clusters_; border-- > 1;) {
      core::honour_stop(stop_, while_searching);
      const LineWindow to = windows[static_cast<std::size_t>(border + 1)];
      LineWindow& window = windows[static_cast<std::size_t>(border)];
      window.first = std::max(window.first, first_from(to.first, most));
      window.last = std::min(window.last, last_from(to.last, most));
    }
    for (std::int64_t border = 1; border < clusters_; ++border) {
      core::honour_stop(stop_, while_searching);
      LineWindow& window = windows[static_cast<std::size_t>(border)];
      const LineWindow before = windows[static_cast<std::size_t>(border - 1)];
      const auto is_reached = [&](std::int32_t to) {
        for (std::int32_t from = before.first; from <= std::min(before.last, to - 1); ++from)
          if (is_possible(from, to, most)) return true;
        return false;
      };
      window.first = std::max(window.first, before.first + 1);
      if (before.size() * window.size() > 0x10000) continue;  // would take too long
      while (window.first < window.last && !is_reached(window.first)) ++window.first;
      while (window.first < window.last && !is_reached(window.last)) --window.last;
    }
    return windows;
  }

  /// Returns the first predecessor of a position. By the same inequality, no predecessor is before a position with a
  /// larger excess that is on a best path to this position or to one before it.
  std::int32_t first_from(std::int32_t to, double most) const {
    std::int32_t first = paths_.from(to);
    std::int32_t owned = to;
    for (std::int32_t from = first; from-- > 0;) {
      if (is_possible(from, to, most)) {
        first = from;
        continue;
      }
      while (owned > 1 && paths_.from(owned) > from) --owned;
      if (paths_.from(owned) == from) break;
    }
    return first;
  }

  /// Returns the last predecessor, in the same way.
  std::int32_t last_from(std::int32_t to, double most) const {
    if (to == sums_.groups()) return paths_.last_from(most);
    std::int32_t last = paths_.from(to);
    std::int32_t owned = to;
    for (std::int32_t from = last + 1; from < to; ++from) {
      if (is_possible(from, to, most)) {
        last = from;
        continue;
      }
      while (owned < sums_.groups() && paths_.from(owned) < from) ++owned;
      if (paths_.from(owned) == from) break;
    }
    return last;
  }

  const LineSums& sums_;
  std::int64_t clusters_;
  const std::stop_token& stop_;
  RelaxedPaths paths_;
};

}  // namespace

std::vector<LineWindow> border_windows(const LineSums& sums, std::int64_t clusters, const std::stop_token& stop) {
  constexpr std::int64_t few = std::int64_t{1} << 14;  // the search costs more than the tables of all positions
  if (clusters < 2 || clusters == sums.groups() || sums.groups() * clusters < few)
    return all_positions(sums.groups(), clusters);
  return WindowSearch(sums, clusters, stop).windows();
}

}  // namespace gradus::kmeans_detail
