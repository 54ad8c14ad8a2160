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

/// An array of one or two dimensions. Values of f2, i1, i2, u1, u2 and bool are widened to float, those of i4, u4, i8
/// and u8 to double. f4 and f8 in native byte order, C order and aligned are viewed where they are, without a copy.
struct NpyArray {
  std::vector<std::int64_t> shape;
  std::string dtype;                                       ///< as in the file, for example "<f4"
  std::variant<PointsOf<float>, PointsOf<double>> values;  ///< n x 1 where the shape has one dimension
};

/// Throws InputError for anything but a whole, well-formed array, and for integers beyond 2^53 that no double holds;
/// InterruptedError after a stop request.
NpyArray read_npy(const std::string& path, const std::stop_token& stop = {});

/// The same, from memory that `owner` keeps alive; `name` stands in messages.
NpyArray parse_npy(std::span<const std::byte> bytes, std::string_view name,
                   const std::shared_ptr<const void>& owner = {}, const std::stop_token& stop = {});

Points to_points(NpyArray&& array);

/// What a .npy file says of its values, and whether its length is that of so many. InputError as read_npy().
struct NpyShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  ElementType type = ElementType::f32;  ///< of what read_npy() gives
  bool by_rows = true;                  ///< one row after the other, so that some of them can be read
};
NpyShape npy_shape(const std::string& path);

/// `rows` of them from `first` on; nothing else of the file is touched. Only where they lie by_rows.
NpyArray read_npy_rows(const std::string& path, std::int64_t first, std::int64_t rows,
                       const std::stop_token& stop = {});

/// As these, but of up to 64 dimensions, and with the order of the file: in Fortran's, too, values are viewed where
/// they are.
Tensor read_npy_tensor(const std::string& path, const std::stop_token& stop = {});
Tensor parse_npy_tensor(std::span<const std::byte> bytes, std::string_view name,
                        const std::shared_ptr<const void>& owner = {}, const std::stop_token& stop = {});

/// An array whose whole numbers stay such: i1, i2, u1, u2 and bool become int32, u4 becomes int64, as u8 does where its
/// values fit; f2 becomes float. i4, i8, f4 and f8 in native byte order, C order and aligned are viewed where they are.
struct NpyNumbers {
  std::vector<std::int64_t> shape;
  std::string dtype;  ///< as in the file
  std::variant<PointsOf<std::int32_t>, PointsOf<std::int64_t>, PointsOf<float>, PointsOf<double>> values;
};

/// As read_npy() and parse_npy(). InputError for u8 beyond int64.
NpyNumbers read_npy_numbers(const std::string& path, const std::stop_token& stop = {});
NpyNumbers parse_npy_numbers(std::span<const std::byte> bytes, std::string_view name,
                             const std::shared_ptr<const void>& owner = {}, const std::stop_token& stop = {});

/// Whether the bytes begin as a .npy file does.
bool looks_like_npy(std::span<const std::byte> bytes);

/// Version 1.0, C order, native byte order, header padded to a multiple of 64 bytes.
/// T: float, double, std::int32_t or std::int64_t, also const.
template <class T>
void write_npy(core::AtomicFile& file, MatrixView<T> matrix);
template <class T>
void write_npy(core::AtomicFile& file, VectorView<T> vector);
/// Bytes of such a file.
template <class T>
std::uint64_t npy_size(std::int64_t rows, std::int64_t columns);
template <class T>
std::uint64_t npy_size(std::int64_t elements);
/// Of any number of dimensions, none too; all elements, the last index running fastest.
template <class T>
void write_npy(core::AtomicFile& file, std::span<const std::int64_t> shape, const T* elements);
template <class T>
std::uint64_t npy_size(std::span<const std::int64_t> shape);
/// The beginning of a rows x columns matrix; the caller writes the elements after it, piece by piece.
template <class T>
void write_npy_header(core::AtomicFile& file, std::int64_t rows, std::int64_t columns);

/// A column of a table whose columns are of several types.
struct NpyColumn {
  std::string_view name;
  std::variant<std::span<const double>, std::span<const std::uint64_t>> values;
};
/// One row per index, each of the columns' values one after the other: a structured array, which NumPy indexes by name.
void write_npy_table(core::AtomicFile& file, std::span<const NpyColumn> columns);

}  // namespace gradus::files
