// The row of a pattern format, and the options for reading such files.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/atomic_file.hpp"
#include "files/format.hpp"
#include "files/text_input.hpp"
#include "gradus/life.hpp"

namespace gradus::files {

class LifeReader;
class TextOutput;

struct LifeReadOptions {
  std::stop_token stop = {};  ///< a stop request ends reading with InterruptedError
  ReadProgress progress = nullptr;
  /// Limit in bytes for the cells that a text describes, because a few letters can stand for any number of live cells.
  /// If the cells need more memory, throws Error.
  std::uint64_t memory_limit = std::uint64_t{4} << 30;
};

/// A pattern format. The source file of the format's reader ends with this row, and pattern.cpp lists the rows.
struct LifeFormat {
  std::string_view id;  ///< name of the format's fuzzer and of the fuzzer's corpus, such as "life_rle"
  Format file;
  bool is_picture = false;                          ///< true if a cell is a pixel
  bool (*begins)(std::string_view text) = nullptr;  ///< recognises contents that begin with the name of the format
  /// Recognises other contents by the first line that is no RLE comment. `blocks` is true if the text begins like the
  /// blocks of Life 1.05.
  bool (*has_line)(std::string_view line, bool blocks) = nullptr;
  std::unique_ptr<LifeReader> (*reader)(std::string name, const LifeReadOptions& options);
  // For writers: the extensions of the files, and one of two functions. The first writes text, optionally compressed,
  // and the second writes a file.
  std::string_view written = {};
  void (*write)(TextOutput& output, const LifePattern& pattern, std::string_view ending, std::int64_t scale) = nullptr;
  void (*write_file)(core::AtomicFile& file, const LifePattern& pattern, std::int64_t scale) = nullptr;
};

}  // namespace gradus::files
