// The bins of pair-distance histograms on the command line: of `gradus pair-histogram` and of its measurement.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "gradus/pair_histogram.hpp"
#include "io/points.hpp"

namespace gradus::cli {

/// --bin-width, --bins, --edges and --cutoff; the file of edges is named only, for read_edges().
void add_bin_options(Options& options, PairBins& bins, std::string& edges_file);
void add_box_option(Options& options, std::vector<double>& box);

/// UsageError unless there is either a width or a file of edges.
void check_bins(const PairBins& bins, const std::string& edges_file);
/// Bins of one width need a number; without one they go up to the cutoff, or to half of the box.
void complete_bins(PairBins& bins, const std::vector<double>& box);
std::vector<double> read_edges(const std::string& file, io::ReadOptions reading);

}  // namespace gradus::cli
