// Files mapped into memory for reading.
#pragma once

#include <cstddef>
#include <span>
#include <stop_token>
#include <string>

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
  /// Advises the kernel that the program will read this part of the file many times.
  void read_ahead(std::span<const std::byte> part) const;

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Keeps a program alive if a mapped file is truncated while it is being read (SIGBUS). Call it once, before the first
/// job. The missing part of the file then reads as zeros. The signal handler calls `ask_to_stop` and waits until `stop`
/// has a stop request. After that, the job's results and messages are meaningless: see truncated_file().
void survive_truncated_files(void (*ask_to_stop)(), std::stop_token stop);

/// Returns the path of the first mapped file that was found to be truncated, or null.
const char* truncated_file();

}  // namespace gradus::files
