// Graphs as text: DIMACS .gr, Matrix Market, and lists of edges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "files/columns.hpp"
#include "files/header.hpp"
#include "files/number.hpp"
#include "files/points.hpp"
#include "files/text_input.hpp"

namespace gradus::files {

class EdgeReader;

struct GraphReadOptions {
  /// What the first vertex of an edge list is called, 0 or 1. Nothing: 0 where a vertex is called so, otherwise 1; the
  /// note tells which. The other formats count from 1, and UsageError says so where this is 0.
  std::optional<int> base;
  /// Vertices of an edge list are names, also where they are whole numbers. UsageError for other formats.
  bool names = false;
  HeaderLine header = HeaderLine::automatic;  ///< of edge lists; UsageError for other formats
  /// FROM, TO and, where edges have one, WEIGHT among the columns of an edge list. Empty: all columns, in this order.
  /// In a Matrix Market pattern, 1,2 leaves a third column out and 1,2,3 takes it as weights. UsageError for others.
  ColumnList columns = {};
  NumberStyle style = {};     ///< of the weights of edge lists; UsageError for other formats
  bool undirected = false;    ///< the caller takes each edge both ways: a comment that says so needs no note
  int threads = 1;            ///< what is read does not depend on it
  std::stop_token stop = {};  ///< a stop request ends the reading with InterruptedError
  /// Called with what a person should hear: file: what was decided in doubt.
  std::function<void(const std::string&)> note = nullptr;
  ReadProgress progress = nullptr;
};

/// A format of graph files. The file of its reader ends with its row, and graph.cpp lists the rows.
struct GraphFormat {
  std::string_view id;            ///< of its fuzzer and the fuzzer's corpus: "matrix_market"
  std::string_view name;          ///< "Matrix Market"
  std::string_view several = {};  ///< for messages, where files with these endings hold several kinds: "lists of edges"
  std::string_view endings;       ///< of file names, each also with .gz behind it; between blanks
  std::string_view rules;         ///< for the guide, in Markdown
  bool is_list = false;           ///< the options of edge lists apply
  /// Why GraphReadOptions::columns does not apply, behind "is a NAME file, "; empty: it does.
  std::string_view fixed_columns = {};
  bool (*recognises)(std::string_view beginning);
  std::unique_ptr<EdgeReader> (*reader)(std::string name, std::string_view ending, const GraphReadOptions& options);
  // For writers: the first line, and the line of an edge. Files that are written have the first ending.
  std::string (*head)(std::int64_t vertices, std::int64_t edges) = nullptr;
  std::string_view edge_begins = {};
  char separator = ' ';
};

std::span<const GraphFormat* const> graph_formats();
/// The endings of all formats with their names, for messages: ".gr (DIMACS), .mtx (Matrix Market), …".
std::string graph_endings();
/// The format in which a file of this name is written, or null.
const GraphFormat* written_format(const std::string& path);
/// Those formats: ".gr (DIMACS), …".
std::string written_endings();

/// A graph and its edges, in the order of the file.
struct Graph {
  const GraphFormat* format = nullptr;
  std::int64_t vertices = 0;
  VectorOf<std::int32_t> from;  ///< of each edge the vertex where it begins, counted from 0
  VectorOf<std::int32_t> to;
  /// Of each edge its weight; nothing: the file gives none. Whole numbers: the narrower type that holds them all, its
  /// greatest value not among them. Numbers with decimals: each the double nearest to its text.
  std::variant<std::monostate, VectorOf<std::int32_t>, VectorOf<std::int64_t>, VectorOf<double>> weights;
  bool undirected = false;         ///< each edge stands for both directions: a symmetric matrix
  int base = 1;                    ///< what the file calls vertex 0, where vertices have no names
  std::vector<std::string> names;  ///< of the vertices, or empty; in the order in which the file names them first
};

/// Reads the graph of a file, or of standard input where the path is "-", packed by gzip or not. The format follows
/// from the ending of the name (GraphFormat::endings), otherwise from the content; on standard input, what no format
/// recognises is an edge list.
///
/// * DIMACS (9th challenge): lines "c comment", one line "p sp VERTICES EDGES", a line "a FROM TO WEIGHT" for each
/// edge.
/// * Matrix Market: coordinate and array; real, double, integer and pattern; general, symmetric and skew-symmetric. The
///   entry in row v, column w is the edge from v to w. An entry of 0 is an edge like any other; one of an array that is
///   inf is none.
/// * Edge list: a line "FROM TO" or "FROM TO WEIGHT" for each edge, or a table in which GraphReadOptions::columns finds
///   these, separated by a semicolon, a comma, a tab or blanks: the first of these that the first line holds outside
///   quotes. Lines that begin with '#' or '%' are comments. The first edge tells whether vertices are whole numbers,
///   all up to the greatest of which exist, or names.
///
/// Vertices and, of formats that have it, the number of edges are checked against what the file promises. InputError
/// with file:line for anything that is wrong.
Graph read_graph(const std::string& path, const GraphReadOptions& options = {});

/// The same from memory; `name` stands in messages. Without a format: the one that the content has.
Graph parse_graph(std::span<const std::byte> bytes, std::string_view name, const GraphFormat* format,
                  const GraphReadOptions& options = {});

/// Whether the ending of the name is one of those above.
bool names_graph(const std::string& path);

}  // namespace gradus::files
