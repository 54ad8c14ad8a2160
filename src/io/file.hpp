// Files mapped into memory for reading.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "gradus/error.hpp"

namespace gradus::io {

/// The ending of a file's name in small letters, with its dot; "" where there is none.
std::string ending_of(const std::string& path);

/// How a mapping will be read.
enum class Access : unsigned char {
  once,     ///< from the beginning to the end, for parsers
  repeated  ///< many times, by many threads: the points of an iterative method
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

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace gradus::io
