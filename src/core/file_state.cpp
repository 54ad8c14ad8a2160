#include "core/file_state.hpp"

#include <sys/stat.h>

#include <cstdint>
#include <fstream>
#include <sstream>

#include "gradus/error.hpp"

namespace gradus::core {

namespace {

FileState state_in(const struct stat& status) {
  return {status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

}  // namespace

FileState state_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? state_in(status) : FileState{};
}

FileState state_of(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 ? state_in(status) : FileState{};
}

std::string path_mapped_at(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    fields >> std::hex >> begin >> dash >> end;
    if (!fields || wanted < begin || wanted >= end) continue;
    const std::size_t path = line.find('/');  // the fields before the path have no slash
    return path == std::string::npos ? "" : line.substr(path);
  }
  return "";
}

InputError changed_file(const std::string& name, const FileState& before, const FileState& now) {
  std::string how = ", or was replaced by another one";
  if (now.size != before.size)
    how = ": it had " + std::to_string(before.size) + " bytes and now has " + std::to_string(now.size);
  return InputError("'" + name + "': the file has changed while it was read" + how +
                        "; run the command again when no program writes to the file",
                    {.code = error_code::cannot_read, .file = name});
}

void require_unchanged(const std::string& path, const FileState& before, const std::string& name) {
  if (const FileState now = state_of(path); now != before) throw changed_file(name, before, now);
}

}  // namespace gradus::core
