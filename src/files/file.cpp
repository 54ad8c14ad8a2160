#include "files/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <utility>

#include "core/text.hpp"

namespace gradus::files {

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

bool is_stream(const std::string& path) {
  if (path == "-") return true;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return false;
  return S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode) || S_ISSOCK(status.st_mode);
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

namespace {

/// All mapped files, in an array that the signal handler can read without a lock. If the array is full, another file
/// gets no protection.
std::array<std::atomic<const MappedFile*>, 64> mapped{};

void enter(const MappedFile* file) {
  for (std::atomic<const MappedFile*>& place : mapped) {
    const MappedFile* nobody = nullptr;
    if (place.compare_exchange_strong(nobody, file, std::memory_order_release)) return;
  }
}

void leave(const MappedFile* file) {
  for (std::atomic<const MappedFile*>& place : mapped) {
    const MappedFile* own = file;
    if (place.compare_exchange_strong(own, nullptr, std::memory_order_relaxed)) return;
  }
}

const MappedFile* file_at(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const std::atomic<const MappedFile*>& place : mapped) {
    const MappedFile* const file = place.load(std::memory_order_acquire);
    if (file == nullptr) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(file->bytes().data());
    if (at >= begin && at - begin < file->bytes().size()) return file;
  }
  return nullptr;
}

void (*ask_program_to_stop)() = nullptr;
std::stop_token program_stop;
// The path of the first truncated file. It is a copy, because the mapping no longer exists when the path is read.
std::atomic<bool> truncated_taken{false};
std::atomic<bool> truncated_known{false};
char truncated_path[PATH_MAX];

/// The signal handler. It calls only async-signal-safe functions and mmap(), which is a plain system call on Linux.
void read_zeros(int number, siginfo_t* information, void*) {
  const int error_number = errno;
  const MappedFile* const file = file_at(information->si_addr);
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  bool lives = file != nullptr;
  if (lives) {
    const auto* const at = static_cast<const char*>(information->si_addr);
    const char* const first = at - reinterpret_cast<std::uintptr_t>(at) % page;
    const char* const end = reinterpret_cast<const char*>(file->bytes().data() + file->bytes().size());
    lives = ::mmap(const_cast<char*>(first), static_cast<std::size_t>(end - first), PROT_READ,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
  }
  if (!lives) {  // when the handler returns, the signal occurs again and ends the process
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    ::sigaction(number, &usual, nullptr);
    errno = error_number;
    return;
  }
  if (!truncated_taken.exchange(true)) {
    std::strncpy(truncated_path, file->path().c_str(), sizeof truncated_path - 1);
    truncated_known.store(true, std::memory_order_release);
    ask_program_to_stop();
  }
  // Waits until the job receives the stop request, so that the job does not use the zeros. Another thread delivers the
  // request.
  const timespec moment{0, 1'000'000};
  while (!program_stop.stop_requested()) ::nanosleep(&moment, nullptr);
  errno = error_number;
}

}  // namespace

void survive_truncated_files(void (*ask_to_stop)(), std::stop_token stop) {
  ask_program_to_stop = ask_to_stop;
  program_stop = std::move(stop);
  struct sigaction ours {};
  ours.sa_sigaction = read_zeros;
  ours.sa_flags = SA_SIGINFO;
  sigemptyset(&ours.sa_mask);
  ::sigaction(SIGBUS, &ours, nullptr);
}

const char* truncated_file() { return truncated_known.load(std::memory_order_acquire) ? truncated_path : nullptr; }

MappedFile::MappedFile(const std::string& path, Access access) : path_(path) {
  const auto refuse = [&](const std::string& why) {
    throw InputError("cannot read '" + path + "'" + why, {.code = error_code::cannot_read, .file = path});
  };
  // O_NONBLOCK: opening a pipe without a writer would block forever.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) refuse(reason(errno));
  if (S_ISDIR(status.st_mode)) refuse(reason(EISDIR));
  if (!S_ISREG(status.st_mode))
    refuse(": it is not a regular file; where - is accepted as a file's name, it is standard input");
  if (status.st_size == 0) refuse(": the file is empty");
  size_ = static_cast<std::size_t>(status.st_size);
  void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (address == MAP_FAILED && errno == ENOMEM) throw OutOfMemoryError("cannot read '" + path + "'" + reason(errno));
  if (address == MAP_FAILED) refuse(reason(errno));
  data_ = static_cast<const std::byte*>(address);
  // The advice may fail: the mapping works without it.
  if (access != Access::parts)
    (void)::madvise(address, size_, access == Access::once ? MADV_SEQUENTIAL : MADV_WILLNEED);
  enter(this);
}

void MappedFile::read_ahead(std::span<const std::byte> part) const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t before = reinterpret_cast<std::uintptr_t>(part.data()) % page;
  if (!part.empty()) (void)::madvise(const_cast<std::byte*>(part.data() - before), part.size() + before, MADV_WILLNEED);
}

MappedFile::~MappedFile() {
  leave(this);
  ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace gradus::files
