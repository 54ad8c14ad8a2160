#include "files/points.hpp"

#include <algorithm>
#include <vector>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "files/array_path.hpp"
#include "files/csv.hpp"
#include "files/file.hpp"
#include "files/file_fields.hpp"
#include "files/foreign_formats.hpp"
#include "files/npy.hpp"
#include "files/text_input.hpp"

namespace gradus::files {

// The formats. Names and contents are tested in this order, and texts list the formats in this order. The CMake files
// of the fuzzers read this list.
// clang-format off
#define GRADUS_POINTS_FORMATS \
  FORMAT(npy) \
  FORMAT(npz) \
  FORMAT(safetensors) \
  FORMAT(hdf5) \
  FORMAT(texmex) \
  FORMAT(big_ann) \
  FORMAT(csv) \
  FORMAT(image)
// clang-format on
#define FORMAT(id) extern constinit const PointsFormat id##_points;
GRADUS_POINTS_FORMATS
#undef FORMAT

namespace {

constexpr const PointsFormat* formats[] = {
#define FORMAT(id) &id##_points,
    GRADUS_POINTS_FORMATS
#undef FORMAT
};

std::string readable_points() {
  std::string text = endings_for(Reader::points) + " can be read, '-' is CSV from standard input";
  if (const std::string frames = endings_for(Reader::frames); !frames.empty())
    text += ", and commands that take trajectories read " + frames;
  return text;
}

std::vector<const Format*> rows() {
  std::vector<const Format*> rows;
  for (const PointsFormat* const format : formats) rows.push_back(&format->file);
  return rows;
}

const RegisteredFormats registered(Reader::points, {.kind = "points", .rows = rows, .text = readable_points});

const PointsFormat* named_format(const std::string& path) {
  const auto found = std::ranges::find_if(formats, [&](const PointsFormat* format) {
    return format->file.names(path) || (format->has_arrays && array_path(path, format->file.endings));
  });
  return found == std::end(formats) ? nullptr : *found;
}

const PointsFormat& format_of(const std::string& path) {
  if (const PointsFormat* const named = named_format(path)) return *named;
  const MappedFile file(path);
  for (const PointsFormat* const format : formats)
    if (format->has_any_name && format->recognises(file.bytes())) return *format;
  if (names_format(Reader::frames, path))
    throw InputError("'" + path +
                     "': the frames of a trajectory, and one set of points is wanted; cut a frame out as .npy or .csv");
  refuse_foreign(as_text(file.bytes()), path, Reader::points);
  throw InputError("'" + path + "': neither its name nor its content says what kind of file it is; " +
                   readable(Reader::points));
}

/// The rows of a mapped file.
struct MappedRows {
  std::shared_ptr<const MappedFile> file;
  RowsInFile rows;
};

/// Returns the rows of the file, or nothing if a row cannot be read without other rows.
std::optional<MappedRows> rows_of(const std::string& path, const std::stop_token& stop) {
  const PointsFormat& format = format_of(path);
  if (format.rows_in == nullptr) return std::nullopt;
  auto file = std::make_shared<const MappedFile>(file_of_points(path), Access::parts);
  std::optional<RowsInFile> rows = format.rows_in(file->bytes(), path, stop);
  if (!rows) return std::nullopt;
  return MappedRows{std::move(file), *rows};
}

/// Returns true if the rows are kept in the type of the file: see ReadOptions::keep_stored.
bool keeps_stored(const RowsInFile& rows, const ReadOptions& options) {
  return options.keep_stored && options.columns.empty() &&
         options.type.value_or(ElementType::f32) == ElementType::f32 && rows.is_stored();
}

Points points_of(const MappedRows& mapped, std::int64_t first, std::int64_t last, const std::string& path,
                 const ReadOptions& options) {
  mapped.file->read_ahead(mapped.rows.bytes(first, last));
  return keeps_stored(mapped.rows, options) ? mapped.rows.view(first, last, path, mapped.file, options.stop)
                                            : mapped.rows.read(first, last, path, mapped.file, options.stop);
}

/// Returns the array in a stream, or nothing if the stream seems to hold text.
std::optional<ArrayBytes> array_in(TextInput& input, const std::stop_token& stop) {
  const auto beginning = std::as_bytes(std::span(input.beginning()));
  for (const PointsFormat* const format : formats) {
    if (format->in_stream == nullptr || !format->recognises(beginning)) continue;
    const auto all = input.rest();
    return format->in_stream({std::as_bytes(std::span(*all)), all, input.name()}, stop);
  }
  return std::nullopt;
}

/// Selects the chosen columns of points from a file that is not a text table.
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
  const std::int64_t stretch = core::chunk_length(rows, kept.columns());
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
                     "': a picture, whose channels all count; only tables and arrays have columns to choose");
  const ChosenColumns chosen =
      choose_columns(options.columns, {}, static_cast<std::size_t>(points.columns()), "'" + path + "'");
  std::visit([&](auto from) { keep_columns(points, std::move(from), chosen, path, options.stop); },
             decltype(points.values)(points.values));
  return points;
}

Points read_stream(TextInput& input, const ReadOptions& options) {
  if (const std::optional<ArrayBytes> array = array_in(input, options.stop))
    return to_points(parse_npy(array->bytes, array->name, array->owner, options.stop));
  return read_table(input, options);
}

Points read_all(const std::string& path, const ReadOptions& options) {
  if (!is_stream(path)) {
    const PointsFormat& format = format_of(path);
    if (format.read == nullptr || options.keep_stored)
      if (const std::optional<MappedRows> all = rows_of(path, options.stop);
          all && (format.read == nullptr || keeps_stored(all->rows, options)))
        return points_of(*all, 0, all->rows.rows, path, options);
    return format.read(path, options);
  }
  TextInput input(path, options.stop);
  return read_stream(input, options);
}

Points read(const std::string& path, const ReadOptions& options) {
  return choose(read_all(path, options), path, options);
}

}  // namespace

bool is_table(const std::string& path) {
  return is_stream(path) || (!names_format(Reader::frames, path) && format_of(path).is_table);
}

std::string file_of_points(const std::string& path) {
  for (const PointsFormat* const format : formats)
    if (format->has_arrays)
      if (std::optional<ArrayPath> array = array_path(path, format->file.endings)) return std::move(array->file);
  return path;
}

bool names_points(const std::string& path) { return named_format(path) != nullptr; }

bool recognises_points(std::string_view beginning) {
  const auto bytes = std::as_bytes(std::span(beginning));
  return std::ranges::any_of(
      formats, [&](const PointsFormat* format) { return format->has_any_name && format->recognises(bytes); });
}

bool is_npy(const std::string& path) {
  return !is_stream(path) && !names_format(Reader::frames, path) && format_of(path).read_tensor != nullptr;
}

ReadOptions with_all_columns(ReadOptions options) {
  options.columns = {};
  options.missing = Missing::error;
  return options;
}

ReadOptions of_list(ReadOptions options) {
  options = with_all_columns(std::move(options));
  options.header = HeaderLine::automatic;
  options.names_matter = false;
  return options;
}

std::optional<PointsShape> shape_in_rows(const std::string& path, const ReadOptions& options) {
  if (is_stream(path)) return std::nullopt;
  const std::optional<MappedRows> all = rows_of(path, options.stop);
  if (!all) return std::nullopt;
  std::int64_t columns = all->rows.columns;
  if (!options.columns.empty()) {
    const ChosenColumns chosen =
        choose_columns(options.columns, {}, static_cast<std::size_t>(columns), "'" + path + "'");
    if (chosen.id || chosen.weight) return std::nullopt;  // ids and weights need all rows together
    columns = static_cast<std::int64_t>(chosen.taken.size());
  }
  const ElementType type = options.type.value_or(all->rows.type());
  const std::optional<StoredType> stored = keeps_stored(all->rows, options) ? all->rows.kind->stored : std::nullopt;
  const bool is_mapped =
      !all->rows.load && (stored || (all->rows.is_viewed() && type == all->rows.type() && options.columns.empty()));
  return PointsShape{all->rows.rows, columns, type, is_mapped, stored};
}

Points read_rows(const std::string& path, std::int64_t first, std::int64_t rows, const ReadOptions& options) {
  const std::optional<MappedRows> all = rows_of(path, options.stop);
  if (!all || first < 0 || rows < 0 || first > all->rows.rows - rows)
    throw InputError("'" + path + "': the file has no rows " + std::to_string(first) + " to " +
                         std::to_string(first + rows) + " (excluded)",
                     fields_of_file(path));
  Points points = choose(points_of(*all, first, first + rows, path, options), path, options);
  return options.type ? convert(std::move(points), *options.type, path, options.stop, first) : points;
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
    std::visit([](auto& table) { table = without_gaps(std::move(table)); }, points.values);
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
  const auto of_stream = [&] {
    TextInput input(path, options.stop);
    if (const std::optional<ArrayBytes> array = array_in(input, options.stop))
      return parse_npy_tensor(array->bytes, array->name, array->owner, options.stop);
    return of_points(read_table(input, options));
  };
  const auto of_file = [&] {
    const PointsFormat& format = format_of(path);
    return format.read_tensor != nullptr ? format.read_tensor(path, options.stop) : of_points(read(path, options));
  };
  Tensor tensor = is_stream(path) ? of_stream() : of_file();
  return options.type ? convert(std::move(tensor), *options.type, path, options.stop) : tensor;
}

template <class T>
VectorOf<T> read_vector(const std::string& path, const ReadOptions& options) {
  const Points points = convert(read(path, of_list(options)), element_type_of<T>, path, options.stop);
  if (points.columns() != 1 && points.rows() != 1)
    throw InputError("'" + path + "': " + std::to_string(points.rows()) + " rows of " +
                     std::to_string(points.columns()) + " columns; one value per row is expected");
  const PointsOf<T> values = without_gaps(std::get<PointsOf<T>>(points.values));
  return {{values.view.data(), points.rows() * points.columns()}, values.owner};
}
template VectorOf<float> read_vector<float>(const std::string&, const ReadOptions&);
template VectorOf<double> read_vector<double>(const std::string&, const ReadOptions&);

}  // namespace gradus::files
