// Points of an unwrapped trajectory, moved back into their periodic box.
#pragma once

#include <stop_token>
#include <vector>

#include "gradus/array.hpp"

namespace gradus::pair_histogram_detail {

/// A copy of the points (n x d, in host memory) in which each coordinate outside [origin, origin + length] is moved
/// into it by a whole number of lengths: the exact x - k * length, rounded once to T. Where that rounds to a number
/// outside the box, the next one inside is taken; inside is what pair_histogram() takes for inside, which compares
/// x - origin with the length in double. `box`: d lengths; `origin`: d coordinates, or empty for zeros. In a triclinic
/// cell, of nine numbers, a point outside the box around it is moved by whole vectors, in the same exact way.
/// UsageError for impossible boxes; InputError that begins with `what` for NaN, infinity and coordinates above 2^500,
/// and for a column of whose box no T lies inside; InterruptedError after a stop request.
template <class T>
Matrix<T> fold(MatrixView<const T> points, const char* what, const std::vector<double>& box,
               const std::vector<double>& origin, const std::stop_token& stop);

}  // namespace gradus::pair_histogram_detail
