// Reads vectors in the format of TEXMEX. A row begins with its number of columns, an int32, and continues with its
// elements. http://corpus-texmex.irisa.fr
#include <cstring>
#include <string>

#include "core/stop.hpp"
#include "files/elements.hpp"
#include "files/file.hpp"
#include "files/file_fields.hpp"
#include "files/foreign_formats.hpp"
#include "files/points_format.hpp"

namespace gradus::files {

namespace {

constexpr std::int64_t length_bytes = sizeof(std::int32_t);
constexpr std::int64_t rows_between_polls = 4096;  // small, because the rows may come from a disk

std::int32_t length_at(const std::byte* row) {
  std::int32_t length;
  std::memcpy(&length, row, sizeof length);
  return length;
}

/// Throws InputError about a row. `byte` is the position of the row in the file, and `value` is the number of columns
/// that the row states.
[[noreturn]] void refuse_row(std::string_view name, std::int64_t row, std::int64_t byte, std::int32_t value,
                             const std::string& what) {
  ErrorFields fields = fields_at_byte(name, static_cast<std::size_t>(byte));
  fields.row = row;
  fields.value = std::to_string(value);
  fields.remedy =
      "copy the file again, and check that its ending matches its elements (.fvecs: float32, .bvecs: uint8, .ivecs: "
      "int32)";
  throw InputError("'" + std::string(name) + "': row " + std::to_string(row) + " at byte " + std::to_string(byte) +
                       " (both count from 0) " + what,
                   fields);
}

void check_lengths(const RowsInFile& all, std::int64_t first, std::int64_t last, std::string_view name,
                   const std::stop_token& stop) {
  for (std::int64_t row = first; row < last; ++row) {
    if (row % rows_between_polls == 0 && stop.stop_requested())
      core::honour_stop(stop, "stopped while reading '" + std::string(name) + "'");
    const std::int32_t length = length_at(all.data.data() + row * all.row_bytes - length_bytes);
    if (length != all.columns)
      refuse_row(name, row, row * all.row_bytes, length,
                 "has " + std::to_string(length) + " columns, but row 0 has " + std::to_string(all.columns));
  }
}

std::optional<RowsInFile> texmex_rows(std::span<const std::byte> bytes, const std::string& path,
                                      const std::stop_token& stop) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  const char letter = ending_of(path)[1];
  RowsInFile all{.kind = element_kind<Reals>(letter == 'f'   ? "f4"
                                             : letter == 'b' ? "u1"
                                                             : "i4"),
                 .check = check_lengths};
  const std::int32_t length = size < length_bytes ? 0 : length_at(bytes.data());
  all.columns = length;
  all.row_bytes = length_bytes + all.columns * static_cast<std::int64_t>(all.kind->bytes);
  if (length < 1 || all.row_bytes > size) refuse_foreign(as_text(bytes), path, Reader::points);
  if (size < length_bytes) refuse_row(path, 0, 0, length, "ends within its number of columns");
  if (length < 1) refuse_row(path, 0, 0, length, "has " + std::to_string(length) + " columns; at least 1 is needed");
  all.rows = size / all.row_bytes;
  all.data = bytes.subspan(static_cast<std::size_t>(length_bytes));
  const std::int64_t rest = size % all.row_bytes;
  if (rest == 0) return all;
  // The last row is incomplete, or some row differs in length.
  check_lengths(all, 0, all.rows + (rest >= length_bytes ? 1 : 0), path, stop);
  refuse_row(path, all.rows, all.rows * all.row_bytes, length,
             "takes " + std::to_string(all.row_bytes) + " bytes for " + std::to_string(length) +
                 " columns, but the file has only " + std::to_string(rest) + " more");
}

}  // namespace

extern constinit const PointsFormat texmex_points{
    .file =
        {.name = "vectors of TEXMEX",
         .endings = ".fvecs .bvecs .ivecs",
         .rules =
             "Each row is its number of columns (`int32`), followed by its elements: `float32` in `.fvecs`, `uint8` in "
             "`.bvecs`, `int32` in `.ivecs`, all in little-endian order. All rows have the same number of columns. "
             "`.fvecs` is memory-mapped and not copied; `uint8` is widened to `f32`, `int32` to `f64`",
         .may_be_packed = false},
    .rows_in = texmex_rows,
};

}  // namespace gradus::files
