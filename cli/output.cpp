#include "cli/output.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "gradus/error.hpp"
#include "io/npy.hpp"

namespace gradus::cli {

namespace {

/// Columns that UTF-8 text takes on a terminal, as long as each character takes one.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

/// Calls use(some rows) for one piece after the other, which take some milliseconds to be written as text.
template <class T, class Use>
void for_pieces(MatrixView<const T> matrix, const std::stop_token& stop, const Use& use) {
  constexpr std::int64_t number_operations = 16;  // to write a number
  const std::int64_t stretch = core::stretch_length(matrix.rows(), number_operations * matrix.columns());
  for (std::int64_t row = 0; row < matrix.rows(); row += stretch) {
    core::honour_stop(stop, "stopped while writing the result");
    use(matrix.slice(row, std::min(stretch, matrix.rows() - row)));
  }
}

}  // namespace

void TextTable::add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

std::string TextTable::text(const Session& session) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(width_of(column.heading));
  for (const std::vector<std::string>& row : rows_)
    for (std::size_t index = 0; index < row.size(); ++index)
      widths[index] = std::max(widths[index], width_of(row[index]));
  const auto line = [&](const auto& cell_at) {
    std::string result;
    for (std::size_t index = 0; index < columns_.size(); ++index) {
      const std::string padding(widths[index] - width_of(cell_at(index)), ' ');
      const bool left = columns_[index].align == Align::left;
      const bool last = index + 1 == columns_.size();
      result += (index == 0 ? "" : "  ") + (left ? cell_at(index) + (last ? "" : padding) : padding + cell_at(index));
    }
    return result.substr(0, result.find_last_not_of(' ') + 1);
  };
  std::string result = session.bold(line([&](std::size_t index) { return columns_[index].heading; })) + "\n";
  for (const std::vector<std::string>& row : rows_)
    result += line([&](std::size_t index) { return row[index]; }) + "\n";
  return result;
}

std::string grouped(std::int64_t number) {
  const std::string digits = std::to_string(number);
  std::string result;
  for (std::size_t index = 0; index < digits.size(); ++index) {
    if (index > 0 && (digits.size() - index) % 3 == 0 && digits[index - 1] != '-') result += ',';
    result += digits[index];
  }
  return result;
}

std::string brief(double number) { return fmt::format("{:.4g}", number); }

nlohmann::ordered_json seconds_of(double read, const std::string& call, const std::vector<Phase>& phases, double write,
                                  double total) {
  nlohmann::ordered_json seconds{{"read", read}};
  for (const Phase& phase : phases) seconds[phase.name == "total" ? call : phase.name] = phase.seconds;
  seconds["write"] = write;
  seconds["total"] = total;
  return seconds;
}

TableFormat table_format(const std::string& path) {
  const std::string ending = path.substr(std::min(path.rfind('.'), path.size()));
  if (ending == ".npy") return TableFormat::npy;
  if (ending == ".csv" || ending == ".txt") return TableFormat::csv;
  throw UsageError("--output: " + core::excerpt(path) + " should end in .npy or .csv, which says how to write it");
}

template <class T>
std::string csv_rows(MatrixView<const T> matrix) {
  std::string text;
  char number[32];
  for (std::int64_t row = 0; row < matrix.rows(); ++row)
    for (std::int64_t column = 0; column < matrix.columns(); ++column) {
      text.append(number, std::to_chars(number, number + sizeof number, matrix(row, column)).ptr);
      text += column + 1 == matrix.columns() ? '\n' : ',';
    }
  return text;
}

template <class T>
void write_table(core::AtomicFile& file, TableFormat format, MatrixView<const T> matrix) {
  if (format == TableFormat::npy) return io::write_npy(file, matrix);
  for_pieces(matrix, file.stop(), [&](MatrixView<const T> rows) { file.write(csv_rows(rows)); });
}

template <class T>
void print_rows(const Session& session, MatrixView<const T> matrix) {
  for_pieces(matrix, session.execution.stop, [&](MatrixView<const T> rows) { session.print(csv_rows(rows)); });
}

template std::string csv_rows(MatrixView<const float>);
template std::string csv_rows(MatrixView<const double>);
template std::string csv_rows(MatrixView<const std::int32_t>);
template void write_table(core::AtomicFile&, TableFormat, MatrixView<const float>);
template void write_table(core::AtomicFile&, TableFormat, MatrixView<const double>);
template void write_table(core::AtomicFile&, TableFormat, MatrixView<const std::int32_t>);
template void print_rows(const Session&, MatrixView<const float>);
template void print_rows(const Session&, MatrixView<const double>);
template void print_rows(const Session&, MatrixView<const std::int32_t>);

}  // namespace gradus::cli
