// pair_histogram_complete_bins()
#include <cmath>
#include <string>
#include <utility>

#include "core/float_environment.hpp"
#include "core/text.hpp"
#include "gradus/pair_histogram.hpp"
#include "pair_histogram/arrange.hpp"
#include "pair_histogram/prepare.hpp"

namespace gradus {

namespace room = pair_histogram_detail;

PairHistogramBins pair_histogram_complete_bins(PairHistogramBins bins, const std::vector<double>& box) {
  return pair_histogram_complete_bins(PairHistogramOptions{.bins = std::move(bins), .box = box});
}

PairHistogramBins pair_histogram_complete_bins(const PairHistogramOptions& options) {
  const core::DefaultFloatEnvironment environment;
  PairHistogramBins bins = options.bins;
  if (options.beyond_half && (options.box.empty() || options.periodic == "none"))
    throw UsageError(flag("PairHistogramOptions::beyond_half") + " has no effect: there is no periodic box",
                     {.code = error_code::no_effect, .argument = "beyond_half"});
  if (!(bins.bin_width > 0) || !bins.edges.empty() || bins.bins != 0) return bins;
  const std::string missing =
      "the number of bins is missing: give it, or a cutoff up to which they go, or a periodic box, up to half of "
      "which they go";
  if (bins.cutoff == 0 && options.box.empty()) throw UsageError(missing);
  if (bins.cutoff == 0) {
    std::int64_t columns = room::columns_for(options);
    const PairHistogramOptions arranged = room::arranged_options(options, columns);
    if (arranged.box.empty()) throw UsageError(missing);
    room::check_box(arranged.box, {}, columns);
    bins.cutoff = room::greatest_reach(arranged.box);
  }
  double count = std::ceil(bins.cutoff / bins.bin_width);
  if (count * bins.bin_width < bins.cutoff) ++count;  // rounding of the quotient had removed the last bin
  if (!(count <= static_cast<double>(room::bin_limit)))
    throw UsageError("a bin width of " + core::number_text(bins.bin_width) + " up to " +
                     core::number_text(bins.cutoff) + " gives more bins than the supported " +
                     std::to_string(room::bin_limit));
  bins.bins = static_cast<std::int64_t>(count);
  return bins;
}

}  // namespace gradus
