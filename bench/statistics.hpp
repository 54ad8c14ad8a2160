// Summary statistics of repeated measurements.
#pragma once

#include <vector>

namespace gradus::bench {

struct Summary {
  double median = 0;
  double lowest = 0;
  double highest = 0;
  double deviation = 0;  ///< median absolute deviation from the median, which is robust against outliers
};

/// Returns the middle sample, or the mean of the two middle samples. Throws Error if there are no samples or if a
/// sample is NaN.
double median(std::vector<double> samples);

Summary summarize(const std::vector<double>& samples);

/// The ratio of two quantities, estimated from samples of both.
struct Ratio {
  double estimate = 1;
  double low = 0;  ///< lower end of the interval; 0 if there are too few samples (`high` is then infinity)
  double high = 0;
};

/// Returns the Hodges-Lehmann estimate, the median of the ratios of all pairs of samples. The interval is the one of
/// the Wilcoxon-Mann-Whitney rank test, which cuts off some of the smallest and some of the largest ratios. The
/// interval misses the true ratio with probability at most `doubt`. This holds for any distribution of the samples if
/// both quantities have the same distribution up to the factor. A single outlier has little influence. Samples must be
/// positive. Uses at most 100 samples of each quantity.
Ratio ratio_of(const std::vector<double>& numerators, const std::vector<double>& denominators, double doubt);

/// Returns the least number of samples per quantity for which the interval of ratio_of() is bounded.
int fewest_samples(double doubt);

/// Returns the median of the ratios of alternating pairs of measurements. The interval is the one of the sign test,
/// which cuts off some of the smallest and some of the largest ratios. The interval misses the true median with
/// probability at most `doubt`. The only assumption is that the pairs are independent.
Ratio median_ratio(std::vector<double> ratios, double doubt);

/// Returns the least number of pairs for which the interval of median_ratio() is bounded.
int fewest_pairs(double doubt);

}  // namespace gradus::bench
