// Values read from a file, whose element type is known only at run time.
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

namespace gradus::files {

enum class ElementType : std::uint8_t { f32, f64 };

template <class T>
inline constexpr ElementType element_type_of = sizeof(T) == 4 ? ElementType::f32 : ElementType::f64;

/// A view and whatever keeps its memory alive: a mapped file or a buffer.
template <class T>
struct PointsOf {
  MatrixView<const T> view;
  std::shared_ptr<const void> owner;
};

/// Points that own their memory.
template <class T>
PointsOf<T> own(Matrix<T>&& matrix) {
  auto owner = std::make_shared<const Matrix<T>>(std::move(matrix));
  return {owner->view(), owner};
}

/// One value per row, for example weights, and what keeps them alive.
template <class T>
struct VectorOf {
  VectorView<const T> view;
  std::shared_ptr<const void> owner;
};

struct PictureShape {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::int64_t channels = 0;  ///< 1: gray, 3: red green blue, 4: with opacity
};

struct Points {
  std::variant<PointsOf<float>, PointsOf<double>> values;
  std::optional<PictureShape> picture;                  ///< where the points are the pixels of a picture, row after row
  std::vector<std::string> column_names;                ///< where the file has them
  std::shared_ptr<const RowNames> row_names = nullptr;  ///< of ColumnChoice::id
  std::vector<double> weights = {};                     ///< of ColumnChoice::weight
  std::vector<std::int64_t> dropped = {};               ///< rows of the file that were left out, in order, from 0
  bool from_text = false;                               ///< so that values were rounded to double

  ElementType type() const { return values.index() == 0 ? ElementType::f32 : ElementType::f64; }
  std::int64_t rows() const {
    return std::visit([](const auto& points) { return points.view.rows(); }, values);
  }
  std::int64_t columns() const {
    return std::visit([](const auto& points) { return points.view.columns(); }, values);
  }
  /// The view, where T is the type().
  template <class T>
  MatrixView<const T> view() const {
    return std::get<PointsOf<T>>(values).view;
  }
  /// function(MatrixView<const float>) or function(MatrixView<const double>).
  template <class Function>
  decltype(auto) visit(Function&& function) const {
    return std::visit([&](const auto& points) -> decltype(auto) { return function(points.view); }, values);
  }
};

/// Numbers in any number of dimensions, where they lie: the one with the indices i is the element sum of
/// i[d] * strides[d].
struct Tensor {
  std::vector<std::int64_t> shape;                         ///< empty: a single number
  std::vector<std::int64_t> strides;                       ///< in elements; 0 where there are none
  std::variant<PointsOf<float>, PointsOf<double>> values;  ///< n x 1: all of them, in their order in memory
  std::uint64_t own_bytes = 0;                             ///< that they take in memory, where it is not the file's

  ElementType type() const { return values.index() == 0 ? ElementType::f32 : ElementType::f64; }
  std::int64_t elements() const {
    return std::visit([](const auto& all) { return all.view.rows(); }, values);
  }
  /// Bytes of memory beyond the file's once the elements are of that type.
  std::uint64_t bytes_as(ElementType wanted) const {
    const std::uint64_t each = wanted == ElementType::f32 ? sizeof(float) : sizeof(double);
    return own_bytes + (wanted == type() ? 0 : static_cast<std::uint64_t>(elements()) * each);
  }
};

/// The points as `type`; unchanged where they are of this type already. `name` stands in messages, and rows count from
/// `first_row` there.
Points convert(Points points, ElementType type, std::string_view name, const std::stop_token& stop = {},
               std::int64_t first_row = 0);

Tensor convert(Tensor tensor, ElementType type, std::string_view name, const std::stop_token& stop = {});

/// Names the rows that are left of a file by their numbers in it, where some were left out and rows have no names.
/// `rows`: how many are left of all files.
void name_rows_left(Points& points, std::int64_t rows);

/// The points' own weights as T; `name` stands in messages.
template <class T>
VectorOf<T> weights_as(const Points& points, const std::string& name);

/// The values of the rows that are left, of a vector that has one for each row of the file; unchanged where none was
/// left out. InputError, which names `path`, where their number is another one.
template <class T>
VectorOf<T> of_rows_left(VectorOf<T> values, std::span<const std::int64_t> dropped, std::int64_t left,
                         const std::string& path);

/// A message about the element at this position of an array with such strides: "row 1, column 2: WHAT (rows and columns
/// count from 0)", or its indices where it has other than one or two dimensions.
std::string about_element(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                          std::int64_t position, const std::string& what);

}  // namespace gradus::files

namespace gradus {

template <>
inline constexpr auto enum_names<files::ElementType> =
    std::to_array<EnumName<files::ElementType>>({{files::ElementType::f32, "f32"}, {files::ElementType::f64, "f64"}});

}  // namespace gradus
