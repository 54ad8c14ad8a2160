// The interface with which k-means++ and k-means|| use the squared distances between the points and their nearest
// chosen rows. All implementations return the same results. They differ in how much memory they use and how many
// distances they avoid: Cover (few columns), FilteredCover (many columns), DenseCover (few clusters) and CudaCover (on
// a GPU).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/philox.hpp"

namespace gradus::kmeans_detail {

class SeedingCover {
 public:
  SeedingCover() = default;
  SeedingCover(const SeedingCover&) = delete;
  SeedingCover& operator=(const SeedingCover&) = delete;
  virtual ~SeedingCover() = default;

  /// Let w be the weight of a point, and D its squared distance to the nearest chosen row. The integer of the point's
  /// row is w D on a scale that all rows have in common. Returns the sum of all integers.
  virtual std::uint64_t total() const = 0;
  /// Returns the global numbers of the chosen rows, in the order of choice.
  virtual const std::vector<std::int64_t>& chosen() const = 0;

  /// Returns, for each target, the first row at which the prefix sum of the rows' integers exceeds the target.
  virtual std::vector<std::int64_t> rows_at(std::span<const std::uint64_t> targets) = 0;
  /// Samples each row independently with probability min(1, wanted * integer(row) / total()). Returns the rows in
  /// ascending order.
  virtual std::vector<std::int64_t> sample(std::uint64_t wanted, const core::Philox& random, int round) = 0;
  /// Returns, for each candidate, how much total() would decrease if only this candidate were added.
  virtual std::vector<std::uint64_t> gains(std::span<const std::int64_t> candidates) = 0;
  /// Adds rows from rows_at() or sample() to the chosen rows. Pass all rows of a step or round in one call, because
  /// each call changes the integers from which rows are drawn. Each point joins its nearest chosen row. On ties, it
  /// joins the row that was chosen first.
  virtual void add(std::span<const std::int64_t> rows) = 0;
  /// Returns, for each chosen row, the sum of the weights of its points as an integer. If there are no weights, returns
  /// the number of these points.
  virtual std::vector<std::uint64_t> weights_of_chosen() = 0;

  /// Brings the rows that a checkpoint lists as chosen. Afterwards, add() accepts these rows.
  virtual void bring(std::span<const std::int64_t> /*rows*/) {}
  /// Discards the cached copies of those `candidates` that were not chosen.
  virtual void forget(std::span<const std::int64_t> /*candidates*/) {}

  /// Returns true if the implementation supports take_steps().
  virtual bool takes_steps(int /*trials*/) { return false; }
  /// Takes steps of greedy k-means++ until `chosen` has `clusters` rows, total() is 0, or a time slice ends. `draws` is
  /// the index of the next random number. Does not update the groups of the points.
  virtual void take_steps(int /*trials*/, std::int64_t /*clusters*/, const core::Philox& /*random*/,
                          std::uint64_t& /*draws*/, std::vector<std::int64_t>& /*chosen*/) {}
};

}  // namespace gradus::kmeans_detail
