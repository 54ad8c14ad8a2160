// Facts about a measurement: machine, compiler, commit.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace gradus::bench {

/// Returns machine, operating system, compiler, flags, version, commit, command line and time of day.
nlohmann::ordered_json facts();

/// Measures this process's peak memory between construction and bytes().
class PeakMemory {
 public:
  PeakMemory();
  /// Returns the increase of peak memory in bytes, or nothing if the system does not report it.
  std::optional<std::uint64_t> bytes() const;

 private:
  std::uint64_t before_ = 0;
  bool works_ = false;
};

}  // namespace gradus::bench
