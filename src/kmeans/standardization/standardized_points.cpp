#include "kmeans/standardization/standardized_points.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/checked.hpp"
#include "core/phases.hpp"
#include "core/text.hpp"
#include "execution/request.hpp"
#include "kmeans/points/host_copy.hpp"
#include "kmeans/standardization/standardization.hpp"

namespace gradus::kmeans_detail {

namespace {

template <class T>
Matrix<T> standardized_copy(const PointRows<T>& rows, const KMeansStandardization& by, int threads,
                            const std::stop_token& stop) {
  Matrix<T> copy(rows.rows(), rows.columns());
  standardize_rows(rows, copy.view(), by, threads, stop);
  return copy;
}

}  // namespace

Execution beside_copy(std::int64_t rows, std::int64_t columns, std::size_t element_bytes, const Execution& execution) {
  const std::uint64_t bytes = core::checked_multiply(static_cast<std::uint64_t>(rows) * element_bytes,
                                                     static_cast<std::uint64_t>(columns), "points");
  Execution left = execution;
  if (left.memory_limit == 0) {
    execution::check_memory(bytes, execution);
    return left;
  }
  if (bytes > left.memory_limit)
    throw OutOfMemoryError("a copy of the points needs " + core::size_text(bytes) +
                           " of memory, but the memory limit allows only " + core::size_text(left.memory_limit));
  left.memory_limit = std::max<std::uint64_t>(1, left.memory_limit - bytes);  // 0 would be no limit
  return left;
}

template <class T>
StandardizedPoints<T>::StandardizedPoints(const PointRows<T>& points, const core::RankRows& rows, const Execution& here)
    : StandardizedPoints(points, KMeansStandardization{}, rows, here) {}

template <class T>
StandardizedPoints<T>::StandardizedPoints(const PointRows<T>& points, KMeansStandardization by,
                                          const core::RankRows& rows, const Execution& here)
    : ranks_(&rows.ranks()), by_(std::move(by)) {
  const auto start = core::Clock::now();
  int threads = 1;
  PointRows<T> from;
  ranks_->agree([&] {
    here_ = beside_copy(points.rows(), points.columns(), sizeof(T), here);
    threads = standardizing_threads(points.rows(), points.columns(), here_);
    from = in_host_memory(points, "points", here_, rows_);
  });
  if (by_.empty()) by_ = standardization_of(from, rows, threads, here_.stop);
  ranks_->agree([&] {
    if (points.place().is_host()) rows_ = standardized_copy(from, by_, threads, here_.stop);
    else standardize_rows(from, rows_.view(), by_, threads, here_.stop);
  });
  seconds_ = core::seconds_since(start);
}

template <class T>
void StandardizedPoints<T>::add_to(RunReport& report) const {
  report.phases.insert(report.phases.begin(), {"standardize", seconds_});
  report.phases.back().seconds += seconds_;  // the last phase is the total
}

template <class T>
KMeansMemory<T> StandardizedPoints<T>::standardized(const KMeansMemory<T>& memory, Matrix<T>& centroids) const {
  KMeansMemory<T> result = memory;
  ranks_->agree([&] {
    if (memory.initial_centroids.rows() == 0) return;
    Matrix<T> copy;
    centroids = standardized_copy<T>(in_host_memory(memory.initial_centroids, "initial centroids", here_, copy), by_, 1,
                                     here_.stop);
    result.initial_centroids = std::as_const(centroids).view();
  });
  return result;
}

template class StandardizedPoints<float>;
template class StandardizedPoints<double>;

KMeansOptions without_standardize(const KMeansOptions& options) {
  KMeansOptions plain = options;
  plain.standardize = false;
  return plain;
}

}  // namespace gradus::kmeans_detail
