#include "life/files/pattern.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "files/file.hpp"
#include "files/foreign_formats.hpp"
#include "files/number.hpp"
#include "gradus/error.hpp"
#include "life/files/output.hpp"
#include "life/files/text.hpp"

namespace gradus::files {

// The formats. Names and contents are matched in this order, and documents list the formats in this order. The CMake
// files of the fuzzers read this list.
#define GRADUS_LIFE_FORMATS \
  FORMAT(life_rle)          \
  FORMAT(life_macrocell)    \
  FORMAT(life_106)          \
  FORMAT(life_105)          \
  FORMAT(life_plaintext)    \
  FORMAT(life_netpbm)       \
  FORMAT(life_image)
// clang-format on
#define FORMAT(id) extern constinit const LifeFormat id##_format;
GRADUS_LIFE_FORMATS
#undef FORMAT

namespace {

constexpr const LifeFormat* formats[] = {
#define FORMAT(id) &id##_format,
    GRADUS_LIFE_FORMATS
#undef FORMAT
};

std::vector<const Format*> rows() {
  std::vector<const Format*> rows;
  for (const LifeFormat* const format : formats) rows.push_back(&format->file);
  return rows;
}

std::string readable_patterns() {
  return "RLE (.rle), Macrocell (.mc), plaintext (.cells), Life 1.05 and 1.06 (.lif), PBM, PGM, PNG and JPEG can be "
         "read";
}
std::string generated_patterns() {
  return "cells .rle, .mc, .cells, .lif, .pbm, .pgm or .png, or - for RLE on standard output";
}

const RegisteredFormats registered(
    Reader::pattern, {.kind = "pattern", .rows = rows, .text = readable_patterns, .generated = generated_patterns});

template <class Is>
const LifeFormat* first_that(const Is& is) {
  const auto found = std::ranges::find_if(formats, is);
  return found != std::end(formats) ? *found : nullptr;
}

const LifeFormat* format_of_name(const std::string& path) {
  return first_that([&](const LifeFormat* format) { return format->file.names(path); });
}

/// Returns the format of contents that begin with the format's name.
const LifeFormat* format_of_beginning(std::string_view text) {
  return first_that([&](const LifeFormat* format) { return format->begins != nullptr && format->begins(text); });
}

/// Returns the format of other contents, by the first line that is not an RLE comment.
const LifeFormat* format_of_lines(std::string_view text) {
  const bool blocks = text.starts_with("#P ");
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    return first_that(
        [&](const LifeFormat* format) { return format->has_line != nullptr && format->has_line(line, blocks); });
  }
  return nullptr;
}

LifePattern read(TextInput& input, const LifeFormat& format, const LifeReadOptions& options) {
  if (!format.is_picture) refuse_foreign(input.beginning(), input.name(), Reader::pattern);
  const std::unique_ptr<LifeReader> reader = format.reader(input.name(), options);
  if (const std::optional<std::uint64_t> bytes = input.bytes_left()) reader->promise_bytes(*bytes);
  input.feed([&](std::string_view text, bool last) { return reader->take(text, last); });
  return reader->finish();
}

}  // namespace

std::span<const LifeFormat* const> life_formats() { return formats; }

LifePattern read_life(const std::string& path, const LifeReadOptions& options) {
  TextInput input(path, options.stop, options.progress);
  const LifeFormat* format = format_of_beginning(input.beginning());
  if (format == nullptr) format = format_of_name(path);
  if (format == nullptr) format = format_of_lines(input.beginning());
  if (format == nullptr) {
    refuse_foreign(input.beginning(), input.name(), Reader::pattern);
    throw InputError("'" + input.name() + "': neither its name nor its content says what kind of pattern it is; " +
                     readable(Reader::pattern));
  }
  return read(input, *format, options);
}

LifePattern parse_life(std::span<const std::byte> bytes, std::string_view name, const LifeFormat* format,
                       const LifeReadOptions& options) {
  TextInput input(bytes, name, options.stop);
  if (format == nullptr) format = format_of_beginning(input.beginning());
  if (format == nullptr) format = format_of_lines(input.beginning());
  return read(input, format != nullptr ? *format : life_rle_format, options);
}

std::optional<LifeOutputKind> life_output(const std::string& path) {
  const bool packed = ending_of(path) == ".gz";
  const std::string ending = ending_of(packed ? path.substr(0, path.size() - 3) : path);
  for (const LifeFormat* const format : formats)
    if (is_among(format->written, ending) && !(packed && format->write == nullptr))
      return LifeOutputKind{format, format->written.substr(format->written.find(ending), ending.size()), packed};
  return std::nullopt;
}

void write_life(core::AtomicFile& file, const LifePattern& pattern, const LifeOutputKind& kind, std::int64_t scale) {
  if (kind.format->write == nullptr) return kind.format->write_file(file, pattern, scale);
  TextOutput output(file, kind.packed);
  kind.format->write(output, pattern, kind.ending, scale);
  output.finish();
}

std::string life_text(const LifePattern& pattern, const std::string& ending, const std::stop_token& stop) {
  const std::optional<LifeOutputKind> kind = life_output(ending);
  if (!kind || kind->format->write == nullptr) throw UsageError("'" + ending + "' is no ending of a pattern as text");
  std::string text;
  TextOutput output(text, {"standard output", stop});
  kind->format->write(output, pattern, kind->ending, 1);
  output.finish();
  return text;
}

}  // namespace gradus::files
