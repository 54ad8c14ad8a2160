// The bins of a histogram as every variant sees them: increasing squared distances.
//
// The canonical bin of a squared distance s follows from sqrt(s), either by a division and truncation or by a search of
// the edges. Square root, division and truncation are monotonic, even in IEEE arithmetic. For each bin there is
// therefore a smallest double s that is in the bin or past it. The class finds these thresholds once, by bisection.
// With them a variant gives the canonical result to the last bit without a square root or a division.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "gradus/pair_histogram.hpp"

namespace gradus::pair_histogram_detail {

/// Upper limit for the number of bins. With more bins, a job would spend most of its time and memory on the bins
/// instead of the pairs.
inline constexpr std::int64_t bin_limit = std::int64_t{1} << 24;

class Bins {
 public:
  Bins() = default;
  /// Leaves out bins that begin at or past the cutoff. Throws UsageError for invalid bins and InterruptedError after a
  /// stop request.
  explicit Bins(const PairHistogramBins& bins, const std::stop_token& stop = {});
  /// Returns an upper limit of the bytes that a Bins object for these bins occupies. Throws UsageError if there are
  /// more than bin_limit bins.
  static std::uint64_t bytes(const PairHistogramBins& bins);

  std::int64_t count() const { return static_cast<std::int64_t>(edges_.size()) - 1; }
  /// Returns count() + 1 increasing distances. Bin i holds the distances from edge i (inclusive) to the next edge
  /// (exclusive). For uniform bins, edge i is the smallest double whose quotient by the width is at least i. Except for
  /// rounding, this edge is i times the width.
  std::span<const double> edges() const { return edges_; }
  /// Returns the edges for display. Edges of uniform bins are rounded multiples of the width. If there is a cutoff, the
  /// last edge is the cutoff that the caller gave.
  std::vector<double> nominal_edges() const;
  /// Returns count() + 1 thresholds. A threshold is the smallest squared distance at or past its edge, or 0 if no pair
  /// can be below the edge.
  std::span<const double> thresholds() const { return thresholds_; }
  /// Returns the width of uniform bins, 0 for other bins.
  double width() const { return width_; }
  /// Returns the last edge. A pair at this distance or at a greater distance is in no bin.
  double reach() const { return edges_.back(); }

  std::int64_t beyond() const { return count() + 1; }

  /// Returns the number of slots. Slot 0 counts pairs below the first edge, slots 1 to count() are the bins, and the
  /// last slot counts pairs beyond the last edge.
  std::int64_t slots() const { return count() + 2; }
  /// Returns the canonical slot of a squared distance. O(log bins).
  std::int64_t slot(double squared) const;

 private:
  double width_ = 0;
  double end_ = 0;  ///< the last edge, for display
  std::vector<double> edges_;
  std::vector<double> thresholds_;
};

}  // namespace gradus::pair_histogram_detail
