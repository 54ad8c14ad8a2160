#include "pair_histogram/result.hpp"

#include <cmath>
#include <string>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "pair_histogram/prepare.hpp"

namespace gradus::pair_histogram_detail {

void throw_sum_too_large(const std::vector<double>& edges, std::size_t bin) {
  throw InputError(about("weights") + "the sum of their products in bin " + std::to_string(bin) +
                   " (counted from 0), from " + core::number_text(edges[bin]) + " to " +
                   core::number_text(edges[bin + 1]) +
                   ", is beyond the largest double; divide the weights by a power of two");
}

namespace {

/// Returns the column in which all points coincide and in which the box is less than half as long as in every other
/// column. Returns nothing if there is no such column.
template <class T>
std::string flat_column(const Problem<T>& problem) {
  if (problem.d() != dimension_limit || !problem.periodic || problem.n() + (problem.cross ? problem.m() : 0) < 3)
    return {};
  for (std::size_t column = 0; column < problem.box.size(); ++column) {
    const auto is_thin = [&](std::size_t other) {
      return other == column || 2 * problem.box[column] < problem.box[other];
    };
    if (problem.lowest[column] == problem.highest[column] && is_thin(0) && is_thin(1) && is_thin(2))
      return std::string(1, "xyz"[column]);
  }
  return {};
}

}  // namespace

template <class T>
PairHistogramResult result_of(const Problem<T>& problem, const Histogram& histogram) {
  PairHistogramResult result;
  const auto bins = static_cast<std::ptrdiff_t>(problem.bins.count());
  result.edges = problem.bins.nominal_edges();
  result.flat = flat_column(problem);
  result.counts.assign(histogram.counts.begin() + 1, histogram.counts.begin() + 1 + bins);
  result.below = histogram.counts.front();
  result.pairs = static_cast<std::uint64_t>(pair_count(problem.n(), problem.m(), problem.cross));
  std::uint64_t counted = result.below;
  for (const std::uint64_t count : result.counts) counted += count;
  if (counted > result.pairs)
    throw Error("internal error: " + std::to_string(counted) + " of " + std::to_string(result.pairs) +
                " pairs were counted");
  result.beyond = result.pairs - counted;
  const std::int64_t stretch = core::chunk_length(bins, 16 + histogram.sum_words);
  for (std::ptrdiff_t bin = 0; problem.weighted() && bin < bins; ++bin) {
    if (bin % stretch == 0) core::honour_stop(problem.stop, while_adding_up);
    result.weighted.push_back(problem.sums.round(histogram.sum(bin + 1)));
    if (std::isinf(result.weighted.back())) throw_sum_too_large(result.edges, static_cast<std::size_t>(bin));
  }
  if (result.pairs > 0)
    result.report.rechecked = static_cast<double>(histogram.rechecked) / static_cast<double>(result.pairs);
  return result;
}

template PairHistogramResult result_of(const Problem<float>&, const Histogram&);
template PairHistogramResult result_of(const Problem<double>&, const Histogram&);

}  // namespace gradus::pair_histogram_detail
