// The best predecessors of rows of a tile (relaxed_paths.hpp), by vectors.
#pragma once

#include <cstdint>

namespace gradus::kmeans_detail {

inline constexpr std::int64_t rows_together = 8;

/// Sums over the groups from each candidate to the tile. Memory for `rows_together` more numbers follows.
struct Candidates {
  const double* weight;
  const double* sum;
  const double* start;  ///< the sum of squares, and the cost of the best path to the candidate
  std::int64_t count;
};

struct BestCandidate {
  std::int64_t index;
  double value;  ///< the cost of the best path to the row
};

/// Returns the first of the best candidates of a row. The arguments are sums over the groups from the tile to the row.
BestCandidate find_best(const Candidates& candidates, double weight, double sum, double squares);

/// Sums over the groups from the tile to each of `rows_together` rows, and the first of the best candidates of each
/// row.
struct RowBlock {
  const double* weight;
  const double* sum;
  const double* squares;
  double scale;  ///< of the squares, for rounding down
  double index[rows_together];
  double value[rows_together];
};

/// Compares each candidate with each row.
void find_best(const Candidates& candidates, RowBlock& rows);

}  // namespace gradus::kmeans_detail
