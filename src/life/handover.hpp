// Runs a plane for which the caller named no variant: starts with one production variant and may switch to another.
//
// Variants that compute every cell are best for soups, `hashlife` for structured patterns. Only the run shows which
// kind a pattern is: three distant cells under B1357/S1357 take hours with the former and a tenth of a second with the
// latter. The run starts with the former. Its speed gives a lower bound for the remaining time, unless the pattern
// stabilizes. A fraction of that time is granted to `hashlife`, starting from the current generation. If `hashlife`
// does not finish in time, the first variant continues, and the next attempt follows when the run has taken twice as
// long.
#pragma once

#include <optional>

#include "life/problem.hpp"
#include "life/world.hpp"

namespace gradus::life_detail {

struct HandoverLimits {
  double first_look = 0.02;     ///< seconds before the first estimate
  double worth_an_attempt = 1;  ///< minimum remaining seconds
  // The time of an attempt is limited by these fractions of the elapsed and of the remaining time.
  double of_the_past = 0.25;
  double of_the_rest = 1.0 / 16;
};

/// Advances the world, a plane, to the job's last generation. Returns the result of `hashlife` if that variant
/// completed the run. Returns the world's cells as a tree if their bounding box is large and nearly empty. Returns
/// nothing if the world holds the result.
std::optional<Solved> finish_plane(World& world, const Job& job, const Variant& hashlife,
                                   const HandoverLimits& limits = {});

}  // namespace gradus::life_detail
