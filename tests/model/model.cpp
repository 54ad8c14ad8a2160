// This file uses longjmp() to switch between stacks. The checked version of longjmp() would report such a switch as an
// error.
#undef _FORTIFY_SOURCE
#include "tests/model/model.hpp"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <sstream>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace gradus::model {

namespace {

using detail::Place;
using detail::Wait;

constexpr int most_threads = 4;  // thread 0 sets up and finishes the scenario
constexpr int most_steps = 4000;
constexpr std::size_t stack_bytes = std::size_t{128} << 10;

using Clock = std::array<std::int32_t, most_threads>;

std::uint64_t mix(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15U;
  value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9U;
  value = (value ^ value >> 27) * 0x94D049BB133111EBU;
  return value ^ value >> 31;
}
std::uint64_t mix(std::uint64_t one, std::uint64_t other) { return mix(one ^ mix(other)); }

/// The knowledge of a thread. For each variable (by index), `writes` has the oldest write that the thread may still
/// read. `clock` is a vector clock of the events that happen before the thread's next event.
struct Knowledge {
  std::vector<int> writes;
  Clock clock{};
};

struct Write {
  int variable;
  int thread;
  std::int32_t stamp;  ///< time of the write on the writing thread's clock
  std::uint64_t value;
  int position = 0;       ///< position in the modification order
  bool is_taken = false;  ///< an exchange has read this write and directly follows it
  bool releases = false;  ///< an acquiring load of this write receives the knowledge `released`
  Knowledge released;
  std::uint64_t id() const { return static_cast<std::uint64_t>(thread) << 32 | static_cast<std::uint32_t>(stamp); }
};

struct Variable {
  std::uint64_t id;  ///< the variable's number, which is the same in all executions
  std::vector<int> order;
  int last_sequential = -1;  ///< the latest write in modification order that a seq_cst operation read or made
  bool is_semaphore = false;
};

struct Data {
  int writer = -1;
  std::int32_t written = 0;
  Clock read{};
};

enum class Doing : std::uint8_t { running, operation, rests, acquires, ended };

struct Look {
  int variable;
  int write;
};

struct Thread {
  ucontext_t context{};    ///< the context in which the thread starts
  jmp_buf continuation{};  ///< used for switching, because swapcontext() would query the kernel for the signal mask
                           ///< each time
  std::vector<char> stack = std::vector<char>(stack_bytes);
  Doing doing = Doing::ended;
  Knowledge knows;
  std::int32_t constructed = 0;
  /// Hash of all values that the thread has read; these values determine the values of its local variables and its
  /// place in the code.
  std::uint64_t control = 0;
  std::uint64_t control_at_loop = 0;
  std::vector<Look> looks;  ///< the reads of this thread since its loop began or since it last called rest()
  std::vector<Look> looks_before;
  const void* semaphore = nullptr;
  std::vector<std::pair<const void*, void (*)()>> leaving;
};

struct Choice {
  int chosen;
  int count;
};

struct Object {
  const void* key;
  int thread;  ///< index of the thread that owns the object; -1 if all threads share the object
  void* object;
  void (*destroy)(void*);
};

struct Stop {};  // thrown to end an execution

/// An operation in the code. The file is identified by the address of its name.
struct SeenSite {
  const char* file;
  int line;
  std::memory_order order;
  bool of_failure;
  std::memory_order taken_as;
};

class Engine {
 public:
  Engine(const std::function<Scenario()>& make, const Options& options) : make_(make), options_(options) {
    for (Thread& thread : threads_) thread.looks.reserve(16);
  }

  Outcome explore();

  // --- called by the code under test
  void construct(const void* address, std::uint64_t value, bool is_semaphore);
  void destroy(const void* address);
  std::uint64_t load(const void* address, std::memory_order order, Place place);
  void store(const void* address, std::uint64_t value, std::memory_order order, Place place);
  std::uint64_t change(const void* address, detail::Change how, std::uint64_t operand, std::memory_order order,
                       Place place);
  bool compare_exchange(const void* address, std::uint64_t& expected, std::uint64_t desired, std::memory_order success,
                        std::memory_order failure, Place place);
  void release(const void* semaphore);
  bool acquire(const void* semaphore, Wait wait);
  void construct_data(const void* address);
  void destroy_data(const void* address) {
    if (is_on_) write_data(address), data_.erase(address);
  }
  void read_data(const void* address);
  void write_data(const void* address);
  void start_spinning();
  void rest();
  void check(bool holds, const char* what) {
    if (!holds) fail(what);
  }
  int current() const { return current_; }
  void* find_object(const void* key, bool own);
  void begin_shared() { maker_ = std::exchange(current_, 0); }
  void end_shared();
  void keep_object(const void* key, bool own, void* object, void (*destroy)(void*)) {
    objects_.push_back({key, own ? current_ : -1, object, destroy});
  }
  void at_thread_exit(const void* key, void (*leave)());

 private:
  static void enter();
  void run_current();
  void run_execution();
  void start(int index);
  void resume(int index);
  void yield(Doing doing) {
    threads_[current_].doing = doing;
    if (_setjmp(threads_[current_].continuation) == 0) _longjmp(scheduler_, 1);
  }
  [[noreturn]] void give_up() {  // ends the execution; the current thread never resumes
    over_ = true;
    _longjmp(scheduler_, 1);
  }
  [[noreturn]] void fail(const std::string& what) {
    if (outcome_.violation.empty()) outcome_.violation = what;
    give_up();
  }
  bool can_go_on(const Thread& thread) const;
  int choose(int count);
  bool is_known_state();
  bool backtrack();
  void forget();

  Variable& variable_at(const void* address, int& index);
  const Thread& now() const { return threads_[current_]; }
  Thread& now() { return threads_[current_]; }
  int known(int variable) const {
    const Thread& thread = now();
    const auto at = static_cast<std::size_t>(variable);
    return at < thread.knows.writes.size() ? thread.knows.writes[at] : -1;
  }
  void learn(int variable, int write);
  void take_over(const Knowledge& other);
  std::int32_t tick() { return ++now().knows.clock[static_cast<std::size_t>(current_)]; }
  int least_position(const Variable& variable, int index, std::memory_order order) const;
  int insert(int index, int after, std::uint64_t value, std::memory_order order, int taken);
  void thin_out(std::vector<int>& candidates, std::memory_order order) const;
  std::uint64_t name_of_value(std::uint64_t value) const {
    const auto found = names_.find(value);
    return found == names_.end() ? value : found->second;
  }
  int read_write(int index, int write, std::memory_order order);
  std::memory_order order_at(std::memory_order order, Place place, bool of_failure);
  void note(const char* what, int variable, std::uint64_t value, std::memory_order order, Place place, int of);

  const std::function<Scenario()>& make_;
  const Options& options_;
  Outcome outcome_;

  std::array<Thread, most_threads> threads_;
  int count_ = 0;  // number of threads, including thread 0
  int current_ = 0;
  int maker_ = 0;  // during the construction of a shared object, the thread that constructs it
  jmp_buf scheduler_{};
  Scenario scenario_;
  bool over_ = false;
  bool is_on_ = false;

  std::vector<Choice> trail_;
  std::size_t at_ = 0;
  std::unordered_set<std::uint64_t> states_;
  int steps_ = 0;

  std::vector<Variable> variables_;
  std::vector<Write> writes_;
  std::unordered_map<const void*, int> alive_;
  // The number that replaces each address, because addresses differ between executions.
  std::unordered_map<std::uint64_t, std::uint64_t> names_;
  std::map<const void*, Data> data_;
  std::vector<Object> objects_;
  std::vector<SeenSite> seen_sites_;
  std::vector<std::string> trace_;
  bool traces_ = false;
};

Engine* engine = nullptr;

bool acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}
bool releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}
const char* name_of(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed: return "relaxed";
    case std::memory_order_acquire: return "acquire";
    case std::memory_order_release: return "release";
    case std::memory_order_acq_rel: return "acq_rel";
    case std::memory_order_seq_cst: return "seq_cst";
    default: return "?";
  }
}
std::string file_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// --- executions

void Engine::enter() { engine->run_current(); }

void Engine::run_current() {
  if (current_ == 0) {
    scenario_ = make_();
    yield(Doing::rests);  // waits until all threads have ended
    if (scenario_.after) scenario_.after();
    scenario_ = {};
  } else {
    scenario_.threads[static_cast<std::size_t>(current_ - 1)]();
    for (const auto& [key, leave] : now().leaving) leave();
  }
  yield(Doing::ended);
}

void Engine::start(int index) {
  Thread& thread = threads_[static_cast<std::size_t>(index)];
  getcontext(&thread.context);
  thread.context.uc_stack.ss_sp = thread.stack.data();
  thread.context.uc_stack.ss_size = thread.stack.size();
  thread.context.uc_link = nullptr;
  makecontext(&thread.context, &Engine::enter, 0);
  thread.constructed = 0;
  thread.control = thread.control_at_loop = mix(static_cast<std::uint64_t>(index));
  thread.looks.clear();
  thread.looks_before.clear();
  thread.leaving.clear();
  current_ = index;
  thread.doing = Doing::running;
  if (_setjmp(scheduler_) == 0) setcontext(&thread.context);
}

void Engine::resume(int index) {
  current_ = index;
  Thread& thread = threads_[static_cast<std::size_t>(index)];
  thread.doing = Doing::running;
  if (_setjmp(scheduler_) == 0) _longjmp(thread.continuation, 1);
}

bool Engine::can_go_on(const Thread& thread) const {
  switch (thread.doing) {
    case Doing::operation: return true;
    case Doing::rests:
      return std::ranges::any_of(thread.looks_before, [&](const Look& look) {
        const std::vector<int>& order = variables_[static_cast<std::size_t>(look.variable)].order;
        const Write& seen = writes_[static_cast<std::size_t>(look.write)];
        return std::any_of(order.begin() + seen.position + 1, order.end(),
                           [&](int later) { return writes_[static_cast<std::size_t>(later)].value != seen.value; });
      });
    case Doing::acquires: {
      const auto found = alive_.find(thread.semaphore);
      return found == alive_.end() ||  // a destroyed semaphore counts as ready, so that the access to it is reported
             writes_[static_cast<std::size_t>(variables_[static_cast<std::size_t>(found->second)].order.back())].value >
                 0;
    }
    default: return false;
  }
}

void Engine::run_execution() {
  at_ = 0;
  steps_ = 0;
  over_ = false;
  is_on_ = true;
  count_ = 1;
  threads_[0].knows = {};
  start(0);
  if (!over_) {
    count_ = 1 + static_cast<int>(scenario_.threads.size());
    if (count_ > most_threads) throw std::invalid_argument("at most three threads");
    for (int index = 1; index < count_ && !over_; ++index) {
      threads_[static_cast<std::size_t>(index)].knows = threads_[0].knows;
      start(index);
    }
  }
  while (!over_) {
    std::array<int, most_threads> ready{};
    int count = 0;
    bool all_ended = true;
    for (int index = 1; index < count_; ++index) {
      const Thread& thread = threads_[static_cast<std::size_t>(index)];
      all_ended = all_ended && thread.doing == Doing::ended;
      if (can_go_on(thread)) ready[static_cast<std::size_t>(count++)] = index;
    }
    if (all_ended) break;
    if (count == 0) {
      outcome_.violation = "all threads are blocked";
      break;
    }
    if (++steps_ > most_steps) {
      outcome_.violation = "an execution does not end";
      break;
    }
    if (is_known_state()) break;
    resume(ready[static_cast<std::size_t>(choose(count))]);
  }
  if (!over_ && outcome_.violation.empty() &&
      std::all_of(threads_.begin() + 1, threads_.begin() + count_,
                  [](const Thread& thread) { return thread.doing == Doing::ended; })) {
    for (int index = 1; index < count_; ++index) {
      current_ = 0;
      take_over(threads_[static_cast<std::size_t>(index)].knows);
    }
    resume(0);
  }
  forget();
}

void Engine::forget() {
  is_on_ = false;
  scenario_ = {};
  for (const Object& object : objects_) object.destroy(object.object);
  objects_.clear();
  variables_.clear();
  writes_.clear();
  alive_.clear();
  names_.clear();
  data_.clear();
}

int Engine::choose(int count) {
  if (count == 1) return 0;
  if (at_ == trail_.size()) trail_.push_back({0, count});
  return trail_[at_++].chosen;
}

bool Engine::backtrack() {
  while (!trail_.empty() && trail_.back().chosen + 1 == trail_.back().count) trail_.pop_back();
  if (trail_.empty()) return false;
  ++trail_.back().chosen;
  return true;
}

/// Returns true if this state was reached before, so that its continuation has been explored. Two states are equal if
/// each thread has read the same values and has the same knowledge in both, and if all variables have the same writes
/// in the same order.
bool Engine::is_known_state() {
  if (at_ < trail_.size()) return false;  // the execution still repeats the path to a new choice
  std::uint64_t state = 0;
  for (const Variable& variable : variables_) {
    std::uint64_t hash = variable.id;
    for (const int write : variable.order) hash = mix(hash, writes_[static_cast<std::size_t>(write)].id());
    if (variable.last_sequential >= 0)
      hash = mix(hash + 1, writes_[static_cast<std::size_t>(variable.last_sequential)].id());
    state += mix(hash);
  }
  for (int index = 1; index < count_; ++index) {
    const Thread& thread = threads_[static_cast<std::size_t>(index)];
    std::uint64_t hash = mix(thread.control, static_cast<std::uint64_t>(thread.doing));
    std::uint64_t known = 0;
    for (std::size_t variable = 0; variable < thread.knows.writes.size(); ++variable)
      if (const int write = thread.knows.writes[variable]; write >= 0)
        known += mix(variables_[variable].id, writes_[static_cast<std::size_t>(write)].id());
    hash = mix(hash, known);
    // The reads belong to the state, because the thread rests until they would return other values.
    std::uint64_t looks = 0;
    for (const Look& look : thread.looks_before)
      looks += mix(variables_[static_cast<std::size_t>(look.variable)].id,
                   writes_[static_cast<std::size_t>(look.write)].id());
    hash = mix(hash, looks);
    for (const std::int32_t stamp : thread.knows.clock) hash = mix(hash, static_cast<std::uint64_t>(stamp));
    state = mix(state, hash);
  }
  return !states_.insert(state).second;
}

Outcome Engine::explore() {
  do {
    ++outcome_.executions;
    run_execution();
    if (!outcome_.violation.empty() && !traces_) {
      // Repeats the faulty execution and records its trace.
      traces_ = true;
      const std::string violation = std::exchange(outcome_.violation, "");
      trail_.resize(at_);
      states_.clear();
      run_execution();
      if (outcome_.violation.empty()) outcome_.violation = violation + " (not in the same way again)";
    }
    if (!outcome_.violation.empty()) break;
    if (outcome_.executions >= options_.most_executions) break;
    outcome_.complete = !backtrack();
  } while (!outcome_.complete);
  for (const std::string& line : trace_) outcome_.trace += line + "\n";
  outcome_.states = static_cast<std::int64_t>(states_.size());
  return std::move(outcome_);
}

// --- what threads know

void Engine::learn(int variable, int write) {
  std::vector<int>& writes = now().knows.writes;
  if (writes.size() < variables_.size()) writes.resize(variables_.size(), -1);
  int& known = writes[static_cast<std::size_t>(variable)];
  if (known < 0 ||
      writes_[static_cast<std::size_t>(known)].position < writes_[static_cast<std::size_t>(write)].position)
    known = write;
}

void Engine::take_over(const Knowledge& other) {
  for (std::size_t variable = 0; variable < other.writes.size(); ++variable)
    if (other.writes[variable] >= 0) learn(static_cast<int>(variable), other.writes[variable]);
  Clock& clock = now().knows.clock;
  for (std::size_t thread = 0; thread < clock.size(); ++thread)
    clock[thread] = std::max(clock[thread], other.clock[thread]);
}

// --- operations

Variable& Engine::variable_at(const void* address, int& index) {
  const auto found = alive_.find(address);
  if (found == alive_.end()) fail("an access to an atomic variable that does not exist");
  index = found->second;
  if (known(index) < 0) fail("an access to an atomic variable whose construction does not happen before");
  return variables_[static_cast<std::size_t>(index)];
}

void Engine::construct(const void* address, std::uint64_t value, bool is_semaphore) {
  if (!is_on_) return;
  const int index = static_cast<int>(variables_.size());
  Thread& thread = now();
  const std::uint64_t id =
      mix(static_cast<std::uint64_t>(current_) << 32 | static_cast<std::uint32_t>(++thread.constructed));
  variables_.push_back({id, {}, -1, is_semaphore});
  alive_[address] = index;
  names_[reinterpret_cast<std::uintptr_t>(address)] = id;
  writes_.push_back({index, current_, tick(), value, 0, false, false, {}});
  variables_.back().order.push_back(static_cast<int>(writes_.size()) - 1);
  learn(index, static_cast<int>(writes_.size()) - 1);
}

void Engine::destroy(const void* address) {
  if (!is_on_) return;
  int index = 0;
  const Variable& variable = variable_at(address, index);
  // The thread must know all writes of other threads. The check does not cover loads that are not ordered before the
  // destruction.
  for (const int write : variable.order) {
    const Write& one = writes_[static_cast<std::size_t>(write)];
    if (one.stamp > now().knows.clock[static_cast<std::size_t>(one.thread)])
      fail("an atomic variable is destroyed, and a write to it does not happen before");
  }
  alive_.erase(address);
}

std::memory_order Engine::order_at(std::memory_order order, Place place, bool of_failure) {
  if (order == std::memory_order_relaxed) return order;
  for (const SeenSite& seen : seen_sites_)
    if (seen.file == place.file && seen.line == place.line && seen.order == order && seen.of_failure == of_failure)
      return seen.taken_as;
  Site site{file_name(place.file), place.line, order, of_failure};
  const bool is_weakened = options_.weakened != nullptr && !(site < *options_.weakened) && !(*options_.weakened < site);
  seen_sites_.push_back({place.file, place.line, order, of_failure, is_weakened ? options_.weaker_order : order});
  if (!is_weakened) outcome_.sites.insert(std::move(site));
  return seen_sites_.back().taken_as;
}

void Engine::note(const char* what, int variable, std::uint64_t value, std::memory_order order, Place place, int of) {
  if (!traces_) return;
  std::ostringstream line;
  line << "thread " << current_ - 1 << ": " << what << " variable " << variable << ", " << std::hex << value << std::dec
       << ", " << name_of(order);
  if (of >= 0) line << ", written by thread " << writes_[static_cast<std::size_t>(of)].thread - 1;
  if (place.file != nullptr) line << ", " << file_name(place.file) << ":" << place.line;
  trace_.push_back(line.str());
}

int Engine::least_position(const Variable& variable, int index, std::memory_order order) const {
  if (options_.only_interleavings) return static_cast<int>(variable.order.size()) - 1;
  int least = writes_[static_cast<std::size_t>(known(index))].position;
  if (order == std::memory_order_seq_cst && variable.last_sequential >= 0)
    least = std::max(least, writes_[static_cast<std::size_t>(variable.last_sequential)].position);
  return least;
}

/// Removes candidate writes that reveal no new behaviour. A thread that knows less can read more values later. If
/// reading a candidate adds nothing to the thread's knowledge, newer candidates with the same value are therefore
/// removed. The newest write of each value always stays: a thread that waits for another value could otherwise wait
/// forever.
void Engine::thin_out(std::vector<int>& candidates, std::memory_order order) const {
  if (order == std::memory_order_seq_cst) return;
  const Clock& clock = now().knows.clock;
  const auto teaches_nothing = [&](const Write& write) {
    if (!acquires(order) || !write.releases) return true;
    for (std::size_t thread = 0; thread < clock.size(); ++thread)
      if (write.released.clock[thread] > clock[thread]) return false;
    return true;
  };
  std::vector<int> kept;
  for (std::size_t at = 0; at < candidates.size(); ++at) {
    const std::uint64_t value = writes_[static_cast<std::size_t>(candidates[at])].value;
    const auto has_value = [&](int other) { return writes_[static_cast<std::size_t>(other)].value == value; };
    const bool is_newest =
        std::none_of(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(at), has_value);
    const bool an_older_does = std::any_of(
        candidates.begin() + static_cast<std::ptrdiff_t>(at) + 1, candidates.end(),
        [&](int other) { return has_value(other) && teaches_nothing(writes_[static_cast<std::size_t>(other)]); });
    if (is_newest || !an_older_does) kept.push_back(candidates[at]);
  }
  candidates = std::move(kept);
}

/// Records that the current thread has read this write, and returns it.
int Engine::read_write(int index, int write, std::memory_order order) {
  learn(index, write);
  const Write& read = writes_[static_cast<std::size_t>(write)];
  if (acquires(order) && read.releases) take_over(Knowledge(read.released));
  Thread& thread = now();
  thread.control = mix(thread.control, mix(variables_[static_cast<std::size_t>(index)].id, name_of_value(read.value)));
  if (order == std::memory_order_seq_cst) {
    int& last = variables_[static_cast<std::size_t>(index)].last_sequential;
    if (last < 0 || writes_[static_cast<std::size_t>(last)].position < read.position) last = write;
  }
  const auto known = std::ranges::find(thread.looks, index, &Look::variable);
  if (known == thread.looks.end()) thread.looks.push_back({index, write});
  else known->write = write;
  return write;
}

/// Inserts a new write after position `after` and returns its index. `taken`: the write that an exchange has read, or
/// -1.
int Engine::insert(int index, int after, std::uint64_t value, std::memory_order order, int taken) {
  const int write = static_cast<int>(writes_.size());
  writes_.push_back({index, current_, tick(), value, after + 1, false, releases(order), {}});
  std::vector<int>& all = variables_[static_cast<std::size_t>(index)].order;
  all.insert(all.begin() + after + 1, write);
  for (std::size_t position = static_cast<std::size_t>(after) + 2; position < all.size(); ++position)
    writes_[static_cast<std::size_t>(all[position])].position = static_cast<int>(position);
  learn(index, write);
  Write& made = writes_.back();
  if (releases(order)) made.released = now().knows;
  if (taken >= 0) {
    Write& before = writes_[static_cast<std::size_t>(taken)];
    before.is_taken = true;
    if (before.releases) {  // the write continues the release sequence
      made.releases = true;
      Knowledge own = std::exchange(now().knows, std::move(made.released));
      take_over(before.released);
      made.released = std::exchange(now().knows, std::move(own));
    }
  }
  if (order == std::memory_order_seq_cst) variables_[static_cast<std::size_t>(index)].last_sequential = write;
  for (Look& look : now().looks)
    if (look.variable == index) look.write = write;
  return write;
}

std::uint64_t Engine::load(const void* address, std::memory_order order, Place place) {
  if (!is_on_) return 0;
  if (current_ != 0) yield(Doing::operation);
  order = order_at(order, place, false);
  int index = 0;
  const Variable& variable = variable_at(address, index);
  std::vector<int> candidates;
  for (int position = static_cast<int>(variable.order.size()) - 1; position >= least_position(variable, index, order);
       --position)
    candidates.push_back(variable.order[static_cast<std::size_t>(position)]);
  thin_out(candidates, order);
  const int write = candidates[static_cast<std::size_t>(choose(static_cast<int>(candidates.size())))];
  note("loads", index, writes_[static_cast<std::size_t>(write)].value, order, place, write);
  read_write(index, write, order);
  return writes_[static_cast<std::size_t>(write)].value;
}

void Engine::store(const void* address, std::uint64_t value, std::memory_order order, Place place) {
  if (!is_on_) return;
  if (current_ != 0) yield(Doing::operation);
  order = order_at(order, place, false);
  int index = 0;
  const Variable& variable = variable_at(address, index);
  std::vector<int> places;
  for (int position = static_cast<int>(variable.order.size()) - 1; position >= least_position(variable, index, order);
       --position)
    if (!writes_[static_cast<std::size_t>(variable.order[static_cast<std::size_t>(position)])].is_taken)
      places.push_back(position);
  note("stores to", index, value, order, place, -1);
  insert(index, places[static_cast<std::size_t>(choose(static_cast<int>(places.size())))], value, order, -1);
}

std::uint64_t Engine::change(const void* address, detail::Change how, std::uint64_t operand, std::memory_order order,
                             Place place) {
  if (!is_on_) return 0;
  if (current_ != 0) yield(Doing::operation);
  order = order_at(order, place, false);
  int index = 0;
  const Variable& variable = variable_at(address, index);
  std::vector<int> candidates;
  for (int position = static_cast<int>(variable.order.size()) - 1; position >= least_position(variable, index, order);
       --position)
    if (const int write = variable.order[static_cast<std::size_t>(position)];
        !writes_[static_cast<std::size_t>(write)].is_taken)
      candidates.push_back(write);
  const int write = candidates[static_cast<std::size_t>(choose(static_cast<int>(candidates.size())))];
  const std::uint64_t before = writes_[static_cast<std::size_t>(write)].value;
  note("changes", index, before, order, place, write);
  read_write(index, write, order);
  insert(index, writes_[static_cast<std::size_t>(write)].position, how(before, operand), order, write);
  return before;
}

bool Engine::compare_exchange(const void* address, std::uint64_t& expected, std::uint64_t desired,
                              std::memory_order success, std::memory_order failure, Place place) {
  if (!is_on_) return true;  // keeps a loop in a destructor from running forever
  if (current_ != 0) yield(Doing::operation);
  success = order_at(success, place, false);
  failure = order_at(failure, place, true);
  int index = 0;
  const Variable& variable = variable_at(address, index);
  std::vector<int> candidates;
  std::vector<int> failing;
  for (int position = static_cast<int>(variable.order.size()) - 1; position >= least_position(variable, index, failure);
       --position) {
    const int write = variable.order[static_cast<std::size_t>(position)];
    const Write& one = writes_[static_cast<std::size_t>(write)];
    if (one.value != expected) failing.push_back(write);
    else if (!one.is_taken && position >= least_position(variable, index, success)) candidates.push_back(write);
  }
  thin_out(failing, failure);
  candidates.insert(candidates.end(), failing.begin(), failing.end());
  const int write = candidates[static_cast<std::size_t>(choose(static_cast<int>(candidates.size())))];
  const std::uint64_t before = writes_[static_cast<std::size_t>(write)].value;
  const bool done = before == expected;
  note(done ? "exchanges" : "fails to exchange", index, before, done ? success : failure, place, write);
  read_write(index, write, done ? success : failure);
  if (done) insert(index, writes_[static_cast<std::size_t>(write)].position, desired, success, write);
  expected = before;
  return done;
}

void Engine::release(const void* semaphore) {
  if (!is_on_) return;
  if (current_ != 0) yield(Doing::operation);
  int index = 0;
  const Variable& variable = variable_at(semaphore, index);
  const int last = variable.order.back();
  const std::uint64_t before = writes_[static_cast<std::size_t>(last)].value;
  note("releases semaphore", index, before, std::memory_order_release, {nullptr, 0}, last);
  if (before > 0) fail("a binary semaphore is released twice");
  insert(index, writes_[static_cast<std::size_t>(last)].position, before + 1, std::memory_order_acq_rel, last);
}

bool Engine::acquire(const void* semaphore, Wait wait) {
  if (!is_on_) return false;
  now().semaphore = semaphore;
  yield(wait == Wait::until_released ? Doing::acquires : Doing::operation);
  int index = 0;
  const Variable& variable = variable_at(semaphore, index);
  const int last = variable.order.back();
  const std::uint64_t before = writes_[static_cast<std::size_t>(last)].value;
  const bool done = before > 0 && (wait != Wait::perhaps || choose(2) == 0);
  note(done ? "acquires semaphore" : "waits in vain for semaphore", index, before, std::memory_order_acquire,
       {nullptr, 0}, last);
  now().control = mix(now().control, done ? 1 : 2);
  if (!done) {
    if (wait == Wait::not_at_all) read_write(index, last, std::memory_order_relaxed);
    return false;
  }
  read_write(index, last, std::memory_order_acquire);
  insert(index, writes_[static_cast<std::size_t>(last)].position, before - 1, std::memory_order_acq_rel, last);
  return true;
}

// --- data

void Engine::construct_data(const void* address) {
  if (!is_on_) return;
  Data& data = data_[address] = {};
  data.writer = current_;
  data.written = tick();
  names_.try_emplace(reinterpret_cast<std::uintptr_t>(address),
                     mix(static_cast<std::uint64_t>(current_), static_cast<std::uint64_t>(data.written)));
}

void Engine::read_data(const void* address) {
  if (!is_on_) return;
  const auto found = data_.find(address);
  if (found == data_.end()) fail("a read of data that does not exist");
  const Clock& clock = now().knows.clock;
  if (found->second.written > clock[static_cast<std::size_t>(found->second.writer)])
    fail("a data race: a read, and a write that does not happen before");
  found->second.read[static_cast<std::size_t>(current_)] = tick();
}

void Engine::write_data(const void* address) {
  if (!is_on_) return;
  const auto found = data_.find(address);
  if (found == data_.end()) fail("a write to data that does not exist");
  Data& data = found->second;
  const Clock& clock = now().knows.clock;
  if (data.written > clock[static_cast<std::size_t>(data.writer)])
    fail("a data race: a write, and another one that does not happen before");
  for (std::size_t thread = 0; thread < clock.size(); ++thread)
    if (data.read[thread] > clock[thread]) fail("a data race: a write, and a read that does not happen before");
  data.writer = current_;
  data.written = tick();
}

// --- loops that wait

void Engine::start_spinning() {
  if (!is_on_) return;
  Thread& thread = now();
  thread.looks.clear();
  thread.looks_before.clear();
  thread.control_at_loop = thread.control;
}

void Engine::rest() {
  if (!is_on_) return;
  Thread& thread = now();
  if (thread.looks.empty()) fail("a thread rests without having read anything");
  const auto value = [&](const Look& look) { return writes_[static_cast<std::size_t>(look.write)].value; };
  const bool sees_something_new =
      thread.looks_before.empty() || std::ranges::any_of(thread.looks, [&](const Look& look) {
        const auto before = std::ranges::find(thread.looks_before, look.variable, &Look::variable);
        return before == thread.looks_before.end() || value(*before) != value(look);
      });
  if (!sees_something_new) give_up();
  thread.looks_before = thread.looks;
  thread.looks.clear();
  thread.control = thread.control_at_loop;
  if (current_ == 0) fail("the first thread waits while no other thread runs");
  yield(Doing::rests);
}

void* Engine::find_object(const void* key, bool own) {
  for (const Object& object : objects_)
    if (object.key == key && object.thread == (own ? current_ : -1)) return object.object;
  return nullptr;
}

void Engine::end_shared() {
  for (current_ = 1; current_ < count_; ++current_) take_over(threads_[0].knows);
  current_ = maker_;
}

void Engine::at_thread_exit(const void* key, void (*leave)()) {
  for (const auto& known : now().leaving)
    if (known.first == key) return;
  now().leaving.emplace_back(key, leave);
}

}  // namespace

Outcome explore(const std::function<Scenario()>& make, const Options& options) {
  Engine here(make, options);
  engine = &here;
  Outcome outcome = here.explore();
  engine = nullptr;
  return outcome;
}

void check(bool holds, const char* what) { engine->check(holds, what); }
int thread_index() { return engine->current() - 1; }

std::string text(const Site& site) {
  return site.file + ":" + std::to_string(site.line) + " " + name_of(site.order) +
         (site.of_failure ? " of a failure" : "");
}

namespace detail {

void construct(const void* variable, std::uint64_t value) { engine->construct(variable, value, false); }
void destroy(const void* variable) { engine->destroy(variable); }
std::uint64_t load(const void* variable, std::memory_order order, Place place) {
  return engine->load(variable, order, place);
}
void store(const void* variable, std::uint64_t value, std::memory_order order, Place place) {
  engine->store(variable, value, order, place);
}
std::uint64_t change(const void* variable, Change how, std::uint64_t operand, std::memory_order order, Place place) {
  return engine->change(variable, how, operand, order, place);
}
bool compare_exchange(const void* variable, std::uint64_t& expected, std::uint64_t desired, std::memory_order success,
                      std::memory_order failure, Place place) {
  return engine->compare_exchange(variable, expected, desired, success, failure, place);
}
void construct_semaphore(const void* semaphore, std::uint64_t value) { engine->construct(semaphore, value, true); }
void release(const void* semaphore) { engine->release(semaphore); }
bool acquire(const void* semaphore, Wait wait) { return engine->acquire(semaphore, wait); }
void construct_data(const void* data) { engine->construct_data(data); }
void destroy_data(const void* data) { engine->destroy_data(data); }
void read_data(const void* data) { engine->read_data(data); }
void write_data(const void* data) { engine->write_data(data); }
void start_spinning() { engine->start_spinning(); }
void rest() { engine->rest(); }
void begin_shared() { engine->begin_shared(); }
void end_shared() { engine->end_shared(); }
void* find_object(const void* key, bool own) { return engine->find_object(key, own); }
void keep_object(const void* key, bool own, void* object, void (*destroy)(void*)) {
  engine->keep_object(key, own, object, destroy);
}
void at_thread_exit(const void* key, void (*leave)()) { engine->at_thread_exit(key, leave); }

}  // namespace detail

}  // namespace gradus::model
