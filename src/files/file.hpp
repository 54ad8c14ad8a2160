// Files mapped into memory for reading.
#pragma once

#include <cstddef>
#include <span>
#include <stop_token>
#include <string>

#include "gradus/error.hpp"

namespace gradus::files {

/// The ending of a file's name in small letters, with its dot; "" where there is none.
std::string ending_of(const std::string& path);

/// Whether the path names something that can be read once only, from its beginning to its end: "-", which is standard
/// input, a pipe (also of a shell's process substitution) or a terminal. A missing file is none.
bool is_stream(const std::string& path);

/// A file descriptor that is closed at the end.
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

/// How a mapping will be read.
enum class Access : unsigned char {
  once,      ///< from the beginning to the end, for parsers
  repeated,  ///< many times, by many threads: the points of an iterative method
  parts      ///< some parts of it, which read_ahead() names
};

/// A regular file, mapped read-only. Throws InputError, with the path, for a missing, unreadable or empty file
/// and for anything that is no regular file.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path, Access access = Access::once);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }
  /// Advice that this part of the bytes will be read many times.
  void read_ahead(std::span<const std::byte> part) const;

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// For a program, once, before its jobs: a mapped file that becomes shorter while it is read would end the process by
/// SIGBUS. Instead the job reads zeros there, `ask_to_stop` is called, from a signal's handler, and the job goes on
/// when `stop` was requested. What it then says or writes is of no use: see truncated_file().
void outlive_truncated_files(void (*ask_to_stop)(), std::stop_token stop);

/// The path of the first mapped file that turned out to be shorter than it was; null: there was none.
const char* truncated_file();

}  // namespace gradus::files
