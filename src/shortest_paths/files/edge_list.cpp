// Edge lists: one line "FROM TO" or "FROM TO WEIGHT" per edge, or a table with such columns.
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <span>

#include "core/text.hpp"
#include "gradus/error.hpp"
#include "shortest_paths/files/edge_columns.hpp"
#include "shortest_paths/files/edges.hpp"

namespace gradus::files {

namespace {

/// Gives each name a number, in the order of first use.
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
  /// Hash table of name numbers; its size is a power of two, and at least half of its slots are free (-1).
  std::vector<std::int32_t> slots_;
};

bool is_whole(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

class EdgeListReader final : public EdgeReader {
 public:
  EdgeListReader(std::string name, bool tabs, const GraphReadOptions& options) : EdgeReader(std::move(name), options) {
    if (tabs) separator_ = '\t';
  }

 protected:
  bool preamble(std::string_view line) override {
    const std::string_view text = trimmed(line);
    if (text.empty() || is_comment(text)) {
      note_direction(text);
      return true;
    }
    if (const auto mark = separator_given_by(line); mark && first_line_ == 0) {
      if (!may_separate(*mark)) refuse_line(core::excerpt(text) + std::string(separator_fault));
      separator_ = *mark;
      return true;
    }
    if (separator_ == 0) choose_separator(text);
    refuse_empty_row(line.data(), line.data() + line.size());
    const std::vector<FirstField> fields = split(line);
    if (first_line_ == 0) {
      first_line_ = lines_ + 1;
      if (is_header(fields, text)) {
        header_line_ = lines_ + 1;
        for (const FirstField& field : fields) names_.push_back(field.text);
        return true;
      }
    }
    settle(fields);
    return false;
  }

  bool is_ordered() const override { return named_; }

  void parse_lines(std::string_view text, EdgeBlock& edges) override {
    const char* const end = text.data() + text.size();
    const bool commas = separator_ != ' ';
    // As long as the base is unknown, vertex 0 is allowed. The largest allowed vertex is then one less than with
    // base 1.
    const std::uint64_t most = static_cast<std::uint64_t>(most_vertices);
    const bool common = is_common();
    for_each_line(text, edges, [&](const char* at) {
      if (const char* const stop = common ? common_line(at, end, most, edges) : nullptr) return stop;
      if (*at == '#' || *at == '%') {
        if (is_comment({at, static_cast<std::size_t>(end_of_line(at, end) - at)})) return at;
      }
      if (*at == separator_) refuse_empty_row(at, end);
      std::int32_t from = 0;
      std::int32_t to = 0;
      for (std::size_t column = 0; column < columns_; ++column) {
        if (column > 0) at = after_separator(at, end);
        switch (roles_[column]) {
          case Role::from: at = vertex(at, end, most, from); break;
          case Role::to: at = vertex(at, end, most, to); break;
          case Role::weight: at = weight(at, end, edges); break;
          case Role::none: at = skipped(at, end, column); break;
        }
      }
      at = skip_blanks(at, end);
      if (!at_line_end(at, end)) {
        if (commas && *at == separator_) refuse_columns(columns_ + 1);
        if (!commas && is_blank(at[-1])) refuse_columns(columns_ + 1);
        refuse_rest(at, end);
      }
      edges.add(from, to);
      return at;
    });
  }

  void complete(Graph& graph, const Edges& edges) override {
    if (edges.count() == 0) fail(lines_ + 1, "the file ends without an edge");
    if (!numbers_above_.empty())
      note_first_line(first_line_, numbers_above_, "is read as an edge; if it names the columns, say --header yes");
    if (named_) {
      graph.names = vertices_.take();
      graph.vertices = std::ssize(graph.names);
      graph.base = 0;
      return;
    }
    const auto [least, greatest] = edges.range();
    graph.base = options_.base.value_or(least == 0 ? 0 : 1);
    if (!options_.base) {
      base_ = graph.base;
      note(0, least == 0 ? "a vertex is 0, so that vertices count from 0 (--base 0 says so)"
                         : "no vertex is 0, so vertices count from 1 (--base 1 confirms this; --base 0: from 0)");
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
    std::array<bool, 4> found{};
    constexpr std::string_view separators = ";,\t|";
    for (const char character : text) {
      if (character == '"') quoted = !quoted;
      else if (const std::size_t which = separators.find(character); !quoted && which < found.size())
        found[which] = true;
    }
    const bool commas = found[1] && !commas_are_decimals(text, found[2]);
    const bool tabs = found[2] && !all_numbers_between_blanks(text);
    separator_ = found[0] ? ';' : commas ? ',' : tabs ? '\t' : found[3] && bars_separate(text) ? '|' : ' ';
  }

  /// Returns true if bars separate fields. This is the case if all blanks are next to bars. Otherwise blanks separate
  /// fields, and bars are parts of names.
  static bool bars_separate(std::string_view text) {
    while (!text.empty()) {
      const std::size_t length = std::min(text.find('|'), text.size());
      const std::string_view field = trimmed(text.substr(0, length));
      text.remove_prefix(std::min(length + 1, text.size()));
      if (field.find_first_of(" \t") != std::string_view::npos && !field.starts_with('"')) return false;
    }
    return true;
  }

  /// Throws for a row that consists of separators only.
  void refuse_empty_row(const char* at, const char* end) const {
    if (separator_ == ' ') return;
    std::size_t separators = 0;
    for (; !at_line_end(at, end) && (is_blank(*at) || separates(*at)); ++at) separators += separates(*at) ? 1U : 0U;
    if (separators > 0 && at_line_end(at, end))
      refuse_line("all fields are empty, as spreadsheets write below a table; delete the line");
  }

  /// Returns true if tabs or blanks separate fields, and commas occur only within numbers, as in "1 2 3,5".
  static bool commas_are_decimals(std::string_view text, bool tabs) {
    std::size_t without = 0;
    while (!text.empty()) {
      const std::size_t length = std::min(text.find_first_of(tabs ? "\t" : " \t"), text.size());
      const std::string_view field = trimmed(text.substr(0, length));
      text.remove_prefix(std::min(length + 1, text.size()));
      if (field.find(',') == std::string_view::npos || field.starts_with('"')) ++without;
      else if (comma_in(field) == Comma::none || !is_digit(field.back())) return false;
    }
    return without > 1;
  }

  /// Returns true if the text consists of numbers, separated by any mix of tabs and blanks. A text with names returns
  /// false, because names may contain blanks.
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

  /// Returns the fields of the row below the first line. Returns no fields if this row is missing or malformed.
  std::vector<FirstField> fields_below() const try {
    std::string_view rest = ahead_;
    do {
      rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
      std::string_view line = rest.substr(0, rest.find('\n'));
      if (line.ends_with('\r')) line.remove_suffix(1);
      const std::string_view text = trimmed(line);
      if (!text.empty() && !text.starts_with('#') && !text.starts_with('%')) return split(line);
    } while (!rest.empty());
    return {};
  } catch (const BadLine&) {
    return {};
  }

  void note_first_line(std::size_t number, std::string_view line, const char* what) const {
    note(number, "the first line, " + core::excerpt(line) + ", " + what);
  }

  bool is_header(const std::vector<FirstField>& fields, std::string_view line) {
    const auto tell = [&](const char* what) { note_first_line(lines_ + 1, line, what); };
    if (options_.header != HeaderLine::automatic) return options_.header == HeaderLine::yes;
    const ColumnList& wanted = options_.columns;
    if (wanted.holds_names()) return true;
    std::vector<std::size_t> places(fields.size());
    std::iota(places.begin(), places.end(), 0);
    if (!wanted.empty()) places = wanted.find({}, fields.size(), name_);
    if (places.size() < 2) return false;
    if (fields.front().text.empty()) {  // the heading of an index column
      const HeaderGuess guess = guess_header(fields, fields_below(), std::vector<bool>(fields.size(), true));
      if (guess.is_header && guess.doubtful && !wanted.empty())
        tell("is read as column names; if it is an edge, say --header no");
      if (guess.is_header) return true;
    }
    if (places.size() > roles) return !guess_header(fields).doubtful && guess_header(fields).is_header;
    const FirstField& from = fields[places[0]];
    const FirstField& to = fields[places[1]];
    if (is_whole(from.text) && is_whole(to.text)) {
      // Files of graph collections separate two vertices by blanks or tabs, and often begin with the edge "0 1".
      const bool plain_pair = fields.size() == 2 && is_blank(separator_) && !from.quoted;
      if (!plain_pair && all_numbers(fields) && guess_header(fields).doubtful) numbers_above_ = line;
      return false;
    }
    if (places.size() == roles && !fields[places[2]].text.empty()) {
      const FirstField& weight = fields[places[2]];
      if (is_weight(weight.text)) return false;
      refuse_attributes(weight.text);
      const HeaderGuess guess = guess_header({&weight, 1});
      if (!guess.is_header)
        refuse_line(core::excerpt(weight.text) +
                    " is not a number, as weights are; if this line names the columns, say --header yes");
      if (guess.doubtful) tell("is read as column names; if it is an edge with an error in it, fix it");
      return true;
    }
    const auto is_end = [](const FirstField& field) {
      return role_of(field.text) == Role::from || role_of(field.text) == Role::to;
    };
    const bool names = is_end(from) && is_end(to) && from.text != to.text;
    if (places.size() == roles) return names;  // if the line is an edge after all, settle() will reject its weight
    if (names) tell("is read as column names; if it is an edge, say --header no");
    else tell("is read as an edge; if it names the columns, say --header yes");
    return names;
  }

  /// Returns true if the text is a number in any notation in which this file may write weights.
  bool is_weight(std::string_view text) const {
    return is_number(text) || comma_in(text) != Comma::none || is_number(text, {.point = '.', .group = ','}) ||
           is_number(text,
                     {.point = options_.style.decimal == Decimal::comma ? ',' : '.', .group = options_.style.group});
  }

  /// Determines from the first edge which columns are used, how weights are written, and whether vertices are names.
  void settle(const std::vector<FirstField>& fields) {
    // R writes no heading for the column of row names.
    if (!names_.empty() && fields.size() == names_.size() + 1) names_.insert(names_.begin(), "");
    if (!names_.empty() && fields.size() != names_.size()) {
      columns_ = names_.size();
      refuse_columns(fields.size());
    }
    columns_ = fields.size();
    first_line_ = lines_ + 1;
    const std::vector<std::size_t> places = chosen_columns(fields);
    roles_.assign(columns_, Role::none);
    for (std::size_t role = 0; role < places.size(); ++role) roles_[places[role]] = static_cast<Role>(role);
    weighted_ = places.size() == roles;
    if (weighted_) choose_format(places[2]);
    find_directions(fields);
    const FirstField& from = fields[places[0]];
    const FirstField& to = fields[places[1]];
    const bool padded = !options_.base && (is_padded(from.text) || is_padded(to.text));
    if (padded && !options_.names)
      note(lines_ + 1, "a vertex begins with 0, so that vertices are names (--base 0 or 1: numbers)");
    named_ = options_.names || padded || !is_whole(from.text) || !is_whole(to.text);
    if (named_ && options_.base)
      refuse_line("--base " + std::to_string(*options_.base) + ": vertices are names, which have no base");
    if (!options_.names)
      for (const FirstField& vertex : {from, to})
        if (is_number(vertex.text) && vertex.text.find('.') != std::string::npos)
          refuse_line(core::excerpt(vertex.text) + " is not an integer, as vertex numbers are; " + asks_for_columns() +
                      ", and --names reads it as a name");
    least_ = options_.base.value_or(0);
  }

  std::string asks_for_columns() const {
    return "--columns FROM,TO,WEIGHT says which columns these are, by " +
           std::string(names_.empty() ? "number from 1" : "name or number from 1");
  }

  /// Returns the numbers of the columns FROM, TO and, if present, WEIGHT.
  std::vector<std::size_t> chosen_columns(const std::vector<FirstField>& fields) const {
    if (!options_.columns.empty()) {
      std::vector<std::size_t> places = options_.columns.find(names_, columns_, name_);
      if (places.size() != 2 && places.size() != roles)
        throw UsageError("--columns: " + std::to_string(places.size()) + (places.size() == 1 ? " column" : " columns") +
                         "; FROM,TO or FROM,TO,WEIGHT is expected");
      return places;
    }
    if (columns_ > 1) refuse_drawings(fields);
    if (columns_ >= roles) refuse_attributes(fields[2].text);
    const std::string suggested = names_.empty() ? columns_before_empty_ones(fields) : columns_by_names(names_);
    const std::string way_out = suggested.empty() ? asks_for_columns() : "say --columns " + suggested;
    if (columns_ != 2 && columns_ != roles) {
      refuse_line(std::to_string(columns_) + (columns_ == 1 ? " field" : " fields") +
                  "; 'FROM TO' or 'FROM TO WEIGHT' is expected" + (columns_ == 1 ? "" : "; " + way_out));
    }
    for (std::size_t place = 0; place < names_.size(); ++place) {
      const Role role = role_of(names_[place]);
      if (role != Role::none && static_cast<std::size_t>(role) != place)
        fail(header_line_, "column " + std::to_string(place + 1) + " is called " + core::excerpt(names_[place]) +
                               ", but columns are FROM, TO and WEIGHT in this order; " + way_out);
    }
    if (columns_ == roles && !names_.empty()) {
      if (names_.front().empty())
        fail(header_line_, "column 1 has no name, as a column that numbers the rows; " + way_out);
      require_weight_name();
    }
    std::vector<std::size_t> places(columns_);
    std::iota(places.begin(), places.end(), 0);
    return places;
  }

  /// Returns the value of --columns that leaves out empty fields at the end of a row. Returns "" unless two or three
  /// columns remain.
  static std::string columns_before_empty_ones(const std::vector<FirstField>& fields) {
    std::size_t left = fields.size();
    while (left > 0 && fields[left - 1].text.empty()) --left;
    if (left == fields.size() || (left != 2 && left != roles)) return {};
    std::vector<std::size_t> places(left);
    std::iota(places.begin(), places.end(), 0);
    return column_items({}, places);
  }

  /// Refuses a third column whose name does not suggest a weight. Numeric names, as written by pandas, are no evidence
  /// against a weight.
  void require_weight_name() const {
    const std::string& name = names_.back();
    if (role_of(name) == Role::weight || std::ranges::all_of(names_, [](const auto& each) { return is_number(each); }))
      return;
    constexpr std::array<std::size_t, roles> places = {0, 1, 2};
    fail(header_line_,
         "column 3 " + (name.empty() ? "has no name" : "is called " + core::excerpt(name) + ", which names no weight") +
             "; say --columns " + column_items(names_, std::span(places).first(2)) + " if it is none, or --columns " +
             column_items(names_, places) + " if it is one");
  }

  /// Refuses edges with arrows or parentheses: "1 -> 2" and "(1, 2)".
  void refuse_drawings(const std::vector<FirstField>& fields) const {
    const std::string& to = fields[1].text;
    if (!options_.columns.empty() || options_.names || to.empty()) return;
    if (to.find_first_not_of("-<>=:|") == std::string::npos)
      refuse_line(core::excerpt(to) + " stands between two vertices; " +
                  (columns_ == roles ? "--columns 1,3 leaves it out" : asks_for_columns()));
    if (fields[0].text.starts_with('(') && fields.back().text.ends_with(')') && !fields[0].text.ends_with(')'))
      refuse_line("an edge in parentheses; write the two vertices alone, separated by a blank or a comma");
  }

  static void refuse_attributes(std::string_view text) {
    if (!text.starts_with('{')) return;
    if (text == "{}")
      refuse_line(
          "'{}' are the attributes of an edge without any, as networkx writes them; --columns 1,2 leaves them out");
    refuse_line(core::excerpt(text) +
                " begins the attributes of an edge, as networkx.write_edgelist() writes them; "
                "networkx.write_weighted_edgelist() writes the weights alone");
  }

  /// Chooses the decimal point and the digit group separator. If the options leave a choice open, a sample of the
  /// weights decides it.
  void choose_format(std::size_t column) {
    const NumberStyle& style = options_.style;
    quoted_format_.group = style.group;
    const bool groups_follow_point = style.decimal == Decimal::automatic && style.group == '.';
    if (style.decimal == Decimal::comma || groups_follow_point) quoted_format_.point = ',';
    else if (style.decimal == Decimal::automatic && style.group != ',' && shows_decimal_commas(column)) {
      quoted_format_.point = ',';
      note(0, std::string(decimal_comma_note));
    }
    if (quoted_format_.point == quoted_format_.group)
      throw UsageError(std::string("--thousands: '") + quoted_format_.group + "' is what decimals follow here");
    format_ = quoted_format_;
    if (separates(format_.group)) format_.group = 0;
    if (separates(format_.point)) format_.point = 0;
  }

  /// Returns true if some weight has a decimal comma and no weight has a decimal point. The reader of number tables
  /// follows the same rule.
  bool shows_decimal_commas(std::size_t column) const {
    if (separator_ != ';' && separator_ != '\t') return false;
    constexpr std::size_t bytes_of_a_sample = std::size_t{1} << 16;
    bool commas = false;
    std::size_t line = lines_;
    std::size_t doubtful_line = 0;
    std::string doubtful;
    for (std::string_view rest = ahead_.substr(0, ahead_.find('\n', std::min(bytes_of_a_sample, ahead_.size())));
         !rest.empty();) {
      std::string_view text = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(text.size() + 1, rest.size()));
      ++line;
      if (text.ends_with('\r')) text.remove_suffix(1);
      if (trimmed(text).empty() || trimmed(text).starts_with('#') || trimmed(text).starts_with('%')) continue;
      const std::vector<FirstField> fields = split(text);
      if (fields.size() <= column) continue;
      const std::string& weight = fields[column].text;
      if (weight.find('.') != std::string::npos && is_number(weight)) return false;
      const Comma comma = comma_in(weight);
      commas = commas || comma == Comma::decimals;
      if (comma == Comma::either && doubtful_line == 0) {
        doubtful_line = line;
        doubtful = core::excerpt(weight);
      }
    }
    if (!commas && doubtful_line != 0) fail(doubtful_line, doubtful + std::string(either_comma_fault));
    return commas;
  }

  /// Notes a comment that calls the graph undirected. Throws for a comment that calls it bipartite.
  void note_direction(std::string_view text) {
    if (text.empty()) return;
    const std::vector<std::string> words = words_of_name(trimmed(text.substr(1)));
    if (text[0] == '%' && words[0] == "bip")
      refuse_line(core::excerpt(text) +
                  " says that the graph is bipartite, with left and right vertices that are numbered apart; give them "
                  "different names, for example: awk '!/^%/ {$1 = \"L\" $1; $2 = \"R\" $2; print}'");
    if ((text[0] == '%' && words[0] == "sym") || (text[0] == '#' && words[0] == "undirected"))
      note_undirected(core::excerpt(text));
  }

  void note_undirected(const std::string& what) const {
    if (!options_.undirected)
      note(lines_ + 1, what + " says that the graph is undirected; --undirected takes each edge both ways");
  }

  /// Finds the column in which Gephi marks each edge as directed or undirected.
  void find_directions(const std::vector<FirstField>& fields) {
    for (std::size_t column = 0; column < names_.size(); ++column) {
      if (roles_[column] != Role::none || !equal_but_for_case(names_[column], "type")) continue;
      if (!is_direction(fields[column].text)) continue;
      direction_column_ = column;
      direction_ = fields[column].text;
      if (equal_but_for_case(direction_, "undirected"))
        note_undirected(core::excerpt(direction_) + " in column " + core::excerpt(names_[column]));
    }
  }

  static bool is_direction(std::string_view text) {
    return equal_but_for_case(text, "directed") || equal_but_for_case(text, "undirected");
  }

  void require_direction(std::string_view text) const {
    if (is_direction(text) && equal_but_for_case(text, "directed") != equal_but_for_case(direction_, "directed"))
      refuse_line(core::excerpt(text) + ", but the edge of line " + std::to_string(first_line_) + " is " +
                  core::excerpt(direction_) +
                  "; all edges of a graph are of one kind here: write each undirected edge as two that are directed");
  }

  static bool is_padded(std::string_view text) { return text.size() > 1 && text[0] == '0' && is_digit(text[1]); }

  [[noreturn]] void refuse_columns(std::size_t columns) const {
    refuse_line(std::to_string(columns) + " fields or more, but line " + std::to_string(first_line_) + " has " +
                std::to_string(columns_));
  }

  bool separates(char character) const { return separator_ == ' ' ? is_blank(character) : character == separator_; }

  /// Skips blanks that are not separators.
  const char* skip_padding(const char* at, const char* end) const {
    while (at != end && is_blank(*at) && (separator_ == ' ' || *at != separator_)) ++at;
    return at;
  }

  /// Returns true if lines are FROM, TO and, if edges have weights, WEIGHT, all of them numbers in plain notation.
  bool is_common() const {
    constexpr std::array in_order = {Role::from, Role::to, Role::weight};
    return !named_ && std::ranges::equal(roles_, std::span(in_order).first(weighted_ ? roles : roles - 1)) &&
           (!weighted_ || format_.is_plain());
  }

  /// Adds the edge of a line without quotes, padding and signs of vertices. Returns the end of the line, or null,
  /// without an edge, for any other line.
  const char* common_line(const char* at, const char* end, std::uint64_t most, EdgeBlock& edges) const {
    std::array<std::uint64_t, 2> vertices;
    for (std::uint64_t& vertex : vertices) {
      if (&vertex != vertices.data() && (at == end || !separates(*at++))) return nullptr;
      const char* const stop = digits_at(at, end, vertex);
      vertex -= static_cast<std::uint64_t>(least_);
      constexpr std::ptrdiff_t safe_digits = 19;
      if (stop == at || stop - at > safe_digits || vertex >= most || (*at == '0' && stop - at > 1)) return nullptr;
      at = stop;
    }
    if (weighted_) {
      if (at == end || !separates(*at++) || at == end || !(is_digit(*at) || *at == '-')) return nullptr;
      at = edges.weight(at, end);
    }
    if (!at_line_end(at, end)) return nullptr;
    edges.add(static_cast<std::int32_t>(vertices[0]), static_cast<std::int32_t>(vertices[1]));
    return at;
  }

  const char* vertex(const char* at, const char* end, std::uint64_t most, std::int32_t& into) {
    return named_ ? name(at, end, into) : number(at, end, most, into);
  }

  const char* weight(const char* at, const char* end, EdgeBlock& edges) const {
    const bool quoted = at != end && *at == '"';
    const char* const field = at;
    at = skip_blanks(at + (quoted ? 1 : 0), end);
    if (quoted ? at != end && *at == '"' : separator_ != ' ' && is_empty_field(at, end))
      refuse_line("the weight is empty; fill it in, or leave the line out if there is no edge");
    const bool may_begin = at_line_end(at, end) || is_digit(*at) || *at == '-' || *at == '+' || *at == '.';
    if (!may_begin && options_.columns.empty() && !is_number(word_at(at, end)))
      refuse_line(core::excerpt(field_at(field, end)) + " is not a number, as weights are; " + asks_for_columns());
    if (quoted) {
      const char* const stop = edges.weight(at, end, quoted_format_);
      if (stop != end && (*stop == ',' || *stop == '.')) {
        const std::string_view rest(at, static_cast<std::size_t>(end_of_line(at, end) - at));
        refuse_notation(trimmed(rest.substr(0, rest.find('"'))));
      }
      return closing(stop, end);
    }
    at = edges.weight(at, end, format_);
    if (at != end && (*at == ',' || *at == '.') && !separates(*at)) refuse_notation(field_at(field, end));
    return at;
  }

  /// Returns true if there is only padding between two separators or after the last separator.
  bool is_empty_field(const char* at, const char* end) const {
    if (!at_line_end(at, end)) return separates(*at);
    do --at;
    while (is_blank(*at) && !separates(*at));
    return separates(*at);
  }

  /// Skips a field of an unused column.
  const char* skipped(const char* at, const char* end, std::size_t column) const {
    if (column > 0 && at_line_end(at, end) && !(separator_ != ' ' && at[-1] == separator_))
      refuse_line("the line ends after " + std::to_string(column) + " fields, but line " + std::to_string(first_line_) +
                  " has " + std::to_string(columns_));
    std::string_view text;
    std::string scratch;
    at = field(at, end, text, scratch);
    if (column == direction_column_) require_direction(text);
    return at;
  }

  /// Refuses a weight that is only partly a number in the current notation.
  [[noreturn]] void refuse_notation(std::string_view weight) const {
    const std::string text = core::excerpt(weight);
    const bool points_group = is_number(weight, {.point = ',', .group = '.'}) && weight.find('.') < weight.find(',');
    if (points_group) refuse_line(text + " is not a number in this notation; say --thousands point");
    switch (comma_in(weight)) {
      case Comma::decimals: refuse_line(text + " is not a number in this notation; say --decimal comma");
      case Comma::either: refuse_line(text + std::string(either_comma_fault));
      case Comma::none: break;
    }
    if (is_number(weight, {.point = '.', .group = ','}))
      refuse_line(text + " is not a number in this notation; say --thousands comma");
    refuse_line(text + " is not a number, as weights are");
  }

  [[noreturn]] void refuse_rest(const char* at, const char* end) const {
    const std::string rest = core::excerpt(field_at(at, end));
    refuse_line(rest + " follows the " +
                (roles_.back() == Role::weight ? "weight"
                 : roles_.back() == Role::none ? "field"
                                               : "vertex"));
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
      const std::string name = separator_ == '\t'  ? "tab"
                               : separator_ == ',' ? "comma"
                               : separator_ == '|' ? "bar"
                                                   : "semicolon";
      refuse_line(core::excerpt(field_at(next, end)) + " stands where a " + name + " is expected");
    }
    return skip_padding(next + 1, end);
  }

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

  /// Extracts the text of a field, without padding and quotes. Returns the end of the field.
  const char* field(const char* at, const char* end, std::string_view& text, std::string& scratch) const {
    if (at != end && *at == '"') {
      scratch.clear();
      for (++at;; ++at) {
        if (at_line_end(at, end)) refuse_line("a quoted field has no closing quote on its line");
        if (*at == '"' && (at + 1 == end || at[1] != '"')) break;
        if (*at == '"') ++at;  // two quotes in a quoted field stand for one
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
    into = vertices_.number(text);
    return at;
  }

  const char* number(const char* at, const char* end, std::uint64_t most, std::int32_t& into) const {
    const bool quoted = at != end && *at == '"';
    const char* stop = skip_blanks(at + (quoted ? 1 : 0), end);
    const auto refuse = [&] {
      refuse_line(core::excerpt(field_at(at, end)) + " is not an integer, as the vertices of line " +
                  std::to_string(first_line_) + " are; --names reads all of them as names");
    };
    if (stop != end && !at_line_end(stop, end) && !is_digit(*stop) && *stop != '-' && *stop != '+') refuse();
    if (!options_.base && stop != end && *stop == '0' && stop + 1 != end && is_digit(stop[1]))
      refuse_line(core::excerpt(field_at(at, end)) +
                  " begins with 0; --names reads vertices as names, --base 0 or 1 as numbers");
    stop = EdgeBlock::vertex(stop, end, static_cast<std::uint64_t>(least_), most, into);
    if (quoted) stop = closing(stop, end);
    if (!at_line_end(stop, end) && !is_blank(*stop) && !separates(*stop)) refuse();
    return stop;
  }

  char separator_ = 0;  ///< 0 while it is unknown; a blank means that blanks and tabs separate fields
  std::vector<std::string> names_;
  std::size_t header_line_ = 0;
  std::size_t columns_ = 0;
  std::vector<Role> roles_;
  /// The column that marks edges as directed or undirected.
  std::size_t direction_column_ = std::numeric_limits<std::size_t>::max();
  std::string direction_;
  NumberFormat format_;  ///< notation of weights outside quotes
  NumberFormat quoted_format_;
  std::size_t first_line_ = 0;  ///< number of the first line; later, of the first edge's line, which decides the format
  std::string numbers_above_;   ///< the first line, if its numbers may be column names; otherwise empty
  bool named_ = false;
  int least_ = 0;  ///< the smallest allowed vertex
  NameTable vertices_;
  std::string scratch_;
};

}  // namespace

extern constinit const GraphFormat edge_list_format{
    .id = "edge_list",
    .file = {.name = "edge list",
             .endings = ".csv .tsv .txt .edges .edgelist .el .ncol",
             .rules = "A list of edges, also `out.NAME` of KONECT: a line `FROM TO` (each of length 1) or `FROM TO "
                      "WEIGHT`, or [a "
                      "table](#tables-of-edges) with such columns, separated by the first of semicolon, comma, tab, "
                      "bar and blanks "
                      "that the first line has outside quotes (`.tsv`: tabs), or as a line `sep=;` above it says; "
                      "comments begin "
                      "with `#` or `%`"},
    .several = "lists of edges",
    .is_list = true,
    // Matches the first line of KONECT files, which are named out.NAME.
    .recognises =
        [](std::string_view text) {
          return text.starts_with("% sym ") || text.starts_with("% asym ") || text.starts_with("% bip ");
        },
    .reader = [](std::string name, std::string_view ending,
                 const GraphReadOptions& options) -> std::unique_ptr<EdgeReader> {
      return std::make_unique<EdgeListReader>(std::move(name), ending == ".tsv", options);
    },
    .head = [](std::int64_t, std::int64_t) { return std::string("from,to,weight\n"); },
    .separator = ',',
};

}  // namespace gradus::files
