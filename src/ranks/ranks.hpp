// What the parts of a job whose rows are split over ranks (gradus/communicator.hpp) ask of each other, with the one
// rule by which none of them ever waits in vain: whatever can fail on one rank alone is done inside of one of the calls
// below, as the `work` that it is given. Where that fails on any rank, the call throws the error of the lowest one on
// all ranks.
//
// A rank that is alone (Ranks::alone()) has all rows, and every call is the identity: it runs its work as it is and
// returns what the work made. No caller asks for that case.
//
// What stands between the calls is done by all ranks alike, from the same numbers: there every rank takes the same
// branches and throws the same errors. A stop request is seen by the works alone (stop()), for it reaches the ranks at
// different moments. Anything else that is thrown there, such as what the allocator throws, ends the job of this rank
// alone: run() sees to it that the others do not wait for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/exact_accumulator.hpp"
#include "gradus/array.hpp"
#include "gradus/communicator.hpp"
#include "gradus/error.hpp"

namespace gradus::core {

class Ranks {
 public:
  /// `stop`: the caller's token.
  Ranks(Communicator& communicator, std::stop_token stop);
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  /// The only rank of its job. It has no state: any number of jobs use it at the same time.
  static Ranks& alone();
  /// For the few decisions that differ: a job of one process can use memory on a GPU, for example.
  bool is_alone() const { return communicator_ == nullptr; }

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_first() const { return rank_ == 0; }
  /// For the works on several ranks: stop_requested() changes while one of them runs, and then the call around it
  /// throws on all ranks.
  const std::stop_token& stop() const { return stop_token_; }

  // -------------------------------------------------------------------------------------------------------------------
  // Calls that all ranks make together. What they return is the same on all of them.

  /// Runs work() on each rank, and returns what it returns there.
  template <class Work>
  auto agree(Work&& work) -> std::invoke_result_t<Work> {
    using Result = std::invoke_result_t<Work>;
    if (is_alone()) return work();
    if constexpr (std::is_void_v<Result>) {
      sum(0, [&](std::span<std::uint64_t>) { work(); });
    } else if constexpr (std::is_reference_v<Result>) {
      std::remove_reference_t<Result>* result = nullptr;
      sum(0, [&](std::span<std::uint64_t>) { result = &work(); });
      return static_cast<Result>(*result);
    } else {
      std::optional<Result> result;
      sum(0, [&](std::span<std::uint64_t>) { result.emplace(work()); });
      return *std::move(result);
    }
  }

  /// Returns true if work() does on any rank.
  template <class Work>
  bool any(Work&& work) {
    if (is_alone()) return work();
    return sum(1, [&](std::span<std::uint64_t> words) { words[0] = work() ? 1 : 0; })[0] > 0;
  }

  /// The sums, modulo 2^64, of `count` words, which are zero before work(words) on each rank.
  template <class Work>
  std::vector<std::uint64_t> sum(std::size_t count, Work&& work) {
    std::vector<std::uint64_t> words(count + 1);
    sum_all_of(words, [&] { work(std::span(words).first(count)); });
    words.pop_back();
    return words;
  }

  /// The same in words of the caller's: work() writes all of them but the last one, which is for this call alone.
  template <class Work>
  void sum_all_of(std::span<std::uint64_t> words, Work&& work) {
    if (is_alone()) return work();
    words.back() = attempt(work) ? 0 : 1;
    communicator_->sum(words);
    if (words.back() != 0) throw_agreed();
  }

  /// Adds up what work() makes on each rank: put(words) writes it to `count` words, take(words) reads their sums.
  template <class Work, class Put, class Take>
  void add_up(std::size_t count, Work&& work, Put&& put, Take&& take) {
    if (is_alone()) return work();
    take(std::span<const std::uint64_t>(sum(count, [&](std::span<std::uint64_t> words) {
      work();
      put(words);
    })));
  }

  /// Accumulators as words for add_up() and sum(): accumulator_limbs for each.
  static void put(std::span<ExactAccumulator> sums, std::span<std::uint64_t> words);
  static void take(std::span<const std::uint64_t> words, std::span<ExactAccumulator> sums);

  /// The greatest of work()'s numbers, none of which is -0.
  template <class Work>
  double greatest(Work&& work) {
    if (is_alone()) return work();
    return greatest(1, [&](std::span<double> numbers) { numbers[0] = work(); })[0];
  }

  /// The greatest of `count` numbers, which are -infinity before work(numbers) on each rank. No -0 is among them.
  template <class Work>
  std::vector<double> greatest(std::size_t count, Work&& work) {
    std::vector<double> numbers(count + 1, -std::numeric_limits<double>::infinity());
    const std::span<double> wanted = std::span(numbers).first(count);
    numbers.back() = 0;
    if (is_alone()) work(wanted);
    else if (!attempt([&] { work(wanted); })) numbers.back() = 1;
    for (double& number : numbers) number += 0.0;
    if (!is_alone()) communicator_->greatest(numbers);
    if (numbers.back() != 0) throw_agreed();
    numbers.pop_back();
    return numbers;
  }

  /// work()'s items of all ranks, in their order.
  template <class Work>
  auto gather(Work&& work) {
    using Item = std::invoke_result_t<Work>;
    static_assert(std::is_trivially_copyable_v<Item>);
    if (is_alone()) return std::vector<Item>{work()};
    struct Gathered {
      Item item;
      bool failed;
    };
    Gathered own{};
    own.failed = !attempt([&] { own.item = work(); });
    std::vector<Gathered> all(static_cast<std::size_t>(size_));
    communicator_->gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
    std::vector<Item> items;
    items.reserve(all.size());
    bool failed = false;
    for (const Gathered& one : all) {
      items.push_back(one.item);
      failed = failed || one.failed;
    }
    if (failed) throw_agreed();
    return items;
  }

  /// Each rank sends as many bytes, all of which work(bytes) writes; take(rank, bytes) is then called with the bytes of
  /// each rank, in their order. They begin at multiples of 8.
  template <class Work, class Take>
  void exchange(std::size_t count, Work&& work, Take&& take) {
    const std::size_t sent = count / 8 * 8 + 8;  // with one more, which tells of a failure
    std::vector<std::byte> own(sent);
    if (is_alone()) {
      work(std::span(own).first(count));
      return take(0, std::span<const std::byte>(own).first(count));
    }
    std::vector<std::byte> all(sent * static_cast<std::size_t>(size_));
    const bool done = attempt([&] { work(std::span(own).first(count)); });
    own[count] = static_cast<std::byte>(!done);
    communicator_->gather(own, all);
    bool failed = false;
    for (std::size_t end = count; end < all.size(); end += sent) failed = failed || all[end] != std::byte{0};
    if (failed) throw_agreed();
    for (int rank = 0; rank < size_; ++rank)
      take(rank, std::span<const std::byte>(all).subspan(static_cast<std::size_t>(rank) * sent, count));
  }

  /// The items of work() on the rank `root`, a vector; the others do not run it.
  template <class Work>
  auto from(int root, Work&& work) {
    using Items = std::invoke_result_t<Work>;
    using Item = typename Items::value_type;
    static_assert(std::is_trivially_copyable_v<Item>);
    if (is_alone()) return Items(work());
    Items items;
    const std::uint64_t count = sum(1, [&](std::span<std::uint64_t> words) {
                                  if (rank_ != root) return;
                                  items = work();
                                  words.front() = items.size();
                                }).front();
    items.resize(count);
    if (count > 0) communicator_->broadcast(std::as_writable_bytes(std::span(items)), root);
    return items;
  }

  // -------------------------------------------------------------------------------------------------------------------

  /// Runs job(), the whole of a call of the library.
  template <class Job>
  auto run(Job&& job) {
    if (is_alone()) return job();
    try {
      return job();
    } catch (...) {
      leave();
      throw;
    }
  }

 private:
  Ranks() = default;

  /// Whether work() threw nothing, and no stop was asked for. Otherwise `failure_` is what it threw.
  template <class Work>
  bool attempt(Work&& work) {
    failure_ = nullptr;
    {
      const std::stop_callback follow(asked_, [this] { stop_.request_stop(); });
      try {
        std::forward<Work>(work)();
      } catch (...) {
        failure_ = std::current_exception();
      }
    }
    // Whatever the work has made of it: from here on a request is seen by nobody.
    if (!failure_ && stop_token_.stop_requested()) failure_ = std::make_exception_ptr(InterruptedError("stopped"));
    return failure_ == nullptr;
  }
  /// After a call in which it failed on some rank.
  [[noreturn]] void throw_agreed();
  /// While what a job has thrown is handled.
  void leave() noexcept;

  Communicator* communicator_ = nullptr;  ///< null: this rank is alone
  int rank_ = 0;
  int size_ = 1;
  std::stop_token asked_;
  std::stop_source stop_{std::nostopstate};
  std::stop_token stop_token_;
  std::exception_ptr failure_;
  bool agreed_ = false;  ///< that the job ends, and with which error
};

/// Rows that are split over ranks: one after the other, the ranks' rows are all rows.
class RankRows {
 public:
  /// All rows, on a rank that is alone.
  explicit RankRows(std::int64_t rows) : ranks_(&Ranks::alone()), own_(rows), all_(rows) {}
  /// All ranks call this together, each with the number of its rows.
  RankRows(Ranks& ranks, std::int64_t own);

  Ranks& ranks() const { return *ranks_; }
  std::int64_t own() const { return own_; }
  std::int64_t all() const { return all_; }
  /// The number, among all rows, of this rank's first one.
  std::int64_t first() const { return first_; }
  bool is_own(std::int64_t row) const { return row >= first_ && row < first_ + own_; }

  /// Copies the rows of these numbers. All ranks call this together; `own`: this rank's rows.
  template <class T>
  Matrix<T> rows_at(std::span<const std::int64_t> numbers, MatrixView<const T> own) const;

 private:
  Ranks* ranks_;
  std::int64_t first_ = 0;
  std::int64_t own_;
  std::int64_t all_ = 0;
};

}  // namespace gradus::core
