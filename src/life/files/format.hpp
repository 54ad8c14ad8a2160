// The row type for pattern formats, and the options for reading patterns.
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
  std::stop_token stop = {};  ///< a stop request makes the reader throw InterruptedError
  ReadProgress progress = nullptr;
  /// Limit in bytes for the cells that a text describes, because a few letters can stand for any number of live cells.
  /// If the cells need more memory, the reader throws Error.
  std::uint64_t memory_limit = std::uint64_t{4} << 30;
};

/// A pattern format. Each row is at the end of the source file of the format's reader, and pattern.cpp lists the rows.
struct LifeFormat {
  std::string_view id;  ///< name of the format's fuzzer and of its corpus, such as "life_rle"
  Format file;
  bool is_picture = false;                          ///< true if a cell is a pixel
  bool (*begins)(std::string_view text) = nullptr;  ///< recognises contents that begin with the name of the format
  /// Recognises all other contents of the format by the first line that is not an RLE comment. `blocks` is true if the
  /// text begins like the blocks of Life 1.05.
  bool (*has_line)(std::string_view line, bool blocks) = nullptr;
  std::unique_ptr<LifeReader> (*reader)(std::string name, const LifeReadOptions& options);
  // For formats that can be written: the extensions of the files, and one of two functions. The first function writes
  // text, optionally compressed. The second function writes a file.
  std::string_view written = {};
  void (*write)(TextOutput& output, const LifePattern& pattern, std::string_view ending, std::int64_t scale) = nullptr;
  void (*write_file)(core::AtomicFile& file, const LifePattern& pattern, std::int64_t scale) = nullptr;
};

}  // namespace gradus::files
