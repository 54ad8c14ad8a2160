// Lower bounds on squared distances from a few directions in which the points differ most. If the points have a
// decaying spectrum, as embeddings do, these bounds exclude most candidates of k-means++, and a pass reads up to a
// twelfth of the bytes that byte_rows.hpp reads.
//
// Let x' and y' be two rows minus the middle of the points, and P a matrix of at most 64 directions. For z = P x',
//
//   |x - y| = |x' - y'| >= |P x' - P y'| / s,   where s bounds the norm of P.
//
// The directions are approximately orthonormal, found by subspace iteration on a sample. The bound holds for any P:
// s^2 is the largest sum of magnitudes in a row of P P^T (Gershgorin), computed from the final P. With u = 2^-24, the
// float products have an error of at most e = (d + 8) u |P|_F |x'|, which also covers the rounding of x'. So the
// distance of x and y is at least C if
//
//   |z_x - z_y| >= s sqrt(C) + 2 e,   with the largest |x'| of all rows in e.
//
// Candidates beyond this length are refused. ByteRows<float> decides the inequality on the z.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "kmeans/seeding/byte_rows.hpp"

namespace gradus::kmeans_detail {

/// Tests change it to use short rows for all points, whether or not they pay.
inline bool short_rows_always = false;

template <class T>
class ShortRows {
 public:
  static constexpr std::int64_t fewest_columns = 256;  // with 128 columns, passes take as long as with all bytes
  static constexpr std::int64_t most_columns = 8192;   // directions of more columns would take too long to find
  static constexpr std::int64_t fewest_rows = 32768;

  /// Returns the short rows of the points, or null if few directions do not explain the points. `bytes` provides the
  /// middle and the scale.
  static std::unique_ptr<ShortRows> make(const PointRows<T>& points, const ByteRows<T>& bytes, int threads,
                                         const std::stop_token& stop);

  static bool pay(std::int64_t rows, std::int64_t columns) {
    return short_rows_always || (rows >= fewest_rows && columns >= fewest_columns && columns <= most_columns);
  }
  /// Returns the memory that make() needs for this shape.
  static std::uint64_t bytes(std::int64_t rows, std::int64_t columns);

  /// Sets the squared distance between a row and its nearest chosen row.
  void set_limit(std::int64_t row, double distance);
  /// Prepares a pass. Returns false if the bound does not cover the candidates.
  bool take(std::span<const T* const> candidates);
  /// Finds, for each of a panel's points, the candidates that are not excluded; see ByteRows::find_nearer().
  std::int64_t find_nearer(std::int64_t panel, ByteScratch& scratch) const {
    return rows_->find_nearer(trials_, panel, scratch);
  }

 private:
  ShortRows(const PointRows<T>& points, const ByteRows<T>& bytes, int threads);

  static constexpr std::int64_t sample_elements = std::int64_t{1} << 21;

  static std::int64_t directions_for(std::int64_t columns);
  void move(const T* row, float* to) const;
  bool find_directions(const PointRows<T>& points, const std::stop_token& stop);
  void project(const PointRows<T>& points, const std::stop_token& stop);

  std::int64_t columns_;
  std::int64_t count_;  ///< number of directions, a multiple of 16
  int threads_;
  const std::vector<T>& middle_;
  double scale_;
  double norm_ = 0;           ///< s
  double error_ = 0;          ///< 2 e
  double longest_ = 0;        ///< upper bound of |x'| of all rows
  Buffer<float> directions_;  ///< [column][direction]
  Matrix<float> projected_;   ///< of the candidates
  std::unique_ptr<ByteRows<float>> rows_;
  ByteTrials trials_;
};

}  // namespace gradus::kmeans_detail
