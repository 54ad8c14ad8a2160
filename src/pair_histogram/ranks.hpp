// Pairs that are shared out among ranks (Execution::communicator): they make sure that all of them were given the same,
// each counts its share of the pairs (see for_each_item()), and what they counted is added up once.
#pragma once

#include <cstdint>
#include <exception>
#include <iterator>
#include <span>

#include "core/phases.hpp"
#include "pair_histogram/problem.hpp"
#include "ranks/ranks.hpp"

namespace gradus::pair_histogram_detail {

/// How the job runs on this rank, with the ranks' stop token. UsageError unless all ranks have the same options,
/// variant, points, others and weights; UnsupportedError where one of these lies on a GPU, or a device or a variant is
/// asked for that does not run on ranks. What can be told from all this is from then on the same on all ranks: the
/// variant too, and what the number of an item stands for.
template <class T>
Execution begin_on_ranks(core::Ranks& ranks, MatrixView<const T> points, const PairHistogramOptions& options,
                         const PairHistogramMemory<T>& memory, const Execution& execution);

/// Of a histogram, as it travels: sums of weights by half words, so that 2^32 ranks' sums of them cannot wrap.
inline std::int64_t words_on_ranks(std::int64_t slots, int sum_words) { return slots * (1 + 2 * sum_words) + 1; }
void put(const Histogram& histogram, std::span<std::uint64_t> words);
Histogram take(std::span<const std::uint64_t> words, std::int64_t slots, int sum_words);

/// The sum of the ranks' histograms, which are alike in their slots and words.
inline Histogram sum_of_ranks(core::Ranks& ranks, const Histogram& own) {
  const std::int64_t slots = std::ssize(own.counts);
  const auto words = static_cast<std::size_t>(words_on_ranks(slots, own.sum_words));
  return take(ranks.sum(words, [&](std::span<std::uint64_t> to) { put(own, to); }), slots, own.sum_words);
}

/// Runs work(look) on each rank, as Ranks::agree() does, where it takes long: nobody goes on for hours when another one
/// has failed. The work calls look() now and then, on the calling thread; once in a second that meets the others, and
/// throws where the work of one of them has failed. Beside these meetings Ranks::stop() is not seen: the work goes by
/// the caller's own stop token.
template <class Work>
void agree_at_length(core::Ranks& ranks, const Work& work) {
  constexpr double seconds_between = 1;
  // Whether any rank is still at work.
  const auto meet = [&](bool works, const std::exception_ptr& failure) {
    return ranks.sum(1, [&](std::span<std::uint64_t> words) {
      if (failure) std::rethrow_exception(failure);
      words[0] = works ? 1 : 0;
    })[0] > 0;
  };
  std::exception_ptr failure;
  bool all_know = false;
  auto met = core::Clock::now();
  try {
    work([&] {
      if (core::seconds_since(met) < seconds_between) return;
      all_know = true;
      meet(true, nullptr);
      all_know = false;
      met = core::Clock::now();
    });
  } catch (...) {
    if (all_know) throw;
    failure = std::current_exception();
  }
  while (meet(false, failure)) continue;
}

}  // namespace gradus::pair_histogram_detail
