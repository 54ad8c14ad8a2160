// What all CUDA rungs share: the matrix of distances on the GPU, brought there and back, and the loop over rounds.
#pragma once

#include <memory>

#include "core/phases.hpp"
#include "cuda/check.hpp"
#include "cuda/job.hpp"
#include "cuda/launch.hpp"
#include "cuda/portions.hpp"
#include "execution/gpu_job.hpp"
#include "shortest_paths/gpu/cuda_limits.hpp"
#include "shortest_paths/problem.hpp"
#include "shortest_paths/textbook.hpp"

namespace gradus::shortest_paths_detail {

/// The matrix, as if there were vertices without edges beyond its border.
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

/// The lesser of two.
template <class T>
__device__ T shorter(T one, T other) {
  return other < one ? other : one;
}

/// The matrix of a problem on the GPU, N rows of N elements without anything between them.
template <class T>
class CudaDistances {
 public:
  /// Brings it there. `job_bytes`: of the job's memory there, beside the matrix.
  CudaDistances(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases,
                std::uint64_t job_bytes = 0)
      : problem_(problem), execution_(execution), phases_(phases) {
    const core::PhaseTimer timer(phases_, "to_device");
    job_ = execution::start_gpu_job(execution, matrix_bytes(n(), sizeof(T)) + job_bytes);
    data_ = job_->memory().template take<T>(n() * n());
    job_->copy_here(MatrixView<const T>(problem_.distances), data_);
  }

  std::int64_t n() const { return problem_.n(); }
  T* data() const { return data_; }
  Grid<T> grid() const { return {data_, n()}; }
  cuda::Job& job() const { return *job_; }
  const cuda::Stream& stream() const { return job_->stream(); }

  /// Calls launch(first, number), which puts rounds into the stream, until there were `rounds` of them; long work is
  /// cut where a stop request is honoured. `first_portion`: relaxations that even a slow GPU does in a tenth of a
  /// second.
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

  /// Copies the matrix back to where the problem has it.
  Solved finish() {
    const core::PhaseTimer timer(phases_, "to_host");
    job_->copy_back(MatrixView<const T>(data_, n(), n(), job_->place()), problem_.distances);
    return {};
  }

 private:
  const Problem<T>& problem_;
  const Execution& execution_;
  std::vector<Phase>& phases_;
  std::shared_ptr<cuda::Job> job_;
  T* data_ = nullptr;
};

/// Relaxations of the first launches of a teaching rung; see CudaDistances::relax().
inline constexpr double teaching_portion = 4e9;

}  // namespace gradus::shortest_paths_detail
