/// Views of matrices whose elements are 8-bit integers or 16-bit floating-point numbers. Functions that accept such a
/// view compute with the values as float, which holds all of them exactly, without a copy of the matrix.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "gradus/array.hpp"
#include "gradus/names.hpp"

namespace gradus {

enum class StoredType : std::uint8_t {
  u8,   ///< unsigned 8-bit integer
  i8,   ///< signed 8-bit integer
  f16,  ///< IEEE half precision
  bf16  ///< bfloat16: the upper half of a float
};
template <>
inline constexpr auto enum_names<StoredType> = std::to_array<EnumName<StoredType>>(
    {{StoredType::u8, "u8"}, {StoredType::i8, "i8"}, {StoredType::f16, "f16"}, {StoredType::bf16, "bf16"}});

constexpr int bytes_of(StoredType type) { return type == StoredType::u8 || type == StoredType::i8 ? 1 : 2; }

/// A view of a row-major matrix. The elements of a row are contiguous; consecutive rows begin `row_stride` elements
/// apart.
class StoredMatrixView {
 public:
  constexpr StoredMatrixView() = default;
  constexpr StoredMatrixView(const void* data, StoredType type, std::int64_t rows, std::int64_t columns)
      : StoredMatrixView(data, type, rows, columns, columns) {}
  constexpr StoredMatrixView(const void* data, StoredType type, std::int64_t rows, std::int64_t columns,
                             std::int64_t row_stride, MemoryPlace place = {})
      : data_(data), rows_(rows), columns_(columns), row_stride_(row_stride), place_(place), type_(type) {}
  /// Converts from 8-bit integers of every type that view_of() accepts.
  template <RowsOf<std::uint8_t, std::int8_t> Source>
  constexpr StoredMatrixView(const Source& source) : StoredMatrixView(of(view_of(source))) {}

  constexpr const void* data() const { return data_; }
  constexpr StoredType type() const { return type_; }
  constexpr std::int64_t rows() const { return rows_; }
  constexpr std::int64_t columns() const { return columns_; }
  constexpr std::int64_t row_stride() const { return row_stride_; }
  constexpr MemoryPlace place() const { return place_; }
  const void* row(std::int64_t index) const {
    return static_cast<const std::byte*>(data_) + index * row_stride_ * bytes_of(type_);
  }
  StoredMatrixView slice(std::int64_t first_row, std::int64_t count) const {
    return {row(first_row), type_, count, columns_, row_stride_, place_};
  }

 private:
  template <class T>
  static constexpr StoredMatrixView of(MatrixView<T> view) {
    constexpr StoredType type = std::is_signed_v<T> ? StoredType::i8 : StoredType::u8;
    return {view.data(), type, view.rows(), view.columns(), view.row_stride(), view.place()};
  }

  const void* data_ = nullptr;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  std::int64_t row_stride_ = 0;
  MemoryPlace place_;
  StoredType type_ = StoredType::u8;
};

}  // namespace gradus
