// structure_factor_vectors(), structure_factor_waves()
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "core/float_environment.hpp"
#include "core/text.hpp"
#include "gradus/pair_histogram_structure_factor.hpp"
#include "pair_histogram/api/steps.hpp"
#include "pair_histogram/cell.hpp"
#include "pair_histogram/prepare.hpp"

namespace gradus {

namespace room = pair_histogram_detail;

namespace {

/// The wave vectors that fit a box.
class ReciprocalLattice {
 public:
  explicit ReciprocalLattice(const std::vector<double>& box)
      : columns_(room::is_triclinic(box) ? room::dimension_limit : std::ssize(box)) {
    if (box.empty()) throw UsageError(about("box") + "a structure factor on a grid needs a periodic box");
    room::check_box(box, {}, columns_);
    const room::Cell cell = room::is_triclinic(box) ? room::Cell(box) : room::Cell();
    for (std::size_t vector = 0; vector < static_cast<std::size_t>(columns_); ++vector)
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (room::is_triclinic(box)) vectors_[vector][axis] = cell.reciprocal[vector][axis];
        else vectors_[vector][axis] = vector == axis ? 1 / box[axis] : 0;
      }
    for (std::size_t vector = 0; vector < static_cast<std::size_t>(columns_); ++vector)
      lengths_[vector] =
          room::is_triclinic(box) ? std::hypot(box[3 * vector], box[3 * vector + 1], box[3 * vector + 2]) : box[vector];
  }

  /// Returns the smallest wave number. If the box is flat, waves along its third vector do not count.
  static double smallest_wave(const std::vector<double>& box, bool is_flat) {
    ReciprocalLattice reduced(box);
    if (room::is_triclinic(box)) {
      const room::Cell cell = room::Cell::reduced(box);
      for (std::size_t vector = 0; vector < 3; ++vector)
        std::copy_n(cell.reciprocal[vector], 3, reduced.vectors_[vector].begin());
    }
    const std::int64_t directions = is_flat ? 2 : reduced.columns_;
    double smallest = std::numeric_limits<double>::infinity();
    // The integers of the shortest vector of a reduced lattice are -1, 0 or 1. `code` has them as digits of base 3.
    for (int code = 0; code < 27; ++code) {
      const std::int64_t integers[] = {code % 3 - 1, directions > 1 ? code / 3 % 3 - 1 : 0,
                                       directions > 2 ? code / 9 - 1 : 0};
      if (const double wave = reduced.wave(integers); wave > 0) smallest = std::min(smallest, wave);
    }
    return smallest;
  }

  std::int64_t columns() const { return columns_; }
  /// Returns the largest integer along a vector that a wave up to q_max can have.
  double limit(std::size_t vector, double q_max) const {
    return std::floor(q_max * lengths_[vector] / (2 * std::numbers::pi) * (1 + 1e-12));
  }
  double wave(const std::int64_t* integers) const {
    double square = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      double component = 0;
      for (std::size_t vector = 0; vector < static_cast<std::size_t>(columns_); ++vector)
        component += static_cast<double>(integers[vector]) * vectors_[vector][axis];
      square += component * component;
    }
    return 2 * std::numbers::pi * std::sqrt(square);
  }

 private:
  std::int64_t columns_;
  std::array<std::array<double, 3>, 3> vectors_{};  ///< without the factor 2 pi
  std::array<double, 3> lengths_{};                 ///< of the box's vectors
};

/// Returns the numbers of the kept vectors of each bin, at most `most` per bin, evenly spread. `bins` holds the bin of
/// each vector.
std::vector<std::size_t> spread(const std::vector<std::int64_t>& bins, std::int64_t count, std::int64_t most) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(count));
  for (const std::int64_t bin : bins) ++sizes[static_cast<std::size_t>(bin)];
  std::vector<std::int64_t> seen(sizes.size());
  std::vector<std::int64_t> taken(sizes.size());
  std::vector<std::size_t> kept;
  for (std::size_t vector = 0; vector < bins.size(); ++vector) {
    const auto bin = static_cast<std::size_t>(bins[vector]);
    const std::int64_t wanted = std::min(most, sizes[bin]);
    if (taken[bin] < wanted && seen[bin] == taken[bin] * sizes[bin] / wanted) {
      kept.push_back(vector);
      ++taken[bin];
    }
    ++seen[bin];
  }
  return kept;
}

}  // namespace

std::int64_t StructureFactorBins::count() const { return static_cast<std::int64_t>(std::ceil(q_max / width)); }
std::int64_t StructureFactorBins::bin(double wave) const {
  return std::min(static_cast<std::int64_t>(wave / width), count() - 1);
}

std::vector<double> structure_factor_waves(const std::vector<double>& box, MatrixView<const std::int64_t> vectors) {
  const core::DefaultFloatEnvironment environment;
  const ReciprocalLattice lattice(box);
  if (vectors.columns() != lattice.columns())
    throw UsageError("vectors need as many columns as the box has directions");
  std::vector<double> waves;
  for (std::int64_t row = 0; row < vectors.rows(); ++row) waves.push_back(lattice.wave(vectors.row(row)));
  return waves;
}

Matrix<std::int64_t> structure_factor_vectors(const std::vector<double>& box, const StructureFactorBins& bins,
                                              bool is_flat) {
  const core::DefaultFloatEnvironment environment;
  constexpr double most_vectors = 1e8;
  constexpr double most_bins = 1e6;
  if (!(bins.width > 0 && bins.width <= bins.q_max) || std::isinf(bins.q_max) || bins.vectors_per_bin < 0)
    throw UsageError("bins of wave numbers need a width above 0 and at most q_max; they are " +
                     core::number_text(bins.width) + " wide up to " + core::number_text(bins.q_max));
  if (bins.q_max / bins.width > most_bins)
    throw UsageError("a width of " + core::number_text(bins.width) + " makes more than a million bins of wave numbers");
  const ReciprocalLattice lattice(box);
  const auto columns = static_cast<std::size_t>(lattice.columns());
  std::array<std::int64_t, 3> limits{};
  double examined = 1;
  for (std::size_t axis = 0; axis < columns; ++axis) {
    const double limit = is_flat && axis == 2 ? 0 : lattice.limit(axis, bins.q_max);
    examined *= 2 * limit + 1;
    if (limit > static_cast<double>(room::greatest_integer) || examined > most_vectors)
      throw UsageError("q_max " + core::number_text(bins.q_max) +
                       " is too far: at most 10^8 vectors of the reciprocal lattice, with integers up to 4096, are "
                       "possible");
    limits[axis] = static_cast<std::int64_t>(limit);
  }
  std::vector<std::int64_t> found;
  std::vector<std::int64_t> of_bins;
  std::array<std::int64_t, 3> at{};
  // Half of the vectors: the first integer that is not zero is positive.
  for (at[0] = 0; at[0] <= limits[0]; ++at[0])
    for (at[1] = at[0] > 0 ? -limits[1] : 0; at[1] <= limits[1]; ++at[1])
      for (at[2] = at[0] > 0 || at[1] > 0 ? -limits[2] : 1; at[2] <= limits[2]; ++at[2]) {
        const double wave = lattice.wave(at.data());
        if (!(wave < bins.q_max)) continue;
        found.insert(found.end(), at.data(), at.data() + columns);
        of_bins.push_back(bins.bin(wave));
      }
  if (found.empty())
    throw UsageError("no wave that fits the box is below q_max " + core::number_text(bins.q_max) +
                         "; the smallest wave number of this box is " +
                         core::number_text(ReciprocalLattice::smallest_wave(box, is_flat)),
                     {.code = error_code::out_of_range, .argument = "q_max"});
  const std::int64_t most = bins.vectors_per_bin > 0 ? bins.vectors_per_bin : std::numeric_limits<std::int32_t>::max();
  const std::vector<std::size_t> kept = spread(of_bins, bins.count(), most);
  Matrix<std::int64_t> vectors(std::ssize(kept), lattice.columns());
  for (std::size_t row = 0; row < kept.size(); ++row)
    std::copy_n(found.data() + kept[row] * columns, columns, vectors.row(static_cast<std::int64_t>(row)));
  return vectors;
}

}  // namespace gradus
