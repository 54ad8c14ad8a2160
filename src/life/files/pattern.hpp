// Reads and writes Life patterns in all file formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/atomic_file.hpp"
#include "gradus/life.hpp"
#include "life/files/format.hpp"

namespace gradus::files {

/// Returns the formats, in the order in which names and contents are matched.
std::span<const LifeFormat* const> life_formats();

/// Reads a pattern from a file, or from standard input if the path is "-". Accepts gzip-compressed data. If the content
/// begins with the name of a format ([M2], #Life 1.06, P1 …, PNG), this format is used. Otherwise the file extension
/// determines the format. If the extension is unknown, too, the form of the lines determines the format. The source
/// file of each format describes which features of the format are supported.
///
/// The cells become a grid, or a tree if a grid would be large and mostly empty. Throws InputError with
/// file:line:column for malformed input. If a feature is unsupported (more states, rules that are not B/S, other
/// topologies), the message names it.
LifePattern read_life(const std::string& path, const LifeReadOptions& options = {});

/// Parses a pattern in memory. `name` appears in messages. If the format is null, the content determines it.
LifePattern parse_life(std::span<const std::byte> bytes, std::string_view name, const LifeFormat* format,
                       const LifeReadOptions& options = {});

/// One of the ways to write a pattern. The file extension selects it (LifeFormat::written). For text formats, .gz may
/// follow the extension.
struct LifeOutputKind {
  const LifeFormat* format = nullptr;
  std::string_view ending;
  bool packed = false;
  bool is_picture() const { return format->is_picture; }
};
std::optional<LifeOutputKind> life_output(const std::string& path);

/// Writes cells, rule, topology, generation and comments, as far as the format supports them. RLE, plaintext and
/// pictures of a plane contain the smallest rectangle of live cells. Pictures of a bounded world contain the whole
/// world, so that all pictures of a sequence have the same size. `scale` is the number of pixels per cell in both
/// directions. If the cells are too far apart, throws an Error that recommends Macrocell.
void write_life(core::AtomicFile& file, const LifePattern& pattern, const LifeOutputKind& kind, std::int64_t scale = 1);

/// Returns the text of a file with this extension.
std::string life_text(const LifePattern& pattern, const std::string& ending, const std::stop_token& stop = {});

}  // namespace gradus::files
