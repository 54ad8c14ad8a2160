// Declarations that the k-means files of the program share.
#pragma once

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "gradus/kmeans.hpp"

namespace gradus::cli {

/// Returns the maximum size of a block of points, if a command reads points in blocks. The call for a block needs up to
/// about twice this memory, in addition to the block.
std::uint64_t block_bytes(const Session& session);

/// Returns the settings for the call that computes a block. The progress of this call counts the rows of all blocks.
Execution of_block(const Execution& execution, std::int64_t first_row, std::int64_t all_rows);

Action setup_check(Options& options, Session& session);
Action setup_demo(Options& options, Session& session);
Action setup_predict(Options& options, Session& session);
Action setup_transform(Options& options, Session& session);

}  // namespace gradus::cli
