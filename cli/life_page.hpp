// `gradus life --report`: pictures of a pattern, shown in addition to its summary.
#pragma once

#include <stop_token>

#include "cli/page/page.hpp"
#include "gradus/life.hpp"

namespace gradus::cli {

/// Draws the current cells black on white; a bounded world is drawn whole. Large patterns become gray levels, by the
/// share of live cells. Returns no pixels if the cells are too far apart. Throws InterruptedError after a stop request.
PagePicture picture_of(const LifePattern& pattern, const std::stop_token& stop);

}  // namespace gradus::cli
