// Uses a lock-free set of strings in several threads. Includes only the public header, and is compiled with the
// strictest warnings.
#include <gradus/sets.hpp>

#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#pragma GCC diagnostic error "-Wall"
#pragma GCC diagnostic error "-Wextra"
#pragma GCC diagnostic error "-Wconversion"

namespace {

/// Inserts words in four threads and erases every second word. Returns true if exactly the other words remain.
template <class Set>
bool is_right() {
  Set words;
  constexpr int threads = 4;
  constexpr int each = 500;
  std::vector<std::thread> team;
  for (int thread = 0; thread < threads; ++thread)
    team.emplace_back([&words, thread] {
      for (int word = thread; word < threads * each; word += threads) words.insert("word " + std::to_string(word));
      for (int word = thread; word < threads * each; word += 2 * threads) words.erase("word " + std::to_string(word));
    });
  for (std::thread& thread : team) thread.join();
  std::size_t count = 0;
  for (const std::string& word : words) count += word.starts_with("word ");
  return count == threads * each / 2 && words.size() == count && words.contains("word 4") && !words.contains("word 0");
}

}  // namespace

int main() {
  const bool right = is_right<gradus::lock_free_list_set<std::string>>() &&
                     is_right<gradus::lock_free_list_set<std::string, gradus::hazard_pointers>>() &&
                     is_right<gradus::skip_list_set<std::string>>() &&
                     is_right<gradus::split_ordered_set<std::string>>();
  gradus::lock_free_list_set<std::string> names;
  names.insert("Ada");
  if (right && names.contains(std::string_view("Ada")) && !names.contains("Grace")) return 0;
  std::fprintf(stderr, "a set of strings does not hold what was put in\n");
  return 1;
}
