// Calls on several GPUs (Execution::gpus). Each GPU gets consecutive rows and makes the same call with them, as one of
// several ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "execution/gpu_group.hpp"
#include "gradus/kmeans.hpp"
#include "gradus/rows_of_rank.hpp"

namespace gradus::kmeans_detail {

template <class T>
class GpuParts {
 public:
  /// Each GPU gets at least one of `points`, so there are fewer parts than GPUs if there are fewer points.
  GpuParts(MatrixView<const T> points, const Execution& execution)
      : points_(points), execution_(without_surplus(execution, points.rows())), group_(execution_) {}

  /// Returns the request without the list of GPUs, for the checks of arguments that precede the split.
  static Execution on_one_gpu(const Execution& execution) {
    Execution here = execution;
    here.gpus.clear();
    return here;
  }

  /// Returns the part's view of data that has one row or element per point. An empty view stays empty.
  template <class View>
  View part(View whole, int rank) const {
    const RowRange range = rows_of_rank(points_.rows(), rank, group_.size());
    if constexpr (requires { whole.slice(range.first, range.rows); }) return whole.slice(range.first, range.rows);
    else return whole.empty() ? whole : View(whole.data() + range.first, range.rows, whole.place());
  }

  /// Calls call(points, memory, execution, rank) for each part. Returns the results of all parts.
  template <class Call>
  auto run(const KMeansMemory<T>& memory, const Call& call) {
    return group_.run([&](int rank, const Execution& here) {
      KMeansMemory<T> own = memory;
      own.weights = part(memory.weights, rank);
      own.labels = part(memory.labels, rank);
      return call(part(points_, rank), own, here, rank);
    });
  }

  /// Runs a call whose result has labels, and returns the result of the whole job: everything but the labels is the
  /// same on all parts.
  template <class Call>
  auto run_for_labels(const KMeansMemory<T>& memory, const Call& call) {
    KMeansMemory<T> all = memory;
    Buffer<std::int32_t> labels(memory.labels.empty() ? points_.rows() : 0);
    if (memory.labels.empty()) all.labels = {labels.data(), labels.size()};
    auto results = run(all, call);
    auto& first = results.front();
    double rechecked = 0;
    for (int rank = 0; rank < group_.size(); ++rank)
      rechecked += results[static_cast<std::size_t>(rank)].report.rechecked *
                   static_cast<double>(rows_of_rank(points_.rows(), rank, group_.size()).rows);
    first.report.rechecked = rechecked / static_cast<double>(points_.rows());
    group_.describe(first.report);
    first.labels = std::move(labels);
    return std::move(first);
  }

  void describe(RunReport& report) const { group_.describe(report); }

 private:
  static Execution without_surplus(Execution execution, std::int64_t rows) {
    if (rows < std::ssize(execution.gpus)) execution.gpus.resize(static_cast<std::size_t>(std::max<std::int64_t>(rows, 1)));
    return execution;
  }

  MatrixView<const T> points_;
  Execution execution_;
  execution::GpuGroup group_;
};

}  // namespace gradus::kmeans_detail
