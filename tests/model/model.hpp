// An exhaustive checker for code of two or three threads that share atomic variables. It runs the code in every order
// of events that C++ allows, and in each order with every value that a load may return. This covers more than
// interleavings. Without ordering constraints, a thread may see stale values of some variables and new values of
// others, and two threads may see the writes of other threads in different orders.
//
// The code under test is a template over a policy (gradus/locks/policy.hpp) and is instantiated with model::policy:
//
//   const model::Outcome outcome = model::explore([] {
//     auto state = std::make_shared<State>();
//     return model::Scenario{.threads = {[state] { ... }, [state] { ... }}, .after = [state] { model::check(...); }};
//   });
//   EXPECT_EQ(outcome.violation, "") << outcome.trace;
//
// Violations:
// - a check() that fails;
// - a data race on model::data;
// - an access to an atomic variable that is already destroyed, or whose construction does not happen before the access;
// - a deadlock;
// - an execution that does not end.
//
// The model is an operational form of the C++20 memory model:
// - Each variable has a list of its writes, in modification order.
// - For each variable, each thread knows the oldest write that it may still read. A load returns this or a later write.
// - A store is inserted at any position after that oldest write. An exchange is inserted directly after the write
//   that it read.
// - A release attaches the thread's knowledge to the write. An acquire that reads the write adopts this knowledge.
//   Exchanges pass the knowledge on (release sequences).
// - seq_cst operations also have a total order. If one of them reads or makes a write, later seq_cst operations access
//   no older write of the same variable.
//
// Not modelled:
// - "load buffering": a load sees a write that comes later in the same thread and depends on nothing before. C++ allows
//   this for relaxed operations, and compilers and Arm can produce it.
// - spurious failures of compare_exchange_weak;
// - fences, which the project does not use.
//
// Sources: J. Kang and others, "A promising semantics for relaxed-memory concurrency" (2017), for the idea (without its
// promises) and the sets of known writes. Stateful search: any textbook on model checking.
#pragma once

#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace gradus::model {

struct Scenario {
  std::vector<std::function<void()>> threads;
  std::function<void()> after = {};  ///< called when all threads have ended
};

/// An operation in the code whose memory order can be weakened.
struct Site {
  std::string file;  ///< name of the file without its folder
  int line = 0;
  std::memory_order order = std::memory_order_relaxed;  ///< the order in the code
  bool of_failure = false;                              ///< true for the failure order of a compare_exchange
  auto key() const { return std::tie(file, line, order, of_failure); }
  friend bool operator<(const Site& one, const Site& other) { return one.key() < other.key(); }
};
std::string text(const Site& site);

struct Options {
  bool only_interleavings = false;  ///< explores no stale values: every load returns the last write
  std::int64_t most_executions = 20'000'000;
  const Site* weakened = nullptr;                              ///< the operation whose order is weakened, or null
  std::memory_order weaker_order = std::memory_order_relaxed;  ///< the order that replaces the operation's order
};

struct Outcome {
  std::string violation;  ///< violation of the first faulty execution; empty if there is none
  std::string trace;      ///< the events of the faulty execution
  bool complete = false;  ///< true if all executions were explored
  std::int64_t executions = 0;
  std::int64_t states = 0;
  std::set<Site> sites;  ///< the operations that were executed and have an order stronger than relaxed
};

/// Explores all executions. `make` is called for each execution and must create all shared objects.
Outcome explore(const std::function<Scenario()>& make, const Options& options = {});

/// Reports a violation of the current execution if the condition is false.
void check(bool holds, const char* what);
/// Returns the index of the calling thread among the scenario's threads, from 0.
int thread_index();

// --- for the types below

namespace detail {

struct Place {
  const char* file;
  int line;
};
using Change = std::uint64_t (*)(std::uint64_t before, std::uint64_t operand);

void construct(const void* variable, std::uint64_t value);
void destroy(const void* variable);
std::uint64_t load(const void* variable, std::memory_order order, Place place);
void store(const void* variable, std::uint64_t value, std::memory_order order, Place place);
std::uint64_t change(const void* variable, Change how, std::uint64_t operand, std::memory_order order, Place place);
bool compare_exchange(const void* variable, std::uint64_t& expected, std::uint64_t desired, std::memory_order success,
                      std::memory_order failure, Place place);
void construct_semaphore(const void* semaphore, std::uint64_t value);
void release(const void* semaphore);
enum class Wait { until_released, perhaps, not_at_all };
bool acquire(const void* semaphore, Wait wait);

void construct_data(const void* data);
void destroy_data(const void* data);
void read_data(const void* data);
void write_data(const void* data);

void start_spinning();
void rest();

void begin_shared();
void end_shared();
void* find_object(const void* key, bool own);
void keep_object(const void* key, bool own, void* object, void (*destroy)(void*));
void at_thread_exit(const void* key, void (*leave)());

// NOLINTBEGIN(bugprone-sizeof-expression): T may be a pointer
template <class T>
constexpr std::uint64_t bits_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <class T>
T value_of(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
// NOLINTEND(bugprone-sizeof-expression)

template <class T>
inline constexpr char key = 0;

}  // namespace detail

/// An atomic variable like std::atomic<T>.
template <class T>
class atomic {
 public:
  constexpr atomic() noexcept : atomic(T()) {}
  constexpr atomic(T value) noexcept {
    if (!std::is_constant_evaluated()) detail::construct(this, detail::bits_of(value));
  }
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
  constexpr ~atomic() {
    if (!std::is_constant_evaluated()) detail::destroy(this);
  }

  T load(std::memory_order order = std::memory_order_seq_cst, const char* file = __builtin_FILE(),
         int line = __builtin_LINE()) const {
    return detail::value_of<T>(detail::load(this, order, {file, line}));
  }
  void store(T value, std::memory_order order = std::memory_order_seq_cst, const char* file = __builtin_FILE(),
             int line = __builtin_LINE()) {
    detail::store(this, detail::bits_of(value), order, {file, line});
  }
  T exchange(T value, std::memory_order order = std::memory_order_seq_cst, const char* file = __builtin_FILE(),
             int line = __builtin_LINE()) {
    return changed([](std::uint64_t, std::uint64_t operand) { return operand; }, value, order, {file, line});
  }
  T fetch_add(T value, std::memory_order order = std::memory_order_seq_cst, const char* file = __builtin_FILE(),
              int line = __builtin_LINE()) {
    return changed(
        [](std::uint64_t before, std::uint64_t operand) {
          return detail::bits_of(static_cast<T>(detail::value_of<T>(before) + detail::value_of<T>(operand)));
        },
        value, order, {file, line});
  }
  T fetch_sub(T value, std::memory_order order = std::memory_order_seq_cst, const char* file = __builtin_FILE(),
              int line = __builtin_LINE()) {
    return changed(
        [](std::uint64_t before, std::uint64_t operand) {
          return detail::bits_of(static_cast<T>(detail::value_of<T>(before) - detail::value_of<T>(operand)));
        },
        value, order, {file, line});
  }
  T fetch_and(T value, std::memory_order order = std::memory_order_seq_cst, const char* file = __builtin_FILE(),
              int line = __builtin_LINE()) {
    return changed([](std::uint64_t before, std::uint64_t operand) { return before & operand; }, value, order,
                   {file, line});
  }
  T fetch_or(T value, std::memory_order order = std::memory_order_seq_cst, const char* file = __builtin_FILE(),
             int line = __builtin_LINE()) {
    return changed([](std::uint64_t before, std::uint64_t operand) { return before | operand; }, value, order,
                   {file, line});
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure,
                               const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    std::uint64_t seen = detail::bits_of(expected);
    const bool done = detail::compare_exchange(this, seen, detail::bits_of(desired), success, failure, {file, line});
    expected = detail::value_of<T>(seen);
    return done;
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order order = std::memory_order_seq_cst,
                               const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    const std::memory_order failure = order == std::memory_order_acq_rel   ? std::memory_order_acquire
                                      : order == std::memory_order_release ? std::memory_order_relaxed
                                                                           : order;
    return compare_exchange_strong(expected, desired, order, failure, file, line);
  }
  template <class... Orders>
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure,
                             const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return compare_exchange_strong(expected, desired, success, failure, file, line);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order order = std::memory_order_seq_cst,
                             const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return compare_exchange_strong(expected, desired, order, file, line);
  }

 private:
  T changed(detail::Change how, T operand, std::memory_order order, detail::Place place) {
    return detail::value_of<T>(detail::change(this, how, detail::bits_of(operand), order, place));
  }
};

/// A non-atomic variable. Two accesses are a data race if at least one is a write and neither happens before the other.
template <class T>
class data {
 public:
  constexpr data() : data(T()) {}
  constexpr data(T value) : value_(value) {
    if (!std::is_constant_evaluated()) detail::construct_data(this);
  }
  data(const data&) = delete;
  data& operator=(const data&) = delete;
  constexpr ~data() {
    if (!std::is_constant_evaluated()) detail::destroy_data(this);
  }
  data& operator=(T value) {
    detail::write_data(this);
    value_ = value;
    return *this;
  }
  operator T() const {
    detail::read_data(this);
    return value_;
  }

 private:
  T value_;
};

/// A semaphore like std::binary_semaphore. A wait with a timeout may time out or succeed.
class semaphore {
 public:
  constexpr explicit semaphore(std::ptrdiff_t value) {
    if (!std::is_constant_evaluated()) detail::construct_semaphore(this, static_cast<std::uint64_t>(value));
  }
  semaphore(const semaphore&) = delete;
  semaphore& operator=(const semaphore&) = delete;
  constexpr ~semaphore() {
    if (!std::is_constant_evaluated()) detail::destroy(this);
  }
  void release() { detail::release(this); }
  void acquire() { detail::acquire(this, detail::Wait::until_released); }
  bool try_acquire() { return detail::acquire(this, detail::Wait::not_at_all); }
  template <class Clock, class Duration>
  bool try_acquire_until(const std::chrono::time_point<Clock, Duration>&) {
    return detail::acquire(this, detail::Wait::perhaps);
  }
};

/// The policy for code under test.
struct policy {
  template <class T>
  using atomic = model::atomic<T>;
  template <class T>
  using guarded = model::data<T>;
  using semaphore = model::semaphore;
  static constexpr std::uint64_t nodes_at_first = 2;
  static constexpr unsigned first_pauses = 1;
  static constexpr int looks_before_sleep = 0;
  static constexpr std::uint32_t most_watchers = 1;
  static constexpr std::uint32_t most_passes = 2;
  static constexpr int looks_before_wake = 1;
  static void pause(unsigned) {}
  static constexpr std::uint32_t most_near = 1;

  /// Used in loops that poll until something changes. A poll that sees the same values as the previous poll is not
  /// explored.
  struct spinner {
    spinner() { detail::start_spinning(); }
    void rest(unsigned = 1) { detail::rest(); }  // a non-static member, because programs call rest() on an object
  };
  using patient_spinner = spinner;
  static unsigned memory_node() { return static_cast<unsigned>(thread_index()) % 2; }

  template <class T>
  static T& shared() {
    return object<T>(false);
  }
  template <class T>
  static T& own() {
    return object<T>(true);
  }
  template <class T>
  static void at_thread_exit() {
    detail::at_thread_exit(&detail::key<T>, T::leave);
  }

 private:
  template <class T>
  static T& object(bool own) {
    void* found = detail::find_object(&detail::key<T>, own);
    if (found == nullptr) {
      if (!own) detail::begin_shared();
      found = new T();
      if (!own) detail::end_shared();
      detail::keep_object(&detail::key<T>, own, found, [](void* object) { delete static_cast<T*>(object); });
    }
    return *static_cast<T*>(found);
  }
};

}  // namespace gradus::model
