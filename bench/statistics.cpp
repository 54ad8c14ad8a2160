#include "bench/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "gradus/error.hpp"

namespace gradus::bench {

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

}  // namespace gradus::bench
