// Progress of the choice of first centroids. A resumed choice adds the recorded rows again. This restores all other
// state.
#pragma once

#include <cstdint>
#include <vector>

namespace gradus::kmeans_detail {

struct SeedingState {
  std::vector<std::int64_t> sample;  ///< k-means||: the first row, and the rows chosen in the completed rounds
  std::vector<std::int64_t> rounds;  ///< k-means||: the number of rows chosen in each round

  /// With k-means++: the rows chosen so far. At the end of k-means||: the indices in `sample` of the rows chosen so
  /// far.
  std::vector<std::int64_t> chosen;
};

/// Receives the progress of seeding. The seeding code updates `seeding` after every step, and then calls is_due().
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
  const SeedingState* done = nullptr;         ///< null: no state to resume from
  SeedingCheckpoints* checkpoints = nullptr;  ///< null: no checkpoints are written
};

}  // namespace gradus::kmeans_detail
