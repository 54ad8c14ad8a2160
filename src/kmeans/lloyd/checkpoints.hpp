// The interface with which the driver of all variants saves the state of a fit. checkpoint_file.hpp has the
// implementation.
#pragma once

#include <span>
#include <vector>

#include "gradus/kmeans.hpp"

namespace gradus::kmeans_detail {

/// The state of a fit between two iterations. Exact variants store the inertia in the units of Lloyd::explain().
template <class T>
struct FitState {
  Matrix<T> before;     ///< the centroids that determined the current labels; empty before the first iteration
  Matrix<T> centroids;  ///< the centroids for the next pass
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

  /// Returns true if a checkpoint is due after `iterations` iterations.
  virtual bool is_due(int iterations) const = 0;
  /// Returns how many iterations to run before the next call of is_due(). Returns 1 if a checkpoint follows, because
  /// the checkpoint needs the centroids before and after the last iteration.
  virtual int steps_to_make(int iterations) const = 0;
  /// Copies the state, and returns before it is written to the file.
  virtual void write(const FitView<T>& fit) = 0;
};

}  // namespace gradus::kmeans_detail
