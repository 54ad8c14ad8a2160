// Writing results: tables for people, and matrices in the format that a file's name asks for.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/session.hpp"
#include "core/atomic_file.hpp"
#include "gradus/array.hpp"

namespace gradus::cli {

/// A table for a person: the first column to the left where it holds words, numbers to the right.
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
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// "1,797"
std::string grouped(std::int64_t number);
/// Enough digits to tell neighbours apart at a glance, not all of them.
std::string brief(double number);

/// Seconds of the whole command and of its parts; `call` names the library's call, of which the phases are parts.
nlohmann::ordered_json seconds_of(double read, const std::string& call, const std::vector<Phase>& phases, double write,
                                  double total);

enum class TableFormat : std::uint8_t { npy, csv };
/// By the ending of the name: .npy, or .csv and .txt. UsageError for others.
TableFormat table_format(const std::string& path);

/// Rows of numbers, each as the shortest text that reads back as the same value.
template <class T>
std::string csv_rows(MatrixView<const T> matrix);

/// The whole matrix in the format.
template <class T>
void write_table(core::AtomicFile& file, TableFormat format, MatrixView<const T> matrix);

/// csv_rows() of the whole matrix on standard output, piece by piece. InterruptedError after a stop request.
template <class T>
void print_rows(const Session& session, MatrixView<const T> matrix);

}  // namespace gradus::cli
