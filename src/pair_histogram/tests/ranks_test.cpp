// Tests that any number of ranks gives the bits of one process, and that a failure on one rank ends the job on all
// ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <mutex>
#include <utility>

#include "core/philox.hpp"
#include "execution/devices.hpp"
#include "pair_histogram/api/steps.hpp"
#include "pair_histogram/cases.hpp"
#include "pair_histogram/ranks.hpp"
#include "pair_histogram/tests/test_problems.hpp"
#include "tests/helpers.hpp"
#include "tests/thread_ranks.hpp"

namespace gradus {
namespace {

namespace room = pair_histogram_detail;
using tests::bins_of;
using tests::common_error;
using tests::contains;
using tests::same_bits;
using tests::ThreadRanks;

constexpr int numbers_of_ranks[] = {1, 2, 3, 5, 8};

template <class T>
struct Problem {
  std::string name;
  Matrix<T> points;
  Matrix<T> others;
  std::vector<T> weights;
  std::vector<T> other_weights;
  PairHistogramOptions options;

  PairHistogramMemory<T> memory() const {
    PairHistogramMemory<T> memory;
    if (others.columns() > 0) memory.others = others.view();
    memory.weights = weights;
    memory.other_weights = other_weights;
    return memory;
  }
};

/// Returns uniform points in [0, 10). The values are the same for both types.
template <class T>
Matrix<T> uniform(std::int64_t n, std::int64_t d, std::uint64_t seed = 5) {
  const Matrix<double> wide = tests::uniform(n, d, seed);
  Matrix<T> points(n, d);
  for (std::int64_t at = 0; at < n * d; ++at) points.data()[at] = static_cast<T>(wide.data()[at]);
  return points;
}

/// Returns weights of both signs. `spread` is the width of the range of their exponents.
template <class T>
std::vector<T> make_weights(std::int64_t n, int spread) {
  std::vector<T> weights;
  const core::Philox random(18);
  for (std::int64_t row = 0; row < n; ++row) {
    const auto index = static_cast<std::uint64_t>(row);
    weights.push_back(static_cast<T>(
        std::ldexp(random.uniform(index) - 0.5, spread == 0 ? 0 : static_cast<int>(random.bits(index) % spread))));
  }
  return weights;
}

/// Returns problems, most of which have more work items than there are ranks.
template <class T>
std::vector<Problem<T>> problems() {
  std::vector<Problem<T>> all;
  const auto add = [&all](const char* name, std::int64_t n, std::int64_t d) -> Problem<T>& {
    Problem<T>& problem = all.emplace_back();
    problem.name = name;
    problem.points = uniform<T>(n, d);
    problem.options.bins = {.bin_width = 0.5, .bins = 14};
    return problem;
  };
  add("plain", 4200, 3);
  add("1 column", 2600, 1);
  add("near", 2600, 3).options.bins = {.bin_width = 0.05, .bins = 15};
  add("few wide bins", 4500, 2).options.bins = {.bin_width = 4, .bins = 4};
  add("many bins", 2100, 3).options.bins = {.bin_width = 0.001, .bins = 20000};
  add("edges and a cutoff", 2100, 3).options.bins = {.edges = {0.25, 0.5, 1, 3, 7}, .cutoff = 5};
  add("box", 2600, 3).options.box = {16, 18, 20};
  Problem<T>& cell = add("triclinic cell", 2100, 3);
  cell.options.box = {20, 0, 0, 5, 22, 0, 3, 4, 24};
  cell.options.box_origin = {-1, 0, 0};
  add("others", 2600, 3).others = uniform<T>(1500, 3, 6);
  add("weights", 2100, 3).weights = make_weights<T>(2100, 0);
  add("weights of far magnitudes", 1100, 3).weights = make_weights<T>(1100, 100);
  Problem<T>& both = add("others and weights", 1300, 2);
  both.others = uniform<T>(1100, 2, 6);
  both.weights = make_weights<T>(1300, 0);
  both.other_weights = make_weights<T>(1100, 60);
  add("no points", 0, 3);
  add("one point", 1, 3);
  add("one pair", 2, 3);
  add("no others", 10, 3).others = Matrix<T>(0, 3);
  return all;
}

std::string difference(const PairHistogramResult& one, const PairHistogramResult& rank) {
  const auto bits = [](const auto& a, const auto& b) {
    return a.size() == b.size() && same_bits(a.data(), b.data(), std::ssize(a));
  };
  if (!bits(one.edges, rank.edges)) return "edges";
  if (!bits(one.counts, rank.counts)) return "counts";
  if (!bits(one.weighted, rank.weighted)) return "weighted";
  if (one.below != rank.below || one.beyond != rank.beyond || one.pairs != rank.pairs) return "pairs in no bin";
  if (one.report.variant != rank.report.variant) return "the variant";
  if (!same_bits(&one.report.rechecked, &rank.report.rechecked, 1)) return "the share of rechecked pairs";
  return "";
}

enum class Fault {
  none,
  own_sums,  ///< the words of other ranks are not added
  own_twice  ///< this rank's words are added twice, as if another rank had counted the same share
};

class Faulty final : public Communicator {
 public:
  Faulty(Communicator& right, Fault fault) : right_(right), fault_(fault) {}
  int rank() const override { return right_.rank(); }
  int size() const override { return right_.size(); }
  int neighbours() const override { return right_.neighbours(); }
  void sum(std::span<std::uint64_t> words) override {
    const std::vector<std::uint64_t> own(words.begin(), words.end());
    right_.sum(words);
    if (fault_ == Fault::own_sums) std::ranges::copy(own, words.begin());
    if (fault_ == Fault::own_twice && words.size() > 1)  // does not change the word that reports errors
      std::ranges::transform(words, own, words.begin(), std::plus<>());
  }
  void least(std::span<double> numbers) override { right_.least(numbers); }
  void greatest(std::span<double> numbers) override { right_.greatest(numbers); }
  void broadcast(std::span<std::byte> bytes, int root) override { right_.broadcast(bytes, root); }
  void gather(std::span<const std::byte> own, std::span<std::byte> all) override { right_.gather(own, all); }
  void give_up() noexcept override { right_.give_up(); }

 private:
  Communicator& right_;
  Fault fault_;
};

/// Returns the device on which the variant runs. The empty name stands for the best variant on the CPU.
Device device_of(std::string_view variant) {
  const bool on_gpu = !variant.empty() && core::find_variant(room::variants(), variant, room::Room::name).device_input;
  return on_gpu ? Device::gpu : Device::cpu;
}

/// Returns the execution of a rank. If there are three ranks, one of them has a different number of threads, which must
/// not affect the result.
Execution on_rank(Communicator& communicator, std::string_view variant) {
  Execution execution;
  execution.device = device_of(variant);
  execution.variant = variant;
  execution.threads = communicator.size() == 3 ? 1 + communicator.rank() % 2 : 1;
  execution.communicator = &communicator;
  return execution;
}

/// Calls check(communicator) on each rank. Returns what the calls returned, or the errors that they threw.
std::string said(int size, const std::function<std::string(Communicator&)>& check) {
  std::mutex mutex;
  std::string all;
  ThreadRanks ranks(size);
  const std::vector<std::exception_ptr> thrown = ranks.run([&](Communicator& communicator) {
    if (const std::string what = check(communicator); !what.empty()) {
      const std::lock_guard lock(mutex);
      all += what + " on rank " + std::to_string(communicator.rank()) + "; ";
    }
  });
  for (const std::exception_ptr& each : thrown) try {
      if (each) std::rethrow_exception(each);
    } catch (const std::exception& error) {
      all += std::string(error.what()) + "; ";
    }
  return all;
}

template <class T>
PairHistogramResult of_one(const Problem<T>& problem, std::string_view variant) {
  Execution execution;
  execution.device = device_of(variant);
  execution.variant = variant;
  execution.threads = 1;
  return pair_histogram(problem.points, problem.options, problem.memory(), execution);
}

template <class T>
std::string differs(const Problem<T>& problem, std::string_view variant, const PairHistogramResult& one, int size,
                    Fault fault = Fault::none) {
  return said(size, [&](Communicator& communicator) {
    Faulty faulty(communicator, fault);
    return difference(one, pair_histogram(problem.points, problem.options, problem.memory(), on_rank(faulty, variant)));
  });
}

std::vector<std::string_view> variants_on_ranks() {
  std::vector<std::string_view> names{""};  // the empty name selects the best variant
  for (const room::Variant& variant : room::variants())
    if (variant.on_ranks) names.push_back(variant.name);
  return names;
}

bool takes(std::string_view variant, const room::Shape& shape) {
  return variant.empty() || core::find_variant(room::variants(), variant, room::Room::name)
                                .supports(shape, execution::this_machine())
                                .supported;
}

template <class T>
room::Shape shape_of(const Problem<T>& problem) {
  return {.points = problem.points.rows(),
          .others = problem.others.rows(),
          .dimensions = problem.points.columns(),
          .cross = problem.others.columns() > 0,
          .periodic = !problem.options.box.empty(),
          .triclinic = problem.options.box.size() == 9,
          .weighted = !problem.weights.empty()};
}

template <class T>
class PairHistogramRanks : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(PairHistogramRanks, Elements);

TYPED_TEST(PairHistogramRanks, give_the_bits_of_one_process) {
  int run = 0;
  for (const Problem<TypeParam>& problem : problems<TypeParam>())
    for (const std::string_view variant : variants_on_ranks()) {
      if (!takes(variant, shape_of(problem))) continue;
      const PairHistogramResult one = of_one(problem, variant);
      for (const int size : numbers_of_ranks)
        EXPECT_EQ(differs(problem, variant, one, size), "")
            << problem.name << ", '" << variant << "', " << size << " ranks";
      ++run;
    }
  EXPECT_GE(run, 16 * 3);
}

// Uses all awkward cases. Most cases have at most one work item, which a single rank then counts.
TYPED_TEST(PairHistogramRanks, give_the_right_answer_in_every_case) {
  using T = TypeParam;
  int number = 0;
  for (const room::Case& each : room::cases()) {
    const room::PreparedCase<T> prepared(each.make(1));
    prepared.truth();
    for (const room::Variant& variant : room::variants()) {
      if (!variant.on_ranks || !variant.supports(prepared.shape(), execution::this_machine())) continue;
      const int size = numbers_of_ranks[number++ % 5];
      EXPECT_EQ(said(size,
                     [&](Communicator& communicator) {
                       return prepared.check(variant, on_rank(communicator, variant.name));
                     }),
                "")
          << each.name << ", '" << variant.name << "', " << size << " ranks";
    }
  }
  EXPECT_GE(number, 200);
}

// The comparison must detect a communicator that does not add, and one that adds twice.
TYPED_TEST(PairHistogramRanks, differ_where_the_sum_is_wrong) {
  for (const Problem<TypeParam>& problem : problems<TypeParam>())
    for (const std::string_view variant : variants_on_ranks()) {
      if (problem.points.rows() < 1000 || !takes(variant, shape_of(problem))) continue;
      const PairHistogramResult one = of_one(problem, variant);
      for (const Fault fault : {Fault::own_sums, Fault::own_twice})
        EXPECT_NE(differs(problem, variant, one, 2, fault), "") << problem.name << ", '" << variant << "'";
    }
}

TYPED_TEST(PairHistogramRanks, share_the_work) {
  const std::vector<Problem<TypeParam>> all = problems<TypeParam>();
  const Problem<TypeParam>& problem = all.front();
  for (const std::string_view variant : {"simd_brute_force", "simd_filter", "simd_cells", "simd_dual_tree"}) {
    constexpr int size = 3;
    std::vector<std::int64_t> done(size);
    ThreadRanks ranks(size);
    ranks.run([&](Communicator& communicator) {
      Execution execution = on_rank(communicator, variant);
      execution.progress = [&](const Progress& progress) {
        if (progress.phase == "count") done[static_cast<std::size_t>(communicator.rank())] = progress.total;
      };
      pair_histogram(problem.points, problem.options, execution);
    });
    const auto [least, most] = std::minmax_element(done.begin(), done.end());
    EXPECT_GE(*least, 2) << variant;
    EXPECT_LE(*most, *least + 1) << variant;
    EXPECT_LE(ranks.calls(), 8) << variant;  // the number of calls does not depend on the number of items
  }
}

// Calls on several GPUs do not compare the data of their ranks.
TYPED_TEST(PairHistogramRanks, share_the_data_of_one_call) {
  for (const Problem<TypeParam>& problem : problems<TypeParam>()) {
    const PairHistogramResult one = of_one(problem, "");
    ThreadRanks ranks(3);
    std::vector<PairHistogramResult> results(3);
    const auto thrown = ranks.run([&](Communicator& communicator) {
      Execution execution;
      execution.device = Device::cpu;
      execution.threads = 1;
      execution.communicator = &communicator;
      results[static_cast<std::size_t>(communicator.rank())] =
          room::count<TypeParam>(problem.points, problem.options, problem.memory(), execution, room::RankData::shared);
    });
    for (const std::exception_ptr& each : thrown) EXPECT_EQ(each, nullptr) << problem.name;
    for (const PairHistogramResult& result : results) EXPECT_EQ(room::compare(one, result), "") << problem.name;
  }
}

/// Returns problems for several GPUs: the problems for ranks, and further problems whose points are sorted, or whose
/// pairs are skipped or shared unevenly.
template <class T>
std::vector<Problem<T>> problems_for_gpus() {
  std::vector<Problem<T>> all = problems<T>();
  const auto add = [&all](const char* name, std::int64_t n, std::int64_t d) -> Problem<T>& {
    Problem<T>& problem = all.emplace_back();
    problem.name = name;
    problem.points = uniform<T>(n, d);
    problem.options.bins = {.bin_width = 0.05, .bins = 15};
    return problem;
  };
  add("groups out of reach", 20000, 3);
  add("an even number of groups", 128 * 160, 3).options.box = {10, 10, 10};
  Problem<T>& cell = add("groups in a triclinic cell", 20000, 3);
  cell.options.box = {20, 0, 0, 5, 22, 0, 3, 4, 24};
  cell.options.bins.bins = 30;
  add("groups of others", 300, 3).others = uniform<T>(20000, 3, 6);
  add("one group and many others", 100, 3).others = uniform<T>(5000, 3, 6);
  add("many points and one other", 5000, 3).others = uniform<T>(1, 3, 6);
  add("sorted and weighted", 17000, 2).weights = make_weights<T>(17000, 0);
  Problem<T>& lattice = add("a lattice, where most pairs are doubtful", 4096, 3);
  for (std::int64_t row = 0; row < 4096; ++row)
    for (int column = 0; column < 3; ++column) lattice.points(row, column) = static_cast<T>(row >> 4 * column & 15);
  lattice.options.bins = {.bin_width = 1, .bins = 20};
  return all;
}

// Each GPU gets all points. A single GPU plays the part of several GPUs.
TYPED_TEST(PairHistogramRanks, several_gpus_give_the_bits_of_one) {
  if (const std::string reason = execution::why_no_gpu(execution::this_machine()); !reason.empty())
    return tests::skip_for_want_of_gpu(reason);
  int runs = 0;
  for (const Problem<TypeParam>& problem : problems_for_gpus<TypeParam>())
    for (const room::Variant& variant : room::variants()) {
      if (!variant.device_input || !variant.on_ranks || !takes(variant.name, shape_of(problem))) continue;
      const PairHistogramResult one = of_one(problem, variant.name);
      EXPECT_EQ(room::compare(one, of_one(problem, "")), "") << problem.name;
      for (const int number : {2, 3, 5}) {
        Execution execution;
        execution.variant = variant.name;
        execution.gpus.assign(static_cast<std::size_t>(number), 0);
        const PairHistogramResult several =
            pair_histogram(problem.points, problem.options, problem.memory(), execution);
        EXPECT_EQ(difference(one, several), "") << problem.name << ", '" << variant.name << "', " << number << " GPUs";
        EXPECT_EQ(several.report.device, std::to_string(number) + " x " + one.report.device);
        ++runs;
      }
    }
  EXPECT_GE(runs, 24 * 3);
}

TEST(PairHistogramGpus, refuse_what_one_gpu_refuses) {
  const Matrix<double> points = uniform<double>(300, 3);
  PairHistogramOptions options{.bins = {.bin_width = 0.5, .bins = 10}};
  Execution execution;
  execution.gpus = {0, 0};
  execution.device = Device::cpu;
  EXPECT_TRUE(contains(tests::error_of<UsageError>([&] { pair_histogram(points, options, execution); }),
                       "gpus: GPUs were asked for, and the CPU too"));
  execution.gpus = {0};
  EXPECT_TRUE(contains(tests::error_of<UsageError>([&] { pair_histogram(points, options, execution); }),
                       "gpus: GPUs were asked for, and the CPU too"));
  execution.device = Device::automatic;
  execution.gpus = {0, 1023};
  EXPECT_TRUE(contains(tests::error_of<UnsupportedError>([&] { pair_histogram(points, options, execution); }), "GPU"));
  if (const std::string reason = execution::why_no_gpu(execution::this_machine()); !reason.empty())
    return tests::skip_for_want_of_gpu(reason);
  execution.gpus = {0, 0};
  execution.variant = "cuda_tiled";
  EXPECT_TRUE(contains(tests::error_of<UnsupportedError>([&] { pair_histogram(points, options, execution); }),
                       "pair_histogram variant 'cuda_tiled' does not run on several ranks"));
  execution.variant = {};
  options.bins.bins = 0;
  const std::string bins = tests::error_of<UsageError>([&] { pair_histogram(points, options, execution); });
  EXPECT_TRUE(contains(bins, "bins") && !contains(bins, "rank")) << bins;
  options.bins.bins = 10;
  Matrix<double> broken = uniform<double>(300, 3);
  broken(7, 1) = std::numeric_limits<double>::quiet_NaN();
  const std::string nan = tests::error_of<InputError>([&] { pair_histogram(broken, options, execution); });
  EXPECT_TRUE(contains(nan, "the value in row 7, column 1") && !contains(nan, "rank")) << nan;
  EXPECT_NO_THROW(pair_histogram(points, options, execution));  // after an error, the GPUs can be used again
  std::stop_source source;
  source.request_stop();
  execution.stop = source.get_token();
  EXPECT_TRUE(contains(tests::error_of<InterruptedError>([&] { pair_histogram(points, options, execution); }), "stop"));
}

TEST(PairHistogramGpus, memory_is_for_all_of_them) {
  if (const std::string reason = execution::why_no_gpu(execution::this_machine()); !reason.empty())
    return tests::skip_for_want_of_gpu(reason);
  const PairHistogramShape shape{.points = 100000};
  const PairHistogramOptions options{.bins = {.bin_width = 0.5, .bins = 10}};
  Execution execution;
  execution.device = Device::gpu;
  const MemoryEstimate one = pair_histogram_memory(shape, options, execution);
  execution.gpus = {0, 0, 0};
  const MemoryEstimate three = pair_histogram_memory(shape, options, execution);
  EXPECT_EQ(three.host, 3 * one.host);
  EXPECT_EQ(three.device, one.device);
}

TEST(PairHistogramRanksSums, carry_from_half_word_to_half_word) {
  const core::Philox random(3);
  std::uint64_t index = 0;
  for (const int words : {0, 2, 3, 7}) {
    constexpr std::int64_t slots = 5;
    const auto length = static_cast<std::size_t>(room::words_on_ranks(slots, words));
    room::Histogram expected(slots, words);
    std::vector<std::uint64_t> sums(length);
    for (int rank = 0; rank < 9; ++rank) {
      room::Histogram own(slots, words);
      for (std::uint64_t& count : own.counts) count = random.bits(index++);
      // A carry moves through every word whose bits are all ones.
      for (std::uint64_t& word : own.weights) word = rank % 3 == 0 ? ~std::uint64_t{0} : random.bits(index++);
      own.rechecked = random.below(index++, 100);
      expected.add(own);
      std::vector<std::uint64_t> put(length);
      room::put(own, put);
      std::ranges::transform(sums, put, sums.begin(), std::plus<>());
    }
    const room::Histogram taken = room::take(sums, slots, words);
    EXPECT_EQ(taken.counts, expected.counts) << words;
    EXPECT_EQ(taken.weights, expected.weights) << words;
    EXPECT_EQ(taken.rechecked, expected.rechecked) << words;
  }
}

class PairHistogramRanksErrors : public testing::Test {
 protected:
  struct Call {
    Problem<double> problem;
    Execution execution;
  };
  /// Returns the error that all four ranks have in common. change() may modify the call of some ranks.
  template <class E>
  static std::string error(const std::function<void(int rank, Call&)>& change) {
    return common_error<E>(4, [&](Communicator& communicator) {
      Call call;
      call.problem.points = uniform<double>(300, 3);
      call.problem.options.bins = {.bin_width = 0.5, .bins = 10};
      call.problem.options.box = {30, 30, 30};
      call.execution.threads = 1;
      call.execution.communicator = &communicator;
      change(communicator.rank(), call);
      pair_histogram(call.problem.points, call.problem.options, call.problem.memory(), call.execution);
    });
  }
};

TEST_F(PairHistogramRanksErrors, end_where_the_calls_differ) {
  const auto differ = [](int other, const std::function<void(Call&)>& change) {
    return error<UsageError>([&](int rank, Call& call) {
      if (rank == other) change(call);
    });
  };
  const std::pair<const char*, std::function<void(Call&)>> changes[] = {
      {"'bin_width=0.25' here, but 'bin_width=0.5' on rank 0",
       [](Call& call) { call.problem.options.bins.bin_width = 0.25; }},
      {"'bins=11' here, but 'bins=10' on rank 0", [](Call& call) { ++call.problem.options.bins.bins; }},
      {"'edges=0,1' here, but 'edges=none' on rank 0",
       [](Call& call) {
         call.problem.options.bins.edges = {0, 1};
       }},
      {"'cutoff=2' here, but 'cutoff=none'", [](Call& call) { call.problem.options.bins.cutoff = 2; }},
      {"'box=30,30,31' here, but 'box=30,30,30'", [](Call& call) { call.problem.options.box[2] = 31; }},
      {"'box_origin=0,0,0' here, but 'box_origin=none'",
       [](Call& call) {
         call.problem.options.box_origin = {0, 0, 0};
       }},
      {"'points=299 x 3 with", [](Call& call) { call.problem.points = uniform<double>(299, 3); }},
      {"'points=300 x 3 with the hash ",
       [](Call& call) { call.problem.points(299, 2) = std::nextafter(call.problem.points(299, 2), 0); }},
      {"'points=300 x 3 with the hash ",
       [](Call& call) {
         std::swap_ranges(call.problem.points.row(0), call.problem.points.row(1), call.problem.points.row(7));
       }},
      {"'points=300 x 3 with the hash ",  // ranks compare their arguments before they check for NaN
       [](Call& call) { call.problem.points(7, 1) = std::numeric_limits<double>::quiet_NaN(); }},
      {"'others=2 x 3 with", [](Call& call) { call.problem.others = uniform<double>(2, 3); }},
      {"'weights=300 x 1 with", [](Call& call) { call.problem.weights = make_weights<double>(300, 0); }},
      {"'variant=simd_cells' here, but 'variant=the best'", [](Call& call) { call.execution.variant = "simd-cells"; }}};
  for (const auto& [says, change] : changes)
    for (const int rank : {1, 3}) {
      const std::string message = differ(rank, change);
      EXPECT_TRUE(contains(message, "rank " + std::to_string(rank) + " of 4: ")) << message;
      EXPECT_TRUE(contains(message, says)) << message;
    }
  const std::string element = common_error<UsageError>(2, [](Communicator& communicator) {
    Execution execution;
    execution.communicator = &communicator;
    const PairHistogramOptions options{.bins = {.bin_width = 1, .bins = 3}};
    if (communicator.rank() == 0) pair_histogram(uniform<float>(20, 2), options, execution);
    else pair_histogram(uniform<double>(20, 2), options, execution);
  });
  EXPECT_TRUE(contains(element, "'pair_histogram of f64' here, but 'pair_histogram of f32'")) << element;
}

TEST_F(PairHistogramRanksErrors, are_those_of_one_process) {
  EXPECT_TRUE(contains(
      error<InputError>([](int, Call& call) { call.problem.points(7, 1) = std::numeric_limits<double>::quiet_NaN(); }),
      "rank 0 of 4: points: the value in row 7, column 1"));
  EXPECT_TRUE(
      contains(error<InputError>([](int, Call& call) { call.problem.points(9, 0) = 40; }), "outside the periodic box"));
  EXPECT_TRUE(contains(error<UsageError>([](int, Call& call) { call.problem.options.bins.bins = 0; }), "bins"));
  EXPECT_TRUE(contains(error<UsageError>([](int, Call& call) {
                         call.problem.options.box = {30, 30, 8};
                       }),
                       "past half of the box's least length"));
  EXPECT_TRUE(contains(error<InputError>([](int, Call& call) {
                         call.problem.weights = {1, 2};
                       }),
                       "there are 2 weights for 300 points"));
  EXPECT_TRUE(contains(error<OutOfMemoryError>([](int rank, Call& call) {
                         if (rank == 2) call.execution.memory_limit = 1000;
                       }),
                       "rank 2 of 4: the job needs"));
  EXPECT_TRUE(contains(error<UsageError>([](int rank, Call& call) { call.execution.threads = rank == 1 ? -1 : 1; }),
                       "rank 1 of 4"));
}

TEST_F(PairHistogramRanksErrors, name_the_variants_that_run) {
  for (const char* const variant : {"sequential", "openmp_shared", "openmp_privatized", "cuda_tiled"}) {
    const std::string teaching = error<UnsupportedError>([&](int, Call& call) { call.execution.variant = variant; });
    EXPECT_TRUE(contains(teaching, "'" + std::string(variant) + "' does not run on several ranks")) << teaching;
    EXPECT_TRUE(contains(teaching, "'simd_brute_force', 'simd_filter', 'simd_cells', 'simd_dual_tree', 'cuda_filter'"))
        << teaching;
  }
  const std::string pinned =
      error<UnsupportedError>([](int, Call& call) { call.execution.pinning = Pinning::compact; });
  EXPECT_TRUE(contains(pinned, "--bind-to")) << pinned;
}

// A rank on the CPU and a rank on a GPU would divide the pairs differently.
TEST_F(PairHistogramRanksErrors, name_the_rank_with_another_device) {
  const auto on_gpu = [](int rank, Call& call) {
    if (rank == 1) call.execution.device = Device::gpu;
  };
  if (execution::why_no_gpu(execution::this_machine()).empty()) {
    const std::string mixed = error<UsageError>(on_gpu);
    EXPECT_TRUE(contains(mixed, "rank 1 of 4: 'device=a GPU of compute capability ")) << mixed;
    EXPECT_TRUE(contains(mixed, "' here, but 'device=the CPU' on rank 0")) << mixed;
  } else {
    const std::string none = error<UnsupportedError>(on_gpu);
    EXPECT_TRUE(contains(none, "rank 1 of 4: no GPU can be used")) << none;
  }
}

TEST_F(PairHistogramRanksErrors, a_stop_request_on_one_rank_ends_all) {
  const std::string stopped = error<InterruptedError>([](int rank, Call& call) {
    std::stop_source source;
    call.execution.stop = source.get_token();
    if (rank == 1) source.request_stop();
  });
  EXPECT_TRUE(contains(stopped, "rank 1 of 4: stopped")) << stopped;
}

TEST_F(PairHistogramRanksErrors, what_a_callback_throws_ends_all) {
  const std::string thrown = error<Error>([](int rank, Call& call) {
    if (rank == 2) call.execution.progress = [](const Progress&) { throw std::runtime_error("a caller's own"); };
  });
  EXPECT_EQ(thrown, "rank 2 of 4: a caller's own");
}

// The error must arrive soon even if the other ranks have much left to count.
template <class E>
std::string ends_early(const std::function<void(std::stop_source&)>& on_rank_one) {
  std::int64_t done[3] = {};
  std::int64_t all[3] = {};
  const Matrix<double> points = uniform<double>(200000, 3);
  const std::string thrown = common_error<E>(3, [&](Communicator& communicator) {
    const int rank = communicator.rank();
    Execution execution = on_rank(communicator, "simd_brute_force");
    std::stop_source source;
    execution.stop = source.get_token();
    execution.progress = [&, rank](const Progress& progress) {
      done[rank] = progress.done;
      all[rank] = progress.total;
      if (rank == 1) on_rank_one(source);
    };
    pair_histogram(points, {.bins = {.bin_width = 0.1, .bins = 100}}, execution);
  });
  for (const int rank : {0, 1, 2}) {
    EXPECT_GT(done[rank], 0);
    EXPECT_LT(done[rank], all[rank]);
  }
  return thrown;
}

TEST_F(PairHistogramRanksErrors, nobody_counts_on_when_one_has_ended) {
  EXPECT_EQ(ends_early<Error>([](std::stop_source&) { throw std::runtime_error("a caller's own"); }),
            "rank 1 of 3: a caller's own");
  const std::string stopped = ends_early<InterruptedError>([](std::stop_source& source) { source.request_stop(); });
  EXPECT_TRUE(contains(stopped, "rank 1 of 3: stopped after ")) << stopped;
}

TEST(PairHistogramRanksMemory, counts_what_travels) {
  ThreadRanks ranks(1);
  ranks.run([](Communicator& communicator) {
    Execution execution;
    execution.device = Device::cpu;
    execution.threads = 1;
    const PairHistogramShape shape{.points = 1000, .weighted = true};
    const PairHistogramOptions options{.bins = {.bin_width = 0.001, .bins = 10000}};
    const std::uint64_t alone = pair_histogram_memory(shape, options, execution).host;
    execution.communicator = &communicator;
    EXPECT_GE(pair_histogram_memory(shape, options, execution).host, alone + 10000 * 2 * 8 * 5);
  });
}

}  // namespace
}  // namespace gradus
