// Binds all-pairs shortest paths.
#include "gradus/shortest_paths.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "python/bindings/arrays.hpp"
#include "python/bindings/execution.hpp"
#include "python/bindings/fields.hpp"
#include "python/bindings/module.hpp"
#include "python/bindings/options.hpp"
#include "shortest_paths/options.hpp"

namespace gradus::python {

namespace {

/// Calls run(T{}) for the element type of the weights.
template <class Run>
Fields with_weight_of(const Input& weights, Run run) {
  if (weights.dtype() == nb::dtype<std::int32_t>()) return run(std::int32_t{});
  if (weights.dtype() == nb::dtype<std::int64_t>()) return run(std::int64_t{});
  return with_element_of(weights, run);
}

/// Calls the overload of shortest_paths() for the type of `graph`.
template <class T, class Graph>
Fields paths_of(const Graph& graph, const ShortestPathsOptions& options, const Request& request) {
  ShortestPathsResult<T> result =
      Job(request).run([&](const Execution& execution) { return shortest_paths(graph, options, execution); });
  const nb::object predecessors = options.predecessors ? to_numpy(std::move(result.predecessors)) : nb::none();
  return nb::make_tuple(to_numpy(std::move(result.distances)), predecessors, to_python(result.report));
}

Fields of_matrix(const Input& weights, const OptionValues& given, const Request& request) {
  const auto options = options_of<ShortestPathsOptions>(given);
  return with_weight_of(
      weights, [&]<class T>(T) { return paths_of<T>(matrix_of<const T>(weights, "graph"), options, request); });
}

/// If `compressed` is true, the graph is in CSR form, and `places` holds the start of each row. Otherwise `places`
/// holds the source vertex of each edge.
Fields of_edges(bool compressed, std::int64_t vertices, const Input& places, const Input& targets, const Input& weights,
                const OptionValues& given, const Request& request) {
  const auto options = options_of<ShortestPathsOptions>(given);
  const auto to = vector_of<const std::int32_t>(targets, "graph: columns");
  return with_weight_of(weights, [&]<class T>(T) {
    const auto lengths = vector_of<const T>(weights, "graph: data");
    if (compressed)
      return paths_of<T>(CsrView<T>{vector_of<const std::int64_t>(places, "graph: starts of rows"), to, lengths},
                         options, request);
    return paths_of<T>(EdgeView<T>{vertices, vector_of<const std::int32_t>(places, "graph: rows"), to, lengths},
                       options, request);
  });
}

std::vector<std::int32_t> route(const Input& predecessors, std::int64_t from, std::int64_t to) {
  return shortest_path_route(vector_of<const std::int32_t>(predecessors, "predecessors"), from, to);
}

}  // namespace

void bind_shortest_paths(nb::module_& module) {
  using nb::arg;
  bind_options<ShortestPathsOptions>(module, "shortest_paths_options");
  module.def("shortest_paths", &of_matrix, arg("weights"), arg("options"), arg("request"));
  module.def("shortest_paths_of_edges", &of_edges, arg("compressed"), arg("vertices"), arg("places"), arg("targets"),
             arg("weights"), arg("options"), arg("request"));
  module.def("shortest_path_route", &route, arg("predecessors"), arg("source"), arg("target"));
}

}  // namespace gradus::python
