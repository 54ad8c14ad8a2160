// Patterns of Life in files of any of their formats.
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

/// In the order in which a name or a content is tried.
std::span<const LifeFormat* const> life_formats();

/// Reads the pattern of a file, or of standard input where the path is "-", packed by gzip or not. The format follows
/// from the content where that begins with its name ([M2], #Life 1.06, P1 …, PNG), otherwise from the ending of the
/// file's name, otherwise from what its lines look like. The file of each format says what it understands.
///
/// Cells are a grid, or a tree where they lie so far apart that a grid would be mostly empty and large. InputError
/// with file:line:column for anything that is wrong; what other programs know and this does not (more states, rules
/// that are not B/S, other topologies) by its name.
LifePattern read_life(const std::string& path, const LifeReadOptions& options = {});

/// The same from memory; `name` stands in messages. Null: the format by the content.
LifePattern parse_life(std::span<const std::byte> bytes, std::string_view name, const LifeFormat* format,
                       const LifeReadOptions& options = {});

/// How a pattern is written: by the ending of the name, LifeFormat::written; texts also with .gz behind it. Nothing for
/// other names.
struct LifeOutputKind {
  const LifeFormat* format = nullptr;
  std::string_view ending;
  bool packed = false;  ///< by gzip
  bool is_picture() const { return format->is_picture; }
};
std::optional<LifeOutputKind> life_output(const std::string& path);

/// Writes cells, rule, topology, generation and comments, as far as the format knows them. RLE, plaintext and pictures
/// hold the smallest rectangle of live cells; of a bounded world pictures hold all of it, so that a sequence of them
/// is of one size. Error, which names Macrocell, for cells that lie too far apart.
/// `scale`: pixels of a picture for a cell, in both directions.
void write_life(core::AtomicFile& file, const LifePattern& pattern, const LifeOutputKind& kind, std::int64_t scale = 1);

/// The same as text, as in a file with that ending.
std::string life_text(const LifePattern& pattern, const std::string& ending, const std::stop_token& stop = {});

}  // namespace gradus::files
