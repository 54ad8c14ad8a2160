// Runs a plane for which the caller named no variant: starts with one production variant and may switch to another.
//
// Variants that compute every cell are best for soups, and `hashlife` is best for structured patterns. Only the run
// itself shows which kind a pattern is. For example, three distant cells under B1357/S1357 take hours with the variants
// that compute every cell, and a tenth of a second with `hashlife`. The run starts with a variant that computes every
// cell. Its speed gives a lower bound for the remaining time, unless the pattern stabilizes. `hashlife` gets a fraction
// of that time, and starts from the current generation. If it does not finish in time, the first variant continues.
// When the elapsed time of the run has doubled, `hashlife` gets its next attempt.
#pragma once

#include <optional>

#include "life/problem.hpp"
#include "life/world.hpp"

namespace gradus::life_detail {

struct HandoverLimits {
  double first_look = 0.02;     ///< number of seconds before the first estimate
  double worth_an_attempt = 1;  ///< if fewer seconds remain, no attempt is made
  // The time of an attempt is limited by these fractions of the elapsed and of the remaining time.
  double of_the_past = 0.25;
  double of_the_rest = 1.0 / 16;
};

/// Advances the world, which must be a plane, to the job's last generation. If `hashlife` has completed the run,
/// returns its result. If the bounding box of the live cells is large and nearly empty, returns the cells as a tree.
/// Otherwise returns nothing, and the world holds the result.
std::optional<Solved> finish_plane(World& world, const Job& job, const Variant& hashlife,
                                   const HandoverLimits& limits = {});

}  // namespace gradus::life_detail
