// A plane for which the caller named no variant: the run begins with one production variant and may end with another.
//
// A variant that computes every cell is right for soups, `hashlife` for structured patterns, and which a pattern is
// shows only while it runs: three cells far apart under B1357/S1357 take hours by the first and a tenth of a second by
// the second. So the run begins with the first. Its speed so far tells how long the rest takes at least, unless the
// pattern comes to rest; a part of that time is then given to `hashlife`, from the generation that was reached. If it
// is not done by then, the first variant continues, and the next attempt comes when the run has taken twice as long.
#pragma once

#include <optional>

#include "life/problem.hpp"
#include "life/world.hpp"

namespace gradus::life_detail {

/// When a run is handed over.
struct HandoverLimits {
  double first_look = 0.02;     ///< seconds
  double worth_an_attempt = 1;  ///< seconds that the rest takes at least
  // What an attempt may take: this part of the run so far, and this part of what the rest takes.
  double of_the_past = 0.25;
  double of_the_rest = 1.0 / 16;
};

/// Advances the world, a plane, to the job's last generation. Returns the result of `hashlife` if that variant
/// completed the run, or the world's cells as a tree if their rectangle is large and nearly empty; nothing if the world
/// holds the result.
std::optional<Solved> finish_plane(World& world, const Job& job, const Variant& hashlife,
                                   const HandoverLimits& limits = {});

}  // namespace gradus::life_detail
