// The bins of pair-distance histograms as axes: of a measurement, and of `gradus pair-histogram`.
#pragma once

#include <string>
#include <vector>

#include "bench/axis.hpp"
#include "files/points.hpp"
#include "gradus/pair_histogram.hpp"

namespace gradus::bench {

/// bin-width, bins, edges and cutoff; the file of edges is named only, for read_edges().
std::vector<Axis> bin_axes(PairHistogramOptions& options, std::string& edges_file);
Axis box_axis(PairHistogramOptions& options);

/// UsageError unless there is either a width or a file of edges.
void check_bins(const PairHistogramBins& bins, const std::string& edges_file);
/// pair_histogram_complete_bins(); what it lacks is told as an option.
void complete_bins(PairHistogramOptions& options);
std::vector<double> read_edges(const std::string& file, files::ReadOptions reading);

}  // namespace gradus::bench
