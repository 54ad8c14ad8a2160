#include "kmeans/api/on_gpus.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "execution/gpu_memory.hpp"
#include "gradus/rows_of_rank.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/points/host_copy.hpp"

namespace gradus::kmeans_detail {

namespace {

/// Returns the request without the list of GPUs, for the checks of arguments that precede the split.
Execution on_one_gpu(const Execution& execution) {
  Execution here = execution;
  here.gpus.clear();
  return here;
}

template <class T>
class GpuParts {
 public:
  /// Each GPU gets at least one of `points`, so there are fewer parts than GPUs if there are fewer points.
  GpuParts(MatrixView<const T> points, const Execution& execution)
      : points_(points), execution_(without_surplus(execution, points.rows())), group_(execution_) {}

  /// Returns the part's view of data that has one row or element per point. An empty view stays empty.
  template <class View>
  View part(View whole, int rank) const {
    const RowRange range = rows_of_rank(points_.rows(), rank, group_.size());
    if constexpr (requires { whole.slice(range.first, range.rows); }) return whole.slice(range.first, range.rows);
    else return whole.empty() ? whole : View(whole.data() + range.first, range.rows, whole.place());
  }

  /// Calls call(points, memory, execution, rank) for each part. Returns the results of all parts. Memory for labels
  /// must be in host memory.
  template <class Call>
  auto run(const KMeansMemory<T>& memory, const Call& call) {
    for (const MemoryPlace place : {points_.place(), memory.weights.place()})
      if (!place.is_host()) execution::wait_for_stream(place.gpu, execution_.stream);
    Matrix<T> centroids;
    const MatrixView<const T> initial = in_host_memory(memory.initial_centroids, centroids);
    return group_.run([&](int rank, const Execution& here) {
      const execution::RowsForGpu<T> rows(part(points_, rank), here.gpu);
      const VectorView<const T> weights = part(memory.weights, rank);
      const execution::RowsForGpu<T> weights_there(
          MatrixView<const T>(weights.data(), weights.size(), 1, weights.place()), here.gpu);
      const MatrixView<const T> column = weights_there.view();
      KMeansMemory<T> own = memory;
      own.weights = {column.data(), column.rows(), column.place()};
      own.labels = part(memory.labels, rank);
      own.initial_centroids = initial;
      return call(rows.view(), own, here, rank);
    });
  }

  /// Runs a call whose result has labels, and returns the result of the whole job: everything but the labels is the
  /// same on all parts.
  template <class Call>
  auto run_for_labels(const KMeansMemory<T>& memory, const Call& call) {
    KMeansMemory<T> all = memory;
    const bool has_room = !memory.labels.empty() && memory.labels.place().is_host();
    Buffer<std::int32_t> labels(has_room ? 0 : points_.rows());
    if (!has_room) all.labels = {labels.data(), labels.size()};
    auto results = run(all, call);
    auto& first = results.front();
    double rechecked = 0;
    for (int rank = 0; rank < group_.size(); ++rank)
      rechecked += results[static_cast<std::size_t>(rank)].report.rechecked *
                   static_cast<double>(rows_of_rank(points_.rows(), rank, group_.size()).rows);
    first.report.rechecked = rechecked / static_cast<double>(points_.rows());
    group_.describe(first.report);
    if (memory.labels.empty()) first.labels = std::move(labels);
    else if (!has_room)
      execution::copy_to_gpu(memory.labels.data(), labels.data(), static_cast<std::size_t>(labels.size()) * 4,
                             memory.labels.place().gpu, execution_.stream);
    return std::move(first);
  }

  /// Returns the centroids themselves if they are in host memory, otherwise a copy held by `copy`.
  MatrixView<const T> in_host_memory(MatrixView<const T> centroids, Matrix<T>& copy) const {
    return kmeans_detail::in_host_memory(centroids, "centroids", on_one_gpu(execution_), copy);
  }

  void describe(RunReport& report) const { group_.describe(report); }

 private:
  static Execution without_surplus(Execution execution, std::int64_t rows) {
    if (rows < std::ssize(execution.gpus))
      execution.gpus.resize(static_cast<std::size_t>(std::max<std::int64_t>(rows, 1)));
    return execution;
  }

  MatrixView<const T> points_;
  Execution execution_;
  execution::GpuGroup group_;
};

/// A model whose centroids are in host memory.
template <class T>
class HostModel {
 public:
  HostModel(const KMeansModel<T>& model, const GpuParts<T>& parts) : model_(model) {
    model_.centroids = parts.in_host_memory(model.centroids, copy_);
  }
  HostModel(const HostModel&) = delete;
  HostModel& operator=(const HostModel&) = delete;

  const KMeansModel<T>& model() const { return model_; }

 private:
  KMeansModel<T> model_;
  Matrix<T> copy_;
};

}  // namespace

template <class T>
KMeansResult<T> fit_on_gpus(MatrixView<const T> points, const KMeansOptions& options, const KMeansMemory<T>& memory,
                            const Execution& execution) {
  check_arguments(points, options, memory, on_one_gpu(execution), true);
  GpuParts<T> parts(points, execution);
  return parts.run_for_labels(memory, [&](MatrixView<const T> rows, const KMeansMemory<T>& own, const Execution& here,
                                          int) { return detail::kmeans(rows, options, own, here); });
}

template <class T>
KMeansInitialCentroids<T> initial_centroids_on_gpus(MatrixView<const T> points, const KMeansOptions& options,
                                                    const KMeansMemory<T>& memory, const Execution& execution) {
  check_arguments(points, options, memory, on_one_gpu(execution), true);
  check_no_labels(memory);
  GpuParts<T> parts(points, execution);
  auto results = parts.run(memory, [&](MatrixView<const T> rows, const KMeansMemory<T>& own, const Execution& here,
                                       int) { return detail::kmeans_initial_centroids(rows, options, own, here); });
  parts.describe(results.front().report);
  return std::move(results.front());
}

template <class T>
KMeansPrediction predict_on_gpus(const KMeansModel<T>& model, MatrixView<const T> points, const KMeansMemory<T>& memory,
                                 const Execution& execution, bool needs_labels) {
  check_prediction(model.centroids, points, memory, on_one_gpu(execution));
  if (needs_labels) check_labels(memory.labels, points.rows());
  GpuParts<T> parts(points, execution);
  const HostModel<T> host(model, parts);
  return parts.run_for_labels(memory, [&](MatrixView<const T> rows, const KMeansMemory<T>& own, const Execution& here,
                                          int) { return detail::kmeans_predict(host.model(), rows, own, here); });
}

template <class T>
RunReport transform_on_gpus(const KMeansModel<T>& model, MatrixView<const T> points, MatrixView<T> distances,
                            const Execution& execution) {
  check_model(model.centroids, points, model.metric, on_one_gpu(execution));
  check_distances(model.centroids, points, distances);
  GpuParts<T> parts(points, execution);
  const HostModel<T> host(model, parts);
  auto reports =
      parts.run({}, [&](MatrixView<const T> rows, const KMeansMemory<T>& /*none*/, const Execution& here, int rank) {
        return detail::kmeans_transform(host.model(), rows, parts.part(distances, rank), here);
      });
  parts.describe(reports.front());
  return std::move(reports.front());
}

template <class T>
Matrix<T> transform_on_gpus(const KMeansModel<T>& model, MatrixView<const T> points, const Execution& execution) {
  check_model(model.centroids, points, model.metric, on_one_gpu(execution));
  Matrix<T> distances(points.rows(), model.centroids.rows());
  transform_on_gpus(model, points, distances.view(), execution);
  return distances;
}

#define GRADUS_INSTANTIATE(T)                                                                                   \
  template KMeansResult<T> fit_on_gpus(MatrixView<const T>, const KMeansOptions&, const KMeansMemory<T>&,       \
                                       const Execution&);                                                       \
  template KMeansInitialCentroids<T> initial_centroids_on_gpus(MatrixView<const T>, const KMeansOptions&,       \
                                                               const KMeansMemory<T>&, const Execution&);       \
  template KMeansPrediction predict_on_gpus(const KMeansModel<T>&, MatrixView<const T>, const KMeansMemory<T>&, \
                                            const Execution&, bool);                                            \
  template Matrix<T> transform_on_gpus(const KMeansModel<T>&, MatrixView<const T>, const Execution&);           \
  template RunReport transform_on_gpus(const KMeansModel<T>&, MatrixView<const T>, MatrixView<T>, const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
