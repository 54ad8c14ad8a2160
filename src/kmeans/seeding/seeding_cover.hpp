// Interface to the points' squared distances to their nearest chosen row, which k-means++ and k-means|| query again and
// again. The implementations differ in where they measure distances and how many they avoid, and give the same
// integers: Cover (few columns), FilteredCover (many columns), DenseCover (few clusters) and CudaCover (on a GPU).
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

  /// Returns the sum, over all points, of weight w times squared distance D to the nearest chosen row, as an integer.
  virtual std::uint64_t total() const = 0;
  /// Returns the chosen rows by their global numbers, in the order of choice.
  virtual const std::vector<std::int64_t>& chosen() const = 0;

  /// Returns, for each target, the row in which the prefix sum passes it.
  virtual std::vector<std::int64_t> rows_at(std::span<const std::uint64_t> targets) = 0;
  /// Samples each row independently with probability min(1, wanted * integer(row) / total()); the result ascends.
  virtual std::vector<std::int64_t> sample(std::uint64_t wanted, const core::Philox& random, int round) = 0;
  /// Returns, for each candidate, by how much total() would fall if that candidate alone were chosen.
  virtual std::vector<std::uint64_t> gains(std::span<const std::int64_t> candidates) = 0;
  /// Adds rows that rows_at() or sample() returned to the chosen rows. Pass all rows of a step or round at once: add()
  /// updates the integers from which later rows are drawn. A point joins the nearest chosen row, the first on ties.
  virtual void add(std::span<const std::int64_t> rows) = 0;
  /// Returns, for each chosen row, the sum of the weights of its points as an integer; without weights, their number.
  virtual std::vector<std::uint64_t> weights_of_chosen() const = 0;

  /// Fetches rows that a checkpoint lists as chosen, so that add() accepts them.
  virtual void bring(std::span<const std::int64_t> /*rows*/) {}
  /// Discards the cached candidates that were not chosen.
  virtual void forget(std::span<const std::int64_t> /*candidates*/) {}

  /// Returns true if the implementation supports take_steps().
  virtual bool takes_steps(int /*trials*/) { return false; }
  /// Takes steps of greedy k-means++ until `chosen` has `clusters` rows, total() is 0 or a time slice is over. `draws`
  /// is the index of the next random number. Groups are not updated.
  virtual void take_steps(int /*trials*/, std::int64_t /*clusters*/, const core::Philox& /*random*/,
                          std::uint64_t& /*draws*/, std::vector<std::int64_t>& /*chosen*/) {}
};

}  // namespace gradus::kmeans_detail
