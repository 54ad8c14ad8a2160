// `gradus life --report`: pictures of a pattern, shown in addition to its summary.
#pragma once

#include <stop_token>

#include "cli/page/page.hpp"
#include "gradus/life.hpp"

namespace gradus::cli {

/// Draws the current cells black on white. A bounded world is drawn as a whole. A pixel of a large pattern stands for
/// several cells, and its gray level shows the share of live cells. If the cells are too far apart, returns no pixels.
/// Throws InterruptedError after a stop request.
PagePicture picture_of(const LifePattern& pattern, const std::stop_token& stop);

}  // namespace gradus::cli
