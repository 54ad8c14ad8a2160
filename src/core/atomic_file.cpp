#include "core/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "gradus/error.hpp"

namespace gradus::core {

namespace {

[[noreturn]] void fail(const std::string& path, int error_number) {
  throw Error("cannot write '" + path + "': " + std::strerror(error_number));
}

// All of `text`, and onto the disk where there is one; 0 or the error's number.
int write_and_close(int descriptor, std::string_view text, bool to_disk) {
  int error = 0;
  while (!text.empty() && error == 0) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written >= 0) text.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR) error = errno;
  }
  if (to_disk && error == 0 && fsync(descriptor) != 0) error = errno;
  if (close(descriptor) != 0 && error == 0) error = errno;
  return error;
}

}  // namespace

void write_atomically(const std::string& path, std::string_view text) {
  std::error_code unresolved;
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(path, unresolved);
  const std::string target = unresolved ? path : resolved.string();
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::status(target, unknown);
  if (std::filesystem::is_directory(status)) fail(path, EISDIR);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) fail(path, errno);
    if (const int error = write_and_close(descriptor, text, false); error != 0) fail(path, error);
    return;
  }

  static std::atomic<unsigned> serial{0};  // of this process, so that two threads never share a temporary file
  const std::string temporary =
      target + "." + std::to_string(getpid()) + "-" + std::to_string(serial.fetch_add(1)) + ".tmp";
  const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) fail(path, errno);
  int error = write_and_close(descriptor, text, true);
  if (error == 0 && std::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return;
  unlink(temporary.c_str());
  fail(path, error);
}

}  // namespace gradus::core
