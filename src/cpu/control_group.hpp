// The limits that the control group of this process sets. Containers, batch jobs and services run in control groups.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace gradus::cpu {

struct ControlGroup {
  static constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

  double processors = std::numeric_limits<double>::infinity();  ///< CPU quota, as a number of CPUs
  std::uint64_t memory_limit = no_limit;
  std::uint64_t memory_left = no_limit;  ///< bytes that may still be allocated; inactive file pages count as free
};

/// Reads the limits of the group and of all its ancestors. Supports hierarchies of versions 1 and 2. Returns the
/// minimum of each limit. Unreadable files set no limit. Tests pass a folder as `root`, which replaces the system's
/// root folder. memory_left is set only if `with_usage` is true, because reading the usage takes time.
ControlGroup read_control_group(const std::string& root = "", bool with_usage = true);

/// Returns the limits of this process's control group. They are read only once, because reading takes a tenth of a
/// millisecond and limits seldom change. memory_left, which changes often, is not set.
const ControlGroup& first_control_group();

}  // namespace gradus::cpu
