// The bins of pair-distance histograms as axes, for measurements and for `gradus pair-histogram`.
#pragma once

#include <string>
#include <vector>

#include "bench/axis.hpp"
#include "files/points.hpp"
#include "gradus/pair_histogram.hpp"

namespace gradus::bench {

/// Returns bin-width, bins, edges and cutoff. The edges axis stores only the file's name; read_edges() reads it.
std::vector<Axis> bin_axes(PairHistogramOptions& options, std::string& edges_file);
Axis box_axis(PairHistogramOptions& options);

/// Throws UsageError unless there is either a width or a file of edges.
void check_bins(const PairHistogramBins& bins, const std::string& edges_file);
/// Calls pair_histogram_complete_bins(); an error about missing bins names the option.
void complete_bins(PairHistogramOptions& options);
std::vector<double> read_edges(const std::string& file, files::ReadOptions reading);

}  // namespace gradus::bench
