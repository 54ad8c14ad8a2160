// A lower bound for the inertia of every clustering of points in two columns, by potentials.
//
// Let every point x have a potential a_x >= 0, and let F(y) be the sum of w (a_x - |x - y|^2)+ over the points. For any
// k centers, a point pays at least a_x less the sum of (a_x - |x - y|^2)+ over the centers y. The inertia is therefore
// at least
//
//   sum of w a_x - k max_y F(y).
//
// This is weak duality of the linear program of facility location, with a facility at every place of the plane. The
// maximum is bounded by branch and bound over squares. In a square, the terms that are positive everywhere are a
// quadratic function, whose maximum is known, and the others are bounded one by one.
//
// The potentials follow from ascent along the gradient of this bound, on a coarse grid. Any potentials give a bound.
#pragma once

#include <cstdint>
#include <stop_token>

#include "kmeans/certify/grouped_rows.hpp"

namespace gradus::kmeans_detail {

/// Returns the bound in units of the grouped rows, and for these rows. They have two columns. The search compares about
/// `budget` pairs of cells. With a smaller budget, its cells are larger, and the bound is smaller.
double plane_bound(const GroupedRows& rows, std::int64_t clusters, double budget, int threads,
                   const std::stop_token& stop);

/// Returns the bytes that plane_bound() needs in addition to the rows.
std::uint64_t bytes_of_plane_bound();

}  // namespace gradus::kmeans_detail
