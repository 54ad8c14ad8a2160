// Helpers for gradus._gpu and gradus._numbers: return metadata of arrays that DLPack's Python methods do not expose,
// copy GPU memory, and search for elements that a type cannot represent.
#include "python/bindings/arrays.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "core/exact_conversion.hpp"
#include "python/bindings/fields.hpp"
#include "python/bindings/library.hpp"
#include "python/bindings/module.hpp"

namespace gradus::python {

namespace {

/// A Python object that has only the DLPack methods. Unlike a capsule, the object can be imported repeatedly.
using Held = nb::ndarray<nb::array_api>;

Held hold(const nb::ndarray<>& capsule) { return Held(capsule); }

/// Wraps GPU memory that `owner` keeps alive. `code` and `bits` are DLPack's element type; `strides` are in elements.
Held hold_memory(std::uint64_t address, const std::vector<std::size_t>& shape, const std::vector<std::int64_t>& strides,
                 int code, int bits, int gpu, nb::object owner) {
  if (shape.size() != strides.size()) throw UsageError("an array has a stride for each dimension");
  const nb::dlpack::dtype type{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1};
  return Held(reinterpret_cast<void*>(address), shape.size(), shape.data(), owner, strides.data(), type,
              nb::device::cuda::value, gpu);
}

/// Returns (address, shape, strides in elements, DLPack type code, bits per element, DLPack device type, device
/// number).
Fields facts_of(const Input& array) {
  nb::list shape;
  nb::list strides;
  for (std::size_t dimension = 0; dimension < array.ndim(); ++dimension) {
    shape.append(array.shape(dimension));
    strides.append(array.stride(dimension));
  }
  return nb::make_tuple(reinterpret_cast<std::uintptr_t>(array.data()), nb::tuple(shape), nb::tuple(strides),
                        static_cast<int>(array.dtype().code),
                        static_cast<int>(array.dtype().bits) * array.dtype().lanes, array.device_type(),
                        array.device_id());
}

/// Counts elements in C order. Stops at the first element that `To` does not represent exactly.
template <class To, class From>
std::int64_t count_exact(const From* data, const Input& array, std::size_t dimension) {
  if (dimension == array.ndim()) return core::is_exact_in<To>(*data) ? 1 : 0;
  const auto length = static_cast<std::int64_t>(array.shape(dimension));
  const std::int64_t stride = array.stride(dimension);
  if (dimension + 1 == array.ndim()) {
    for (std::int64_t index = 0; index < length; ++index)
      if (!core::is_exact_in<To>(data[index * stride])) return index;
    return length;
  }
  std::int64_t inner = 1;
  for (std::size_t next = dimension + 1; next < array.ndim(); ++next)
    inner *= static_cast<std::int64_t>(array.shape(next));
  for (std::int64_t index = 0; index < length; ++index)
    if (const std::int64_t exact = count_exact<To>(data + index * stride, array, dimension + 1); exact < inner)
      return index * inner + exact;
  return length * inner;
}

template <class From>
std::int64_t count_exact_in(const std::string& type, const Input& array) {
  const auto* data = static_cast<const From*>(array.data());
  const nb::gil_scoped_release release;
  if (type == "float32") return count_exact<float>(data, array, 0);
  if (type == "float64") return count_exact<double>(data, array, 0);
  if constexpr (std::is_integral_v<From>) {
    if (type == "int32") return count_exact<std::int32_t>(data, array, 0);
    if (type == "int64") return count_exact<std::int64_t>(data, array, 0);
  }
  throw UsageError("no conversion to " + type);
}

/// Returns the C-order index of the first element that `type` cannot represent exactly, or nothing.
std::optional<std::int64_t> first_inexact(const Input& array, const std::string& type) {
  const auto count = [&] {
    if (array.dtype() == nb::dtype<std::int32_t>()) return count_exact_in<std::int32_t>(type, array);
    if (array.dtype() == nb::dtype<std::uint32_t>()) return count_exact_in<std::uint32_t>(type, array);
    if (array.dtype() == nb::dtype<std::int64_t>()) return count_exact_in<std::int64_t>(type, array);
    if (array.dtype() == nb::dtype<std::uint64_t>()) return count_exact_in<std::uint64_t>(type, array);
    if (array.dtype() == nb::dtype<float>()) return count_exact_in<float>(type, array);
    if (array.dtype() == nb::dtype<double>()) return count_exact_in<double>(type, array);
    throw UsageError("no conversion to " + type);
  };
  const std::int64_t exact = count();
  if (exact == static_cast<std::int64_t>(array.size())) return std::nullopt;
  return exact;
}

}  // namespace

void bind_arrays(nb::module_& module) {
  using nb::arg;
  module.def("hold", &hold, arg("capsule"), nb::rv_policy::reference);
  module.def("hold_memory", &hold_memory, arg("address"), arg("shape"), arg("strides"), arg("code"), arg("bits"),
             arg("gpu"), arg("owner"));
  module.def("array_facts", &facts_of, arg("array"));
  module.def("first_inexact", &first_inexact, arg("array"), arg("type"));
  module.def(
      "gpu_of_memory", [](std::uint64_t address) { return gpu_of_memory(reinterpret_cast<const void*>(address)); },
      arg("address"));
  module.def(
      "wait_for_stream",
      [](int gpu, std::uint64_t stream) {
        const nb::gil_scoped_release release;
        wait_for_stream(gpu, reinterpret_cast<void*>(stream));
      },
      arg("gpu"), arg("stream"));
  module.def(
      "copy_to_gpu",
      [](std::uint64_t address, const nb::ndarray<nb::numpy, nb::ro, nb::c_contig>& array, int gpu,
         std::uint64_t stream) {
        const nb::gil_scoped_release release;
        copy_to_gpu(reinterpret_cast<void*>(address), array.data(), array.nbytes(), gpu,
                    reinterpret_cast<void*>(stream));
      },
      arg("address"), arg("array"), arg("gpu"), arg("stream"));
}

}  // namespace gradus::python
