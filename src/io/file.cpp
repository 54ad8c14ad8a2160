#include "io/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/text.hpp"

namespace gradus::io {

using core::reason;

std::string ending_of(const std::string& path) {
  const std::size_t dot = path.find_last_of("./");
  if (dot == std::string::npos || path[dot] == '/') return "";
  std::string ending = path.substr(dot);
  std::transform(ending.begin(), ending.end(), ending.begin(), [](char character) {
    return character >= 'A' && character <= 'Z' ? static_cast<char>(character - 'A' + 'a') : character;
  });
  return ending;
}

MappedFile::MappedFile(const std::string& path, Access access) {
  const auto refuse = [&](const std::string& why) { throw InputError("cannot read '" + path + "'" + why); };
  struct Descriptor {
    int number;
    ~Descriptor() {
      if (number >= 0) ::close(number);
    }
  };
  // O_NONBLOCK: opening a pipe that nobody writes to would wait forever.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  struct stat status {};
  if (file.number < 0 || ::fstat(file.number, &status) != 0) refuse(reason(errno));
  if (S_ISDIR(status.st_mode)) refuse(reason(EISDIR));
  if (!S_ISREG(status.st_mode))
    refuse(": it is not a regular file; where - is taken as a file's name, it is standard input");
  if (status.st_size == 0) refuse(": the file is empty");
  size_ = static_cast<std::size_t>(status.st_size);
  void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (address == MAP_FAILED && errno == ENOMEM) throw Error("cannot read '" + path + "'" + reason(errno));
  if (address == MAP_FAILED) refuse(reason(errno));
  data_ = static_cast<const std::byte*>(address);
  // Advice only: the mapping works without it.
  (void)::madvise(address, size_, access == Access::once ? MADV_SEQUENTIAL : MADV_WILLNEED);
}

MappedFile::~MappedFile() { ::munmap(const_cast<std::byte*>(data_), size_); }

}  // namespace gradus::io
