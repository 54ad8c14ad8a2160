// Points read from a file: a matrix whose element type is known only at run time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "files/columns.hpp"
#include "files/header.hpp"
#include "files/number.hpp"
#include "gradus/array.hpp"

namespace gradus::files {

class TextInput;

enum class ElementType : std::uint8_t { f32, f64 };

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

struct ReadOptions {
  /// The element type wanted; nothing: the least one that holds every value of the file's type exactly.
  /// f32 from f64 rounds to nearest, and a value beyond the range of f32 is an InputError.
  std::optional<ElementType> type;
  std::stop_token stop;                       ///< a stop request ends the reading with InterruptedError
  HeaderLine header = HeaderLine::automatic;  ///< of tables of text; without a meaning for other files
  NumberStyle style = {};                     ///< likewise
  Comment comment = {};                       ///< likewise
  Missing missing = Missing::error;           ///< likewise; of read_points()
  bool names_matter = true;                   ///< a first line of numbers that might be names is told of
  ColumnChoice columns = {};                  ///< of read_points(); by number where columns have no names
  int threads = 1;                            ///< that parse a table of text
  /// Called with what a person should hear: file:line: what was decided in doubt.
  std::function<void(const std::string&)> note = nullptr;
};

/// Whether read_points() takes the file for a table of text; a stream, of which nobody knows yet, may be one.
bool is_table(const std::string& path);

/// Whether the name alone tells what kind of points the file holds.
bool names_points(const std::string& path);

/// Whether read_points() takes the file for an array of .npy or .npz. A stream is none, whatever it holds.
bool is_npy(const std::string& path);

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

/// The same reading of another file of the same job, of which all columns and rows are wanted.
ReadOptions with_all_columns(ReadOptions options);

/// Reads .npy, .npz ("a.npz:name" where it holds several arrays), .csv, .tsv, .txt, .png, .jpg, .jpeg (by content where
/// the ending is another one). From a stream (see is_stream()) CSV, .npy or .npz, by content. One-dimensional arrays
/// become n x 1.
/// Throws InputError that says what is wrong with the file and where.
Points read_points(const std::string& path, const ReadOptions& options = {});

/// The same of a stream of which nothing was taken yet; its name stands in messages.
Points read_points(TextInput& input, const ReadOptions& options = {});

/// The points as `type`; unchanged where they are of this type already. `name` stands in messages, and rows count from
/// `first_row` there.
Points convert(Points points, ElementType type, std::string_view name, const std::stop_token& stop = {},
               std::int64_t first_row = 0);

/// What read_points() would give of a file of which some rows can be read without the others; nothing of other files.
struct PointsShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  ElementType type = ElementType::f32;
};
std::optional<PointsShape> shape_in_rows(const std::string& path, const ReadOptions& options = {});
/// These rows of it.
Points read_rows(const std::string& path, std::int64_t first, std::int64_t rows, const ReadOptions& options = {});

/// As read_points(), but .npy arrays of up to 64 dimensions and in either order as they are; whatever else can be read
/// has two dimensions.
Tensor read_tensor(const std::string& path, const ReadOptions& options = {});
Tensor convert(Tensor tensor, ElementType type, std::string_view name, const std::stop_token& stop = {});

/// A message about the element at this position of an array with such strides: "row 1, column 2: WHAT (rows and columns
/// count from 0)", or its indices where it has other than one or two dimensions.
std::string about_element(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                          std::int64_t position, const std::string& what);

/// A file of one column (or of one row), as T.
template <class T>
VectorOf<T> read_vector(const std::string& path, const ReadOptions& options = {});

}  // namespace gradus::files

namespace gradus {

template <>
inline constexpr auto enum_names<files::ElementType> =
    std::to_array<EnumName<files::ElementType>>({{files::ElementType::f32, "f32"}, {files::ElementType::f64, "f64"}});

}  // namespace gradus
