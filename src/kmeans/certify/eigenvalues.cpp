#include "kmeans/certify/eigenvalues.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "kmeans/certify/rounding.hpp"

namespace gradus::kmeans_detail {

namespace {

using Square = std::vector<double>;

double frobenius_norm(const Square& matrix) {
  double squares = 0;
  for (const double value : matrix) squares += value * value;
  return std::sqrt(squares) * (1 + error_of_sum(static_cast<std::int64_t>(matrix.size())));
}

/// Rotates two vectors of `count` elements with distance `stride`.
void rotate_pair(double* p, double* q, std::int64_t count, std::int64_t stride, double c, double s) {
  for (std::int64_t index = 0; index < count * stride; index += stride) {
    const double x = p[index];
    const double y = q[index];
    p[index] = c * x - s * y;
    q[index] = s * x + c * y;
  }
}

/// Returns approximate eigenvectors, one per row, by cyclic Jacobi rotations.
Square eigenvectors(Square matrix, std::int64_t d) {
  constexpr int most_sweeps = 20;
  Square vectors(matrix.size());
  for (std::int64_t i = 0; i < d; ++i) vectors[static_cast<std::size_t>(i * d + i)] = 1;
  const double negligible = frobenius_norm(matrix) * 0x1p-50 / static_cast<double>(d);
  bool rotated = true;
  for (int sweep = 0; sweep < most_sweeps && rotated; ++sweep) {
    rotated = false;
    for (std::int64_t p = 0; p < d; ++p)
      for (std::int64_t q = p + 1; q < d; ++q) {
        double* const row_p = matrix.data() + p * d;
        double* const row_q = matrix.data() + q * d;
        if (!(std::abs(row_p[q]) > negligible)) continue;
        rotated = true;
        const double theta = (row_q[q] - row_p[p]) / (2 * row_p[q]);
        const double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::hypot(theta, 1.0));
        const double c = 1 / std::sqrt(t * t + 1);
        rotate_pair(row_p, row_q, d, 1, c, t * c);
        rotate_pair(matrix.data() + p, matrix.data() + q, d, d, c, t * c);
        rotate_pair(vectors.data() + p * d, vectors.data() + q * d, d, 1, c, t * c);
      }
  }
  return vectors;
}

/// Returns left * right^T.
Square product_of_rows(const Square& left, const Square& right, std::int64_t d) {
  Square result(left.size());
  for (std::int64_t i = 0; i < d; ++i)
    for (std::int64_t j = 0; j < d; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < d; ++l)
        sum += left[static_cast<std::size_t>(i * d + l)] * right[static_cast<std::size_t>(j * d + l)];
      result[static_cast<std::size_t>(i * d + j)] = sum;
    }
  return result;
}

/// Lowers the bounds by approximate eigenvectors V, one per row. By Ostrowski's theorem, a positive eigenvalue of S is
/// at most the eigenvalue of V S V^T divided by 1 - |V V^T - 1|, and by Weyl's and Ky Fan's inequalities, the sum of p
/// eigenvalues of V S V^T is at most the sum of p diagonal elements plus sqrt(p) times the norm of the other elements.
void lower_by_eigenvectors(const Square& symmetric, std::int64_t d, double error, std::vector<double>& sums) {
  const Square vectors = eigenvectors(symmetric, d);
  const auto columns = static_cast<double>(d);
  Square deviation = product_of_rows(vectors, vectors, d);
  Square rotated = product_of_rows(product_of_rows(vectors, symmetric, d), vectors, d);
  std::vector<double> diagonal;
  for (std::int64_t i = 0; i < d; ++i) {
    const auto place = static_cast<std::size_t>(i * d + i);
    deviation[place] -= 1;
    diagonal.push_back(std::max(rotated[place], 0.0));
    rotated[place] = 0;
  }
  const double skew = frobenius_norm(deviation) + 2 * columns * error_of_sum(d);
  if (!(skew < 0.5)) return;
  const double rounding = 8 * std::sqrt(columns) * error_of_sum(d) * frobenius_norm(symmetric);
  const double outside = frobenius_norm(rotated);
  std::sort(diagonal.begin(), diagonal.end(), std::greater<>());
  double sum = 0;
  for (std::int64_t p = 1; p <= d; ++p) {
    const auto many = static_cast<double>(p);
    sum += diagonal[static_cast<std::size_t>(p - 1)];
    const double bound =
        (sum * (1 + error_of_sum(p)) + std::sqrt(many) * outside + many * rounding) / (1 - skew) + many * error;
    double& best = sums[static_cast<std::size_t>(p)];
    best = std::min(best, bound * rounded_up);
  }
}

}  // namespace

std::vector<double> sums_of_largest_eigenvalues(const std::vector<double>& symmetric, std::int64_t d, double error,
                                                bool diagonalize) {
  const auto columns = static_cast<double>(d);
  double trace = 0;
  for (std::int64_t i = 0; i < d; ++i) trace += symmetric[static_cast<std::size_t>(i * d + i)];
  Square rest = symmetric;
  for (std::int64_t i = 0; i < d; ++i) rest[static_cast<std::size_t>(i * d + i)] -= trace / columns;
  const double spread = frobenius_norm(rest);
  trace = (trace * (1 + error_of_sum(d)) + columns * error) * rounded_up;
  std::vector<double> sums{0};
  // The differences of the eigenvalues to their mean add up to 0, and their squares to spread^2.
  for (std::int64_t p = 1; p <= d; ++p) {
    const auto many = static_cast<double>(p);
    const double bound = many / columns * trace + std::sqrt(many * (columns - many) / columns) * spread + many * error;
    sums.push_back(std::min(trace, bound * rounded_up));
  }
  if (diagonalize && d > 1) lower_by_eigenvectors(symmetric, d, error, sums);
  return sums;
}

}  // namespace gradus::kmeans_detail
