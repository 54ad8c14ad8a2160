#include "files/npy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/exact_conversion.hpp"
#include "core/npz.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "files/file.hpp"
#include "files/file_fields.hpp"
#include "files/foreign_formats.hpp"
#include "files/points_format.hpp"

namespace gradus::files {
namespace {

static_assert(std::endian::native == std::endian::little, "native byte order must be little-endian here");

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

class HeaderParser {
 public:
  /// `offset` is the position of `text` in the file, for messages.
  HeaderParser(std::string_view text, std::size_t offset, std::string_view name)
      : text_(text), offset_(offset), name_(name) {}

  Header parse() {
    std::optional<std::string> descr;
    std::optional<bool> fortran_order;
    std::optional<std::vector<std::int64_t>> shape;
    expect('{');
    while (!accept('}')) {
      skip_blanks();
      const std::size_t start = position_;
      const std::string_view key = string();
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
    if (position_ != text_.size()) fail(position_, "text follows the closing brace");
    const char* const missing = !descr ? "descr" : !fortran_order ? "fortran_order" : !shape ? "shape" : nullptr;
    if (missing) fail(position_, "the key '" + std::string(missing) + "' is missing");
    return {std::move(*descr), *fortran_order, std::move(*shape)};
  }

 private:
  [[noreturn]] void fail(std::size_t position, const std::string& what) const {
    const std::size_t byte = offset_ + position;
    throw InputError("'" + std::string(name_) + "': bad .npy header at byte " + std::to_string(byte) + ": " + what,
                     fields_at_byte(name_, byte));
  }

  bool at_end() const { return position_ == text_.size(); }

  void skip_blanks() {
    while (!at_end() && (text_[position_] == ' ' || text_[position_] == '\n' || text_[position_] == '\t')) ++position_;
  }

  bool accept(char wanted) {
    skip_blanks();
    if (at_end() || text_[position_] != wanted) return false;
    ++position_;
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) fail(position_, std::string("'") + wanted + "' is expected");
  }

  bool accept_word(std::string_view word) {
    skip_blanks();
    if (!text_.substr(position_).starts_with(word)) return false;
    position_ += word.size();
    return true;
  }

  /// Returns the string at the current position. Escapes are not decoded, because no supported key or type has any.
  std::string_view string() {
    skip_blanks();
    const std::size_t start = position_;
    if (at_end() || (text_[start] != '\'' && text_[start] != '"')) fail(start, "a string is expected");
    const std::size_t end = text_.find(text_[start], start + 1);
    if (end == std::string_view::npos) fail(start, "the string does not end");
    position_ = end + 1;
    return text_.substr(start + 1, end - start - 1);
  }

  std::string type_string() {
    skip_blanks();
    if (!at_end() && (text_[position_] == '[' || text_[position_] == '('))
      fail(position_, "a structured type; an array of plain numbers is expected");
    return std::string(string());
  }

  bool boolean() {
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    fail(position_, "True or False is expected");
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> result;
    expect('(');
    bool comma = false;
    while (!accept(')')) {
      if (!result.empty() && !comma) fail(position_, "',' or ')' is expected");
      result.push_back(integer());
      comma = accept(',');
    }
    if (result.size() == 1 && !comma) fail(position_, "a tuple is expected, such as (3,)");
    return result;
  }

  std::int64_t integer() {
    skip_blanks();
    std::int64_t value = 0;
    const char* const begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) fail(position_, "the dimension overflows 64 bits");
    if (error != std::errc{} || value < 0) fail(position_, "a dimension, zero or more, is expected");
    position_ += static_cast<std::size_t>(end - begin);
    if (!at_end() && text_[position_] == 'L') ++position_;  // a long integer of Python 2
    return value;
  }

  std::string_view text_;
  std::size_t offset_;
  std::string_view name_;
  std::size_t position_ = 0;
};

// ---- Elements ----

struct Half {
  std::uint16_t bits;
};

struct Bool {
  std::uint8_t bits;
};

float widen(Half half) {
  const std::uint32_t sign = std::uint32_t{half.bits & 0x8000u} << 16;
  const std::uint32_t exponent = (half.bits >> 10) & 31u;
  const std::uint32_t mantissa = half.bits & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;  // exact: zero and the subnormal numbers
    return sign ? -magnitude : magnitude;
  }
  const std::uint32_t wide_exponent = exponent == 31 ? 255 : exponent + (127 - 15);
  return std::bit_cast<float>(sign | wide_exponent << 23 | mantissa << 13);
}

template <class Stored>
Stored load(const std::byte* from, bool swap) {
  std::array<std::byte, sizeof(Stored)> bytes;
  std::memcpy(bytes.data(), from, sizeof(Stored));
  if (swap) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<Stored>(bytes);
}

struct Source {
  const std::byte* data;
  std::int64_t rows;
  std::int64_t columns;
  bool fortran_order;  ///< true if the elements must be transposed into rows
  bool swap;
  std::span<const std::int64_t> shape;    ///< shape in the file, for messages
  std::span<const std::int64_t> strides;  ///< strides in the file, for messages
  std::string_view name;
  const std::stop_token& stop;
  std::int64_t first = 0;  ///< index of the first element in the file, for messages

  void honour_stop() const { core::honour_stop(stop, "stopped while reading '" + std::string(name) + "'"); }
};

template <class T, class Stored>
T element(const Source& source, std::int64_t position) {
  const Stored stored = load<Stored>(source.data + position * static_cast<std::int64_t>(sizeof(Stored)), source.swap);
  if constexpr (std::is_same_v<Stored, Half>) {
    return widen(stored);
  } else if constexpr (std::is_same_v<Stored, Bool>) {
    return stored.bits != 0 ? T{1} : T{0};
  } else {
    if constexpr (std::is_integral_v<Stored> && sizeof(Stored) == 8) {
      if (!core::is_exact_in<T>(stored))
        refuse(source.name,
               about_element(source.shape, source.strides, source.first + position,
                             "the integer " + std::to_string(stored) +
                                 (std::is_integral_v<T> ? " is beyond 64 bits with a sign" : " has no exact double")));
    }
    return static_cast<T>(stored);
  }
}

template <class T, class Stored>
Matrix<T> converted(const Source& source) {
  Matrix<T> result(source.rows, source.columns);
  if (source.rows == 0 || source.columns == 0) return result;
  if (!source.fortran_order) {
    const std::int64_t count = source.rows * source.columns;
    for (std::int64_t first = 0; first < count; first += core::operations_between_polls) {
      source.honour_stop();
      for (std::int64_t position = first; position < std::min(first + core::operations_between_polls, count);
           ++position)
        result.data()[position] = element<T, Stored>(source, position);
    }
    return result;
  }
  // Transposes tile by tile, so that the source and the destination of a tile stay in the L1 cache.
  constexpr std::int64_t tile = 32;
  for (std::int64_t first_row = 0; first_row < source.rows; first_row += tile) {
    const std::int64_t last_row = std::min(source.rows, first_row + tile);
    for (std::int64_t first_column = 0; first_column < source.columns; first_column += tile) {
      if (first_column % 1024 == 0) source.honour_stop();
      const std::int64_t last_column = std::min(source.columns, first_column + tile);
      for (std::int64_t column = first_column; column < last_column; ++column)
        for (std::int64_t row = first_row; row < last_row; ++row)
          result(row, column) = element<T, Stored>(source, column * source.rows + row);
    }
  }
  return result;
}

template <class T, class Stored>
PointsOf<T> values_of(const Source& source, const std::shared_ptr<const void>& owner) {
  if constexpr (std::is_same_v<T, Stored>) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(source.data) % alignof(T) == 0;
    if (aligned && !source.swap && !source.fortran_order)
      return {{reinterpret_cast<const T*>(source.data), source.rows, source.columns}, owner};
  }
  return own(converted<T, Stored>(source));
}

/// A supported element type: its size, and the function that converts the payload to values.
template <class Values>
struct ElementKind {
  std::string_view name;  ///< the descr without byte order
  std::size_t bytes;
  std::size_t value_bytes;  ///< size of the converted value
  Values (*read)(const Source&, const std::shared_ptr<const void>&);
};

template <class Values, class T, class Stored>
constexpr ElementKind<Values> kind(std::string_view name) {
  return {name, sizeof(Stored), sizeof(T),
          [](const Source& source, const std::shared_ptr<const void>& owner) -> Values {
            return values_of<T, Stored>(source, owner);
          }};
}

template <class Values>
constexpr std::array<ElementKind<Values>, 12> kinds{};  // one table for each type of result

using Reals = decltype(NpyArray::values);
template <>
constexpr std::array<ElementKind<Reals>, 12> kinds<Reals> = {{
    kind<Reals, float, Half>("f2"),
    kind<Reals, float, float>("f4"),
    kind<Reals, double, double>("f8"),
    kind<Reals, float, std::int8_t>("i1"),
    kind<Reals, float, std::int16_t>("i2"),
    kind<Reals, double, std::int32_t>("i4"),
    kind<Reals, double, std::int64_t>("i8"),
    kind<Reals, float, std::uint8_t>("u1"),
    kind<Reals, float, std::uint16_t>("u2"),
    kind<Reals, double, std::uint32_t>("u4"),
    kind<Reals, double, std::uint64_t>("u8"),
    kind<Reals, float, Bool>("b1"),
}};

using Numbers = decltype(NpyNumbers::values);
template <>
constexpr std::array<ElementKind<Numbers>, 12> kinds<Numbers> = {{
    kind<Numbers, float, Half>("f2"),
    kind<Numbers, float, float>("f4"),
    kind<Numbers, double, double>("f8"),
    kind<Numbers, std::int32_t, std::int8_t>("i1"),
    kind<Numbers, std::int32_t, std::int16_t>("i2"),
    kind<Numbers, std::int32_t, std::int32_t>("i4"),
    kind<Numbers, std::int64_t, std::int64_t>("i8"),
    kind<Numbers, std::int32_t, std::uint8_t>("u1"),
    kind<Numbers, std::int32_t, std::uint16_t>("u2"),
    kind<Numbers, std::int64_t, std::uint32_t>("u4"),
    kind<Numbers, std::int64_t, std::uint64_t>("u8"),
    kind<Numbers, std::int32_t, Bool>("b1"),
}};

template <class Values>
const ElementKind<Values>& find_kind(std::string_view descr, std::string_view name) {
  const char order = descr.empty() ? '\0' : descr[0];
  for (const ElementKind<Values>& candidate : kinds<Values>)
    if (descr.size() == 3 && descr.substr(1) == candidate.name &&
        (order == '<' || order == '>' || order == '=' || (order == '|' && candidate.bytes == 1)))
      return candidate;
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

/// The header of a file, checked against the file's length.
template <class Values>
struct Layout {
  Header header;
  const ElementKind<Values>* kind;
  std::int64_t count;
  std::span<const std::byte> data;

  // For arrays of one or two dimensions only.
  std::int64_t rows() const { return header.shape[0]; }
  std::int64_t columns() const { return header.shape.size() == 2 ? header.shape[1] : 1; }
  /// Returns true for Fortran order. A single row or column is the same in both orders.
  bool by_columns() const { return header.fortran_order && rows() > 1 && columns() > 1; }
};

/// The reader to which values of this type belong. Only graphs keep integers, as edge weights.
template <class Values>
constexpr Reader reader_of = std::is_same_v<Values, decltype(NpyNumbers::values)> ? Reader::graph : Reader::points;

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

  const auto& element_kind = find_kind<Values>(header.descr, name);
  const std::size_t dimensions = header.shape.size();
  if (is_tensor && dimensions > 64)  // NumPy's limit is 64
    refuse(name, "an array of " + std::to_string(dimensions) + " dimensions; at most 64 are expected");
  if (!is_tensor && dimensions != 1 && dimensions != 2)
    refuse(name, "an array of shape " + core::shape_text(header.shape) + "; one or two dimensions are expected");
  std::int64_t count = 1;
  bool overflows = false;
  for (const std::int64_t size : header.shape) overflows = __builtin_mul_overflow(count, size, &count) || overflows;
  std::int64_t payload = 0;
  if (overflows || __builtin_mul_overflow(count, static_cast<std::int64_t>(element_kind.bytes), &payload))
    refuse(name, "the shape " + core::shape_text(header.shape) + " overflows 64 bits");
  const std::span<const std::byte> data = bytes.subspan(header_begin + header_size);
  if (static_cast<std::uint64_t>(payload) != data.size())
    refuse(name, "an array of shape " + core::shape_text(header.shape) + " and type " + core::excerpt(header.descr) +
                     " takes " + std::to_string(payload) + " bytes after the header, but " +
                     std::to_string(data.size()) + " are there");
  return {std::move(header), &element_kind, count, data};
}

/// Array is NpyArray, NpyNumbers or Tensor.
template <class Array>
Array parse(std::span<const std::byte> bytes, std::string_view name, const std::shared_ptr<const void>& owner,
            const std::stop_token& stop) {
  constexpr bool is_tensor = std::is_same_v<Array, Tensor>;
  const auto layout = layout_of<decltype(Array::values)>(bytes, name, is_tensor);
  const Header& header = layout.header;
  std::vector<std::int64_t> strides(header.shape.size());
  if (layout.count > 0) strides = strides_of(header.shape, header.fortran_order);
  Source source{layout.data.data(), layout.count, 1, false, header.descr[0] == '>', header.shape, strides, name, stop};
  if constexpr (is_tensor) {
    auto values = layout.kind->read(source, owner);
    return {header.shape, std::move(strides), std::move(values)};
  } else {
    source.rows = layout.rows();
    source.columns = layout.columns();
    source.fortran_order = layout.by_columns();
    return {header.shape, header.descr, layout.kind->read(source, owner)};
  }
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

NpyShape npy_shape(const std::string& path) {
  const MappedFile file(path, Access::parts);
  const auto layout = layout_of<Reals>(file.bytes(), path, false);
  return {layout.rows(), layout.columns(),
          layout.kind->value_bytes == sizeof(float) ? ElementType::f32 : ElementType::f64, !layout.by_columns()};
}

NpyArray read_npy_rows(const std::string& path, std::int64_t first, std::int64_t rows, const std::stop_token& stop) {
  const auto file = std::make_shared<const MappedFile>(path, Access::parts);
  const auto layout = layout_of<Reals>(file->bytes(), path, false);
  if (layout.by_columns() || first < 0 || rows < 0 || first > layout.rows() - rows)
    refuse(path, "rows " + std::to_string(first) + " to " + std::to_string(first + rows) +
                     " cannot be read of an array of shape " + core::shape_text(layout.header.shape));
  const auto row_bytes = static_cast<std::size_t>(layout.columns()) * layout.kind->bytes;
  const std::span<const std::byte> data =
      layout.data.subspan(static_cast<std::size_t>(first) * row_bytes, static_cast<std::size_t>(rows) * row_bytes);
  file->read_ahead(data);
  std::vector<std::int64_t> strides(layout.header.shape.size());
  if (layout.count > 0) strides = strides_of(layout.header.shape, layout.header.fortran_order);
  const Source source{
      data.data(), rows, layout.columns(),        false, layout.header.descr[0] == '>', layout.header.shape, strides,
      path,        stop, first * layout.columns()};
  return {layout.header.shape, layout.header.descr, layout.kind->read(source, file)};
}

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
    .read_tensor = read_npy_tensor,
    .in_stream = [](const ArrayBytes& all, const std::stop_token&) { return all; },
};

}  // namespace gradus::files
