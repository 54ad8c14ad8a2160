// The destination of a numeric result: a file whose name selects the format, or standard output.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "core/atomic_file.hpp"

namespace gradus::cli {

/// Adds -o, --output: a file of numbers whose extension selects the format.
inline void add_table_output(Options& options, std::string& path, const std::string& description, bool json = false) {
  options.value("-o,--output", "FILE", description,
                [&path, json](const std::string& text) {
                  table_format(text, json);
                  path = text;
                },
                {.choices = {}, .file = true, .is_result = false});
}

/// Opens the file in the constructor, so that a path that cannot be written is reported before the work starts. The
/// file appears under its name when it is committed.
class Destination {
 public:
  /// If the path is empty, writes to standard output. Throws UsageError if the extension names no supported format;
  /// .json is supported only if `json` is set. A stop request cancels the writing.
  Destination(const std::string& path, const std::stop_token& stop, bool json = false) {
    if (path.empty()) return;
    format_ = table_format(path, json);
    file_.emplace(path, stop);
  }

  /// Throws Error if the disk has no room for a table of this size.
  template <class T>
  void expect(std::int64_t rows, std::int64_t columns) const {
    if (file_) expect_table<T>(*file_, format_, rows, columns);
  }

  bool is_file() const { return file_.has_value(); }
  TableFormat format() const { return format_; }
  /// May only be called if is_file().
  core::AtomicFile& file() { return *file_; }

 private:
  TableFormat format_ = TableFormat::csv;
  std::optional<core::AtomicFile> file_;
};

}  // namespace gradus::cli
