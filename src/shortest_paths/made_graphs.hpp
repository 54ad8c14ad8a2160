// Generated graphs. Each edge is a function of the seed and of its position, so graphs depend neither on the number of
// threads nor on the machine.
#pragma once

#include <bit>
#include <cstdint>

#include "core/philox.hpp"

namespace gradus::shortest_paths_detail {

struct MadeEdge {
  std::int64_t from = 0;  ///< `from` and `to` are counted from 0
  std::int64_t to = 0;
  std::int64_t weight = 0;
};

/// Integers distributed uniformly in [least, greatest].
struct WeightRange {
  std::int64_t least = 1;
  std::int64_t greatest = 1000;

  std::int64_t draw(const core::Philox& random, std::uint64_t index) const {
    return least + static_cast<std::int64_t>(random.below(index, static_cast<std::uint64_t>(greatest - least) + 1));
  }
};

/// A grid of crossings with roads to all neighbours. Each road has the same length in both directions.
struct RoadGrid {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  WeightRange lengths = {};
  std::uint64_t seed = 0;

  std::int64_t vertices() const { return rows * columns; }
  std::int64_t edges() const { return vertices() == 0 ? 0 : 2 * (rows * (columns - 1) + columns * (rows - 1)); }

  /// Calls use(edge) for the edges from a vertex, in ascending order of the vertices to which they lead.
  template <class Use>
  void edges_from(std::int64_t vertex, const Use& use) const {
    constexpr std::uint64_t stream = 22;
    const core::Philox random(seed, stream);
    const std::int64_t row = vertex / columns;
    const std::int64_t column = vertex % columns;
    const auto to_right = [&](std::int64_t left) { return lengths.draw(random, static_cast<std::uint64_t>(left) * 2); };
    const auto down = [&](std::int64_t above) {
      return lengths.draw(random, static_cast<std::uint64_t>(above) * 2 + 1);
    };
    if (row > 0) use(MadeEdge{vertex, vertex - columns, down(vertex - columns)});
    if (column > 0) use(MadeEdge{vertex, vertex - 1, to_right(vertex - 1)});
    if (column + 1 < columns) use(MadeEdge{vertex, vertex + 1, to_right(vertex)});
    if (row + 1 < rows) use(MadeEdge{vertex, vertex + columns, down(vertex)});
  }
};

/// Distinct edges between different vertices, drawn at random from all pairs.
struct RandomEdges {
  std::int64_t vertices = 0;
  std::int64_t edges = 0;  ///< at most most_edges()
  WeightRange weights = {};
  /// If true, each vertex has a height up to the greatest weight, and the weight of an edge includes the difference of
  /// heights. Some weights are then negative, but no cycle is, and the shortest routes are the same as without heights.
  bool climbs = false;
  std::uint64_t seed = 0;

  static std::int64_t most_edges(std::int64_t vertices) { return vertices == 0 ? 0 : vertices * (vertices - 1); }

  MadeEdge edge(std::int64_t index) const {
    constexpr std::uint64_t weight_stream = 24;
    constexpr std::uint64_t height_stream = 25;
    const std::uint64_t pair = pair_of(static_cast<std::uint64_t>(index));
    const auto others = static_cast<std::uint64_t>(vertices - 1);
    MadeEdge made{static_cast<std::int64_t>(pair / others), static_cast<std::int64_t>(pair % others), 0};
    if (made.to >= made.from) ++made.to;
    made.weight = weights.draw(core::Philox(seed, weight_stream), static_cast<std::uint64_t>(index));
    const WeightRange heights{0, weights.greatest};
    const core::Philox random(seed, height_stream);
    if (climbs)
      made.weight += heights.draw(random, static_cast<std::uint64_t>(made.to)) -
                     heights.draw(random, static_cast<std::uint64_t>(made.from));
    return made;
  }

 private:
  /// Returns element `index` of a permutation of all pairs. The permutation is a Feistel network on the numbers below a
  /// power of four, repeated until the result is a valid pair (cycle walking). The result is then a permutation of the
  /// valid pairs.
  std::uint64_t pair_of(std::uint64_t index) const {
    constexpr std::uint64_t stream = 23;
    constexpr std::uint64_t rounds = 4;
    const core::Philox random(seed, stream);
    const auto pairs = static_cast<std::uint64_t>(most_edges(vertices));
    const int half = (std::bit_width(pairs - 1) + 1) / 2;
    const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
    do {
      std::uint64_t high = index >> half;
      std::uint64_t low = index & mask;
      for (std::uint64_t round = 0; round < rounds; ++round) {
        const std::uint64_t next = high ^ (random.bits(low << 2 | round) & mask);
        high = low;
        low = next;
      }
      index = high << half | low;
    } while (index >= pairs);
    return index;
  }
};

}  // namespace gradus::shortest_paths_detail
