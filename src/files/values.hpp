// Values that were read from a file. Their element type is known only at run time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "files/columns.hpp"
#include "gradus/array.hpp"
#include "gradus/names.hpp"
#include "gradus/stored_matrix.hpp"

namespace gradus::files {

enum class ElementType : std::uint8_t { f32, f64 };

template <class T>
inline constexpr ElementType element_type_of = sizeof(T) == 4 ? ElementType::f32 : ElementType::f64;

/// A view and the owner of its memory: a mapped file or a buffer.
template <class T>
struct PointsOf {
  MatrixView<const T> view;  ///< in a file, rows may have gaps between them
  std::shared_ptr<const void> owner;
};

template <class T>
PointsOf<T> own(Matrix<T>&& matrix) {
  auto owner = std::make_shared<const Matrix<T>>(std::move(matrix));
  return {owner->view(), owner};
}

/// Returns points whose rows are contiguous. Copies the rows only if there are gaps between them.
template <class T>
PointsOf<T> without_gaps(PointsOf<T> points) {
  return points.view.contiguous() ? points : own(Matrix<T>::copy_of(points.view));
}

/// One value per row, for example a weight, and the owner of the memory of all values.
template <class T>
struct VectorOf {
  VectorView<const T> view;
  std::shared_ptr<const void> owner;
};

struct PictureShape {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::int64_t channels = 0;  ///< 1 for grey, 3 for red green blue, 4 with opacity
};

struct Points {
  std::variant<PointsOf<float>, PointsOf<double>> values;
  /// With ReadOptions::keep_stored: the points in the type of the file, if it is a StoredType. `values` then has only
  /// their shape, and no address.
  StoredMatrixView stored = {};
  std::optional<PictureShape> picture;                  ///< set if the points are the pixels of a picture, row by row
  std::vector<std::string> column_names;                ///< empty if the file has none
  std::shared_ptr<const RowNames> row_names = nullptr;  ///< names from the column ColumnChoice::id
  std::vector<double> weights = {};                     ///< weights from the column ColumnChoice::weight
  std::vector<std::int64_t> dropped = {};  ///< rows of the file that were left out, ascending, counted from 0
  bool from_text = false;                  ///< true if the values were rounded from text to double

  ElementType type() const { return values.index() == 0 ? ElementType::f32 : ElementType::f64; }
  std::int64_t rows() const {
    return std::visit([](const auto& points) { return points.view.rows(); }, values);
  }
  std::int64_t columns() const {
    return std::visit([](const auto& points) { return points.view.columns(); }, values);
  }
  /// Returns the view. T must be the element type that type() returns.
  template <class T>
  MatrixView<const T> view() const {
    return std::get<PointsOf<T>>(values).view;
  }
  /// Calls function(MatrixView<const float>) or function(MatrixView<const double>).
  template <class Function>
  decltype(auto) visit(Function&& function) const {
    return std::visit([&](const auto& points) -> decltype(auto) { return function(points.view); }, values);
  }
};

/// Numbers in any number of dimensions. The element with the indices i is at the position that is the sum of all i[d] *
/// strides[d].
struct Tensor {
  std::vector<std::int64_t> shape;    ///< empty for a single number
  std::vector<std::int64_t> strides;  ///< counted in elements, not bytes; 0 if there are no elements
  std::variant<PointsOf<float>, PointsOf<double>> values;  ///< all elements in memory order, as an n x 1 matrix
  std::uint64_t own_bytes = 0;                             ///< number of bytes allocated in addition to the file

  ElementType type() const { return values.index() == 0 ? ElementType::f32 : ElementType::f64; }
  std::int64_t elements() const {
    return std::visit([](const auto& all) { return all.view.rows(); }, values);
  }
  /// Returns how many bytes will be allocated in addition to the file after a conversion to the type `wanted`.
  std::uint64_t bytes_as(ElementType wanted) const {
    const std::uint64_t each = wanted == ElementType::f32 ? sizeof(float) : sizeof(double);
    return own_bytes + (wanted == type() ? 0 : static_cast<std::uint64_t>(elements()) * each);
  }
};

/// Converts points to `type` if necessary. Messages contain `name` and the number of a row. `first_row` is the number
/// of the first row.
Points convert(Points points, ElementType type, std::string_view name, const std::stop_token& stop = {},
               std::int64_t first_row = 0);

Tensor convert(Tensor tensor, ElementType type, std::string_view name, const std::stop_token& stop = {});

/// If rows were left out and the points have no row names, names the remaining rows by their numbers in the file.
/// `rows` is the number of remaining rows in all files together.
void name_rows_left(Points& points, std::int64_t rows);

/// Converts the weights that were read with the points to T. `name` appears in messages.
template <class T>
VectorOf<T> weights_as(const Points& points, const std::string& name);

/// Returns the values of the rows that remain. `values` has one value for each row of the file, including the rows left
/// out. If no row was left out, returns `values` unchanged. Throws InputError, which names `path`, if the number of
/// values does not match.
template <class T>
VectorOf<T> of_rows_left(VectorOf<T> values, std::span<const std::int64_t> dropped, std::int64_t left,
                         const std::string& path);

/// Returns a message about the element at a position of an array: "row 1, column 2: WHAT (rows and columns count from
/// 0)". If the array does not have one or two dimensions, the message contains the element's indices instead.
std::string about_element(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                          std::int64_t position, const std::string& what);

}  // namespace gradus::files

namespace gradus {

template <>
inline constexpr auto enum_names<files::ElementType> =
    std::to_array<EnumName<files::ElementType>>({{files::ElementType::f32, "f32"}, {files::ElementType::f64, "f64"}});

}  // namespace gradus
