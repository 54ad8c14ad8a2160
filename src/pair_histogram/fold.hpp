// Moves the points of an unwrapped trajectory back into their periodic box.
#pragma once

#include <stop_token>
#include <vector>

#include "gradus/array.hpp"

namespace gradus::pair_histogram_detail {

/// Returns a copy of the points (n x d, in host memory) with each coordinate outside [origin, origin + length] moved
/// into the box. The result is the exact x - k * length for an integer k, rounded once to T. If it rounds to a value
/// outside the box, the nearest T inside replaces it. "Inside" has the meaning of pair_histogram(), which compares x -
/// origin with the length in double. `box` holds d lengths; `origin` holds d coordinates, or is empty for zeros. For a
/// triclinic cell `box` holds nine numbers, and a point outside the box around the cell moves by lattice vectors, also
/// exactly. Throws UsageError if the box is invalid. Throws InputError, with a message that begins with `what`, for
/// NaN, infinity, coordinates above 2^500, and columns whose box contains no T. Throws InterruptedError after a stop
/// request.
template <class T>
Matrix<T> fold(MatrixView<const T> points, const char* what, const std::vector<double>& box,
               const std::vector<double>& origin, const std::stop_token& stop);

}  // namespace gradus::pair_histogram_detail
