// Graphs from files of any of their formats.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "shortest_paths/files/graph_format.hpp"

namespace gradus::files {

std::span<const GraphFormat* const> graph_formats();
/// The endings of all formats with their names, for messages: ".mtx (Matrix Market), …".
std::string graph_endings();
/// The format in which a file of this name is written, or null.
const GraphFormat* written_format(const std::string& path);
/// Those formats: ".mtx (Matrix Market), …".
std::string written_endings();

/// Reads the graph of a file, or of standard input where the path is "-", packed by gzip or not. The format follows
/// from the ending of the name (Format::endings), otherwise from the content; on standard input, what no format
/// recognises is an edge list. The file of each format says what it understands.
///
/// Vertices and, of formats that have it, the number of edges are checked against what the file promises. InputError
/// with file:line for anything that is wrong.
Graph read_graph(const std::string& path, const GraphReadOptions& options = {});

/// The same from memory; `name` stands in messages. Without a format: the one that the content has.
Graph parse_graph(std::span<const std::byte> bytes, std::string_view name, const GraphFormat* format,
                  const GraphReadOptions& options = {});

/// Returns true if the ending of the name is that of a format.
bool names_graph(const std::string& path);

}  // namespace gradus::files
