// The destination of a numeric result: a file whose name selects the format, or standard output.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "core/atomic_file.hpp"

namespace gradus::cli {

/// Adds -o, --output, an option that names a file for numbers. The extension of the file's name selects the format.
inline void add_table_output(Options& options, std::string& path, const std::string& description, bool json = false) {
  options.value("-o,--output", "FILE", description,
                [&path, json](const std::string& text) {
                  table_format(text, json);
                  path = text;
                },
                {.choices = {}, .file = true, .is_result = false});
}

/// The destination of a numeric result. The constructor opens the file, so that a path that cannot be written is
/// reported before the work starts. The file gets its final name when it is committed.
class Destination {
 public:
  /// An empty path stands for standard output. Throws UsageError if the extension names no supported format. The
  /// extension .json is supported only if `json` is true. After a stop request, writing throws InterruptedError.
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
  /// Returns the file. Requires is_file().
  core::AtomicFile& file() { return *file_; }

 private:
  TableFormat format_ = TableFormat::csv;
  std::optional<core::AtomicFile> file_;
};

}  // namespace gradus::cli
