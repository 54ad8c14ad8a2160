#include "cli/output.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "gradus/error.hpp"
#include "io/npy.hpp"

namespace gradus::cli {

namespace {

/// Columns that UTF-8 text takes on a terminal, as long as each character takes one.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; }));
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

std::string counted(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
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

TableFormat table_format(const std::string& path, bool json) {
  std::string ending = path.substr(std::min(path.rfind('.'), path.size()));
  std::ranges::transform(ending, ending.begin(),
                         [](char letter) { return letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter; });
  if (ending == ".npy") return TableFormat::npy;
  if (ending == ".csv" || ending == ".txt") return TableFormat::csv;
  if (json && ending == ".json") return TableFormat::json;
  throw UsageError("--output: " + core::excerpt(path) + " should end in " +
                   (json ? ".csv, .npy or .json" : ".npy or .csv") + ", which says how to write it");
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
  constexpr std::int64_t rows_at_once = 4096;
  for (std::int64_t row = 0; row < matrix.rows(); row += rows_at_once)
    file.write(csv_rows(matrix.slice(row, std::min(rows_at_once, matrix.rows() - row))));
}

template std::string csv_rows(MatrixView<const float>);
template std::string csv_rows(MatrixView<const double>);
template std::string csv_rows(MatrixView<const std::int32_t>);
template void write_table(core::AtomicFile&, TableFormat, MatrixView<const float>);
template void write_table(core::AtomicFile&, TableFormat, MatrixView<const double>);

}  // namespace gradus::cli
