// Schedules the fits of a batch: on the CPU, small problems next to each other, and large problems one after the
// other; on GPUs, a few problems at a time on each GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "gradus/kmeans.hpp"

namespace gradus::kmeans_detail {

struct BatchSchedule {
  int threads = 1;
  /// The settings of each worker. A worker is a thread that fits one problem after the other, alone or with a GPU.
  std::vector<Execution> workers;
  /// Number of problems, at the beginning of the batch, that the workers share. The other problems are fitted after
  /// them, one by one on all threads.
  std::int64_t side_by_side = 0;
  MemoryEstimate memory;  ///< memory of the batch in addition to its input
  Execution on_all_threads;
};

/// Schedules a batch of `problems` fits. `shape` is the shape of one problem, with the place of the points. Throws
/// the errors of kmeans_memory().
BatchSchedule schedule_of_batch(const KMeansShape& shape, std::int64_t problems, const KMeansOptions& options,
                                const Execution& execution);

/// Calls fit(problem, settings) once for each problem. If calls throw, rethrows the exception of the first problem that
/// failed, and adds `name` and the number of the problem to its message. Reports the number of completed problems.
void run_batch(const BatchSchedule& schedule, std::int64_t problems, const char* name, const Execution& execution,
               const std::function<void(std::int64_t, const Execution&)>& fit);

}  // namespace gradus::kmeans_detail
