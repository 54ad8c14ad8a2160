// Binds KMeansBatches: exact sums over batches of points.
#include "gradus/kmeans_batches.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "python/bindings/arrays.hpp"
#include "python/bindings/choices.hpp"
#include "python/bindings/execution.hpp"
#include "python/bindings/fields.hpp"
#include "python/bindings/module.hpp"

namespace gradus::python {

namespace {

/// KMeansBatches of either element type. Jobs run without the GIL, so a second thread that uses the object at the same
/// time gets a UsageError.
class Batches {
  using Either = std::variant<KMeansBatches<float>, KMeansBatches<double>>;

  template <class Call>
  static auto without_gil(const Call& call) {
    const nb::gil_scoped_release release;
    return call();
  }

  template <class Call>
  auto use(const Call& call) {
    if (in_use_.test_and_set())
      throw UsageError("this KMeansBatches is in use: give each thread its own, and merge() them at the end");
    const struct Release {
      std::atomic_flag& flag;
      ~Release() { flag.clear(); }
    } release{in_use_};
    return std::visit(call, batches_);
  }

 public:
  Batches(const Input& centroids, const std::string& metric)
      : batches_(with_element_of(centroids, [&]<class T>(T) -> Either {
          return KMeansBatches<T>(matrix_of<const T>(centroids, "centroids"), choice<KMeansMetric>("metric", metric));
        })) {}

  /// Restores an object from the bytes that save() returned. `element` is NumPy's name of the element type.
  Batches(const nb::bytes& saved, const std::string& element)
      : batches_([&]() -> Either {
          const std::span bytes(static_cast<const std::byte*>(saved.data()), saved.size());
          if (element == "float32") return KMeansBatches<float>::restore(bytes);
          return KMeansBatches<double>::restore(bytes);
        }()) {}

  nb::bytes save() {
    const std::vector<std::byte> saved =
        use([]<class T>(KMeansBatches<T>& batches) { return without_gil([&] { return batches.save(); }); });
    return nb::bytes(saved.data(), saved.size());
  }

  Fields add(const Input& points, const Output& labels, const std::optional<Input>& weights, const Request& request) {
    return use([&]<class T>(KMeansBatches<T>& batches) -> Fields {
      const auto rows = matrix_of<const T>(points, "points");
      const KMeansMemory<T> memory{.weights = vector_of<T>(weights, "weights"),
                                   .labels = vector_of<std::int32_t>(labels, "labels")};
      const KMeansPrediction result =
          Job(request).run([&](const Execution& execution) { return batches.add(rows, memory, execution); });
      return nb::make_tuple(result.inertia, to_python(result.report));
    });
  }

  void merge(Batches& other) {
    use([&]<class T>(KMeansBatches<T>& batches) {
      other.use([&]<class U>(KMeansBatches<U>& added) {
        if constexpr (std::is_same_v<T, U>) batches.merge(added);
        else throw UsageError("merge(): the two objects have centroids of different element types");
      });
    });
  }

  nb::object means() {
    return use(
        []<class T>(KMeansBatches<T>& batches) { return to_numpy(without_gil([&] { return batches.means(); })); });
  }
  double move() {
    return use([]<class T>(KMeansBatches<T>& batches) { return without_gil([&] { return batches.move(); }); });
  }
  void forget() {
    use([](auto& batches) { batches.forget(); });
  }
  void replace(std::int64_t cluster, const Input& centroid) {
    use([&]<class T>(KMeansBatches<T>& batches) {
      batches.replace(cluster, vector_of<const T>(centroid, "centroid"));
    });
  }

  nb::object centroids() {
    return use([]<class T>(KMeansBatches<T>& batches) { return to_numpy(Matrix<T>::copy_of(batches.centroids())); });
  }
  nb::object counts() {
    return use([](auto& batches) { return to_numpy(std::vector<std::int64_t>(batches.counts())); });
  }
  nb::object weights() {
    return use([](auto& batches) { return to_numpy(batches.weights()); });
  }
  double inertia() {
    return use([](auto& batches) { return batches.inertia(); });
  }

 private:
  Either batches_;
  std::atomic_flag in_use_;
};

}  // namespace

void bind_kmeans_batches(nb::module_& module) {
  using nb::arg;
  nb::class_<Batches>(module, "KMeansBatches")
      .def(nb::init<const Input&, const std::string&>(), arg("centroids"), arg("metric"))
      .def("add", &Batches::add, arg("points"), arg("labels"), arg("weights").none(), arg("request"))
      .def("merge", &Batches::merge, arg("other"))
      .def("means", &Batches::means)
      .def("move", &Batches::move)
      .def("forget", &Batches::forget)
      .def("replace", &Batches::replace, arg("cluster"), arg("centroid"))
      .def("centroids", &Batches::centroids)
      .def("counts", &Batches::counts)
      .def("weights", &Batches::weights)
      .def("inertia", &Batches::inertia)
      .def("save", &Batches::save)
      .def_static(
          "restore", [](const nb::bytes& saved, const std::string& element) { return new Batches(saved, element); },
          arg("saved"), arg("element"), nb::rv_policy::take_ownership);
}

}  // namespace gradus::python
