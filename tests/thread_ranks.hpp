// Uses threads of this process as the ranks of a job. In tests they replace MPI, also under the thread sanitizer.
// Mismatched calls throw an error, while MPI would hang.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gradus/communicator.hpp"
#include "gradus/error.hpp"
#include "tests/helpers.hpp"

namespace gradus::tests {

class ThreadRanks {
 public:
  explicit ThreadRanks(int size) : calls_(static_cast<std::size_t>(size)) {}

  int size() const { return static_cast<int>(calls_.size()); }
  int calls() const { return number_ / 2; }  ///< number of calls that the ranks have made together

  /// Calls job(communicator) on one thread per rank. Returns the exception that each thread threw, or null.
  std::vector<std::exception_ptr> run(const std::function<void(Communicator&)>& job) {
    // With Archer, LLVM 14's OpenMP runtime crashes if several threads are the first to enter it at the same time. This
    // thread therefore enters the runtime before it starts the threads of the ranks.
#pragma omp parallel num_threads(2)
    {}
    std::vector<std::exception_ptr> thrown(calls_.size());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size(); ++rank)
      threads.emplace_back([&, rank] {
        Member member(*this, rank);
        try {
          job(member);
        } catch (...) {
          thrown[static_cast<std::size_t>(rank)] = std::current_exception();
        }
        leave(rank);
      });
    for (std::thread& thread : threads) thread.join();
    return thrown;
  }

 private:
  enum class Kind { sum, least, greatest, broadcast, gather };
  struct Call {
    Kind kind;
    std::size_t bytes;
    int root;
    const std::byte* data;
  };

  class Member final : public Communicator {
   public:
    Member(ThreadRanks& all, int rank) : all_(all), rank_(rank) {}

    int rank() const override { return rank_; }
    int size() const override { return all_.size(); }
    int neighbours() const override { return all_.size(); }

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
      exchange({Kind::broadcast, bytes.size(), root, bytes.data()}, bytes,
               [&](std::byte* to) { std::copy_n(all_.calls_[static_cast<std::size_t>(root)].data, bytes.size(), to); });
    }
    void gather(std::span<const std::byte> own, std::span<std::byte> all) override {
      exchange({Kind::gather, own.size(), 0, own.data()}, all, [&](std::byte* to) {
        for (const Call& call : all_.calls_) to = std::copy_n(call.data, own.size(), to);
      });
    }
    void give_up() noexcept override { all_.end("rank " + std::to_string(rank_) + " gave up"); }

   private:
    template <class Number, class Add>
    void combine(Kind kind, std::span<Number> numbers, const Add& add) {
      const std::span<std::byte> bytes = std::as_writable_bytes(numbers);
      exchange({kind, bytes.size(), 0, bytes.data()}, bytes, [&](std::byte* to) {
        std::vector<Number> result(numbers.size());
        std::vector<Number> other(numbers.size());
        for (std::size_t rank = 0; rank < all_.calls_.size() && !bytes.empty(); ++rank) {
          std::memcpy(other.data(), all_.calls_[rank].data, bytes.size());
          if (rank == 0) result = other;
          else std::transform(result.begin(), result.end(), other.begin(), result.begin(), add);
        }
        if (!bytes.empty()) std::memcpy(to, result.data(), bytes.size());
      });
    }

    template <class Make>
    void exchange(const Call& call, std::span<std::byte> result, const Make& make) {
      all_.meet(rank_, &call);
      std::vector<std::byte> made(result.size());
      make(made.data());
      all_.meet(rank_, nullptr);  // afterwards no rank reads the contributions, so `result` may be written
      std::copy(made.begin(), made.end(), result.begin());
    }

    ThreadRanks& all_;
    int rank_;
  };

  /// Waits for all ranks. `call`: this rank's contribution, or null after this rank has read all contributions.
  void meet(int rank, const Call* call) {
    std::unique_lock lock(mutex_);
    if (ended_.empty()) ended_ = left_;
    if (!ended_.empty()) throw Error(ended_);
    if (call != nullptr) calls_[static_cast<std::size_t>(rank)] = *call;
    const int number = number_;
    if (++arrived_ == size()) {
      const auto differs = [&](const Call& other) {
        return other.kind != call->kind || other.bytes != call->bytes || other.root != call->root;
      };
      if (call != nullptr && std::ranges::any_of(calls_, differs)) ended_ = "the ranks' calls differ";
      arrived_ = 0;
      ++number_;
      all_there_.notify_all();
    } else {
      all_there_.wait(lock, [&] { return number_ != number || !ended_.empty(); });
    }
    if (!ended_.empty()) throw Error(ended_);
  }

  /// Marks the rank as finished. Later calls of other ranks fail.
  void leave(int rank) {
    const std::lock_guard lock(mutex_);
    left_ = "rank " + std::to_string(rank) + " has left";
    if (arrived_ > 0 && ended_.empty()) ended_ = left_;
    all_there_.notify_all();
  }

  void end(const std::string& why) noexcept {
    const std::lock_guard lock(mutex_);
    if (ended_.empty()) ended_ = why;
    all_there_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable all_there_;
  std::vector<Call> calls_;
  int arrived_ = 0;
  int number_ = 0;
  std::string left_;   ///< message about a rank that has finished; empty if there is none
  std::string ended_;  ///< the reason for which no further call can succeed
};

/// Expects that each rank throws an error of class E. Returns its message, which must be the same on all ranks.
template <class E>
std::string common_error(int size, const std::function<void(Communicator&)>& job) {
  ThreadRanks ranks(size);
  const std::vector<std::exception_ptr> thrown = ranks.run(job);
  std::string common;
  for (const std::exception_ptr& each : thrown) {
    const std::string message = error_of<E>([&] {
      if (each) std::rethrow_exception(each);
    });
    if (common.empty()) common = message;
    EXPECT_EQ(message, common);
  }
  return common;
}

}  // namespace gradus::tests
