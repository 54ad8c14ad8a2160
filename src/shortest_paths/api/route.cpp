// shortest_route()
#include <utility>

#include "gradus/shortest_paths.hpp"
#include "shortest_paths/api/steps.hpp"

namespace gradus::detail {

namespace room = shortest_paths_detail;

namespace {

/// Returns a request for the row of distances from the first vertex of the route.
template <class T, class Edges>
room::Request<T> check(const Edges& edges, std::int64_t from, std::int64_t to, const ShortestPathsOptions& options,
                       const Execution& execution) {
  if (!options.sources.empty()) throw UsageError(about("sources") + "a route has one, its first vertex");
  ShortestPathsOptions of_row = options;
  of_row.sources = {from, to};  // check() examines both vertices because both are sources
  of_row.predecessors = true;
  room::Request<T> request = room::check<T>(edges, of_row, {}, execution);
  request.options.sources.pop_back();
  request.target = to;
  return request;
}

template <class T>
ShortestRoute<T> deliver(ShortestPathsResult<T> row, std::int64_t from, std::int64_t to) {
  ShortestRoute<T> route;
  route.vertices = shortest_path_route(
      VectorView<const std::int32_t>(row.predecessors.row(0), row.predecessors.columns()), from, to);
  route.distance = row.distances(0, to);
  route.report = std::move(row.report);
  return route;
}

template <class T, class Edges>
ShortestRoute<T> find_route(const Edges& edges, std::int64_t from, std::int64_t to, const ShortestPathsOptions& options,
                            const Execution& execution) {
  const execution::Timing timing;
  return deliver(room::compute(check<T>(edges, from, to, options, execution), timing), from, to);
}

}  // namespace

template <class T>
ShortestRoute<T> shortest_route(MatrixView<const T> weights, std::int64_t from, std::int64_t to,
                                const ShortestPathsOptions& options, const Execution& execution) {
  return find_route<T>(weights, from, to, options, execution);
}
template <class T>
ShortestRoute<T> shortest_route(const EdgeView<T>& edges, std::int64_t from, std::int64_t to,
                                const ShortestPathsOptions& options, const Execution& execution) {
  return find_route<T>(edges, from, to, options, execution);
}
template <class T>
ShortestRoute<T> shortest_route(const CsrView<T>& edges, std::int64_t from, std::int64_t to,
                                const ShortestPathsOptions& options, const Execution& execution) {
  return find_route<T>(edges, from, to, options, execution);
}

#define GRADUS_INSTANTIATE(T)                                                                                          \
  template ShortestRoute<T> shortest_route(MatrixView<const T>, std::int64_t, std::int64_t,                            \
                                           const ShortestPathsOptions&, const Execution&);                             \
  template ShortestRoute<T> shortest_route(const EdgeView<T>&, std::int64_t, std::int64_t,                             \
                                           const ShortestPathsOptions&, const Execution&);                             \
  template ShortestRoute<T> shortest_route(const CsrView<T>&, std::int64_t, std::int64_t, const ShortestPathsOptions&, \
                                           const Execution&)
GRADUS_INSTANTIATE(std::int32_t);
GRADUS_INSTANTIATE(std::int64_t);
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::detail
