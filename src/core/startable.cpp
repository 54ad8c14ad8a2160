#include "core/startable.hpp"

#include <omp.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string_view>
#include <thread>
#include <vector>

namespace gradus::core {
namespace {

/// Thread attributes. They have the values that the OpenMP runtimes of GNU, LLVM and Intel set.
class Attributes {
 public:
  Attributes() {
    pthread_attr_init(&attributes_);
    if (const long long bytes = wanted_stack_bytes(); bytes > 0)
      pthread_attr_setstacksize(&attributes_, static_cast<std::size_t>(bytes));
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() { pthread_attr_destroy(&attributes_); }
  const pthread_attr_t* get() const { return &attributes_; }

 private:
  pthread_attr_t attributes_;
};

/// A gate at which the started threads wait until all of them have been counted.
struct Gate {
  std::mutex mutex;
  std::condition_variable opened;
  bool is_open = false;
  std::vector<pid_t> passed;  ///< allocated in advance, because a thread must not throw
};

void* wait_at(void* gate) {
  Gate& own = *static_cast<Gate*>(gate);
  std::unique_lock lock(own.mutex);
  own.opened.wait(lock, [&] { return own.is_open; });
  own.passed.push_back(gettid());
  return nullptr;
}

/// Waits until the kernel has released the thread ids. Until then, joined threads count against the limits.
void wait_until_forgotten(const std::vector<pid_t>& threads) {
  const auto latest = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  for (const pid_t thread : threads)
    while (syscall(SYS_tgkill, getpid(), thread, 0) == 0 && std::chrono::steady_clock::now() < latest)
      std::this_thread::yield();
}

bool has_limited_address_space() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace

long long wanted_stack_bytes() {
  for (const char* name : {"OMP_STACKSIZE", "GOMP_STACKSIZE", "KMP_STACKSIZE"})
    if (const long long bytes = stack_bytes(std::getenv(name)); bytes > 0) return bytes;
  return 0;
}

long long stack_bytes(const char* text) {
  if (text == nullptr) return 0;
  char* end = nullptr;
  const long long number = std::strtoll(text, &end, 10);
  if (end == text || number <= 0) return 0;
  while (std::isspace(static_cast<unsigned char>(*end)) != 0) ++end;
  constexpr std::string_view units = "bkmg";
  const std::size_t unit = *end == '\0' ? 1 : units.find(static_cast<char>(std::tolower(*end)));
  const long long factor = unit < units.size() ? 1LL << (10 * unit) : 0;
  return factor == 0 || number > LLONG_MAX / factor ? 0 : number * factor;
}

int count_startable(int threads) {
  const Attributes attributes;
  Gate gate;
  std::vector<pthread_t> started;
  try {
    gate.passed.reserve(static_cast<std::size_t>(threads));
    started.reserve(static_cast<std::size_t>(threads));
  } catch (const std::bad_alloc&) {
    return 0;
  }
  while (static_cast<int>(started.size()) < threads) {
    pthread_t thread{};
    if (pthread_create(&thread, attributes.get(), wait_at, &gate) != 0) break;
    started.push_back(thread);
  }
  {
    const std::lock_guard lock(gate.mutex);
    gate.is_open = true;
  }
  gate.opened.notify_all();
  for (const pthread_t thread : started) pthread_join(thread, nullptr);
  wait_until_forgotten(gate.passed);
  return static_cast<int>(started.size());
}

int startable_threads(int threads) {
  constinit static thread_local int known = 1;
  // If teams are nested or exceed OMP_THREAD_LIMIT, the runtime starts fewer threads in any case.
  const int asked = std::min(threads, omp_get_thread_limit());
  if (asked <= 1 || omp_get_active_level() >= omp_get_max_active_levels()) return threads;
  // Under an address-space limit, startable threads must be counted again for each team. When a team is smaller than
  // the previous one, the runtime ends the surplus threads. It starts threads again for the next larger team, but until
  // then, other memory may occupy the address space of their stacks. This code therefore ends the runtime's idle
  // threads and counts the whole team.
  const bool is_limited = has_limited_address_space();
  if (asked <= known && !is_limited) return threads;
  // In a forked child, the runtime must not end threads: it would wait for threads of the parent.
  static const pid_t first_process = getpid();
  if (is_limited && getpid() == first_process && omp_get_level() == 0)
    omp_pause_resource(omp_pause_soft, omp_get_initial_device());
  // The calling thread already exists. It is counted nevertheless, so that the runtime has room for its other needs.
  const int startable = std::max(count_startable(asked), 1);
  known = std::max(known, startable);
  return startable == asked ? threads : startable;
}

}  // namespace gradus::core
