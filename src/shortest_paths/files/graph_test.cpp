// Tests the graph readers: the graphs that they read from every format, and their messages for malformed files.
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "files/csv.hpp"
#include "files/points.hpp"
#include "files/text_input.hpp"
#include "shortest_paths/files/graph.hpp"
#include "tests/files.hpp"

namespace gradus::files {
namespace {

using tests::bytes;
using tests::expect_contains;
using namespace std::string_literals;
using Whole = std::tuple<std::int32_t, std::int32_t, std::int64_t>;
using Real = std::tuple<std::int32_t, std::int32_t, double>;

std::string gzipped(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(::deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  return packed;
}

const GraphFormat* format_called(std::string_view id) {
  const auto found = std::ranges::find(graph_formats(), id, &GraphFormat::id);
  return found != graph_formats().end() ? *found : nullptr;
}

Graph parse(std::string_view text, const GraphFormat* format = nullptr, const GraphReadOptions& options = {}) {
  return parse_graph(bytes(text), "test", format, options);
}
Graph parse_list(std::string_view text, const GraphReadOptions& options = {}) {
  return parse(text, format_called("edge_list"), options);
}

/// Returns the message with which the text is refused.
std::string refusal(std::string_view text, const GraphFormat* format = nullptr, const GraphReadOptions& options = {}) {
  try {
    parse(text, format, options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}
std::string list_refusal(std::string_view text, const GraphReadOptions& options = {}) {
  return refusal(text, format_called("edge_list"), options);
}

struct Refused {
  std::string text;
  std::string says;
};

/// Expects that each text is refused and that the message begins with `beginning`.
void expect_refused(const GraphFormat* format, const std::string& beginning, const std::vector<Refused>& table) {
  for (const auto& [text, says] : table) {
    SCOPED_TRACE(text);
    expect_contains(refusal(beginning + text, format), says);
  }
}

template <class T>
std::vector<std::tuple<std::int32_t, std::int32_t, T>> edges_of(const Graph& graph) {
  std::vector<std::tuple<std::int32_t, std::int32_t, T>> edges;
  EXPECT_EQ(graph.from.view.size(), graph.to.view.size());
  for (std::int64_t edge = 0; edge < graph.from.view.size(); ++edge) {
    T weight = 0;
    std::visit(
        [&](const auto& weights) {
          if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(weights)>, std::monostate>)
            weight = static_cast<T>(weights.view[edge]);
        },
        graph.weights);
    edges.emplace_back(graph.from.view[edge], graph.to.view[edge], weight);
  }
  return edges;
}

TEST(Dimacs, Edges) {
  const Graph graph = parse("c comment\nc\n\np sp 4 3\na 1 2 5\r\nc between\n  a  4\t3  -7 \na 2 2 0");
  EXPECT_EQ(graph.format->id, "dimacs");
  EXPECT_EQ(graph.vertices, 4);
  EXPECT_EQ(graph.base, 1);
  EXPECT_FALSE(graph.undirected);
  EXPECT_EQ(graph.weights.index(), 1U);
  EXPECT_EQ(edges_of<std::int64_t>(graph), (std::vector<Whole>{{0, 1, 5}, {3, 2, -7}, {1, 1, 0}}));
}

TEST(Dimacs, NoEdgesAndNoVertices) {
  EXPECT_EQ(parse("p sp 0 0\n").vertices, 0);
  EXPECT_EQ(parse("p sp 0 0").vertices, 0);
  EXPECT_EQ(parse("p sp 7 0\nc\n").vertices, 7);
  EXPECT_EQ(parse("p sp 2147483647 0\n").vertices, 2147483647);
  EXPECT_EQ(parse("p sp 2147483647 1\na 2147483647 1 1\n").from.view[0], 2147483646);
}

TEST(Dimacs, WeightsTakeTheNarrowestType) {
  const auto type = [](const std::string& weight) {
    return parse("p sp 2 2\na 1 2 1\na 1 2 " + weight + "\n").weights.index();
  };
  EXPECT_EQ(type("2147483646"), 1U);
  EXPECT_EQ(type("2147483647"), 2U);  // the value means "no edge" in int32
  EXPECT_EQ(type("-2147483648"), 1U);
  EXPECT_EQ(type("-2147483649"), 2U);
  EXPECT_EQ(type("9223372036854775806"), 2U);
  EXPECT_EQ(type("-9223372036854775808"), 2U);
  EXPECT_EQ(type("00000000000000000000000005"), 1U);
  EXPECT_EQ(type("+5"), 1U);
  EXPECT_EQ(type("5.0"), 3U);
  EXPECT_EQ(type("5e0"), 3U);
  EXPECT_EQ(type(".5"), 3U);
}

TEST(Dimacs, NumbersAreTheNearest) {
  const Graph graph =
      parse("p sp 2 4\na 1 2 9007199254740993\na 1 2 0.1\na 1 2 123456789012345678901\na 1 2 -9223372036854775808\n");
  EXPECT_EQ(
      edges_of<double>(graph),
      (std::vector<Real>{{0, 1, 9007199254740992.0}, {0, 1, 0.1}, {0, 1, 123456789012345678901.0}, {0, 1, -0x1p63}}));
  const Graph whole = parse("p sp 2 2\na 1 2 9007199254740993\na 1 2 -9223372036854775808\n");
  EXPECT_EQ(edges_of<std::int64_t>(whole),
            (std::vector<Whole>{{0, 1, 9007199254740993}, {0, 1, std::numeric_limits<std::int64_t>::min()}}));
}

TEST(Dimacs, NumbersOfAnyWidth) {
  const std::string digits = "123456789012345678";
  for (std::size_t width = 1; width <= digits.size(); ++width)
    for (const std::string after : {"", "\n", " ", "\t\r\n", "\nc and eight more\n"})
      for (const std::string sign : {"", "-"}) {
        const std::string number = digits.substr(0, width);
        const Graph graph = parse("p sp 3 1\na 1 2 " + sign + number + after);
        EXPECT_EQ(edges_of<std::int64_t>(graph), (std::vector<Whole>{{0, 1, std::stoll(sign + number)}}));
      }
  for (std::size_t width = 1; width <= 9; ++width) {
    const std::string vertex = digits.substr(0, width);
    const Graph graph = parse("p sp 200000000 1\na " + vertex + " " + vertex + " 7");
    EXPECT_EQ(graph.from.view[0], std::stoi(vertex) - 1);
    EXPECT_EQ(graph.to.view[0], std::stoi(vertex) - 1);
  }
}

TEST(Dimacs, NothingButDigitsIsANumber) {
  for (int code = 1; code < 256; ++code) {
    const char character = static_cast<char>(code);
    if (std::string("0123456789 \t\n").find(character) != std::string::npos) continue;
    for (const std::string& number : {"12"s + character + "3456789", character + "3456789"s, "123456"s + character}) {
      EXPECT_NE(refusal("p sp 99999999 1\na " + number + " 3 4\n"), "accepted") << code;
      if (std::string(".+-eE").find(character) != std::string::npos || number.back() == character) continue;
      EXPECT_NE(refusal("p sp 9 1\na 2 3 " + number + "\n"), "accepted") << code;
    }
  }
}

TEST(Dimacs, Refusals) {
  expect_refused(format_called("dimacs"), "",
                 {{"a 1 2 3\n", "test:1: an edge before"},
                  {"p sp 2 1\np sp 2 1\na 1 2 3\n", "test:2: a second line that begins with p; the first is line 1"},
                  {"p sp 2 1\na 1 2 3\np sp 2 1\n", "test:3: a second line"},
                  {"p sp 2 2\na 1 2 3\n", "test:3: the file ends after 1 of the 2 edges that line 1 promises"},
                  {"p sp 2 1\na 1 2 3\nc\na 2 1 3\na 2 1 4\n", "test:4: more edges than the file promises"},
                  {"p sp 2 1\na 1 3 3\n", "test:2: there is no vertex 3; vertices are 1 to 2"},
                  {"p sp 2 1\na 0 1 3\n", "test:2: there is no vertex 0; vertices are 1 to 2"},
                  {"p sp 2 1\na -1 1 3\n", "there is no vertex -1"},
                  {"p sp 0 1\na 1 1 3\n", "there is no vertex 1; there is none"},
                  {"p sp 2 1\na 99999999999999999999999 1 3\n", "there is no vertex 99999999999999999999999"},
                  {"p sp 2 1\na 18446744073709551617 1 3\n", "there is no vertex 18446744073709551617"},
                  {"p sp 2 1\na 4294967297 1 3\n", "there is no vertex 4294967297"},
                  {"p sp 2 1\na 1.0 1 3\n", "'.0' stands where a blank is expected"},
                  {"p sp 2 1\na x 1 3\n", "'x' is not an integer"},
                  {"p sp 2 1\na 1 2\n", "test:2: the line ends where a weight is expected"},
                  {"p sp 2 1\na 1\n", "test:2: the line ends where a vertex is expected"},
                  {"p sp 2 1\na\n", "test:2: the line ends where a vertex is expected"},
                  {"p sp 2 1\na 1 2 3 4\n", "'4' follows the weight"},
                  {"p sp 2 1\na 1 2 3x\n", "'x' follows the weight"},
                  {"p sp 2 1\na 1 2 NaN\n", "'NaN' is not a finite number"},
                  {"p sp 2 1\na 1 2 -inf\n", "'-inf' is not a finite number"},
                  {"p sp 2 1\na 1 2 1e999\n", "'1e999' is too large for a double"},
                  {"p sp 2 1\na 1 2 +-3\n", "'+-3' is not a number"},
                  {"p sp 2 1\na 1 2 9223372036854775807\n", "test:2: a weight that int64 does not hold"},
                  {"p sp 2 2\na 1 2 3\na 1 2 -9223372036854775809\n", "test:3: a weight that int64 does not hold"},
                  {"p sp 2 1\ne 1 2\n", "'e'; c, p or a is expected"},
                  {"p sp 2 1\na 1 2 3\nx\n", "test:3: a line begins with 'x'; c or a is expected"},
                  {"p edge 2 1\n", "a problem 'edge'"},
                  {"p sp 2147483648 1\n", "'2147483648' is no number of vertices"},
                  {"p sp -1 1\n", "'-1' is no number of vertices"},
                  {"p sp 1 -1\n", "'-1' is no number of edges"},
                  {"p sp 1\n", "'' is no number of edges"},
                  {"p sp 1 1 1\n", "'1' follows the number of edges"},
                  {"p sp 5 9223372036854775806\na 1 2 3\n", "the file ends after 1 of the 9223372036854775806 edges"},
                  {"p sp 5 9223372036854775807\n", "no number of edges"},
                  {"p sp 5 99999999999999999999\n", "no number of edges"},
                  {"c only\n", "without a line 'p sp"},
                  {"p sp 2 1\na 1 2 3\ra 1 2 4\n", "follows the weight"},
                  {"\xff\xfe"s, "UTF-16"},
                  {"\x93NUMPY", ".npy"}});
}

TEST(MatrixMarket, Coordinate) {
  const Graph graph =
      parse("%%MatrixMarket MATRIX Coordinate Integer General\n% comment\n\n3 3 2\n1 2 5\n\n% more\n3 1 -6\n");
  EXPECT_EQ(graph.format->id, "matrix_market");
  EXPECT_EQ(graph.vertices, 3);
  EXPECT_FALSE(graph.undirected);
  EXPECT_EQ(edges_of<std::int64_t>(graph), (std::vector<Whole>{{0, 1, 5}, {2, 0, -6}}));
  EXPECT_EQ(graph.weights.index(), 1U);
  EXPECT_EQ(parse("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 5\n").weights.index(), 3U);
  EXPECT_EQ(parse("%%MatrixMarket matrix coordinate double general\n0 0 0\n").vertices, 0);
  EXPECT_EQ(parse("%%MatrixMarket matrix coordinate unsigned-integer general\n1 1 1\n1 1 5\n").weights.index(), 1U);
}

TEST(MatrixMarket, PatternsHaveNoWeights) {
  const Graph graph = parse("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3");
  EXPECT_TRUE(graph.undirected);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(graph.weights));
  EXPECT_EQ(edges_of<std::int64_t>(graph), (std::vector<Whole>{{1, 0, 0}, {2, 2, 0}}));
}

TEST(MatrixMarket, SkewSymmetricHasTheOppositeToo) {
  const Graph graph = parse("%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 2\n2 1 5\n3 1 -6\n");
  EXPECT_FALSE(graph.undirected);
  EXPECT_EQ(edges_of<std::int64_t>(graph), (std::vector<Whole>{{1, 0, 5}, {0, 1, -5}, {2, 0, -6}, {0, 2, 6}}));
  const Graph real = parse("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1.5\n-2\n3\n");
  EXPECT_EQ(edges_of<double>(real),
            (std::vector<Real>{{1, 0, 1.5}, {0, 1, -1.5}, {2, 0, -2}, {0, 2, 2}, {2, 1, 3}, {1, 2, -3}}));
}

TEST(MatrixMarket, Arrays) {
  const Graph graph = parse("%%MatrixMarket matrix array integer general\n2 2\n0\n3\ninf\n4\n");
  EXPECT_EQ(edges_of<std::int64_t>(graph), (std::vector<Whole>{{0, 0, 0}, {1, 0, 3}, {1, 1, 4}}));
  const Graph symmetric = parse("%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n");
  EXPECT_TRUE(symmetric.undirected);
  EXPECT_EQ(edges_of<double>(symmetric),
            (std::vector<Real>{{0, 0, 1}, {1, 0, 2}, {2, 0, 3}, {1, 1, 4}, {2, 1, 5}, {2, 2, 6}}));
}

TEST(MatrixMarket, Refusals) {
  expect_refused(
      format_called("matrix_market"), "",
      {{"3 3 1\n1 2 3\n", "test:1: the first line is '3 3 1'"},
       {"%%MatrixMarket matrix sparse real general\n", "'sparse' is no form"},
       {"%%MatrixMarket matrix coordinate quaternion general\n", "'quaternion' is no kind"},
       {"%%MatrixMarket matrix coordinate complex general\n", "complex numbers"},
       {"%%MatrixMarket matrix coordinate real hermitian\n", "complex numbers"},
       {"%%MatrixMarket matrix coordinate real other\n", "'other' is no symmetry"},
       {"%%MatrixMarket matrix array pattern general\n", "a pattern has no values"},
       {"%%MatrixMarket matrix coordinate real general\n", "without the line that gives the matrix's size"}});
  expect_refused(format_called("matrix_market"), "%%MatrixMarket matrix coordinate integer general\n",
                 {{"3 4 1\n1 2 3\n", "test:2: a matrix of 3 x 4; a square one"},
                  {"3 3\n", "'ROWS COLUMNS ENTRIES' is expected"},
                  {"-3 -3 1\n", "'-3' is no number of rows"},
                  {"2147483648 2147483648 1\n", "'2147483648' is no number of rows"},
                  {"3 3 -1\n", "'-1' is no number of entries"},
                  {"3 3 99999999999999999999\n", "no number of entries"},
                  {"3 3 1000000000000000000\n1 2 3\n", "after 1 of the 1000000000000000000 entries that line 2"},
                  {"3 3 2\n1 2 3\n", "test:4: the file ends after 1 of the 2 entries"},
                  {"3 3 1\n1 2 3\n%\n1 3 3\n", "test:5: more edges than"},
                  {"3 3 1\n1 4 3\n", "test:3: there is no vertex 4"},
                  {"3 3 1\n0 1 3\n", "there is no vertex 0"},
                  {"3 3 1\n1 2\n", "where a weight is expected"},
                  {"3 3 1\n1 2 1.5\n", "'1.5' is not whole"},
                  {"3 3 1\n1 2 nan\n", "'nan' is not a finite number"},
                  {"3 3 1\n1 2 inf\n", "'inf' is not a finite number"},
                  {"3 3 1\n1 2 3 4\n", "'4' follows the entry"},
                  {"3 3 1\n1,2,3\n", "',2,3' stands where a blank is expected"},
                  {"3 3 1\n%%MatrixMarket matrix coordinate integer general\n1 2 3\n", "test:3: a second line"},
                  {"3 3 1\n1 2 3\n%%MatrixMarket matrix coordinate integer general\n", "test:4: a second line"}});
  expect_refused(format_called("matrix_market"), "%%MatrixMarket matrix coordinate integer symmetric\n",
                 {{"3 3 1\n1 2 3\n", "test:3: the entry 1 2 is above the diagonal"}});
  expect_refused(format_called("matrix_market"), "%%MatrixMarket matrix coordinate integer skew-symmetric\n",
                 {{"3 3 1\n2 2 3\n", "on the diagonal"},
                  {"3 3 1\n2 1 -9223372036854775808\n", "opposite"},
                  {"3 3 2\n2 1 5\n", "after 1 of the 2 entries"},
                  {"3 3 1\n2 1 5\n3 1 5\n", "test:4: more edges"}});
  expect_refused(format_called("matrix_market"), "%%MatrixMarket matrix array real general\n",
                 {{"2 2\n1\n2\n3\n", "after 3 of the 4 entries"},
                  {"2 2\n1\n2\n3\n4\n5\n", "test:7: more values"},
                  {"2 2\n1 2\n3 4\n", "'2' follows the value"},
                  {"2 2\n-inf\n2\n3\n4\n", "not a finite number"},
                  {"2147483647 2147483647\n1\n", "after 1 of the 4611686014132420609 entries"}});
}

TEST(EdgeList, Separators) {
  const std::vector<Whole> expected{{0, 1, 5}, {3, 2, -7}};
  for (const std::string& text : std::vector<std::string>{
           "1 2 5\n4 3 -7\n", "  1   2\t5\n4 3 -7", "1,2,5\n4 , 3 , -7\n", "1;2;5\r\n4;3;-7\r\n", "1\t2\t5\n4\t3\t-7\n",
           "# comment\n% other\n\n1 2 5\n\n#\n4 3 -7\n\n", "\"1\",\"2\",5\n\"4\",3,\"-7\"\n",
           std::string("\xef\xbb\xbf") + "1,2,5\n4,3,-7\n", "from,to,weight\n1,2,5\n4,3,-7\n"}) {
    const Graph graph = parse_list(text);
    EXPECT_EQ(edges_of<std::int64_t>(graph), expected) << text;
    EXPECT_EQ(graph.vertices, 4);
    EXPECT_EQ(graph.base, 1);
  }
  EXPECT_TRUE(std::holds_alternative<std::monostate>(parse_list("1 2\n3 4\n").weights));
}

TEST(EdgeList, VerticesThatBeginWithZeroAreNames) {
  std::vector<std::string> notes;
  GraphReadOptions options;
  options.note = [&](const std::string& note) { notes.push_back(note); };
  const Graph codes = parse_list("001,1,5\n1,01,3\n", options);
  EXPECT_EQ(codes.names, (std::vector<std::string>{"001", "1", "01"}));
  ASSERT_EQ(notes.size(), 1U);
  expect_contains(notes[0], "test:1: a vertex begins with 0");
  options.base = 0;
  EXPECT_EQ(parse_list("001,1,5\n1,00,3\n", options).vertices, 2);
  options.base = {};
  notes.clear();
  EXPECT_EQ(parse_list("0,1,5\n1,1000,3\n", options).vertices, 1001);
  ASSERT_EQ(notes.size(), 2U);
  expect_contains(notes[1], "vertices are counted up to 1000, of which most have no edge; --names");
}

TEST(EdgeList, TheBaseIsTold) {
  std::vector<std::string> notes;
  GraphReadOptions options;
  options.note = [&](const std::string& note) { notes.push_back(note); };
  const Graph zero = parse_list("1 2\n0 3\n", options);
  EXPECT_EQ(zero.vertices, 4);
  EXPECT_EQ(zero.base, 0);
  EXPECT_EQ(zero.from.view[0], 1);
  const Graph one = parse_list("1 2\n3 1\n", options);
  EXPECT_EQ(one.vertices, 3);
  EXPECT_EQ(one.base, 1);
  EXPECT_EQ(one.from.view[0], 0);
  ASSERT_EQ(notes.size(), 2U);
  expect_contains(notes[0], "test: a vertex is 0");
  expect_contains(notes[1], "test: no vertex is 0");
  options.base = 0;
  EXPECT_EQ(parse_list("1 2\n3 1\n", options).vertices, 4);
  options.base = 1;
  EXPECT_EQ(parse_list("1 2\n3 1\n", options).vertices, 3);
  EXPECT_EQ(parse_list("2147483647 1\n", options).vertices, 2147483647);
  EXPECT_EQ(notes.size(), 2U);
  expect_contains(list_refusal("1 2\n0 1\n", options), "test:2: there is no vertex 0");
  options.base = {};
  EXPECT_EQ(parse_list("2147483646 0\n", options).vertices, 2147483647);
  expect_contains(list_refusal("1 2\n2147483647 1\n", options), "test:2: there is no vertex 2147483647");
}

TEST(EdgeList, Names) {
  const Graph graph = parse_list("a,b,1\nNew York , \"b, c \"\"d\"\"\" , 2.5\nb,a,3\n12,012,4\n");
  EXPECT_EQ(graph.names, (std::vector<std::string>{"a", "b", "New York", "b, c \"d\"", "12", "012"}));
  EXPECT_EQ(edges_of<double>(graph), (std::vector<Real>{{0, 1, 1}, {2, 3, 2.5}, {1, 0, 3}, {4, 5, 4}}));
  EXPECT_EQ(graph.vertices, 6);
  GraphReadOptions named;
  named.names = true;
  const Graph numbers = parse_list("7 8 1\n99999999999 7 2\n", named);
  EXPECT_EQ(numbers.names, (std::vector<std::string>{"7", "8", "99999999999"}));
  EXPECT_EQ(edges_of<std::int64_t>(numbers), (std::vector<Whole>{{0, 1, 1}, {2, 0, 2}}));
}

TEST(EdgeList, ManyNames) {
  const auto name = [](int vertex) { return std::string("v").append(std::to_string(vertex)); };
  std::string text;
  for (int edge = 0; edge < 5000; ++edge)
    text.append(name(edge)).append(" ").append(name(edge * 7 % 5000)).append("\n");
  const Graph graph = parse_list(text);
  ASSERT_EQ(graph.vertices, 5000);
  for (int edge = 0; edge < 5000; ++edge) {
    ASSERT_EQ(graph.names[static_cast<std::size_t>(graph.from.view[edge])], name(edge));
    ASSERT_EQ(graph.names[static_cast<std::size_t>(graph.to.view[edge])], name(edge * 7 % 5000));
  }
}

TEST(EdgeList, HeaderLines) {
  std::vector<std::string> notes;
  GraphReadOptions options;
  options.note = [&](const std::string& note) { notes.push_back(note); };
  options.base = 1;
  EXPECT_EQ(parse_list("source,target\n1,2\n", options).vertices, 2);
  ASSERT_EQ(notes.size(), 1U);
  expect_contains(notes[0], "test:1: the first line, 'source,target', is read as column names");
  options.base = {};
  EXPECT_EQ(parse_list("home work\nwork shop\n", options).vertices, 3);
  ASSERT_EQ(notes.size(), 2U);
  expect_contains(notes[1], "is read as an edge");
  EXPECT_EQ(parse_list("a b weight\nhome work 3\n", options).vertices, 2);
  EXPECT_EQ(parse_list("a b 1\nhome work 3\n", options).vertices, 4);
  options.header = HeaderLine::yes;
  EXPECT_EQ(parse_list("home work\nwork shop\n", options).vertices, 2);
  options.header = HeaderLine::no;
  EXPECT_EQ(parse_list("source target\nwork shop\n", options).vertices, 4);
  EXPECT_EQ(notes.size(), 2U);
  expect_contains(list_refusal("a,b,N/A\nc,d,1\n"), "test:1: 'N/A' is not a number");
  expect_contains(list_refusal("1,2,weight\n1,2,3\n"), "test:1: 'weight' is not a number, as weights are");
}

GraphReadOptions with_columns(std::string_view columns) {
  GraphReadOptions options;
  options.columns = ColumnList("--columns", columns);
  return options;
}

TEST(EdgeList, ColumnsOfATable) {
  const std::vector<Whole> expected{{0, 1, 5}, {3, 2, -7}};
  struct Table {
    std::string text;
    std::string columns;
  };
  for (const auto& [text, columns] :
       std::vector<Table>{{"u,v,key,length\n1,2,0,5\n4,3,0,-7\n", "u,v,length"},
                          {"u,v,key,length\n1,2,0,5\n4,3,0,-7\n", "1,2,4"},
                          {",source,target,weight\n0,1,2,5\n1,4,3,-7\n", "source,target,weight"},
                          {"\"source\" \"target\" \"weight\"\n\"1\" 1 2 5\n\"2\" 4 3 -7\n", "source,target,weight"},
                          {"weight,source,target\n5,1,2\n-7,4,3\n", "source,target,weight"},
                          {"weight\ttarget\tsource\n5\t2\t1\n-7\t3\t4\n", "3,2,1"},
                          {"5,1,2\n-7,4,3\n", "2,3,1"},
                          {"0 1 2 5 x\n1 4 3 -7 y\n", "2-4"},
                          {"1 2 5 1262304000\n4 3 -7 1262304001\n", "1,2,3"},
                          {"\"a, b\";\"1\";2;\"5\";\n\"c \"\"d\"\"\";4;3;\" -7\";\n", "2,3,4"},
                          {"1,,2,5\n4,,3,-7\n", "1,3,4"}}) {
    SCOPED_TRACE(text);
    const Graph graph = parse_list(text, with_columns(columns));
    EXPECT_EQ(edges_of<std::int64_t>(graph), expected);
    EXPECT_EQ(graph.vertices, 4);
  }
  const Graph plain = parse_list("u,v,length\n1,2,5\n", with_columns("u,v"));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(plain.weights));
  const Graph named = parse_list("km,to,from\n5,Oslo,Rome\n7,Rome,Bern\n", with_columns("from,to,km"));
  EXPECT_EQ(named.names, (std::vector<std::string>{"Oslo", "Rome", "Bern"}));
  EXPECT_EQ(edges_of<std::int64_t>(named), (std::vector<Whole>{{1, 0, 5}, {2, 1, 7}}));
}

TEST(EdgeList, ColumnsThatAreNotThere) {
  const auto refused = [](const std::string& text, std::string_view columns) {
    try {
      parse_list(text, with_columns(columns));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  expect_contains(refused("u,v,w\n1,2,3\n", "u,x,w"), "test: --columns: there is no column 'x'");
  expect_contains(refused("1,2,3\n", "1,2,4"), "'4' is beyond the table, whose columns are 1 to 3");
  expect_contains(refused("1,2,3\n", "1,1,3"), "column 1 is there twice");
  expect_contains(refused("1,2,3\n", "1"), "--columns: 1 column; FROM,TO or FROM,TO,WEIGHT is expected");
  expect_contains(refused("1,2,3,4\n", "1-4"), "--columns: 4 columns");
  expect_contains(refused("1,2,x,4\n1,2\n", "1,2,4"), "test:2: the line ends after 2 fields, but line 1 has 4");
  expect_contains(refused("1,2,3,x\n1,2,3\n", "1,2,3"), "test:2: the line ends after 3 fields, but line 1 has 4");
  expect_contains(refused("1,2,3,x\n1,2,3,x,y\n", "1-3"), "test:2: 5 fields or more, but line 1 has 4");
  expect_contains(refused("1,2,3,x\n1,2,3,\"x\"y\n", "1-3"), "test:2: 'y' follows the field");
}

TEST(EdgeList, AdviceForTables) {
  expect_refused(format_called("edge_list"), "",
                 {{"u,v,key,length\n1,2,0,3.5\n",
                   "test:2: 4 fields; 'FROM TO' or 'FROM TO WEIGHT' is expected; say --columns u,v,length"},
                  {",source,target,weight\n0,1,2,3\n", "say --columns source,target,weight"},
                  {",source,target\n0,1,2\n", "say --columns source,target"},
                  {"from_stop_id,to_stop_id,transfer_type,min_transfer_time\nS1,S2,2,120\n",
                   "say --columns from_stop_id,to_stop_id,min_transfer_time"},
                  {"from,to,type,km,minutes\na,b,c,1,2\n",
                   "--columns FROM,TO,WEIGHT says which columns these are, by name or number"},
                  {"0 0 1 0.5\n", "--columns FROM,TO,WEIGHT says which columns these are, by number from 1"},
                  {"3.5,1,2\n", "'3.5' is not an integer, as vertex numbers are; --columns FROM,TO,WEIGHT"},
                  {"1 2 {}\n", "--columns 1,2 leaves them out"},
                  {"1 -> 2\n", "'->' stands between two vertices; --columns 1,3 leaves it out"},
                  {"1 -- 2 5\n", "'--' stands between two vertices; --columns FROM,TO,WEIGHT"},
                  {"(1, 2)\n", "an edge in parentheses"},
                  {"1 2 1,000\n", "'1,000'" + std::string(either_comma_fault)},
                  {"1;2;1.234,5\n", "'1.234,5' is not a number in this notation; say --thousands point"},
                  {"1;2;1,234.5\n", "'1,234.5' is not a number in this notation; say --thousands comma"},
                  {"1 2 {'weight': 3.5}\n", "networkx.write_weighted_edgelist()"},
                  {"weight,source,target\n3,1,2\n", "say --columns source,target,weight"}});
  EXPECT_EQ(parse_list("1 2 {}\n2 3 {}\n", with_columns("1,2")).vertices, 3);
}

TEST(EdgeList, AThirdColumnIsAWeightByItsName) {
  for (const std::string name : {"key", "osmid", "id", "edge_id", "label", "timestamp", "year", "lanes", "type",
                                 "edge_key", "x", "arrival_time", "\"road, class\""}) {
    SCOPED_TRACE(name);
    const std::string refusal = list_refusal("u,v," + name + "\n1,2,7\n2,3,8\n");
    expect_contains(refusal, "test:1: column 3 is called ");
    expect_contains(refusal, ", which names no weight; say --columns u,v if it is none, ");
    expect_contains(refusal, "or --columns u,v," + (name[0] == '"' ? "3" : name) + " if it is one");
  }
  expect_contains(list_refusal("from_stop_id,to_stop_id,transfer_type\nS1,S2,2\n"),
                  "column 3 is called 'transfer_type', which names no weight; say --columns from_stop_id,to_stop_id "
                  "if it is none, or --columns from_stop_id,to_stop_id,transfer_type if it is one");
  expect_contains(list_refusal("from,to,\n1,2,3\n"), "column 3 has no name; say --columns from,to if it is");
  for (const std::string name : {"weight", "Weight", "w", "value", "cost", "km", "travel_time", "length_m", "dist"}) {
    SCOPED_TRACE(name);
    const std::string text = "u,v," + name + "\n1,2,7\n2,3,8\n";
    EXPECT_EQ(edges_of<std::int64_t>(parse_list(text)), (std::vector<Whole>{{0, 1, 7}, {1, 2, 8}}));
  }
  const std::string keyed = "u,v,key\n1,2,7\n2,3,8\n";
  EXPECT_TRUE(std::holds_alternative<std::monostate>(parse_list(keyed, with_columns("u,v")).weights));
  EXPECT_EQ(edges_of<std::int64_t>(parse_list(keyed, with_columns("u,v,key"))),
            (std::vector<Whole>{{0, 1, 7}, {1, 2, 8}}));
}

TEST(EdgeList, FirstLinesOfNumbersThatMayNameColumns) {
  std::vector<std::string> notes;
  GraphReadOptions options;
  options.note = [&](const std::string& note) { notes.push_back(note); };
  options.base = 0;
  for (const std::string text : {"0,1,2\n0,1,5\n1,2,6\n", "\"0\",\"1\",\"2\"\n0,1,5\n1,2,6\n", "0 1 2\n0 1 5\n",
                                 "0,1\n1,2\n", "\"7\",\"9\",\"2\"\n0,1,5\n"}) {
    SCOPED_TRACE(text);
    notes.clear();
    options.header = HeaderLine::automatic;
    const auto lines = static_cast<std::int64_t>(std::count(text.begin(), text.end(), '\n'));
    EXPECT_EQ(parse_list(text, options).from.view.size(), lines);
    ASSERT_EQ(notes.size(), 1U);
    expect_contains(notes[0], "is read as an edge; if it names the columns, say --header yes");
    notes.clear();
    options.header = HeaderLine::yes;
    EXPECT_EQ(parse_list(text, options).from.view.size(), lines - 1);
    options.header = HeaderLine::no;
    EXPECT_EQ(parse_list(text, options).from.view.size(), lines);
    EXPECT_TRUE(notes.empty());
  }
  options.header = HeaderLine::automatic;
  for (const std::string text : {"1 2\n2 3\n", "0\t1\n1\t2\n", "0,1,5\n1,2,6\n", "7,9\n1,2\n"})
    parse_list(text, options);
  EXPECT_TRUE(notes.empty());
  // pandas writes an index column, and here the column names are numbers.
  const std::string index = ",0,1\n0,5,6\n1,6,7\n";
  expect_contains(list_refusal(index), "test:1: column 1 has no name");
  expect_contains(list_refusal(index), "--columns 2,3");
  EXPECT_EQ(parse_list(index, with_columns("2,3")).from.view.size(), 2);
  expect_contains(list_refusal(",0,1,2\n0,5,6,9\n1,6,7,9\n"), "say --columns '\"0\",3,4'");
}

TEST(EdgeList, DirectionsOfGephi) {
  std::vector<std::string> notes;
  GraphReadOptions options = with_columns("Source,Target,Weight");
  options.note = [&](const std::string& note) { notes.push_back(note); };
  options.base = 1;
  const std::string head = "Source,Target,Type,Id,Label,Weight\n";
  EXPECT_EQ(parse_list(head + "1,2,Undirected,0,,5\n2,3,undirected,1,,6\n", options).vertices, 3);
  ASSERT_EQ(notes.size(), 1U);
  expect_contains(notes[0],
                  "test:2: 'Undirected' in column 'Type' says that the graph is undirected; --undirected takes");
  notes.clear();
  EXPECT_EQ(parse_list(head + "1,2,Directed,0,,5\n2,3,Directed,1,,6\n", options).vertices, 3);
  EXPECT_TRUE(notes.empty());
  for (const bool named : {false, true}) {
    options.names = named;
    if (named) options.base = {};
    for (const auto& [one, other] : {std::pair<std::string, std::string>{"Directed", "Undirected"},
                                     std::pair<std::string, std::string>{"Undirected", "Directed"}})
      expect_contains(list_refusal(head + "1,2," + one + ",0,,5\n2,3," + other + ",1,,6\n", options),
                      "test:3: '" + other + "', but the edge of line 2 is '" + one + "'");
  }
  options.names = false;
  options.undirected = true;
  notes.clear();
  options.base = 1;
  parse_list(head + "1,2,Undirected,0,,5\n", options);
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(parse_list("u,v,type,w\n1,2,road,5\n2,3,Undirected,6\n", with_columns("u,v,w")).vertices, 3);
}

TEST(EdgeList, BipartiteGraphsOfKonectAreRefused) {
  const std::string refusal = list_refusal("% bip weighted\n% 3 2 2\n1 1 5\n2 1 3\n");
  expect_contains(refusal, "test:1: '% bip weighted' says that the graph is bipartite, with left and right vertices");
  expect_contains(refusal, "awk '!/^%/ {$1 = \"L\" $1; $2 = \"R\" $2; print}'");
}

TEST(EdgeList, SeparatorsAndEmptyFields) {
  const std::vector<Whole> expected{{0, 1, 5}, {1, 2, 6}};
  for (const std::string text : {"sep=;\nu;v;w\n1;2;5\n2;3;6\n", "\"sep=,\"\nu,v,w\n1,2,5\n2,3,6\n",
                                 "SEP=|\n1|2|5\n2|3|6\n", "1|2|5\n2|3|6\n", "u | v | w\n1 | 2 | 5\n2 | 3 | 6\n"}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(edges_of<std::int64_t>(parse_list(text)), expected);
  }
  EXPECT_EQ(parse_list("a|b\nb|c\n").names, (std::vector<std::string>{"a", "b", "c"}));
  expect_refused(
      format_called("edge_list"), "",
      {{"sep=:\n1:2\n", "test:1: 'sep=:': fields are separated by"},
       {"a,b,\"1,5\"\n", "test:1: '1,5' is not a number in this notation; say --decimal comma"},
       {"a,b,\"1,500\"\n", "'1,500'" + std::string(either_comma_fault)},
       {"a,b,\"1,500.5\"\n", "say --thousands comma"},
       {"1,2,5\n2,3,\n", "test:2: the weight is empty; fill it in, or leave the line out if there is no edge"},
       {"1;2;5\n2;3; \n", "test:2: the weight is empty"},
       {"a,b,w\nc,d,\"\"\n", "test:2: the weight is empty"},
       {"1;2;5\n;;\n", "test:2: all fields are empty, as spreadsheets write below a table; delete"},
       {"a;b;5\n;;\n", "test:2: all fields are empty"},
       {"1;2;5;;\n", "test:1: 5 fields; 'FROM TO'"}});
}

TEST(EdgeList, DecimalCommas) {
  std::vector<std::string> notes;
  GraphReadOptions options;
  options.note = [&](const std::string& note) { notes.push_back(note); };
  options.base = 1;
  const std::vector<Real> expected{{0, 1, 3.5}, {1, 2, 1234.25}, {2, 3, 7}};
  const auto read = [&](const std::string& text) { return edges_of<double>(parse_list(text, options)); };
  EXPECT_EQ(read("source;target;weight\n1;2;3,5\n2;3;1234,25\n3;4;7\n"), expected);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0], "test: " + std::string(decimal_comma_note));
  EXPECT_EQ(read("3;4;7\n1;2;3,5\n2;3;1234,25\n"), (std::vector<Real>{{2, 3, 7}, {0, 1, 3.5}, {1, 2, 1234.25}}));
  expect_contains(list_refusal("1;2;3,500\n", options), "test:1: '3,500'" + std::string(either_comma_fault));
  expect_contains(list_refusal("1;2;3.5\n2;3;4,5\n", options),
                  "'4,5' is not a number in this notation; say --decimal comma");
  options.style.decimal = Decimal::comma;
  EXPECT_EQ(read("1;2;3,5\n2;3;1234,25\n3;4;7\n"), expected);
  EXPECT_EQ(read("1,2,\"3,5\"\n2,3,\"1234,25\"\n3,4,7\n"), expected);
  EXPECT_EQ(read("1 2 3,5\n2 3 1234,25\n3 4 7\n"), expected);
  options.style = {.decimal = Decimal::automatic, .group = '.'};
  EXPECT_EQ(read("1;2;3,5\n2;3;1.234,25\n3;4;7\n"), expected);
  options.style = {.decimal = Decimal::automatic, .group = ','};
  EXPECT_EQ(read("1;2;3.5\n2;3;1,234.25\n3;4;7\n"), expected);
  EXPECT_EQ(edges_of<std::int64_t>(parse_list("1;2;3,500\n", options)), (std::vector<Whole>{{0, 1, 3500}}));
  EXPECT_EQ(parse_list("1;2;3,500\n", options).weights.index(), 1U);
}

TEST(EdgeList, CommentsThatSayBothWays) {
  std::vector<std::string> notes;
  GraphReadOptions options;
  options.note = [&](const std::string& note) { notes.push_back(note); };
  options.base = 1;
  for (const std::string text : {"% sym unweighted\n1 2\n", "# Undirected graph: ../com-amazon.ungraph.txt\n1\t2\n"}) {
    notes.clear();
    parse_list(text, options);
    ASSERT_EQ(notes.size(), 1U) << text;
    expect_contains(notes[0], "--undirected takes each edge both ways");
  }
  notes.clear();
  parse_list("% asym positive\n1 2\n", options);
  parse_list("# Directed graph\n1 2\n", options);
  options.undirected = true;
  parse_list("% sym unweighted\n1 2\n", options);
  EXPECT_TRUE(notes.empty());
}

TEST(MatrixMarket, PatternsWithAThirdColumn) {
  const std::string text = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1 7\n3 2 9\n";
  expect_contains(refusal(text),
                  "test:3: '7' follows the entry, which has no value where line 1 says pattern; --columns 1,2,3");
  const Graph weighted = parse(text, {}, with_columns("1,2,3"));
  EXPECT_EQ(edges_of<std::int64_t>(weighted), (std::vector<Whole>{{1, 0, 7}, {2, 1, 9}}));
  EXPECT_EQ(weighted.weights.index(), 1U);
  EXPECT_TRUE(weighted.undirected);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(parse(text, {}, with_columns("1,2")).weights));
  EXPECT_THROW(parse(text, {}, with_columns("2,1")), UsageError);
  EXPECT_THROW(parse("%%MatrixMarket matrix coordinate real general\n1 1 0\n", {}, with_columns("1,2,3")), UsageError);
  EXPECT_THROW(parse("p sp 1 0\n", {}, with_columns("1,2,3")), UsageError);
}

TEST(Graphs, AByteOrderMarkIsNoPartOfTheContent) {
  const std::string mark = "\xef\xbb\xbf";
  EXPECT_EQ(parse(mark + "c hi\np sp 2 1\na 1 2 5\n").format->id, "dimacs");
  EXPECT_EQ(parse(mark + "%%MatrixMarket matrix coordinate pattern general\n1 1 0\n").format->id, "matrix_market");
  EXPECT_EQ(parse(mark + "1 2\n").format->id, "edge_list");
  EXPECT_EQ(parse(gzipped(mark + "p sp 2 0\n")).format->id, "dimacs");
  for (const std::string& text : {mark, std::string("\xef\xbb"), std::string("\xef")})
    EXPECT_NE(list_refusal(text), "accepted");
}

TEST(EdgeList, Refusals) {
  expect_refused(format_called("edge_list"), "",
                 {{"# nothing\n", "test:2: the file ends without an edge"},
                  {"from,to,weight\n", "without an edge"},
                  {"1\n", "test:1: 1 field; 'FROM TO'"},
                  {"1 2 3 4\n", "test:1: 4 fields; 'FROM TO'"},
                  {"1 2\n1 2 3\n", "test:2: 3 fields or more, but line 1 has 2"},
                  {"1,2,3\n1,2,3,4\n", "test:2: 4 fields or more, but line 1 has 3"},
                  {"1 2 3\n1 2\n", "test:2: the line ends where a weight is expected"},
                  {"1 2 3\n1\n", "test:2: the line ends where a vertex is expected"},
                  {"from to weight\n1 2\n", "test:2: 2 fields"},
                  {"1,2\n,3\n", "test:2: '' is not an integer"},
                  {"1 2\na 3\n", "test:2: 'a' is not an integer, as the vertices of line 1 are; --names"},
                  {"1,2\n1a,3\n", "test:2: '1a' is not an integer"},
                  {"to,from\n1,2\n", "test:1: column 1 is called 'to', but columns are FROM, TO and WEIGHT"},
                  {"weight,from,to\n5,1,2\n", "test:1: column 1 is called 'weight'"},
                  {"from,Cost,to\n1,5,2\n", "test:1: column 2 is called 'Cost'"},
                  {"10,2\n1,002\n", "test:2: '002' begins with 0; --names reads vertices as names"},
                  {"1,2\n1.5,3\n", "test:2: '1.5' is not an integer"},
                  {"1,2\n-1,3\n", "test:2: there is no vertex -1"},
                  {"-1,2\n", "test:1: there is no vertex -1"},
                  {"1,2\n99999999999,3\n", "test:2: there is no vertex 99999999999; vertices are 0 to 2147483646"},
                  {"1,2,3\n1,2,x\n", "test:2: 'x' is not a number"},
                  {"1 2 3\n1 2 nan\n", "test:2: the weight 'nan' is not a finite number"},
                  {"1 2 3\n1 2 1e400\n", "too large for a double"},
                  {"a,b\nc,\n", "test:2: a vertex without a name"},
                  {"a,b\nc,d\x01\n", "control character"},
                  {"a,b\n\"c,d\n", "no closing quote"},
                  {"a,b\n\"c\"d,e\n", "'d' stands where a comma is expected"},
                  {"a,b\n#N/A,c\n", "test:2: an error value of a spreadsheet"},
                  {"1;2\n3,4\n", "test:2: '3,4' is not an integer"},
                  {"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n", ".mtx"}});
  GraphReadOptions based;
  based.base = 0;
  expect_contains(list_refusal("a,b\n", based), "--base 0");
}

TEST(GraphFiles, OptionsWithoutEffectAreRefused) {
  GraphReadOptions options;
  options.base = 0;
  EXPECT_THROW(parse("p sp 0 0\n", {}, options), UsageError);
  options.base = 1;
  EXPECT_EQ(parse("p sp 0 0\n", {}, options).vertices, 0);
  options.names = true;
  EXPECT_THROW(parse("p sp 0 0\n", {}, options), UsageError);
  options.names = false;
  options.header = HeaderLine::no;
  EXPECT_THROW(parse("%%MatrixMarket matrix coordinate real general\n0 0 0\n", {}, options), UsageError);
}

/// A graph of several megabytes of text, in each format.
struct Large {
  std::vector<Whole> edges;
  std::string dimacs, market, list;

  explicit Large(int count) {
    std::mt19937_64 random(7);
    const int vertices = 100000;
    dimacs = "c large\np sp " + std::to_string(vertices) + " " + std::to_string(count) + "\n";
    market = "%%MatrixMarket matrix coordinate integer general\n" + std::to_string(vertices) + " " +
             std::to_string(vertices) + " " + std::to_string(count) + "\n";
    for (int edge = 0; edge < count; ++edge) {
      const auto from = static_cast<std::int32_t>(random() % vertices);
      const auto to = edge == 0 ? vertices - 1 : static_cast<std::int32_t>(random() % vertices);
      const auto weight = static_cast<std::int64_t>(random() % 2000001) - 1000000;
      edges.emplace_back(from, to, weight);
      const std::string line =
          std::to_string(from + 1) + " " + std::to_string(to + 1) + " " + std::to_string(weight) + "\n";
      dimacs += "a " + line;
      market += line;
      list += line;
    }
  }
};

TEST(GraphFiles, ThreadsAndBlocksChangeNothing) {
  const Large large(200000);
  for (const int threads : {1, 2, 3, 16}) {
    GraphReadOptions options;
    options.threads = threads;
    for (const std::string& text : {large.dimacs, large.market}) {
      const Graph graph = parse(text, {}, options);
      EXPECT_EQ(graph.vertices, 100000);
      EXPECT_EQ(edges_of<std::int64_t>(graph), large.edges);
    }
    options.base = 1;
    EXPECT_EQ(edges_of<std::int64_t>(parse(large.list, format_called("edge_list"), options)), large.edges);
    EXPECT_EQ(edges_of<std::int64_t>(parse(gzipped(large.list), format_called("edge_list"), options)), large.edges);
  }
}

TEST(GraphFiles, LinesAreCountedAcrossBlocks) {
  const Large large(200000);
  for (const int threads : {1, 3}) {
    GraphReadOptions options;
    options.threads = threads;
    const auto line_of = [&](std::string text, const std::string& line) {
      const std::size_t place = text.find('\n', text.size() * 3 / 4) + 1;
      const auto number = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(place), '\n');
      text.insert(place, line);
      expect_contains(refusal(text, {}, options), "test:" + std::to_string(number) + ": ");
      expect_contains(refusal(gzipped(text), {}, options), "test:" + std::to_string(number) + ": ");
    };
    line_of(large.dimacs, "x\n");
    line_of(large.market, "1 2 3 4\n");
    // The excess edge is the last one of the file.
    const auto lines = std::count(large.dimacs.begin(), large.dimacs.end(), '\n');
    expect_contains(refusal(large.dimacs + "a 1 1 1\n", {}, options),
                    "test:" + std::to_string(lines + 1) + ": more edges");
    // A single weight determines the type of all weights, even if it is in the last line.
    std::string text = large.dimacs;
    text.replace(text.rfind(' ') + 1, std::string::npos, "1.5e3");
    EXPECT_EQ(parse(text, {}, options).weights.index(), 3U);
    text = large.dimacs;
    text.replace(text.rfind(' ') + 1, std::string::npos, "9000000000");
    EXPECT_EQ(parse(text, {}, options).weights.index(), 2U);
  }
}

TEST(GraphFiles, StrayCarriageReturns) {
  expect_contains(list_refusal("from,to,weight\r\r\n1,2,3\n"), "test:1: a carriage return");
  expect_contains(refusal("c\nc\r\r\np sp 0 0\n", format_called("dimacs")), "test:2: a carriage return");
  expect_contains(list_refusal("1,2,3\n1,2,3\r\r\n"), "test:2: '\\x0d");
  expect_contains(list_refusal("1,2,3\r1,2,3\r"), "test:1: 5 fields");
}

TEST(GraphFiles, AStopRequestEndsTheReading) {
  std::stop_source stop;
  stop.request_stop();
  GraphReadOptions options;
  options.stop = stop.get_token();
  EXPECT_THROW(parse("p sp 2 1\na 1 2 3\n", {}, options), InterruptedError);
  EXPECT_THROW(parse(gzipped("p sp 2 1\na 1 2 3\n"), {}, options), InterruptedError);
}

TEST(Gzip, SeveralMembersAndPadding) {
  const std::string first = gzipped("p sp 2 2\na 1 2");
  const std::string second = gzipped(" 3\na 2 1 4\n");
  EXPECT_EQ(edges_of<std::int64_t>(parse(first + second)), (std::vector<Whole>{{0, 1, 3}, {1, 0, 4}}));
  EXPECT_EQ(edges_of<std::int64_t>(parse(first + gzipped("") + second + std::string(600000, '\0'))),
            (std::vector<Whole>{{0, 1, 3}, {1, 0, 4}}));
}

TEST(Gzip, DamageIsRefused) {
  const std::string whole = gzipped("p sp 2 2\na 1 2 3\na 2 1 4\n");
  for (std::size_t length = 2; length < whole.size(); ++length)
    expect_contains(refusal(whole.substr(0, length)), "cut off");
  for (std::size_t place = 10; place < whole.size(); ++place) {
    std::string damaged = whole;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x55);
    EXPECT_NE(refusal(damaged), "accepted") << place;
  }
  expect_contains(refusal(whole + "x"), "something follows the packed data");
  expect_contains(refusal(whole + std::string(5, '\0') + "x"), "something follows the packed data");
  expect_contains(refusal(whole + "\x1f\x8b"), "cut off");
  expect_contains(refusal(whole + "\x1fx"), "damaged");
  expect_contains(refusal(gzipped(whole)), "is a file that gzip has packed");
}

TEST(Gzip, TablesToo) {
  const CsvTable table = parse_csv(bytes(gzipped("x,y\n1,2\n3,4\n")), "test");
  EXPECT_EQ(table.values.view.rows(), 2);
  EXPECT_EQ(table.values.view(1, 1), 4);
}

class GraphFile : public tests::FolderTest {};

TEST_F(GraphFile, TheFormatFollowsFromNameOrContent) {
  const std::string dimacs = "c\np sp 2 1\na 1 2 3\n";
  const std::string market = "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 3\n";
  const std::string list = "1\t2\t3\n";
  for (const auto& [name, text, format] : std::vector<std::tuple<std::string, std::string, const GraphFormat*>>{
           {"a.gr", dimacs, format_called("dimacs")},
           {"a.GR", dimacs, format_called("dimacs")},
           {"a.data", dimacs, format_called("dimacs")},
           {"b.mtx", market, format_called("matrix_market")},
           {"b", market, format_called("matrix_market")},
           {"c.csv", list, format_called("edge_list")},
           {"c.tsv", list, format_called("edge_list")},
           {"c.edges", list, format_called("edge_list")}}) {
    const Graph graph = read_graph(put(name, text));
    EXPECT_EQ(graph.format, format) << name;
    EXPECT_EQ(edges_of<std::int64_t>(graph), (std::vector<Whole>{{0, 1, 3}})) << name;
    EXPECT_EQ(edges_of<std::int64_t>(read_graph(put(name + ".gz", gzipped(text)))), (std::vector<Whole>{{0, 1, 3}}));
  }
  EXPECT_THROW(read_graph(put("d.dat", list)), InputError);
  EXPECT_THROW(read_graph(put("e.tsv", "1 2 3\n")), InputError);
  EXPECT_THROW(read_graph(put("empty.gr", "")), InputError);
  EXPECT_THROW(read_graph((directory_ / "missing.gr").string()), InputError);
}

std::vector<std::string> endings_of(const GraphFormat& format) {
  std::istringstream words{std::string(format.file.endings)};
  return {std::istream_iterator<std::string>(words), {}};
}

TEST_F(GraphFile, EveryFormatIsReadUnderItsNamesAndAsItIsWritten) {
  std::set<std::string> all;
  for (const GraphFormat* format : graph_formats()) {
    SCOPED_TRACE(std::string(format->id));
    EXPECT_FALSE(format->file.name.empty() || format->file.rules.empty() || endings_of(*format).empty());
    for (const std::string& ending : endings_of(*format)) {
      EXPECT_TRUE(ending.starts_with('.') && all.insert(ending).second) << ending;
      EXPECT_TRUE(names_graph("graph" + ending) && names_graph("graph" + ending + ".gz")) << ending;
      EXPECT_NE(graph_endings().find(ending), std::string::npos);
    }
    if (format->head == nullptr) continue;
    std::string text = format->head(3, 2);
    for (const char* edge : {"1 2 5", "3 1 -7"}) {
      std::string line = edge;
      std::ranges::replace(line, ' ', format->separator);
      text.append(format->edge_begins).append(line) += '\n';
    }
    const std::string name = "written" + endings_of(*format).front();
    EXPECT_EQ(written_format(name), format);
    EXPECT_NE(written_endings().find(std::string(format->file.name)), std::string::npos);
    const Graph graph = read_graph(put(name, text));
    EXPECT_EQ(graph.format, format);
    EXPECT_EQ(graph.vertices, 3);
    EXPECT_EQ(edges_of<std::int64_t>(graph), (std::vector<Whole>{{0, 1, 5}, {2, 0, -7}}));
    if (!format->is_list) {
      EXPECT_EQ(parse(text).format, format);
    }
  }
}

TEST_F(GraphFile, PackedTablesOfPoints) {
  EXPECT_EQ(read_points(put("points.csv.gz", gzipped("1,2\n3,4\n"))).rows(), 2);
  EXPECT_EQ(read_points(put("points.TSV.GZ", gzipped("1\t2\n3\t4\n"))).columns(), 2);
  EXPECT_THROW(read_points(put("points.npy.gz", gzipped("1,2\n"))), InputError);
}

TEST_F(GraphFile, ProgressReachesTheEnd) {
  const Large large(800000);
  for (const std::string& text : {large.dimacs, gzipped(large.dimacs)}) {
    std::int64_t last = 0;
    std::int64_t all = 0;
    int calls = 0;
    GraphReadOptions options;
    options.progress = [&](std::int64_t done, std::int64_t total) {
      EXPECT_GE(done, last);
      last = done;
      all = total;
      ++calls;
    };
    EXPECT_EQ(read_graph(put("large.gr", text), options).from.view.size(), 800000);
    EXPECT_EQ(all, static_cast<std::int64_t>(text.size()));
    EXPECT_LE(last, all);
    EXPECT_GE(calls, 2);
  }
}

}  // namespace
}  // namespace gradus::files
