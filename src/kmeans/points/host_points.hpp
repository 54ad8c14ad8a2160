// Points in host memory.
#pragma once

#include "kmeans/points/point_rows.hpp"
#include "kmeans/points/point_source.hpp"

namespace gradus::kmeans_detail {

template <class T>
class HostPoints : public PointSource<T> {
 public:
  /// Holds all points of a job.
  explicit HostPoints(MatrixView<const T> points, VectorView<const T> weights = {}, int threads = 1,
                      std::stop_token stop = {})
      : HostPoints(points, weights, threads, std::move(stop), core::RankRows(points.rows())) {}
  /// Holds the points of one of several ranks.
  HostPoints(const PointRows<T>& points, VectorView<const T> weights, int threads, std::stop_token stop,
             const core::RankRows& rank_rows)
      : PointSource<T>(points.shape(), weights, threads, std::move(stop), rank_rows) {
    stored_ = points.stored();
  }

  void to_unit_rows() override;
  void visit(const typename PointSource<T>::Visit& visit) const override;
  bool visits_copies() const override { return own().is_stored(); }
  Matrix<T> rows_at(std::span<const std::int64_t> numbers) const override;
  std::vector<const T*> addresses_of(std::span<const std::int64_t> numbers, Matrix<T>& copies) const override;
  void own_squared_distances(MatrixView<const T> centroids, const std::int32_t* labels, double* out) const override;
  void distances(MatrixView<const T> centroids, KMeansMetric metric, MatrixView<T> distances,
                 const typename PointSource<T>::Done& progress) const override;
  std::unique_ptr<SeedingCover> cover(std::int64_t first, std::int64_t expected, bool groups,
                                      const SeedingMemory<T>& memory) const override;
  std::unique_ptr<PointSource<T>> sample(std::span<const std::int64_t> numbers,
                                         VectorView<const T> weights) const override;

 protected:
  core::ColumnRanges own_column_ranges() const override;

  using PointSource<T>::points_;
  using PointSource<T>::stored_;
  using PointSource<T>::host_weights_;

  PointRows<T> own() const { return source_rows(points_, stored_); }

 private:
  Matrix<T> owned_;  ///< a copy of the rows, if they had to be copied
};

/// Returns copies of the rows with the given global numbers. `own` are this rank's rows. Collective.
template <class T>
Matrix<T> rows_at(const core::RankRows& rank_rows, const PointRows<T>& own, std::span<const std::int64_t> numbers);

/// Returns this rank's points in host memory. The rank may have no points.
template <class T>
std::unique_ptr<PointSource<T>> points_in_host_memory(const PointRows<T>& points, VectorView<const T> weights,
                                                      int threads, std::stop_token stop,
                                                      const core::RankRows& rank_rows);

/// Returns a copy of the rows in the type of the job. Throws InterruptedError after a stop request.
template <class T>
Matrix<T> widened(const PointRows<T>& rows, int threads, const std::stop_token& stop);

/// Adds the ranges of more rows of the same columns. `ranges` may be empty.
void extend(core::ColumnRanges& ranges, const core::ColumnRanges& more);

/// Returns the most memory that visits of stored rows take, in bytes.
std::uint64_t visit_bytes(std::int64_t rows, std::int64_t columns);

}  // namespace gradus::kmeans_detail
