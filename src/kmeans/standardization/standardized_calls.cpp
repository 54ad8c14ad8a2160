// The public calls that standardize: a copy of the points by standardization.hpp, and the call without
// KMeansOptions::standardize on it.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/checked.hpp"
#include "core/phases.hpp"
#include "core/text.hpp"
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "gradus/kmeans.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/points/host_copy.hpp"
#include "kmeans/standardization/standardization.hpp"
#include "kmeans/standardization/standardized_points.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace kmeans_detail {

namespace {

/// The request, without the memory of a copy of the points. OutOfMemoryError unless that leaves some.
Execution beside_copy(std::int64_t rows, std::int64_t columns, std::size_t element_bytes, const Execution& execution) {
  const std::uint64_t bytes = core::checked_multiply(static_cast<std::uint64_t>(rows) * element_bytes,
                                                     static_cast<std::uint64_t>(columns), "points");
  Execution left = execution;
  if (left.memory_limit == 0) {
    execution::check_memory(bytes, execution);
    return left;
  }
  if (bytes >= left.memory_limit)
    throw OutOfMemoryError("a standardized copy of the points needs " + core::size_text(bytes) +
                           " of memory, but the memory limit allows only " + core::size_text(left.memory_limit));
  left.memory_limit -= bytes;
  return left;
}

template <class T>
Matrix<T> standardized_copy(MatrixView<const T> rows, const KMeansStandardization& by, int threads,
                            const std::stop_token& stop) {
  Matrix<T> copy(rows.rows(), rows.columns());
  standardize_rows(rows, copy.view(), by, threads, stop);
  return copy;
}

template <class T>
Execution checked_points(MatrixView<const T> points, const Execution& execution) {
  execution::check_execution(execution);
  execution::check_extent(points, "points");
  if (points.rows() < 1 || points.columns() < 1)
    throw InputError(about("points") + "at least one row and one column are needed, not " +
                     std::to_string(points.rows()) + " x " + std::to_string(points.columns()));
  return execution::run_where_it_lies(points.place(), "points", execution);
}

}  // namespace

void check_standardization(const KMeansStandardization& by, std::int64_t columns) {
  if (std::ssize(by.mean) != columns || std::ssize(by.scale) != columns)
    throw UsageError(about("standardization") + "there are " + std::to_string(by.mean.size()) + " means and " +
                     std::to_string(by.scale.size()) + " scales for " + std::to_string(columns) +
                     " columns; one of each is needed for each column");
  for (std::size_t column = 0; column < by.mean.size(); ++column)
    if (!std::isfinite(by.mean[column]) || !std::isfinite(by.scale[column]) || !(by.scale[column] > 0))
      throw UsageError(about("standardization") + "column " + std::to_string(column) + " (counted from 0) has mean " +
                       std::to_string(by.mean[column]) + " and scale " + std::to_string(by.scale[column]) +
                       "; a finite mean and a positive scale are needed");
}

template <class T>
StandardizedPoints<T>::StandardizedPoints(MatrixView<const T> points, const Execution& execution)
    : StandardizedPoints(points, KMeansStandardization{}, execution) {}

template <class T>
StandardizedPoints<T>::StandardizedPoints(MatrixView<const T> points, KMeansStandardization by,
                                          const Execution& execution)
    : here_(beside_copy(points.rows(), points.columns(), sizeof(T),
                        execution::run_where_it_lies(points.place(), "points", execution))),
      by_(std::move(by)) {
  const auto start = core::Clock::now();
  const int threads = standardizing_threads(points.rows(), points.columns(), here_);
  const MatrixView<const T> rows = in_host_memory(points, "points", here_, rows_);
  if (by_.empty()) by_ = standardization_of(rows, threads, here_.stop);
  if (points.place().is_host()) rows_ = standardized_copy(rows, by_, threads, here_.stop);
  else standardize_rows(rows, rows_.view(), by_, threads, here_.stop);
  seconds_ = core::seconds_since(start);
}

template <class T>
void StandardizedPoints<T>::add_to(RunReport& report) const {
  report.phases.insert(report.phases.begin(), {"standardize", seconds_});
  report.phases.back().seconds += seconds_;  // the total
}

template <class T>
KMeansMemory<T> StandardizedPoints<T>::standardized(const KMeansMemory<T>& memory, Matrix<T>& centroids) const {
  KMeansMemory<T> result = memory;
  if (memory.initial_centroids.rows() == 0) return result;
  Matrix<T> copy;
  centroids =
      standardized_copy(in_host_memory(memory.initial_centroids, "initial centroids", here_, copy), by_, 1, here_.stop);
  result.initial_centroids = std::as_const(centroids).view();
  return result;
}

template <class T>
KMeansResult<T> StandardizedPoints<T>::fit(const KMeansOptions& options, const KMeansMemory<T>& memory,
                                           const Execution& here) const {
  KMeansOptions plain = options;
  plain.standardize = false;
  Matrix<T> centroids;
  KMeansResult<T> result = detail::kmeans<T>(rows(), plain, standardized(memory, centroids), here);
  add_to(result.report);
  result.standardization = by_;
  result.standardized_centroids = std::move(result.centroids);
  result.centroids = restored(std::as_const(result.standardized_centroids).view(), by_);
  return result;
}

template <class T>
KMeansInitialCentroids<T> StandardizedPoints<T>::first_centroids(const KMeansOptions& options,
                                                                 const KMeansMemory<T>& memory) const {
  KMeansOptions plain = options;
  plain.standardize = false;
  Matrix<T> centroids;
  return detail::kmeans_initial_centroids<T>(rows(), plain, standardized(memory, centroids), here_);
}

template <class T>
KMeansResult<T> fit_standardized(MatrixView<const T> points, const KMeansOptions& options,
                                 const KMeansMemory<T>& memory, const Execution& execution) {
  const StandardizedPoints<T> standardized(points, execution);
  return standardized.fit(options, memory, standardized.here());
}

template <class T>
KMeansInitialCentroids<T> first_centroids_standardized(MatrixView<const T> points, const KMeansOptions& options,
                                                       const KMeansMemory<T>& memory, const Execution& execution) {
  const StandardizedPoints<T> standardized(points, execution);
  KMeansInitialCentroids<T> first = standardized.first_centroids(options, memory);
  Matrix<T> copy;
  if (options.init == KMeansInit::given)
    first.centroids =
        Matrix<T>::copy_of(in_host_memory(memory.initial_centroids, "initial centroids", standardized.here(), copy));
  for (std::size_t cluster = 0; cluster < first.rows.size(); ++cluster) {
    const MatrixView<const T> row =
        in_host_memory(points.slice(first.rows[cluster], 1), "points", standardized.here(), copy);
    std::copy_n(row.row(0), row.columns(), first.centroids.row(static_cast<std::int64_t>(cluster)));
  }
  standardized.add_to(first.report);
  return first;
}

}  // namespace kmeans_detail

namespace detail {

template <class T>
KMeansStandardization kmeans_standardization(MatrixView<const T> points, const Execution& execution) {
  return execution::whole_call([&] {
    const Execution here = room::checked_points(points, execution);
    Matrix<T> copy;
    if (!points.place().is_host()) room::beside_copy(points.rows(), points.columns(), sizeof(T), here);
    const MatrixView<const T> rows = room::in_host_memory(points, "points", here, copy);
    return room::standardization_of(rows, room::standardizing_threads(rows.rows(), rows.columns(), here), here.stop);
  });
}

template <class T>
Matrix<T> kmeans_standardize(MatrixView<const T> points, const KMeansStandardization& by, const Execution& execution) {
  return execution::whole_call([&] {
    room::checked_points(points, execution);
    room::check_standardization(by, points.columns());
    return std::move(room::StandardizedPoints<T>(points, by, execution)).take();
  });
}

template <class T>
Matrix<T> kmeans_restore(MatrixView<const T> rows, const KMeansStandardization& by) {
  return execution::whole_call([&] {
    execution::check_extent(rows, "rows");
    if (!rows.place().is_host())
      throw UnsupportedError(about("rows") + "they are on " + execution::gpu_number(rows.place().gpu) +
                             ", but rows are restored on the CPU; copy them to host memory");
    room::check_standardization(by, rows.columns());
    return room::restored(rows, by);
  });
}

template <class T>
KMeansPrediction kmeans_predict(const KMeansModel<T>& model, MatrixView<const T> points, const KMeansMemory<T>& memory,
                                const Execution& execution) {
  if (model.standardization.empty())
    return detail::kmeans_predict<T>(model.centroids, points, memory, model.metric, execution);
  return execution::whole_call([&] {
    execution::check_execution(execution);
    room::check_prediction(model.centroids, points, memory, execution);
    room::check_model(model.centroids, points, model.metric, execution);
    room::check_standardization(model.standardization, model.centroids.columns());
    const room::StandardizedPoints<T> standardized(points, model.standardization, execution);
    KMeansPrediction result =
        detail::kmeans_predict<T>(model.centroids, standardized.rows(), memory, model.metric, standardized.here());
    standardized.add_to(result.report);
    return result;
  });
}

template <class T>
Matrix<T> kmeans_transform(const KMeansModel<T>& model, MatrixView<const T> points, const Execution& execution) {
  if (model.standardization.empty())
    return detail::kmeans_transform<T>(model.centroids, points, model.metric, execution);
  return execution::whole_call([&] {
    execution::check_execution(execution);
    room::check_model(model.centroids, points, model.metric, execution);
    room::check_standardization(model.standardization, model.centroids.columns());
    const room::StandardizedPoints<T> standardized(points, model.standardization, execution);
    return detail::kmeans_transform<T>(model.centroids, standardized.rows(), model.metric, standardized.here());
  });
}

template <class T>
RunReport kmeans_transform(const KMeansModel<T>& model, MatrixView<const T> points, MatrixView<T> distances,
                           const Execution& execution) {
  if (model.standardization.empty())
    return detail::kmeans_transform<T>(model.centroids, points, distances, model.metric, execution);
  return execution::whole_call([&] {
    execution::check_execution(execution);
    room::check_model(model.centroids, points, model.metric, execution);
    room::check_distances(model.centroids, points, distances);
    room::check_standardization(model.standardization, model.centroids.columns());
    const room::StandardizedPoints<T> standardized(points, model.standardization, execution);
    RunReport report =
        detail::kmeans_transform<T>(model.centroids, standardized.rows(), distances, model.metric, standardized.here());
    standardized.add_to(report);
    return report;
  });
}

}  // namespace detail

#define GRADUS_INSTANTIATE(T)                                                                                          \
  template class kmeans_detail::StandardizedPoints<T>;                                                                 \
  template KMeansResult<T> kmeans_detail::fit_standardized(MatrixView<const T>, const KMeansOptions&,                  \
                                                           const KMeansMemory<T>&, const Execution&);                  \
  template KMeansInitialCentroids<T> kmeans_detail::first_centroids_standardized(                                      \
      MatrixView<const T>, const KMeansOptions&, const KMeansMemory<T>&, const Execution&);                            \
  template KMeansStandardization detail::kmeans_standardization(MatrixView<const T>, const Execution&);                \
  template Matrix<T> detail::kmeans_standardize(MatrixView<const T>, const KMeansStandardization&, const Execution&);  \
  template Matrix<T> detail::kmeans_restore(MatrixView<const T>, const KMeansStandardization&);                        \
  template KMeansPrediction detail::kmeans_predict(const KMeansModel<T>&, MatrixView<const T>, const KMeansMemory<T>&, \
                                                   const Execution&);                                                  \
  template Matrix<T> detail::kmeans_transform(const KMeansModel<T>&, MatrixView<const T>, const Execution&);           \
  template RunReport detail::kmeans_transform(const KMeansModel<T>&, MatrixView<const T>, MatrixView<T>,               \
                                              const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus
