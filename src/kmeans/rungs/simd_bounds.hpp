// The assigner that keeps bounds. simd_bounds.cpp explains the idea.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "kmeans/assign/integer_filter.hpp"
#include "kmeans/assign/simd_engine.hpp"
#include "kmeans/seeding/byte_rows.hpp"

namespace gradus::kmeans_detail {

inline constexpr std::int64_t group_step = 32;  ///< number of clusters in the widest panel of the filter

/// If there are more clusters than this, searches do not use the copy of the points in bytes.
inline constexpr std::int64_t most_clusters_by_copy = 64;

/// Returns the size of the copy in bytes, or 0 if the variant makes no copy.
std::uint64_t bounds_copy_bytes(const Shape& shape);

/// Divides the clusters into groups of whole panels. The bounds of a point must fit in a quarter of the point's bytes,
/// which limits the number of groups. There is at least one group.
struct BoundGroups {
  explicit BoundGroups(const Shape& shape);

  std::int64_t clusters = group_step;  ///< number of clusters per group
  std::int64_t count = 1;
};

/// The scratch memory of a thread.
struct BoundsScratch : FilterScratch {
  BoundsScratch(const Shape& shape, bool has_copy);

  std::vector<std::int32_t> active;  ///< points that the bounds leave undecided, as indices in the block
  std::vector<double> distances;     ///< canonical squared distances of the active points to their centroids
  std::vector<std::int32_t> queues;  ///< per group: the points of the sub-block for which it must be searched
  ByteScratch bytes;                 ///< scratch memory of searches of the copy
  std::vector<float> row;            ///< buffer for a row while it is converted to bytes
};

template <class T>
class BoundsAssigner {
 public:
  using TakesAnyBlocks = void;

  BoundsAssigner(const Problem<T>& problem, int threads);

  void prepare(MatrixView<const T> centroids);

  struct Scratch : BoundsScratch {
    explicit Scratch(const BoundsAssigner& assigner) : BoundsScratch(assigner.shape_, assigner.copy_ != nullptr) {}
  };

  std::int64_t assign(BlockRows<T>& block, const std::int32_t* before, std::int32_t* labels, Scratch& scratch);

  /// Decides whether the next pass uses bounds. Called after each pass with the number of changed labels. The decision
  /// does not affect the labels.
  void finished(std::int64_t changed);

  static std::uint64_t bytes(const Shape& shape, int threads);

 private:
  enum class Phase { plain, first, bounds };  ///< `first`: a full search that computes the bounds

  /// The time to compute a canonical distance to a point's centroid, expressed as the number of clusters that a search
  /// compares in this time.
  static constexpr std::int64_t own_distance_cost = 32;

  std::int64_t search_anew(MatrixView<const T> rows, std::int64_t undecided, std::int32_t* labels, float* upper,
                           float* lower, Scratch& scratch);

  std::int64_t search_copy(BlockRows<T>& block, std::int32_t* labels, Scratch& scratch);
  std::int64_t search_copy_for_few(BlockRows<T>& block, std::int32_t* labels, Scratch& scratch);

  const Problem<T>& problem_;
  Shape shape_;
  BoundGroups groups_;
  int threads_;
  IntegerFilter<T> filter_;
  std::shared_ptr<ByteRows<T>> copy_;  ///< byte copy of the points; null if it is not worthwhile
  bool comes_copied_ = false;          ///< true if all of copy_ was filled while the initial centroids were chosen
  bool copied_ = false;                ///< true if the first pass has prepared copy_ for searches
  ByteTrials trials_;                  ///< the centroids in the form that searches of the copy need
  std::vector<const T*> addresses_;    ///< addresses of the centroids
  bool cheap_;                         ///< true if plain passes are far cheaper than passes that search with 16 bits
  Matrix<T> centroids_;                ///< centroids of the previous pass
  Phase phase_ = Phase::plain;
  std::vector<float> cluster_drifts_;  ///< movement of each centroid, scaled, rounded up
  std::vector<float> group_drifts_;    ///< largest movement in each group
  Buffer<float> upper_;                ///< n elements: upper bound of the distance to the point's centroid
  Buffer<float> lower_;                ///< n x groups elements: lower bound for all centroids but the label's
  std::int64_t start_below_;  ///< if a plain pass changes at most this number of labels, the next pass computes bounds
  std::atomic<std::int64_t> searched_ = 0;  ///< number of pairs of a point and a cluster that this pass has searched
};

}  // namespace gradus::kmeans_detail
