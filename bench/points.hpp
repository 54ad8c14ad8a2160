// Points to measure with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/generate.hpp"
#include "io/points.hpp"

namespace gradus::bench {

/// Points to measure with: the name of a generator and the shape, or a file.
struct PointSet {
  std::string generator;  ///< one of generator_names(); empty: `file`
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::string file;
};

/// UsageError with a suggestion where there is none of this name.
core::Generator generator_called(std::string_view name);
/// The names of all of them.
std::vector<std::string> generator_names();

/// Makes the points, or reads them in this way, as `type`. Made points depend on the set alone, never on the machine.
/// A stop request to the reading ends the making too.
io::Points make_points(const PointSet& set, io::ElementType type, io::ReadOptions reading);

}  // namespace gradus::bench
