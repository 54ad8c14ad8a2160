// Parses any bytes with parse_csv(), with any options and any notation of numbers. parse_csv() must return a
// rectangular table of finite numbers or throw InputError. Parsing in small chunks, as several threads do, must give
// the same table or error.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "files/csv.hpp"

namespace {

using gradus::files::ColumnList;
using gradus::files::CsvOptions;
using gradus::files::CsvTable;
using gradus::files::Decimal;
using gradus::files::HeaderLine;
using gradus::files::Separator;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const CsvTable& table, const CsvOptions& options) {
  const auto& view = table.values.view;
  require(view.rows() >= 1 && view.columns() >= 1);
  if (options.header != HeaderLine::automatic)
    require((options.header == HeaderLine::yes) != table.column_names.empty());
  require(table.column_names.empty() || static_cast<std::int64_t>(table.column_names.size()) == view.columns());
  require((table.row_names != nullptr) != options.columns.id.empty());
  if (table.row_names) require(table.row_names->size() == view.rows());
  if (!options.columns.weight.empty()) require(static_cast<std::int64_t>(table.weights.size()) == view.rows());
  for (const double weight : table.weights) require(std::isfinite(weight));
  require(table.dropped.empty() || options.missing == gradus::files::Missing::drop_rows);
  for (std::int64_t row = 0; row < view.rows(); ++row)
    for (std::int64_t column = 0; column < view.columns(); ++column) require(std::isfinite(view(row, column)));
}

std::pair<std::optional<CsvTable>, std::string> parse(std::span<const std::byte> bytes, const CsvOptions& options) {
  try {
    return {gradus::files::parse_csv(bytes, "input", options), ""};
  } catch (const gradus::InputError& error) {
    return {std::nullopt, error.what()};
  }
}

void compare(const CsvTable& one, const CsvTable& other) {
  require(one.column_names == other.column_names && one.notes == other.notes);
  require(one.weights == other.weights && one.dropped == other.dropped);
  const auto& view = one.values.view;
  require(view.rows() == other.values.view.rows() && view.columns() == other.values.view.columns());
  const auto bytes = static_cast<std::size_t>(view.rows() * view.columns()) * sizeof(double);
  require(std::memcmp(view.data(), other.values.view.data(), bytes) == 0);
  if (one.row_names)
    for (std::int64_t row = 0; row < view.rows(); ++row) require((*one.row_names)[row] == (*other.row_names)[row]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  CsvOptions options[14];
  options[1].separator = Separator::tab;
  options[2].header = HeaderLine::yes;
  options[3].header = HeaderLine::no;
  options[4].columns.offers_columns = options[4].columns.offers_id = true;
  options[5].columns.taken = ColumnList("--columns", "2-");
  options[5].columns.id = ColumnList("--id-column", "1");
  options[6].columns.dropped = ColumnList("--drop-columns", "x,1");
  options[6].columns.offers_columns = true;
  options[7].style.decimal = Decimal::comma;
  options[8].style = {.decimal = Decimal::automatic, .group = ','};
  options[9].style = {.decimal = Decimal::automatic, .group = '.'};
  options[9].columns.id = ColumnList("--id-column", "2");
  options[10].missing = options[11].missing = gradus::files::Missing::drop_rows;
  options[11].comment = {.mark = 0, .is_given = true};
  options[11].columns.weight = ColumnList("--weight-column", "1");
  options[12].comment = {.mark = '%', .is_given = true};
  options[12].columns.dropped = ColumnList("--drop-columns", "1");
  options[13].columns.expected = {"y", "x"};
  options[13].columns.offers_columns = true;
  for (const CsvOptions& one : options) {
    const auto [table, error] = parse(bytes, one);
    if (table) check(*table, one);
    CsvOptions cut = one;
    cut.chunk = 1 + size % 11;
    const auto [same, same_error] = parse(bytes, cut);
    require(table.has_value() == same.has_value() && error == same_error);
    if (table) compare(*table, *same);
  }
  return 0;
}
