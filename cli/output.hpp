// Writing results: tables for people, and matrices in the format that a file's name asks for.
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

/// A table for a person: the first column to the left where it holds words, numbers to the right. On a terminal that is
/// narrower than the table, a row takes several lines.
class TextTable {
 public:
  enum class Align : std::uint8_t { left, right };
  struct Column {
    std::string heading;
    Align align = Align::right;
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// One cell per column.
  void add(std::vector<std::string> cells);
  std::string text(const Session& session) const;

 private:
  static constexpr std::size_t gap = 2;  ///< between columns
  std::string folded(const Session& session) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// "1,797"
std::string grouped(std::int64_t number);
/// "1,797 points", "1 point"
std::string counted(std::int64_t number, std::string_view noun);
/// Enough digits to tell neighbours apart at a glance, not all of them.
std::string brief(double number);

/// Seconds of the whole command and of its parts; `call` names the library's call, of which the phases are parts.
nlohmann::ordered_json seconds_of(double read, const std::string& call, const std::vector<Phase>& phases, double write,
                                  double total);

enum class TableFormat : std::uint8_t { npy, csv, json };
/// By the ending of the name: .npy, .csv or .txt, and .json where `json` is offered. UsageError for others.
TableFormat table_format(const std::string& path, bool json = false);

/// UsageError where a file that is about to be written, or the place of one, is one of those that are read: it would be
/// lost. Empty names and "-" stand for no file.
void require_no_input_overwritten(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

/// The set of files that vouches for itself: its summary names the others, with their lengths and checksums, and the
/// readers of such files below compare them.
inline constexpr std::string_view summary_name = "summary.json";

/// What the summary says of files that are finished.
nlohmann::ordered_json facts_of_files(const std::vector<const core::AtomicFile*>& files);

/// The summary while the files of an earlier result of the problem are replaced by those of a new one.
std::string unfinished_summary(std::string_view problem);

/// InputError where the file belongs to a result of the problem whose summary, in the same folder, says that it is
/// another one: the result was only partly written. InterruptedError after a stop request.
void require_whole_result(std::string_view problem, const std::string& path, const std::stop_token& stop);

/// Rows of numbers, each as the shortest text that reads back as the same value.
template <class T>
std::string csv_rows(MatrixView<const T> matrix);

/// Writes such rows piece by piece, of which `first_row` is the first, of a table of `all_rows`. Before the first of
/// all, Error where that many like the first ones would not fit the disk.
template <class T>
void write_csv_rows(core::AtomicFile& file, MatrixView<const T> matrix, std::int64_t first_row, std::int64_t all_rows);

/// Error where there is no room for a rows x columns table; of text not yet known, the least that it may take.
template <class T>
void expect_table(const core::AtomicFile& file, TableFormat format, std::int64_t rows, std::int64_t columns);

/// The whole matrix in the format.
template <class T>
void write_table(core::AtomicFile& file, TableFormat format, MatrixView<const T> matrix);

/// csv_rows() of the whole matrix on standard output, piece by piece. InterruptedError after a stop request.
template <class T>
void print_rows(const Session& session, MatrixView<const T> matrix);

}  // namespace gradus::cli
