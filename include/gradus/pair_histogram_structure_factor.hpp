/// Static structure factors S(q) of points, for X-ray and neutron scattering.
///
/// Direct sum in a periodic box. For a vector q = 2 pi (h A + k B + l C) of the reciprocal lattice with integers h, k,
/// l:
///
///   S(q) = |sum over the points of exp(-i q . r)|^2 / n.
///
/// Canonical result: the same bits for any number of threads. The fraction of a point along each vector of the box is
/// x / L, or in a cell (x A_x + y A_y) + z A_z, minus its floor. The exponential along a vector is cos and sin of 2 pi
/// times the fractional part of h times that fraction, which the C library computes. The exponential of a point is the
/// product of the exponentials along the vectors, in their order. Point i is added to sum i mod 8, in increasing order
/// of i, and the eight sums are added in order. All operations are in IEEE double, none fused. The error of the sum of
/// n exponentials is at most n (n / 8 + 30) 2^-53, plus n times the error of a phase, 2 pi |h| |x| / L times 2^-52 for
/// each vector of the box. Usually it is near sqrt(n) 2^-53.
///
/// Debye's sum in open space. With the counts c_b of a histogram whose bins have the middles r_b and widths w_b:
///
///   S(q) = 1 + (2 / n) sum over the bins of c_b sin(q r_b) / (q r_b).
///
/// Every pair is off its bin's middle by at most w_b / 2, and sin(x) / x changes by less than 0.437 per unit of x, so
/// the error is at most (2 / n) 0.437 q sum of c_b w_b / 2, which `bound` holds. Rounding adds at most S(0) times the
/// number of bins times 2^-52.
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/array.hpp"
#include "gradus/execution.hpp"
#include "gradus/export.hpp"
#include "gradus/pair_histogram.hpp"

namespace gradus {

/// The bins of wave numbers: `width` wide, from 0 to q_max.
struct StructureFactorBins {
  double q_max = 0;
  double width = 0;
  std::int64_t vectors_per_bin = 0;  ///< sums over at most this many vectors of each bin; 0: over all of them

  std::int64_t count() const;
  std::int64_t bin(double wave) const;
};

/// Returns the integers h, k, l of the vectors of the reciprocal lattice that are shorter than q_max, one vector of
/// each pair of opposites, in increasing order of h, then k, then l. With `vectors_per_bin`, keeps vectors that are
/// evenly spread over the vectors of their bin. `box` is a box as for structure_factor(). If it is a layer in three
/// dimensions, `is_flat` is true, and l is 0. Throws UsageError if the bins are invalid, if there are more than a
/// million, if no vector is shorter than q_max, or if q_max is too far: more than 10^8 vectors, or integers above 4096.
GRADUS_EXPORT Matrix<std::int64_t> structure_factor_vectors(const std::vector<double>& box,
                                                            const StructureFactorBins& bins, bool is_flat = false);

/// Returns the length of each vector in this box: the wave numbers |q|.
GRADUS_EXPORT std::vector<double> structure_factor_waves(const std::vector<double>& box,
                                                         MatrixView<const std::int64_t> vectors);

/// Returns S(q) of `points` (n x d, 1 <= d <= 3, n >= 1, in host memory) for each row of `vectors` (m x d integers, at
/// most 4096 in magnitude). `box` has d lengths, or the nine components of a cell, as PairHistogramOptions::box. Runs
/// on CPU threads. Throws UsageError for an invalid box, shape or integer, InputError for NaN and infinity, and
/// InterruptedError after a stop request. Complexity: O(n m).
GRADUS_EXPORT std::vector<double> structure_factor(MatrixView<const double> points, const std::vector<double>& box,
                                                   MatrixView<const std::int64_t> vectors,
                                                   const Execution& execution = {});

struct DebyeStructureFactor {
  std::vector<double> s;      ///< S(q)
  std::vector<double> bound;  ///< greatest error that the widths of the bins cause
};

/// Returns Debye's sum for each q >= 0. `histogram` counts the pairs of `points` points in open space. Throws
/// UsageError if pairs are missing (PairHistogramResult::below or beyond), or if q is negative or not finite.
GRADUS_EXPORT DebyeStructureFactor debye_structure_factor(const PairHistogramResult& histogram, std::int64_t points,
                                                          const std::vector<double>& q);

}  // namespace gradus
