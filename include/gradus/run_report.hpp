/// What every result says of the run that gave it.
#pragma once

#include <string>
#include <vector>

namespace gradus {

/// Seconds spent in a named part of a job.
struct Phase {
  std::string name;
  double seconds = 0;
};

struct RunReport {
  std::string variant;        ///< which one ran
  std::string device;         ///< what it ran on, human-readable
  int threads = 0;            ///< of the processor
  std::vector<Phase> phases;  ///< in the order of their first use; the last is the whole call, "total"
  double rechecked = 0;       ///< share of the work that a fast filter left to the canonical rule
};

}  // namespace gradus
