// How far the choice of first centroids has come. All else that it knows follows from the rows: they are added again,
// as they were the first time.
#pragma once

#include <cstdint>
#include <vector>

namespace gradus::kmeans_detail {

struct SeedingState {
  std::vector<std::int64_t> sample;  ///< k-means||: the rows of its whole rounds, with the first one
  std::vector<std::int64_t> rounds;  ///< how many rows each of the rounds chose
  std::vector<std::int64_t> chosen;  ///< k-means++: the rows so far; places in the sample where there is one
};

/// Whoever chooses keeps `seeding` up to date, step by step, and asks after each whether it is to be written.
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
  const SeedingState* done = nullptr;    ///< null: nothing
  SeedingCheckpoints* keeper = nullptr;  ///< null: nobody asks
};

}  // namespace gradus::kmeans_detail
