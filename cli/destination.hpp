// Where a result of numbers goes: to a file in the format that its name asks for, or to standard output.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "core/atomic_file.hpp"

namespace gradus::cli {

/// -o, --output: a file of numbers, with an ending that says how to write it.
inline void add_table_output(Options& options, std::string& path, const std::string& description, bool json = false) {
  options.value("-o,--output", "FILE", description,
                [&path, json](const std::string& text) {
                  table_format(text, json);
                  path = text;
                },
                {.choices = {}, .file = true, .is_result = false});
}

/// The file is opened at once, so that a place that cannot be written is found before the work and not after it, and
/// appears when it is committed.
class Destination {
 public:
  /// An empty path is standard output. UsageError for an ending that says no format; .json does where it is offered.
  /// A stop request ends the writing of the file.
  Destination(const std::string& path, const std::stop_token& stop, bool json = false) {
    if (path.empty()) return;
    format_ = table_format(path, json);
    file_.emplace(path, stop);
  }

  /// Error where there is no room for so many numbers.
  template <class T>
  void expect(std::int64_t rows, std::int64_t columns) const {
    if (file_) expect_table<T>(*file_, format_, rows, columns);
  }

  bool is_file() const { return file_.has_value(); }
  TableFormat format() const { return format_; }
  /// Only where it is one.
  core::AtomicFile& file() { return *file_; }

 private:
  TableFormat format_ = TableFormat::csv;
  std::optional<core::AtomicFile> file_;
};

}  // namespace gradus::cli
