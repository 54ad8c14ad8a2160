// The textbook's CLH lock, correct or with a planted fault. The tests of locks must detect the faults.
#pragma once

#include <array>
#include <cstddef>

namespace gradus::locks_detail {

enum class Fault {
  none,
  late_flag,  ///< a thread raises its flag after it has entered the queue, so its successor may miss the flag
  weak_order  ///< unlock() lowers the flag without release order
};

template <class Policy, Fault fault>
class FaultyClh {
 public:
  explicit FaultyClh(std::size_t thread_count) : last_(&nodes_[thread_count]) {
    for (std::size_t thread = 0; thread < thread_count; ++thread) own_[thread].node = &nodes_[thread];
  }

  void lock(std::size_t thread) {
    Own& own = own_[thread];
    if (fault != Fault::late_flag) own.node->store(true, std::memory_order_relaxed);
    own.before = last_.exchange(own.node, std::memory_order_acq_rel);
    if (fault == Fault::late_flag) own.node->store(true, std::memory_order_relaxed);
    typename Policy::spinner spinner;
    while (own.before->load(std::memory_order_acquire)) spinner.rest();
  }
  void unlock(std::size_t thread) {
    Own& own = own_[thread];
    own.node->store(false, fault == Fault::weak_order ? std::memory_order_relaxed : std::memory_order_release);
    own.node = own.before;
  }

 private:
  using Flag = typename Policy::template atomic<bool>;
  struct Own {
    Flag* node = nullptr;
    Flag* before = nullptr;
  };
  static constexpr std::size_t most_threads = 4;
  std::array<Flag, most_threads + 1> nodes_{};
  std::array<Own, most_threads> own_{};
  typename Policy::template atomic<Flag*> last_;
};

}  // namespace gradus::locks_detail
