#include "io/points.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "io/csv.hpp"
#include "io/file.hpp"
#include "io/image.hpp"
#include "io/npy.hpp"
#include "io/trajectory.hpp"

namespace gradus::io {
namespace {

enum class Kind : std::uint8_t { npy, csv, tsv, image };

Kind kind_of(const std::string& path) {
  const std::string ending = ending_of(path);
  // Text may be packed.
  const std::string inner = ending == ".gz" ? ending_of(path.substr(0, path.size() - ending.size())) : ending;
  if (ending == ".npy") return Kind::npy;
  if (inner == ".tsv") return Kind::tsv;
  if (inner == ".csv" || inner == ".txt") return Kind::csv;
  if (ending == ".png" || ending == ".jpg" || ending == ".jpeg") return Kind::image;
  const MappedFile file(path);
  if (looks_like_npy(file.bytes())) return Kind::npy;
  if (looks_like_image(file.bytes())) return Kind::image;
  if (names_trajectory(path))
    throw InputError("'" + path +
                     "': the frames of a trajectory, and one set of points is wanted; cut a frame out as .npy or .csv");
  throw InputError(
      "'" + path +
      "': neither its name nor its content says what kind of file it is; .npy, .csv, .tsv, .txt, .png, "
      ".jpg and .jpeg can be read, '-' is CSV from standard input, and commands that take trajectories read "
      ".xyz, .extxyz, .lammpstrj, .dump and .lammpsdump");
}

Points from_table(CsvTable&& table, const ReadOptions& options) {
  if (!table.note.empty() && options.note) options.note(table.note);
  return {.values = std::move(table.values), .picture = {}, .column_names = std::move(table.column_names)};
}

Points read(const std::string& path, const ReadOptions& options) {
  const auto csv = [&](Separator separator) { return CsvOptions{.separator = separator, .header = options.header}; };
  if (path == "-")
    return from_table(read_csv_stream(STDIN_FILENO, "standard input", csv(Separator::detect), options.stop), options);
  switch (kind_of(path)) {
    case Kind::npy: return {.values = read_npy(path, options.stop).values, .picture = {}, .column_names = {}};
    case Kind::csv: return from_table(read_csv(path, csv(Separator::detect), options.stop), options);
    case Kind::tsv: return from_table(read_csv(path, csv(Separator::tab), options.stop), options);
    case Kind::image: return to_points(read_image(path, options.stop), options.stop);
  }
  __builtin_unreachable();
}

template <class To, class From>
PointsOf<To> converted(MatrixView<const From> from, std::string_view name, const std::stop_token& stop) {
  Matrix<To> to(from.rows(), from.columns());
  if (from.columns() == 0) return own(std::move(to));
  const std::int64_t stretch = core::stretch_length(from.rows(), from.columns());
  for (std::int64_t row = 0; row < from.rows(); ++row) {
    if (row % stretch == 0) core::honour_stop(stop, "stopped while reading '" + std::string(name) + "'");
    for (std::int64_t column = 0; column < from.columns(); ++column) {
      const From value = from(row, column);
      const To result = static_cast<To>(value);
      if (std::isinf(result) && !std::isinf(value))
        throw InputError("'" + std::string(name) + "': row " + std::to_string(row) + ", column " +
                         std::to_string(column) + ": " + core::number_text(value) +
                         " is beyond the range of f32 (rows and columns count from 0)");
      to(row, column) = result;
    }
  }
  return own(std::move(to));
}

template <class T>
constexpr ElementType element_type_of = sizeof(T) == 4 ? ElementType::f32 : ElementType::f64;

}  // namespace

bool is_table(const std::string& path) {
  if (path == "-") return true;
  if (names_trajectory(path)) return false;
  const Kind kind = kind_of(path);
  return kind == Kind::csv || kind == Kind::tsv;
}

std::string_view to_string(ElementType type) { return type == ElementType::f32 ? "f32" : "f64"; }

Points convert(Points points, ElementType type, std::string_view name, const std::stop_token& stop) {
  if (points.type() == type) return points;
  if (type == ElementType::f32) points.values = converted<float>(points.view<double>(), name, stop);
  else points.values = converted<double>(points.view<float>(), name, stop);
  return points;
}

Points read_points(const std::string& path, const ReadOptions& options) {
  Points points = read(path, options);
  return options.type ? convert(std::move(points), *options.type, path, options.stop) : points;
}

template <class T>
VectorOf<T> read_vector(const std::string& path, const ReadOptions& options) {
  const Points points = convert(read(path, options), element_type_of<T>, path, options.stop);
  if (points.columns() != 1 && points.rows() != 1)
    throw InputError("'" + path + "': " + std::to_string(points.rows()) + " rows of " +
                     std::to_string(points.columns()) + " columns; one value per row is expected");
  const PointsOf<T>& values = std::get<PointsOf<T>>(points.values);
  return {{values.view.data(), points.rows() * points.columns()}, values.owner};
}
template VectorOf<float> read_vector<float>(const std::string&, const ReadOptions&);
template VectorOf<double> read_vector<double>(const std::string&, const ReadOptions&);

}  // namespace gradus::io
