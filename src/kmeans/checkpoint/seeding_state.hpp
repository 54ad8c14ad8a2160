// Progress of the choice of first centroids. Everything else follows from the rows: resuming adds them again.
#pragma once

#include <cstdint>
#include <vector>

namespace gradus::kmeans_detail {

struct SeedingState {
  std::vector<std::int64_t> sample;  ///< k-means||: the rows of its completed rounds, including the first row
  std::vector<std::int64_t> rounds;  ///< number of rows that each round chose
  std::vector<std::int64_t> chosen;  ///< k-means++: the rows so far; indices into the sample if there is one
};

/// The seeding code updates `seeding` after every step, and then asks whether a checkpoint is due.
class SeedingCheckpoints {
 public:
  SeedingCheckpoints() = default;
  SeedingCheckpoints(const SeedingCheckpoints&) = delete;
  SeedingCheckpoints& operator=(const SeedingCheckpoints&) = delete;
  virtual ~SeedingCheckpoints() = default;
  virtual bool is_due() const = 0;
  virtual void write_seeding() = 0;

  SeedingState seeding;
};

struct SeedingSoFar {
  const SeedingState* done = nullptr;         ///< null: nothing done yet
  SeedingCheckpoints* checkpoints = nullptr;  ///< null: no checkpoints
};

}  // namespace gradus::kmeans_detail
