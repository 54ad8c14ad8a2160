#include "cli/bin_options.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/lists.hpp"
#include "gradus/error.hpp"
#include "pair_histogram/bins.hpp"

namespace gradus::cli {

void add_bin_options(Options& options, PairBins& bins, std::string& edges_file) {
  options.value("--bin-width", "W", "width of the bins; the first begins at distance 0",
                [&bins](const std::string& text) { bins.bin_width = parse_positive("--bin-width", text); });
  options.value("--bins", "N", "number of bins [up to --cutoff, or to half of --box]",
                [&bins](const std::string& text) {
                  bins.bins = parse_whole("--bins", text, 1, std::numeric_limits<std::int64_t>::max());
                });
  options.file("--edges", edges_file, "FILE", "instead: increasing distances between which the bins lie");
  options.value("--cutoff", "R", "count no pair at this distance or farther",
                [&bins](const std::string& text) { bins.cutoff = parse_positive("--cutoff", text); });
}

void add_box_option(Options& options, std::vector<double>& box) {
  options.value("--box", "X,Y,Z", "lengths of a periodic box: distances are between nearest images",
                [&box](const std::string& text) {
                  box.clear();
                  for (const std::string& part : parse_list("--box", text))
                    box.push_back(parse_positive("--box", part));
                });
}

void check_bins(const PairBins& bins, const std::string& edges_file) {
  if (edges_file.empty() == (bins.bin_width == 0))
    throw UsageError("give the width of the bins (--bin-width) or a file with their edges (--edges), one of the two");
  if (!edges_file.empty() && bins.bins != 0)
    throw UsageError("--bins is for bins of equal width; --edges already says how many there are");
}

void complete_bins(PairBins& bins, const std::vector<double>& box) {
  if (bins.bin_width == 0 || bins.bins > 0) return;
  if (bins.cutoff == 0 && box.empty())
    throw UsageError(
        "--bins is missing: give the number of bins, a --cutoff up to which they go, or a --box, up to half of which "
        "they go");
  if (bins.cutoff == 0) bins.cutoff = *std::ranges::min_element(box) / 2;
  const double count = std::ceil(bins.cutoff / bins.bin_width);
  if (count > static_cast<double>(pair_histogram_detail::bin_limit))
    throw UsageError(fmt::format("--bin-width {} up to {} makes more bins than the supported {}", bins.bin_width,
                                 bins.cutoff, pair_histogram_detail::bin_limit));
  bins.bins = static_cast<std::int64_t>(count);
}

std::vector<double> read_edges(const std::string& file, io::ReadOptions reading) {
  reading.type.reset();
  const io::VectorOf<double> edges = io::read_vector<double>(file, reading);
  return {edges.view.begin(), edges.view.end()};
}

}  // namespace gradus::cli
