// Reads tables of numbers from text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "files/columns.hpp"
#include "files/csv_options.hpp"
#include "files/points_format.hpp"
#include "files/text_input.hpp"
#include "files/values.hpp"

namespace gradus::files {

struct CsvTable {
  PointsOf<double> values;
  std::vector<std::string> column_names;      ///< the names in the header line, or empty
  std::shared_ptr<const RowNames> row_names;  ///< the contents of the column of row names, or null
  std::vector<double> weights;                ///< the contents of the column of weights, or empty
  std::vector<std::int64_t> dropped;          ///< the rows left out, counted from 0 among all rows
  std::vector<std::string> notes;             ///< notes for the user, with file:line, about doubtful decisions
};

/// Reads a rectangle of finite numbers, each rounded to the nearest double. Supports a header line, quoted fields (RFC
/// 4180), LF and CRLF, a byte-order mark, comments, and blank lines before and after the data. The header may lack the
/// name of the first column, because R writes such headers if the rows have names. If semicolons or tabs separate the
/// fields, numbers may have decimal commas. Columns that are not chosen may contain any text. Rows that lack a number
/// are either left out, or reported together after the whole table is read. Throws InputError with file:line:field for
/// anything else, and InterruptedError after a stop request.
CsvTable read_csv(TextInput& input, const CsvOptions& options = {}, const std::stop_token& stop = {});
CsvTable read_csv(const std::string& path, const CsvOptions& options = {}, const std::stop_token& stop = {});

/// Parses a table in memory. `name` appears in messages.
CsvTable parse_csv(std::span<const std::byte> bytes, std::string_view name, const CsvOptions& options = {},
                   const std::stop_token& stop = {});

CsvTable read_csv_stream(int descriptor, std::string_view name, const CsvOptions& options = {},
                         const std::stop_token& stop = {});

/// Reads the points of a table, and passes the notes about it to the callback in `options`. The ending of `path`, if
/// given, may determine the separator.
Points read_table(TextInput& input, const ReadOptions& options, const std::string& path = {});

}  // namespace gradus::files
