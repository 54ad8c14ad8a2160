// Summary statistics of repeated measurements.
#pragma once

#include <vector>

namespace gradus::bench {

struct Summary {
  double median = 0;
  double lowest = 0;
  double highest = 0;
  double deviation = 0;  ///< median absolute deviation from the median, robust against outliers
};

/// Returns the middle sample, or the mean of the two in the middle. Throws Error if there are no samples or one is NaN.
double median(std::vector<double> samples);

Summary summarize(const std::vector<double>& samples);

/// The ratio of two quantities, estimated from samples of both.
struct Ratio {
  double estimate = 1;
  double low = 0;  ///< 0 (and infinity for `high`) if there are too few samples
  double high = 0;
};

/// Returns the Hodges-Lehmann estimate, the median of the ratios of all pairs of samples, with the interval of the
/// Wilcoxon-Mann-Whitney rank test: some of the smallest and of the largest ratios are cut off. The interval misses the
/// true ratio with probability at most `doubt`, for any distribution of the samples, provided both quantities have the
/// same one up to the factor. A single outlier has little influence. Samples must be positive. Uses at most 100 samples
/// of each quantity.
Ratio ratio_of(const std::vector<double>& numerators, const std::vector<double>& denominators, double doubt);

/// Returns the least number of samples per quantity for which that interval is bounded.
int fewest_samples(double doubt);

/// Returns the median of ratios of alternating pairs of measurements, with the interval of the sign test: some of the
/// smallest and of the largest ratios are cut off. The interval misses the true median with probability at most
/// `doubt`. The only assumption is that the pairs are independent.
Ratio median_ratio(std::vector<double> ratios, double doubt);

/// Returns the least number of pairs for which that interval is bounded.
int fewest_pairs(double doubt);

}  // namespace gradus::bench
