#include "ranks/launch.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "gradus/error.hpp"

namespace gradus::core {

namespace {

constexpr const char* remedy =
    "torchrun sets RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT; for a process that has no ranks, unset "
    "WORLD_SIZE";

const char* required(const Variable& variable, const char* name) {
  const char* const text = variable(name);
  if (text == nullptr || *text == '\0')
    throw UsageError(std::string(name) + " is not set, but WORLD_SIZE is '" + variable("WORLD_SIZE") + "'",
                     {.remedy = remedy});
  return text;
}

int integer_of(const Variable& variable, const char* name, int least, int most) {
  return integer_in(name, required(variable, name), least, most, remedy);
}

std::string meeting_point_in(const Variable& variable) {
  if (const char* const chosen = variable("NCCL_COMM_ID"); chosen != nullptr && *chosen != '\0') return chosen;
  std::string host = required(variable, "MASTER_ADDR");
  if (host.find(':') != std::string::npos && host.front() != '[') host = "[" + host + "]";  // an IPv6 address
  constexpr int last_port = 65535;
  return host + ":" + std::to_string(integer_of(variable, "MASTER_PORT", 1, last_port - 1) + 1);
}

}  // namespace

int integer_in(const char* name, const char* text, int least, int most, const char* what_to_do) {
  int value = 0;
  const char* const last = text + std::strlen(text);
  const auto [end, error] = std::from_chars(text, last, value);
  if (error != std::errc() || end != last || value < least || value > most)
    throw UsageError(std::string(name) + " is '" + text + "', but it must be an integer from " + std::to_string(least) +
                         " to " + std::to_string(most),
                     {.remedy = what_to_do});
  return value;
}

std::optional<Launch> launch_in(const Variable& variable) {
  const auto is_set = [&](const char* name) { return variable(name) != nullptr && *variable(name) != '\0'; };
  if (!is_set("WORLD_SIZE")) return {};
  Launch launch;
  launch.size = integer_of(variable, "WORLD_SIZE", 1, std::numeric_limits<int>::max());
  if (launch.size == 1) return {};
  launch.rank = integer_of(variable, "RANK", 0, launch.size - 1);
  launch.local_rank = is_set("LOCAL_RANK") ? integer_of(variable, "LOCAL_RANK", 0, launch.size - 1) : launch.rank;
  launch.meeting_point = meeting_point_in(variable);
  return launch;
}

std::optional<Launch> launch_in_environment() {
  return launch_in([](const char* name) { return std::getenv(name); });
}

}  // namespace gradus::core
