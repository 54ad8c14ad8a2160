#include "cpu/control_group.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

namespace gradus::cpu {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

bool contains(const std::vector<std::string>& parts, const std::string& part) {
  return std::ranges::find(parts, part) != parts.end();
}

/// Returns the number in a file, or nothing for "max", a negative number, or a missing file.
std::optional<std::uint64_t> number_in(const std::string& file) {
  std::ifstream stream(file);
  std::int64_t number = 0;
  if (stream >> number && number >= 0) return static_cast<std::uint64_t>(number);
  return std::nullopt;
}

/// Returns the number after `key` in a file of lines "key number", or 0 if the key is missing.
std::uint64_t number_behind(const std::string& file, const std::string& key) {
  std::ifstream stream(file);
  std::string name;
  for (std::uint64_t number = 0; stream >> name >> number;)
    if (name == key) return number;
  return 0;
}

struct Files {
  const char* memory_limit;
  const char* memory_usage;
  const char* reclaimable;  ///< name of the reclaimable memory in memory.stat
};
constexpr Files version1 = {"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"};
constexpr Files version2 = {"/memory.max", "/memory.current", "inactive_file"};

void limit_memory(const std::string& folder, const Files& files, bool with_usage, ControlGroup& group) {
  const auto limit = number_in(folder + files.memory_limit);
  if (!limit) return;
  group.memory_limit = std::min(group.memory_limit, *limit);
  if (!with_usage) return;
  const std::uint64_t usage = number_in(folder + files.memory_usage).value_or(0);
  const std::uint64_t reclaimable = number_behind(folder + "/memory.stat", files.reclaimable);
  const std::uint64_t taken = usage - std::min(usage, reclaimable);
  group.memory_left = std::min(group.memory_left, *limit - std::min(*limit, taken));
}

void limit_processors(std::optional<std::uint64_t> quota, std::optional<std::uint64_t> period, ControlGroup& group) {
  if (quota && period && *quota > 0 && *period > 0)
    group.processors = std::min(group.processors, static_cast<double>(*quota) / static_cast<double>(*period));
}

void limit_processors_version2(const std::string& folder, ControlGroup& group) {
  std::ifstream stream(folder + "/cpu.max");
  std::uint64_t quota = 0;  // "max" is not a number, so the quota stays 0: no limit
  std::uint64_t period = 0;
  if (stream >> quota >> period) limit_processors(quota, period, group);
}

struct Mount {
  std::string root;   ///< the part of the hierarchy that is mounted
  std::string point;  ///< mount point
  bool version2 = false;
  std::vector<std::string> controllers;
};

// Format: id parent device ROOT POINT options [optional fields] - TYPE source SUPER_OPTIONS
std::vector<Mount> mounts(const std::string& file) {
  std::vector<Mount> found;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    const std::vector<std::string> fields = split(line, ' ');
    const auto dash = std::ranges::find(fields, "-");
    if (dash - fields.begin() < 6 || fields.end() - dash < 4) continue;
    if (dash[1] == "cgroup2") found.push_back({fields[3], fields[4], true, {}});
    if (dash[1] == "cgroup") found.push_back({fields[3], fields[4], false, split(dash[3], ',')});
  }
  return found;
}

/// Returns the path of a group relative to the mounted part of its hierarchy, or "" for the root of that part. In a
/// container, the path may be outside of the mounted part. In this case, returns "", because the limits of the mounted
/// root apply.
std::string below_mount(const std::string& path, const std::string& root) {
  if (path.find("/..") != std::string::npos) return "";
  if (root == "/") return path == "/" ? "" : path;
  if (path.starts_with(root + "/")) return path.substr(root.size());
  return "";
}

}  // namespace

ControlGroup read_control_group(const std::string& root, bool with_usage) {
  ControlGroup group;
  const std::vector<Mount> hierarchies = mounts(root + "/proc/self/mountinfo");
  std::ifstream stream(root + "/proc/self/cgroup");
  for (std::string line; std::getline(stream, line);) {  // format: id:controllers:path
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::vector<std::string> controllers = split(line.substr(first + 1, second - first - 1), ',');
    const bool version2_line = controllers.empty();
    for (const Mount& mount : hierarchies) {
      if (mount.version2 != version2_line) continue;
      const auto governs = [&](const char* controller) {
        return version2_line || (contains(controllers, controller) && contains(mount.controllers, controller));
      };
      for (std::string path = below_mount(line.substr(second + 1), mount.root);; path.resize(path.rfind('/'))) {
        std::string folder = root;
        folder.append(mount.point).append(path);
        if (governs("memory")) limit_memory(folder, version2_line ? version2 : version1, with_usage, group);
        if (version2_line) limit_processors_version2(folder, group);
        else if (governs("cpu"))
          limit_processors(number_in(folder + "/cpu.cfs_quota_us"), number_in(folder + "/cpu.cfs_period_us"), group);
        if (path.find('/') == std::string::npos) break;
      }
    }
  }
  return group;
}

const ControlGroup& first_control_group() {
  static const ControlGroup group = read_control_group("", false);
  return group;
}

}  // namespace gradus::cpu
