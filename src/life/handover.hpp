// Runs a plane for which the caller named no variant: starts with one production variant and may switch to another.
//
// Variants that compute every cell are best for soups, and `hashlife` is best for structured patterns. The kind of a
// pattern shows only during the run. For example, three distant cells under B1357/S1357 take hours with the variants
// that compute every cell, and a tenth of a second with `hashlife`. The run starts with a variant that computes every
// cell. Its speed gives a lower bound for the remaining time, unless the pattern stabilizes. `hashlife` gets a fraction
// of that time, and starts from the current generation. If `hashlife` does not finish in time, the first variant
// continues. `hashlife` gets its next attempt when the elapsed time of the run has doubled.
#pragma once

#include <optional>

#include "life/problem.hpp"
#include "life/world.hpp"

namespace gradus::life_detail {

struct HandoverLimits {
  double first_look = 0.02;     ///< seconds of the run before the first estimate
  double worth_an_attempt = 1;  ///< minimum remaining seconds for which an attempt is made
  // The time of an attempt is limited by these fractions of the elapsed and of the remaining time.
  double of_the_past = 0.25;
  double of_the_rest = 1.0 / 16;
};

/// Advances the world, a plane, to the job's last generation. If `hashlife` has completed the run, returns its result.
/// If the bounding box of the world's cells is large and nearly empty, returns the cells as a tree. Otherwise returns
/// nothing, and the world holds the result.
std::optional<Solved> finish_plane(World& world, const Job& job, const Variant& hashlife,
                                   const HandoverLimits& limits = {});

}  // namespace gradus::life_detail
