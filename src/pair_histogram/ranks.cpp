#include "pair_histogram/ranks.hpp"

#include <algorithm>
#include <string>

#include "core/text.hpp"
#include "cpu/row_hash.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "pair_histogram/options.hpp"
#include "ranks/same_call.hpp"

namespace gradus::pair_histogram_detail {

namespace {

constexpr int half_bits = 32;
constexpr std::uint64_t half_mask = (std::uint64_t{1} << half_bits) - 1;

using core::call_line;

template <class T>
std::string rows_line(const char* name, MatrixView<const T> rows, const Execution& execution) {
  const std::uint64_t hash = cpu::hash_of_rows(rows, 0, cpu::thread_count(execution), execution.stop);
  return call_line(name, std::to_string(rows.rows()) + " x " + std::to_string(rows.columns()) + " with the hash " +
                             cpu::hash_text(hash));
}

template <class T>
std::string rows_line(const char* name, VectorView<const T> values, const Execution& execution) {
  return rows_line(name, MatrixView<const T>(values.data(), values.size(), 1, 1, values.place()), execution);
}

template <class T>
std::string call_text(MatrixView<const T> points, const PairHistogramOptions& options,
                      const PairHistogramMemory<T>& memory, const Execution& here) {
  return call_line("variant", here.variant.empty() ? std::string("the best") : core::with_underscores(here.variant)) +
         core::option_lines(options) + rows_line("points", points, here) + rows_line("others", memory.others, here) +
         rows_line("weights", memory.weights, here) + rows_line("other weights", memory.other_weights, here);
}

}  // namespace

template <class T>
Execution begin_on_ranks(core::Ranks& ranks, MatrixView<const T> points, const PairHistogramOptions& options,
                         const PairHistogramMemory<T>& memory, const Execution& execution) {
  Execution here = execution;
  here.stop = ranks.stop();
  std::string own;
  ranks.agree([&] {
    execution::check_execution(execution, execution::SupportsRanks::yes);
    const auto refuse = [](const std::string& what) {
      throw UnsupportedError(what + " on several ranks; the variants of pair_histogram that do run there: " +
                             core::names_with(&Variant::on_ranks, variants()));
    };
    const auto check = [](const auto& view, const char* what) {
      execution::check_view(view, what);
      if (!view.place().is_host())
        throw UnsupportedError(about(what) + "they are on " + execution::gpu_number(view.place().gpu) +
                               ", where no variant runs on several ranks; copy them to host memory");
    };
    check(points, "points");
    check(memory.others, "others");
    check(memory.weights, "weights");
    check(memory.other_weights, "other weights");
    if (here.device == Device::gpu) refuse("no variant runs on a GPU");
    if (!here.variant.empty())
      if (const Variant& variant = core::find_variant(variants(), here.variant, Room::name); !variant.on_ranks)
        refuse("pair_histogram variant '" + std::string(variant.name) + "' does not run");
    here.device = Device::cpu;
    own = call_text(points, options, memory, here);
  });
  core::require_same_options(ranks, own);
  return here;
}

void put(const Histogram& histogram, std::span<std::uint64_t> words) {
  auto to = std::ranges::copy(histogram.counts, words.begin()).out;
  for (const std::uint64_t word : histogram.weights) {
    *to++ = word & half_mask;
    *to++ = word >> half_bits;
  }
  *to = histogram.rechecked;
}

Histogram take(std::span<const std::uint64_t> words, std::int64_t slots, int sum_words) {
  Histogram histogram(slots, sum_words);
  const std::uint64_t* from = words.data();
  for (std::uint64_t& count : histogram.counts) count = *from++;
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    std::uint64_t* const sum = histogram.sum(slot);
    std::uint64_t carry = 0;
    for (int word = 0; word < sum_words; ++word) {
      const std::uint64_t low = *from++ + carry;
      const std::uint64_t high = *from++ + (low >> half_bits);
      sum[word] = high << half_bits | (low & half_mask);
      carry = high >> half_bits;  // dropped after the last word, where it is the wrap-around of a negative sum
    }
  }
  histogram.rechecked = *from;
  return histogram;
}

#define GRADUS_INSTANTIATE(T)                                                                       \
  template Execution begin_on_ranks(core::Ranks&, MatrixView<const T>, const PairHistogramOptions&, \
                                    const PairHistogramMemory<T>&, const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::pair_histogram_detail
