// Elements of the types that occur in files, and their conversion to points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>
#include <variant>

#include "files/values.hpp"

namespace gradus::files {

using Reals = std::variant<PointsOf<float>, PointsOf<double>>;
/// Values that keep integers as integers. Only graphs use this type, for edge weights.
using Numbers = std::variant<PointsOf<std::int32_t>, PointsOf<std::int64_t>, PointsOf<float>, PointsOf<double>>;

/// A matrix of elements in a file.
struct StoredMatrix {
  const std::byte* data;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t row_bytes;                 ///< distance between the beginnings of two rows; not used if by_columns
  bool by_columns;                        ///< true if the elements are stored column by column and must be transposed
  bool swap;                              ///< true if the byte order is not the native one
  std::span<const std::int64_t> shape;    ///< shape in the file, for messages
  std::span<const std::int64_t> strides;  ///< strides in the file, for messages
  std::string_view name;
  const std::stop_token& stop;
  std::int64_t first = 0;  ///< index of the first element in the file, for messages
};

/// A supported element type, and the function that converts elements of this type to values.
template <class Values>
struct ElementKind {
  std::string_view name;  ///< name of the type in NumPy, without the byte order, or "bf16"
  std::size_t bytes;
  std::size_t value_bytes;           ///< size of the converted value
  bool is_value;                     ///< true if the element type is the type of the values
  std::optional<StoredType> stored;  ///< the element type, if it is a StoredType
  /// Converts a matrix. If the element type is the type of the values, views aligned rows in native byte order in
  /// place; the values then share `owner`. Throws InputError for integers that the type of the values does not hold.
  Values (*read)(const StoredMatrix& matrix, const std::shared_ptr<const void>& owner);
};

/// Returns the element type with this name, or null if it is not supported. Values is Reals or Numbers. Reals widens
/// f2, bf16, i1, i2, u1, u2 and b1 to float, and i4, u4, i8 and u8 to double. Numbers widens integers to int32 or
/// int64.
template <class Values>
const ElementKind<Values>* element_kind(std::string_view name);

/// Rows of equal length in a file. Each row can be read separately.
struct RowsInFile {
  std::span<const std::byte> data = {};  ///< the elements, from the first row to the end of the last row
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_bytes = 0;  ///< distance between the beginnings of consecutive rows
  const ElementKind<Reals>* kind = nullptr;
  bool swap = false;
  /// Checks what the file states about the rows [first, last). Throws InputError. The pointer is null if there is
  /// nothing to check.
  void (*check)(const RowsInFile& all, std::int64_t first, std::int64_t last, std::string_view name,
                const std::stop_token& stop) = nullptr;
  /// Copies the elements of the rows [first, last) to `to`, in the type of the file and without gaps between rows. Null
  /// if `data` holds the rows.
  std::function<void(std::int64_t first, std::int64_t last, std::byte* to)> load = nullptr;
  /// Number of rows that load() copies at a time. Ranges begin and end at multiples of this number, or at the ends of
  /// the requested rows.
  std::int64_t piece_rows = 1;

  ElementType type() const { return kind->value_bytes == sizeof(float) ? ElementType::f32 : ElementType::f64; }
  /// Returns true if read() views the rows in place.
  bool is_viewed() const;
  /// Returns true if view() is possible: the elements have a StoredType, and are aligned and in native byte order.
  bool is_stored() const;
  /// Returns the rows [first, last) in the type of the file (see Points::stored). `owner` keeps the file alive. The
  /// rows are a copy if load() copies them.
  Points view(std::int64_t first, std::int64_t last, std::string_view name, const std::shared_ptr<const void>& owner,
              const std::stop_token& stop) const;
  /// Returns the bytes of the rows [first, last), or nothing if load() copies them.
  std::span<const std::byte> bytes(std::int64_t first, std::int64_t last) const;
  /// Reads the rows [first, last). If the element type needs no conversion, returns a view of the file, which `owner`
  /// keeps alive. `name` appears in messages.
  Points read(std::int64_t first, std::int64_t last, std::string_view name, const std::shared_ptr<const void>& owner,
              const std::stop_token& stop) const;

 private:
  template <class T>
  PointsOf<T> copy(std::int64_t first, std::int64_t last, std::string_view name, const std::stop_token& stop) const;
};

}  // namespace gradus::files
