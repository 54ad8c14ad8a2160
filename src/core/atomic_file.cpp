#include "core/atomic_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "gradus/error.hpp"

namespace gradus::core {

namespace {

constexpr std::size_t buffer_size = std::size_t{1} << 18;
// Number of bytes written between two polls of the stop request.
constexpr std::size_t bytes_between_looks = std::size_t{1} << 23;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

/// Owns a file descriptor, or -1 for no file.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int operator*() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_of(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::string joined(const std::string& directory, std::string_view name) {
  std::string path = directory;
  if (path.back() != '/') path += '/';
  return path.append(name);
}

/// Returns the path with symbolic links resolved, or an empty string if the file does not exist.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? real.get() : "";
}

/// Returns true for names such as /dev/stdout. They may refer to a regular file that another process has open, and such
/// a file must not be replaced.
bool names_a_descriptor(const std::string& path) {
  return path.starts_with("/dev/std") || path.starts_with("/dev/fd/") || path.starts_with("/proc/");
}

/// Makes the rename itself durable. Some file systems cannot sync directories and return EINVAL.
void sync_directory(const std::string& directory, const std::string& path) {
  const Descriptor descriptor(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A directory may be writable but unreadable. It cannot be synced then: the data is already safe, but the name may
  // reach the disk later.
  if (!descriptor) return;
  if (::fsync(*descriptor) != 0 && errno != EINVAL) throw Error("cannot write '" + path + "'" + reason(errno));
}

void require_room(const std::string& directory, std::uint64_t bytes, const std::string& path) {
  struct statvfs status {};
  // Some virtual file systems report no size. Their free space is unknown, so nothing is checked.
  if (::statvfs(directory.c_str(), &status) != 0 || status.f_blocks == 0) return;
  const std::uint64_t block = status.f_frsize > 0 ? status.f_frsize : status.f_bsize;
  std::uint64_t free = 0;
  if (__builtin_mul_overflow(status.f_bavail, block, &free) || bytes <= free) return;
  throw Error("cannot write '" + path + "': " + size_text(bytes) + " are needed, but only " + size_text(free) +
              " are free in '" + directory + "'");
}

/// Returns the names in a directory except "." and "..", or nullopt if it cannot be read.
std::optional<std::vector<std::string>> names_in(const std::string& directory) {
  const std::unique_ptr<DIR, CloseDirectory> open(::opendir(directory.c_str()));
  if (!open) return std::nullopt;
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return std::nullopt;
  return names;
}

// Temporary files and folders are named .NAME.PROCESS-NUMBER.tmp. A process holds a lock (flock) on each temporary file
// or folder that it uses.

std::string temporary_prefix(std::string_view name) { return std::string(".").append(name.substr(0, 200)).append("."); }

/// Returns an unused temporary name in the folder of `path`.
std::string temporary_beside(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  const std::size_t name = path.find_last_of('/') + 1;  // 0 if there is no slash
  return path.substr(0, name) + temporary_prefix(path.substr(name)) + std::to_string(::getpid()) + "-" +
         std::to_string(counter++) + ".tmp";
}

bool is_temporary(std::string_view entry, std::string_view prefix) {
  constexpr std::string_view end = ".tmp";
  if (!entry.starts_with(prefix) || !entry.ends_with(end) || entry.size() < prefix.size() + end.size()) return false;
  entry = entry.substr(prefix.size(), entry.size() - prefix.size() - end.size());
  const std::size_t process = entry.find_first_not_of("0123456789");
  return process != 0 && process != std::string_view::npos && entry[process] == '-' && process + 1 < entry.size() &&
         entry.find_first_not_of("0123456789", process + 1) == std::string_view::npos;
}

/// Locks an open file or folder for this process. Returns false in two cases: another process holds the lock, or
/// another process has removed the file or folder because it seemed stale.
bool lock(int descriptor) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

/// Removes temporary files and folders of `path` that killed processes left behind. Skips those that a process has
/// locked. In such a folder, removes only files whose names are in `names`. If the folder has other files, it stays.
void remove_stale(const std::string& path, const std::vector<std::string>& names) {
  const std::string directory = parent_of(path);
  const std::string prefix = temporary_prefix(name_of(path));
  const std::optional<std::vector<std::string>> entries = names_in(directory);
  for (const std::string& entry : entries ? *entries : std::vector<std::string>{}) {
    if (!is_temporary(entry, prefix)) continue;
    const std::string stale = joined(directory, entry);
    const Descriptor descriptor(::open(stale.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!descriptor || ::flock(*descriptor, LOCK_EX | LOCK_NB) != 0 || ::fstat(*descriptor, &status) != 0) continue;
    if (S_ISREG(status.st_mode)) ::unlink(stale.c_str());
    if (!S_ISDIR(status.st_mode)) continue;
    for (const std::string& name : names) ::unlink(joined(stale, name).c_str());
    ::rmdir(stale.c_str());
  }
}

constexpr std::array<std::array<std::uint32_t, 256>, 8> crc_tables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) remainder = remainder >> 1 ^ (remainder & 1 ? 0xEDB88320U : 0);
    tables[0][byte] = remainder;
  }
  for (std::size_t table = 1; table < tables.size(); ++table)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[table - 1][byte];
      tables[table][byte] = before >> 8 ^ tables[0][before & 255];
    }
  return tables;
}();

}  // namespace

// Processes eight bytes at a time. Table t states, for each value of a byte, its effect on the remainder if t more
// bytes follow.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
  const auto* next = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, next += 8) {
    crc ^= static_cast<std::uint32_t>(next[0]) | static_cast<std::uint32_t>(next[1]) << 8 |
           static_cast<std::uint32_t>(next[2]) << 16 | static_cast<std::uint32_t>(next[3]) << 24;
    crc = crc_tables[7][crc & 255] ^ crc_tables[6][crc >> 8 & 255] ^ crc_tables[5][crc >> 16 & 255] ^
          crc_tables[4][crc >> 24] ^ crc_tables[3][next[4]] ^ crc_tables[2][next[5]] ^ crc_tables[1][next[6]] ^
          crc_tables[0][next[7]];
  }
  for (; left > 0; --left, ++next) crc = crc >> 8 ^ crc_tables[0][(crc ^ *next) & 255];
  return ~crc;
}

AtomicFile::AtomicFile(std::string path, std::stop_token stop)
    : path_(std::move(path)), stop_(std::move(stop)), target_(path_) {
  struct stat status {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) fail(errno);  // detects an overlong name now instead of in the final rename
  if (exists && S_ISDIR(status.st_mode)) fail(EISDIR);
  if (names_a_descriptor(path_) || (exists && !S_ISREG(status.st_mode))) {
    in_place_ = true;
    open_in_place(exists && S_ISFIFO(status.st_mode));
    buffer_.reserve(buffer_size);
    return;
  }
  if (exists) {
    // Renaming would silently replace a write-protected file.
    if (::faccessat(AT_FDCWD, path_.c_str(), W_OK, AT_EACCESS) != 0) fail(errno);
    target_ = resolved(path_);
    if (target_.empty()) fail(errno);
    replaces_ = true;
  } else if (path_.empty() || path_.back() == '/') {
    fail(path_.empty() ? ENOENT : EISDIR);
  }
  remove_stale(target_, {});
  make_temporary();
  if (exists) (void)::fchmod(descriptor_, status.st_mode & 07777);
  buffer_.reserve(buffer_size);
}

/// Opens the target itself. A blocking open of a pipe would wait for a reader without limit. This function therefore
/// opens pipes in non-blocking mode, and retries until there is a reader or a stop request.
void AtomicFile::open_in_place(bool is_pipe) {
  const bool looks = is_pipe && stop_.stop_possible();
  constexpr int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY;
  constexpr int patience_milliseconds = 20;
  for (;;) {
    descriptor_ = ::open(path_.c_str(), flags | (looks ? O_NONBLOCK : 0));
    if (descriptor_ >= 0) break;
    if (!looks || errno != ENXIO) fail(errno);
    honour_stop();
    (void)::poll(nullptr, 0, patience_milliseconds);
  }
  if (looks && ::fcntl(descriptor_, F_SETFL, O_APPEND) != 0) fail(errno);
}

void AtomicFile::make_temporary() {
  // Tries to open an unnamed file, which disappears when its process ends. The file can later get a name only through
  // /proc, so /proc must exist.
  descriptor_ = ::open(parent_of(target_).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (descriptor_ >= 0) {
    if (::access(("/proc/self/fd/" + std::to_string(descriptor_)).c_str(), F_OK) == 0) {
      (void)::flock(descriptor_, LOCK_EX | LOCK_NB);
      return;
    }
    ::close(std::exchange(descriptor_, -1));
  }
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::string name = temporary_beside(target_);
    descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno == EEXIST) continue;
    if (descriptor_ < 0) fail(errno);
    if (lock(descriptor_)) {
      temporary_ = name;
      return;
    }
    ::close(std::exchange(descriptor_, -1));
  }
  fail(EEXIST);
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

void AtomicFile::fail(int error_number) const {
  throw Error("cannot write '" + path_ + "'" + reason(error_number), {.code = error_code::cannot_write, .file = path_});
}

void AtomicFile::expect(std::uint64_t bytes) const {
  if (!in_place_) require_room(parent_of(target_), bytes, path_);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (finished_) throw Error("cannot write '" + path_ + "': the file is finished already");
  if (bytes.size() >= buffer_size - buffer_.size()) flush();
  if (bytes.size() >= buffer_size) write_out(bytes.data(), bytes.size());
  else buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }

void AtomicFile::honour_stop() const { core::honour_stop(stop_, "stopped while writing '" + path_ + "'"); }

void AtomicFile::write_out(const std::byte* data, std::size_t size) {
  // The reader of a pipe may be slow, and only PIPE_BUF bytes can be written without blocking.
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
    const auto count = static_cast<std::size_t>(written);
    if (summed_) checksum_ = crc32({data, count}, checksum_);
    size_ += count;
    data += count;
    size -= count;
  }
}

void AtomicFile::flush() {
  write_out(buffer_.data(), buffer_.size());
  buffer_.clear();
}

/// Writes the data to the disk in parts before fsync(), because fsync() cannot be interrupted and may take minutes.
void AtomicFile::bring_to_disk() {
  if (!stop_.stop_possible()) return;
  const off64_t end = ::lseek64(descriptor_, 0, SEEK_CUR);
  constexpr unsigned int wait = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  constexpr auto part = static_cast<off64_t>(bytes_between_looks);
  constexpr off64_t ahead = 8 * part;  // number of bytes that may be in flight before the loop waits for a part
  for (off64_t begin = -ahead; begin < end; begin += part) {
    honour_stop();
    // A later fsync() reports the errors of sync_file_range(). If the file system does not support sync_file_range(),
    // that fsync() does all the work.
    if (begin + ahead < end && ::sync_file_range(descriptor_, begin + ahead, part, SYNC_FILE_RANGE_WRITE) != 0) return;
    if (begin >= 0 && ::sync_file_range(descriptor_, begin, part, wait) != 0) return;
  }
  honour_stop();
}

void AtomicFile::finish() {
  if (finished_) return;
  flush();
  if (in_place_) {
    // Only a file that is written in place is closed. Temporary files must stay open, because closing would release the
    // lock and delete an unnamed file. After close() the descriptor is invalid, even if close() reports an error.
    if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) fail(errno);
  } else {
    bring_to_disk();
    if (::fsync(descriptor_) != 0 && errno != EINVAL) fail(errno);
  }
  finished_ = true;
  buffer_ = {};
}

/// Gives the file a name that does not exist yet, in the target's folder or in another folder of the same file system.
/// The name is temporary until the file reaches its target.
void AtomicFile::give_name(const std::string& path) {
  if (temporary_.empty()) {
    const std::string open_file = "/proc/self/fd/" + std::to_string(descriptor_);
    if (::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) != 0) fail(errno);
  } else if (std::rename(temporary_.c_str(), path.c_str()) != 0) {
    fail(errno);
  }
  temporary_ = path;
}

void AtomicFile::put_in_place() {
  if (!in_place_) {
    if (temporary_.empty()) give_name(temporary_beside(target_));
    if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  }
  arrived();
}

void AtomicFile::arrived() {
  temporary_.clear();
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  committed_ = true;
}

void AtomicFile::commit() {
  if (committed_) return;
  finish();
  put_in_place();
  if (!in_place_) sync_directory(parent_of(target_), path_);
}

void AtomicFile::withdraw() noexcept {
  if (committed_ && !in_place_ && !replaces_) ::unlink(target_.c_str());
}

OutputSet::OutputSet(std::string directory, std::vector<std::string> names, std::stop_token stop)
    : directory_(directory.empty() ? "." : std::move(directory)), names_(std::move(names)), stop_(std::move(stop)) {
  // Makes each missing directory of the path. Each prefix of the path that ends before a slash is a directory, and so
  // is the whole path.
  for (std::size_t end = 1; end <= directory_.size(); ++end) {
    if (end < directory_.size() && directory_[end] != '/') continue;
    const std::string prefix = directory_.substr(0, end);
    if (prefix.back() == '/') continue;  // the root, or a double slash
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
  // A write-protected file must be neither removed nor replaced silently.
  for (const std::string& name : names_)
    if (::faccessat(AT_FDCWD, path_of(name).c_str(), W_OK, AT_EACCESS) != 0 && errno == EACCES)
      throw Error("cannot write '" + path_of(name) + "'" + reason(EACCES));
  if (const std::string real = resolved(directory_); !real.empty()) remove_stale(real, names_);
  for (const std::string& name : names_) remove_stale(path_of(name), {});
}

OutputSet::~OutputSet() {
  files_.clear();
  if (committed_) return;
  for (auto made = made_.rbegin(); made != made_.rend(); ++made) ::rmdir(made->c_str());
}

std::string OutputSet::path_of(std::string_view name) const { return joined(directory_, name); }

bool OutputSet::is_known(std::string_view name) const { return std::ranges::find(names_, name) != names_.end(); }

AtomicFile& OutputSet::add(std::string_view name, std::uint64_t bytes) {
  AtomicFile& file = files_.emplace_back(path_of(name), stop_);
  file.summed_ = true;
  expected_ += std::min(bytes, ~expected_);  // saturating addition
  file.expect(expected_);
  return file;
}

void OutputSet::set_seal(const AtomicFile& seal, std::string placeholder) {
  seal_ = &seal;
  placeholder_ = std::move(placeholder);
}

void OutputSet::commit() {
  if (committed_) return;
  for (AtomicFile& file : files_) file.finish();
  if (names_.size() == 1 || !exchange_folder()) replace_one_by_one();
  committed_ = true;
  for (const std::string& made : made_) sync_directory(parent_of(made), made);
}

namespace {

/// Returns true if another folder can replace `directory`. This requires that `directory` is an ordinary folder of this
/// user, and neither a mount point nor the working directory.
bool is_replaceable(const std::string& directory, const struct stat& status) {
  struct stat parent {};
  struct stat working {};
  if (status.st_uid != ::geteuid() || ::stat(parent_of(directory).c_str(), &parent) != 0 ||
      parent.st_dev != status.st_dev ||
      ::faccessat(AT_FDCWD, parent_of(directory).c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    return false;
  if (::stat(".", &working) != 0 || (working.st_dev == status.st_dev && working.st_ino == status.st_ino)) return false;
  // A folder with access control lists or other attributes is not replaced, because the new folder would lack them. An
  // SELinux label does not prevent the replacement, because the system also labels the new folder.
  char attributes[512];
  const ssize_t size = ::listxattr(directory.c_str(), attributes, sizeof attributes);
  if (size < 0) return errno == ENOTSUP;
  return size == 0 || std::string_view(attributes, static_cast<std::size_t>(size)) ==
                          std::string_view("security.selinux\0", sizeof "security.selinux");
}

/// Returns true if the folder contains only regular files with these names.
bool holds_only(const std::string& directory, const std::vector<std::string>& names) {
  const std::optional<std::vector<std::string>> entries = names_in(directory);
  return entries && std::ranges::all_of(*entries, [&](const std::string& entry) {
           struct stat status {};
           return std::ranges::find(names, entry) != names.end() &&
                  ::lstat(joined(directory, entry).c_str(), &status) == 0 && S_ISREG(status.st_mode);
         });
}

/// Makes a folder at `path` with the group and mode of `model`, and locks it. Returns no descriptor if that is
/// impossible.
Descriptor make_folder_like(const std::string& path, const struct stat& model) {
  if (::mkdir(path.c_str(), 0700) != 0) return Descriptor(-1);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat status {};
  const bool alike = descriptor >= 0 && lock(descriptor) && ::fstat(descriptor, &status) == 0 &&
                     (status.st_gid == model.st_gid || ::fchown(descriptor, uid_t(-1), model.st_gid) == 0) &&
                     ::fchmod(descriptor, model.st_mode & 07777) == 0;
  if (alike) return Descriptor(descriptor);
  if (descriptor >= 0) ::close(descriptor);
  ::rmdir(path.c_str());
  return Descriptor(-1);
}

/// Gives the folder `fresh` the name `old`. If the folder `old` is empty, `fresh` replaces it; otherwise the two
/// folders exchange names. Returns false if that is impossible.
bool exchange(const std::string& fresh, const std::string& old) {
  if (std::rename(fresh.c_str(), old.c_str()) == 0) return true;
  return ::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, old.c_str(), RENAME_EXCHANGE) == 0;
}

}  // namespace

/// Replaces the old folder by a new folder with the files, in one step. If that is impossible, returns false and leaves
/// the old folder unchanged.
bool OutputSet::exchange_folder() {
  const std::string real = resolved(directory_);
  struct stat status {};
  if (real.empty() || real == "/" || ::lstat(real.c_str(), &status) != 0 || !is_replaceable(real, status)) return false;
  std::vector<std::string> ours = names_;
  for (const AtomicFile& file : files_) {
    if (file.in_place_ || resolved(parent_of(file.target_)) != real) return false;
    if (!file.temporary_.empty()) ours.push_back(name_of(file.temporary_));
  }
  if (!holds_only(real, ours)) return false;

  const std::string fresh = temporary_beside(real);
  const Descriptor folder = make_folder_like(fresh, status);
  if (!folder) return false;
  bool exchanged = false;
  try {
    for (AtomicFile& file : files_) file.give_name(joined(fresh, name_of(file.target_)));
    exchanged = ::fsync(*folder) == 0 && exchange(fresh, real);
  } catch (const Error&) {  // the new folder cannot contain the files
  }
  if (!exchanged) {
    for (AtomicFile& file : files_)
      if (!file.temporary_.empty()) file.give_name(temporary_beside(file.target_));
    ::rmdir(fresh.c_str());
    return false;
  }
  for (AtomicFile& file : files_) file.arrived();
  sync_directory(parent_of(real), directory_);
  for (const std::string& name : names_) ::unlink(joined(fresh, name).c_str());
  if (::rmdir(fresh.c_str()) != 0 && errno == ENOTEMPTY) {
    // Another process has created a file in the old folder during the exchange. Moves this file to the new folder.
    for (const std::string& name : names_in(fresh).value_or(std::vector<std::string>{}))
      ::renameat2(AT_FDCWD, joined(fresh, name).c_str(), AT_FDCWD, joined(real, name).c_str(), RENAME_NOREPLACE);
    ::rmdir(fresh.c_str());
  }
  return true;
}

/// If this job may write a file but has not written it, removes the file of this name that an earlier job has written.
void OutputSet::remove_unwritten() const {
  for (const std::string& name : names_) {
    const std::string path = path_of(name);
    struct stat status {};
    if (std::ranges::any_of(files_, [&](const AtomicFile& file) { return file.path_ == path; })) continue;
    if (::lstat(path.c_str(), &status) != 0 || (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))) continue;
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw Error("cannot remove '" + path + "'" + reason(errno));
  }
}

void OutputSet::replace_one_by_one() {
  // Does the steps that can fail first, before any file is replaced.
  for (AtomicFile& file : files_) {
    struct stat status {};
    if (::stat(file.target_.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) file.fail(EISDIR);
    if (!file.in_place_ && file.temporary_.empty()) file.give_name(temporary_beside(file.target_));
  }
  std::optional<AtomicFile> placeholder;
  try {
    if (seal_ != nullptr && !seal_->in_place_) {
      placeholder.emplace(seal_->path_);
      placeholder->write(placeholder_);
      placeholder->commit();
    }
    for (AtomicFile& file : files_)
      if (&file != seal_) file.put_in_place();
    remove_unwritten();
    sync_directory(directory_, directory_);
    for (AtomicFile& file : files_)
      if (&file == seal_) file.put_in_place();
  } catch (...) {
    for (AtomicFile& file : files_) file.withdraw();
    // Replaced files cannot be restored. If any file was replaced, the placeholder therefore stays and marks the set as
    // incomplete.
    const bool replaced =
        std::ranges::any_of(files_, [](const AtomicFile& file) { return file.committed_ && file.replaces_; });
    if (placeholder && !replaced) placeholder->withdraw();
    throw;
  }
  sync_directory(directory_, directory_);
}

void write_atomically(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.expect(text.size());
  file.write(text);
  file.commit();
}

}  // namespace gradus::core
