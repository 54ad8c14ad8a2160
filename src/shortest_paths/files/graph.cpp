#include "shortest_paths/files/graph.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/text.hpp"
#include "files/file.hpp"
#include "files/foreign_formats.hpp"
#include "files/number.hpp"
#include "gradus/error.hpp"
#include "shortest_paths/files/edges.hpp"

namespace gradus::files {

// The formats. Contents are matched in this order, and messages list the formats in this order. The CMake files of the
// fuzzers read this list.
#define GRADUS_GRAPH_FORMATS \
  FORMAT(dimacs)             \
  FORMAT(matrix_market)      \
  FORMAT(edge_list)
// clang-format on
#define FORMAT(id) extern constinit const GraphFormat id##_format;
GRADUS_GRAPH_FORMATS
#undef FORMAT

namespace {

constexpr const GraphFormat* formats[] = {
#define FORMAT(id) &id##_format,
    GRADUS_GRAPH_FORMATS
#undef FORMAT
};

struct Kind {
  const GraphFormat* format = &edge_list_format;
  std::string_view ending = {};
};

std::string_view written_ending(const GraphFormat& format) {
  return format.file.endings.substr(0, format.file.endings.find(' '));
}

std::optional<Kind> kind_of_name(const std::string& path) {
  for (const GraphFormat* format : formats)
    if (const std::string_view ending = format->file.ending_in(path); !ending.empty()) return Kind{format, ending};
  return std::nullopt;
}

/// Returns true if the first line that is neither blank nor a comment has at least two numbers.
bool looks_like_edges(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(text.substr(0, text.substr(0, length).ends_with('\r') ? length - 1 : length));
    text.remove_prefix(std::min(length + 1, text.size()));
    if (line.empty() || line.front() == '#' || line.front() == '%') continue;
    std::size_t numbers = 0;
    while (!line.empty()) {
      const std::size_t end = std::min(line.find_first_of(" \t,;"), line.size());
      if (!is_number(line.substr(0, end))) return false;
      ++numbers;
      line.remove_prefix(end);
      line.remove_prefix(std::min(line.find_first_not_of(" \t,;"), line.size()));
    }
    return numbers > 1;
  }
  return false;
}

std::optional<Kind> kind_of_content(std::string_view text) {
  for (const GraphFormat* format : formats)
    if (format->recognises(text)) return Kind{format};
  return std::nullopt;
}

std::unique_ptr<EdgeReader> reader_of(const Kind& kind, const std::string& name, const GraphReadOptions& options) {
  const auto refuse = [&](const std::string& option, std::string_view why) {
    throw UsageError(option + " has no effect: '" + name + "' is a " + std::string(kind.format->file.name) + " file, " +
                     std::string(why));
  };
  if (!kind.format->is_list) {
    if (options.base && *options.base == 0) refuse("--base 0", "whose vertices count from 1");
    if (options.names) refuse("--names", "whose vertices are numbers");
    if (options.header != HeaderLine::automatic) refuse("--header", "which has no line of column names");
    if (options.style.decimal != Decimal::automatic) refuse("--decimal", "whose decimals follow a point");
    if (options.style.group != 0) refuse("--thousands", "whose digits are not grouped");
  }
  if (!options.columns.empty() && !kind.format->fixed_columns.empty()) refuse("--columns", kind.format->fixed_columns);
  return kind.format->reader(name, kind.ending, options);
}

Graph read(TextInput& input, const Kind& kind, const GraphReadOptions& options) {
  const std::unique_ptr<EdgeReader> reader = reader_of(kind, input.name(), options);
  input.feed([&](std::string_view text, bool last) { return reader->take(text, last); });
  Graph graph = reader->finish();
  graph.format = kind.format;
  return graph;
}

std::vector<const Format*> rows() {
  std::vector<const Format*> rows;
  for (const GraphFormat* const format : formats) rows.push_back(&format->file);
  return rows;
}

std::string readable_graphs() { return graph_endings() + " and matrices (.npy) can be read, '-' is standard input"; }
std::string generated_graphs() { return "graphs " + written_endings() + " or .npy"; }

const RegisteredFormats registered(
    Reader::graph, {.kind = "graph", .rows = rows, .text = readable_graphs, .generated = generated_graphs});

}  // namespace

std::span<const GraphFormat* const> graph_formats() { return formats; }

std::string graph_endings() {
  std::string text;
  for (const GraphFormat* format : formats) {
    std::string endings;
    for (const char letter : format->file.endings) endings.append(letter == ' ' ? ", " : std::string(1, letter));
    if (!text.empty()) text += ", ";
    if (format->several.empty()) text.append(endings).append(" (").append(format->file.name).append(")");
    else text.append(format->several).append(" (").append(endings).append(")");
  }
  return text;
}

const GraphFormat* written_format(const std::string& path) {
  const std::string ending = ending_of(path);
  for (const GraphFormat* format : formats)
    if (format->head != nullptr && written_ending(*format) == ending) return format;
  return nullptr;
}

std::string written_endings() {
  std::string text;
  for (const GraphFormat* format : formats)
    if (format->head != nullptr)
      text.append(text.empty() ? "" : ", ").append(written_ending(*format)).append(" (").append(format->file.name) +=
          ")";
  return text;
}

bool names_graph(const std::string& path) { return kind_of_name(path).has_value(); }

Graph read_graph(const std::string& path, const GraphReadOptions& options) {
  TextInput input(path, options.stop, options.progress);
  std::optional<Kind> kind = kind_of_name(path);
  if (!kind) kind = kind_of_content(input.beginning());
  if (!kind && path == "-") kind = Kind{};
  if (!kind) {
    refuse_foreign(input.beginning(), path, Reader::graph);
    if (looks_like_edges(input.beginning()))
      throw InputError(
          "'" + path +
          "': the name does not say what kind of graph it is, and the content looks like a list of edges; such lists "
          "have names that end in .edges, .csv, .tsv or .txt, or come from standard input ('-')");
    throw InputError("'" + path + "': neither its name nor its content says what kind of graph it is; " +
                     readable(Reader::graph));
  }
  return read(input, *kind, options);
}

Graph parse_graph(std::span<const std::byte> bytes, std::string_view name, const GraphFormat* format,
                  const GraphReadOptions& options) {
  TextInput input(bytes, name, options.stop);
  const Kind kind = format != nullptr ? Kind{format} : kind_of_content(input.beginning()).value_or(Kind{});
  return read(input, kind, options);
}

}  // namespace gradus::files
