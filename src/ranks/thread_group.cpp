#include "ranks/thread_group.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>

#include "gradus/error.hpp"

namespace gradus::core {

namespace {

/// A rank checks this many times whether the other ranks have arrived before it sleeps. Usually all ranks arrive at
/// nearly the same time, and waking a thread takes longer than exchanging a few words.
constexpr int looks = 4000;

}  // namespace

class ThreadGroup::Member final : public Communicator {
 public:
  Member(ThreadGroup& group, int rank) : group_(group), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_.size(); }
  int neighbours() const override { return group_.size(); }

  void sum(std::span<std::uint64_t> words) override {
    combine(Kind::sum, words, [](std::uint64_t a, std::uint64_t b) { return a + b; });
  }
  void least(std::span<double> numbers) override {
    combine(Kind::least, numbers, [](double a, double b) { return std::min(a, b); });
  }
  void greatest(std::span<double> numbers) override {
    combine(Kind::greatest, numbers, [](double a, double b) { return std::max(a, b); });
  }
  void broadcast(std::span<std::byte> bytes, int root) override {
    group_.meet(rank_, {Kind::broadcast, root, bytes.size(), bytes.data()});
    if (rank_ != root && !bytes.empty())
      std::memcpy(bytes.data(), group_.calls_[static_cast<std::size_t>(root)].data, bytes.size());
    group_.meet(rank_);  // afterwards the root may change its bytes
  }
  void gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    group_.meet(rank_, {Kind::gather, 0, own.size(), const_cast<std::byte*>(own.data())});
    std::byte* to = all.data();
    for (const Call& call : group_.calls_) to = std::copy_n(call.data, own.size(), to);
    group_.meet(rank_);
  }
  void give_up() noexcept override { group_.give_up(rank_); }
  bool has_ended() const noexcept override { return group_.has_ended(); }

 private:
  /// Each rank combines a share of the numbers of all ranks, and writes the results to the memory of all ranks.
  template <class Number, class Combine>
  void combine(Kind kind, std::span<Number> numbers, const Combine& combine_two) {
    const std::span<std::byte> bytes = std::as_writable_bytes(numbers);
    group_.meet(rank_, {kind, 0, bytes.size(), bytes.data()});
    const auto size = static_cast<std::size_t>(group_.size());
    const auto share = [&](std::size_t rank) { return numbers.size() * rank / size; };
    const auto numbers_of = [](const Call& call) { return reinterpret_cast<Number*>(call.data); };
    const auto own = static_cast<std::size_t>(rank_);
    for (std::size_t index = share(own); index < share(own + 1); ++index) {
      Number result = numbers_of(group_.calls_.front())[index];
      for (std::size_t rank = 1; rank < size; ++rank)
        result = combine_two(result, numbers_of(group_.calls_[rank])[index]);
      for (const Call& call : group_.calls_) numbers_of(call)[index] = result;
    }
    group_.meet(rank_);
  }

  ThreadGroup& group_;
  int rank_;
};

ThreadGroup::ThreadGroup(int size)
    : calls_(static_cast<std::size_t>(size)), has_learned_(static_cast<std::size_t>(size)) {
  for (int rank = 0; rank < size; ++rank) members_.emplace_back(*this, rank);
}

ThreadGroup::~ThreadGroup() = default;

Communicator& ThreadGroup::member(int rank) { return members_[static_cast<std::size_t>(rank)]; }

void ThreadGroup::run(const std::function<void(Communicator&)>& job) {
  const std::vector<std::exception_ptr> thrown = try_run(job);
  std::exception_ptr first;
  bool is_cause = false;
  for (std::size_t rank = 0; rank < thrown.size() && !is_cause; ++rank) {
    if (!thrown[rank]) continue;
    is_cause = has_learned_[rank] == 0;
    if (!first || is_cause) first = thrown[rank];
  }
  if (first) std::rethrow_exception(first);
}

std::vector<std::exception_ptr> ThreadGroup::try_run(const std::function<void(Communicator&)>& job) {
  std::vector<std::exception_ptr> thrown(calls_.size());
  std::ranges::fill(has_learned_, char{0});
  const auto run_one = [&](int rank) {
    try {
      job(member(rank));
      who_finished_.store(rank, std::memory_order_release);
      wake_all();
    } catch (...) {
      thrown[static_cast<std::size_t>(rank)] = std::current_exception();
      give_up(rank);
    }
  };
  std::vector<std::thread> threads;
  try {
    for (int rank = 1; rank < size(); ++rank) threads.emplace_back(run_one, rank);
    run_one(0);
  } catch (...) {  // the system could not start another thread
    thrown[0] = std::current_exception();
    give_up(0);
  }
  for (std::thread& thread : threads) thread.join();
  who_finished_.store(-1, std::memory_order_relaxed);
  return thrown;
}

void ThreadGroup::meet(int rank) {
  const std::uint32_t number = meetings_.load(std::memory_order_acquire);
  throw_if_incomplete(rank);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size()) {
    arrived_.store(0, std::memory_order_relaxed);
    meetings_.store(number + 1, std::memory_order_release);
    wake_all();
    return;
  }
  const auto is_complete = [&] { return meetings_.load(std::memory_order_acquire) != number; };
  for (int look = 0; look < looks; ++look) {
    if (is_complete()) return;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  while (true) {
    const std::uint32_t signal = signals_.load(std::memory_order_acquire);
    if (is_complete()) return;
    throw_if_incomplete(rank);
    signals_.wait(signal, std::memory_order_acquire);
  }
}

void ThreadGroup::meet(int rank, const Call& call) {
  calls_[static_cast<std::size_t>(rank)] = call;
  meet(rank);
  for (const Call& other : calls_)
    if (other.kind != call.kind || other.bytes != call.bytes || other.root != call.root)
      throw Error("the ranks' calls differ");
}

void ThreadGroup::throw_if_incomplete(int rank) {
  const int gone = who_gave_up_.load(std::memory_order_acquire);
  if (gone >= 0) {
    has_learned_[static_cast<std::size_t>(rank)] = 1;
    throw Error("rank " + std::to_string(gone) + " gave up");
  }
  if (const int other = who_finished_.load(std::memory_order_acquire); other >= 0)
    throw Error("rank " + std::to_string(other) + " has left");
}

void ThreadGroup::give_up(int rank) noexcept {
  int nobody = -1;
  who_gave_up_.compare_exchange_strong(nobody, rank, std::memory_order_acq_rel);
  wake_all();
}

void ThreadGroup::wake_all() noexcept {
  signals_.fetch_add(1, std::memory_order_release);
  signals_.notify_all();
}

}  // namespace gradus::core
