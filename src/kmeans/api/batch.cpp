// kmeans_batch(): independent fits to matrices of one shape.
#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "core/phases.hpp"
#include "execution/whole_call.hpp"
#include "gradus/kmeans_batch.hpp"
#include "kmeans/api/deliver.hpp"
#include "kmeans/api/estimate.hpp"
#include "kmeans/batch/schedule.hpp"
#include "kmeans/graph_file.hpp"
#include "kmeans/kmeans.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace {

void require_cpu(const Execution& execution, std::initializer_list<execution::NamedPlace> places) {
  constexpr std::string_view remedy =
      ", but a batch of problems is fitted on the CPU; call kmeans() for each problem on the GPU, or use the CPU";
  for (const execution::NamedPlace& one : places)
    if (!one.place.is_host())
      throw UnsupportedError(about(one.what) + "they are on " + execution::gpu_number(one.place.gpu) +
                             std::string(remedy));
  if (execution.device == Device::gpu || !execution.gpus.empty())
    throw UnsupportedError("a GPU was asked for" + std::string(remedy));
  if (!execution.variant.empty() &&
      core::find_variant(room::variants(), execution.variant, "kmeans").backend == core::Backend::cuda)
    throw UnsupportedError(about("variant") + "'" + execution.variant + "' runs on a GPU" + std::string(remedy));
}

template <class T>
class Batch {
 public:
  Batch(const room::PointRows<T>& first, std::int64_t stride, std::int64_t problems, const char* name,
        const KMeansOptions& options, const KMeansBatchMemory<T>& memory, const Execution& execution)
      : first_(first), stride_(stride), problems_(problems), name_(name), options_(options), memory_(memory),
        execution_(execution) {}

  KMeansBatchResult<T> run() {
    const auto start = core::Clock::now();
    check();
    const KMeansShape shape{first_.rows(), first_.columns(), room::element_bytes(first_), memory_.weights.rows() > 0};
    const room::BatchSchedule schedule = room::schedule_of_batch(shape, problems_, options_, execution_);
    execution::check_memory(schedule.bytes, execution_, "fit fewer problems in a call");
    KMeansBatchResult<T> result;
    result.problems.resize(static_cast<std::size_t>(problems_));
    {
      const core::PhaseTimer timer(result.report.phases, "fit");
      room::run_batch(schedule, problems_, name_, execution_, [&](std::int64_t problem, const Execution& here) {
        result.problems[static_cast<std::size_t>(problem)] = fit(problem, here);
      });
    }
    report(result, schedule.threads, start);
    return result;
  }

 private:
  void check() const {
    execution::check_execution(execution_);
    const MatrixBatch<MatrixView<const T>>& given = memory_.initial_centroids;
    require_cpu(execution_, {{first_.place(), "points"},
                             {memory_.weights.place(), "weights"},
                             {memory_.labels.place(), "labels"},
                             {given.first.place(), "initial centroids"}});
    if (problems_ < 1)
      throw InputError(
          about("points") + "the batch has " + std::to_string(problems_) + " problems; at least one is needed",
          {.code = error_code::shape_mismatch});
    execution::check_size({problems_, std::max(stride_, -stride_), sizeof(double)}, "points");
    execution::check_size({problems_, std::max(given.stride, -given.stride), sizeof(double)}, "initial centroids");
    check_rows(memory_.weights, "weights", memory_.weights.rows() == 1 ? 1 : problems_);
    check_rows(memory_.labels, "labels", problems_);
    if (options_.init == KMeansInit::given && given.count != problems_ && given.stride != 0)
      throw InputError(about("initial centroids") + "there are " + std::to_string(given.count) + " matrices for " +
                           std::to_string(problems_) + " problems; one for each is needed, or one for all",
                       {.code = error_code::shape_mismatch});
    if (!options_.checkpoint.file.empty())
      throw UsageError("checkpoint: the file belongs to one fit, but a batch has several; leave it out");
    if (!room::graph_file(execution_).empty())
      throw UsageError("dump_graph: the graph belongs to one fit, but a batch has several; leave it out");
    room::check_arguments<T>(first_, options_, memory_of(0), execution_, true);
    if (memory_.labels.rows() > 0)
      for (std::int64_t problem = 0; problem < problems_; ++problem) check_apart(problem);
  }

  template <class Element>
  void check_rows(MatrixView<Element> rows, const char* what, std::int64_t count) const {
    execution::check_view(rows, what);
    if (rows.rows() == 0 || (rows.rows() == count && rows.columns() == first_.rows())) return;
    throw InputError(about(what) + "the shape is " + std::to_string(rows.rows()) + " x " +
                         std::to_string(rows.columns()) + ", but " + std::to_string(count) + " x " +
                         std::to_string(first_.rows()) + " is needed (problems x points)",
                     {.code = error_code::shape_mismatch});
  }

  /// Throws UsageError if labels of any problem overlap the inputs of this problem.
  void check_apart(std::int64_t problem) const {
    const KMeansMemory<T> inputs = memory_of(problem);
    const room::PointRows<T> points = matrix(problem);
    const std::int64_t row_stride = points.is_stored() ? points.stored().row_stride() : points.shape().row_stride();
    const auto bytes = static_cast<std::size_t>(room::element_bytes(points));
    if (execution::overlap(execution::facts_of(memory_.labels),
                           {points.data(), points.rows(), points.columns(), row_stride, points.place(), bytes, bytes}))
      throw UsageError(about("labels") + "their memory overlaps the memory of the points",
                       {.code = error_code::memory_overlap});
    execution::check_apart(memory_.labels, "labels", inputs.weights, "weights");
    execution::check_apart(memory_.labels, "labels", inputs.initial_centroids, "initial centroids");
  }

  room::PointRows<T> matrix(std::int64_t problem) const {
    const std::int64_t offset = problem * stride_;
    if constexpr (sizeof(T) == sizeof(float))
      if (first_.is_stored()) {
        const StoredMatrixView& stored = first_.stored();
        return StoredMatrixView(static_cast<const std::byte*>(stored.data()) + offset * bytes_of(stored.type()),
                                stored.type(), stored.rows(), stored.columns(), stored.row_stride());
      }
    const MatrixView<const T>& rows = first_.shape();
    return MatrixView<const T>(rows.data() + offset, rows.rows(), rows.columns(), rows.row_stride());
  }

  KMeansMemory<T> memory_of(std::int64_t problem) const {
    const MatrixView<const T>& weights = memory_.weights;
    const MatrixView<const T>& given = memory_.initial_centroids.first;
    const std::int64_t offset = problem * memory_.initial_centroids.stride;
    KMeansMemory<T> memory;
    if (given.rows() > 0)
      memory.initial_centroids = {given.data() + offset, given.rows(), given.columns(), given.row_stride()};
    if (weights.rows() > 0) memory.weights = {weights.row(weights.rows() == 1 ? 0 : problem), weights.columns()};
    if (memory_.labels.rows() > 0) memory.labels = {memory_.labels.row(problem), memory_.labels.columns()};
    return memory;
  }

  KMeansResult<T> fit(std::int64_t problem, const Execution& here) const {
    const room::PointRows<T> points = matrix(problem);
    if constexpr (sizeof(T) == sizeof(float))
      if (points.is_stored()) return kmeans(points.stored(), options_, memory_of(problem), here);
    return detail::kmeans<T>(points.shape(), options_, memory_of(problem), here);
  }

  void report(KMeansBatchResult<T>& result, int threads, core::Clock::time_point start) const {
    RunReport& report = result.report;
    for (const KMeansResult<T>& one : result.problems)
      report.rechecked += one.report.rechecked / static_cast<double>(problems_);
    report.variant = result.problems.front().report.variant;
    report.device = result.problems.front().report.device;
    report.threads = threads;
    room::finish_report(report, std::move(report.phases), start);
  }

  const room::PointRows<T> first_;
  const std::int64_t stride_;
  const std::int64_t problems_;
  const char* const name_;
  const KMeansOptions& options_;
  const KMeansBatchMemory<T>& memory_;
  const Execution& execution_;
};

template <class T, class View>
KMeansBatchResult<T> fit_batch(const MatrixBatch<View>& points, const KMeansOptions& options,
                               const KMeansBatchMemory<T>& memory, const Execution& execution) {
  return execution::whole_call(execution, [&](const Execution& here) {
    return Batch<T>(points.first, points.stride, points.count, points.name, options, memory, here).run();
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
  execution::check_execution(execution);
  require_cpu(execution, {{shape.place, "points"}});
  if (problems < 1) throw UsageError("a batch has at least one problem, not " + std::to_string(problems));
  return {.host = room::schedule_of_batch(shape, problems, options, execution).bytes};
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
