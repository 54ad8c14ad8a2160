// kmeans_standardize(): returns a standardized copy of points.
#include <utility>

#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/standardization/standardized_points.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace detail {

template <class T>
Matrix<T> kmeans_standardize(MatrixView<const T> points, const KMeansStandardization& by, const Execution& execution) {
  return execution::whole_call([&] {
    execution::check_execution(execution);
    room::check_points<T>(points, execution);
    room::check_standardization(by, points.columns());
    const Execution here = execution::run_on_gpu_of(points.place(), "points", execution);
    return room::StandardizedPoints<T>(points, by, core::RankRows(points.rows()), here).take();
  });
}

template Matrix<float> kmeans_standardize(MatrixView<const float>, const KMeansStandardization&, const Execution&);
template Matrix<double> kmeans_standardize(MatrixView<const double>, const KMeansStandardization&, const Execution&);

}  // namespace detail
}  // namespace gradus
