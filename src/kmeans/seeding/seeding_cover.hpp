// The points' squared distances to the nearest of some chosen rows: what k-means++ and k-means|| ask for again and
// again. How few distances that takes, and where they are measured, is the business of the classes behind it, which
// give the same integers: Cover (few columns), FilteredCover (many), DenseCover (few clusters) and CudaCover (on a
// GPU).
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

  /// The sum of w * D to the nearest chosen row, in integers.
  virtual std::uint64_t total() const = 0;
  /// The chosen rows, by their numbers among all, in the order in which they were chosen.
  virtual const std::vector<std::int64_t>& chosen() const = 0;

  /// For each target the row in which the prefix sum passes it.
  virtual std::vector<std::int64_t> rows_at(std::span<const std::uint64_t> targets) = 0;
  /// Each row by itself with probability min(1, wanted * integer(row) / total()), ascending.
  virtual std::vector<std::int64_t> sample(std::uint64_t wanted, const core::Philox& random, int round) = 0;
  /// By how much total() would fall, for each of the candidates, if it alone were chosen too.
  virtual std::vector<std::uint64_t> gains(std::span<const std::int64_t> candidates) = 0;
  /// Chooses rows that rows_at() or sample() returned: all of a step or a round, for what follows depends on the
  /// integers, and they are made anew after a call only. A point goes to the first of the nearest, in the order in
  /// which they were chosen.
  virtual void add(std::span<const std::int64_t> rows) = 0;
  /// For each chosen row the sum of the weights of its points, in integers; without weights their number.
  virtual std::vector<std::uint64_t> weights_of_chosen() const = 0;

  /// Makes rows known that were chosen before, as a checkpoint says, so that add() can take them.
  virtual void bring(std::span<const std::int64_t> /*rows*/) {}
  /// Forgets what is known of the candidates that were not chosen.
  virtual void forget(std::span<const std::int64_t> /*candidates*/) {}

  /// Returns true if take_steps() can be called.
  virtual bool takes_steps(int /*trials*/) { return false; }
  /// Takes steps of greedy k-means++ until `chosen` has `clusters` rows, total() is 0 or some time has passed. `draws`:
  /// the index of the next random number. Groups are not kept up to date.
  virtual void take_steps(int /*trials*/, std::int64_t /*clusters*/, const core::Philox& /*random*/,
                          std::uint64_t& /*draws*/, std::vector<std::int64_t>& /*chosen*/) {}
};

}  // namespace gradus::kmeans_detail
