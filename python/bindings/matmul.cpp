// gradus.matmul.
#include "gradus/matmul.hpp"

#include <nanobind/stl/string.h>

#include "python/bindings/arrays.hpp"
#include "python/bindings/choices.hpp"
#include "python/bindings/execution.hpp"
#include "python/bindings/module.hpp"

namespace gradus::python {

namespace {

/// One matrix, or a batch of them.
template <class T, class Array>
MatmulView<T> matrices_of(const Array& array, const char* what) {
  const std::size_t batch = array.ndim() == 3 ? 1 : 0;
  if (array.ndim() != 2 + batch || array.dtype() != nb::dtype<std::remove_const_t<T>>())
    throw UsageError(std::string(what) + ": neither matrices of that element type nor one");
  const MatmulView<T> first(static_cast<T*>(array.data()), static_cast<std::int64_t>(array.shape(batch)),
                            static_cast<std::int64_t>(array.shape(batch + 1)), array.stride(batch),
                            array.stride(batch + 1), place_of(array.device_type(), array.device_id()));
  return batch == 0 ? first : first.batch(static_cast<std::int64_t>(array.shape(0)), array.stride(0));
}

Fields multiply(const Input& a, const Input& b, const Output& out, const std::string& accuracy,
                const Request& request) {
  constexpr std::array<std::string_view, 4> names{"automatic", "strict", "split", "fast"};
  const MatmulOptions options{.accuracy = choice<MatmulAccuracy>("accuracy", accuracy, names)};
  return with_element_of(a, [&]<class A>(A) {
    return with_element_of(b, [&]<class B>(B) {
      using T = std::common_type_t<A, B>;
      const auto left = matrices_of<const A>(a, "a");
      const auto right = matrices_of<const B>(b, "b");
      const MatmulMemory<T> memory{.product = matrices_of<T>(out, "out")};
      return to_python(
          Job(request)
              .run([&](const Execution& execution) { return matmul(left, right, options, memory, execution); })
              .report);
    });
  });
}

}  // namespace

void bind_matmul(nb::module_& module) {
  using nb::arg;
  module.def("matmul", &multiply, arg("a"), arg("b"), arg("out"), arg("accuracy"), arg("request"));
}

}  // namespace gradus::python
