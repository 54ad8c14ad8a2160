#include "kmeans/certify/group_bound.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/stop.hpp"
#include "kmeans/certify/eigenvalues.hpp"
#include "kmeans/certify/group_tree.hpp"
#include "kmeans/certify/rounding.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr std::int64_t most_groups = std::int64_t{1} << 14;
constexpr std::int64_t most_columns_of_scatter = 1024;
constexpr std::int64_t most_elements_of_scatter = std::int64_t{1} << 24;
constexpr std::int64_t most_columns_of_root = 256;  ///< the eigenvectors of more columns take seconds
constexpr std::int32_t most_measured_groups =
    32;  ///< a larger node, except for the root, has only the bound of its parts
constexpr std::int64_t most_centers_of_group = 16;  ///< with more centers in its cell, a group may cost nothing
constexpr std::int64_t rows_of_chunk = 2048;
constexpr double infinite = std::numeric_limits<double>::infinity();

double squared_length(const double* a, const double* b, std::int64_t columns) {
  double sums[4] = {};  // additions that do not wait for each other
  std::int64_t column = 0;
  for (; column + 4 <= columns; column += 4)
    for (std::int64_t lane = 0; lane < 4; ++lane) {
      const double difference = a[column + lane] - b[column + lane];
      sums[lane] += difference * difference;
    }
  for (; column < columns; ++column) {
    const double difference = a[column] - b[column];
    sums[0] += difference * difference;
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// Measurements of a node of the tree.
struct MeasuredNode {
  double weight = 0;
  double center_error = 0;      ///< bound for the distance from the center to the exact mean
  double axis = 0;              ///< bound for l_1 / W
  std::vector<double> largest;  ///< bounds for l_1 + ... + l_p
  bool is_measured = false;
  double kept = 0;           ///< the first sum of f(j)
  double magnitude = 0;      ///< the sum of the magnitudes of its terms
  double outside = 0;        ///< f(0)
  std::vector<double> cost;  ///< f(j); f is 0 beyond the end
};

/// Another group, as the points of a group need it.
struct OtherGroup {
  double half = 0;     ///< lower bound for half the distance of the centers
  double inverse = 0;  ///< lower bound for 1 / (2 * distance of the centers), or 0 if it is too large
  std::int32_t group = 0;
  std::int32_t level = 0;  ///< first level of the group's nodes that holds the other group
};

struct ChunkOfRows {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int32_t group = 0;
  std::size_t sums = 0;  ///< first place in the list of sums, one per level
};

struct LevelSums {
  double kept = 0;
  double magnitude = 0;
  double outside = 0;
};

struct RowWorkspace {
  std::vector<OtherGroup> others;
  std::vector<double> gaps;
};

class GroupBoundJob {
 public:
  /// Without spectra, traces bound all eigenvalues.
  GroupBoundJob(const GroupedRows& rows, std::int64_t clusters, bool spectra, int threads, const std::stop_token& stop)
      : rows_(rows), clusters_(clusters), spectra_(spectra), threads_(threads), stop_(stop), d_(rows.columns),
        groups_(static_cast<std::int32_t>(rows.groups())), distance_error_(error_of_sum(d_)) {}

  GroupBound run() {
    measure_groups();
    std::vector<double> spreads;
    for (const MeasuredNode& group : nodes_) {
      spreads.push_back(group.kept / group.weight);
      mean_spread_ += group.kept;
    }
    double weight = 0;
    for (const MeasuredNode& group : nodes_) weight += group.weight;
    const double inertia = mean_spread_;
    mean_spread_ /= weight;
    tree_ = group_tree(centers_, spreads, d_);
    measure_spectra();
    measure_rows();
    GroupBound bound = combine();
    bound.inertia = inertia;
    return bound;
  }

 private:
  double* center(std::int64_t node) { return centers_.data() + node * d_; }
  MeasuredNode& node_at(std::int64_t index) { return nodes_[static_cast<std::size_t>(index)]; }
  const GroupNode& place_at(std::int64_t index) const { return tree_.nodes[static_cast<std::size_t>(index)]; }

  void honour_stop() const { core::honour_stop(stop_, "stopped while certifying"); }

  /// Finds the centers of the groups. `kept` is the sum of squared distances.
  void measure_groups() {
    nodes_.resize(static_cast<std::size_t>(groups_));
    centers_.resize(static_cast<std::size_t>(groups_ * d_));
    std::vector<double> rests(centers_.size());
#pragma omp parallel for num_threads(threads_) schedule(dynamic, 1)
    for (std::int32_t group = 0; group < groups_; ++group) measure_group(group, rests.data() + group * d_);
    honour_stop();
  }

  void measure_group(std::int32_t group, double* rest) {
    const std::int64_t first = rows_.first[static_cast<std::size_t>(group)];
    const std::int64_t last = rows_.first[static_cast<std::size_t>(group) + 1];
    const double* const base = rows_.row(first);
    MeasuredNode& node = node_at(group);
    double* const mean = center(group);
    for (std::int64_t row = first; row < last && !is_stopped(row); ++row) {
      const double weight = rows_.weight(row);
      node.weight += weight;
      for (std::int64_t column = 0; column < d_; ++column)
        mean[column] += weight * (rows_.row(row)[column] - base[column]);
    }
    for (std::int64_t column = 0; column < d_; ++column) mean[column] = base[column] + mean[column] / node.weight;
    double lengths = 0;
    for (std::int64_t row = first; row < last && !is_stopped(row); ++row) {
      const double weight = rows_.weight(row);
      const double squares = squared_length(rows_.row(row), mean, d_);
      for (std::int64_t column = 0; column < d_; ++column)
        rest[column] += weight * (rows_.row(row)[column] - mean[column]);
      node.kept += weight * squares;
      lengths += weight * std::sqrt(squares);
    }
    double squares = 0;
    for (std::int64_t column = 0; column < d_; ++column) squares += rest[column] * rest[column];
    const double error = error_of_sum(last - first + d_);
    node.center_error = (std::sqrt(squares) + error * lengths) / node.weight * (1 + error) * rounded_up + underflow;
  }

  bool is_stopped(std::int64_t row) const { return row % 4096 == 0 && stop_.stop_requested(); }

  /// Finds center, weight and eigenvalues of the nodes that are measured.
  void measure_spectra() {
    std::vector<std::vector<double>> scatter(tree_.nodes.size());
    std::vector<double> errors(tree_.nodes.size());  // of the scatter matrices, in the spectral norm
    std::vector<double> traces(tree_.nodes.size());
    const bool has_scatter =
        spectra_ && d_ <= most_columns_of_scatter && groups_ * d_ * d_ <= most_elements_of_scatter && d_ > 1;
    if (has_scatter) scatter_groups(scatter);
    const auto nodes = static_cast<std::int64_t>(tree_.nodes.size());
    nodes_.resize(tree_.nodes.size());
    centers_.resize(tree_.nodes.size() * static_cast<std::size_t>(d_));
    const bool is_cheap = static_cast<double>(nodes * 4) * static_cast<double>(d_ * d_) <=
                          static_cast<double>(rows_.rows()) * static_cast<double>(groups_);
    const double error = error_of_sum(rows_.rows() + d_);
    for (std::int64_t index = 0; index < nodes; ++index) {
      honour_stop();
      const GroupNode& place = place_at(index);
      MeasuredNode& node = node_at(index);
      const auto at = static_cast<std::size_t>(index);
      if (place.is_leaf()) traces[at] = std::exchange(node.kept, 0);
      else join(index, scatter, errors, traces);
      const bool is_root = index + 1 == nodes;
      node.is_measured = is_root || place.size() <= most_measured_groups;
      if (!node.is_measured) continue;
      const double trace = traces[at] * (1 + error) * rounded_up + errors[at] * static_cast<double>(d_);
      node.largest = {0, trace};
      if (has_scatter)
        node.largest = sums_of_largest_eigenvalues(scatter[at], d_, errors[at] + error * traces[at],
                                                   is_cheap || (is_root && d_ <= most_columns_of_root));
      node.largest[1] = std::min(node.largest[1], trace);
      node.axis = node.largest[1] / node.weight * (1 + error) * rounded_up;
    }
  }

  /// Computes the scatter matrices of the groups, row by row of the matrices.
  void scatter_groups(std::vector<std::vector<double>>& scatter) {
    constexpr std::int64_t rows_of_stripe = 32;
    const std::int64_t stripes = (d_ + rows_of_stripe - 1) / rows_of_stripe;
    for (std::int32_t group = 0; group < groups_; ++group)
      scatter[static_cast<std::size_t>(group)].resize(static_cast<std::size_t>(d_ * d_));
    std::vector<double> differences(static_cast<std::size_t>(threads_) * 4 * static_cast<std::size_t>(d_));
#pragma omp parallel num_threads(threads_)
    {
      double* const workspace = differences.data() + std::int64_t{4} * omp_get_thread_num() * d_;
#pragma omp for schedule(dynamic, 1)
      for (std::int64_t task = 0; task < groups_ * stripes; ++task) {
        const std::int64_t begin = task % stripes * rows_of_stripe;
        scatter_stripe(static_cast<std::int32_t>(task / stripes), begin, std::min(begin + rows_of_stripe, d_),
                       workspace, scatter[static_cast<std::size_t>(task / stripes)].data());
      }
    }
    honour_stop();
    for (std::int32_t group = 0; group < groups_; ++group) {
      std::vector<double>& matrix = scatter[static_cast<std::size_t>(group)];
      for (std::int64_t i = 0; i < d_; ++i)
        for (std::int64_t j = 0; j < i; ++j)
          matrix[static_cast<std::size_t>(j * d_ + i)] = matrix[static_cast<std::size_t>(i * d_ + j)];
    }
  }

  /// Adds the rows of a group to the lower triangle of rows [begin, end) of its matrix, four at a time.
  void scatter_stripe(std::int32_t group, std::int64_t begin, std::int64_t end, double* differences, double* matrix) {
    const std::int64_t last = rows_.first[static_cast<std::size_t>(group) + 1];
    const double* const mean = center(group);
    for (std::int64_t row = rows_.first[static_cast<std::size_t>(group)]; row < last; row += 4) {
      if (is_stopped(row & ~std::int64_t{3})) return;
      double weights[4] = {};
      for (std::int64_t one = 0; one < 4; ++one) {
        const bool is_row = row + one < last;
        weights[one] = is_row ? rows_.weight(row + one) : 0;
        for (std::int64_t column = 0; column < end; ++column)
          differences[one * d_ + column] = is_row ? rows_.row(row + one)[column] - mean[column] : 0;
      }
      const double* const t = differences;
      for (std::int64_t i = begin; i < end; ++i) {
        const double a = weights[0] * t[i];
        const double b = weights[1] * t[d_ + i];
        const double c = weights[2] * t[2 * d_ + i];
        const double e = weights[3] * t[3 * d_ + i];
        double* const to = matrix + i * d_;
        for (std::int64_t j = 0; j <= i; ++j)
          to[j] += (a * t[j] + b * t[d_ + j]) + (c * t[2 * d_ + j] + e * t[3 * d_ + j]);
      }
    }
  }

  /// Joins the means and scatter matrices of two nodes. Frees the matrices of the parts.
  void join(std::int64_t index, std::vector<std::vector<double>>& scatter, std::vector<double>& errors,
            std::vector<double>& traces) {
    const auto at = static_cast<std::size_t>(index);
    const auto left = static_cast<std::size_t>(place_at(index).left);
    const auto right = static_cast<std::size_t>(place_at(index).right);
    MeasuredNode& node = nodes_[at];
    node.weight = nodes_[left].weight + nodes_[right].weight;
    double* const mean = center(index);
    const double share = nodes_[right].weight / node.weight;
    const double* const from = center(static_cast<std::int64_t>(left));
    const double* const to = center(static_cast<std::int64_t>(right));
    for (std::int64_t column = 0; column < d_; ++column)
      mean[column] = from[column] + share * (to[column] - from[column]);
    const double error = error_of_sum(rows_.rows() + d_);
    double rest = 0;  // of the weighted sum of both differences, squared
    double lengths = 0;
    for (std::int64_t column = 0; column < d_; ++column) {
      const double sum =
          nodes_[left].weight * (from[column] - mean[column]) + nodes_[right].weight * (to[column] - mean[column]);
      rest += sum * sum;
    }
    scatter[at] = std::move(scatter[left]);
    for (std::size_t element = 0; element < scatter[at].size(); ++element)
      scatter[at][element] += scatter[right][element];
    std::vector<double>().swap(scatter[right]);
    errors[at] = errors[left] + errors[right];
    traces[at] = traces[left] + traces[right];
    for (const std::size_t part : {left, right}) {
      const double* const other = center(static_cast<std::int64_t>(part));
      const double length = std::sqrt(squared_length(other, mean, d_)) * (1 + distance_error_);
      lengths += nodes_[part].weight * length;
      traces[at] += nodes_[part].weight * length * length;
    }
    node.center_error = (std::max(nodes_[left].center_error, nodes_[right].center_error) +
                         (std::sqrt(rest) + error * lengths) / node.weight * (1 + error)) *
                            rounded_up +
                        underflow;
    for (const std::size_t part : {left, right}) {
      const double* const other = center(static_cast<std::int64_t>(part));
      const double weight = nodes_[part].weight;
      const double length = std::sqrt(squared_length(other, mean, d_)) * (1 + distance_error_);
      const double drift = nodes_[part].center_error + node.center_error;
      errors[at] += weight * (2 * length + drift) * drift * rounded_up;
      if (scatter[at].empty()) continue;
      for (std::int64_t i = 0; i < d_; ++i)
        for (std::int64_t j = 0; j < d_; ++j)
          scatter[at][static_cast<std::size_t>(i * d_ + j)] += weight * ((other[i] - mean[i]) * (other[j] - mean[j]));
    }
  }

  /// Returns the measured nodes that hold a group, from the group to the root.
  std::vector<std::int32_t> levels_of(std::int32_t group) const {
    std::vector<std::int32_t> levels;
    for (std::int32_t index = group; index >= 0; index = place_at(index).parent)
      if (nodes_[static_cast<std::size_t>(index)].is_measured) levels.push_back(index);
    return levels;
  }

  /// Sums the costs of all rows, for each node that holds them.
  void measure_rows() {
    std::vector<std::vector<std::int32_t>> levels;
    std::vector<ChunkOfRows> chunks;
    std::size_t sums = 0;
    std::size_t most_levels = 0;
    for (std::int32_t group = 0; group < groups_; ++group) {
      levels.push_back(levels_of(group));
      most_levels = std::max(most_levels, levels.back().size());
      const std::int64_t last = rows_.first[static_cast<std::size_t>(group) + 1];
      for (std::int64_t row = rows_.first[static_cast<std::size_t>(group)]; row < last; row += rows_of_chunk) {
        chunks.push_back({row, std::min(row + rows_of_chunk, last), group, sums});
        sums += levels.back().size();
      }
    }
    std::vector<LevelSums> partial(sums);
    std::vector<RowWorkspace> workspaces(static_cast<std::size_t>(threads_));
    for (RowWorkspace& workspace : workspaces) {
      workspace.others.resize(static_cast<std::size_t>(groups_));
      workspace.gaps.resize(most_levels);
    }
#pragma omp parallel num_threads(threads_)
    {
      RowWorkspace& workspace = workspaces[static_cast<std::size_t>(omp_get_thread_num())];
#pragma omp for schedule(dynamic, 1)
      for (std::int64_t index = 0; index < std::ssize(chunks); ++index) {
        if (stop_.stop_requested()) continue;
        const ChunkOfRows& chunk = chunks[static_cast<std::size_t>(index)];
        measure_chunk(chunk, levels[static_cast<std::size_t>(chunk.group)], workspace, partial.data() + chunk.sums);
      }
    }
    honour_stop();
    for (const ChunkOfRows& chunk : chunks) {
      const std::vector<std::int32_t>& nodes = levels[static_cast<std::size_t>(chunk.group)];
      for (std::size_t level = 0; level < nodes.size(); ++level) {
        MeasuredNode& node = node_at(nodes[level]);
        const LevelSums& add = partial[chunk.sums + level];
        node.kept += add.kept;
        node.magnitude += add.magnitude;
        node.outside += add.outside;
      }
    }
  }

  /// Lists the other groups by ascending distance.
  void list_others(std::int32_t group, const std::vector<std::int32_t>& levels, std::vector<OtherGroup>& others) {
    constexpr double least_squared_distance = 0x1p-900;
    others.clear();
    for (std::int32_t other = 0; other < groups_; ++other) {
      if (other == group) continue;
      OtherGroup found{.group = other};
      const double squares = squared_length(center(group), center(other), d_);
      if (squares >= least_squared_distance) {
        found.half = std::sqrt(squares * (1 - distance_error_)) * 0.5 * rounded_down;
        found.inverse = 0.5 / std::sqrt(squares * (1 + distance_error_)) * rounded_down;
      }
      const std::int32_t place = place_at(other).first;
      while (place < place_at(levels[static_cast<std::size_t>(found.level)]).first ||
             place >= place_at(levels[static_cast<std::size_t>(found.level)]).last)
        ++found.level;
      others.push_back(found);
    }
    std::sort(others.begin(), others.end(), [](const OtherGroup& a, const OtherGroup& b) {
      return a.half < b.half || (!(b.half < a.half) && a.group < b.group);
    });
  }

  void measure_chunk(const ChunkOfRows& chunk, const std::vector<std::int32_t>& levels, RowWorkspace& workspace,
                     LevelSums* sums) {
    list_others(chunk.group, levels, workspace.others);
    std::vector<double>& gaps = workspace.gaps;  // per level: distance to the cells of groups that the level adds
    for (std::int64_t row = chunk.first; row < chunk.last; ++row) {
      const double* const point = rows_.row(row);
      const double squares = squared_length(point, center(chunk.group), d_);
      find_gaps(point, squares, workspace.others, gaps);
      const double weight = rows_.weight(row);
      double gap = infinite;  // to the cells outside of the level's node
      for (std::size_t level = levels.size(); level-- > 0;) {
        const MeasuredNode& node = node_at(levels[level]);
        const double own = level == 0 ? squares : squared_length(point, center(levels[level]), d_);
        const double reach = std::max(std::sqrt(own * (1 - distance_error_)) * rounded_down - node.center_error, 0.0);
        const double away = gap * gap * rounded_down;
        const double cost = std::min(reach * reach * rounded_down, away - node.axis);
        sums[level].kept += weight * cost;
        sums[level].magnitude += weight * std::abs(cost);
        sums[level].outside += gap < infinite ? weight * away : 0;
        gap = std::min(gap, gaps[level]);
      }
    }
  }

  /// Finds lower bounds for the distances to the cells of other groups. A distance beyond which the bound of the
  /// inertia hardly grows is not computed exactly.
  void find_gaps(const double* point, double squares, const std::vector<OtherGroup>& others,
                 std::vector<double>& gaps) {
    std::fill(gaps.begin(), gaps.end(), infinite);
    const double reach = std::sqrt(squares * (1 + distance_error_)) * rounded_up + underflow;
    const double enough = 4 * squares + 64 * mean_spread_;
    for (const OtherGroup& other : others) {
      const double least = (other.half - reach) * rounded_down;
      if (least > 0 && least * least >= enough) {
        for (double& gap : gaps) gap = std::min(gap, least);
        return;
      }
      const double excess =
          squared_length(point, center(other.group), d_) * (1 - distance_error_) - squares * (1 + distance_error_);
      double& gap = gaps[static_cast<std::size_t>(other.level)];
      gap = std::min(gap, std::max(excess * other.inverse * rounded_down, 0.0));
    }
  }

  /// Returns f(j) of a node for j centers, at least 1.
  double direct_cost(const MeasuredNode& node, std::int64_t centers) const {
    const auto split = std::min(static_cast<std::size_t>(centers - 1), node.largest.size() - 1);
    const double kept = node.kept - node.magnitude * error_of_sum(rows_.rows() + 8);
    // The last sum is the trace, unless the node has no scatter matrix: then the trace is a bound for every sum.
    return std::max((kept - node.largest[split]) - (std::abs(kept) + node.largest[split]) * 0x1p-50, 0.0);
  }

  /// Returns the least costs of the centers of both parts.
  std::vector<double> joined_costs(const std::vector<double>& left, const std::vector<double>& right) const {
    const auto at = [](const std::vector<double>& costs, std::size_t centers) {
      return centers < costs.size() ? costs[centers] : 0;
    };
    std::vector<double> joint(std::min(left.size() + right.size(), static_cast<std::size_t>(clusters_) + 1));
    const std::vector<double>& shorter = left.size() < right.size() ? left : right;
    const std::vector<double>& longer = left.size() < right.size() ? right : left;
    for (std::size_t centers = 0; centers < joint.size(); ++centers) {
      double least = infinite;
      for (std::size_t part = 0; part <= std::min(centers, shorter.size()); ++part)
        least = std::min(least, at(shorter, part) + at(longer, centers - part));
      joint[centers] = least;
    }
    return joint;
  }

  GroupBound combine() {
    const auto nodes = static_cast<std::int64_t>(tree_.nodes.size());
    GroupBound bound;
    for (std::int64_t index = 0; index < nodes; ++index) {
      honour_stop();
      const GroupNode& place = place_at(index);
      MeasuredNode& node = node_at(index);
      const bool is_root = index + 1 == nodes;
      if (place.is_leaf()) node.cost.resize(static_cast<std::size_t>(std::min(clusters_, most_centers_of_group)) + 1);
      else {
        node.cost = joined_costs(node_at(place.left).cost, node_at(place.right).cost);
        std::vector<double>().swap(node_at(place.left).cost);
        std::vector<double>().swap(node_at(place.right).cost);
      }
      if (is_root) {
        const auto all = static_cast<std::size_t>(clusters_);
        const double of_groups = place.is_leaf() || all >= node.cost.size() ? 0 : node.cost[all];
        const double spectral = direct_cost(node, clusters_);
        bound.value = std::max(of_groups, spectral);
        bound.is_of_groups = of_groups > spectral;
        break;
      }
      if (!node.is_measured) continue;
      std::vector<double>& cost = node.cost;
      cost[0] = std::max(cost[0], node.outside * (1 - error_of_sum(rows_.rows())));
      for (std::size_t centers = 1; centers < cost.size(); ++centers)
        cost[centers] = std::max(cost[centers], direct_cost(node, static_cast<std::int64_t>(centers)));
      for (std::size_t centers = cost.size() - 1; centers-- > 0;)  // fewer centers cost no less
        cost[centers] = std::max(cost[centers], cost[centers + 1]);
    }
    const double slack = static_cast<double>(rows_.rows()) * static_cast<double>(d_ + 4) * underflow;
    bound.value = std::max(bound.value * (1 - error_of_sum(2 * nodes)) - slack, 0.0);
    return bound;
  }

  const GroupedRows& rows_;
  std::int64_t clusters_;
  bool spectra_;
  int threads_;
  const std::stop_token& stop_;
  std::int64_t d_;
  std::int32_t groups_;
  double distance_error_;  ///< of a squared distance, relative
  double mean_spread_ = 0;
  GroupTree tree_;
  std::vector<MeasuredNode> nodes_;
  std::vector<double> centers_;  ///< one row per node
};

}  // namespace

GroupBound group_bound(const GroupedRows& rows, std::int64_t clusters, int threads, const std::stop_token& stop) {
  if (rows.groups() == 0 || rows.groups() > most_groups || rows.rows() <= clusters) return {};
  // Scatter matrices take most of the time if there are many columns. Clusters that are far apart do not need them.
  constexpr std::int64_t few_columns = 4;
  constexpr double good_enough = 0.99;
  if (rows.columns > few_columns) {
    const GroupBound bound = GroupBoundJob(rows, clusters, false, threads, stop).run();
    if (bound.value > good_enough * bound.inertia) return bound;
  }
  return GroupBoundJob(rows, clusters, true, threads, stop).run();
}

std::uint64_t bytes_of_group_bound(std::int64_t rows, std::int64_t columns, std::int64_t clusters, int threads) {
  const auto d = static_cast<std::uint64_t>(columns);
  const auto groups = static_cast<std::uint64_t>(std::min({rows, clusters, most_groups}));
  const std::uint64_t elements = columns <= most_columns_of_scatter ? groups * d * d : 0;
  const std::uint64_t scatter = elements <= most_elements_of_scatter ? elements + 6 * d * d : 0;
  const std::uint64_t of_groups = groups * (4 * d + 128);
  return (scatter + of_groups + static_cast<std::uint64_t>(threads) * (groups * 4 + 4 * d)) * sizeof(double);
}

}  // namespace gradus::kmeans_detail
