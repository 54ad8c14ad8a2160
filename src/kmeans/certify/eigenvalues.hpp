// Upper bounds for sums of the largest eigenvalues of a symmetric matrix.
#pragma once

#include <cstdint>
#include <vector>

namespace gradus::kmeans_detail {

/// Returns d + 1 numbers. Number p is an upper bound for the sum of the p largest eigenvalues of every positive
/// semidefinite matrix that differs from the d x d matrix `symmetric` by at most `error` in the spectral norm.
///
/// The bounds follow from the trace and the Frobenius norm in O(d^2) operations. If `diagonalize` is set, they also
/// follow from approximate eigenvectors in O(d^3) operations. Nothing is assumed of these vectors: the bounds include
/// their deviation from an orthonormal basis, and the elements that they leave outside of the diagonal.
std::vector<double> sums_of_largest_eigenvalues(const std::vector<double>& symmetric, std::int64_t d, double error,
                                                bool diagonalize);

}  // namespace gradus::kmeans_detail
