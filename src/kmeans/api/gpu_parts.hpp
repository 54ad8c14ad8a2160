// Splits the rows of a k-means call over several GPUs (Execution::gpus). Each GPU gets consecutive rows, more of them
// if it is faster or has more memory. If the caller has split the rows, the CPU can work on the parts, too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "execution/gpu_group.hpp"
#include "execution/gpu_memory.hpp"
#include "execution/request.hpp"
#include "gradus/kmeans.hpp"
#include "gradus/rows_of_rank.hpp"
#include "kmeans/gpu/limits.hpp"
#include "kmeans/points/host_copy.hpp"
#include "kmeans/points/point_rows.hpp"

namespace gradus::kmeans_detail {

template <class T>
class GpuParts {
 public:
  /// Each part has at least one point. If there are fewer points than GPUs, some GPUs get no part. Throws
  /// OutOfMemoryError if a GPU has no room for its part.
  GpuParts(const PointRows<T>& points, const Execution& execution, const execution::PartMemory& needed)
      : execution_(without_surplus(execution, points.rows())), group_(execution_),
        ranges_(group_.divide(points.rows(), [&](std::size_t part, std::int64_t rows) {
          return rows > most_points_on_gpu ? std::numeric_limits<std::uint64_t>::max() : needed(part, rows);
        })) {
    for (int rank = 0; rank < group_.size(); ++rank) parts_.push_back(part(points, rank));
  }
  /// The parts exist already, one for each GPU. Without GPUs, the CPU works on all parts. No part may be empty.
  GpuParts(const std::vector<MatrixView<const T>>& parts, const Execution& execution)
      : execution_(execution), group_(execution_, static_cast<int>(parts.size())), parts_(parts.begin(), parts.end()) {
    std::int64_t first = 0;
    for (const PointRows<T>& part : parts_) {
      ranges_.push_back({first, part.rows()});
      first += part.rows();
    }
  }

  /// Returns the part of `whole` that belongs to a rank. `whole` has one row or element per point, or is empty.
  template <class View>
  View part(View whole, int rank) const {
    const RowRange& range = ranges_[static_cast<std::size_t>(rank)];
    if constexpr (requires { whole.slice(range.first, range.rows); }) return whole.slice(range.first, range.rows);
    else return whole.empty() ? whole : View(whole.data() + range.first, range.rows, whole.place());
  }

  /// Calls call(points, memory, execution, rank) for each part. Returns the results of all parts. Memory for labels
  /// must be in host memory.
  template <class Call>
  auto run(const KMeansMemory<T>& memory, const Call& call) {
    std::vector<execution::NamedPlace> places{{memory.weights.place(), "weights"}};
    for (const PointRows<T>& part : parts_) places.push_back({part.place(), "points"});
    execution::wait_for_data(places, execution_);
    Matrix<T> centroids;
    const MatrixView<const T> initial = in_host_memory(memory.initial_centroids, centroids);
    return group_.run([&](int rank, const Execution& here) {
      const PointRows<T>& points = parts_[static_cast<std::size_t>(rank)];
      const execution::RowsForGpu<T> rows(points.shape(), here.gpu);
      const execution::ElementsForGpu<T> weights(part(memory.weights, rank), here.gpu);
      KMeansMemory<T> own = memory;
      own.weights = weights.view();
      own.labels = part(memory.labels, rank);
      own.initial_centroids = initial;
      return call(points.is_stored() ? points : PointRows<T>(rows.view()), own, here, rank);
    });
  }

  /// Runs a call whose result has labels, and returns the result of the whole job. Only the labels differ between the
  /// parts.
  template <class Call>
  auto run_for_labels(const KMeansMemory<T>& memory, const Call& call) {
    KMeansMemory<T> all = memory;
    const bool has_room = !memory.labels.empty() && memory.labels.place().is_host();
    Buffer<std::int32_t> labels(has_room ? 0 : rows());
    if (!has_room) all.labels = {labels.data(), labels.size()};
    auto results = run(all, call);
    auto& first = results.front();
    double rechecked = 0;
    for (int rank = 0; rank < group_.size(); ++rank)
      rechecked += results[static_cast<std::size_t>(rank)].report.rechecked *
                   static_cast<double>(ranges_[static_cast<std::size_t>(rank)].rows);
    first.report.rechecked = rechecked / static_cast<double>(rows());
    group_.describe(first.report);
    if (memory.labels.empty()) first.labels = std::move(labels);
    else if (!has_room)
      execution::copy_to_gpu(memory.labels.data(), labels.data(), static_cast<std::size_t>(labels.size()) * 4,
                             memory.labels.place().gpu, execution_.stream);
    return std::move(first);
  }

  /// Returns the centroids if they are in host memory. Otherwise copies them to `copy` and returns the copy.
  MatrixView<const T> in_host_memory(MatrixView<const T> centroids, Matrix<T>& copy) const {
    return kmeans_detail::in_host_memory(centroids, "centroids", execution::on_first_gpu(execution_), copy);
  }

  void describe(RunReport& report) const { group_.describe(report); }

 private:
  std::int64_t rows() const { return ranges_.back().first + ranges_.back().rows; }

  static Execution without_surplus(Execution execution, std::int64_t rows) {
    if (rows < std::ssize(execution.gpus))
      execution.gpus.resize(static_cast<std::size_t>(std::max<std::int64_t>(rows, 1)));
    return execution;
  }

  Execution execution_;
  execution::GpuGroup group_;
  std::vector<RowRange> ranges_;
  std::vector<PointRows<T>> parts_;
};

/// Returns a lower bound of the GPU memory of a part that compares points with the centroids of a model.
/// `element_bytes`: bytes of an element of the points.
template <class T>
execution::PartMemory memory_of_model_parts(MatrixView<const T> centroids, int element_bytes = sizeof(T)) {
  return [centroids, element_bytes](std::size_t /*part*/, std::int64_t rows) {
    return static_cast<std::uint64_t>(rows * element_bytes + centroids.rows() * static_cast<std::int64_t>(sizeof(T))) *
           static_cast<std::uint64_t>(centroids.columns());
  };
}

}  // namespace gradus::kmeans_detail
