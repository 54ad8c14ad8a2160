// Facts about a measurement: machine, compiler, commit.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace gradus::bench {

/// Returns machine, operating system, compiler, flags, version, commit, command line and time of day.
nlohmann::ordered_json facts();

/// Measures the peak memory of this process between the construction and the call of bytes().
class PeakMemory {
 public:
  PeakMemory();
  /// Returns the increase of the peak memory in bytes. Returns nothing if the system does not report it.
  std::optional<std::uint64_t> bytes() const;

 private:
  std::uint64_t before_ = 0;
  bool works_ = false;
};

}  // namespace gradus::bench
