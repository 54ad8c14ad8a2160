#include "core/atomic_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "gradus/error.hpp"

namespace gradus::core {

namespace {

constexpr std::size_t buffer_size = std::size_t{1} << 18;
constexpr std::size_t bytes_between_looks = std::size_t{1} << 23;  // at the stop request: what a slow disk takes soon

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// /dev/stdout may be a regular file behind its name, one that someone else has open: it must not be replaced.
bool names_a_descriptor(const std::string& path) {
  return path.starts_with("/dev/std") || path.starts_with("/dev/fd/") || path.starts_with("/proc/");
}

/// Makes the renaming itself durable. Some file systems have no such operation for directories and answer EINVAL.
void sync_directory(const std::string& directory, const std::string& path) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // A directory may be writable and yet unreadable; the data is safe, only its name is written later.
  if (descriptor < 0) return;
  const int error_number = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (error_number != 0 && error_number != EINVAL) throw Error("cannot write '" + path + "'" + reason(error_number));
}

}  // namespace

AtomicFile::AtomicFile(std::string path, std::stop_token stop)
    : path_(std::move(path)), stop_(std::move(stop)), target_(path_) {
  struct stat status {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) fail(errno);  // a name too long would only be found out by the renaming
  if (exists && S_ISDIR(status.st_mode)) fail(EISDIR);
  if (names_a_descriptor(path_) || (exists && !S_ISREG(status.st_mode))) {
    in_place_ = true;
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
    if (descriptor_ < 0) fail(errno);
    buffer_.reserve(buffer_size);
    return;
  }
  if (exists) {
    // Renaming would replace a write-protected file without a word.
    if (::faccessat(AT_FDCWD, path_.c_str(), W_OK, AT_EACCESS) != 0) fail(errno);
    const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path_.c_str(), nullptr), &std::free);
    if (!resolved) fail(errno);
    target_ = resolved.get();
    replaces_ = true;
  } else if (path_.empty() || path_.back() == '/') {
    fail(path_.empty() ? ENOENT : EISDIR);
  }

  static std::atomic<unsigned> counter{0};
  const std::size_t name = target_.find_last_of('/') + 1;  // 0 where there is no slash
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    temporary_ = target_.substr(0, name) + "." + target_.substr(name, 200) + "." + std::to_string(::getpid()) + "-" +
                 std::to_string(counter++) + ".tmp";
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && (errno != EEXIST || attempt == 100)) {
      const int error_number = errno;
      temporary_.clear();
      fail(error_number);
    }
  }
  if (exists) (void)::fchmod(descriptor_, status.st_mode & 07777);
  buffer_.reserve(buffer_size);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(int error_number) const { throw Error("cannot write '" + path_ + "'" + reason(error_number)); }

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (descriptor_ < 0) throw Error("cannot write '" + path_ + "': the file is finished already");
  if (bytes.size() >= buffer_size - buffer_.size()) flush();
  if (bytes.size() >= buffer_size) write_out(bytes.data(), bytes.size());
  else buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }

void AtomicFile::honour_stop() const { core::honour_stop(stop_, "stopped while writing '" + path_ + "'"); }

void AtomicFile::write_out(const std::byte* data, std::size_t size) {
  // Whoever reads from a pipe may take its time, and only so many bytes go into it without waiting.
  const std::size_t most = in_place_ ? PIPE_BUF : bytes_between_looks;
  while (size > 0) {
    honour_stop();
    constexpr int patience_milliseconds = 50;
    pollfd wanted{descriptor_, POLLOUT, 0};
    if (in_place_ && stop_.stop_possible() && ::poll(&wanted, 1, patience_milliseconds) == 0) continue;
    const ssize_t written = ::write(descriptor_, data, std::min(size, most));
    if (written < 0) {
      if (errno == EINTR) continue;
      fail(errno);
    }
    if (written == 0) fail(ENOSPC);
    data += written;
    size -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::flush() {
  write_out(buffer_.data(), buffer_.size());
  buffer_.clear();
}

/// fsync() cannot be called off, and may take minutes: the bytes go to the disk part by part before it.
void AtomicFile::bring_to_disk() {
  if (!stop_.stop_possible()) return;
  const off64_t end = ::lseek64(descriptor_, 0, SEEK_CUR);
  constexpr unsigned int wait = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  constexpr auto part = static_cast<off64_t>(bytes_between_looks);
  constexpr off64_t ahead = 8 * part;  // under way while a part is waited for
  for (off64_t begin = -ahead; begin < end; begin += part) {
    honour_stop();
    // What goes wrong here, fsync() reports; where there is no such call, it does all of the work.
    if (begin + ahead < end && ::sync_file_range(descriptor_, begin + ahead, part, SYNC_FILE_RANGE_WRITE) != 0) return;
    if (begin >= 0 && ::sync_file_range(descriptor_, begin, part, wait) != 0) return;
  }
  honour_stop();
}

void AtomicFile::finish() {
  if (descriptor_ < 0) return;
  flush();
  if (!in_place_) bring_to_disk();
  if (!in_place_ && ::fsync(descriptor_) != 0 && errno != EINVAL) fail(errno);
  // Whatever close() answers, the descriptor is gone.
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) fail(errno);
  buffer_ = {};
}

void AtomicFile::rename_into_place() {
  if (!in_place_) {
    if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
    temporary_.clear();
  }
  committed_ = true;
}

void AtomicFile::commit() {
  if (committed_) return;
  finish();
  rename_into_place();
  if (!in_place_) sync_directory(parent_of(target_), path_);
}

void AtomicFile::withdraw() noexcept {
  if (committed_ && !in_place_ && !replaces_) ::unlink(target_.c_str());
}

OutputSet::OutputSet(std::string directory, std::stop_token stop)
    : directory_(directory.empty() ? "." : std::move(directory)), stop_(std::move(stop)) {
  // Every prefix that ends before a slash, and the whole.
  for (std::size_t end = 1; end <= directory_.size(); ++end) {
    if (end < directory_.size() && directory_[end] != '/') continue;
    const std::string prefix = directory_.substr(0, end);
    if (prefix.back() == '/') continue;  // the root, or a doubled slash
    struct stat status {};
    int error_number = 0;
    if (::mkdir(prefix.c_str(), 0777) == 0) {
      made_.push_back(prefix);
      continue;
    }
    error_number = errno;
    if (::stat(prefix.c_str(), &status) == 0) {
      if (S_ISDIR(status.st_mode)) continue;
      error_number = ENOTDIR;
    }
    for (auto made = made_.rbegin(); made != made_.rend(); ++made) ::rmdir(made->c_str());
    throw Error("cannot make the directory '" + directory_ + "'" + reason(error_number));
  }
}

OutputSet::~OutputSet() {
  files_.clear();
  if (committed_) return;
  for (auto made = made_.rbegin(); made != made_.rend(); ++made) ::rmdir(made->c_str());
}

AtomicFile& OutputSet::add(std::string_view name) {
  std::string path = directory_;
  if (path.back() != '/') path += '/';
  return files_.emplace_back(path.append(name), stop_);
}

void OutputSet::commit() {
  if (committed_) return;
  for (AtomicFile& file : files_) file.finish();
  try {
    for (AtomicFile& file : files_) file.rename_into_place();
  } catch (...) {
    for (AtomicFile& file : files_) file.withdraw();
    throw;
  }
  committed_ = true;
  sync_directory(directory_, directory_);
  for (const std::string& made : made_) sync_directory(parent_of(made), made);
}

void write_atomically(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace gradus::core
