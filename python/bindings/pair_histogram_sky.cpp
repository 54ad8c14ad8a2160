// Binds pair counts along a line of sight.
#include <nanobind/stl/optional.h>

#include "gradus/pair_histogram_counts.hpp"
#include "pair_histogram/sky/options.hpp"
#include "python/bindings/arrays.hpp"
#include "python/bindings/execution.hpp"
#include "python/bindings/fields.hpp"
#include "python/bindings/module.hpp"
#include "python/bindings/options.hpp"

namespace gradus::python {

namespace {

/// Returns (counts, weighted, region counts, weighted region counts, rows, columns, pairs, report).
Fields count(const Input& points, const std::optional<Input>& others, const std::optional<Input>& weights,
             const std::optional<Input>& other_weights, const std::optional<Input>& regions,
             const std::optional<Input>& other_regions, const OptionValues& given, const Request& request) {
  return with_element_of(points, [&]<class T>(T) -> Fields {
    const auto options = options_of<PairCountsOptions>(given);
    const auto view = matrix_of<const T>(points, "points");
    PairCountsMemory<T> memory;
    memory.others = matrix_of<T>(others, "others");
    memory.weights = vector_of<T>(weights, "weights");
    memory.other_weights = vector_of<T>(other_weights, "other_weights");
    memory.regions = vector_of<std::int32_t>(regions, "regions");
    memory.other_regions = vector_of<std::int32_t>(other_regions, "other_regions");
    PairCountsResult result =
        Job(request).run([&](const Execution& execution) { return pair_counts(view, options, memory, execution); });
    return nb::make_tuple(to_numpy(std::move(result.counts)), to_numpy(std::move(result.weighted)),
                          to_numpy(std::move(result.region_counts)), to_numpy(std::move(result.region_weighted)),
                          result.rows, result.columns, result.pairs, to_python(result.report));
  });
}

}  // namespace

void bind_pair_counts(nb::module_& module) {
  using nb::arg;
  bind_options<PairCountsOptions>(module, "pair_counts_options");
  module.def("pair_counts", &count, arg("points"), arg("others").none(), arg("weights").none(),
             arg("other_weights").none(), arg("regions").none(), arg("other_regions").none(), arg("options"),
             arg("request"));
  module.def(
      "sky_vectors",
      [](const Input& directions) { return to_numpy(sky_vectors(matrix_of<const double>(directions, "points"))); },
      arg("directions"));
}

}  // namespace gradus::python
