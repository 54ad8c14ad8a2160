// The best paths from position 0 to all positions, with a penalty for each step instead of a number of steps.
//
// A step from position i to j costs w(i, j), the cost of the groups between them, plus the penalty. G(j) is the cost of
// the best path to j. The excess of a step is G(i) + w(i, j) + penalty - G(j), and no excess is negative.
//
// Rows of a tile are positions whose best predecessors are all before the tile. Their best predecessors follow by
// divide and conquer, because they do not decrease with the position. Sums over the groups start at the tile and its
// values are offsets from a value there, so that nothing cancels and plain doubles suffice.
//
// Each G is rounded down, so that no excess of a step that was examined is negative, and the excesses of the steps of
// best paths are small. Other excesses are bounded by the quadrangle inequality: for i < i' < j < j',
//
//   excess(i, j') >= excess(i, j) + excess(i', j') - excess(i', j), and
//   excess(i', j) >= excess(i', j') + excess(i, j) - excess(i, j').
//
// If i' is the predecessor of j (or i of j'), the last term is small. One more excess per tile is therefore enough to
// bound all others. A wrong predecessor makes the bound weaker, but never false.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "kmeans/line/row_blocks.hpp"
#include "kmeans/line/values.hpp"

namespace gradus::kmeans_detail {

class RelaxedPaths {
 public:
  RelaxedPaths(const LineSums& sums, const std::stop_token& stop);

  /// Finds the paths. `positions` ascend from 0 to the last position, and the best predecessor of positions[p] is about
  /// positions[from[p]].
  void search(double penalty, std::span<const std::int32_t> positions, std::span<const std::int32_t> from);

  std::int32_t from(std::int32_t position) const { return from_[static_cast<std::size_t>(position)]; }

  /// Returns the positions of the best path, from the last one to 0.
  std::vector<std::int32_t> path() const;

  struct Excess {
    double value;
    double error;
  };
  Excess excess(std::int32_t from, std::int32_t to) const;

  double cost() const { return best_[steps_]; }  ///< of the best path, with its penalties

  /// Bounds of -excess(i, j): for every step, and for the sum over the steps of a path.
  struct Loss {
    double of_step = 0;
    double of_path = 0;
  };
  /// Returns the loss for paths with at most `steps` steps.
  Loss loss(std::int64_t steps) const;

  /// Returns the last predecessor of the last position whose excess may be at most `most`.
  std::int32_t last_from(double most) const;

 private:
  struct Tile {
    std::int32_t before;  ///< the rows are before + 1 to last
    std::int32_t last;
    std::int32_t least;  ///< the candidates
    std::int32_t most;
    double error = 0;         ///< bounds the excesses of the paths, and what other excesses are below 0
    double least_excess = 0;  ///< lower bound of the excess of the step from `least` to `last`

    std::int32_t examined = 0;     ///< no candidate of the last row up to this one is better than its predecessor
    std::int32_t bounded = -1;     ///< some candidate of the last row, or -1
    double excess_of_bounded = 0;  ///< lower bound of the excess of the step from `bounded` to `last`

    /// Returns a bound of the errors of a cost, relative to its sum of squares.
    double rounding() const { return 0x1p-51 * (most - least + last - before + 16); }
  };
  struct Best {
    std::int32_t from;
    double value;
  };

  void solve(Tile& tile);
  double slack(const Tile& tile, std::int32_t from) const;
  void fill(const Tile& tile);
  void fill_rows(const Tile& tile);
  void set(std::int32_t row, Best found);
  double error_of(const Tile& tile) const;
  bool examine(Tile& earlier, const Tile& tile, std::int32_t wanted) const;
  bool has_better_row(const Tile& tile) const;
  void divide(const Tile& tile, std::int32_t first, std::int32_t last, std::int32_t least, std::int32_t most);
  void solve_rows(const Tile& tile, std::int32_t first, std::int32_t last, std::int32_t least, std::int32_t most);
  Candidates candidates(const Tile& tile, std::int32_t least, std::int32_t most) const;
  Best best(const Tile& tile, std::int32_t row, std::int32_t least, std::int32_t most) const;

  const LineSums& sums_;
  const std::stop_token& stop_;
  std::int32_t steps_;
  double penalty_ = 0;
  Buffer<double> best_;
  std::vector<std::int32_t> from_;
  std::vector<Tile> tiles_;

  // Sums over the groups from each candidate to the tile, and from the tile to each row.
  std::vector<double> weight_;
  std::vector<double> sum_;
  std::vector<double> start_;  ///< sum of squares, and the cost of the best path to the candidate with the next penalty
  std::vector<double> row_weight_;
  std::vector<double> row_sum_;
  std::vector<double> row_squares_;
  std::int64_t about_ = 0;     ///< the group whose value is the origin of offsets
  double slack_of_least_ = 0;  ///< bounds of the errors of these sums, for the first candidate and for the others
  double slack_ = 0;
};

}  // namespace gradus::kmeans_detail
