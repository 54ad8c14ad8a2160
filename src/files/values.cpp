#include "files/values.hpp"

#include <algorithm>
#include <cmath>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "gradus/error.hpp"

namespace gradus::files {

namespace {

template <class To, class From>
PointsOf<To> converted(MatrixView<const From> from, std::span<const std::int64_t> shape,
                       std::span<const std::int64_t> strides, std::string_view name, const std::stop_token& stop,
                       std::int64_t before) {
  Matrix<To> to(from.rows(), from.columns());
  // Rows without gaps between them are converted like one long row.
  const std::int64_t lines = from.contiguous() ? 1 : from.rows();
  const std::int64_t length = lines == 0 ? 0 : from.rows() * from.columns() / lines;
  for (std::int64_t line = 0; line < lines; ++line)
    for (std::int64_t first = 0; first < length; first += core::operations_between_polls) {
      if (stop.stop_requested()) core::honour_stop(stop, "stopped while reading '" + std::string(name) + "'");
      for (std::int64_t at = first; at < std::min(first + core::operations_between_polls, length); ++at) {
        const From value = from.row(line)[at];
        const To result = static_cast<To>(value);
        if (std::isinf(result) && !std::isinf(value))
          throw InputError("'" + std::string(name) + "': " +
                           about_element(shape, strides, before + line * length + at,
                                         core::number_text(value) + " is beyond the range of f32"));
        to.data()[line * length + at] = result;
      }
    }
  return own(std::move(to));
}

/// Converts values to another type. `before` is the number of elements that precede these values in the file, for
/// messages.
template <class Values>
void change_type(Values& values, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                 std::string_view name, const std::stop_token& stop, std::int64_t before = 0) {
  if (const auto* wide = std::get_if<PointsOf<double>>(&values))
    values = converted<float>(wide->view, shape, strides, name, stop, before);
  else values = converted<double>(std::get<PointsOf<float>>(values).view, shape, strides, name, stop, before);
}

}  // namespace

std::string about_element(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                          std::int64_t position, const std::string& what) {
  const auto index = [&](std::size_t dim) {
    return dim < shape.size() && strides[dim] > 0 ? std::to_string(position / strides[dim] % shape[dim])
                                                  : std::string("0");
  };
  if (shape.size() == 1 || shape.size() == 2)
    return "row " + index(0) + ", column " + index(1) + ": " + what + " (rows and columns count from 0)";
  std::string indices;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) indices += (dim > 0 ? ", " : "") + index(dim);
  return "element (" + indices + "): " + what + " (indices count from 0)";
}

Points convert(Points points, ElementType type, std::string_view name, const std::stop_token& stop,
               std::int64_t first_row) {
  const std::int64_t shape[] = {first_row + points.rows(), points.columns()};
  const std::int64_t strides[] = {points.columns(), 1};
  if (points.type() != type) change_type(points.values, shape, strides, name, stop, first_row * points.columns());
  return points;
}

Tensor convert(Tensor tensor, ElementType type, std::string_view name, const std::stop_token& stop) {
  tensor.own_bytes = tensor.bytes_as(type);
  if (tensor.type() != type) change_type(tensor.values, tensor.shape, tensor.strides, name, stop);
  return tensor;
}

void name_rows_left(Points& points, std::int64_t rows) {
  if (points.dropped.empty() || points.row_names) return;
  auto names = std::make_shared<RowNames>();
  names->heading = "row";
  names->numbers = true;
  std::size_t dropped = 0;
  for (std::int64_t row = 0; names->size() < rows; ++row) {
    if (dropped < points.dropped.size() && points.dropped[dropped] == row) ++dropped;
    else names->add(std::to_string(row));
  }
  points.row_names = std::move(names);
}

template <class T>
VectorOf<T> weights_as(const Points& points, const std::string& name) {
  Matrix<double> weights(std::ssize(points.weights), 1);
  std::copy(points.weights.begin(), points.weights.end(), weights.data());
  Points column{.values = own(std::move(weights)), .picture = {}, .column_names = {}};
  column = convert(std::move(column), element_type_of<T>, name);
  const PointsOf<T>& values = std::get<PointsOf<T>>(column.values);
  return {{values.view.data(), values.view.rows()}, values.owner};
}
template VectorOf<float> weights_as(const Points&, const std::string&);
template VectorOf<double> weights_as(const Points&, const std::string&);

template <class T>
VectorOf<T> of_rows_left(VectorOf<T> values, std::span<const std::int64_t> dropped, std::int64_t left,
                         const std::string& path) {
  if (dropped.empty()) return values;
  const std::int64_t rows = left + std::ssize(dropped);
  if (values.view.size() != rows)
    throw InputError("'" + path + "': " + std::to_string(values.view.size()) + " values for " + std::to_string(rows) +
                     " rows, of which " + std::to_string(dropped.size()) +
                     (dropped.size() == 1 ? " lacks a number and is" : " lack a number and are") +
                     " left out; one for each row of the file is needed");
  auto kept = std::make_shared<std::vector<T>>();
  kept->reserve(static_cast<std::size_t>(left));
  std::size_t next = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (next < dropped.size() && dropped[next] == row) ++next;
    else kept->push_back(values.view[row]);
  }
  return {{kept->data(), left}, kept};
}
template VectorOf<float> of_rows_left(VectorOf<float>, std::span<const std::int64_t>, std::int64_t, const std::string&);
template VectorOf<double> of_rows_left(VectorOf<double>, std::span<const std::int64_t>, std::int64_t,
                                       const std::string&);

}  // namespace gradus::files
