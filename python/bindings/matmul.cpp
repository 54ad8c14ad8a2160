// Binds matrix multiplication.
#include "gradus/matmul.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "matmul/options.hpp"
#include "python/bindings/arrays.hpp"
#include "python/bindings/execution.hpp"
#include "python/bindings/fields.hpp"
#include "python/bindings/library.hpp"
#include "python/bindings/module.hpp"
#include "python/bindings/options.hpp"

namespace gradus::python {

namespace {

/// Views a two-dimensional array as a matrix, or a three-dimensional array as a batch of matrices.
template <class T, class Array>
MatmulView<T> matrices_of(const Array& array, const char* what) {
  const std::size_t batch = array.ndim() == 3 ? 1 : 0;
  if (array.ndim() != 2 + batch || array.dtype() != nb::dtype<std::remove_const_t<T>>())
    throw UsageError(about(what) + "neither a matrix nor a batch of matrices of the needed element type");
  const MatmulView<T> first(static_cast<T*>(array.data()), static_cast<std::int64_t>(array.shape(batch)),
                            static_cast<std::int64_t>(array.shape(batch + 1)), array.stride(batch),
                            array.stride(batch + 1), place_of(array.device_type(), array.device_id()));
  return batch == 0 ? first : first.batch(static_cast<std::int64_t>(array.shape(0)), array.stride(0));
}

/// Returns (product, report). The product stacks the matrices of a batch vertically. The product is None if `out` is
/// given.
Fields multiply(const Input& a, const Input& b, const std::optional<Output>& out, const OptionValues& given,
                const Request& request) {
  const auto options = options_of<MatmulOptions>(given);
  return with_element_of(a, [&]<class A>(A) {
    return with_element_of(b, [&]<class B>(B) -> Fields {
      using T = std::common_type_t<A, B>;
      const auto left = matrices_of<const A>(a, "a");
      const auto right = matrices_of<const B>(b, "b");
      MatmulMemory<T> memory;
      if (out) memory.product = matrices_of<T>(*out, "out");
      MatmulResult<T> result =
          Job(request).run([&](const Execution& execution) { return matmul(left, right, options, memory, execution); });
      const nb::object product = out ? nb::none() : to_numpy(std::move(result.product));
      return nb::make_tuple(product, to_python(result.report));
    });
  });
}

/// Throws OutOfMemoryError if the memory does not suffice for the job and for another `beyond` bytes, which Python
/// allocates for results.
void check_memory(std::int64_t batches, std::int64_t rows, std::int64_t depth, std::int64_t columns, int element_bytes,
                  std::uint64_t beyond, const Request& request) {
  const MatmulShape shape{
      .rows = rows, .columns = columns, .depth = depth, .batches = batches, .element_bytes = element_bytes};
  const Execution& execution = request.execution;
  check_host_memory(matmul_memory(shape, {.beta = 1}, execution).host + beyond, execution);
}

}  // namespace

void bind_matmul(nb::module_& module) {
  using nb::arg;
  module.def("matmul", &multiply, arg("a"), arg("b"), arg("out").none(), arg("options"), arg("request"));
  bind_options<MatmulOptions>(module, "matmul_options");
  module.def("matmul_check_memory", &check_memory, arg("batches"), arg("rows"), arg("depth"), arg("columns"),
             arg("element_bytes"), arg("beyond"), arg("request"));
}

}  // namespace gradus::python
