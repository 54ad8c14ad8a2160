// Steps of a call that all public functions share.
#pragma once

#include "execution/report.hpp"
#include "shortest_paths/prepared.hpp"

namespace gradus::shortest_paths_detail {

/// Returns the checked request. `graph` is a matrix or an edge list.
template <class T, class AnyGraph>
Request<T> check(const AnyGraph& graph, const ShortestPathsOptions& options, const ShortestPathsMemory<T>& memory,
                 const Execution& execution) {
  return Request<T>(graph, options, memory, execution);
}

/// Returns the variant that `execution` names. If it names none, returns the best one for the shape and this machine.
inline const Variant& choose(const Shape& shape, const Execution& execution) {
  return execution::choose(variants(), choose, shape, execution, Room::name);
}

/// Runs all steps of a call that follow check().
template <class T>
ShortestPathsResult<T> compute(const Request<T>& request, execution::Timing timing);

}  // namespace gradus::shortest_paths_detail
