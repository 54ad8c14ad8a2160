// kmeans_batch(): independent fits to matrices of one shape.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "core/phases.hpp"
#include "core/stop.hpp"
#include "cpu/threads.hpp"
#include "execution/gpu_group.hpp"
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "gradus/kmeans_batch.hpp"
#include "kmeans/api/kmeans_of.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/problems/problems.hpp"
#include "kmeans/problems/schedule.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace {

/// Returns true if each fit reads a copy of its rows without gaps. The rows of a group of columns have all other
/// columns between them, so every iteration would read one or two cache lines for each row. Without memory for the
/// copies, the fits read the rows in place.
template <class T>
bool copies_rows(const room::BatchProblems<T>& problems, const room::BatchSchedule& schedule,
                 const KMeansOptions& options, const Execution& execution) {
  const room::PointRows<T>& rows = problems.first;
  if (options.max_iterations < 2 || !room::gpus_of_batch(execution, rows.place()).empty() || rows.is_stored() ||
      rows.shape().row_stride() == rows.columns())
    return false;
  const std::uint64_t at_once = std::max<std::uint64_t>(1, schedule.workers.size());
  return execution::has_memory(
      schedule.memory.host + at_once * static_cast<std::uint64_t>(rows.rows() * rows.columns()) * sizeof(T), execution);
}

/// Copies rows. After a stop request, the copy is incomplete.
template <class T>
Matrix<T> copy_of_rows(const room::PointRows<T>& rows, const Execution& execution) {
  const std::int64_t threads = cpu::thread_count(execution);
  const std::int64_t chunk = core::chunk_length(rows.rows(), rows.columns(), static_cast<int>(threads));
  Matrix<T> copy(rows.rows(), rows.columns());
#pragma omp parallel for num_threads(static_cast <int>(threads)) schedule(static)
  for (std::int64_t first = 0; first < rows.rows(); first += chunk)
    if (!execution.stop.stop_requested()) rows.copy(first, std::min(chunk, rows.rows() - first), copy.row(first));
  return copy;
}

/// Fits all problems. `name` is the word for a problem in messages.
template <class T>
KMeansBatchResult<T> fit_problems(const room::BatchProblems<T>& problems, const char* name,
                                  const KMeansOptions& options, const Execution& execution) {
  const auto start = core::Clock::now();
  room::check_batch(problems.all_memory(), options, execution);
  room::check_arguments<T>(problems.first, options, problems.memory_of(0), execution::on_first_gpu(execution), true);
  const room::BatchSchedule schedule = room::schedule_of_batch(problems.shape(), problems.count, options, execution);
  execution::check_memory(schedule.memory.host, execution, "fit fewer problems in a call");
  const bool copies = copies_rows(problems, schedule, options, execution);
  KMeansBatchResult<T> result;
  result.problems.resize(static_cast<std::size_t>(problems.count));
  room::run_batch(schedule, problems.count, name, execution, [&](std::int64_t problem, const Execution& here) {
    room::PointRows<T> rows = problems.matrix(problem);
    Matrix<T> copy;
    if (copies) rows = std::as_const(copy = copy_of_rows(rows, here)).view();
    result.problems[static_cast<std::size_t>(problem)] =
        room::kmeans_of(rows, options, problems.memory_of(problem), here);
  });
  for (const KMeansResult<T>& one : result.problems)
    result.report.rechecked += one.report.rechecked / static_cast<double>(problems.count);
  result.report.variant = result.problems.front().report.variant;
  result.report.device = result.problems.front().report.device;
  result.report.threads = schedule.threads;
  core::add_phase(result.report.phases, "total", core::seconds_since(start));
  return result;
}

template <class T, class View>
KMeansBatchResult<T> fit_batch(const MatrixBatch<View>& points, const KMeansOptions& options,
                               const KMeansBatchMemory<T>& memory, const Execution& execution) {
  return execution::whole_call(execution, [&](const Execution& here) {
    return fit_problems<T>({points.first, points.stride, points.count, memory}, points.name, options, here);
  });
}

}  // namespace

KMeansBatchResult<float> kmeans_batch(const MatrixBatch<StoredMatrixView>& points, const KMeansOptions& options,
                                      const KMeansBatchMemory<float>& memory, const Execution& execution) {
  return fit_batch<float>(points, options, memory, execution);
}

MatrixBatch<StoredMatrixView> column_groups(const StoredMatrixView& rows, std::int64_t groups) {
  const std::int64_t columns = detail::columns_of_group(rows.columns(), groups);
  return {
      {rows.data(), rows.type(), rows.rows(), columns, rows.row_stride(), rows.place()}, groups, columns, "subspace"};
}

MemoryEstimate kmeans_batch_memory(const KMeansShape& shape, std::int64_t problems, const KMeansOptions& options,
                                   const Execution& execution) {
  execution::check_execution(execution::on_first_gpu(execution));
  if (problems < 1) throw UsageError("a batch has at least one problem, not " + std::to_string(problems));
  return room::schedule_of_batch(shape, problems, options, execution).memory;
}

namespace detail {

std::int64_t columns_of_group(std::int64_t columns, std::int64_t groups) {
  if (groups < 1 || columns % groups != 0)
    throw UsageError(about("subspaces") + std::to_string(groups) + ", but the " + std::to_string(columns) +
                         " columns must form groups of equal size; give a divisor of " + std::to_string(columns),
                     {.code = error_code::out_of_range,
                      .argument = "subspaces",
                      .value = std::to_string(groups),
                      .allowed = "a divisor of " + std::to_string(columns)});
  return columns / groups;
}

template <class T>
KMeansBatchResult<T> kmeans_batch(const MatrixBatch<MatrixView<const T>>& points, const KMeansOptions& options,
                                  const KMeansBatchMemory<T>& memory, const Execution& execution) {
  return fit_batch<T>(points, options, memory, execution);
}
template KMeansBatchResult<float> kmeans_batch(const MatrixBatch<MatrixView<const float>>&, const KMeansOptions&,
                                               const KMeansBatchMemory<float>&, const Execution&);
template KMeansBatchResult<double> kmeans_batch(const MatrixBatch<MatrixView<const double>>&, const KMeansOptions&,
                                                const KMeansBatchMemory<double>&, const Execution&);

}  // namespace detail

}  // namespace gradus
