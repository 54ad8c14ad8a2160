// Schedules the fits of a batch: small problems next to each other, large problems one after the other.
#pragma once

#include <cstdint>
#include <functional>

#include "gradus/kmeans.hpp"

namespace gradus::kmeans_detail {

struct BatchSchedule {
  int threads = 1;
  /// Number of problems, at the beginning of the batch, that are fitted on one thread each. The other problems are
  /// fitted after them, one by one on all threads.
  std::int64_t side_by_side = 0;
  std::uint64_t bytes = 0;  ///< host memory of the batch in addition to its input
  Execution on_one_thread;  ///< settings of a fit on one thread
  Execution on_all_threads;
};

/// Schedules a batch of `problems` fits. `shape` is the shape of one problem. Throws the errors of kmeans_memory().
BatchSchedule schedule_of_batch(const KMeansShape& shape, std::int64_t problems, const KMeansOptions& options,
                                const Execution& execution);

/// Calls fit(problem, settings) once for each problem. If calls throw, rethrows the exception of the first problem that
/// failed, and adds `name` and the number of the problem to its message. Reports the number of completed problems.
void run_batch(const BatchSchedule& schedule, std::int64_t problems, const char* name, const Execution& execution,
               const std::function<void(std::int64_t, const Execution&)>& fit);

}  // namespace gradus::kmeans_detail
