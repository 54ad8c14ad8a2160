// Writes results: text tables, and matrices in the format that a file name selects.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "cli/session.hpp"
#include "core/atomic_file.hpp"
#include "gradus/array.hpp"
#include "gradus/run_report.hpp"

namespace gradus::cli {

/// A table of text with a heading and an alignment for each column. If the terminal is narrower than the table, a row
/// takes several lines.
class TextTable {
 public:
  enum class Align : std::uint8_t { left, right };
  struct Column {
    std::string heading;
    Align align = Align::right;
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells);
  std::string text(const Session& session) const;

 private:
  static constexpr std::size_t gap = 2;
  std::string folded(const Session& session) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Formats a number as in "1,797".
std::string grouped(std::int64_t number);
/// Formats a count as in "1,797 points" or "1 point".
std::string counted(std::int64_t number, std::string_view noun);
/// Formats a number with a few digits, enough to compare it with similar numbers.
std::string brief(double number);

/// Returns the seconds of the whole command, of reading, and of the phases of the library call. `call` is the name of
/// this call.
nlohmann::ordered_json seconds_of(double read, const std::string& call, const std::vector<Phase>& phases, double write,
                                  double total);

enum class TableFormat : std::uint8_t { npy, csv, json };
/// Returns the format for the extension of the name: .npy, .csv or .txt, and .json if `json` is set. Throws UsageError
/// for other extensions.
TableFormat table_format(const std::string& path, bool json = false);

/// Throws UsageError if an output would overwrite an input. Empty names and "-" stand for no file.
void require_no_input_overwritten(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

/// Name of the summary of a result. The summary lists the other files of the result with their lengths and checksums.
/// The functions below use this list to detect missing or changed files.
inline constexpr std::string_view summary_name = "summary.json";

/// Returns the lengths and checksums of finished files, for the summary.
nlohmann::ordered_json facts_of_files(const std::vector<const core::AtomicFile*>& files);

/// Returns a placeholder for the summary. It is in the folder while the files of an earlier result are replaced one by
/// one.
std::string unfinished_summary(std::string_view problem);

/// Returns a description of the difference between the file and the facts in its folder's summary. Returns "" if there
/// is no difference, or if the folder has no summary of this problem. Throws InterruptedError after a stop request.
std::string fault_of_result(std::string_view problem, const std::string& path, const std::stop_token& stop);

/// Throws InputError if the result in the file's folder is incomplete. It is incomplete if the folder has a summary of
/// this problem, and the file differs from the facts in the summary. Throws InterruptedError after a stop request.
void require_whole_result(std::string_view problem, const std::string& path, const std::stop_token& stop);

/// Formats rows of numbers. Each number is the shortest text that reads back as the same value.
template <class T>
std::string csv_rows(MatrixView<const T> matrix);

/// Writes a chunk of a table of `all_rows` rows. The chunk starts at `first_row`. Before the first chunk, throws Error
/// if the disk has no room for all rows. The threads of `execution` format the numbers.
template <class T>
void write_csv_rows(core::AtomicFile& file, MatrixView<const T> matrix, std::int64_t first_row, std::int64_t all_rows,
                    const Execution& execution);

/// Throws Error if the disk has no room for a table of rows x columns numbers. For text, assumes the minimum size of
/// each number.
template <class T>
void expect_table(const core::AtomicFile& file, TableFormat format, std::int64_t rows, std::int64_t columns);

template <class T>
void write_table(core::AtomicFile& file, TableFormat format, MatrixView<const T> matrix, const Execution& execution);

/// Prints csv_rows() of the whole matrix chunk by chunk. Throws InterruptedError after a stop request.
template <class T>
void print_rows(const Session& session, MatrixView<const T> matrix);

}  // namespace gradus::cli
