// Files mapped into memory for reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <span>
#include <stop_token>
#include <string>
#include <thread>

#include "core/file_state.hpp"
#include "gradus/error.hpp"

namespace gradus::files {

/// Returns the ending of a file's name in lower case, with its dot, or "" if it has none.
std::string ending_of(const std::string& path);

/// Returns true if the path can be read only once, sequentially: "-" (standard input), a pipe (including process
/// substitution of a shell) or a terminal. Returns false for a missing file.
bool is_stream(const std::string& path);

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  int number() const { return number_; }

 private:
  int number_;
};

enum class Access : unsigned char {
  once,      ///< for a parser, which reads sequentially
  repeated,  ///< for an iterative method: many threads read the file many times
  parts      ///< for reading only the parts named by read_ahead()
};

/// A regular file, mapped read-only. The constructor throws InputError if the file is unreadable, empty or not a
/// regular file.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path, Access access = Access::once);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }
  /// Throws InputError if the file has changed since it was mapped.
  void require_unchanged() const { core::require_unchanged(path_, state_, path_); }
  /// Advises the kernel that this part of the bytes will be read many times.
  void read_ahead(std::span<const std::byte> part) const;
  /// Returns the state of the file when it was mapped.
  const core::FileState& state() const { return state_; }
  /// Returns the current state of the file. Async-signal-safe.
  core::FileState state_now() const { return core::state_of(file_.number()); }

 private:
  std::string path_;
  Descriptor file_;
  core::FileState state_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Returns the mapped file whose bytes contain the address, or null.
const MappedFile* mapped_file_at(const void* address);

/// While it exists, a thread removes the pages of mapped files from the memory of this process whenever more than
/// `bytes` of such pages are resident. The pages stay in the system's page cache while there is room, and the next
/// access maps them again. Results do not change. If the thread cannot start, the pages stay until the system needs
/// their memory.
class ResidentLimit {
 public:
  explicit ResidentLimit(std::uint64_t bytes);

 private:
  std::jthread watcher_;
};

/// Returns the bytes of resident pages that belong to files, program code included. Returns 0 if they are unknown.
std::uint64_t resident_file_bytes();

/// A mapped file of which a part could not be read.
struct LostFile {
  const char* path = nullptr;
  std::uint64_t byte = 0;  ///< position in the file of the access that failed
  core::FileState before;  ///< when the file was mapped
  core::FileState now;     ///< when the access failed

  /// Returns true if the file ends before the byte; if not, the disk or the file system failed.
  bool is_shorter() const { return static_cast<std::uint64_t>(now.size) <= byte; }
};

/// Keeps a program alive if a mapped file is truncated, or its disk fails, while the file is being read (SIGBUS).
/// Called once, before the program's jobs. The missing part reads as zeros. The signal handler calls `ask_to_stop` and
/// waits until a stop is requested through `stop`. The job's results and messages are then meaningless: see
/// lost_file().
void survive_lost_files(void (*ask_to_stop)(), std::stop_token stop);

/// Returns the first mapped file of which a part could not be read, or null.
const LostFile* lost_file();

}  // namespace gradus::files
