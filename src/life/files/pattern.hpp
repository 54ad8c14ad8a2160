// Patterns of Life: RLE, Macrocell, plaintext, Life 1.06, PBM and PGM, pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/atomic_file.hpp"
#include "files/text_input.hpp"
#include "gradus/life.hpp"

namespace gradus::files {

enum class LifeFormat : std::uint8_t { rle, macrocell, plaintext, life105, life106, netpbm, image };
/// "RLE", "Macrocell", "plaintext", "Life 1.05", "Life 1.06", "PBM or PGM", "picture"
std::string_view to_string(LifeFormat format);

struct LifeReadOptions {
  std::stop_token stop = {};  ///< a stop request ends the reading with InterruptedError
  ReadProgress progress = nullptr;
  /// Bytes that the cells of a text may take: a few letters can stand for any number of live cells. Error above.
  std::uint64_t memory_limit = std::uint64_t{4} << 30;
};

/// Reads the pattern of a file, or of standard input where the path is "-", packed by gzip or not. The format follows
/// from the content where that begins with its name ([M2], #Life 1.05, #Life 1.06, P1 …, PNG, JPEG), otherwise from the
/// ending of the file's name (.rle; .mc; .cells; .lif, .life; .pbm, .pgm, .pnm; .png, .jpg, .jpeg; each also with .gz
/// behind it), otherwise from what its lines look like.
///
/// * RLE: comment lines that begin with '#', the header "x = 3, y = 3, rule = B3/S23", then runs of b and o, rows that
///   end by $, and ! at the end. Also ":T64,48" (torus) and ":P64,48" (dead cells around) behind the rule, Golly's
///   "#CXRLE Pos=-1,-1 Gen=0", and where there is none a line "#P -1 -1" or "#R -1 -1". A run must lie within the
///   header's rectangle, if there is a header. '.' is b, 'A' is o.
/// * Macrocell: the first line begins with [M2]; two states. `LifePattern::tree` holds the cells. The last square is
///   all of the pattern, so that one as large before it tells of a file that was cut. One that was cut just behind
///   its first square of a level, with none as large before it, cannot be told from a whole one: the format names no
///   size.
/// * Plaintext: '.' is dead and 'O' or '*' alive; lines that begin with '!' are comments.
/// * Life 1.05: a line "#Life 1.05", then blocks of '.' and '*' behind lines "#P x y"; "#N" or "#R 23/3" is the rule.
/// * Life 1.06: a line "#Life 1.06", then "x y" of each live cell.
/// * PBM (P1, P4): 1 is alive. PGM (P2, P5) and pictures: what is not white, or not seen, is alive, as in Golly.
///
/// Cells are a grid, or a tree where they lie so far apart that a grid would be mostly empty and large. InputError
/// with file:line:column for anything that is wrong; what other programs know and this does not (more states, rules
/// that are not B/S, other topologies) by its name.
LifePattern read_life(const std::string& path, const LifeReadOptions& options = {});

/// The same from memory; `name` stands in messages. Nothing: the format by the content.
LifePattern parse_life(std::span<const std::byte> bytes, std::string_view name, std::optional<LifeFormat> format,
                       const LifeReadOptions& options = {});

/// A rule, and a topology where one stands behind it: "B3/S23:T64,48".
struct LifeWorld {
  LifeRule rule;
  std::optional<LifeBoundary> boundary = {};  ///< dead or torus, of this size:
  std::int64_t width = 0;
  std::int64_t height = 0;
};
/// UsageError for what is none; `place` then says where it stands in the text.
LifeWorld parse_life_world(std::string_view text, std::size_t* place = nullptr);

/// Whether the ending of the name is one of those above.
bool names_life(const std::string& path);

/// How a pattern is written: by the ending of the name, .rle, .mc, .cells, .lif or .life (Life 1.06), .pbm, .pgm or
/// .png, the texts also with .gz behind it. Nothing for others.
enum class LifeOutput : std::uint8_t { rle, macrocell, plaintext, life106, pbm, pgm, png };
struct LifeOutputKind {
  LifeOutput output = LifeOutput::rle;
  bool packed = false;  ///< by gzip
  bool is_picture() const { return output >= LifeOutput::pbm; }
};
std::optional<LifeOutputKind> life_output(const std::string& path);

/// Writes cells, rule, topology, generation and comments, as far as the format knows them. RLE, plaintext and pictures
/// hold the smallest rectangle of live cells; of a bounded world pictures hold all of it, so that a sequence of them
/// is of one size. Error, which names Macrocell, for cells that lie too far apart.
/// `scale`: pixels of a picture for a cell, in both directions.
void write_life(core::AtomicFile& file, const LifePattern& pattern, const LifeOutputKind& kind, std::int64_t scale = 1);

/// The same as text, which is RLE, Macrocell, plaintext or Life 1.06.
std::string life_text(const LifePattern& pattern, LifeOutput output, const std::stop_token& stop = {});

}  // namespace gradus::files
