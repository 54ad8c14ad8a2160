// Common code of the CUDA rungs: the matrix of distances on the GPU, and the loop over rounds.
#pragma once

#include "core/phases.hpp"
#include "cuda/check.hpp"
#include "cuda/job.hpp"
#include "cuda/launch.hpp"
#include "cuda/portions.hpp"
#include "shortest_paths/gpu/cuda_limits.hpp"
#include "shortest_paths/problem.hpp"
#include "shortest_paths/textbook.hpp"

namespace gradus::shortest_paths_detail {

/// The padded matrix. Its padding consists of vertices without edges.
template <class T>
struct Grid {
  T* distances;
  std::int64_t n;

  __device__ T load(std::int64_t from, std::int64_t to) const {
    constexpr T none = unreachable<T>();
    return from < n && to < n ? distances[from * n + to] : none;
  }
  __device__ void store(std::int64_t from, std::int64_t to, T value) const {
    if (from < n && to < n) distances[from * n + to] = value;
  }
};

template <class T>
__device__ T shorter(T one, T other) {
  return other < one ? other : one;
}

/// The matrix of a problem on the GPU: N contiguous rows of N elements.
template <class T>
class CudaDistances {
 public:
  /// `job_bytes` is the GPU memory of the job that the rung will use.
  CudaDistances(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases,
                std::uint64_t job_bytes = 0)
      : problem_(problem), execution_(execution), phases_(phases) {
    job().memory().reserve(job_bytes);
  }

  std::int64_t n() const { return problem_.n(); }
  T* data() const { return problem_.distances.data(); }
  Grid<T> grid() const { return {data(), n()}; }
  cuda::Job& job() const { return *problem_.gpu; }
  const cuda::Stream& stream() const { return job().stream(); }

  /// Calls launch(first, number), which queues rounds in the stream, until all `rounds` are done. Long work is divided
  /// into several launches, so that a stop request takes effect soon. `first_portion` is the number of relaxations that
  /// even a slow GPU performs in a tenth of a second.
  template <class Launch>
  void relax(std::int64_t rounds, double first_portion, const Launch& launch) {
    const core::PhaseTimer timer(phases_, "relax");
    if (rounds == 0) return;
    const double of_a_round = problem_.shape().relaxations() / static_cast<double>(rounds);
    cuda::Portions(problem_.stop, first_portion)
        .run(rounds, of_a_round, 1, stream(), [&](std::int64_t first, std::int64_t number) {
          after_step(problem_, execution_, first, rounds);
          launch(first, number);
        });
    stream().wait();
    after_step(problem_, execution_, rounds, rounds);
  }

 private:
  const Problem<T>& problem_;
  const Execution& execution_;
  std::vector<Phase>& phases_;
};

/// Number of relaxations in the first launches of a teaching rung; see CudaDistances::relax().
inline constexpr double teaching_portion = 4e9;

}  // namespace gradus::shortest_paths_detail
