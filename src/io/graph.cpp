#include "io/graph.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "core/text.hpp"
#include "gradus/error.hpp"
#include "io/edges.hpp"
#include "io/file.hpp"
#include "io/foreign_formats.hpp"
#include "io/number.hpp"

namespace gradus::io {

namespace {

/// What a name or a content says.
struct Kind {
  GraphFormat format = GraphFormat::edge_list;
  bool tabs = false;
};

std::optional<Kind> kind_of_name(const std::string& path) {
  std::string ending = ending_of(path);
  if (ending == ".gz") ending = ending_of(path.substr(0, path.size() - ending.size()));
  if (ending == ".gr") return Kind{GraphFormat::dimacs};
  if (ending == ".mtx") return Kind{GraphFormat::matrix_market};
  if (ending == ".tsv") return Kind{GraphFormat::edge_list, true};
  constexpr std::array<std::string_view, 6> lists = {".csv", ".txt", ".edges", ".edgelist", ".el", ".ncol"};
  if (std::find(lists.begin(), lists.end(), ending) != lists.end()) return Kind{};
  return std::nullopt;
}

/// Returns true if the first line that is neither blank nor a comment holds two numbers or more.
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
  constexpr std::string_view banner = "%%matrixmarket";
  if (equal_but_for_case(text.substr(0, banner.size()), banner)) return Kind{GraphFormat::matrix_market};
  // The first line of KONECT's files, whose names are out.NAME.
  if (text.starts_with("% sym ") || text.starts_with("% asym ") || text.starts_with("% bip ")) return Kind{};
  while (text.starts_with("c ") || text.starts_with("c\n") || text.starts_with("c\r\n") || text.starts_with('\n'))
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.starts_with("p sp ") ? std::optional(Kind{GraphFormat::dimacs}) : std::nullopt;
}

std::unique_ptr<EdgeReader> reader_of(Kind kind, const std::string& name, const GraphReadOptions& options) {
  if (kind.format != GraphFormat::edge_list) {
    const auto refuse = [&](const std::string& option, std::string_view why) {
      throw UsageError(option + " has no effect: '" + name + "' is a " + std::string(to_string(kind.format)) +
                       " file, " + std::string(why));
    };
    if (options.base && *options.base == 0) refuse("--base 0", "whose vertices count from 1");
    if (options.names) refuse("--names", "whose vertices are numbers");
    if (options.header != HeaderLine::automatic) refuse("--header", "which has no line of column names");
    if (options.style.decimal != Decimal::automatic) refuse("--decimal", "whose decimals follow a point");
    if (options.style.group != 0) refuse("--thousands", "whose digits are not grouped");
    if (!options.columns.empty() && kind.format == GraphFormat::dimacs)
      refuse("--columns", "whose columns are FROM, TO and WEIGHT");
  }
  switch (kind.format) {
    case GraphFormat::dimacs: return dimacs_reader(name, options);
    case GraphFormat::matrix_market: return matrix_market_reader(name, options);
    case GraphFormat::edge_list: return edge_list_reader(name, kind.tabs, options);
  }
  __builtin_unreachable();
}

Graph read(TextInput& input, Kind kind, const GraphReadOptions& options) {
  const std::unique_ptr<EdgeReader> reader = reader_of(kind, input.name(), options);
  input.feed([&](std::string_view text, bool last) { return reader->take(text, last); });
  return reader->finish();
}

}  // namespace

std::string_view to_string(GraphFormat format) {
  constexpr std::array<std::string_view, 3> names = {"DIMACS", "Matrix Market", "edge list"};
  return names[static_cast<std::size_t>(format)];
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
                     std::string(readable(Reader::graph)));
  }
  return read(input, *kind, options);
}

Graph parse_graph(std::span<const std::byte> bytes, std::string_view name, std::optional<GraphFormat> format,
                  const GraphReadOptions& options) {
  TextInput input(bytes, name, options.stop);
  const Kind kind = format ? Kind{*format} : kind_of_content(input.beginning()).value_or(Kind{});
  return read(input, kind, options);
}

}  // namespace gradus::io
