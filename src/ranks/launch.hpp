// The place of this process among the processes that torchrun, or a launcher with the same variables, has started.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace gradus::core {

struct Launch {
  int rank = 0;
  int size = 1;
  int local_rank = 0;         ///< rank among the processes of this machine; `rank` if LOCAL_RANK is not set
  std::string meeting_point;  ///< address at which NCCL's processes meet: host and port, as in NCCL_COMM_ID
};

/// Returns the value of an environment variable, or null.
using Variable = std::function<const char*(const char* name)>;

/// Reads RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT. The meeting point is the value of NCCL_COMM_ID or,
/// if this variable is not set, the port after MASTER_PORT, because the launcher itself listens at MASTER_PORT.
///
/// Returns nothing if the launcher has started a single process, or if WORLD_SIZE is not set. Throws UsageError if a
/// variable is missing or has an invalid value. LOCAL_RANK may be missing, because it only selects the GPU.
std::optional<Launch> launch_in(const Variable& variable);
std::optional<Launch> launch_in_environment();

/// Returns the integer in `text`, the value of the environment variable `name`. Throws UsageError with the given remedy
/// if the value is not an integer from `least` to `most`.
int integer_in(const char* name, const char* text, int least, int most, const char* what_to_do);

}  // namespace gradus::core
