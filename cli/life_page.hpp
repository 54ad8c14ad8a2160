// `gradus life --report`: what a page shows of a pattern beside its summary.
#pragma once

#include <stop_token>

#include "cli/page/page.hpp"
#include "gradus/life.hpp"

namespace gradus::cli {

/// The cells as they are now, black on white, all of a bounded world; of many cells the share of live ones as gray.
/// Without pixels where the cells lie too far apart. InterruptedError after a stop request.
PagePicture picture_of(const LifePattern& pattern, const std::stop_token& stop);

}  // namespace gradus::cli
