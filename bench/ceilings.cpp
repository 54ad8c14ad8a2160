#include "bench/ceilings.hpp"

#include <omp.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/phases.hpp"
#include "cpu/memory.hpp"
#include "cpu/threads.hpp"
#include "cpu/topology.hpp"
#include "execution/machine.hpp"
#include "gradus/array.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/ceilings.cpp"
// clang-format off
#include "cpu/simd.hpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

// The kernels, compiled once per instruction set. Each kernel has several independent chains of operations, enough to
// hide the latency of an operation. Each kernel returns a value that depends on its data, so that compilers do not
// remove its loop as dead code.
HWY_BEFORE_NAMESPACE();
namespace gradus::bench {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Returns the sum of the elements. For any vector size, `count` must be a multiple of 8 vectors.
std::uint32_t read_sum(const std::uint32_t* data, std::int64_t count) {
  const hn::ScalableTag<std::uint32_t> tag;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  auto sum0 = hn::Zero(tag), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  auto sum4 = sum0, sum5 = sum0, sum6 = sum0, sum7 = sum0;
  for (std::int64_t index = 0; index < count; index += 8 * lanes) {
    const std::uint32_t* from = data + index;
    sum0 = hn::Add(sum0, hn::Load(tag, from));
    sum1 = hn::Add(sum1, hn::Load(tag, from + lanes));
    sum2 = hn::Add(sum2, hn::Load(tag, from + 2 * lanes));
    sum3 = hn::Add(sum3, hn::Load(tag, from + 3 * lanes));
    sum4 = hn::Add(sum4, hn::Load(tag, from + 4 * lanes));
    sum5 = hn::Add(sum5, hn::Load(tag, from + 5 * lanes));
    sum6 = hn::Add(sum6, hn::Load(tag, from + 6 * lanes));
    sum7 = hn::Add(sum7, hn::Load(tag, from + 7 * lanes));
  }
  sum0 = hn::Add(hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3)), hn::Add(hn::Add(sum4, sum5), hn::Add(sum6, sum7)));
  return hn::GetLane(hn::SumOfLanes(tag, sum0));
}

/// Copies `count` elements with non-temporal stores, which bypass the caches and do not read the target first.
void copy_past_caches(const std::uint32_t* from, std::uint32_t* to, std::int64_t count) {
  const hn::ScalableTag<std::uint32_t> tag;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  for (std::int64_t index = 0; index < count; index += 4 * lanes) {
    const auto value0 = hn::Load(tag, from + index);
    const auto value1 = hn::Load(tag, from + index + lanes);
    const auto value2 = hn::Load(tag, from + index + 2 * lanes);
    const auto value3 = hn::Load(tag, from + index + 3 * lanes);
    hn::Stream(value0, tag, to + index);
    hn::Stream(value1, tag, to + index + lanes);
    hn::Stream(value2, tag, to + index + 2 * lanes);
    hn::Stream(value3, tag, to + index + 3 * lanes);
  }
  hwy::FlushStream();
}

/// Computes `rounds` times 12 vectors of acc * factor + addend. Twelve independent chains saturate two arithmetic units
/// with a latency of up to six cycles.
template <class T>
T multiply_add(std::int64_t rounds, T factor_lane, T addend_lane) {
  const hn::ScalableTag<T> tag;
  const auto factor = hn::Set(tag, factor_lane);
  const auto addend = hn::Set(tag, addend_lane);
  // The initial values differ, because compilers merge identical chains.
  auto acc0 = hn::Set(tag, T{0}), acc1 = hn::Set(tag, T{1}), acc2 = hn::Set(tag, T{2}), acc3 = hn::Set(tag, T{3});
  auto acc4 = hn::Set(tag, T{4}), acc5 = hn::Set(tag, T{5}), acc6 = hn::Set(tag, T{6}), acc7 = hn::Set(tag, T{7});
  auto acc8 = hn::Set(tag, T{8}), acc9 = hn::Set(tag, T{9}), acc10 = hn::Set(tag, T{10}), acc11 = hn::Set(tag, T{11});
  for (std::int64_t round = 0; round < rounds; ++round) {
    acc0 = hn::MulAdd(acc0, factor, addend);
    acc1 = hn::MulAdd(acc1, factor, addend);
    acc2 = hn::MulAdd(acc2, factor, addend);
    acc3 = hn::MulAdd(acc3, factor, addend);
    acc4 = hn::MulAdd(acc4, factor, addend);
    acc5 = hn::MulAdd(acc5, factor, addend);
    acc6 = hn::MulAdd(acc6, factor, addend);
    acc7 = hn::MulAdd(acc7, factor, addend);
    acc8 = hn::MulAdd(acc8, factor, addend);
    acc9 = hn::MulAdd(acc9, factor, addend);
    acc10 = hn::MulAdd(acc10, factor, addend);
    acc11 = hn::MulAdd(acc11, factor, addend);
  }
  acc0 = hn::Add(hn::Add(hn::Add(acc0, acc1), hn::Add(acc2, acc3)), hn::Add(hn::Add(acc4, acc5), hn::Add(acc6, acc7)));
  acc0 = hn::Add(acc0, hn::Add(hn::Add(acc8, acc9), hn::Add(acc10, acc11)));
  return hn::GetLane(hn::SumOfLanes(tag, acc0));
}

float multiply_add_f32(std::int64_t rounds, float factor, float addend) { return multiply_add(rounds, factor, addend); }
double multiply_add_f64(std::int64_t rounds, double factor, double addend) {
  return multiply_add(rounds, factor, addend);
}
std::int64_t lanes_f32() { return static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>())); }
std::int64_t lanes_f64() { return static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<double>())); }

/// Computes `rounds` times 12 vectors of min(acc + step, limit), with as many chains as multiply_add().
template <class T>
T add_min(std::int64_t rounds, T step_lane, T limit_lane) {
  const hn::ScalableTag<T> tag;
  const auto step = hn::Set(tag, step_lane);
  const auto limit = hn::Set(tag, limit_lane);
  auto acc0 = hn::Set(tag, T{0}), acc1 = hn::Set(tag, T{1}), acc2 = hn::Set(tag, T{2}), acc3 = hn::Set(tag, T{3});
  auto acc4 = hn::Set(tag, T{4}), acc5 = hn::Set(tag, T{5}), acc6 = hn::Set(tag, T{6}), acc7 = hn::Set(tag, T{7});
  auto acc8 = hn::Set(tag, T{8}), acc9 = hn::Set(tag, T{9}), acc10 = hn::Set(tag, T{10}), acc11 = hn::Set(tag, T{11});
  for (std::int64_t round = 0; round < rounds; ++round) {
    acc0 = hn::Min(hn::Add(acc0, step), limit);
    acc1 = hn::Min(hn::Add(acc1, step), limit);
    acc2 = hn::Min(hn::Add(acc2, step), limit);
    acc3 = hn::Min(hn::Add(acc3, step), limit);
    acc4 = hn::Min(hn::Add(acc4, step), limit);
    acc5 = hn::Min(hn::Add(acc5, step), limit);
    acc6 = hn::Min(hn::Add(acc6, step), limit);
    acc7 = hn::Min(hn::Add(acc7, step), limit);
    acc8 = hn::Min(hn::Add(acc8, step), limit);
    acc9 = hn::Min(hn::Add(acc9, step), limit);
    acc10 = hn::Min(hn::Add(acc10, step), limit);
    acc11 = hn::Min(hn::Add(acc11, step), limit);
  }
  acc0 = hn::Add(hn::Add(hn::Add(acc0, acc1), hn::Add(acc2, acc3)), hn::Add(hn::Add(acc4, acc5), hn::Add(acc6, acc7)));
  acc0 = hn::Add(acc0, hn::Add(hn::Add(acc8, acc9), hn::Add(acc10, acc11)));
  return hn::GetLane(hn::SumOfLanes(tag, acc0));
}

std::int32_t add_min_i32(std::int64_t rounds, std::int32_t step, std::int32_t limit) {
  return add_min(rounds, step, limit);
}
std::int64_t add_min_i64(std::int64_t rounds, std::int64_t step, std::int64_t limit) {
  return add_min(rounds, step, limit);
}
float add_min_f32(std::int64_t rounds, float step, float limit) { return add_min(rounds, step, limit); }
double add_min_f64(std::int64_t rounds, double step, double limit) { return add_min(rounds, step, limit); }

/// Computes the dot product of `count` operands with one vector, `rounds` times. `count` must be a multiple of 8
/// vectors.
std::int32_t multiply_add_i16(std::int64_t rounds, const std::int16_t* operands, std::int64_t count) {
  const hn::ScalableTag<std::int32_t> sums;
  const hn::ScalableTag<std::int16_t> tag;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  const auto factor = hn::Load(tag, operands);
  auto sum0 = hn::Zero(sums), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  // Second sums, for instruction sets that cannot add neighbouring products.
  auto odd0 = sum0, odd1 = sum0, odd2 = sum0, odd3 = sum0;
  for (std::int64_t round = 0; round < rounds; ++round)
    for (std::int64_t index = 0; index < count; index += 8 * lanes) {
      const std::int16_t* from = operands + index;
      sum0 = hn::ReorderWidenMulAccumulate(sums, hn::Load(tag, from), factor, sum0, odd0);
      sum1 = hn::ReorderWidenMulAccumulate(sums, hn::Load(tag, from + lanes), factor, sum1, odd1);
      sum2 = hn::ReorderWidenMulAccumulate(sums, hn::Load(tag, from + 2 * lanes), factor, sum2, odd2);
      sum3 = hn::ReorderWidenMulAccumulate(sums, hn::Load(tag, from + 3 * lanes), factor, sum3, odd3);
      sum0 = hn::ReorderWidenMulAccumulate(sums, hn::Load(tag, from + 4 * lanes), factor, sum0, odd0);
      sum1 = hn::ReorderWidenMulAccumulate(sums, hn::Load(tag, from + 5 * lanes), factor, sum1, odd1);
      sum2 = hn::ReorderWidenMulAccumulate(sums, hn::Load(tag, from + 6 * lanes), factor, sum2, odd2);
      sum3 = hn::ReorderWidenMulAccumulate(sums, hn::Load(tag, from + 7 * lanes), factor, sum3, odd3);
    }
  sum0 = hn::Add(hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3)), hn::Add(hn::Add(odd0, odd1), hn::Add(odd2, odd3)));
  return hn::GetLane(hn::SumOfLanes(sums, sum0));
}

}  // namespace HWY_NAMESPACE
}  // namespace gradus::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::bench {
namespace {

HWY_EXPORT(read_sum);
HWY_EXPORT(copy_past_caches);
HWY_EXPORT(multiply_add_f32);
HWY_EXPORT(multiply_add_f64);
HWY_EXPORT(add_min_i32);
HWY_EXPORT(add_min_i64);
HWY_EXPORT(add_min_f32);
HWY_EXPORT(add_min_f64);
HWY_EXPORT(lanes_f32);
HWY_EXPORT(lanes_f64);
HWY_EXPORT(multiply_add_i16);

std::atomic<double> sink;  ///< keeps compilers from removing the results

/// Measures the rate of every pass of every thread, takes the upper quartile of the rates of each thread, and returns
/// the sum of these quartiles. Other load on the machine slows down some passes, and a single pass may be fast by
/// chance. Neither affects the upper quartile. work(thread, pass) performs a pass and returns its size. A pass must be
/// much shorter than a time slice. Passes that end after `seconds` are ignored, because some threads may have stopped
/// by then.
template <class Work>
double rate(int threads, double seconds, const Work& work) {
  double total = 0;
#pragma omp parallel num_threads(threads) reduction(+ : total)
  {
    const int thread = omp_get_thread_num();
    std::vector<double> rates;
    work(thread, 0);  // warms up caches and the clock frequency
#pragma omp barrier
    const auto begin = core::Clock::now();
    for (double end = 0; end < seconds;) {
      const double start = end;
      const double amount = work(thread, static_cast<std::int64_t>(rates.size()));
      end = core::seconds_since(begin);
      if (end < seconds || rates.empty()) rates.push_back(amount / (end - start));
    }
    const auto quarter = rates.begin() + std::ssize(rates) / 4;
    std::ranges::nth_element(rates, quarter, std::greater());
    total += *quarter;
  }
  return total;
}

/// Returns the number of elements of an array that is too large for the caches of `threads` threads.
std::int64_t large_count(int threads) {
  const execution::Machine& machine = execution::this_machine();
  const int caches = cpu::topology() ? std::max(1, hwloc_get_nbobjs_by_type(cpu::topology(), HWLOC_OBJ_L3CACHE)) : 1;
  const std::uint64_t cached = std::max(
      machine.layout().l3_bytes * static_cast<std::uint64_t>(std::min(caches, threads)), machine.layout().l2_bytes);
  const std::uint64_t wanted = std::max<std::uint64_t>(8 * cached, std::uint64_t{64} << 20);
  return static_cast<std::int64_t>(std::min(wanted, cpu::available_memory() / 4) / sizeof(std::uint32_t));
}

void measure_memory(int threads, Ceilings& ceilings) {
  // A pass covers one piece. The next pass over the same piece reads it from memory, because the caches have evicted
  // it.
  constexpr std::int64_t piece = std::int64_t{1} << 20;
  // Number of pieces per thread.
  const std::int64_t pieces = std::max<std::int64_t>(2, large_count(threads) / piece / threads);
  Buffer<std::uint32_t> array(pieces * piece * threads);
  // Uses huge pages, if available, so that page tables do not affect the measurement.
  madvise(array.data(), static_cast<std::size_t>(array.size()) * sizeof(std::uint32_t), MADV_HUGEPAGE);
  const auto own_piece = [&](int thread, std::int64_t pass) {
    return array.data() + (thread * pieces + pass % pieces) * piece;
  };
#pragma omp parallel num_threads(threads)
  std::fill_n(own_piece(omp_get_thread_num(), 0), pieces * piece, std::uint32_t{1});
  constexpr double seconds = 0.06;
  constexpr double bytes = static_cast<double>(piece) * sizeof(std::uint32_t);
  ceilings.read_bytes_per_second = rate(threads, seconds, [&](int thread, std::int64_t pass) {
    sink = HWY_DYNAMIC_DISPATCH(read_sum)(own_piece(thread, pass), piece);
    return bytes;
  });
  ceilings.copy_bytes_per_second = rate(threads, seconds, [&](int thread, std::int64_t pass) {
    HWY_DYNAMIC_DISPATCH(copy_past_caches)(own_piece(thread, 2 * pass), own_piece(thread, 2 * pass + 1), piece);
    return 2 * bytes;
  });
}

void measure_arithmetic(int threads, Ceilings& ceilings) {
  constexpr double seconds = 0.02;
  constexpr std::int64_t rounds = 100'000;  // one pass takes about 0.5 ms
  constexpr double chains = 12.0 * rounds;
  ceilings.fma_f32_per_second = rate(threads, seconds, [](int, std::int64_t) {
    sink = HWY_DYNAMIC_DISPATCH(multiply_add_f32)(rounds, 0.5F, 1.0F);
    return chains * static_cast<double>(HWY_DYNAMIC_DISPATCH(lanes_f32)());
  });
  ceilings.fma_f64_per_second = rate(threads, seconds, [](int, std::int64_t) {
    sink = HWY_DYNAMIC_DISPATCH(multiply_add_f64)(rounds, 0.5, 1.0);
    return chains * static_cast<double>(HWY_DYNAMIC_DISPATCH(lanes_f64)());
  });
  const auto measure = [&](double Ceilings::*one, auto work, double lanes) {
    ceilings.*one = rate(threads, seconds, [&](int, std::int64_t) {
      sink = static_cast<double>(work());
      return chains * lanes;
    });
  };
  const auto lanes_32 = static_cast<double>(HWY_DYNAMIC_DISPATCH(lanes_f32)());
  const auto lanes_64 = static_cast<double>(HWY_DYNAMIC_DISPATCH(lanes_f64)());
  measure(
      &Ceilings::add_min_i32_per_second, [] { return HWY_DYNAMIC_DISPATCH(add_min_i32)(rounds, 3, 1000); }, lanes_32);
  measure(
      &Ceilings::add_min_i64_per_second, [] { return HWY_DYNAMIC_DISPATCH(add_min_i64)(rounds, 3, 1000); }, lanes_64);
  measure(
      &Ceilings::add_min_f32_per_second, [] { return HWY_DYNAMIC_DISPATCH(add_min_f32)(rounds, 3, 1000); }, lanes_32);
  measure(
      &Ceilings::add_min_f64_per_second, [] { return HWY_DYNAMIC_DISPATCH(add_min_f64)(rounds, 3, 1000); }, lanes_64);
  // 8 KiB, which fits in the L1 cache and holds a multiple of eight vectors of any size
  constexpr std::int64_t operands = 4096;
  const Buffer<std::int16_t> shared(operands, 1);
  ceilings.madd_i16_per_second = rate(threads, seconds, [&](int, std::int64_t) {
    constexpr std::int64_t repeats = 5'000;
    sink = HWY_DYNAMIC_DISPATCH(multiply_add_i16)(repeats, shared.data(), operands);
    return static_cast<double>(operands * repeats);
  });
}

}  // namespace

Ceilings measure_ceilings(int threads, Pinning pinning) {
  // if there are more threads than cores, several threads share a core
  threads = std::min(threads, execution::this_machine().cores);
  static std::mutex mutex;
  static std::map<std::pair<int, Pinning>, Ceilings> known;
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = known.try_emplace({threads, pinning});
  if (is_new) {
    const cpu::PinnedTeam team(threads, pinning);
    measure_memory(threads, entry->second);
    measure_arithmetic(threads, entry->second);
  }
  return entry->second;
}

}  // namespace gradus::bench
#endif  // HWY_ONCE
