// The progress of the moves that improve a finished fit (quality/moves.hpp).
#pragma once

#include <cstdint>
#include <vector>

namespace gradus::kmeans_detail {

/// The state of the search. Together with the best clustering so far, it determines all further moves.
struct MoveState {
  std::int64_t moves = 0;            ///< number of moves so far
  std::int64_t breadth = 0;          ///< largest number of swaps of the next move; 0: not set yet
  bool swaps_failed = false;         ///< the last swaps failed
  bool transfers_failed = false;     ///< no transfers until a move is kept
  std::vector<std::int64_t> closed;  ///< clusters in which no row is drawn until a move is kept, in ascending order
  double budget = 0;                 ///< with KMeansOptions::quality: the seconds that moves may take
  double spent = 0;                  ///< the seconds that moves have taken
  double total = 0;                  ///< explained and unexplained inertia of any clustering, scaled; 0: not known
};

}  // namespace gradus::kmeans_detail
