#include "files/points.hpp"

#include <algorithm>
#include <cmath>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "files/csv.hpp"
#include "files/file.hpp"
#include "files/foreign_formats.hpp"
#include "files/image.hpp"
#include "files/npy.hpp"
#include "files/npz.hpp"
#include "files/text_input.hpp"
#include "files/trajectory.hpp"

namespace gradus::files {
namespace {

enum class Kind : std::uint8_t { npy, npz, csv, tsv, image };

std::optional<Kind> named_kind(const std::string& path) {
  const std::string ending = ending_of(path);
  // Text may be packed.
  const std::string inner = ending == ".gz" ? ending_of(path.substr(0, path.size() - ending.size())) : ending;
  if (ending == ".npy") return Kind::npy;
  if (npz_path(path)) return Kind::npz;
  if (inner == ".tsv") return Kind::tsv;
  if (inner == ".csv" || inner == ".txt") return Kind::csv;
  if (ending == ".png" || ending == ".jpg" || ending == ".jpeg") return Kind::image;
  return std::nullopt;
}

Kind kind_of(const std::string& path) {
  if (const std::optional<Kind> named = named_kind(path)) return *named;
  const MappedFile file(path);
  if (looks_like_npy(file.bytes())) return Kind::npy;
  if (looks_like_image(file.bytes())) return Kind::image;
  if (names_trajectory(path))
    throw InputError("'" + path +
                     "': the frames of a trajectory, and one set of points is wanted; cut a frame out as .npy or .csv");
  refuse_foreign(as_text(file.bytes()), path, Reader::points);
  throw InputError("'" + path + "': neither its name nor its content says what kind of file it is; " +
                   std::string(readable(Reader::points)));
}

/// The bytes of a .npy file, and what keeps them alive.
struct NpyBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  std::string name;  ///< for messages
};

NpyBytes npz_bytes(std::span<const std::byte> bytes, const std::string& name, const std::string& array,
                   const std::shared_ptr<const void>& owner, const std::stop_token& stop) {
  NpzArray found = find_npz_array(bytes, name, array, owner, stop);
  return {found.bytes, std::move(found.owner), std::move(found.name)};
}

NpyBytes npz_bytes(const NpzPath& path, const std::stop_token& stop) {
  const auto file = std::make_shared<const MappedFile>(path.file, Access::repeated);
  return npz_bytes(file->bytes(), path.file, path.array, file, stop);
}

Points from_table(CsvTable&& table, const ReadOptions& options) {
  if (options.note)
    for (const std::string& note : table.notes) options.note(note);
  return {.values = std::move(table.values),
          .picture = {},
          .column_names = std::move(table.column_names),
          .row_names = std::move(table.row_names),
          .weights = std::move(table.weights),
          .dropped = std::move(table.dropped),
          .from_text = true};
}

Points from_npy(NpyArray&& array) { return {.values = std::move(array.values), .picture = {}, .column_names = {}}; }
Points from_npy(const NpyBytes& npy, const std::stop_token& stop) {
  return from_npy(parse_npy(npy.bytes, npy.name, npy.owner, stop));
}

CsvOptions csv_options(Separator separator, const ReadOptions& options) {
  return {.separator = separator,
          .header = options.header,
          .columns = options.columns,
          .style = options.style,
          .comment = options.comment,
          .missing = options.missing,
          .names_matter = options.names_matter,
          .threads = options.threads};
}

/// What a stream holds: .npy, from an archive or as such, or nothing where it rather holds text.
std::optional<NpyBytes> npy_of(TextInput& input, const std::stop_token& stop) {
  const auto beginning = std::as_bytes(std::span(input.beginning()));
  const bool packed = looks_like_zip(beginning);
  if (!packed && !looks_like_npy(beginning)) return std::nullopt;
  const auto all = input.rest();
  const auto bytes = std::as_bytes(std::span(*all));
  if (packed) return npz_bytes(bytes, input.name(), "", all, stop);
  return NpyBytes{bytes, all, input.name()};
}

/// Some columns of points that are no table of text.
template <class T>
void keep_columns(Points& points, PointsOf<T> from, const ChosenColumns& chosen, std::string_view name,
                  const std::stop_token& stop) {
  const std::int64_t rows = from.view.rows();
  if (chosen.id) {
    auto names = std::make_shared<RowNames>();
    for (std::int64_t row = 0; row < rows; ++row)
      names->add(core::number_text(static_cast<double>(from.view(row, static_cast<std::int64_t>(*chosen.id)))));
    points.row_names = std::move(names);
  }
  if (chosen.weight)
    for (std::int64_t row = 0; row < rows; ++row)
      points.weights.push_back(static_cast<double>(from.view(row, static_cast<std::int64_t>(*chosen.weight))));
  Matrix<T> kept(rows, static_cast<std::int64_t>(chosen.taken.size()));
  const std::int64_t stretch = core::stretch_length(rows, kept.columns());
  for (std::int64_t row = 0; row < rows; ++row) {
    if (row % stretch == 0) core::honour_stop(stop, "stopped while reading '" + std::string(name) + "'");
    for (std::size_t column = 0; column < chosen.taken.size(); ++column)
      kept(row, static_cast<std::int64_t>(column)) = from.view(row, static_cast<std::int64_t>(chosen.taken[column]));
  }
  points.values = own(std::move(kept));
}

Points choose(Points points, const std::string& path, const ReadOptions& options) {
  if (points.from_text || options.columns.empty()) return points;
  if (points.picture)
    throw InputError("'" + path +
                     "': a picture, of which all channels are taken; columns are those of a table or array");
  const ChosenColumns chosen =
      choose_columns(options.columns, {}, static_cast<std::size_t>(points.columns()), "'" + path + "'");
  std::visit([&](auto from) { keep_columns(points, std::move(from), chosen, path, options.stop); },
             decltype(points.values)(points.values));
  return points;
}

Points read_stream(TextInput& input, const ReadOptions& options) {
  if (const std::optional<NpyBytes> npy = npy_of(input, options.stop)) return from_npy(*npy, options.stop);
  return from_table(read_csv(input, csv_options(Separator::detect, options), options.stop), options);
}

Points read_all(const std::string& path, const ReadOptions& options) {
  if (is_stream(path)) {
    TextInput input(path, options.stop);
    return read_stream(input, options);
  }
  switch (kind_of(path)) {
    case Kind::npy: return from_npy(read_npy(path, options.stop));
    case Kind::npz: return from_npy(npz_bytes(*npz_path(path), options.stop), options.stop);
    case Kind::csv: return from_table(read_csv(path, csv_options(Separator::detect, options), options.stop), options);
    case Kind::tsv: return from_table(read_csv(path, csv_options(Separator::tab, options), options.stop), options);
    case Kind::image: return to_points(read_image(path, options.stop), options.stop);
  }
  __builtin_unreachable();
}

Points read(const std::string& path, const ReadOptions& options) {
  return choose(read_all(path, options), path, options);
}

template <class To, class From>
PointsOf<To> converted(MatrixView<const From> from, std::span<const std::int64_t> shape,
                       std::span<const std::int64_t> strides, std::string_view name, const std::stop_token& stop,
                       std::int64_t before) {
  Matrix<To> to(from.rows(), from.columns());
  const std::int64_t count = from.rows() * from.columns();
  for (std::int64_t first = 0; first < count; first += core::operations_between_looks) {
    core::honour_stop(stop, "stopped while reading '" + std::string(name) + "'");
    for (std::int64_t at = first; at < std::min(first + core::operations_between_looks, count); ++at) {
      const From value = from.data()[at];
      const To result = static_cast<To>(value);
      if (std::isinf(result) && !std::isinf(value))
        throw InputError(
            "'" + std::string(name) + "': " +
            about_element(shape, strides, before + at, core::number_text(value) + " is beyond the range of f32"));
      to.data()[at] = result;
    }
  }
  return own(std::move(to));
}

/// Either kind of numbers as the other type. `before`: elements that come before these, for messages.
template <class Values>
void change_type(Values& values, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                 std::string_view name, const std::stop_token& stop, std::int64_t before = 0) {
  if (const auto* wide = std::get_if<PointsOf<double>>(&values))
    values = converted<float>(wide->view, shape, strides, name, stop, before);
  else values = converted<double>(std::get<PointsOf<float>>(values).view, shape, strides, name, stop, before);
}

template <class T>
constexpr ElementType element_type_of = sizeof(T) == 4 ? ElementType::f32 : ElementType::f64;

}  // namespace

bool is_table(const std::string& path) {
  if (is_stream(path)) return true;
  if (names_trajectory(path)) return false;
  const Kind kind = kind_of(path);
  return kind == Kind::csv || kind == Kind::tsv;
}

bool names_points(const std::string& path) { return named_kind(path).has_value(); }

bool is_npy(const std::string& path) {
  if (is_stream(path) || names_trajectory(path)) return false;
  const Kind kind = kind_of(path);
  return kind == Kind::npy || kind == Kind::npz;
}

ReadOptions with_all_columns(ReadOptions options) {
  options.columns = {};
  options.missing = Missing::error;
  return options;
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
                     " lack a number and are left out; one for each row of the file is needed");
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

std::optional<PointsShape> shape_in_rows(const std::string& path, const ReadOptions& options) {
  if (is_stream(path) || kind_of(path) != Kind::npy) return std::nullopt;
  const NpyShape shape = npy_shape(path);
  if (!shape.by_rows) return std::nullopt;
  std::int64_t columns = shape.columns;
  if (!options.columns.empty()) {
    const ChosenColumns chosen =
        choose_columns(options.columns, {}, static_cast<std::size_t>(columns), "'" + path + "'");
    if (chosen.id || chosen.weight) return std::nullopt;  // which are wanted in one place
    columns = static_cast<std::int64_t>(chosen.taken.size());
  }
  return PointsShape{shape.rows, columns, options.type.value_or(shape.type)};
}

Points read_rows(const std::string& path, std::int64_t first, std::int64_t rows, const ReadOptions& options) {
  Points points = choose(from_npy(read_npy_rows(path, first, rows, options.stop)), path, options);
  return options.type ? convert(std::move(points), *options.type, path, options.stop, first) : points;
}

Tensor convert(Tensor tensor, ElementType type, std::string_view name, const std::stop_token& stop) {
  tensor.own_bytes = tensor.bytes_as(type);
  if (tensor.type() != type) change_type(tensor.values, tensor.shape, tensor.strides, name, stop);
  return tensor;
}

Points read_points(const std::string& path, const ReadOptions& options) {
  Points points = read(path, options);
  return options.type ? convert(std::move(points), *options.type, path, options.stop) : points;
}

Points read_points(TextInput& input, const ReadOptions& options) {
  const std::string name = input.name();
  Points points = choose(read_stream(input, options), name, options);
  return options.type ? convert(std::move(points), *options.type, name, options.stop) : points;
}

Tensor read_tensor(const std::string& path, const ReadOptions& options) {
  const auto of_points = [&](Points points) {
    Tensor tensor{.shape = {points.rows(), points.columns()}, .strides = {points.columns(), 1}, .values = {}};
    std::visit(
        [&](auto& table) {
          table.view = {table.view.data(), table.view.rows() * table.view.columns(), 1};
          tensor.own_bytes = static_cast<std::uint64_t>(table.view.rows()) * sizeof(*table.view.data());
          tensor.values = std::move(table);
        },
        points.values);
    return tensor;
  };
  const auto of_npy = [&](const NpyBytes& npy) {
    Tensor tensor = parse_npy_tensor(npy.bytes, npy.name, npy.owner, options.stop);
    std::visit(
        [&](const auto& all) {
          tensor.own_bytes = static_cast<std::uint64_t>(all.view.rows()) * sizeof(*all.view.data());
        },
        tensor.values);
    return tensor;
  };
  const auto of_stream = [&] {
    TextInput input(path, options.stop);
    if (const std::optional<NpyBytes> npy = npy_of(input, options.stop)) return of_npy(*npy);
    return of_points(from_table(read_csv(input, csv_options(Separator::detect, options), options.stop), options));
  };
  const std::optional<NpzPath> npz = npz_path(path);
  Tensor tensor = is_stream(path) ? of_stream()
                  : npz           ? of_npy(npz_bytes(*npz, options.stop))
                  : is_npy(path)  ? read_npy_tensor(path, options.stop)
                                  : of_points(read(path, options));
  return options.type ? convert(std::move(tensor), *options.type, path, options.stop) : tensor;
}

template <class T>
VectorOf<T> read_vector(const std::string& path, const ReadOptions& options) {
  const Points points = convert(read(path, with_all_columns(options)), element_type_of<T>, path, options.stop);
  if (points.columns() != 1 && points.rows() != 1)
    throw InputError("'" + path + "': " + std::to_string(points.rows()) + " rows of " +
                     std::to_string(points.columns()) + " columns; one value per row is expected");
  const PointsOf<T>& values = std::get<PointsOf<T>>(points.values);
  return {{values.view.data(), points.rows() * points.columns()}, values.owner};
}
template VectorOf<float> read_vector<float>(const std::string&, const ReadOptions&);
template VectorOf<double> read_vector<double>(const std::string&, const ReadOptions&);

}  // namespace gradus::files
