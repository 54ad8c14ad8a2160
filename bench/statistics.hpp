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

}  // namespace gradus::bench
