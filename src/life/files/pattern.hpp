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

/// Returns the formats in the order in which names or contents are matched.
std::span<const LifeFormat* const> life_formats();

/// Reads a pattern from a file, or from standard input if the path is "-". Accepts gzip-compressed data. The format
/// follows from the content if it begins with the format's name ([M2], #Life 1.06, P1 …, PNG), otherwise from the file
/// extension, otherwise from the look of the lines. The file of each format documents the features it supports.
///
/// The cells become a grid, or a tree if a grid would be large and mostly empty. Throws InputError with
/// file:line:column for malformed input, and names unsupported features (more states, rules that are not B/S, other
/// topologies).
LifePattern read_life(const std::string& path, const LifeReadOptions& options = {});

/// Parses a pattern in memory; `name` is for messages. A null format is detected from the content.
LifePattern parse_life(std::span<const std::byte> bytes, std::string_view name, const LifeFormat* format,
                       const LifeReadOptions& options = {});

/// A way to write a pattern, selected by the file extension (LifeFormat::written). Text formats may be followed by .gz.
struct LifeOutputKind {
  const LifeFormat* format = nullptr;
  std::string_view ending;
  bool packed = false;
  bool is_picture() const { return format->is_picture; }
};
std::optional<LifeOutputKind> life_output(const std::string& path);

/// Writes cells, rule, topology, generation and comments, as far as the format supports them. RLE, plaintext and
/// pictures hold the smallest rectangle of live cells. Pictures of a bounded world hold all of it, so that a sequence
/// has one size. `scale` is the number of pixels per cell in both directions. Throws Error, which recommends Macrocell,
/// if the cells are too far apart.
void write_life(core::AtomicFile& file, const LifePattern& pattern, const LifeOutputKind& kind, std::int64_t scale = 1);

/// Returns the text of a file with that extension.
std::string life_text(const LifePattern& pattern, const std::string& ending, const std::stop_token& stop = {});

}  // namespace gradus::files
