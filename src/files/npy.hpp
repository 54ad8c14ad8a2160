// NumPy's .npy format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/atomic_file.hpp"
#include "files/values.hpp"
#include "gradus/array.hpp"

namespace gradus::files {

/// An array of one or two dimensions. Values of the types f2, i1, i2, u1, u2 and bool become float. Values of the types
/// i4, u4, i8 and u8 become double. Aligned f4 and f8 in native byte order and C order are viewed in place, without a
/// copy.
struct NpyArray {
  std::vector<std::int64_t> shape;
  std::string dtype;                                       ///< type in the file, for example "<f4"
  std::variant<PointsOf<float>, PointsOf<double>> values;  ///< n x 1 if the shape has one dimension
};

/// Reads an array. Throws InputError if the array is malformed or incomplete, or if it has integers beyond 2^53 that no
/// double represents. Throws InterruptedError after a stop request.
NpyArray read_npy(const std::string& path, const std::stop_token& stop = {});

/// Parses a file in memory, which `owner` keeps alive. `name` appears in messages.
NpyArray parse_npy(std::span<const std::byte> bytes, std::string_view name,
                   const std::shared_ptr<const void>& owner = {}, const std::stop_token& stop = {});

Points to_points(NpyArray&& array);

/// Reads arrays of up to 64 dimensions, like read_npy() and parse_npy(). Returns views of arrays in C order and of
/// arrays in Fortran order.
Tensor read_npy_tensor(const std::string& path, const std::stop_token& stop = {});
Tensor parse_npy_tensor(std::span<const std::byte> bytes, std::string_view name,
                        const std::shared_ptr<const void>& owner = {}, const std::stop_token& stop = {});

/// An array whose integers stay integers. i1, i2, u1, u2 and bool become int32, u4 becomes int64, and u8 becomes int64
/// if its values fit. f2 becomes float. Aligned i4, i8, f4 and f8 in native byte order and C order are viewed in place.
struct NpyNumbers {
  std::vector<std::int64_t> shape;
  std::string dtype;  ///< type in the file
  std::variant<PointsOf<std::int32_t>, PointsOf<std::int64_t>, PointsOf<float>, PointsOf<double>> values;
};

/// Reads an array like read_npy() and parse_npy(), but keeps integers. Throws InputError for u8 values beyond int64.
NpyNumbers read_npy_numbers(const std::string& path, const std::stop_token& stop = {});
NpyNumbers parse_npy_numbers(std::span<const std::byte> bytes, std::string_view name,
                             const std::shared_ptr<const void>& owner = {}, const std::stop_token& stop = {});

bool looks_like_npy(std::span<const std::byte> bytes);

/// Writes a file of format version 1.0, in C order and native byte order. The header is padded to a multiple of 64
/// bytes. T is float, double, std::int32_t or std::int64_t, possibly const.
template <class T>
void write_npy(core::AtomicFile& file, MatrixView<T> matrix);
template <class T>
void write_npy(core::AtomicFile& file, VectorView<T> vector);
template <class T>
std::uint64_t npy_size(std::int64_t rows, std::int64_t columns);
template <class T>
std::uint64_t npy_size(std::int64_t elements);
/// Writes an array with any number of dimensions, including zero. The last index runs fastest.
template <class T>
void write_npy(core::AtomicFile& file, std::span<const std::int64_t> shape, const T* elements);
template <class T>
std::uint64_t npy_size(std::span<const std::int64_t> shape);
/// Writes the header of a rows x columns matrix. After that, the caller writes the elements, in any number of pieces.
template <class T>
void write_npy_header(core::AtomicFile& file, std::int64_t rows, std::int64_t columns);

struct NpyColumn {
  std::string_view name;
  std::variant<std::span<const double>, std::span<const std::uint64_t>> values;
};
/// Writes a structured array. Each element is a row of the table, so the values of the columns are interleaved. NumPy
/// can index such an array by the name of a column.
void write_npy_table(core::AtomicFile& file, std::span<const NpyColumn> columns);

}  // namespace gradus::files
