// Finds, for each point, the clusters that it may belong to at given prices of the clusters. The filter computes in
// float with a proven error bound. Only if several clusters remain, it computes their canonical distances.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kmeans/sizes/transport.hpp"

namespace gradus::kmeans_detail {

/// A cluster near a point, and its score without the price.
struct NearCluster {
  static constexpr float no_score = std::numeric_limits<float>::infinity();

  float score = no_score;
  std::int32_t cluster = 0;

  std::size_t at() const { return static_cast<std::size_t>(cluster); }
};

/// For each point, a list of clusters near it in ascending order, filled up with infinite scores. A score is half of
/// the squared distance, scaled, less a number that is the same for all clusters.
struct NearClusters {
  static constexpr std::int64_t most = 16;
  static constexpr std::uint64_t bytes_of_point = most * sizeof(NearCluster) + sizeof(float);

  explicit NearClusters(std::int64_t points) : lists(points * most), others(points) {}

  std::span<NearCluster> of(std::int64_t point) { return {lists.data() + point * most, std::size_t{most}}; }
  std::span<const NearCluster> of(std::int64_t point) const { return {lists.data() + point * most, std::size_t{most}}; }

  Buffer<NearCluster> lists;
  Buffer<float> others;  ///< lower bound of the score of every other cluster, with its price; -infinity: no list
};

/// Four points that the kernel scores, and what it finds.
struct ScoredRows {
  const float* rows;
  std::int64_t dimensions;
  const float* panels;
  const float* first;  ///< for each cluster: the first term of its score
  const float* reach;  ///< for each cluster: half of the width of its interval
  const float* wide;   ///< for each cluster: the larger of this and the reach of lists
  std::int64_t width;  ///< number of clusters, padded
  const float* slack;  ///< for each point: the largest error of a difference of two scores
  bool has_lists;
  float* scores;
  /// The clusters that may have the least sum for prices within `reach`. With lists, also those within `wide` that may
  /// be among the NearClusters::most nearest or the next one.
  std::int32_t* found;
  std::int64_t counts[4];
  float others[4];  ///< for each point: the least score of a cluster that was not found
};

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

  /// Returns true if the filter keeps lists. With few multiplications per point, products cost less than lists.
  bool has_lists() const { return has_lists_; }
  /// Makes lists of the points that have several candidates in the same sense, and returns their rows. Settles the
  /// other points as search() does.
  std::vector<std::int64_t> list(std::span<const double> prices, std::span<const double> widths, std::int64_t stride,
                                 std::int32_t* labels, std::span<std::int64_t> settled);
  const NearClusters& near() const { return near_; }

  static std::uint64_t bytes(const Shape& shape, int threads);

 private:
  static bool makes_lists(std::int64_t clusters, std::int64_t dimensions) { return clusters * dimensions >= 16384; }

  struct Scratch;
  /// The bounds of a search that all threads use.
  struct Search;

  void forget_bounds();
  Search search_of(std::span<const double> prices, std::span<const double> widths, std::int64_t stride,
                   std::int32_t* labels);
  bool run(const Search& search, std::int64_t most, std::span<std::int64_t> settled);
  void search_rows(const Search& search, std::int64_t first, std::int64_t last, Scratch& scratch, OpenPoints& open);
  bool stays_settled(const Search& search, std::int64_t row);
  float slack_of(std::int64_t row) const;
  bool settle_by_list(const Search& search, std::int64_t row, Scratch& scratch, OpenPoints& open);
  bool close_point(std::int64_t row, OpenPoints& open);
  void settle(const Search& search, std::int64_t row, std::int32_t cluster, float score, float second,
              Scratch& scratch);
  void keep_list(const Search& search, std::int64_t row, std::span<const std::int32_t> found, const float* scores,
                 float others);
  void search_group(const Search& search, const std::int64_t* rows, std::int64_t count, Scratch& scratch,
                    OpenPoints& open);
  void sort_points(OpenPoints& open) const;
  void measure(OpenPoints& open) const;

  const Problem<T>& problem_;
  int threads_;
  Matrix<T> centroids_;
  /// Panels of 64 centroids less the middle, scaled. The coordinates of one dimension are adjacent.
  std::vector<float> panels_;
  std::vector<double> half_squares_;  ///< for each centroid: half of its squared length, scaled
  double longest_ = 0;                ///< length of the longest centroid, scaled
  double largest_ = 0;                ///< largest |b|^2 / 2 + |p| / 2 + w / 2 of all searches, scaled
  std::vector<float> moves_;          ///< for each centroid: movement since the last search, scaled
  std::vector<float> listed_;         ///< for each cluster: its reach in the last call of list()
  std::vector<float> last_prices_;    ///< prices of the last search, scaled
  Buffer<float> gaps_;     ///< for each point: lower bound of the gap between its two least sums, or -1; scaled
  Buffer<float> radii_;    ///< for each point with a gap: upper bound of the distance to its centroid, scaled
  Buffer<float> lengths_;  ///< for each point that was searched: its length, scaled
  bool has_lists_;
  NearClusters near_;
  std::int64_t last_stride_ = 0;
  std::vector<OpenPoints> found_;  ///< for each chunk of rows
};

}  // namespace gradus::kmeans_detail
