// The bins of a histogram as every variant sees them: increasing squared distances.
//
// The canonical bin of a squared distance s is a matter of sqrt(s), a division and an integer part, or of sqrt(s) and
// the edges. Square root, division and integer part never decrease where their argument grows, in IEEE arithmetic too,
// so for each bin there is a least double s that lies in it or past it. With these thresholds, found once by bisection,
// no variant needs a square root or a division for its answer to be the canonical one to the last bit.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "gradus/pair_histogram.hpp"

namespace gradus::pair_histogram_detail {

/// Above this the bins themselves would be the problem.
inline constexpr std::int64_t bin_limit = std::int64_t{1} << 24;

class Bins {
 public:
  Bins() = default;
  /// UsageError for what no bins can be made of. A bin that begins at the cutoff or past it is left out.
  /// InterruptedError after a stop request.
  explicit Bins(const PairHistogramBins& bins, const std::stop_token& stop = {});
  /// Bytes that such bins take at most; UsageError where there are more than bin_limit.
  static std::uint64_t bytes(const PairHistogramBins& bins);

  std::int64_t count() const { return static_cast<std::int64_t>(edges_.size()) - 1; }
  /// count() + 1 increasing distances: bin i holds edge i <= distance < edge i + 1 also where bins are uniform. There
  /// edge i is the least double that divided by the width gives i or more: i times the width but for rounding.
  std::span<const double> edges() const { return edges_; }
  /// The same to be read: of uniform bins the multiples of the width as they round, and the cutoff as it was given.
  std::vector<double> nominal_edges() const;
  /// count() + 1: threshold i is the least squared distance at edge i or past it; the first is 0 if no pair is below.
  std::span<const double> thresholds() const { return thresholds_; }
  /// Width of uniform bins, 0 for others.
  double width() const { return width_; }
  /// No pair at this distance or farther is in a bin.
  double reach() const { return edges_.back(); }

  /// The slot of what is beyond the last bin.
  std::int64_t beyond() const { return count() + 1; }

  /// Slots number the bins from 1: slot 0 holds what is below the first edge, slot count() + 1 what is beyond the last.
  std::int64_t slots() const { return count() + 2; }
  /// The canonical slot of a squared distance, O(log bins).
  std::int64_t slot(double squared) const;

 private:
  double width_ = 0;
  double end_ = 0;  ///< the last edge, to be read
  std::vector<double> edges_;
  std::vector<double> thresholds_;
};

}  // namespace gradus::pair_histogram_detail
