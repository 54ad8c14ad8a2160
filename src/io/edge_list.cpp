// Lists of edges: a line "FROM TO" or "FROM TO WEIGHT" for each.
#include <algorithm>
#include <array>
#include <functional>

#include "core/text.hpp"
#include "io/edges.hpp"

namespace gradus::io {

namespace {

/// Names, numbered in the order of their first use.
class NameTable {
 public:
  std::int32_t number(std::string_view name) {
    if (2 * names_.size() >= slots_.size()) grow();
    std::int32_t& slot = find(name);
    if (slot < 0) {
      if (std::ssize(names_) == most_vertices) refuse_line("more than 2147483647 vertices");
      slot = static_cast<std::int32_t>(names_.size());
      names_.emplace_back(name);
    }
    return slot;
  }
  std::vector<std::string>&& take() { return std::move(names_); }

 private:
  std::int32_t& find(std::string_view name) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t place = std::hash<std::string_view>{}(name)&mask;
    while (slots_[place] >= 0 && names_[static_cast<std::size_t>(slots_[place])] != name) place = (place + 1) & mask;
    return slots_[place];
  }
  void grow() {
    slots_.assign(std::max<std::size_t>(1024, 2 * slots_.size()), -1);
    for (std::size_t index = 0; index < names_.size(); ++index) find(names_[index]) = static_cast<std::int32_t>(index);
  }

  std::vector<std::string> names_;
  std::vector<std::int32_t> slots_;  ///< a power of two of them, half of them free; -1: free
};

bool is_whole(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

bool is_number(std::string_view text) {
  double value = 0;
  return !text.empty() && parse_number(text.data(), text.data() + text.size(), value) == text.data() + text.size();
}

/// The column that is often called so: 0 FROM, 1 TO, 2 WEIGHT; -1: none.
int column_of(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, int>, 31> words = {{
      {"from", 0},  {"source", 0},   {"src", 0},    {"origin", 0}, {"tail", 0},        {"start", 0},  {"u", 0},
      {"i", 0},     {"node1", 0},    {"nodea", 0},  {"node_1", 0}, {"vertex1", 0},     {"to", 1},     {"target", 1},
      {"dst", 1},   {"dest", 1},     {"head", 1},   {"end", 1},    {"destination", 1}, {"v", 1},      {"j", 1},
      {"node2", 1}, {"nodeb", 1},    {"node_2", 1}, {"child", 1},  {"vertex2", 1},     {"weight", 2}, {"length", 2},
      {"cost", 2},  {"distance", 2}, {"dist", 2},
  }};
  for (const auto& [word, column] : words)
    if (equal_but_for_case(text, word)) return column;
  return -1;
}

bool names_vertices(std::string_view text) { return column_of(text) == 0 || column_of(text) == 1; }

class EdgeListReader final : public EdgeReader {
 public:
  EdgeListReader(std::string name, bool tabs, const GraphReadOptions& options) : EdgeReader(std::move(name), options) {
    if (tabs) separator_ = '\t';
  }

 protected:
  bool preamble(std::string_view line) override {
    const std::string_view text = trimmed(line);
    if (text.empty() || is_comment(text)) return true;
    if (separator_ == 0) choose_separator(text);
    const std::vector<FirstField> fields = split(line);
    if (fields.size() != 2 && fields.size() != 3)
      refuse_line(std::to_string(fields.size()) + (fields.size() == 1 ? " field" : " fields") +
                  "; 'FROM TO' or 'FROM TO WEIGHT' is expected");
    if (columns_ != 0 && fields.size() != columns_) refuse_columns(fields.size());
    const bool first = columns_ == 0;
    columns_ = fields.size();
    first_line_ = lines_ + 1;
    if (first && is_header(fields, text)) {
      check_order(fields);
      return true;
    }
    weighted_ = columns_ == 3;
    const bool padded = !options_.base && (is_padded(fields[0].text) || is_padded(fields[1].text));
    if (padded && !options_.names)
      note(lines_ + 1, "a vertex begins with 0, so that vertices are names (--base 0 or 1: numbers)");
    named_ = options_.names || padded || !is_whole(fields[0].text) || !is_whole(fields[1].text);
    if (named_ && options_.base)
      refuse_line("--base " + std::to_string(*options_.base) + ": vertices are names, which nothing counts");
    least_ = options_.base.value_or(0);
    return false;
  }

  bool is_ordered() const override { return named_; }

  void stretch(std::string_view text, EdgeStretch& edges) override {
    const char* const end = text.data() + text.size();
    const bool commas = separator_ != ' ';
    // One less than there may be, where the base is not known yet.
    const std::uint64_t most = static_cast<std::uint64_t>(most_vertices);
    for_each_line(text, edges, [&](const char* at) {
      if (*at == '#' || *at == '%') {
        if (is_comment({at, static_cast<std::size_t>(end_of_line(at, end) - at)})) return at;
      }
      std::int32_t from = 0;
      std::int32_t to = 0;
      if (named_) {
        at = name(at, end, from);
        at = name(after_separator(at, end), end, to);
      } else {
        at = number(at, end, most, from);
        at = number(after_separator(at, end), end, most, to);
      }
      if (weighted_) {
        at = after_separator(at, end);
        const bool quoted = at != end && *at == '"';
        at = edges.weight(skip_blanks(at + (quoted ? 1 : 0), end), end);
        if (quoted) at = closing(at, end);
      }
      at = skip_blanks(at, end);
      if (!at_line_end(at, end)) {
        if (commas && *at == separator_) refuse_columns(columns_ + 1);
        if (!commas && is_blank(at[-1])) refuse_columns(columns_ + 1);
        refuse_line(core::excerpt(field_at(at, end)) + " follows the " + (weighted_ ? "weight" : "vertex"));
      }
      edges.add(from, to);
      return at;
    });
  }

  void complete(Graph& graph, const Edges& edges) override {
    if (edges.count() == 0) fail(lines_ + 1, "the file ends without an edge");
    graph.format = GraphFormat::edge_list;
    if (named_) {
      graph.names = names_.take();
      graph.vertices = std::ssize(graph.names);
      graph.base = 0;
      return;
    }
    const auto [least, greatest] = edges.range();
    graph.base = options_.base.value_or(least == 0 ? 0 : 1);
    if (!options_.base) {
      base_ = graph.base;
      note(0, least == 0
                  ? "a vertex is 0, so that vertices count from 0 (--base 0 says so)"
                  : "no vertex is 0, so that vertices are taken to count from 1 (--base 1 says so; --base 0: from 0)");
    }
    graph.vertices = std::int64_t{greatest} + 1 - base_;
    constexpr std::int64_t gaps = 16;
    if (!options_.base &&
        graph.vertices / gaps > std::max<std::int64_t>(static_cast<std::int64_t>(edges.count()), gaps))
      note(0, "vertices are counted up to " + std::to_string(greatest) +
                  ", of which most have no edge; --names takes those that occur alone");
  }

 private:
  bool is_comment(std::string_view text) const {
    if (is_spreadsheet_error(text)) refuse_line("an error value of a spreadsheet is neither a vertex nor a comment");
    if (text.size() >= 14 && equal_but_for_case(text.substr(0, 14), "%%matrixmarket"))
      refuse_line("this is a Matrix Market file, not a list of edges; give the name of a file that ends in .mtx");
    return text.starts_with('#') || text.starts_with('%');
  }

  void choose_separator(std::string_view text) {
    bool quoted = false;
    std::array<bool, 3> found{};
    constexpr std::string_view separators = ";,\t";
    for (const char character : text) {
      if (character == '"') quoted = !quoted;
      else if (const std::size_t which = separators.find(character); !quoted && which < found.size())
        found[which] = true;
    }
    separator_ = found[0] ? ';' : found[1] ? ',' : found[2] && !all_numbers_between_blanks(text) ? '\t' : ' ';
  }

  /// Numbers may be apart by tabs and blanks as it comes, while names may hold blanks.
  static bool all_numbers_between_blanks(std::string_view text) {
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at != end; at = skip_blanks(at, end)) {
      const std::string_view word = word_at(at, end);
      if (!is_number(word)) return false;
      at += word.size();
    }
    return true;
  }

  std::vector<FirstField> split(std::string_view line) const {
    std::vector<FirstField> fields;
    std::string scratch;
    const char* const end = line.data() + line.size();
    const char* at = skip_padding(line.data(), end);
    for (;;) {
      const bool quoted = at != end && *at == '"';
      std::string_view text;
      at = field(at, end, text, scratch);
      fields.push_back({std::string(text), quoted});
      if (skip_padding(at, end) == end) return fields;
      at = after_separator(at, end);
    }
  }

  bool is_header(const std::vector<FirstField>& fields, std::string_view line) {
    const auto tell = [&](const char* what) {
      note(lines_ + 1, "the first line, " + core::excerpt(line) + ", " + what);
    };
    if (options_.header != HeaderLine::automatic) return options_.header == HeaderLine::yes;
    if (is_whole(fields[0].text) && is_whole(fields[1].text)) return false;
    if (fields.size() == 3) {
      if (is_number(fields[2].text)) return false;
      const HeaderGuess guess = guess_header({&fields[2], 1});
      if (!guess.is_header)
        refuse_line(core::excerpt(fields[2].text) +
                    " is not a number, as weights are; if this line names the columns, say --header yes");
      if (guess.doubtful) tell("is taken as names of columns; if it is an edge with an error in it, fix it");
      return true;
    }
    const bool names =
        names_vertices(fields[0].text) && names_vertices(fields[1].text) && fields[0].text != fields[1].text;
    if (names) tell("is taken as names of columns; if it is an edge, say --header no");
    else tell("is taken as an edge; if it names the columns, say --header yes");
    return names;
  }

  /// Columns are taken in one order, whatever they are called; so they had better not be called otherwise.
  void check_order(const std::vector<FirstField>& fields) const {
    for (std::size_t place = 0; place < fields.size(); ++place) {
      const int column = column_of(fields[place].text);
      if (column >= 0 && column != static_cast<int>(place))
        refuse_line("column " + std::to_string(place + 1) + " is called " + core::excerpt(fields[place].text) +
                    ", but columns are FROM, TO and WEIGHT in this order; put them so, or leave this line out");
    }
  }

  static bool is_padded(std::string_view text) { return text.size() > 1 && text[0] == '0' && is_digit(text[1]); }

  [[noreturn]] void refuse_columns(std::size_t columns) const {
    refuse_line(std::to_string(columns) + " fields or more, but line " + std::to_string(first_line_) + " has " +
                std::to_string(columns_));
  }

  bool separates(char character) const { return separator_ == ' ' ? is_blank(character) : character == separator_; }

  /// Blanks that do not separate.
  const char* skip_padding(const char* at, const char* end) const {
    while (at != end && is_blank(*at) && (separator_ == ' ' || *at != separator_)) ++at;
    return at;
  }

  const char* after_separator(const char* at, const char* end) const {
    const char* const next = skip_padding(at, end);
    if (separator_ == ' ') {
      if (next == at && !at_line_end(at, end))
        refuse_line(core::excerpt(field_at(at, end)) + " stands where a blank is expected");
      return next;
    }
    if (at_line_end(next, end)) return next;
    if (*next != separator_) {
      const std::string name = separator_ == '\t' ? "tab" : separator_ == ',' ? "comma" : "semicolon";
      refuse_line(core::excerpt(field_at(next, end)) + " stands where a " + name + " is expected");
    }
    return skip_padding(next + 1, end);
  }

  /// The field at `at`, for messages.
  std::string_view field_at(const char* at, const char* end) const {
    const char* stop = at;
    while (!at_line_end(stop, end) && !separates(*stop)) ++stop;
    return trimmed({at, static_cast<std::size_t>(stop - at)});
  }

  static const char* closing(const char* at, const char* end) {
    at = skip_blanks(at, end);
    if (at == end || *at != '"') refuse_line("a field in quotes has no closing quote behind its number");
    return at + 1;
  }

  /// The field's text, without padding and quotes; its end.
  const char* field(const char* at, const char* end, std::string_view& text, std::string& scratch) const {
    if (at != end && *at == '"') {
      scratch.clear();
      for (++at;; ++at) {
        if (at_line_end(at, end)) refuse_line("a quoted field has no closing quote on its line");
        if (*at == '"' && (at + 1 == end || at[1] != '"')) break;
        if (*at == '"') ++at;  // of a doubled quote, one is left
        scratch += *at;
      }
      text = scratch;
      return at + 1;
    }
    const char* stop = at;
    while (!at_line_end(stop, end) && !separates(*stop)) ++stop;
    text = trimmed({at, static_cast<std::size_t>(stop - at)});
    return stop;
  }

  const char* name(const char* at, const char* end, std::int32_t& into) {
    std::string_view text;
    at = field(at, end, text, scratch_);
    if (text.empty()) refuse_line("a vertex without a name");
    const auto is_control = [](char character) {
      return static_cast<unsigned char>(character) < ' ' || character == 127;
    };
    if (std::any_of(text.begin(), text.end(), is_control))
      refuse_line("the name " + core::excerpt(text) + " holds a control character");
    into = names_.number(text);
    return at;
  }

  const char* number(const char* at, const char* end, std::uint64_t most, std::int32_t& into) const {
    const bool quoted = at != end && *at == '"';
    const char* stop = skip_blanks(at + (quoted ? 1 : 0), end);
    const auto refuse = [&] {
      refuse_line(core::excerpt(field_at(at, end)) + " is not a whole number, as the vertices of line " +
                  std::to_string(first_line_) + " are; --names takes all of them as names");
    };
    if (stop != end && !at_line_end(stop, end) && !is_digit(*stop) && *stop != '-' && *stop != '+') refuse();
    if (!options_.base && stop != end && *stop == '0' && stop + 1 != end && is_digit(stop[1]))
      refuse_line(core::excerpt(field_at(at, end)) +
                  " begins with 0; --names takes vertices as names, --base 0 or 1 as numbers");
    stop = EdgeStretch::vertex(stop, end, static_cast<std::uint64_t>(least_), most, into);
    if (quoted) stop = closing(stop, end);
    if (!at_line_end(stop, end) && !is_blank(*stop) && !separates(*stop)) refuse();
    return stop;
  }

  char separator_ = 0;  ///< 0: not known yet
  std::size_t columns_ = 0;
  std::size_t first_line_ = 0;  ///< that settled the number of columns, and whether vertices are names
  bool named_ = false;
  int least_ = 0;  ///< vertex that may be
  NameTable names_;
  std::string scratch_;
};

}  // namespace

std::unique_ptr<EdgeReader> edge_list_reader(std::string name, bool tabs, const GraphReadOptions& options) {
  return std::make_unique<EdgeListReader>(std::move(name), tabs, options);
}

}  // namespace gradus::io
