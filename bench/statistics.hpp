// The few numbers that stand for a set of repeated measurements.
#pragma once

#include <vector>

namespace gradus::bench {

struct Summary {
  double median = 0;
  double lowest = 0;
  double highest = 0;
  double deviation = 0;  ///< the median of the samples' distances from the median: deaf to a few outliers
};

/// The middle one, or the mean of the two in the middle. gradus::Error where there is none, or one is NaN.
double median(std::vector<double> samples);

Summary summarize(const std::vector<double>& samples);

/// How many times as large one quantity is as another, by samples of both.
struct Ratio {
  double estimate = 1;
  double low = 0;  ///< without enough samples nothing bounds it: 0, and infinity above
  double high = 0;
};

/// The estimate of Hodges and Lehmann, the median of the ratios of all pairs of samples, in the interval of the rank
/// test of Wilcoxon, Mann and Whitney: between a few of the least and of the greatest of these ratios. It misses the
/// true ratio in at most the share `doubt` of all cases, whatever the distribution of the samples, as long as both have
/// the same but for the factor: one sample far off moves it little. All samples must be positive; of more than 100 of a
/// quantity, 100 are looked at.
Ratio ratio_of(const std::vector<double>& numerators, const std::vector<double>& denominators, double doubt);

/// The least number of samples of both quantities with which that interval has bounds.
int fewest_samples(double doubt);

/// The median of ratios, each of a pair of measurements that took turns, in the interval of the sign test: between a
/// few of the least and of the greatest of them. It misses the true median in at most the share `doubt` of all cases.
/// All that it assumes is that the pairs are independent of each other, whatever was the matter with each.
Ratio median_ratio(std::vector<double> ratios, double doubt);

/// The least number of pairs with which that interval has bounds.
int fewest_pairs(double doubt);

}  // namespace gradus::bench
