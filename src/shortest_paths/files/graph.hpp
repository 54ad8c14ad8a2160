// Reads graphs from files of all supported formats.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "shortest_paths/files/graph_format.hpp"

namespace gradus::files {

std::span<const GraphFormat* const> graph_formats();
/// Returns the endings of all formats with their names, for messages: ".mtx (Matrix Market), …".
std::string graph_endings();
/// Returns the format for writing a file with this name, or null.
const GraphFormat* written_format(const std::string& path);
/// Returns the endings of the formats that can be written: ".mtx (Matrix Market), …".
std::string written_endings();

/// Reads a graph from a file, or from standard input if the path is "-". The input may be gzip-compressed. The file
/// extension determines the format (Format::endings); without a known extension, the content determines it. Standard
/// input that matches no format is read as an edge list. The source file of each format describes the input that the
/// reader accepts.
///
/// Checks the vertices and, if the format states it, the number of edges. Throws InputError with file:line for
/// malformed input.
Graph read_graph(const std::string& path, const GraphReadOptions& options = {});

/// Reads a graph from memory. `name` appears in messages. If `format` is null, the content determines the format.
Graph parse_graph(std::span<const std::byte> bytes, std::string_view name, const GraphFormat* format,
                  const GraphReadOptions& options = {});

/// Returns true if the name has the extension of a graph format.
bool names_graph(const std::string& path);

}  // namespace gradus::files
