// Moves the points of an unwrapped trajectory back into the trajectory's periodic box.
#pragma once

#include <stop_token>
#include <vector>

#include "gradus/array.hpp"

namespace gradus::pair_histogram_detail {

/// Returns a copy of the points (n x d, in host memory) in which each coordinate outside [origin, origin + length] is
/// moved into the box. The new coordinate is the exact x - k * length for an integer k, rounded once to T. If the
/// rounded coordinate is outside the box, it is replaced by the nearest T inside. "Inside" means, as in
/// pair_histogram(), that x - origin in double is at most the length.
///
/// `box` holds d lengths, and an empty `origin` means zeros. If `box` holds the nine numbers of a triclinic cell,
/// points outside the box around the cell are moved by lattice vectors. The new coordinates are again exact, then
/// rounded once.
///
/// Throws UsageError for an invalid box. Throws InputError about `what` for NaN, infinity, coordinates above 2^500, and
/// columns whose box contains no T. Throws InterruptedError after a stop request.
template <class T>
Matrix<T> fold(MatrixView<const T> points, const char* what, const std::vector<double>& box,
               const std::vector<double>& origin, const std::stop_token& stop);

}  // namespace gradus::pair_histogram_detail
