// Uses one lock in a program and two libraries. The program and the libraries are compiled separately with
// -fvisibility=hidden, but all three must share the nodes of clh_lock. tests/install_test.sh compiles this file three
// times: with LIBRARY=one, with LIBRARY=two, and without.
#include <gradus/locks.hpp>

#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

struct Shared {
  gradus::clh_lock clh;
  gradus::mcs_lock mcs;
  long count = 0;
};

#ifdef LIBRARY
extern "C" __attribute__((visibility("default"))) void LIBRARY(Shared& shared) {
  for (int round = 0; round < 1000; ++round) {
    const std::scoped_lock both(shared.clh, shared.mcs);
    ++shared.count;
  }
}
#else
extern "C" void one(Shared& shared);
extern "C" void two(Shared& shared);

int main() {
  Shared shared;
  std::vector<std::thread> team;
  for (int thread = 0; thread < 4; ++thread) team.emplace_back([&, thread] { (thread % 2 == 0 ? one : two)(shared); });
  for (std::thread& thread : team) thread.join();
  const std::scoped_lock both(shared.clh, shared.mcs);
  if (shared.count == 4000) return 0;
  std::fprintf(stderr, "%ld of 4000 updates under the locks of two libraries\n", shared.count);
  return 1;
}
#endif
