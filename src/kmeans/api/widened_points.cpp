#include "kmeans/api/widened_points.hpp"

#include "cpu/threads.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/points/host_points.hpp"
#include "kmeans/standardization/standardized_points.hpp"

namespace gradus::kmeans_detail {

WidenedPoints::WidenedPoints(const StoredMatrixView& points, const Execution& execution) {
  check_points<float>(points, execution);
  here_ = beside_copy(points.rows(), points.columns(), sizeof(float), execution);
  rows_ = widened<float>(points, cpu::thread_count(execution), execution.stop);
}

}  // namespace gradus::kmeans_detail
