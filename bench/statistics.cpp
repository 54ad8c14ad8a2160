#include "bench/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/evenly_spread.hpp"
#include "gradus/error.hpp"

namespace gradus::bench {

namespace {

/// Determines the interval of ratio_of() for `first` samples of one quantity and `second` samples of the other
/// quantity. There are `first` x `second` ratios. Returns r if the interval extends from the r-th least to the r-th
/// greatest ratio. The interval misses the true ratio with probability at most `doubt`. Returns 0 if no such interval
/// exists.
std::size_t ratios_outside(std::size_t first, std::size_t second, double doubt) {
  // ways[u] is the number of orderings of all samples in which exactly u pairs are inverted. A pair consists of one
  // sample of the first quantity and one sample of the second quantity. The pair is inverted if the sample of the first
  // quantity comes later in the ordering. The numbers ways[u] are the coefficients of a Gaussian binomial: the product
  // of (1 - q^(first + i)) / (1 - q^i) for i = 1 .. second.
  std::vector<double> ways(first * second + 1, 0.0);
  ways.front() = 1;
  double all = 1;
  for (std::size_t i = 1; i <= second; ++i) {
    for (std::size_t u = ways.size() - 1; u >= first + i; --u) ways[u] -= ways[u - first - i];
    for (std::size_t u = i; u < ways.size(); ++u) ways[u] += ways[u - i];
    all *= static_cast<double>(first + i) / static_cast<double>(i);
  }
  std::size_t outside = 0;
  double sum = ways.front();
  while (outside < ways.size() / 2 && sum <= 0.5 * doubt * all) sum += ways[++outside];
  return outside;
}

/// Determines the interval of median_ratio() for `pairs` ratios. Returns r if the interval extends from the r-th least
/// to the r-th greatest ratio, or 0 if no interval is long enough. Each ratio is below the true median with probability
/// 1/2, like a coin toss.
std::size_t pairs_outside(std::size_t pairs, double doubt) {
  // The probability that exactly `outside` ratios are below the true median.
  double probability = std::pow(0.5, static_cast<double>(pairs));
  double sum = probability;
  std::size_t outside = 0;
  while (outside < pairs / 2 && sum <= 0.5 * doubt) {
    ++outside;
    probability *= static_cast<double>(pairs - outside + 1) / static_cast<double>(outside);
    sum += probability;
  }
  return outside;
}

std::vector<double> at_most_100(const std::vector<double>& samples) {
  constexpr std::size_t most = 100;
  if (samples.size() <= most) return samples;
  std::vector<double> some;
  for (std::size_t index = 0; index < most; ++index)
    some.push_back(samples[static_cast<std::size_t>(
        core::evenly_spread(static_cast<std::int64_t>(index), most, static_cast<std::int64_t>(samples.size())))]);
  return some;
}

}  // namespace

double median(std::vector<double> samples) {
  if (samples.empty()) throw Error("no samples to take the median of");
  if (std::any_of(samples.begin(), samples.end(), [](double sample) { return std::isnan(sample); }))
    throw Error("a sample is not a number");
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  if (samples.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(samples.begin(), middle));
}

Summary summarize(const std::vector<double>& samples) {
  Summary summary;
  summary.median = median(samples);
  summary.lowest = *std::min_element(samples.begin(), samples.end());
  summary.highest = *std::max_element(samples.begin(), samples.end());
  std::vector<double> distances;
  for (const double sample : samples) distances.push_back(std::abs(sample - summary.median));
  summary.deviation = median(std::move(distances));
  return summary;
}

Ratio ratio_of(const std::vector<double>& numerators, const std::vector<double>& denominators, double doubt) {
  const std::vector<double> above = at_most_100(numerators);
  const std::vector<double> below = at_most_100(denominators);
  std::vector<double> ratios;
  for (const double numerator : above)
    for (const double denominator : below) {
      if (!(numerator > 0 && denominator > 0)) throw Error("a ratio of samples that are not positive");
      ratios.push_back(numerator / denominator);
    }
  Ratio ratio{median(ratios), 0, std::numeric_limits<double>::infinity()};
  const std::size_t outside = ratios_outside(above.size(), below.size(), doubt);
  if (outside == 0) return ratio;
  std::ranges::sort(ratios);
  ratio.low = ratios[outside - 1];
  ratio.high = ratios[ratios.size() - outside];
  return ratio;
}

Ratio median_ratio(std::vector<double> ratios, double doubt) {
  Ratio ratio{median(ratios), 0, std::numeric_limits<double>::infinity()};
  const std::size_t outside = pairs_outside(ratios.size(), doubt);
  if (outside == 0) return ratio;
  std::ranges::sort(ratios);
  ratio.low = ratios[outside - 1];
  ratio.high = ratios[ratios.size() - outside];
  return ratio;
}

int fewest_pairs(double doubt) {
  std::size_t count = 2;
  while (pairs_outside(count, doubt) == 0) ++count;
  return static_cast<int>(count);
}

int fewest_samples(double doubt) {
  std::size_t count = 2;
  while (ratios_outside(count, count, doubt) == 0) ++count;
  return static_cast<int>(count);
}

}  // namespace gradus::bench
