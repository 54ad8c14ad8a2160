// Tables of numbers as text.
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
  std::vector<std::string> column_names;      ///< of the header line, or empty
  std::shared_ptr<const RowNames> row_names;  ///< of the column that was asked for, or null
  std::vector<double> weights;                ///< of the rows, where a column of them was asked for
  std::vector<std::int64_t> dropped;          ///< rows that were left out, counted from 0 among all
  std::vector<std::string> notes;             ///< file:line: what was decided in doubt
};

/// A rectangle of finite numbers, each the double nearest to its text. Understood: a header line, quoted fields
/// (RFC 4180), LF and CRLF, a byte-order mark, comments, blank lines before the data and after it,
/// a header that lacks the name of the first column (as R writes row names), decimals behind a comma where semicolons
/// or tabs separate. Columns that are not chosen may hold any text. Rows that lack a number are refused together, once
/// all of the table is read, or left out.
/// Anything else is an InputError with file:line:field. A stop request ends it with InterruptedError.
CsvTable read_csv(TextInput& input, const CsvOptions& options = {}, const std::stop_token& stop = {});
CsvTable read_csv(const std::string& path, const CsvOptions& options = {}, const std::stop_token& stop = {});

/// The same from memory; `name` stands in messages.
CsvTable parse_csv(std::span<const std::byte> bytes, std::string_view name, const CsvOptions& options = {},
                   const std::stop_token& stop = {});

/// The same from a file descriptor, read to its end piece by piece.
CsvTable read_csv_stream(int descriptor, std::string_view name, const CsvOptions& options = {},
                         const std::stop_token& stop = {});

/// The points of a table, whose notes go to the caller. A file of this name, if one is given, says the separator.
Points read_table(TextInput& input, const ReadOptions& options, const std::string& path = {});

}  // namespace gradus::files
