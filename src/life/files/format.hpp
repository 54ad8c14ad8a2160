// The row of a format of patterns, and how such files are read.
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
  std::stop_token stop = {};  ///< a stop request ends the reading with InterruptedError
  ReadProgress progress = nullptr;
  /// Bytes that the cells of a text may take: a few letters can stand for any number of live cells. Error above.
  std::uint64_t memory_limit = std::uint64_t{4} << 30;
};

/// A format of patterns. The file of its reader ends with its row, and pattern.cpp lists the rows.
struct LifeFormat {
  std::string_view id;  ///< of its fuzzer and the fuzzer's corpus: "life_rle"
  Format file;
  bool is_picture = false;                          ///< a cell is a pixel
  bool (*begins)(std::string_view text) = nullptr;  ///< contents that begin with the name of their format
  /// Other contents, by the first line that is no comment of RLE; `blocks`: the text begins as blocks of Life 1.05 do.
  bool (*has_line)(std::string_view line, bool blocks) = nullptr;
  std::unique_ptr<LifeReader> (*reader)(std::string name, const LifeReadOptions& options);
  // For writers: the endings of files that are written, and how, as text, packed or not, or else as a file.
  std::string_view written = {};
  void (*write)(TextOutput& output, const LifePattern& pattern, std::string_view ending, std::int64_t scale) = nullptr;
  void (*write_file)(core::AtomicFile& file, const LifePattern& pattern, std::int64_t scale) = nullptr;
};

}  // namespace gradus::files
