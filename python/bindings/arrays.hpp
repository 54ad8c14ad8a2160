// Conversions without copies: Python arrays to views, results to NumPy arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gradus/array.hpp"
#include "gradus/error.hpp"
#include "gradus/stored_matrix.hpp"

namespace gradus::python {

namespace nb = nanobind;

/// An input array in host or GPU memory: any DLPack object or capsule, read-only or not.
using Input = nb::ndarray<nb::ro>;
using Output = nb::ndarray<>;

inline MemoryPlace place_of(int device_type, int device_id) {
  switch (device_type) {
    case nb::device::cpu::value:
    case nb::device::cuda_host::value: return MemoryPlace::host();
    case nb::device::cuda::value:
    case nb::device::cuda_managed::value: return MemoryPlace::on_gpu(device_id);
    default:
      throw UsageError("an array is on a device of DLPack's type " + std::to_string(device_type) +
                       "; arrays in host memory and on NVIDIA GPUs are accepted");
  }
}

/// Views a two-dimensional array with contiguous rows; the row stride may exceed the number of columns.
template <class T, class Array>
MatrixView<T> matrix_of(const Array& array, const char* what) {
  if (array.ndim() != 2)
    throw UsageError(about(what) + "an array of " + std::to_string(array.ndim()) +
                     " dimensions; two are needed, a row for each point");
  if (array.dtype() != nb::dtype<std::remove_const_t<T>>())
    throw UsageError(about(what) + "the element type differs from the type of the points");
  const auto rows = static_cast<std::int64_t>(array.shape(0));
  const auto columns = static_cast<std::int64_t>(array.shape(1));
  if (rows > 0 && columns > 1 && array.stride(1) != 1)
    throw UsageError(about(what) + "the elements of a row are not contiguous");
  const std::int64_t stride = rows > 1 && columns > 0 ? array.stride(0) : columns;
  return {static_cast<T*>(array.data()), rows, columns, stride, place_of(array.device_type(), array.device_id())};
}

/// Views a matrix like matrix_of(). `type` is the name of a StoredType; elements of 16 bits come as uint16.
inline StoredMatrixView stored_matrix_of(const Input& array, const std::string& type, const char* what) {
  const std::optional<StoredType> stored = from_string<StoredType>(type);
  if (!stored) throw UsageError(about(what) + "there is no type '" + type + "'");
  const auto view = [&](const auto& rows) {
    return StoredMatrixView(rows.data(), *stored, rows.rows(), rows.columns(), rows.row_stride(), rows.place());
  };
  if (*stored == StoredType::u8) return view(matrix_of<const std::uint8_t>(array, what));
  if (*stored == StoredType::i8) return view(matrix_of<const std::int8_t>(array, what));
  return view(matrix_of<const std::uint16_t>(array, what));
}

template <class T, class Array>
VectorView<T> vector_of(const Array& array, const char* what) {
  if (array.ndim() != 1)
    throw UsageError(about(what) + "an array of " + std::to_string(array.ndim()) + " dimensions; one is needed");
  if (array.dtype() != nb::dtype<std::remove_const_t<T>>())
    throw UsageError(about(what) + "the element type is not the one that is needed");
  if (array.shape(0) > 1 && array.stride(0) != 1) throw UsageError(about(what) + "the elements are not contiguous");
  return {static_cast<T*>(array.data()), static_cast<std::int64_t>(array.shape(0)),
          place_of(array.device_type(), array.device_id())};
}

template <class T>
MatrixView<const T> matrix_of(const std::optional<Input>& array, const char* what) {
  return array ? matrix_of<const T>(*array, what) : MatrixView<const T>{};
}
template <class T>
VectorView<const T> vector_of(const std::optional<Input>& array, const char* what) {
  return array ? vector_of<const T>(*array, what) : VectorView<const T>{};
}

/// Calls run(T{}) for the array's element type, float or double.
template <class Run>
auto with_element_of(const Input& array, Run run) {
  if (array.dtype() == nb::dtype<float>()) return run(float{});
  if (array.dtype() == nb::dtype<double>()) return run(double{});
  throw UsageError(about("points") + "the elements are neither float32 nor float64");
}

/// Calls run(T{}, view) with a view of the points. T is the type of the job. If `stored` is the name of a StoredType,
/// the view is a StoredMatrixView and T is float.
template <class Run>
auto with_points(const Input& points, const std::optional<std::string>& stored, Run run) {
  if (stored) return run(float{}, stored_matrix_of(points, *stored, "points"));
  return with_element_of(points, [&]<class T>(T type) { return run(type, matrix_of<const T>(points, "points")); });
}

/// Returns a NumPy array that keeps `owner` alive. The function `data` returns the address of the elements.
template <class Owner, class T>
nb::object owning(Owner owner, T* (*data)(Owner&), std::initializer_list<std::size_t> shape) {
  auto* kept = new Owner(std::move(owner));
  const nb::capsule capsule(kept, [](void* pointer) noexcept { delete static_cast<Owner*>(pointer); });
  return nb::cast(nb::ndarray<nb::numpy, T>(data(*kept), shape, capsule));
}
template <class T>
nb::object to_numpy(Matrix<T> matrix) {
  const auto rows = static_cast<std::size_t>(matrix.rows());
  const auto columns = static_cast<std::size_t>(matrix.columns());
  return owning<Matrix<T>, T>(std::move(matrix), [](Matrix<T>& kept) { return kept.data(); }, {rows, columns});
}
template <class T>
nb::object to_numpy(std::vector<T> elements) {
  const std::size_t size = elements.size();
  return owning<std::vector<T>, T>(std::move(elements), [](std::vector<T>& kept) { return kept.data(); }, {size});
}

}  // namespace gradus::python
