// kmeans_standardization(): computes the mean and scale of each column.
#include "kmeans/standardization/standardization.hpp"
#include "core/text.hpp"
#include "execution/whole_call.hpp"
#include "kmeans/kmeans.hpp"
#include "kmeans/points/host_copy.hpp"
#include "kmeans/ranks.hpp"
#include "kmeans/standardization/standardized_points.hpp"

namespace gradus {

namespace room = kmeans_detail;

namespace detail {

template <class T>
KMeansStandardization kmeans_standardization(MatrixView<const T> points, const Execution& execution) {
  constexpr const char* name = "kmeans_standardization";
  return execution::whole_call<T>(name, execution, [&](const Execution& request, core::Ranks& ranks) {
    ranks.agree([&] {
      execution::check_execution(request, execution::SupportsRanks::yes);
      room::check_points<T>(points, request);
    });
    const execution::NamedPlace places[] = {{points.place(), "points"}};
    const auto text = [&] { return core::call_line("call", std::string(name)); };
    const room::JobPlace place = room::place_of_job<T>(ranks, points, places, text, request, room::RunsVariant::no);
    Matrix<T> copy;
    MatrixView<const T> own;
    const int threads = ranks.agree([&] {
      if (!points.place().is_host()) room::beside_copy(points.rows(), points.columns(), sizeof(T), place.here);
      own = room::in_host_memory(points, "points", place.here, copy);
      return room::standardizing_threads(own.rows(), own.columns(), place.here);
    });
    return room::standardization_of<T>(own, place.rows, threads, place.here.stop);
  });
}

template KMeansStandardization kmeans_standardization(MatrixView<const float>, const Execution&);
template KMeansStandardization kmeans_standardization(MatrixView<const double>, const Execution&);

}  // namespace detail
}  // namespace gradus
