#include "files/elements.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "core/exact_conversion.hpp"
#include "core/half.hpp"
#include "core/stop.hpp"
#include "files/file_fields.hpp"

namespace gradus::files {
namespace {

static_assert(std::endian::native == std::endian::little, "native byte order must be little-endian here");

struct Half {
  std::uint16_t bits;
};

/// A bfloat16: the upper half of a float.
struct BrainHalf {
  std::uint16_t bits;
};

struct Bool {
  std::uint8_t bits;
};

float widen(Half half) { return core::widen_f16(half.bits); }
float widen(BrainHalf half) { return core::widen_bf16(half.bits); }

template <class Stored>
Stored load(const std::byte* from, bool swap) {
  std::array<std::byte, sizeof(Stored)> bytes;
  std::memcpy(bytes.data(), from, sizeof(Stored));
  if (swap) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<Stored>(bytes);
}

void look_for_stop(const StoredMatrix& matrix) {
  if (matrix.stop.stop_requested())
    core::honour_stop(matrix.stop, "stopped while reading '" + std::string(matrix.name) + "'");
}

/// Converts the element at `from`. `number` is the index of the element in the matrix.
template <class T, class Stored>
T element(const StoredMatrix& matrix, const std::byte* from, std::int64_t number) {
  const Stored stored = load<Stored>(from, matrix.swap);
  if constexpr (std::is_same_v<Stored, Half> || std::is_same_v<Stored, BrainHalf>) {
    return widen(stored);
  } else if constexpr (std::is_same_v<Stored, Bool>) {
    return stored.bits != 0 ? T{1} : T{0};
  } else {
    if constexpr (std::is_integral_v<Stored> && sizeof(Stored) == 8) {
      if (!core::is_exact_in<T>(stored))
        throw InputError(
            "'" + std::string(matrix.name) + "': " +
                about_element(matrix.shape, matrix.strides, matrix.first + number,
                              "the integer " + std::to_string(stored) +
                                  (std::is_integral_v<T> ? " is beyond 64 bits with a sign" : " has no exact double")),
            fields_of_file(matrix.name));
    }
    return static_cast<T>(stored);
  }
}

template <class T, class Stored>
Matrix<T> copied(const StoredMatrix& matrix) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(Stored));
  Matrix<T> result(matrix.rows, matrix.columns);
  if (matrix.rows == 0 || matrix.columns == 0) return result;
  if (!matrix.by_columns) {
    // Rows without gaps between them are converted like one long row.
    const std::int64_t lines = matrix.row_bytes == matrix.columns * size ? 1 : matrix.rows;
    const std::int64_t length = matrix.rows * matrix.columns / lines;
    for (std::int64_t line = 0; line < lines; ++line) {
      const std::byte* const from = matrix.data + line * matrix.row_bytes;
      for (std::int64_t first = 0; first < length; first += core::operations_between_polls) {
        look_for_stop(matrix);
        for (std::int64_t at = first; at < std::min(first + core::operations_between_polls, length); ++at)
          result.data()[line * length + at] = element<T, Stored>(matrix, from + at * size, line * length + at);
      }
    }
    return result;
  }
  // Transposes the matrix tile by tile. The source and the destination of a tile fit in the L1 cache together.
  constexpr std::int64_t tile = 32;
  for (std::int64_t first_row = 0; first_row < matrix.rows; first_row += tile) {
    const std::int64_t last_row = std::min(matrix.rows, first_row + tile);
    for (std::int64_t first_column = 0; first_column < matrix.columns; first_column += tile) {
      if (first_column % 1024 == 0) look_for_stop(matrix);
      const std::int64_t last_column = std::min(matrix.columns, first_column + tile);
      for (std::int64_t column = first_column; column < last_column; ++column)
        for (std::int64_t row = first_row; row < last_row; ++row) {
          const std::int64_t number = column * matrix.rows + row;
          result(row, column) = element<T, Stored>(matrix, matrix.data + number * size, number);
        }
    }
  }
  return result;
}

/// Returns true if the rows can be used as numbers of `size` bytes.
bool is_aligned(const std::byte* data, std::int64_t row_bytes, std::size_t size) {
  return reinterpret_cast<std::uintptr_t>(data) % size == 0 && row_bytes % static_cast<std::int64_t>(size) == 0;
}

template <class T, class Stored>
PointsOf<T> values_in(const StoredMatrix& matrix, const std::shared_ptr<const void>& owner) {
  if constexpr (std::is_same_v<T, Stored>) {
    constexpr auto size = static_cast<std::int64_t>(sizeof(T));
    static_assert(alignof(T) == size);
    if (is_aligned(matrix.data, matrix.row_bytes, sizeof(T)) && !matrix.swap && !matrix.by_columns)
      return {{reinterpret_cast<const T*>(matrix.data), matrix.rows, matrix.columns, matrix.row_bytes / size}, owner};
  }
  return own(copied<T, Stored>(matrix));
}

template <class Stored>
constexpr std::optional<StoredType> stored_type() {
  if constexpr (std::is_same_v<Stored, std::uint8_t>) return StoredType::u8;
  if constexpr (std::is_same_v<Stored, std::int8_t>) return StoredType::i8;
  if constexpr (std::is_same_v<Stored, Half>) return StoredType::f16;
  if constexpr (std::is_same_v<Stored, BrainHalf>) return StoredType::bf16;
  return std::nullopt;
}

template <class Values, class T, class Stored>
constexpr ElementKind<Values> kind(std::string_view name) {
  return {name,
          sizeof(Stored),
          sizeof(T),
          std::is_same_v<T, Stored>,
          stored_type<Stored>(),
          [](const StoredMatrix& matrix, const std::shared_ptr<const void>& owner) -> Values {
            return values_in<T, Stored>(matrix, owner);
          }};
}

template <class Values>
constexpr std::array<ElementKind<Values>, 0> kinds{};  // two tables: one for Reals, one for Numbers

template <>
constexpr auto kinds<Reals> = std::to_array<ElementKind<Reals>>({
    kind<Reals, float, Half>("f2"),
    kind<Reals, float, BrainHalf>("bf16"),
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
});

template <>
constexpr auto kinds<Numbers> = std::to_array<ElementKind<Numbers>>({
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
});

}  // namespace

template <class Values>
const ElementKind<Values>* element_kind(std::string_view name) {
  const auto found = std::ranges::find(kinds<Values>, name, &ElementKind<Values>::name);
  return found == kinds<Values>.end() ? nullptr : &*found;
}
template const ElementKind<Reals>* element_kind(std::string_view);
template const ElementKind<Numbers>* element_kind(std::string_view);

namespace {

/// Calls use(begin, end) for consecutive pieces of the rows [first, last): see RowsInFile::piece_rows.
template <class Use>
void for_each_piece(const RowsInFile& all, std::int64_t first, std::int64_t last, std::string_view name,
                    const std::stop_token& stop, const Use& use) {
  for (std::int64_t begin = first; begin < last;) {
    core::honour_stop(stop, "stopped while reading '" + std::string(name) + "'");
    const std::int64_t end = begin + std::min(last - begin, all.piece_rows - begin % all.piece_rows);
    use(begin, end);
    begin = end;
  }
}

}  // namespace

std::span<const std::byte> RowsInFile::bytes(std::int64_t first, std::int64_t last) const {
  if (first == last || load) return {};
  const auto begin = static_cast<std::size_t>(first * row_bytes);
  const auto end = static_cast<std::size_t>((last - 1) * row_bytes + columns * static_cast<std::int64_t>(kind->bytes));
  return data.subspan(begin, end - begin);
}

bool RowsInFile::is_viewed() const {
  return !load && kind->is_value && !swap && is_aligned(data.data(), row_bytes, kind->bytes);
}

bool RowsInFile::is_stored() const {
  const bool is_native = kind->bytes == 1 || !swap;
  return kind->stored && is_native && columns > 0 && is_aligned(data.data(), row_bytes, kind->bytes);
}

Points RowsInFile::view(std::int64_t first, std::int64_t last, std::string_view name,
                        const std::shared_ptr<const void>& owner, const std::stop_token& stop) const {
  if (check != nullptr) check(*this, first, last, name, stop);
  const MatrixView<const float> shape(nullptr, last - first, columns);
  std::shared_ptr<const void> keeper = owner;
  const std::byte* elements = bytes(first, last).data();
  if (load) {
    const auto copy = std::make_shared<Matrix<std::byte>>(last - first, row_bytes);
    for_each_piece(*this, first, last, name, stop, [&](std::int64_t begin, std::int64_t end) {
      load(begin, end, copy->data() + (begin - first) * row_bytes);
    });
    elements = copy->data();
    keeper = copy;
  }
  return {
      .values = PointsOf<float>{shape, keeper},
      .stored = {elements, *kind->stored, last - first, columns, row_bytes / static_cast<std::int64_t>(kind->bytes)},
      .picture = {},
      .column_names = {}};
}

template <class T>
PointsOf<T> RowsInFile::copy(std::int64_t first, std::int64_t last, std::string_view name,
                             const std::stop_token& stop) const {
  const std::int64_t shape[] = {rows, columns};
  const std::int64_t strides[] = {columns, 1};
  const bool is_final = kind->is_value && !swap;
  Matrix<T> result(last - first, columns);
  Buffer<std::byte> elements;
  for_each_piece(*this, first, last, name, stop, [&](std::int64_t begin, std::int64_t end) {
    T* const to = result.data() + (begin - first) * columns;
    if (is_final) return load(begin, end, reinterpret_cast<std::byte*>(to));
    if (elements.size() < (end - begin) * row_bytes) elements = Buffer<std::byte>((end - begin) * row_bytes);
    load(begin, end, elements.data());
    const StoredMatrix piece{elements.data(), end - begin, columns, row_bytes, false,          swap,
                             shape,           strides,     name,    stop,      begin * columns};
    const auto values = std::get<PointsOf<T>>(kind->read(piece, nullptr));
    std::copy_n(values.view.data(), (end - begin) * columns, to);
  });
  return own(std::move(result));
}

Points RowsInFile::read(std::int64_t first, std::int64_t last, std::string_view name,
                        const std::shared_ptr<const void>& owner, const std::stop_token& stop) const {
  if (check != nullptr) check(*this, first, last, name, stop);
  if (load) {
    Reals values = type() == ElementType::f32 ? Reals(copy<float>(first, last, name, stop))
                                              : Reals(copy<double>(first, last, name, stop));
    return {.values = std::move(values), .picture = {}, .column_names = {}};
  }
  const std::int64_t shape[] = {rows, columns};
  const std::int64_t strides[] = {columns, 1};
  const StoredMatrix some{bytes(first, last).data(),
                          last - first,
                          columns,
                          row_bytes,
                          false,
                          swap,
                          shape,
                          strides,
                          name,
                          stop,
                          first * columns};
  return {.values = kind->read(some, owner), .picture = {}, .column_names = {}};
}

}  // namespace gradus::files
