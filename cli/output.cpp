#include "cli/output.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "cli/help.hpp"
#include "core/startable.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "cpu/chosen_threads.hpp"
#include "cpu/threads.hpp"
#include "files/file.hpp"
#include "files/npy.hpp"
#include "files/points.hpp"
#include "gradus/error.hpp"

namespace gradus::cli {

namespace {

/// The maximum length of a number in text, with its separator.
template <class T>
constexpr std::size_t longest_number = std::numeric_limits<T>::max_digits10 + std::size_t{9};
template <>
constexpr std::size_t longest_number<std::int32_t> = 12;

template <class T>
std::size_t most_text(MatrixView<const T> rows) {
  return static_cast<std::size_t>(rows.rows() * rows.columns()) * longest_number<T>;
}

/// Writes rows of text. Returns their end. There must be room for most_text(rows) characters.
template <class T>
char* format_rows(MatrixView<const T> rows, char* to) {
  for (std::int64_t row = 0; row < rows.rows(); ++row)
    for (std::int64_t column = 0; column < rows.columns(); ++column) {
      to = std::to_chars(to, to + longest_number<T>, rows(row, column)).ptr;
      *to++ = column + 1 == rows.columns() ? '\n' : ',';
    }
  return to;
}

/// Calls use(text, number of its rows) for consecutive chunks of the rows. Threads format one chunk each at a time,
/// which takes some milliseconds.
template <class T, class Use>
void for_texts(MatrixView<const T> matrix, const Execution& execution, const Use& use) {
  constexpr std::int64_t number_operations = 16;  // cost of writing a number, in elementary operations
  constexpr double number_nanoseconds = 30;
  const std::int64_t rows = core::chunk_length(matrix.rows(), number_operations * matrix.columns());
  const std::int64_t chunks = (matrix.rows() + rows - 1) / rows;
  const double chunk_nanoseconds =
      number_nanoseconds * static_cast<double>(rows) * static_cast<double>(matrix.columns());
  struct Text {
    std::unique_ptr<char[]> room;
    std::size_t size = 0;
  };
  std::vector<Text> texts;
  for (std::int64_t next = 0; next < chunks;) {
    core::honour_stop(execution.stop, "stopped while writing the result");
    const auto most = static_cast<int>(std::min<std::int64_t>(chunks - next, cpu::thread_count(execution)));
    const int team =
        most == 1 ? 1
                  : core::startable_threads(std::min(most, cpu::chosen_threads(most * chunk_nanoseconds, execution)));
    while (std::ssize(texts) < team)
      texts.push_back({std::make_unique_for_overwrite<char[]>(most_text(matrix.slice(0, rows)))});
    const auto chunk = [&](int index) {
      const std::int64_t first = (next + index) * rows;
      return matrix.slice(first, std::min(rows, matrix.rows() - first));
    };
#pragma omp parallel for num_threads(team) if (team > 1)
    for (int index = 0; index < team; ++index) {
      Text& text = texts[static_cast<std::size_t>(index)];
      text.size = static_cast<std::size_t>(format_rows(chunk(index), text.room.get()) - text.room.get());
    }
    for (int index = 0; index < team; ++index) {
      const Text& text = texts[static_cast<std::size_t>(index)];
      use(std::string_view(text.room.get(), text.size), chunk(index).rows());
    }
    next += team;
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
  std::size_t width = 0;
  for (const std::size_t one : widths) width += one + (width > 0 ? gap : 0);
  if (session.columns > 0 && width > session.columns) return folded(session);
  const auto line = [&](const auto& cell_at) {
    std::string result;
    for (std::size_t index = 0; index < columns_.size(); ++index) {
      const std::string padding(widths[index] - width_of(cell_at(index)), ' ');
      const bool left = columns_[index].align == Align::left;
      const bool last = index + 1 == columns_.size();
      result += (index == 0 ? "" : std::string(gap, ' ')) +
                (left ? cell_at(index) + (last ? "" : padding) : padding + cell_at(index));
    }
    return result.substr(0, result.find_last_not_of(' ') + 1);
  };
  std::string result = session.bold(line([&](std::size_t index) { return columns_[index].heading; })) + "\n";
  for (const std::vector<std::string>& row : rows_)
    result += line([&](std::size_t index) { return row[index]; }) + "\n";
  return result;
}

// Formats the table for a narrow terminal. Each row becomes several lines. The first line contains only the row's first
// cell. The next lines contain the remaining cells, each with its heading, and as many per line as fit.
std::string TextTable::folded(const Session& session) const {
  constexpr std::size_t indent = 4;
  std::string result;
  for (const std::vector<std::string>& row : rows_) {
    result += session.bold(row.empty() ? "" : row.front()) + "\n";
    std::size_t used = 0;
    for (std::size_t index = 1; index < row.size(); ++index) {
      if (row[index].empty()) continue;
      const std::string& heading = columns_[index].heading;
      const std::string label = heading.empty() ? "" : session.faint(heading) + " ";
      const std::size_t needed = width_of(heading) + (heading.empty() ? 0 : 1) + width_of(row[index]);
      const bool fits = used > 0 && used + gap + needed <= session.columns;
      if (used > 0 && !fits) result += '\n';
      result += std::string(fits ? gap : indent, ' ') + label;
      // If a cell is too long for its line, it continues on the next line at this column.
      const std::size_t below = indent + width_of(heading) + 1;
      result += !fits && indent + needed > session.columns ? wrapped(row[index], below, session.columns).substr(below)
                                                           : row[index];
      used = (fits ? used + gap : indent) + needed;
    }
    if (used > 0) result += '\n';
  }
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
                   (json ? ".csv, .txt, .npy or .json" : ".npy, .csv or .txt") + ", which says how to write it");
}

void require_no_input_overwritten(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs) {
  for (const std::string& output : outputs)
    for (const std::string& one : inputs) {
      const std::string input = files::file_of_points(one);
      std::error_code none;  // ignored: if a file does not exist, nothing is overwritten
      if (!output.empty() && !input.empty() && input != "-" && std::filesystem::is_regular_file(input, none) &&
          std::filesystem::equivalent(output, input, none))
        throw UsageError("'" + output + "' would be overwritten, but it is read as well" +
                         (output == input ? "" : " (as '" + input + "')") + "; write the result somewhere else");
    }
}

template <class T>
std::string csv_rows(MatrixView<const T> matrix) {
  std::string text(most_text(matrix), '\0');
  text.resize(static_cast<std::size_t>(format_rows(matrix, text.data()) - text.data()));
  return text;
}

template <class T>
void write_csv_rows(core::AtomicFile& file, MatrixView<const T> matrix, std::int64_t first_row, std::int64_t all_rows,
                    const Execution& execution) {
  bool is_first = first_row == 0;
  for_texts(matrix, execution, [&](std::string_view text, std::int64_t rows) {
    if (std::exchange(is_first, false))
      file.expect(static_cast<std::uint64_t>(static_cast<double>(text.size()) / static_cast<double>(rows) *
                                             static_cast<double>(all_rows)));
    file.write(text);
  });
}

template <class T>
void expect_table(const core::AtomicFile& file, TableFormat format, std::int64_t rows, std::int64_t columns) {
  // In text, a number takes at least two bytes: a digit and a separator.
  file.expect(format == TableFormat::npy ? files::npy_size<T>(rows, columns)
                                         : 2 * static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(columns));
}

template <class T>
void write_table(core::AtomicFile& file, TableFormat format, MatrixView<const T> matrix, const Execution& execution) {
  if (format == TableFormat::npy) return files::write_npy(file, matrix);
  write_csv_rows(file, matrix, 0, matrix.rows(), execution);
}

namespace {

constexpr std::string_view reading_stopped = "stopped while checking that a result is whole";

std::string checksum_text(std::uint32_t checksum) { return fmt::format("{:08x}", checksum); }

std::uint32_t checksum_of(std::span<const std::byte> bytes, const std::stop_token& stop) {
  // The chunks are small, so that a stop request takes effect soon even if the disk is slow.
  constexpr std::size_t bytes_between_looks = std::size_t{1} << 23;
  std::uint32_t checksum = 0;
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes_between_looks, bytes.size()))) {
    core::honour_stop(stop, reading_stopped);
    checksum = core::crc32(bytes.first(std::min(bytes_between_looks, bytes.size())), checksum);
  }
  return checksum;
}

}  // namespace

std::string fault_of_result(std::string_view problem, const std::string& path, const std::stop_token& stop) {
  const std::filesystem::path file(path);
  const std::filesystem::path summary = file.parent_path() / summary_name;
  constexpr std::uintmax_t most_bytes = std::uintmax_t{1} << 28;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error) || !std::filesystem::is_regular_file(summary, error)) return "";
  if (const std::uintmax_t size = std::filesystem::file_size(summary, error); error || size > most_bytes) return "";
  std::ifstream stream(summary);
  core::RarePoll look(stop, reading_stopped);
  const auto keep = [&](int, nlohmann::json::parse_event_t, const nlohmann::json&) {
    look.honour_stop();
    return true;
  };
  const nlohmann::json facts = nlohmann::json::parse(stream, keep, false);
  if (!facts.is_object() || facts.value("problem", nlohmann::json()) != problem) return "";
  if (facts.contains("unfinished")) return fmt::format("'{}' says that the result is unfinished", summary.string());
  const auto files = facts.find("files");
  if (files == facts.end() || !files->is_object()) return "";
  const auto entry = files->find(file.filename().string());
  if (entry == files->end() || !entry->is_object()) return "";
  const files::MappedFile content(path);
  if (entry->value("bytes", nlohmann::json()) == content.bytes().size() &&
      entry->value("crc32", nlohmann::json()) == checksum_text(checksum_of(content.bytes(), stop)))
    return "";
  return fmt::format("it is not the file that '{}' was written with", summary.string());
}

nlohmann::ordered_json facts_of_files(const std::vector<const core::AtomicFile*>& files) {
  nlohmann::ordered_json facts = nlohmann::ordered_json::object();
  for (const core::AtomicFile* file : files)
    if (file)
      facts[std::filesystem::path(file->path()).filename()] = {{"bytes", file->size()},
                                                               {"crc32", checksum_text(file->checksum())}};
  return facts;
}

std::string unfinished_summary(std::string_view problem) {
  const nlohmann::ordered_json summary{
      {"problem", problem},
      {"unfinished",
       "the files of this folder are being replaced by a new result; if no process is doing that "
       "any more, it was killed: write the result again"}};
  return summary.dump(2) + "\n";
}

void require_whole_result(std::string_view problem, const std::string& path, const std::stop_token& stop) {
  // Another process may replace the folder's files during a check. Therefore, a failed check is repeated.
  std::string fault;
  for (int attempt = 0; attempt < 3; ++attempt)
    if (fault = fault_of_result(problem, path, stop); fault.empty()) return;
  throw InputError(
      fmt::format("'{}': {}; the result was written in part, or changed since; write it again, or copy "
                  "the file to another folder",
                  path, fault));
}

template <class T>
void print_rows(const Session& session, MatrixView<const T> matrix) {
  for_texts(matrix, session.execution, [&](std::string_view text, std::int64_t) { session.print(text); });
}

template std::string csv_rows(MatrixView<const float>);
template std::string csv_rows(MatrixView<const double>);
template std::string csv_rows(MatrixView<const std::int32_t>);
template void write_csv_rows(core::AtomicFile&, MatrixView<const std::int32_t>, std::int64_t, std::int64_t,
                             const Execution&);
template void write_csv_rows(core::AtomicFile&, MatrixView<const float>, std::int64_t, std::int64_t, const Execution&);
template void write_csv_rows(core::AtomicFile&, MatrixView<const double>, std::int64_t, std::int64_t, const Execution&);
template void expect_table<float>(const core::AtomicFile&, TableFormat, std::int64_t, std::int64_t);
template void expect_table<double>(const core::AtomicFile&, TableFormat, std::int64_t, std::int64_t);
template void expect_table<std::int32_t>(const core::AtomicFile&, TableFormat, std::int64_t, std::int64_t);
template void write_table(core::AtomicFile&, TableFormat, MatrixView<const float>, const Execution&);
template void write_table(core::AtomicFile&, TableFormat, MatrixView<const double>, const Execution&);
template void write_table(core::AtomicFile&, TableFormat, MatrixView<const std::int32_t>, const Execution&);
template void print_rows(const Session&, MatrixView<const float>);
template void print_rows(const Session&, MatrixView<const double>);
template void print_rows(const Session&, MatrixView<const std::int32_t>);

}  // namespace gradus::cli
