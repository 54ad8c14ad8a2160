// The assigner that keeps bounds; see simd_bounds.cpp for the idea.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "kmeans/assign/integer_filter.hpp"
#include "kmeans/assign/simd_engine.hpp"
#include "kmeans/seeding/byte_rows.hpp"

namespace gradus::kmeans_detail {

inline constexpr std::int64_t group_step = 32;  ///< clusters of the widest panel

/// So many clusters at most are searched through a copy of the points in bytes.
inline constexpr std::int64_t most_clusters_by_copy = 64;

/// What that copy takes.
std::uint64_t bounds_copy_bytes(const Shape& shape);

/// How clusters are grouped: some whole panels to a group, so that the bounds take at most a quarter of the points'
/// bytes, and at least one group.
struct BoundGroups {
  explicit BoundGroups(const Shape& shape);

  std::int64_t clusters = group_step;  ///< of a group
  std::int64_t count = 1;
};

/// What a thread needs while it assigns blocks.
struct BoundsScratch : FilterScratch {
  BoundsScratch(const Shape& shape, bool has_copy);

  std::vector<std::int32_t> active;  ///< points of the block whose bounds do not decide
  std::vector<double> distances;     ///< canonical squared distance of those to their centroid
  std::vector<std::int32_t> queues;  ///< per group: which points of the sub-block need it
  ByteScratch bytes;                 ///< of searches through the copy
  std::vector<float> row;            ///< a row on its way to the copy
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

  std::int64_t assign(cpu::Range block, const std::int32_t* before, std::int32_t* labels, Scratch& scratch);

  /// After a pass in which `changed` labels changed: whether the next one uses bounds. The labels do not depend on it.
  void finished(std::int64_t changed);

  static std::uint64_t bytes(const Shape& shape, int threads);

 private:
  enum class Phase { plain, first, bounds };  ///< `first` is a full search that leaves bounds behind

  /// What the canonical distance to the own centroid costs, in clusters searched.
  static constexpr std::int64_t own_distance_cost = 32;

  std::int64_t search_anew(const T* rows, std::int64_t undecided, std::int32_t* labels, float* upper, float* lower,
                           Scratch& scratch);

  std::int64_t search_copy(cpu::Range block, std::int32_t* labels, Scratch& scratch);
  std::int64_t search_copy_for_few(cpu::Range block, std::int32_t* labels, Scratch& scratch);

  const Problem<T>& problem_;
  Shape shape_;
  BoundGroups groups_;
  int threads_;
  IntegerFilter<T> filter_;
  std::shared_ptr<ByteRows<T>> copy_;  ///< null where it does not pay
  bool comes_copied_ = false;          ///< all of it, by the choice of the first centroids
  bool copied_ = false;                ///< and made ready for searches, by the first pass
  ByteTrials trials_;                  ///< the centroids, for the copy
  std::vector<const T*> addresses_;    ///< of the centroids
  bool cheap_;                         ///< whether a plain pass takes far less than one with the points in 16 bits
  Matrix<T> centroids_;                ///< of the pass before
  Phase phase_ = Phase::plain;
  std::vector<float> cluster_drifts_;       ///< how far each centroid moved, scaled, rounded upwards
  std::vector<float> group_drifts_;         ///< the farthest of each group
  Buffer<float> upper_;                     ///< n: at least the distance to the point's own centroid
  Buffer<float> lower_;                     ///< n x groups: at most the distance to any other centroid of the group
  std::int64_t start_below_;                ///< changed labels of a pass at which bounds are tried
  std::atomic<std::int64_t> searched_ = 0;  ///< pairs of point and cluster searched in this pass
};

}  // namespace gradus::kmeans_detail
