// The row of a format of graphs, how such files are read, and what they hold.
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
  std::string_view id;  ///< of its fuzzer and the fuzzer's corpus: "matrix_market"
  Format file;
  std::string_view several = {};  ///< for messages, where files with these endings hold several kinds: "lists of edges"
  bool is_list = false;           ///< the options of edge lists apply
  /// Why GraphReadOptions::columns does not apply, behind "is a NAME file, "; empty: it does.
  std::string_view fixed_columns = {};
  bool (*recognises)(std::string_view beginning);
  std::unique_ptr<EdgeReader> (*reader)(std::string name, std::string_view ending, const GraphReadOptions& options);
  // For writers: the first line, and the line of an edge.
  std::string (*head)(std::int64_t vertices, std::int64_t edges) = nullptr;
  std::string_view edge_begins = {};
  char separator = ' ';
};

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

}  // namespace gradus::files
