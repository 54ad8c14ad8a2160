// The row type of graph formats, the options for reading, and the graph that a file contains.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "files/columns.hpp"
#include "files/format.hpp"
#include "files/header.hpp"
#include "files/number.hpp"
#include "files/text_input.hpp"
#include "files/values.hpp"

namespace gradus::files {

class EdgeReader;

struct GraphReadOptions {
  /// Number of the first vertex of an edge list: 0 or 1. If empty, the list determines the number: 0 if vertex 0
  /// occurs, otherwise 1. A note then reports the number. Other formats count from 1, and throw UsageError for 0.
  std::optional<int> base;
  /// If true, the vertices of an edge list are names, even if they look like integers. If this is true for another
  /// format, reading throws UsageError.
  bool names = false;
  HeaderLine header = HeaderLine::automatic;  ///< only for edge lists; for other formats, reading throws UsageError
  /// The columns of an edge list that hold FROM, TO and, if edges have weights, WEIGHT. If empty, all columns are used
  /// in this order. In a Matrix Market pattern, 1,2 ignores a third column and 1,2,3 reads it as weights. For other
  /// formats, reading throws UsageError.
  ColumnList columns = {};
  NumberStyle style = {};  ///< notation of weights in edge lists; for other formats, reading throws UsageError
  /// True if the caller uses each edge in both directions. In this case, the reader writes no note about a comment
  /// "undirected" in the file.
  bool undirected = false;
  int threads = 1;            ///< number of threads; does not affect the result
  std::stop_token stop = {};  ///< a stop request throws InterruptedError
  /// Receives notes for the user about doubtful decisions, as "file: decision".
  std::function<void(const std::string&)> note = nullptr;
  ReadProgress progress = nullptr;
};

/// A format of graph files. The source file of each reader ends with the GraphFormat object of its format; graph.cpp
/// lists these objects.
struct GraphFormat {
  std::string_view id;  ///< name of the format's fuzzer and of its corpus: "matrix_market"
  Format file;
  /// The noun that messages use if files with these extensions have several formats, for example "lists of edges".
  std::string_view several = {};
  bool is_list = false;  ///< true if the options for edge lists apply
  /// The reason why GraphReadOptions::columns does not apply, or empty if it does. Messages append the reason to
  /// "is a NAME file, ".
  std::string_view fixed_columns = {};
  bool (*recognises)(std::string_view beginning);
  std::unique_ptr<EdgeReader> (*reader)(std::string name, std::string_view ending, const GraphReadOptions& options);
  // Three members for writing, set if graphs can be written in this format. `head` formats the first line,
  // `edge_begins` precedes the fields of each edge, and `separator` separates these fields.
  std::string (*head)(std::int64_t vertices, std::int64_t edges) = nullptr;
  std::string_view edge_begins = {};
  char separator = ' ';
};

/// A graph and its edges, in the order of the file.
struct Graph {
  const GraphFormat* format = nullptr;
  std::int64_t vertices = 0;
  VectorOf<std::int32_t> from;  ///< first vertex of each edge, counted from 0
  VectorOf<std::int32_t> to;
  /// Weight of each edge. Empty if the file has no weights. Integer weights have type int32 if all of them are less
  /// than the greatest int32, otherwise int64. Weights with decimals are rounded to the nearest double.
  std::variant<std::monostate, VectorOf<std::int32_t>, VectorOf<std::int64_t>, VectorOf<double>> weights;
  bool undirected = false;         ///< true if each edge stands for both directions, as in a symmetric matrix file
  int base = 1;                    ///< number that the file gives to vertex 0, if vertices have no names
  std::vector<std::string> names;  ///< names of the vertices in order of first use, or empty
};

}  // namespace gradus::files
