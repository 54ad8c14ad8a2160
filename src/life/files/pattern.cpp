#include "life/files/pattern.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "core/text.hpp"
#include "files/file.hpp"
#include "files/foreign_formats.hpp"
#include "files/image.hpp"
#include "files/number.hpp"
#include "gradus/error.hpp"
#include "life/files/output.hpp"
#include "life/files/text.hpp"

namespace gradus::files {

namespace {

/// Without the .gz at its end.
std::string ending_of_pattern(const std::string& path) {
  const std::string ending = ending_of(path);
  return ending == ".gz" ? ending_of(path.substr(0, path.size() - ending.size())) : ending;
}

std::optional<LifeFormat> format_of_name(const std::string& path) {
  constexpr std::array<std::pair<std::string_view, LifeFormat>, 11> known{{{".rle", LifeFormat::rle},
                                                                           {".mc", LifeFormat::macrocell},
                                                                           {".cells", LifeFormat::plaintext},
                                                                           {".lif", LifeFormat::life106},
                                                                           {".life", LifeFormat::life106},
                                                                           {".pbm", LifeFormat::netpbm},
                                                                           {".pgm", LifeFormat::netpbm},
                                                                           {".pnm", LifeFormat::netpbm},
                                                                           {".png", LifeFormat::image},
                                                                           {".jpg", LifeFormat::image},
                                                                           {".jpeg", LifeFormat::image}}};
  const std::string ending = ending_of_pattern(path);
  const auto found = std::ranges::find(known, ending, &std::pair<std::string_view, LifeFormat>::first);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

/// Of contents that begin with the name of their format.
std::optional<LifeFormat> format_of_name_inside(std::string_view text) {
  if (text.starts_with("[M2]")) return LifeFormat::macrocell;
  if (text.starts_with("#Life 1.05")) return LifeFormat::life105;
  if (text.starts_with("#Life 1.06")) return LifeFormat::life106;
  if (looks_like_image(std::as_bytes(std::span(text)))) return LifeFormat::image;
  if (text.size() > 2 && text[0] == 'P' && text[1] >= '1' && text[1] <= '6' &&
      (text[2] == '\n' || text[2] == ' ' || text[2] == '\r' || text[2] == '#'))
    return LifeFormat::netpbm;
  return std::nullopt;
}

/// Of the others, by the first line that is no comment of RLE.
std::optional<LifeFormat> format_of_lines(std::string_view text) {
  const bool has_blocks = text.starts_with("#P ");  // of cells, as in Life 1.05, whose first line is missing
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    if (has_blocks && line.find_first_not_of(".*") == std::string_view::npos) return LifeFormat::life105;
    if (line.front() == 'x' || is_runs(line)) return LifeFormat::rle;
    if (line.front() == '!' || line.front() == '.' || line.front() == 'O') return LifeFormat::plaintext;
    return std::nullopt;
  }
  return std::nullopt;
}

std::unique_ptr<LifeReader> reader_of(LifeFormat format, const std::string& name, const LifeReadOptions& options) {
  switch (format) {
    case LifeFormat::rle: return rle_reader(name, options);
    case LifeFormat::macrocell: return macrocell_reader(name, options);
    case LifeFormat::plaintext: return plaintext_reader(name, options);
    case LifeFormat::life105: return life105_reader(name, options);
    case LifeFormat::life106: return life106_reader(name, options);
    case LifeFormat::netpbm: return netpbm_reader(name, options);
    case LifeFormat::image: return image_reader(name, options);
  }
  __builtin_unreachable();
}

LifePattern read(TextInput& input, LifeFormat format, const LifeReadOptions& options) {
  if (format != LifeFormat::image && format != LifeFormat::netpbm)
    refuse_foreign(input.beginning(), input.name(), Reader::pattern);
  const std::unique_ptr<LifeReader> reader = reader_of(format, input.name(), options);
  input.feed([&](std::string_view text, bool last) { return reader->take(text, last); });
  return reader->finish();
}

}  // namespace

std::string_view to_string(LifeFormat format) {
  constexpr std::array<std::string_view, 7> names = {"RLE",       "Macrocell",  "plaintext", "Life 1.05",
                                                     "Life 1.06", "PBM or PGM", "picture"};
  return names[static_cast<std::size_t>(format)];
}

bool names_life(const std::string& path) { return format_of_name(path).has_value(); }

LifePattern read_life(const std::string& path, const LifeReadOptions& options) {
  TextInput input(path, options.stop, options.progress);
  std::optional<LifeFormat> format = format_of_name_inside(input.beginning());
  if (!format) format = format_of_name(path);
  if (!format) format = format_of_lines(input.beginning());
  if (!format) {
    refuse_foreign(input.beginning(), input.name(), Reader::pattern);
    throw InputError("'" + input.name() + "': neither its name nor its content says what kind of pattern it is; " +
                     std::string(readable(Reader::pattern)));
  }
  return read(input, *format, options);
}

LifePattern parse_life(std::span<const std::byte> bytes, std::string_view name, std::optional<LifeFormat> format,
                       const LifeReadOptions& options) {
  TextInput input(bytes, name, options.stop);
  if (!format) format = format_of_name_inside(input.beginning());
  if (!format) format = format_of_lines(input.beginning());
  return read(input, format.value_or(LifeFormat::rle), options);
}

std::optional<LifeOutputKind> life_output(const std::string& path) {
  const bool packed = ending_of(path) == ".gz";
  const std::string ending = ending_of_pattern(path);
  if (ending == ".rle") return LifeOutputKind{LifeOutput::rle, packed};
  if (ending == ".mc") return LifeOutputKind{LifeOutput::macrocell, packed};
  if (ending == ".cells") return LifeOutputKind{LifeOutput::plaintext, packed};
  if (ending == ".lif" || ending == ".life") return LifeOutputKind{LifeOutput::life106, packed};
  if (ending == ".pbm") return LifeOutputKind{LifeOutput::pbm, packed};
  if (ending == ".pgm") return LifeOutputKind{LifeOutput::pgm, packed};
  if (ending == ".png" && !packed) return LifeOutputKind{LifeOutput::png, false};
  return std::nullopt;
}

namespace {

void write_text(TextOutput& output, const LifePattern& pattern, LifeOutput kind, std::int64_t scale) {
  switch (kind) {
    case LifeOutput::rle: write_rle(output, pattern); break;
    case LifeOutput::macrocell: write_macrocell(output, pattern); break;
    case LifeOutput::plaintext: write_plaintext(output, pattern); break;
    case LifeOutput::life106: write_life106(output, pattern); break;
    case LifeOutput::pbm: write_netpbm(output, pattern, false, scale); break;
    case LifeOutput::pgm: write_netpbm(output, pattern, true, scale); break;
    case LifeOutput::png: break;
  }
  output.finish();
}

}  // namespace

void write_life(core::AtomicFile& file, const LifePattern& pattern, const LifeOutputKind& kind, std::int64_t scale) {
  if (kind.output == LifeOutput::png) return write_life_png(file, pattern, scale);
  TextOutput output(file, kind.packed);
  write_text(output, pattern, kind.output, scale);
}

std::string life_text(const LifePattern& pattern, LifeOutput output, const std::stop_token& stop) {
  std::string text;
  TextOutput into(text, {"standard output", stop});
  write_text(into, pattern, output, 1);
  return text;
}

}  // namespace gradus::files
