// A lower bound for the inertia of every clustering, from groups of points that are apart from each other.
//
// Let V_g be the Voronoi cells of the groups' centers, and let k centers be anywhere. A node M of the tree of groups
// has j of these centers in its cells. Each of its points x pays at least min(D(x, Y), b_x), where Y are these j
// centers and b_x is the squared distance from x to the other cells. Let m be the mean of M, W its weight, S its
// scatter matrix with the eigenvalues l_1 >= l_2 >= ..., and w the weight of x. For j >= 1, the points of M pay at
// least
//
//   f_M(j) = sum of w min(|x - m|^2, b_x - l_1 / W) - (l_1 + ... + l_(j-1)).
//
// Proof. Let Q be the points that pay b_x, s their weight, and K the others, with mean m_K. The points of K pay at
// least sum_K w |x - m|^2 - W_K |m_K - m|^2 - (l_1 + ... + l_(j-1)), because the clusters' means, less m_K, span j - 1
// dimensions. Let u be the direction of m_K - m and t its length. As the sum of w (x - m) over M is zero,
// l_1 >= sum_K w ((x - m) u)^2 + sum_Q w ((x - m) u)^2 >= W_K t^2 + (W_K t)^2 / s = W_K t^2 W / s. Hence
// W_K |m_K - m|^2 <= s l_1 / W, which is charged to the points of Q.
//
// For j = 0 they pay at least the sum of w b_x. Two parts of M share its j centers, so that M pays at least the least
// sum of f_left(i) + f_right(j - i), too. All groups together have k centers and b_x is infinite: f_root(k) is the
// bound. Every step is rounded down.
#pragma once

#include <cstdint>
#include <stop_token>

#include "kmeans/certify/grouped_rows.hpp"

namespace gradus::kmeans_detail {

struct GroupBound {
  double value = 0;           ///< in units of the grouped rows, and for these rows
  bool is_of_groups = false;  ///< false if the spectrum of all points alone gives the bound
  double inertia = 0;         ///< about the inertia of the groups, in the same units
};

GroupBound group_bound(const GroupedRows& rows, std::int64_t clusters, int threads, const std::stop_token& stop);

/// Returns the bytes that group_bound() needs in addition to the rows.
std::uint64_t bytes_of_group_bound(std::int64_t rows, std::int64_t columns, std::int64_t clusters, int threads);

}  // namespace gradus::kmeans_detail
