// What the control group of this process (a container, a batch job, a service) allows it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace gradus::cpu {

struct ControlGroup {
  static constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

  double processors = std::numeric_limits<double>::infinity();  ///< quota over period
  std::uint64_t memory_limit = no_limit;                        ///< bytes
  std::uint64_t memory_left = no_limit;  ///< bytes below the limit; inactive file pages count as free
};

/// The least of each over the group and all its ancestors, in the hierarchies of version 1 and 2. Whatever cannot be
/// read sets no limit. `root` is put before every path, for tests. Without usage, which takes as long again,
/// memory_left is not told.
ControlGroup read_control_group(const std::string& root = "", bool with_usage = true);

/// That of this process when it was first asked for: to read it takes a tenth of a millisecond, and limits seldom
/// change. Without `memory_left`, which does.
const ControlGroup& first_control_group();

}  // namespace gradus::cpu
