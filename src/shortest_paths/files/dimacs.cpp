// Graphs of the 9th DIMACS challenge: http://www.diag.uniroma1.it/challenge9/format.shtml
#include "core/text.hpp"
#include "shortest_paths/files/edges.hpp"

namespace gradus::files {

namespace {

class DimacsReader final : public EdgeReader {
 public:
  DimacsReader(std::string name, const GraphReadOptions& options) : EdgeReader(std::move(name), options) {}

 protected:
  bool preamble(std::string_view line) override {
    const char* at = skip_blanks(line.data(), line.data() + line.size());
    const char* const end = line.data() + line.size();
    if (at == end || is_comment(at, end)) return true;
    const std::string_view kind = word_at(at, end);
    if (kind == "a" && problem_line_ != 0) return false;
    if (kind == "a") refuse_line("an edge before the line 'p sp VERTICES EDGES'");
    if (kind != "p") refuse_line("a line begins with " + core::excerpt(kind) + "; c, p or a is expected");
    if (problem_line_ != 0) refuse_second();
    const auto next = [&] {
      at = skip_blanks(at + word_at(at, end).size(), end);
      return word_at(at, end);
    };
    if (const std::string_view problem = next(); problem != "sp")
      refuse_line("a problem " + core::excerpt(problem) + "; 'p sp VERTICES EDGES' is expected");
    const std::string_view vertices = next();
    const auto vertex_count = whole_number(vertices, 0, most_vertices);
    if (!vertex_count)
      refuse_line(core::excerpt(vertices) + " is no number of vertices: a whole one from 0 to 2147483647 is expected");
    const std::string_view edges = next();
    const auto edge_count = whole_number(edges, 0, std::numeric_limits<std::int64_t>::max() - 1);
    if (!edge_count) refuse_line(core::excerpt(edges) + " is no number of edges: a whole one from 0 on is expected");
    if (const std::string_view more = next(); !more.empty())
      refuse_line(core::excerpt(more) + " follows the number of edges");
    vertices_ = *vertex_count;
    promised_ = static_cast<std::size_t>(*edge_count);
    problem_line_ = lines_ + 1;
    return true;
  }

  void parse_lines(std::string_view text, EdgeBlock& edges) override {
    const char* const end = text.data() + text.size();
    const auto vertices = static_cast<std::uint64_t>(vertices_);
    for_each_line(text, edges, [&](const char* at) {
      if (*at == 'a' && at + 1 != end && is_blank(at[1])) {
        std::int32_t from = 0;
        std::int32_t to = 0;
        at = EdgeBlock::vertex(skip_blanks(at + 1, end), end, 1, vertices, from);
        at = EdgeBlock::vertex(after_blanks(at, end), end, 1, vertices, to);
        at = skip_blanks(edges.weight(after_blanks(at, end), end), end);
        if (!at_line_end(at, end)) refuse_line(core::excerpt(word_at(at, end)) + " follows the weight");
        edges.add(from, to);
      } else if (!is_comment(at, end)) {
        refuse_kind(word_at(at, end));
      }
      return at;
    });
  }

  void complete(Graph& graph, const Edges& edges) override {
    if (problem_line_ == 0) fail(lines_ + 1, "the file ends without a line 'p sp VERTICES EDGES'");
    require_all(edges.count(), promised_, "edges", problem_line_);
    graph.vertices = vertices_;
    graph.base = 1;
  }

 private:
  static bool is_comment(const char* at, const char* end) {
    return *at == 'c' && (at_line_end(at + 1, end) || is_blank(at[1]));
  }

  [[noreturn]] void refuse_kind(std::string_view kind) const {
    if (kind == "p") refuse_second();
    if (kind == "a") refuse_line("the line ends where a vertex is expected");
    refuse_line("a line begins with " + core::excerpt(kind) + "; c or a is expected");
  }
  [[noreturn]] void refuse_second() const {
    refuse_line("a second line that begins with p; the first is line " + std::to_string(problem_line_));
  }

  std::int64_t vertices_ = 0;
  std::size_t problem_line_ = 0;
};

}  // namespace

extern constinit const GraphFormat dimacs_format{
    .id = "dimacs",
    .file = {.name = "DIMACS",
             .endings = ".gr",
             .rules = "DIMACS (9th challenge): one line `p sp VERTICES EDGES`, a line `a FROM TO WEIGHT` for each "
                      "edge, comments `c "
                      "…`. Vertices count from 1"},
    .fixed_columns = "whose columns are FROM, TO and WEIGHT",
    .recognises =
        [](std::string_view text) {
          while (text.starts_with("c ") || text.starts_with("c\n") || text.starts_with("c\r\n") ||
                 text.starts_with('\n'))
            text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
          return text.starts_with("p sp ");
        },
    .reader = make_reader<DimacsReader>,
    .head = [](std::int64_t vertices,
               std::int64_t edges) { return "p sp " + std::to_string(vertices) + " " + std::to_string(edges) + "\n"; },
    .edge_begins = "a ",
};

}  // namespace gradus::files
