#include "files/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <fstream>
#include <mutex>
#include <system_error>
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

/// All mapped files, in an array that the signal handler can read without a lock. Files beyond the array's size are not
/// protected.
std::array<std::atomic<const MappedFile*>, 64> mapped{};

void enter(const MappedFile* file) {
  for (std::atomic<const MappedFile*>& place : mapped) {
    const MappedFile* nobody = nullptr;
    if (place.compare_exchange_strong(nobody, file, std::memory_order_release)) return;
  }
}

/// Held while a file leaves the array, and while pages are dropped. So pages are never dropped from an address at which
/// the file is no longer mapped.
std::mutex mapped_files;

void leave(const MappedFile* file) {
  const std::lock_guard lock(mapped_files);
  for (std::atomic<const MappedFile*>& place : mapped) {
    const MappedFile* own = file;
    if (place.compare_exchange_strong(own, nullptr, std::memory_order_relaxed)) return;
  }
}

}  // namespace

const MappedFile* mapped_file_at(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const std::atomic<const MappedFile*>& place : mapped) {
    const MappedFile* const file = place.load(std::memory_order_acquire);
    if (file == nullptr) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(file->bytes().data());
    if (at >= begin && at - begin < file->bytes().size()) return file;
  }
  return nullptr;
}

namespace {

void (*ask_program_to_stop)() = nullptr;
std::stop_token program_stop;
// The path of a lost file is copied, because the file's mapping no longer exists when the path is read.
std::atomic<bool> lost_taken{false};
std::atomic<bool> lost_known{false};
char lost_path[PATH_MAX];
LostFile lost{lost_path, 0, {}, {}};

/// The signal handler. It calls only async-signal-safe functions and mmap(), which is a plain system call on Linux.
void read_zeros(int number, siginfo_t* information, void*) {
  const int error_number = errno;
  const MappedFile* const file = mapped_file_at(information->si_addr);
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
  if (!lost_taken.exchange(true)) {
    std::strncpy(lost_path, file->path().c_str(), sizeof lost_path - 1);
    lost.byte = static_cast<std::uint64_t>(static_cast<const std::byte*>(information->si_addr) - file->bytes().data());
    lost.before = file->state();
    lost.now = file->state_now();
    lost_known.store(true, std::memory_order_release);
    ask_program_to_stop();
  }
  // Waits until the job receives the stop request, so that the job does not use the zeros. Another thread delivers the
  // request.
  const timespec moment{0, 1'000'000};
  while (!program_stop.stop_requested()) ::nanosleep(&moment, nullptr);
  errno = error_number;
}

void drop_pages() {
  const std::lock_guard lock(mapped_files);
  for (const std::atomic<const MappedFile*>& place : mapped)
    if (const MappedFile* const file = place.load(std::memory_order_acquire); file != nullptr)
      (void)::madvise(const_cast<std::byte*>(file->bytes().data()), file->bytes().size(), MADV_DONTNEED);
}

/// Asks the scheduler to run this thread soon after it wakes, even if all CPUs are busy: threads with short time
/// slices go first (EEVDF, since Linux 6.12). Older systems ignore the request.
void ask_for_short_waits() {
  struct {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t slice, deadline, period;  // in nanoseconds
  } attributes{};
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0U) != 0) return;
  attributes.slice = 100'000;
  (void)::syscall(SYS_sched_setattr, 0, &attributes, 0U);
}

}  // namespace

void survive_lost_files(void (*ask_to_stop)(), std::stop_token stop) {
  ask_program_to_stop = ask_to_stop;
  program_stop = std::move(stop);
  struct sigaction ours {};
  ours.sa_sigaction = read_zeros;
  ours.sa_flags = SA_SIGINFO;
  sigemptyset(&ours.sa_mask);
  ::sigaction(SIGBUS, &ours, nullptr);
}

const LostFile* lost_file() { return lost_known.load(std::memory_order_acquire) ? &lost : nullptr; }

std::uint64_t resident_file_bytes() {
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  std::uint64_t of_files = 0;  // in pages
  std::ifstream("/proc/self/statm") >> all >> resident >> of_files;
  return of_files * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

ResidentLimit::ResidentLimit(std::uint64_t bytes) {
  // Two threads map pages of the page cache at up to 17 GB/s (measured), so 1 ms adds less than the limit's slack.
  static constexpr std::chrono::milliseconds period{1};
  const auto watch = [bytes](const std::stop_token& stop) {
    ask_for_short_waits();
    std::mutex none;
    std::condition_variable_any never;
    std::unique_lock lock(none);
    while (!never.wait_for(lock, stop, period, [&] { return stop.stop_requested(); }))
      if (resident_file_bytes() > bytes) drop_pages();
  };
  try {
    watcher_ = std::jthread(watch);
  } catch (const std::system_error&) {  // no thread is left for this process
  }
}

MappedFile::MappedFile(const std::string& path, Access access)
    // O_NONBLOCK: opening a pipe without a writer would block forever.
    : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
  const auto refuse = [&](const std::string& why) {
    throw InputError("cannot read '" + path + "'" + why, {.code = error_code::cannot_read, .file = path});
  };
  struct stat status {};
  if (file_.number() < 0 || ::fstat(file_.number(), &status) != 0) refuse(reason(errno));
  if (S_ISDIR(status.st_mode)) refuse(reason(EISDIR));
  if (!S_ISREG(status.st_mode))
    refuse(": it is not a regular file; where - is accepted as a file's name, it is standard input");
  if (status.st_size == 0) refuse(": the file is empty");
  state_ = core::state_of(file_.number());
  size_ = static_cast<std::size_t>(status.st_size);
  void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file_.number(), 0);
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
