// Counting on several ranks (Execution::communicator). The ranks first check that their arguments agree. Each rank then
// counts its share of the pairs (see for_each_item() and, on GPUs, cuda_filter). Finally the histograms are added up,
// once.
#pragma once

#include <cstdint>
#include <exception>
#include <iterator>
#include <span>
#include <string>

#include "core/phases.hpp"
#include "pair_histogram/problem.hpp"
#include "ranks/ranks.hpp"

namespace gradus::pair_histogram_detail {

/// Returns the device of a rank. If the request names neither a device nor a variant, this device is the CPU, because
/// all ranks must make the same choice.
Device device_on_ranks(const Execution& execution);

/// The data of the ranks of a job.
enum class RankData : bool {
  compared,  ///< each rank has its caller's data, in host memory, which must be the same on all ranks
  shared     ///< the ranks are the GPUs of one call, so they have the same data; some of it may be on a rank's GPU
};

/// Returns the execution for this rank, with the ranks' stop token and device. Throws UsageError unless all ranks have
/// the same options, variant and kind of device, and the same data. Throws UnsupportedError if data that must be
/// compared is on a GPU, or if the requested device or variant is not available on ranks. All results derived from
/// these arguments, such as the chosen variant and the meaning of item numbers, are therefore the same on all ranks.
template <class T>
Execution begin_on_ranks(core::Ranks& ranks, MatrixView<const T> points, const PairHistogramOptions& options,
                         const PairHistogramMemory<T>& memory, RankData data, const Execution& execution);

/// Returns a line of text with the hash of the rows, to compare the data of ranks.
template <class T>
std::string rows_line(const char* name, MatrixView<const T> rows, const Execution& execution);
template <class T>
std::string rows_line(const char* name, VectorView<const T> values, const Execution& execution);
/// Returns such lines for points, others and weights.
template <class T>
std::string data_text(MatrixView<const T> points, const PairHistogramMemory<T>& memory, const Execution& here);

/// Returns the number of words of a histogram in transit. Sums of weights are sent as half words, so that the sum over
/// up to 2^32 ranks cannot wrap.
inline std::int64_t words_on_ranks(std::int64_t slots, int sum_words) { return slots * (1 + 2 * sum_words) + 1; }
void put(const Histogram& histogram, std::span<std::uint64_t> words);
Histogram take(std::span<const std::uint64_t> words, std::int64_t slots, int sum_words);

inline Histogram sum_of_ranks(core::Ranks& ranks, const Histogram& own) {
  const std::int64_t slots = std::ssize(own.counts);
  const auto words = static_cast<std::size_t>(words_on_ranks(slots, own.sum_words));
  return take(ranks.sum(words, [&](std::span<std::uint64_t> to) { put(own, to); }), slots, own.sum_words);
}

/// Runs work(look), which may take long, on each rank, as Ranks::agree() does. In addition, if the work of one rank
/// fails, the other ranks stop soon. The work must call look() regularly on the calling thread. About once a second,
/// look() synchronises with the other ranks, and throws if the work has failed on any rank. Between these moments
/// Ranks::stop() has no effect, so the work should poll the caller's stop token.
template <class Work>
void agree_at_length(core::Ranks& ranks, const Work& work) {
  constexpr double seconds_between = 1;
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
