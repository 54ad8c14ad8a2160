// Exact sums of the coordinates of each cluster, for points that arrive in batches.
//
// ExactSums needs the range of all points in advance, and leaves a few means to a second pass over the points. For
// batches, neither is possible. Therefore, a sum is a fixed-point number of 32-bit words, as in
// core/exact_accumulator.hpp. It has only those words that are needed for the values added so far. All sums have the
// same range of words. The range grows when a batch has larger or smaller values.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/exact_accumulator.hpp"
#include "core/exact_sum.hpp"
#include "core/npz.hpp"
#include "gradus/array.hpp"
#include "ranks/ranks.hpp"

namespace gradus::kmeans_detail {

/// A range of the words of core::ExactAccumulator.
struct WordRange {
  int first = 0;
  int count = 0;
  int end() const { return first + count; }
};

template <class T>
class BatchSums {
 public:
  BatchSums(std::int64_t clusters, std::int64_t columns);

  /// Returns the bytes of the sums after their range of words is extended to include `words`.
  std::uint64_t bytes_with(WordRange words) const;

  /// Adds each row of `points` to the sum of its cluster. The cluster of row i is labels[i]. If there are weights, the
  /// row is multiplied by its weight. If the function throws std::bad_alloc, the sums are unchanged.
  void add(MatrixView<const T> points, VectorView<const T> weights, const std::int32_t* labels, int threads);
  void merge(const BatchSums& other);
  /// Adds the sums of all other ranks. Collective.
  void add_up(core::Ranks& ranks);
  void clear();
  void clear(std::int64_t cluster);

  const std::vector<std::int64_t>& counts() const { return counts_; }
  /// Returns the total weight of a cluster, rounded once.
  double weight(std::int64_t cluster) const;
  bool has_weight(std::int64_t cluster) const;
  /// Writes the mean of a cluster, rounded once. The cluster must have a positive weight.
  void mean(std::int64_t cluster, T* out) const;

  /// Adds the arrays `range`, `words`, `counts` and `weights` to an archive.
  void save(core::NpzContent& content) const;
  /// Reads the arrays that save() has written. Throws InputError if they are not sums of `clusters` clusters with
  /// `columns` columns.
  static BatchSums restore(const core::NpzArrays& arrays, std::int64_t clusters, std::int64_t columns);

  /// Returns the range of words that sums of these points need.
  static WordRange words_of(MatrixView<const T> points, VectorView<const T> weights, int threads);

 private:
  std::int64_t sums() const { return clusters_ * columns_; }
  std::int64_t* words(std::int64_t cluster) { return words_.data() + cluster * columns_ * range_.count; }
  const std::int64_t* words(std::int64_t cluster) const { return words_.data() + cluster * columns_ * range_.count; }
  core::ExactAccumulator weight_sum(std::int64_t cluster) const;
  WordRange range_with(WordRange words) const;
  void cover(WordRange words);
  /// Adds a part of a value to a sum. Several threads may call this.
  void put(std::int64_t cluster, std::int64_t column, core::Scaled value);
  /// Adds rows without weights in their order, each thread to separate limbs. No magnitude exceeds 2^exponent, and the
  /// sums need `words`.
  void add_in_order(MatrixView<const T> points, const std::int32_t* labels, int threads, int exponent, WordRange words);
  void make_weights();
  /// Propagates all carries.
  void settle();
  /// Propagates all carries if some word may be too full for `additions` more additions.
  void expect(std::int64_t additions);

  std::int64_t clusters_;
  std::int64_t columns_;
  WordRange range_;
  std::vector<std::int64_t> words_;  ///< for each cluster and column: range_.count words
  std::int64_t additions_ = 0;       ///< maximum number of additions to a word since the last propagation of carries
  std::vector<std::int64_t> counts_;
  std::vector<core::ExactAccumulator> weights_;  ///< has no elements as long as all weights are 1
};

}  // namespace gradus::kmeans_detail
