// Finds out whether another process of this machine still runs. NCCL does not report a process that has ended if its
// GPU is in the same machine.
#pragma once

#include <array>
#include <cstdint>

namespace gradus::core {

/// Identifies a process for the other processes of its machine. Plain data, which the processes exchange.
struct PeerProcess {
  std::array<char, 40> boot{};      ///< identity of the running system; all zero: unknown
  std::uint64_t pid_namespace = 0;  ///< processes with the same namespace see each other; 0: unknown
  std::int64_t number = 0;
  std::uint64_t start = 0;  ///< time of the start in clock ticks, because numbers of processes are used again
};

PeerProcess this_process();
/// Returns the start of a process of this machine, in clock ticks, or 0 if there is no process with this number.
std::uint64_t start_of(std::int64_t number);

/// Returns true if both processes run on the same machine.
bool share_machine(const PeerProcess& one, const PeerProcess& other);

/// Returns true if the process has ended, even if it is still a zombie. Returns false if this process cannot know,
/// because the other one is on another machine or in another namespace.
bool has_ended(const PeerProcess& process);

}  // namespace gradus::core
