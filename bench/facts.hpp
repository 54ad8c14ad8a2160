// Where a measurement was made, and of what: machine, compiler, commit.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace gradus::bench {

/// Machine, operating system, compiler, flags, version, commit, command line and the time of day.
nlohmann::ordered_json facts();

/// The high-water mark of this process's memory, between its construction and bytes().
class PeakMemory {
 public:
  PeakMemory();
  /// Bytes above what the process held at the beginning; nothing where the system does not tell.
  std::optional<std::uint64_t> bytes() const;

 private:
  std::uint64_t before_ = 0;
  bool works_ = false;
};

}  // namespace gradus::bench
