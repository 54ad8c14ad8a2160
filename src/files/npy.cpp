#include "files/npy.hpp"

#include <array>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/npz.hpp"
#include "core/text.hpp"
#include "files/elements.hpp"
#include "files/file.hpp"
#include "files/file_fields.hpp"
#include "files/foreign_formats.hpp"
#include "files/header_cursor.hpp"
#include "files/points_format.hpp"

namespace gradus::files {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

[[noreturn]] void refuse(std::string_view name, const std::string& what) {
  throw InputError("'" + std::string(name) + "': " + what, fields_of_file(name));
}

// ---- The header: a Python dict literal with the keys 'descr', 'fortran_order' and 'shape' ----

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

class HeaderParser : HeaderCursor {
 public:
  /// `offset` is the position of `text` in the file, for messages.
  HeaderParser(std::string_view text, std::size_t offset, std::string_view name)
      : HeaderCursor(text, offset, name, ".npy") {}

  Header parse() {
    std::optional<std::string> descr;
    std::optional<bool> fortran_order;
    std::optional<std::vector<std::int64_t>> shape;
    expect('{');
    while (!accept('}')) {
      skip_blanks();
      const std::size_t start = position();
      const std::string_view key = string(quotes);
      expect(':');
      if (key == "descr" && !descr) descr = type_string();
      else if (key == "fortran_order" && !fortran_order) fortran_order = boolean();
      else if (key == "shape" && !shape) shape = tuple();
      else fail(start, "the key " + core::excerpt(key) + " is unknown or stands there twice");
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_blanks();
    if (!at_end()) fail(position(), "text follows the closing brace");
    const char* const missing = !descr ? "descr" : !fortran_order ? "fortran_order" : !shape ? "shape" : nullptr;
    if (missing) fail(position(), "the key '" + std::string(missing) + "' is missing");
    return {std::move(*descr), *fortran_order, std::move(*shape)};
  }

 private:
  static constexpr std::string_view quotes = "'\"";

  std::string type_string() {
    skip_blanks();
    if (is_at('[') || is_at('(')) fail(position(), "a structured type; an array of plain numbers is expected");
    return std::string(string(quotes));
  }

  bool boolean() {
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    fail(position(), "True or False is expected");
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> result;
    expect('(');
    bool comma = false;
    while (!accept(')')) {
      if (!result.empty() && !comma) fail(position(), "',' or ')' is expected");
      result.push_back(integer("dimension"));
      (void)accept_word("L");  // Python 2 appends L to long integers
      comma = accept(',');
    }
    if (result.size() == 1 && !comma) fail(position(), "a tuple is expected, such as (3,)");
    return result;
  }
};

template <class Values>
const ElementKind<Values>& find_kind(std::string_view descr, std::string_view name) {
  const char order = descr.empty() ? '\0' : descr[0];
  const ElementKind<Values>* const found = descr.size() == 3 ? element_kind<Values>(descr.substr(1)) : nullptr;
  if (found != nullptr && (order == '<' || order == '>' || order == '=' || (order == '|' && found->bytes == 1)))
    return *found;
  std::string what = "values of type " + core::excerpt(descr);
  switch (descr.size() < 2 ? '\0' : descr[1]) {
    case 'O': what += " (Python objects)"; break;
    case 'U':
    case 'S':
    case 'a': what += " (strings)"; break;
    case 'c': what += " (complex numbers)"; break;
    case 'M':
    case 'm': what += " (dates or durations)"; break;
    case 'V': what += " (raw bytes)"; break;
    default: break;
  }
  refuse(name, what + " cannot be read; f2, f4, f8, i1 to i8, u1 to u8 and bool can");
}

bool begins_as_npy(std::span<const std::byte> bytes) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& shape, bool fortran_order) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t index = 0; index < shape.size(); ++index) {
    const std::size_t dim = fortran_order ? index : shape.size() - 1 - index;
    strides[dim] = stride;
    stride *= shape[dim];
  }
  return strides;
}

/// The header of a file. The constructor checks it against the length of the file.
template <class Values>
struct Layout {
  Header header;
  const ElementKind<Values>* kind;
  std::int64_t count;
  std::span<const std::byte> data;

  bool swap() const { return header.descr[0] == '>'; }

  // The functions below are only for arrays of one or two dimensions.
  std::int64_t rows() const { return header.shape[0]; }
  std::int64_t columns() const { return header.shape.size() == 2 ? header.shape[1] : 1; }
  std::int64_t row_bytes() const { return columns() * static_cast<std::int64_t>(kind->bytes); }
  /// Returns true if the elements must be transposed into rows. A single row or column has the same order in both
  /// layouts.
  bool by_columns() const { return header.fortran_order && rows() > 1 && columns() > 1; }
};

/// The reader that supports values of this type. Only the reader of graphs keeps integers, as edge weights.
template <class Values>
constexpr Reader reader_of = std::is_same_v<Values, Numbers> ? Reader::graph : Reader::points;

template <class Values>
Layout<Values> layout_of(std::span<const std::byte> bytes, std::string_view name, bool is_tensor) {
  const auto byte_at = [&](std::size_t position) { return std::to_integer<std::size_t>(bytes[position]); };
  if (!begins_as_npy(bytes)) refuse_foreign(as_text(bytes), std::string(name), reader_of<Values>);
  if (!begins_as_npy(bytes)) refuse(name, "not a .npy file: it does not begin with \\x93NUMPY");
  if (bytes.size() < 8) refuse(name, "the .npy file ends within its first 8 bytes");
  const std::size_t major = byte_at(6);
  if (major < 1 || major > 3 || byte_at(7) != 0)
    refuse(name, ".npy version " + std::to_string(major) + "." + std::to_string(byte_at(7)) +
                     " is unknown; 1.0, 2.0 and 3.0 can be read");
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t header_begin = 8 + length_bytes;
  if (bytes.size() < header_begin) refuse(name, "the .npy file ends within its first 12 bytes");
  std::size_t header_size = 0;
  for (std::size_t index = length_bytes; index-- > 0;) header_size = header_size << 8 | byte_at(8 + index);
  if (header_size > bytes.size() - header_begin)
    refuse(name, "the .npy header claims to take " + std::to_string(header_size) + " bytes, but only " +
                     std::to_string(bytes.size() - header_begin) + " are there");
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + header_begin, header_size);
  Header header = HeaderParser(text, header_begin, name).parse();

  const ElementKind<Values>& kind = find_kind<Values>(header.descr, name);
  const std::size_t dimensions = header.shape.size();
  if (is_tensor && dimensions > 64)  // NumPy's limit is 64
    refuse(name, "an array of " + std::to_string(dimensions) + " dimensions; at most 64 are expected");
  if (!is_tensor && dimensions != 1 && dimensions != 2)
    refuse(name, "an array of shape " + core::shape_text(header.shape) + "; one or two dimensions are expected");
  std::int64_t count = 1;
  bool overflows = false;
  for (const std::int64_t size : header.shape) overflows = __builtin_mul_overflow(count, size, &count) || overflows;
  std::int64_t payload = 0;
  if (overflows || __builtin_mul_overflow(count, static_cast<std::int64_t>(kind.bytes), &payload))
    refuse(name, "the shape " + core::shape_text(header.shape) + " overflows 64 bits");
  const std::span<const std::byte> data = bytes.subspan(header_begin + header_size);
  if (static_cast<std::uint64_t>(payload) != data.size())
    refuse(name, "an array of shape " + core::shape_text(header.shape) + " and type " + core::excerpt(header.descr) +
                     " takes " + std::to_string(payload) + " bytes after the header, but " +
                     std::to_string(data.size()) + " are there");
  return {std::move(header), &kind, count, data};
}

/// Array is one of NpyArray, NpyNumbers and Tensor.
template <class Array>
Array parse(std::span<const std::byte> bytes, std::string_view name, const std::shared_ptr<const void>& owner,
            const std::stop_token& stop) {
  constexpr bool is_tensor = std::is_same_v<Array, Tensor>;
  const auto layout = layout_of<decltype(Array::values)>(bytes, name, is_tensor);
  const Header& header = layout.header;
  std::vector<std::int64_t> strides(header.shape.size());
  if (layout.count > 0) strides = strides_of(header.shape, header.fortran_order);
  StoredMatrix matrix{.data = layout.data.data(),
                      .rows = layout.count,
                      .columns = 1,
                      .row_bytes = static_cast<std::int64_t>(layout.kind->bytes),
                      .by_columns = false,
                      .swap = layout.swap(),
                      .shape = header.shape,
                      .strides = strides,
                      .name = name,
                      .stop = stop};
  if constexpr (is_tensor) {
    auto values = layout.kind->read(matrix, owner);
    return {header.shape, std::move(strides), std::move(values)};
  } else {
    matrix.rows = layout.rows();
    matrix.columns = layout.columns();
    matrix.row_bytes = layout.row_bytes();
    matrix.by_columns = layout.by_columns();
    return {header.shape, header.descr, layout.kind->read(matrix, owner)};
  }
}

std::optional<RowsInFile> npy_rows(std::span<const std::byte> bytes, const std::string& path, const std::stop_token&) {
  const auto layout = layout_of<Reals>(bytes, path, false);
  if (layout.by_columns()) return std::nullopt;
  return RowsInFile{.data = layout.data,
                    .rows = layout.rows(),
                    .columns = layout.columns(),
                    .row_bytes = layout.row_bytes(),
                    .kind = layout.kind,
                    .swap = layout.swap()};
}

}  // namespace

bool looks_like_npy(std::span<const std::byte> bytes) { return begins_as_npy(bytes); }

NpyArray parse_npy(std::span<const std::byte> bytes, std::string_view name, const std::shared_ptr<const void>& owner,
                   const std::stop_token& stop) {
  return parse<NpyArray>(bytes, name, owner, stop);
}

NpyArray read_npy(const std::string& path, const std::stop_token& stop) {
  const auto file = std::make_shared<const MappedFile>(path, Access::repeated);
  return parse_npy(file->bytes(), path, file, stop);
}

Points to_points(NpyArray&& array) { return {.values = std::move(array.values), .picture = {}, .column_names = {}}; }

Tensor parse_npy_tensor(std::span<const std::byte> bytes, std::string_view name,
                        const std::shared_ptr<const void>& owner, const std::stop_token& stop) {
  Tensor tensor = parse<Tensor>(bytes, name, owner, stop);
  std::visit(
      [&](const auto& all) {
        tensor.own_bytes = static_cast<std::uint64_t>(all.view.rows()) * sizeof(*all.view.data());
      },
      tensor.values);
  return tensor;
}

Tensor read_npy_tensor(const std::string& path, const std::stop_token& stop) {
  const auto file = std::make_shared<const MappedFile>(path, Access::repeated);
  Tensor tensor = parse_npy_tensor(file->bytes(), path, file, stop);
  const bool in_file = std::visit([&](const auto& all) { return all.owner == file; }, tensor.values);
  if (in_file) tensor.own_bytes = 0;
  return tensor;
}

NpyNumbers parse_npy_numbers(std::span<const std::byte> bytes, std::string_view name,
                             const std::shared_ptr<const void>& owner, const std::stop_token& stop) {
  return parse<NpyNumbers>(bytes, name, owner, stop);
}

NpyNumbers read_npy_numbers(const std::string& path, const std::stop_token& stop) {
  const auto file = std::make_shared<const MappedFile>(path, Access::repeated);
  return parse_npy_numbers(file->bytes(), path, file, stop);
}

template <class T>
void write_npy_header(core::AtomicFile& file, std::int64_t rows, std::int64_t columns) {
  file.write(core::npy_header(core::npy_descr<T>(), std::array{rows, columns}));
}

template <class T>
std::uint64_t npy_size(std::span<const std::int64_t> shape) {
  std::uint64_t bytes = sizeof(T);
  for (const std::int64_t size : shape) bytes *= static_cast<std::uint64_t>(size);
  return core::npy_header(core::npy_descr<T>(), shape).size() + bytes;
}

template <class T>
std::uint64_t npy_size(std::int64_t rows, std::int64_t columns) {
  return npy_size<T>(std::array{rows, columns});
}

template <class T>
std::uint64_t npy_size(std::int64_t elements) {
  return npy_size<T>(std::array{elements});
}

template <class T>
void write_npy(core::AtomicFile& file, MatrixView<T> matrix) {
  write_npy_header<std::remove_const_t<T>>(file, matrix.rows(), matrix.columns());
  const auto write = [&](const T* data, std::int64_t count) {
    file.write(std::as_bytes(std::span(data, static_cast<std::size_t>(count))));
  };
  if (matrix.contiguous()) return write(matrix.data(), matrix.rows() * matrix.columns());
  for (std::int64_t row = 0; row < matrix.rows(); ++row) write(matrix.row(row), matrix.columns());
}

template <class T>
void write_npy(core::AtomicFile& file, std::span<const std::int64_t> shape, const T* elements) {
  std::size_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
  file.write(core::npy_header(core::npy_descr<T>(), shape));
  file.write(std::as_bytes(std::span(elements, count)));
}

template <class T>
void write_npy(core::AtomicFile& file, VectorView<T> vector) {
  write_npy<std::remove_const_t<T>>(file, std::array{vector.size()}, vector.data());
}

void write_npy_table(core::AtomicFile& file, std::span<const NpyColumn> columns) {
  const auto size_of = [](const auto& values) { return values.size(); };
  std::string descr;
  for (const NpyColumn& column : columns) {
    const bool real = std::holds_alternative<std::span<const double>>(column.values);
    descr += (descr.empty() ? "[('" : ", ('") + std::string(column.name) + "', ";
    descr += real ? core::npy_descr<double>() : core::npy_descr<std::uint64_t>();
    descr += ")";
  }
  const std::size_t rows = columns.empty() ? 0 : std::visit(size_of, columns.front().values);
  file.write(core::npy_header(descr + "]", std::array{static_cast<std::int64_t>(rows)}));
  std::vector<std::byte> bytes;
  const auto append = [&](const auto& value) {
    const auto next = std::as_bytes(std::span(&value, 1));
    bytes.insert(bytes.end(), next.begin(), next.end());
  };
  for (std::size_t row = 0; row < rows; ++row)
    for (const NpyColumn& column : columns) std::visit([&](const auto& values) { append(values[row]); }, column.values);
  file.write(bytes);
}

#define GRADUS_WRITE_NPY(T)                                                               \
  template std::uint64_t npy_size<T>(std::int64_t, std::int64_t);                         \
  template std::uint64_t npy_size<T>(std::int64_t);                                       \
  template std::uint64_t npy_size<T>(std::span<const std::int64_t>);                      \
  template void write_npy_header<T>(core::AtomicFile&, std::int64_t, std::int64_t);       \
  template void write_npy<T>(core::AtomicFile&, std::span<const std::int64_t>, const T*); \
  template void write_npy<T>(core::AtomicFile&, MatrixView<T>);                           \
  template void write_npy<const T>(core::AtomicFile&, MatrixView<const T>);               \
  template void write_npy<T>(core::AtomicFile&, VectorView<T>);                           \
  template void write_npy<const T>(core::AtomicFile&, VectorView<const T>);
GRADUS_WRITE_NPY(float)
GRADUS_WRITE_NPY(double)
GRADUS_WRITE_NPY(std::int32_t)
GRADUS_WRITE_NPY(std::int64_t)
#undef GRADUS_WRITE_NPY

extern constinit const PointsFormat npy_points{
    .file = {.name = "NumPy array",
             .endings = ".npy",
             .rules =
                 "Format versions 1 to 3, one or two dimensions (one: n × 1; [`gradus matmul`](#gradus-matmul) takes "
                 "more), C or Fortran order, either byte order. `f4` and `f8` that are aligned, in native byte order "
                 "and in C order are memory-mapped and not copied. `f2`, `i1`, `i2`, `u1`, `u2` and `bool` are "
                 "widened to `f32`; `i4`, `u4`, `i8`, `u8` to `f64`. Integers beyond 2^53 that a double cannot "
                 "represent are refused, as are pickled and structured arrays",
             .may_be_packed = false},
    .recognises = looks_like_npy,
    .has_any_name = true,
    .read = [](const std::string& path, const ReadOptions& options) { return to_points(read_npy(path, options.stop)); },
    .rows_in = npy_rows,
    .read_tensor = read_npy_tensor,
    .in_stream = [](const ArrayBytes& all, const std::stop_token&) { return all; },
};

}  // namespace gradus::files
