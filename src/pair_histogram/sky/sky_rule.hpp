// The canonical rule of pair_counts(): the slot of a pair, decided by exact arithmetic
// (gradus/pair_histogram_counts.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "gradus/pair_histogram_counts.hpp"

namespace gradus::pair_histogram_detail {

/// The bins of both axes. On each axis, place 0 is below the first edge, place i is bin i - 1, and the last place is at
/// or beyond the last edge. The slot of a pair is first place * second_places() + second place.
struct SkyBins {
  std::array<std::vector<double>, 2> edges;
  /// The squares of the first edges, if they are chords of angles; otherwise empty. The rule then compares these
  /// squares, and `edges` holds their rounded roots.
  std::vector<double> squares;

  /// Returns the bins of valid options.
  explicit SkyBins(const PairCountsOptions& options);
  std::int64_t places(std::size_t axis) const { return static_cast<std::int64_t>(edges[axis].size()) + 1; }
  std::int64_t slots() const { return places(0) * places(1); }
  double end(std::size_t axis) const { return edges[axis].back(); }
};

/// A point with the line of sight as its last coordinate.
using SkyPoint = std::array<double, 3>;

struct SkyRule {
  SkyBins bins;
  bool is_across = true;     ///< true: axes r_p and pi; false: s and mu
  bool is_midpoint = false;  ///< true: the line of sight goes through the midpoint; false: it is the last coordinate
  bool is_periodic = false;
  SkyPoint box{};                         ///< lengths in the order of a SkyPoint's coordinates
  std::array<std::int64_t, 3> columns{};  ///< column of the caller's points for each coordinate of a SkyPoint

  /// The options must be valid.
  explicit SkyRule(const PairCountsOptions& options);
  template <class T>
  SkyPoint point(const T* row) const {
    return {static_cast<double>(row[columns[0]]), static_cast<double>(row[columns[1]]),
            static_cast<double>(row[columns[2]])};
  }
  std::int64_t slot(const SkyPoint& first, const SkyPoint& second) const;
};

/// Returns 4 sin^2(degrees / 2), the squared chord of an angle from 0 to 180 degrees, rounded to double.
double squared_chord_of(double degrees);

}  // namespace gradus::pair_histogram_detail
