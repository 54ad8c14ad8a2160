#include "bench/facts.hpp"

#include <malloc.h>
#include <sys/utsname.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/build_facts.hpp"
#include "execution/machine.hpp"

namespace gradus::bench {

namespace {

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

// Returns the bytes from a line such as "VmHWM:   1234 kB" of /proc/self/status, or 0 if there is no such line.
std::uint64_t status_bytes(const std::string& wanted) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.starts_with(wanted + ":")) return std::stoull(line.substr(wanted.size() + 1)) * 1024;
  return 0;
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string words((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!words.empty() && words.back() == '\0') words.pop_back();
  std::replace(words.begin(), words.end(), '\0', ' ');
  return words;
}

}  // namespace

nlohmann::ordered_json facts() {
  const execution::Machine& machine = execution::this_machine();
  nlohmann::ordered_json gpu_names = nlohmann::ordered_json::array();
  for (const execution::Gpu& gpu : machine.gpus()) gpu_names.push_back(gpu.name);
  utsname system{};
  uname(&system);
  return {{"date", time_of_day()},
          {"command", command_line()},
          {"version", GRADUS_VERSION},
          {"commit", GRADUS_COMMIT},
          {"compiler", GRADUS_COMPILER},
          {"flags", GRADUS_FLAGS},
          {"machine",
           {{"processor", machine.processor},
            {"cores", machine.cores},
            {"physical_cores", machine.layout().physical_cores},
            {"packages", machine.layout().packages},
            {"memory_nodes", machine.layout().memory_nodes},
            {"simd", machine.simd},
            {"l1_bytes", machine.layout().l1_bytes},
            {"l2_bytes", machine.layout().l2_bytes},
            {"l3_bytes", machine.layout().l3_bytes},
            {"memory_bytes", machine.memory_bytes},
            {"gpus", gpu_names},
            {"system", std::string(system.sysname) + " " + system.release}}}};
}

PeakMemory::PeakMemory() {
  malloc_trim(0);  // returns free memory of earlier jobs to the system
  std::ofstream reset("/proc/self/clear_refs");
  reset << "5" << std::flush;  // writing 5 resets the high-water mark to the current resident size
  works_ = reset.good();
  before_ = status_bytes("VmRSS");
}

std::optional<std::uint64_t> PeakMemory::bytes() const {
  const std::uint64_t peak = status_bytes("VmHWM");
  if (!works_ || peak == 0) return std::nullopt;
  return peak > before_ ? peak - before_ : 0;
}

}  // namespace gradus::bench
