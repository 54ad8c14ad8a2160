#include "pair_histogram/ranks.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "cpu/row_hash.hpp"
#include "cpu/threads.hpp"
#include "execution/devices.hpp"
#include "execution/request.hpp"
#include "pair_histogram/options.hpp"
#include "ranks/same_call.hpp"

namespace gradus::pair_histogram_detail {

namespace {

constexpr int half_bits = 32;
constexpr std::uint64_t half_mask = (std::uint64_t{1} << half_bits) - 1;

using core::call_line;

/// Returns what the ranks must have in common so that they divide the pairs alike: all use the CPU, or all use GPUs
/// that run the same code.
std::string device_line(const Execution& here) {
  if (here.device == Device::cpu) return call_line("device", "the CPU");
  const execution::Gpu& gpu = execution::require_gpu(execution::this_machine(), here.gpu);
  return call_line("device", "a GPU of compute capability " + gpu.compute_capability) +
         call_line("block size", here.block_size == 0 ? std::string("the best") : std::to_string(here.block_size));
}

std::string call_text(const PairHistogramOptions& options, const Execution& here) {
  return call_line("variant", here.variant.empty() ? std::string("the best") : core::with_underscores(here.variant)) +
         device_line(here) + core::option_lines(options);
}

}  // namespace

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
std::string data_text(MatrixView<const T> points, const PairHistogramMemory<T>& memory, const Execution& here) {
  return rows_line("points", points, here) + rows_line("others", memory.others, here) +
         rows_line("weights", memory.weights, here) + rows_line("other weights", memory.other_weights, here);
}

Device device_on_ranks(const Execution& execution) {
  if (execution.device != Device::automatic) return execution.device;
  const bool names_gpu =
      !execution.variant.empty() && core::find_variant(variants(), execution.variant, Room::name).device_input;
  return names_gpu ? Device::gpu : Device::cpu;
}

template <class T>
Execution begin_on_ranks(core::Ranks& ranks, MatrixView<const T> points, const PairHistogramOptions& options,
                         const PairHistogramMemory<T>& memory, RankData data, const Execution& execution) {
  Execution here = execution;
  here.stop = ranks.stop();
  std::string own;
  ranks.agree([&] {
    execution::check_execution(execution, execution::SupportsRanks::yes);
    const auto refuse = [](const std::string& what) {
      throw UnsupportedError(what + " on several ranks or GPUs; the variants of pair_histogram that do run there: " +
                             core::names_with(&Variant::on_ranks, variants()));
    };
    const auto check = [data](const auto& view, const char* what) {
      execution::check_view(view, what);
      if (!view.place().is_host() && data == RankData::compared)
        throw UnsupportedError(about(what) + "they are on " + execution::gpu_number(view.place().gpu) +
                               ", and several ranks need them in host memory; copy them there");
    };
    check(points, "points");
    check(memory.others, "others");
    check(memory.weights, "weights");
    check(memory.other_weights, "other weights");
    if (!here.variant.empty())
      if (const Variant& variant = core::find_variant(variants(), here.variant, Room::name); !variant.on_ranks)
        refuse("pair_histogram variant '" + std::string(variant.name) + "' does not run");
    here.device = device_on_ranks(execution);
    own = call_text(options, here);
    if (data == RankData::compared) own += data_text(points, memory, here);
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
      carry = high >> half_bits;  // the last word's carry is dropped: it comes from a negative sum
    }
  }
  histogram.rechecked = *from;
  return histogram;
}

#define GRADUS_INSTANTIATE(T)                                                                       \
  template Execution begin_on_ranks(core::Ranks&, MatrixView<const T>, const PairHistogramOptions&, \
                                    const PairHistogramMemory<T>&, RankData, const Execution&);     \
  template std::string rows_line(const char*, MatrixView<const T>, const Execution&);               \
  template std::string rows_line(const char*, VectorView<const T>, const Execution&);               \
  template std::string data_text(MatrixView<const T>, const PairHistogramMemory<T>&, const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::pair_histogram_detail
