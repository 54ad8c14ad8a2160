// The bins of pair-distance histograms as axes of measurements. `gradus pair-histogram` has the same options.
#pragma once

#include <string>
#include <vector>

#include "bench/axis.hpp"
#include "files/points.hpp"
#include "gradus/pair_histogram.hpp"

namespace gradus::bench {

/// Returns the axes bin-width, bins, edges and cutoff. The axis `edges` stores only the name of the file; read_edges()
/// reads the file.
std::vector<Axis> bin_axes(PairHistogramOptions& options, std::string& edges_file);
Axis box_axis(PairHistogramOptions& options);

/// Throws UsageError unless either a width or a file of edges is given.
void check_bins(const PairHistogramBins& bins, const std::string& edges_file);
/// Completes `options.bins` by pair_histogram_complete_bins(). If only a bin width is given, a number of bins, a cutoff
/// or a periodic box is needed. Without any of these, throws a UsageError that names --bins.
void complete_bins(PairHistogramOptions& options);
std::vector<double> read_edges(const std::string& file, files::ReadOptions reading);

}  // namespace gradus::bench
