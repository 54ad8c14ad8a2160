// What the parts of a job whose rows are split over ranks (gradus/communicator.hpp) ask of each other, with the one
// rule by which none of them ever waits in vain: whatever can fail on one rank alone is done inside of one of the calls
// below, as the `work` that it is given. Where that fails on any rank, the call throws the error of the lowest one on
// all ranks.
//
// What stands between the calls is done by all ranks alike, from the same numbers: there every rank takes the same
// branches and throws the same errors. A stop request is seen by the works alone (stop()), for it reaches the ranks at
// different moments. Anything else that is thrown there, such as what the allocator throws, ends the job of this rank
// alone: run() sees to it that the others do not wait for it.
#pragma once

#include <cstddef>
#include <cstring>
#include <exception>
#include <limits>
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
  /// `stop`: the caller's token. The rows are those of set_rows().
  Ranks(Communicator& communicator, std::stop_token stop);
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int neighbours() const { return communicator_.neighbours(); }
  /// For the works: stop_requested() changes while one of them runs, and then the call around it throws on all ranks.
  const std::stop_token& stop() const { return stop_token_; }

  // -------------------------------------------------------------------------------------------------------------------
  // The rows

  /// One after the other, the ranks' rows are all rows. Every rank gives the number of its own.
  void set_rows(std::int64_t own);
  std::int64_t rows() const { return first_rows_.back(); }  ///< of all ranks
  std::int64_t own_rows() const { return end_row() - first_row(); }
  std::int64_t first_row() const {
    return first_rows_[static_cast<std::size_t>(rank_)];
  }  ///< the own first one's number
  bool is_own(std::int64_t row) const { return row >= first_row() && row < end_row(); }
  /// The rank whose row it is.
  int owner(std::int64_t row) const;
  /// As long as it exists, the rows are others, `own` of them this rank's.
  class OtherRows {
   public:
    OtherRows(Ranks& ranks, std::int64_t own) : ranks_(ranks), before_(ranks.first_rows_) { ranks.set_rows(own); }
    OtherRows(const OtherRows&) = delete;
    OtherRows& operator=(const OtherRows&) = delete;
    ~OtherRows() { ranks_.first_rows_ = std::move(before_); }

   private:
    Ranks& ranks_;
    std::vector<std::int64_t> before_;
  };
  /// The rows of these numbers, on all ranks; `own`: this rank's.
  template <class T>
  Matrix<T> rows_at(std::span<const std::int64_t> rows, MatrixView<const T> own);

  // -------------------------------------------------------------------------------------------------------------------
  // Calls that all ranks make together. What they return is the same on all of them.

  /// Runs work() on each rank.
  template <class Work>
  void agree(Work&& work) {
    sum(0, [&](std::span<std::uint64_t>) { work(); });
  }

  /// The sums, modulo 2^64, of `count` words, which are zero before work(words) on each rank. Valid until the next
  /// call.
  template <class Work>
  std::span<const std::uint64_t> sum(std::size_t count, Work&& work) {
    words_.assign(count + 1, 0);
    const std::span<std::uint64_t> words = std::span(words_).first(count);
    sum_all_of(words_, [&] { work(words); });
    return words;
  }

  /// The same in words of the caller's: work() writes all of them but the last one, which is for this call alone.
  template <class Work>
  void sum_all_of(std::span<std::uint64_t> words, Work&& work) {
    words.back() = attempt(work) ? 0 : 1;
    communicator_.sum(words);
    if (words.back() != 0) throw_agreed();
  }

  /// The greatest of `count` numbers, which are -infinity before work(numbers) on each rank. No -0 is among them.
  template <class Work>
  std::span<const double> greatest(std::size_t count, Work&& work) {
    numbers_.assign(count + 1, -std::numeric_limits<double>::infinity());
    const std::span<double> numbers = std::span(numbers_).first(count);
    numbers_.back() = 0;
    if (!attempt([&] { work(numbers); })) numbers_.back() = 1;
    for (double& number : numbers) number += 0.0;
    communicator_.greatest(numbers_);
    if (numbers_.back() != 0) throw_agreed();
    return numbers;
  }

  /// work()'s items of all ranks, in their order.
  template <class Work>
  auto gather(Work&& work) {
    using Item = std::invoke_result_t<Work>;
    static_assert(std::is_trivially_copyable_v<Item>);
    struct Told {
      Item item;
      bool failed;
    };
    Told own{};
    own.failed = !attempt([&] { own.item = work(); });
    std::vector<Told> told(static_cast<std::size_t>(size_));
    communicator_.gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(told)));
    std::vector<Item> items;
    items.reserve(told.size());
    bool failed = false;
    for (const Told& one : told) {
      items.push_back(one.item);
      failed = failed || one.failed;
    }
    if (failed) throw_agreed();
    return items;
  }

  /// Each rank tells as many bytes, all of which work(bytes) writes; take(rank, bytes) is then called with those of
  /// each rank, in their order. They begin at multiples of 8.
  template <class Work, class Take>
  void exchange(std::size_t count, Work&& work, Take&& take) {
    const std::size_t told = count / 8 * 8 + 8;  // with one more, which tells of a failure
    own_bytes_.resize(told);
    all_bytes_.resize(told * static_cast<std::size_t>(size_));
    const bool done = attempt([&] { work(std::span(own_bytes_).first(count)); });
    own_bytes_[count] = static_cast<std::byte>(!done);
    communicator_.gather(own_bytes_, all_bytes_);
    bool failed = false;
    for (std::size_t end = count; end < all_bytes_.size(); end += told)
      failed = failed || all_bytes_[end] != std::byte{0};
    if (failed) throw_agreed();
    for (int rank = 0; rank < size_; ++rank)
      take(rank, std::span<const std::byte>(all_bytes_).subspan(static_cast<std::size_t>(rank) * told, count));
  }

  /// The items of work() on the rank `root`, a vector; the others do not run it.
  template <class Work>
  auto from(int root, Work&& work) {
    using Items = std::invoke_result_t<Work>;
    using Item = typename Items::value_type;
    static_assert(std::is_trivially_copyable_v<Item>);
    Items items;
    const std::uint64_t count = sum(1, [&](std::span<std::uint64_t> words) {
                                  if (rank_ != root) return;
                                  items = work();
                                  words.front() = items.size();
                                }).front();
    items.resize(count);
    if (count > 0) communicator_.broadcast(std::as_writable_bytes(std::span(items)), root);
    return items;
  }

  /// Each of the accumulators becomes the sum of all ranks'. `work` makes them.
  template <class Work>
  void add_up(std::vector<ExactAccumulator>& own, std::size_t count, Work&& work) {
    const std::span<const std::uint64_t> words = sum(count * accumulator_limbs, [&](std::span<std::uint64_t> to) {
      work();
      put(own, to);
    });
    own.assign(count, {});
    take(words, own);
  }
  /// For sums that travel with other words: accumulator_limbs words for each.
  static void put(std::span<ExactAccumulator> sums, std::span<std::uint64_t> words);
  static void take(std::span<const std::uint64_t> words, std::span<ExactAccumulator> sums);

  // -------------------------------------------------------------------------------------------------------------------

  /// Runs job(), the whole of a call of the library.
  template <class Job>
  auto run(Job&& job) {
    try {
      return job();
    } catch (...) {
      leave();
      throw;
    }
  }

 private:
  std::int64_t end_row() const { return first_rows_[static_cast<std::size_t>(rank_) + 1]; }

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

  Communicator& communicator_;
  int rank_;
  int size_;
  std::stop_token asked_;
  std::stop_source stop_;
  std::stop_token stop_token_;
  std::vector<std::int64_t> first_rows_;  ///< of each rank; then the number of all rows
  std::vector<std::uint64_t> words_;
  std::vector<double> numbers_;
  std::vector<std::byte> own_bytes_;
  std::vector<std::byte> all_bytes_;
  std::exception_ptr failure_;
  bool agreed_ = false;  ///< that the job ends, and with which error
};

/// Runs work(): where there are ranks on each of them, as Ranks::agree() does.
template <class Work>
void agree(Ranks* ranks, Work&& work) {
  if (ranks != nullptr) ranks->agree(work);
  else work();
}

}  // namespace gradus::core
