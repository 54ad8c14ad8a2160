// Points to measure with.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "bench/kmeans_bench.hpp"
#include "core/generate.hpp"

namespace gradus::bench {

/// UsageError with a suggestion where there is none of this name.
core::Generator generator_called(std::string_view name);
/// The names of all of them.
std::vector<std::string> generator_names();

/// Makes or reads the points as `type`. Made points depend on the set alone, never on the machine.
io::Points make_points(const PointSet& set, io::ElementType type, std::stop_token stop);

}  // namespace gradus::bench
