// Detects changes of files.
#pragma once

#include <sys/types.h>

#include <ctime>
#include <string>

#include "gradus/error.hpp"

namespace gradus::core {

/// The properties of a file that differ after a change of its content.
struct FileState {
  dev_t device = 0;
  ino_t file = 0;
  off_t size = 0;
  time_t seconds = 0;  ///< time of the last modification
  long nanoseconds = 0;

  friend bool operator==(const FileState&, const FileState&) = default;
};

/// Returns the state of the file, or an empty state if the file cannot be examined.
FileState state_of(const std::string& path);
/// Overload for an open file.
FileState state_of(int descriptor);

/// Returns the error for a file whose state changed from `before` to `now` while it was read. `name` is the name for
/// messages, which may name an array of the file.
InputError changed_file(const std::string& name, const FileState& before, const FileState& now);

/// Throws changed_file() if the file has another state than `before`.
void require_unchanged(const std::string& path, const FileState& before, const std::string& name);

/// Returns the path of the file that this process has mapped at the address, by whatever means. Returns "" for other
/// memory, or if it is unknown.
std::string path_mapped_at(const void* address);

}  // namespace gradus::core
