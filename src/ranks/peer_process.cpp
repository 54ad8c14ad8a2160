#include "ranks/peer_process.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>

namespace gradus::core {

namespace {

struct State {
  char letter = 0;
  std::uint64_t start = 0;
};

/// Returns nothing if /proc does not show the process.
std::optional<State> state_of(std::int64_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');  // the name of the program may contain any character
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  State state;
  fields >> state.letter;  // field 3
  constexpr int first_field = 4;
  constexpr int start_field = 22;
  std::string skipped;
  for (int field = first_field; field < start_field; ++field) fields >> skipped;
  fields >> state.start;
  return state;
}

}  // namespace

PeerProcess this_process() {
  PeerProcess process;
  std::ifstream("/proc/sys/kernel/random/boot_id").read(process.boot.data(), process.boot.size() - 1);
  if (process.boot.front() == '\0') ::gethostname(process.boot.data(), process.boot.size() - 1);
  struct stat facts {};
  if (::stat("/proc/self/ns/pid", &facts) == 0) process.pid_namespace = facts.st_ino;
  process.number = ::getpid();
  process.start = start_of(process.number);
  return process;
}

std::uint64_t start_of(std::int64_t number) { return state_of(number).value_or(State{}).start; }

bool share_machine(const PeerProcess& one, const PeerProcess& other) { return one.boot == other.boot; }

bool has_ended(const PeerProcess& process) {
  static const PeerProcess own = this_process();
  if (!share_machine(process, own) || process.pid_namespace == 0 || process.pid_namespace != own.pid_namespace)
    return false;
  const std::optional<State> state = state_of(process.number);
  // The system may hide processes of other users in /proc.
  if (!state) return ::kill(static_cast<pid_t>(process.number), 0) != 0 && errno == ESRCH;
  return state->letter == 'Z' || state->letter == 'X' || state->letter == 'x' || state->start != process.start;
}

}  // namespace gradus::core
