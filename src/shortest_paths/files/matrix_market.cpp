// The Matrix Market exchange format: https://math.nist.gov/MatrixMarket/formats.html
#include <array>
#include <cmath>

#include "core/text.hpp"
#include "shortest_paths/files/edges.hpp"

namespace gradus::files {

namespace {

enum class Symmetry : std::uint8_t { general, symmetric, skew };

class MatrixMarketReader final : public EdgeReader {
 public:
  MatrixMarketReader(std::string name, const GraphReadOptions& options) : EdgeReader(std::move(name), options) {}

 protected:
  bool preamble(std::string_view line) override {
    if (lines_ == 0) {
      read_banner(line);
      return true;
    }
    const char* const end = line.data() + line.size();
    const char* const at = skip_blanks(line.data(), end);
    if (size_line_ != 0) {
      if (at != end && *at == '%') refuse_if_banner(line);
      return at == end || *at == '%';
    }
    if (at == end || *at == '%') {
      refuse_if_banner(line);
      return true;
    }
    read_size(at, end);
    return true;
  }

  bool is_ordered() const override { return dense_; }

  void parse_lines(std::string_view text, EdgeBlock& edges) override {
    if (dense_) return parse_array(text, edges);
    const auto vertices = static_cast<std::uint64_t>(vertices_);
    const char* const end = text.data() + text.size();
    for_each_line(text, edges, [&](const char* at) {
      if (is_comment(at, end)) return at;
      std::int32_t row = 0;
      std::int32_t column = 0;
      at = after_blanks(EdgeBlock::vertex(at, end, 1, vertices, row), end);
      at = EdgeBlock::vertex(at, end, 1, vertices, column);
      if (weighted_) at = number(after_blanks(at, end), end, edges);
      at = skip_blanks(at, end);
      if (pattern_ && !at_line_end(at, end)) at = beyond_pattern(at, end);
      if (!at_line_end(at, end)) refuse_line(core::excerpt(word_at(at, end)) + " follows the entry");
      if (symmetry_ != Symmetry::general) check_triangle(row, column);
      edges.add(row, column);
      if (symmetry_ == Symmetry::skew) add_negated(column, row, edges);
      return at;
    });
  }

  void complete(Graph& graph, const Edges& edges) override {
    if (lines_ == 0) fail(1, "the file is empty; '%%MatrixMarket matrix ...' is expected");
    if (size_line_ == 0) fail(lines_ + 1, "the file ends without the line that gives the matrix's size");
    const std::size_t found = dense_ ? entries_read_ : symmetry_ == Symmetry::skew ? edges.count() / 2 : edges.count();
    require_all(found, entries_, "entries", size_line_);
    graph.vertices = vertices_;
    graph.undirected = symmetry_ == Symmetry::symmetric;
    graph.base = 1;
  }

 private:
  static std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    const char* const end = line.data() + line.size();
    for (const char* at = skip_blanks(line.data(), end); at != end; at = skip_blanks(at, end)) {
      words.push_back(word_at(at, end));
      at += words.back().size();
    }
    return words;
  }

  void read_banner(std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.size() != 5 || !equal_but_for_case(words[0], "%%matrixmarket") || !equal_but_for_case(words[1], "matrix"))
      refuse_line("the first line is " + core::excerpt(line) +
                  "; '%%MatrixMarket matrix coordinate|array real|integer|pattern general|symmetric' is expected");
    const auto is = [&](std::size_t word, std::string_view text) { return equal_but_for_case(words[word], text); };
    dense_ = is(2, "array");
    if (!dense_ && !is(2, "coordinate"))
      refuse_line(core::excerpt(words[2]) + " is no form; coordinate or array is expected");
    real_ = is(3, "real") || is(3, "double");
    weighted_ = !is(3, "pattern");
    if (is(3, "complex") || is(4, "hermitian")) refuse_line("complex numbers are no lengths of edges");
    if (!real_ && weighted_ && !is(3, "integer") && !is(3, "unsigned-integer"))  // SciPy writes unsigned-integer
      refuse_line(core::excerpt(words[3]) + " is no kind of numbers; real, integer or pattern is expected");
    symmetry_ = is(4, "symmetric") ? Symmetry::symmetric : is(4, "skew-symmetric") ? Symmetry::skew : Symmetry::general;
    if (symmetry_ == Symmetry::general && !is(4, "general"))
      refuse_line(core::excerpt(words[4]) + " is no symmetry; general, symmetric or skew-symmetric is expected");
    if (!weighted_ && (dense_ || symmetry_ == Symmetry::skew))
      refuse_line("a pattern has no values; an array or a skew-symmetric matrix must have them");
    pattern_ = !weighted_;
    read_columns();
  }

  /// Applies --columns. For a pattern, --columns decides whether a third column holds weights, even though the first
  /// line says that there are none.
  void read_columns() {
    if (options_.columns.empty()) return;
    const std::vector<std::size_t> columns = options_.columns.find({}, 3, name_);
    const bool in_order = columns.size() > 1 && columns[0] == 0 && columns[1] == 1;
    if (!pattern_ || !in_order)
      throw UsageError("--columns has no effect: '" + name_ +
                       "' is a Matrix Market file; only of a pattern with a third column, 1,2 leaves that out, and "
                       "1,2,3 takes it as weights");
    weighted_ = columns.size() == 3;
    ignores_more_ = !weighted_;
  }

  const char* beyond_pattern(const char* at, const char* end) const {
    if (ignores_more_) return end_of_line(at, end);
    if (!weighted_)
      refuse_line(core::excerpt(word_at(at, end)) +
                  " follows the entry, which has no value where line 1 says pattern; --columns 1,2,3 takes the third "
                  "column as weights, --columns 1,2 leaves it out");
    return at;
  }

  static void refuse_if_banner(std::string_view line) {
    if (line.size() >= 14 && equal_but_for_case(line.substr(0, 14), "%%matrixmarket"))
      refuse_line("a second line '%%MatrixMarket'; one file holds one matrix");
  }

  void read_size(const char* at, const char* end) {
    const std::vector<std::string_view> words = words_of({at, static_cast<std::size_t>(end - at)});
    const std::size_t wanted = dense_ ? 2 : 3;
    if (words.size() != wanted)
      refuse_line(std::string(dense_ ? "'ROWS COLUMNS'" : "'ROWS COLUMNS ENTRIES'") + " is expected");
    const auto size = [&](std::string_view word) {
      const auto value = whole_number(word, 0, most_vertices);
      if (!value)
        refuse_line(core::excerpt(word) +
                    " is no number of rows or columns: a whole one from 0 to 2147483647 is expected");
      return *value;
    };
    vertices_ = size(words[0]);
    if (const std::int64_t columns = size(words[1]); columns != vertices_)
      refuse_line("a matrix of " + std::to_string(vertices_) + " x " + std::to_string(columns) +
                  "; a square one is expected");
    const std::int64_t n = vertices_;
    if (dense_) {
      entries_ = static_cast<std::size_t>(symmetry_ == Symmetry::general     ? n * n
                                          : symmetry_ == Symmetry::symmetric ? n * (n + 1) / 2
                                                                             : n * (n - 1) / 2);
    } else {
      const auto entries = whole_number(words[2], 0, std::int64_t{1} << 60);
      if (!entries)
        refuse_line(core::excerpt(words[2]) + " is no number of entries: a whole one from 0 on is expected");
      entries_ = static_cast<std::size_t>(*entries);
    }
    // An entry of a dense array may mean "no edge", so edges are counted when they are read.
    if (!dense_) promised_ = symmetry_ == Symmetry::skew ? 2 * entries_ : entries_;
    size_line_ = lines_ + 1;
    column_ = 0;
    row_ = symmetry_ == Symmetry::skew ? 1 : 0;
  }

  static bool is_comment(const char* at, const char* end) {
    if (*at != '%') return false;
    refuse_if_banner({at, static_cast<std::size_t>(end_of_line(at, end) - at)});
    return true;
  }

  const char* number(const char* at, const char* end, EdgeBlock& edges) const {
    const char* const stop = edges.weight(at, end);
    if (edges.real && !real_ && !pattern_ && edges.decimals)
      refuse_line(core::excerpt(word_at(at, end)) + " is not whole, as line 1 says of all values");
    return stop;
  }

  void check_triangle(std::int32_t row, std::int32_t column) const {
    if (row < column)
      refuse_line("the entry " + std::to_string(row + 1) + " " + std::to_string(column + 1) +
                  " is above the diagonal, where a symmetric matrix has none in this format; swap the two indices");
    if (row == column && symmetry_ == Symmetry::skew)
      refuse_line("an entry on the diagonal, which is 0 in a skew-symmetric matrix");
  }

  /// Adds the opposite edge with the negated weight.
  static void add_negated(std::int32_t from, std::int32_t to, EdgeBlock& edges) {
    const std::size_t last = edges.count - 1;
    if (edges.real) edges.set_weight(-edges.reals[last]);
    else if (edges.wholes[last] == std::numeric_limits<std::int64_t>::min())
      refuse_line("-9223372036854775808, whose opposite int64 does not hold");
    else if (edges.wholes[last] == -std::numeric_limits<std::int64_t>::max())
      refuse_line("-9223372036854775807, whose opposite stands for no edge");
    else edges.set_weight(-edges.wholes[last]);
    edges.add(from, to);
  }

  /// Parses a dense array column by column, with one value per line. Columns of symmetric matrices begin at or below
  /// the diagonal.
  void parse_array(std::string_view text, EdgeBlock& edges) {
    const char* const end = text.data() + text.size();
    for_each_line(text, edges, [&](const char* at) {
      if (is_comment(at, end)) return at;
      if (entries_read_ == entries_) refuse_line("more values than the matrix has");
      const std::string_view word = word_at(at, end);
      const bool none =
          equal_but_for_case(word, "inf") || equal_but_for_case(word, "+inf") || equal_but_for_case(word, "infinity");
      at = skip_blanks(none ? at + word.size() : number(at, end, edges), end);
      if (!at_line_end(at, end)) refuse_line(core::excerpt(word_at(at, end)) + " follows the value");
      if (!none) {
        edges.add(static_cast<std::int32_t>(row_), static_cast<std::int32_t>(column_));
        if (symmetry_ == Symmetry::skew)
          add_negated(static_cast<std::int32_t>(column_), static_cast<std::int32_t>(row_), edges);
      }
      ++entries_read_;
      if (++row_ < vertices_) return at;
      ++column_;
      row_ = symmetry_ == Symmetry::general ? 0 : symmetry_ == Symmetry::symmetric ? column_ : column_ + 1;
      return at;
    });
  }

  bool dense_ = false;
  bool pattern_ = false;
  bool ignores_more_ = false;  ///< true if text after the two indices of a pattern's entry is ignored
  Symmetry symmetry_ = Symmetry::general;
  std::int64_t vertices_ = 0;
  std::size_t entries_ = 0;  ///< number of entries that the file promises
  std::size_t size_line_ = 0;
  // For dense arrays: position of the next value, and the number of values read so far.
  std::int64_t row_ = 0;
  std::int64_t column_ = 0;
  std::size_t entries_read_ = 0;
};

}  // namespace

extern constinit const GraphFormat matrix_market_format{
    .id = "matrix_market",
    .file = {.name = "Matrix Market",
             .endings = ".mtx",
             .rules =
                 "Matrix Market, `coordinate` or `array`; `real`, `integer` or `pattern`; `general`, `symmetric` or "
                 "`skew-symmetric`. The entry in row `v`, column `w` is the edge from `v` to `w`, counted from 1. An "
                 "entry of 0 is an edge of length 0; `inf` in an array is none. The edges of a symmetric matrix go "
                 "both ways, edges of a pattern have length 1"},
    .recognises =
        [](std::string_view text) {
          constexpr std::string_view banner = "%%matrixmarket";
          return equal_but_for_case(text.substr(0, banner.size()), banner);
        },
    .reader = make_reader<MatrixMarketReader>,
    .head =
        [](std::int64_t vertices, std::int64_t edges) {
          const std::string n = std::to_string(vertices);
          return "%%MatrixMarket matrix coordinate integer general\n" + n + " " + n + " " + std::to_string(edges) +
                 "\n";
        },
};

}  // namespace gradus::files
