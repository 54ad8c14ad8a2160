// Finds, for each point, the clusters that it may belong to at given prices of the clusters. The filter computes in
// float with a proven error bound. Only if several clusters remain, it computes their canonical distances.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kmeans/sizes/transport.hpp"

namespace gradus::kmeans_detail {

template <class T>
class SizeFilter {
 public:
  SizeFilter(const Problem<T>& problem, int threads);

  void prepare(MatrixView<const T> centroids);

  /// Searches every `stride`-th row. A cluster is a candidate if it may have the least sum of distance and price for
  /// prices that differ from `prices` by at most `widths`. Stores in `open` the points with several candidates. For
  /// each other point, stores its cluster in `labels` (at the number of its row) and counts it in `settled`. Returns
  /// false if there are more than `most` candidates; then the results are incomplete.
  bool search(std::span<const double> prices, std::span<const double> widths, std::int64_t stride, std::int64_t most,
              std::int32_t* labels, OpenPoints& open, std::span<std::int64_t> settled);

  static std::uint64_t bytes(const Shape& shape, int threads);

 private:
  struct Scratch;
  /// The bounds of a search that all threads use.
  struct Search;

  void search_rows(const Search& search, std::int64_t first, std::int64_t last, Scratch& scratch, OpenPoints& open);
  bool stays_settled(const Search& search, std::int64_t row);
  void search_group(const Search& search, const std::int64_t* rows, std::int64_t count, Scratch& scratch,
                    OpenPoints& open);
  void measure(OpenPoints& open) const;

  const Problem<T>& problem_;
  int threads_;
  Matrix<T> centroids_;
  /// Panels of 64 centroids less the middle, scaled. The coordinates of one dimension are adjacent.
  std::vector<float> panels_;
  std::vector<double> half_squares_;  ///< for each centroid: half of its squared length, scaled
  double longest_ = 0;                ///< length of the longest centroid, scaled
  std::vector<float> moves_;          ///< for each centroid: movement since the last search, scaled
  std::vector<float> last_prices_;    ///< prices of the last search, scaled
  Buffer<float> gaps_;   ///< for each point: lower bound of the gap between its two least sums, or -1; scaled
  Buffer<float> radii_;  ///< for each point with a gap: upper bound of the distance to its centroid, scaled
  std::int64_t last_stride_ = 0;
  std::vector<OpenPoints> found_;  ///< for each chunk of rows
};

}  // namespace gradus::kmeans_detail
