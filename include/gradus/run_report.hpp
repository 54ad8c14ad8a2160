/// Report of a run, part of every result.
#pragma once

#include <string>
#include <vector>

namespace gradus {

/// A named part of a job and its duration in seconds.
struct Phase {
  std::string name;
  double seconds = 0;
};

struct RunReport {
  std::string variant = {};  ///< the variant that ran
  std::string device = {};   ///< the device, in human-readable form
  int threads = 0;           ///< number of CPU threads
  /// Phases in the order of their first use; the last phase, "total", is the whole call.
  std::vector<Phase> phases = {};
  double rechecked = 0;  ///< share of the work that a low-precision filter left to the canonical rule
};

}  // namespace gradus
