// Acquires two locks at once in several threads, using only the public headers.
#include <gradus/locks.hpp>

#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

int main() {
  gradus::clh_lock lock;
  gradus::mcs_lock other;
  long count = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&lock, &other, &count] {
      for (int round = 0; round < 1000; ++round) {
        const std::scoped_lock both(lock, other);
        ++count;
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (count != 4000 || !lock.try_lock() || lock.try_lock()) {
    std::fprintf(stderr, "%ld of 4000 updates under a lock\n", count);
    return 1;
  }
  lock.unlock();
  return 0;
}
