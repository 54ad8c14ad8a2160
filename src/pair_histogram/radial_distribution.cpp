#include <cmath>
#include <numbers>
#include <string>

#include "core/float_environment.hpp"
#include "core/text.hpp"
#include "gradus/pair_histogram.hpp"
#include "pair_histogram/result.hpp"

namespace gradus {

/// The difference of powers is factored, which keeps thin, distant shells accurate.
double pair_histogram_detail::shell(double low, double high, std::int64_t dimensions) {
  if (dimensions == 1) return 2 * (high - low);
  if (dimensions == 2) return std::numbers::pi * (high - low) * (high + low);
  return 4.0 / 3.0 * std::numbers::pi * (high - low) * (high * high + high * low + low * low);
}

PairHistogramRadialDistribution pair_histogram_radial_distribution(const PairHistogramResult& histogram,
                                                                   std::int64_t dimensions,
                                                                   const PairHistogramFrames& frames) {
  const core::DefaultFloatEnvironment environment;
  if (dimensions < 1 || dimensions > pair_histogram_detail::dimension_limit)
    throw UsageError("the number of dimensions must be 1, 2 or 3, not " + std::to_string(dimensions));
  if (dimensions == pair_histogram_detail::dimension_limit && !histogram.flat.empty())
    throw UsageError("all points have the same " + histogram.flat +
                     " and the box is thin there, so that shells in space do not fit them; count in the plane of the "
                     "points (dimensions), or in all three dimensions if that is meant");
  if (histogram.edges.size() != histogram.counts.size() + 1)
    throw UsageError("the histogram must have one edge more than counts");
  if (!frames.shells.empty() && frames.shells.size() != histogram.counts.size())
    throw UsageError("the histogram must have as many counts as shells");

  const double neighbours_of_a_pair = frames.cross ? 1 : 2;  // within a set, both points of a pair gain a neighbour
  PairHistogramRadialDistribution result;
  double coordination = 0;
  for (std::size_t bin = 0; bin < histogram.counts.size(); ++bin) {
    const double size = frames.shells.empty()
                            ? pair_histogram_detail::shell(histogram.edges[bin], histogram.edges[bin + 1], dimensions)
                            : frames.shells[bin];
    const auto count = static_cast<double>(histogram.counts[bin]);
    const double neighbours = frames.points > 0 ? neighbours_of_a_pair * count / frames.points : 0;
    coordination += neighbours;
    result.g.push_back(frames.pairs_per_volume > 0 && size > 0 ? count / (frames.pairs_per_volume * size) : 0);
    result.density.push_back(size > 0 ? neighbours / size : 0);
    result.coordination.push_back(coordination);
  }
  return result;
}

PairHistogramRadialDistribution pair_histogram_radial_distribution(const PairHistogramResult& histogram,
                                                                   std::int64_t dimensions, std::int64_t points,
                                                                   std::int64_t others, double volume,
                                                                   std::int64_t frames) {
  const core::DefaultFloatEnvironment environment;
  if (points < 0 || others < 0) throw UsageError("the numbers of points and others must not be negative");
  if (frames < 1) throw UsageError("the number of frames must be at least 1, not " + std::to_string(frames));
  if (!(volume > 0) || std::isinf(volume))
    throw UsageError("the volume must be a finite number above zero, not " + core::number_text(volume));
  const auto n = static_cast<double>(points);
  const auto count = static_cast<double>(frames);
  const double pairs = others > 0 ? n * static_cast<double>(others) : n * (n - 1) / 2;
  return pair_histogram_radial_distribution(
      histogram, dimensions, {.points = count * n, .pairs_per_volume = count * pairs / volume, .cross = others > 0});
}

}  // namespace gradus
