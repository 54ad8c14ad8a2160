// What the frame of all variants tells those who keep the state of a fit: checkpoint_file.hpp.
#pragma once

#include <span>
#include <vector>

#include "gradus/kmeans.hpp"

namespace gradus::kmeans_detail {

/// A fit after a whole number of iterations. With the exact variants the inertia in `history` is counted as
/// Lloyd::explain() does.
template <class T>
struct FitState {
  Matrix<T> before;     ///< the centroids whose labels the points have; empty before the first iteration
  Matrix<T> centroids;  ///< those of the next pass
  std::vector<KMeansIteration> history;
};

template <class T>
struct FitView {
  MatrixView<const T> before;
  MatrixView<const T> centroids;
  std::span<const KMeansIteration> history;
};

template <class T>
class Checkpoints {
 public:
  Checkpoints() = default;
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;
  virtual ~Checkpoints() = default;

  /// Whether the state is wanted now that so many iterations are done.
  virtual bool is_due(int iterations) const = 0;
  /// How many iterations may be made before anybody asks again: one, of which both sets of centroids are needed, or
  /// those before it.
  virtual int steps_to_make(int iterations) const = 0;
  /// Copies the state, and returns.
  virtual void write(const FitView<T>& fit) = 0;
};

}  // namespace gradus::kmeans_detail
