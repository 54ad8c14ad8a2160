// Binds bisecting k-means.
#include "gradus/kmeans_bisecting.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "kmeans/options.hpp"

#include "python/bindings/arrays.hpp"
#include "python/bindings/choices.hpp"
#include "python/bindings/execution.hpp"
#include "python/bindings/fields.hpp"
#include "python/bindings/module.hpp"
#include "python/bindings/options.hpp"

namespace gradus::python {

namespace {

/// Returns a function that calls `init` with an array of row numbers, or no function if `init` is None.
template <class T>
KMeansFirstTwo<T> first_two_of(const nb::object& init) {
  if (init.is_none()) return {};
  return [&init](std::span<const std::int64_t> rows) {
    const nb::gil_scoped_acquire acquire;
    const nb::object chosen = init(to_numpy(std::vector<std::int64_t>(rows.begin(), rows.end())));
    return Matrix<T>::copy_of(matrix_of<const T>(nb::cast<Input>(chosen), "init"));
  };
}

Fields bisect(const Input& points, const Output& labels, const std::string& split, const nb::object& init,
              const std::optional<Input>& weights, const OptionValues& given, const Request& request) {
  return with_element_of(points, [&]<class T>(T) {
    const auto options = options_of<KMeansOptions>(given);
    const KMeansMemory<T> memory{.weights = vector_of<T>(weights, "weights"),
                                 .labels = vector_of<std::int32_t>(labels, "labels")};
    const auto view = matrix_of<const T>(points, "points");
    const KMeansFirstTwo<T> first_two = first_two_of<T>(init);
    KMeansBisection<T> found = Job(request).run([&](const Execution& execution) {
      return kmeans_bisecting(view, options, choice<KMeansSplit>("split", split), memory, execution, first_two);
    });
    return Fields(nb::make_tuple(to_numpy(std::move(found.centroids)), found.inertia,
                                 to_numpy(std::move(found.tree.centroids)), to_numpy(std::move(found.tree.next)),
                                 to_python(found.report)));
  });
}

void tree_labels(const Input& centroids, const Input& next, const Input& points, const Output& labels,
                 const Request& request) {
  with_element_of(points, [&]<class T>(T) {
    const auto children = vector_of<const std::int32_t>(next, "next");
    const auto rows = matrix_of<const T>(points, "points");
    const auto tree = matrix_of<const T>(centroids, "centroids");
    const auto out = vector_of<std::int32_t>(labels, "labels");
    const Buffer<std::int32_t> found = Job(request).run([&](const Execution& execution) {
      return detail::kmeans_tree_labels<T>(tree, {children.data(), static_cast<std::size_t>(children.size())}, rows,
                                           execution);
    });
    std::copy_n(found.data(), std::min(found.size(), out.size()), out.data());
  });
}

}  // namespace

void bind_kmeans_bisecting(nb::module_& module) {
  using nb::arg;
  module.def("kmeans_bisecting", &bisect, arg("points"), arg("labels"), arg("split"), arg("init").none(),
             arg("weights").none(), arg("options"), arg("request"));
  module.def("kmeans_tree_labels", &tree_labels, arg("centroids"), arg("next"), arg("points"), arg("labels"),
             arg("request"));
}

}  // namespace gradus::python
