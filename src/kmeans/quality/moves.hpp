// Moves that improve a finished fit (KMeansOptions::quality). A move replaces some centroids (swaps.hpp) or searches
// locally (transfers.hpp), fits again from there, and is kept if the exact inertia is smaller.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kmeans/checkpoint/move_state.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

/// Returns true if the options ask for moves.
bool asks_for_moves(const KMeansOptions& options);
/// Throws UsageError or UnsupportedError if moves cannot be combined with other arguments.
void check_moves(const KMeansOptions& options, const Execution& execution);

/// The calls of a job around its moves.
template <class T>
struct MoveCalls {
  /// Fits from the given centroids. The object is notified of each iteration.
  std::function<KMeansResult<T>(MatrixView<const T>, Checkpoints<T>&)> fit;
  std::function<void()> after_move;  ///< called after each move
};

/// Makes moves until `options.quality_moves` are made or, with `options.quality`, until they have taken
/// `state.budget` seconds. `best` is the finished fit, or the best clustering after the moves in `state`. After an
/// InterruptedError, `best` and `state` describe the last complete move. Collective.
template <class T>
void improve(const Problem<T>& problem, const KMeansOptions& options, const Execution& execution,
             const MoveCalls<T>& calls, MoveState& state, KMeansResult<T>& best, std::vector<Phase>& phases);

/// Returns the bytes that moves need in addition to a fit.
std::uint64_t move_bytes(const Shape& shape, int threads);

}  // namespace gradus::kmeans_detail
