// Splits the rows of a k-means call over several GPUs (Execution::gpus). Each GPU gets consecutive rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "execution/gpu_group.hpp"
#include "execution/gpu_memory.hpp"
#include "gradus/kmeans.hpp"
#include "gradus/rows_of_rank.hpp"
#include "kmeans/points/host_copy.hpp"

namespace gradus::kmeans_detail {

/// Returns the request without its list of GPUs. The arguments are checked with this request before the points are
/// split.
inline Execution on_one_gpu(const Execution& execution) {
  Execution here = execution;
  here.gpus.clear();
  return here;
}

template <class T>
class GpuParts {
 public:
  /// Each GPU gets one part, with at least one point. If there are fewer points than GPUs, some GPUs get no part.
  GpuParts(MatrixView<const T> points, const Execution& execution)
      : points_(points), execution_(without_surplus(execution, points.rows())), group_(execution_) {}

  /// Returns the part of `whole` that belongs to a rank. `whole` has one row or element per point, or is empty.
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

  /// Runs a call whose result has labels, and returns the result of the whole job. Only the labels differ between the
  /// parts.
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

  /// Returns the centroids if they are in host memory. Otherwise copies them to `copy` and returns the copy.
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

}  // namespace gradus::kmeans_detail
