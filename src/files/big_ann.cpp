// Reads vectors in the format of the Big-ANN benchmarks: the number of rows and the number of columns, both uint32, and
// then the rows. https://big-ann-benchmarks.com
#include <cstring>
#include <string>

#include "files/elements.hpp"
#include "files/file.hpp"
#include "files/file_fields.hpp"
#include "files/foreign_formats.hpp"
#include "files/points_format.hpp"

namespace gradus::files {

namespace {

[[noreturn]] void refuse_header(std::span<const std::byte> bytes, const std::string& path, std::size_t byte,
                                const std::string& value, const std::string& what) {
  refuse_foreign(as_text(bytes), path, Reader::points);
  ErrorFields fields = fields_at_byte(path, byte);
  fields.value = value;
  fields.remedy =
      "copy the file again, and check that its ending matches its elements (.fbin: float32, .u8bin: uint8, .i8bin: "
      "int8)";
  throw InputError("'" + path + "': " + what, fields);
}

std::optional<RowsInFile> big_ann_rows(std::span<const std::byte> bytes, const std::string& path,
                                       const std::stop_token&) {
  std::uint32_t header[2];
  if (bytes.size() < sizeof header)
    refuse_header(bytes, path, 0, std::to_string(bytes.size()),
                  "the header takes 8 bytes, but the file has " + std::to_string(bytes.size()));
  std::memcpy(header, bytes.data(), sizeof header);
  const auto [rows, columns] = header;
  const char letter = ending_of(path)[1];
  RowsInFile all{.data = bytes.subspan(sizeof header),
                 .rows = rows,
                 .columns = columns,
                 .kind = element_kind<Reals>(letter == 'f'   ? "f4"
                                             : letter == 'u' ? "u1"
                                                             : "i1")};
  if (columns == 0)
    refuse_header(bytes, path, 4, "0", "the header (byte 4) claims rows of 0 columns; at least 1 is needed");
  all.row_bytes = all.columns * static_cast<std::int64_t>(all.kind->bytes);
  const std::string shape = std::to_string(rows) + " rows of " + std::to_string(columns) + " columns";
  std::int64_t payload = 0;
  if (__builtin_mul_overflow(all.rows, all.row_bytes, &payload))
    refuse_header(bytes, path, 0, std::to_string(rows),
                  "the header (byte 0) claims " + shape + ", which overflow 64 bits");
  if (static_cast<std::uint64_t>(payload) != all.data.size())
    refuse_header(bytes, path, 0, std::to_string(rows),
                  "the header (byte 0) claims " + shape + ", which take " + std::to_string(payload) + " bytes, but " +
                      std::to_string(all.data.size()) + " follow the header");
  return all;
}

}  // namespace

extern constinit const PointsFormat big_ann_points{
    .file =
        {.name = "vectors of Big-ANN benchmarks",
         .endings = ".fbin .u8bin .i8bin",
         .rules =
             "The number of rows and the number of columns (`uint32`), followed by the rows: `float32` in `.fbin`, "
             "`uint8` in `.u8bin`, `int8` in `.i8bin`, all in little-endian order. `.fbin` is memory-mapped and not "
             "copied; `uint8` and `int8` are widened to `f32`",
         .may_be_packed = false},
    .rows_in = big_ann_rows,
};

}  // namespace gradus::files
