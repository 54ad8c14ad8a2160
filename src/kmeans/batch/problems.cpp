#include "kmeans/batch/problems.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "kmeans/api/estimate.hpp"
#include "kmeans/graph_file.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

void require_cpu_for_batch(const Execution& execution, std::initializer_list<execution::NamedPlace> places) {
  constexpr std::string_view remedy =
      ", but a batch of problems is fitted on the CPU; call kmeans() for each problem on the GPU, or use the CPU";
  for (const execution::NamedPlace& one : places)
    if (!one.place.is_host())
      throw UnsupportedError(about(one.what) + "they are on " + execution::gpu_number(one.place.gpu) +
                             std::string(remedy));
  if (execution.device == Device::gpu || !execution.gpus.empty())
    throw UnsupportedError("a GPU was asked for" + std::string(remedy));
  if (!execution.variant.empty() &&
      core::find_variant(variants(), execution.variant, "kmeans").backend == core::Backend::cuda)
    throw UnsupportedError(about("variant") + "'" + execution.variant + "' runs on a GPU" + std::string(remedy));
}

template <class T>
void BatchProblems<T>::check(const KMeansOptions& options, const Execution& execution) const {
  execution::check_execution(execution);
  const MatrixBatch<MatrixView<const T>>& given = memory.initial_centroids;
  require_cpu_for_batch(execution, {{first.place(), "points"},
                                    {memory.weights.place(), "weights"},
                                    {memory.labels.place(), "labels"},
                                    {given.first.place(), "initial centroids"}});
  if (count < 1)
    throw InputError(about("points") + "the batch has " + std::to_string(count) + " problems; at least one is needed",
                     {.code = error_code::shape_mismatch});
  execution::check_size({count, std::max(stride, -stride), sizeof(double)}, "points");
  execution::check_size({count, std::max(given.stride, -given.stride), sizeof(double)}, "initial centroids");
  check_rows(memory.weights, "weights", memory.weights.rows() == 1 ? 1 : count);
  check_rows(memory.labels, "labels", count);
  if (options.init == KMeansInit::given && given.count != count && given.stride != 0)
    throw InputError(about("initial centroids") + "there are " + std::to_string(given.count) + " matrices for " +
                         std::to_string(count) + " problems; one for each is needed, or one for all",
                     {.code = error_code::shape_mismatch});
  if (!options.checkpoint.file.empty())
    throw UsageError("checkpoint: the file belongs to one fit, but a batch has several; leave it out");
  if (!graph_file(execution).empty())
    throw UsageError("dump_graph: the graph belongs to one fit, but a batch has several; leave it out");
  check_arguments<T>(first, options, memory_of(0), execution, true);
  if (memory.labels.rows() > 0)
    for (std::int64_t problem = 0; problem < count; ++problem) check_apart(problem);
}

template <class T>
template <class Element>
void BatchProblems<T>::check_rows(MatrixView<Element> rows, const char* what, std::int64_t number) const {
  execution::check_view(rows, what);
  if (rows.rows() == 0 || (rows.rows() == number && rows.columns() == first.rows())) return;
  throw InputError(about(what) + "the shape is " + std::to_string(rows.rows()) + " x " +
                       std::to_string(rows.columns()) + ", but " + std::to_string(number) + " x " +
                       std::to_string(first.rows()) + " is needed (problems x points)",
                   {.code = error_code::shape_mismatch});
}

template <class T>
void BatchProblems<T>::check_apart(std::int64_t problem) const {
  const KMeansMemory<T> inputs = memory_of(problem);
  const PointRows<T> points = matrix(problem);
  const std::int64_t row_stride = points.is_stored() ? points.stored().row_stride() : points.shape().row_stride();
  const auto bytes = static_cast<std::size_t>(element_bytes(points));
  if (execution::overlap(execution::facts_of(memory.labels),
                         {points.data(), points.rows(), points.columns(), row_stride, points.place(), bytes, bytes}))
    throw UsageError(about("labels") + "their memory overlaps the memory of the points",
                     {.code = error_code::memory_overlap});
  execution::check_apart(memory.labels, "labels", inputs.weights, "weights");
  execution::check_apart(memory.labels, "labels", inputs.initial_centroids, "initial centroids");
}

template <class T>
KMeansShape BatchProblems<T>::shape() const {
  return {first.rows(), first.columns(), element_bytes(first), memory.weights.rows() > 0};
}

template <class T>
PointRows<T> BatchProblems<T>::matrix(std::int64_t problem) const {
  const std::int64_t offset = problem * stride;
  if constexpr (sizeof(T) == sizeof(float))
    if (first.is_stored()) {
      const StoredMatrixView& stored = first.stored();
      return StoredMatrixView(static_cast<const std::byte*>(stored.data()) + offset * bytes_of(stored.type()),
                              stored.type(), stored.rows(), stored.columns(), stored.row_stride());
    }
  const MatrixView<const T>& rows = first.shape();
  return MatrixView<const T>(rows.data() + offset, rows.rows(), rows.columns(), rows.row_stride());
}

template <class T>
KMeansMemory<T> BatchProblems<T>::memory_of(std::int64_t problem) const {
  const MatrixView<const T>& weights = memory.weights;
  const MatrixView<const T>& given = memory.initial_centroids.first;
  const std::int64_t offset = problem * memory.initial_centroids.stride;
  KMeansMemory<T> one;
  if (given.rows() > 0)
    one.initial_centroids = {given.data() + offset, given.rows(), given.columns(), given.row_stride()};
  if (weights.rows() > 0) one.weights = {weights.row(weights.rows() == 1 ? 0 : problem), weights.columns()};
  if (memory.labels.rows() > 0) one.labels = {memory.labels.row(problem), memory.labels.columns()};
  return one;
}

template struct BatchProblems<float>;
template struct BatchProblems<double>;

}  // namespace gradus::kmeans_detail
