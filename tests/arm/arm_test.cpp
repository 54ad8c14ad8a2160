// Runs all locks and all sets with several threads on an emulated machine. The program needs no library.
#include <gradus/locks.hpp>
#include <gradus/sets.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

int failures = 0;

void expect(bool holds, const char* name, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", name, what);
  ++failures;
}

template <class Work>
void in_threads(int threads, const Work& work) {
  std::vector<std::thread> team;
  for (int thread = 0; thread < threads; ++thread) team.emplace_back([&work, thread] { work(thread); });
  for (std::thread& thread : team) thread.join();
}

template <class Lock>
void try_out_lock(const char* name) {
  constexpr int threads = 4;
  constexpr int rounds = 2000;
  Lock lock;
  Lock other;
  long count = 0;
  in_threads(threads, [&](int thread) {
    for (int round = 0; round < rounds; ++round) {
      if (round % 8 == 0) {
        const std::scoped_lock both(lock, other);
        ++count;
      } else if (thread % 2 == 0) {
        const std::scoped_lock guard(lock);
        ++count;
      } else {
        std::unique_lock guard(lock, std::try_to_lock);
        while (!guard.owns_lock()) {
          std::this_thread::yield();
          (void)guard.try_lock();
        }
        ++count;
      }
    }
  });
  expect(count == threads * rounds, name, "an update was lost");
  expect(lock.try_lock() && !lock.try_lock(), name, "it is not free at the end, or twice");
  if constexpr (requires { lock.try_lock_for(std::chrono::milliseconds(1)); })
    expect(!lock.try_lock_for(std::chrono::milliseconds(1)), name, "it was taken twice");
  lock.unlock();
}

template <class Set, class MakeKey>
void try_out_set(const char* name, const MakeKey& key_of) {
  constexpr int threads = 4;
  constexpr int keys = 24;
  constexpr int calls = 1500;
  Set set;
  // For each thread and key, the number of insertions minus the number of erasures.
  std::vector<std::vector<int>> there(threads, std::vector<int>(keys));
  in_threads(threads, [&](int thread) {
    std::uint32_t random = 1U + static_cast<std::uint32_t>(thread);
    std::vector<int>& own = there[static_cast<std::size_t>(thread)];
    for (int call = 0; call < calls; ++call) {
      random = random * 1664525U + 1013904223U;
      const std::size_t key = (random >> 16) % keys;
      switch ((random >> 8) % 3) {
        case 0: own[key] += set.insert(key_of(key)) ? 1 : 0; break;
        case 1: own[key] -= set.erase(key_of(key)) ? 1 : 0; break;
        default: (void)set.contains(key_of(key));
      }
    }
  });
  std::size_t count = 0;
  for (std::size_t key = 0; key < keys; ++key) {
    int sum = 0;
    for (const std::vector<int>& own : there) sum += own[key];
    expect(sum == (set.contains(key_of(key)) ? 1 : 0), name, "a key is lost, or there twice");
    count += sum == 1;
  }
  std::size_t seen = 0;
  for ([[maybe_unused]] const auto& key : set) ++seen;
  expect(seen == count && set.size() == count, name, "a loop does not see all keys");
}

template <class Reclamation>
void try_out_sets_of(const char* name) {
  const auto number = [](std::size_t key) { return static_cast<std::int64_t>(key); };
  const auto text = [](std::size_t key) { return "a key with separately allocated memory: " + std::to_string(key); };
  try_out_set<gradus::optimistic_list_set<std::int64_t, Reclamation>>(name, number);
  try_out_set<gradus::lazy_list_set<std::string, Reclamation>>(name, text);
  try_out_set<gradus::lock_free_list_set<std::string, Reclamation>>(name, text);
  try_out_set<gradus::skip_list_set<std::string, Reclamation>>(name, text);
  try_out_set<gradus::split_ordered_set<std::string, Reclamation>>(name, text);
}

}  // namespace

int main() {
  try_out_lock<gradus::tas_lock>("tas_lock");
  try_out_lock<gradus::ttas_lock>("ttas_lock");
  try_out_lock<gradus::ticket_lock>("ticket_lock");
  try_out_lock<gradus::array_lock>("array_lock");
  try_out_lock<gradus::basic_array_lock<2>>("basic_array_lock<2>");
  try_out_lock<gradus::clh_lock>("clh_lock");
  try_out_lock<gradus::mcs_lock>("mcs_lock");
  try_out_lock<gradus::cna_lock>("cna_lock");
  try_out_lock<gradus::park_lock>("park_lock");
  const auto number = [](std::size_t key) { return static_cast<std::int64_t>(key); };
  try_out_set<gradus::coarse_list_set<std::int64_t>>("coarse_list_set", number);
  try_out_set<gradus::fine_list_set<std::int64_t>>("fine_list_set", number);
  try_out_sets_of<gradus::epoch>("sets with epoch");
  try_out_sets_of<gradus::hazard_pointers>("sets with hazard_pointers");
  try_out_sets_of<gradus::leak>("sets with leak");
  if (failures == 0) std::printf("all locks and sets do what they should\n");
  return failures == 0 ? 0 : 1;
}
