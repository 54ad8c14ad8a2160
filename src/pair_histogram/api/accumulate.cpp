// pair_histogram_accumulate()
#include <cmath>
#include <limits>
#include <utility>

#include "core/float_environment.hpp"
#include "core/phases.hpp"
#include "gradus/pair_histogram.hpp"
#include "pair_histogram/result.hpp"

namespace gradus {

namespace {

void check(const PairHistogramResult& sum, const PairHistogramResult& next) {
  for (const PairHistogramResult* one : {&sum, &next})
    if (one->edges.size() != one->counts.size() + 1 ||
        (!one->weighted.empty() && one->weighted.size() != one->counts.size()))
      throw UsageError("a histogram must have one edge more than counts, and a weight for each of them or none");
  if (sum.edges != next.edges || sum.weighted.size() != next.weighted.size())
    throw UsageError("histograms of different bins, or with weights and without, cannot be added");
  if (next.pairs > std::numeric_limits<std::uint64_t>::max() - sum.pairs)
    throw InputError("more than 2^64 pairs, all histograms together, cannot be counted");
  for (std::size_t bin = 0; bin < sum.weighted.size(); ++bin)
    if (!std::isfinite(sum.weighted[bin] + next.weighted[bin]))
      pair_histogram_detail::throw_sum_too_large(sum.edges, bin);
}

}  // namespace

void pair_histogram_accumulate(PairHistogramResult& sum, const PairHistogramResult& next) {
  const core::DefaultFloatEnvironment environment;
  check(sum, next);
  const double rechecked = sum.report.rechecked * static_cast<double>(sum.pairs) +  // number of rechecked pairs
                           next.report.rechecked * static_cast<double>(next.pairs);
  for (std::size_t bin = 0; bin < sum.counts.size(); ++bin) sum.counts[bin] += next.counts[bin];
  for (std::size_t bin = 0; bin < sum.weighted.size(); ++bin) sum.weighted[bin] += next.weighted[bin];
  sum.below += next.below;
  sum.beyond += next.beyond;
  sum.pairs += next.pairs;
  sum.report.rechecked = sum.pairs > 0 ? rechecked / static_cast<double>(sum.pairs) : 0;
  if (sum.flat.empty()) sum.flat = next.flat;
  for (const Phase& phase : next.report.phases) core::add_phase(sum.report.phases, phase.name, phase.seconds);
}

}  // namespace gradus
