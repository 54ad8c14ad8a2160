// Cooperation of the ranks of a job (gradus/communicator.hpp), with a rule that prevents deadlocks: every step that can
// fail on a single rank is passed as `work` to one of the collective functions below. If the work fails on any rank,
// the function throws the error of the lowest failing rank on all ranks.
//
// For a job without ranks (Ranks::alone()), every function runs the work and returns its result, without communication.
// Callers need no special case.
//
// Code between the collective functions must depend only on values that are the same on all ranks, so that every rank
// takes the same branches and throws the same errors. Only a function that is passed as `work` may poll for a stop
// request (stop()), because the request reaches the ranks at different times. Any other exception between these
// functions, such as std::bad_alloc, ends the job of this rank only; run() then ensures that the other ranks do not
// wait for this rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
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
  Ranks(Communicator& communicator, std::stop_token stop);
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  /// Returns the single rank of a job without ranks. This rank has no state, so several jobs may use it at the same
  /// time.
  static Ranks& alone();
  /// Returns true for a job without ranks. Few decisions may depend on the result. For example, only a job without
  /// ranks can use GPU memory.
  bool is_alone() const { return communicator_ == nullptr; }

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_first() const { return rank_ == 0; }
  /// Returns the communicator. The job must not be without ranks.
  Communicator& communicator() const { return *communicator_; }
  /// Returns the caller's stop token, for work that itself reports a stop request to the other ranks.
  const std::stop_token& asked() const { return asked_; }
  /// Returns the stop token for functions that are passed as `work`. If a stop is requested while such a function runs,
  /// the collective function that called it throws on all ranks.
  const std::stop_token& stop() const { return stop_token_; }

  // -------------------------------------------------------------------------------------------------------------------
  // Collective functions: all ranks call each of them together. Results are the same on all ranks unless stated
  // otherwise.

  /// Runs work() on each rank, and returns its result on this rank.
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

  /// Returns true if work() returns true on all ranks.
  template <class Work>
  bool all(Work&& work) {
    return !any([&] { return !work(); });
  }

  /// Returns true if work() returns true on any rank.
  template <class Work>
  bool any(Work&& work) {
    if (is_alone()) return work();
    return sum(1, [&](std::span<std::uint64_t> words) { words[0] = work() ? 1 : 0; })[0] > 0;
  }

  /// Sums `count` words over all ranks, modulo 2^64, and returns the sums. On each rank, the words are zero until
  /// work(words) changes them.
  template <class Work>
  std::vector<std::uint64_t> sum(std::size_t count, Work&& work) {
    std::vector<std::uint64_t> words(count + 1);
    sum_all_of(words, [&] { work(std::span(words).first(count)); });
    words.pop_back();
    return words;
  }

  /// Overload for the caller's memory. work() writes all words except the last, which this function uses.
  template <class Work>
  void sum_all_of(std::span<std::uint64_t> words, Work&& work) {
    if (is_alone()) return work();
    words.back() = attempt(work) ? 0 : 1;
    communicator_->sum(words);
    if (words.back() != 0) throw_agreed();
  }

  /// Sums the results of work() over all ranks. put(words) stores this rank's results in `count` words, and take(words)
  /// reads the sums.
  template <class Work, class Put, class Take>
  void add_up(std::size_t count, Work&& work, Put&& put, Take&& take) {
    if (is_alone()) return work();
    take(std::span<const std::uint64_t>(sum(count, [&](std::span<std::uint64_t> words) {
      work();
      put(words);
    })));
  }

  /// put() converts accumulators to words for add_up() and sum(), and take() converts words to accumulators. An
  /// accumulator takes accumulator_limbs words.
  static void put(std::span<ExactAccumulator> sums, std::span<std::uint64_t> words);
  static void take(std::span<const std::uint64_t> words, std::span<ExactAccumulator> sums);

  /// Returns the maximum, over all ranks, of the number that work() returns. work() must not return -0.
  template <class Work>
  double greatest(Work&& work) {
    if (is_alone()) return work();
    return greatest(1, [&](std::span<double> numbers) { numbers[0] = work(); })[0];
  }

  /// Returns the element-wise maxima, over all ranks, of `count` numbers. The numbers are -infinity before
  /// work(numbers) changes them on each rank. -0 is not allowed.
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

  /// Returns the concatenation of the items of all ranks, in rank order.
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

  /// Exchanges `count` bytes per rank. On each rank, work(bytes) writes the `count` bytes of that rank. Then the
  /// function calls take(rank, bytes) for each rank in order. `bytes` begins at an address that is a multiple of 8.
  template <class Work, class Take>
  void exchange(std::size_t count, Work&& work, Take&& take) {
    const std::size_t sent = count / 8 * 8 + 8;  // a further byte reports a failure
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

  /// Returns the vector that work() returns on the rank `root`. Other ranks do not run work().
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

  /// Runs job(), the body of a library call.
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
  Ranks() : stop_(std::nostopstate) {}

  /// Runs work(). Returns true if work() did not throw and no stop was requested. Otherwise stores the exception in
  /// `failure_`.
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
    // Polls even if work() is complete, because code between the collective functions must not poll.
    if (!failure_ && stop_token_.stop_requested()) failure_ = std::make_exception_ptr(InterruptedError("stopped"));
    return failure_ == nullptr;
  }
  /// Throws the error of the lowest failing rank. Called after a collective operation that has reported a failure on
  /// some rank.
  [[noreturn]] void throw_agreed();
  /// Ends the communication of this rank. Called while an exception of the job is being handled.
  void leave() noexcept;

  Communicator* communicator_ = nullptr;  ///< null for a job without ranks
  int rank_ = 0;
  int size_ = 1;
  std::stop_token asked_;
  std::stop_source stop_;
  std::stop_token stop_token_;
  std::exception_ptr failure_;
  bool agreed_ = false;  ///< true after all ranks have agreed on an error that ends the job
};

/// Rows of a matrix that are split over ranks. The matrix is the concatenation of the ranks' rows in rank order.
class RankRows {
 public:
  /// Makes the rows of a job without ranks. In error messages, the first row has the number `first`.
  explicit RankRows(std::int64_t rows, std::int64_t first = 0)
      : ranks_(&Ranks::alone()), first_(first), own_(rows), all_(rows) {}
  /// Collective. `own` is the number of rows of this rank.
  RankRows(Ranks& ranks, std::int64_t own);

  Ranks& ranks() const { return *ranks_; }
  std::int64_t own() const { return own_; }
  std::int64_t all() const { return all_; }
  /// Returns the number of this rank's first row among all rows.
  std::int64_t first() const { return first_; }
  bool is_own(std::int64_t row) const { return row >= first_ && row < first_ + own_; }

  /// Returns copies of the rows with these numbers. Collective; `own` contains this rank's rows.
  template <class T>
  Matrix<T> rows_at(std::span<const std::int64_t> numbers, MatrixView<const T> own) const;
  /// Overload for rows that are not stored in a matrix: copies_of(numbers) returns copies of this rank's rows with
  /// these numbers.
  template <class T>
  Matrix<T> rows_at(std::span<const std::int64_t> numbers, std::int64_t columns,
                    const std::function<Matrix<T>(std::span<const std::int64_t>)>& copies_of) const;

 private:
  Ranks* ranks_;
  std::int64_t first_ = 0;
  std::int64_t own_;
  std::int64_t all_ = 0;
};

}  // namespace gradus::core
