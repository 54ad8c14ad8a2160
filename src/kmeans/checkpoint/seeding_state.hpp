// The progress of the choice of first centroids. To resume the choice, the code adds the recorded rows again; this
// restores the rest of the state.
#pragma once

#include <cstdint>
#include <vector>

namespace gradus::kmeans_detail {

struct SeedingState {
  std::vector<std::int64_t> sample;  ///< k-means||: the first row, and the rows chosen in the completed rounds
  std::vector<std::int64_t> rounds;  ///< k-means||: the number of rows chosen in each round

  /// For k-means++: the rows chosen so far. For the end of k-means||: the rows chosen so far, as indices in `sample`.
  std::vector<std::int64_t> chosen;
};

/// Saves the progress of seeding. The seeding code updates `seeding` after every step and then calls is_due().
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
  const SeedingState* done = nullptr;         ///< null if there is no state to resume from
  SeedingCheckpoints* checkpoints = nullptr;  ///< null if no checkpoints are written
};

}  // namespace gradus::kmeans_detail
