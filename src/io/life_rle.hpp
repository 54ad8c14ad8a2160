// Patterns of Life as run-length encoded text (RLE), the format in which they are exchanged.
#pragma once

#include <stop_token>
#include <string>

#include "gradus/life.hpp"

namespace gradus::io {

/// The pattern in the file, or on standard input where the path is "-". InputError, with the line, for anything that is
/// no such pattern: a header that is missing or says more than memory holds, a rule or topology that is not supported,
/// runs that overflow or leave the rectangle of the header, a missing `!`.
LifePattern read_life_rle(const std::string& path, const std::stop_token& stop = {});

/// What the header says of a pattern that is written.
struct LifeRleHeader {
  LifeRule rule = {};
  LifeBoundary boundary = LifeBoundary::plane;
  std::int64_t width = 0;  ///< of the topology, unless it is the plane
  std::int64_t height = 0;
  std::int64_t left = 0;  ///< where the first cell lies
  std::int64_t top = 0;
  std::uint64_t generation = 0;
};

/// The smallest rectangle of live cells as text, lines of at most 70 characters.
std::string life_rle(const LifeGridView& cells, const LifeRleHeader& header, const std::stop_token& stop = {});

}  // namespace gradus::io
