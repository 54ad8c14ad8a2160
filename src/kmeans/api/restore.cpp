// kmeans_restore(): converts standardized rows to the units of the data.
#include "execution/request.hpp"
#include "execution/whole_call.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/standardization/standardization.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace detail {

template <class T>
Matrix<T> kmeans_restore(MatrixView<const T> rows, const KMeansStandardization& by) {
  return execution::whole_call([&] {
    execution::check_extent(rows, "rows", room::most_points);
    if (!rows.place().is_host())
      throw UnsupportedError(about("rows") + "they are on " + execution::gpu_number(rows.place().gpu) +
                             ", but rows are restored on the CPU; copy them to host memory");
    room::check_standardization(by, rows.columns());
    return room::restored(rows, by);
  });
}

template Matrix<float> kmeans_restore(MatrixView<const float>, const KMeansStandardization&);
template Matrix<double> kmeans_restore(MatrixView<const double>, const KMeansStandardization&);

}  // namespace detail
}  // namespace gradus
