// Tests threads, the division of work among threads, pinning, and control groups.
#include <gtest/gtest.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <thread>

#include "core/column_ranges.hpp"
#include "cpu/column_ranges.hpp"
#include "cpu/control_group.hpp"
#include "cpu/threads.hpp"
#include "cpu/topology.hpp"
#include "gradus/array.hpp"
#include "gradus/error.hpp"

namespace gradus::cpu {
namespace {

TEST(ThreadsFor, LittleWorkStartsNone) {
  EXPECT_EQ(threads_for(0, 8), 1);
  EXPECT_EQ(threads_for(20'000, 8), 1);
  EXPECT_EQ(threads_for(40'000, 8), 2);
  EXPECT_EQ(threads_for(40'000, 1), 1);
  EXPECT_EQ(threads_for(std::int64_t{1} << 60, 8), 8);
}

TEST(Share, CoversEveryItemOnceInOrder) {
  for (const std::int64_t count : {0, 1, 2, 7, 8, 9, 63, 64, 65, 1000, 4097})
    for (const int parts : {1, 2, 3, 7, 16, 100})
      for (const std::int64_t granule : {1, 2, 8, 64, 5000}) {
        std::int64_t next = 0;
        std::int64_t least = count;
        std::int64_t most = 0;
        for (int part = 0; part < parts; ++part) {
          const Range range = share(count, part, parts, granule);
          ASSERT_EQ(range.begin, next) << count << ' ' << parts << ' ' << granule;
          ASSERT_GE(range.size(), 0);
          if (range.end != count) {
            ASSERT_EQ(range.end % granule, 0) << count << ' ' << parts << ' ' << granule;
          }
          next = range.end;
          least = std::min(least, range.size());
          most = std::max(most, range.size());
        }
        ASSERT_EQ(next, count) << parts << ' ' << granule;
        // Two shares differ by at most one granule. If the last granule is incomplete, they may differ by more, but by
        // less than two granules.
        ASSERT_LT(most - least, 2 * granule) << count << ' ' << parts << ' ' << granule;
      }
}

/// Checks columns of integers times a power of two, and columns of arbitrary bits. Limits are near the lowest bits.
template <class T>
void check_finest_bits(std::int64_t rows, std::int64_t columns, int exponent, std::mt19937_64& random) {
  Matrix<T> values(rows, columns);
  std::vector<int> lowest(static_cast<std::size_t>(columns), core::no_bits);
  for (std::int64_t column = 0; column < columns; ++column) {
    const int dropped = column % 3 == 0 ? 0 : static_cast<int>(random() % 60);
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto integer = static_cast<T>(static_cast<std::int64_t>(random()) >> dropped);
      values(row, column) = random() % 4 == 0 ? T{0} : std::ldexp(integer, exponent + static_cast<int>(random() % 5));
      int& least = lowest[static_cast<std::size_t>(column)];
      least = std::min(least, core::finest_bit(static_cast<double>(values(row, column))));
    }
  }
  for (const int above : {-1000, -2, -1, 0, 1, 2, 20, 50, 1000, core::no_bits}) {
    std::vector<int> enough;
    std::vector<int> truth;
    for (const int least : lowest) {
      enough.push_back(least + above);
      truth.push_back(std::min(least, enough.back()));
    }
    EXPECT_EQ(finest_bits<T>(values.view(), enough, above == 1 ? 2 : 1), truth)
        << rows << " x " << columns << ", 2^" << exponent << ", limits " << above << " above the lowest bits";
  }
}

TEST(FinestBits, AreTheLowestOfEachColumn) {
  std::mt19937_64 random(3);
  for (const std::int64_t columns : {1, 3, 17})
    for (const std::int64_t rows : {1, 50}) {
      for (const int exponent : {-190, -150, -40, 0, 60}) check_finest_bits<float>(rows, columns, exponent, random);
      for (const int exponent : {-1120, -1074, 0, 430}) check_finest_bits<double>(rows, columns, exponent, random);
    }
}

TEST(Share, DoesNotOverflow) {
  constexpr std::int64_t count = std::int64_t{1} << 62;
  EXPECT_EQ(share(count, 0, 3).begin, 0);
  EXPECT_EQ(share(count, 2, 3).end, count);
  EXPECT_EQ(share(count, 4095, 4096, 64).end, count);
}

TEST(ThreadCount, TakesTheRequestOrEveryCore) {
  Execution execution;
  EXPECT_EQ(thread_count(execution), usable_cores());
  execution.threads = 7;
  EXPECT_EQ(thread_count(execution), 7);
  execution.threads = 4096;
  EXPECT_EQ(thread_count(execution), 4096);
}

TEST(ThreadCount, RefusesImpossibleNumbers) {
  Execution execution;
  for (const int threads : {-1, 4097}) {
    execution.threads = threads;
    try {
      thread_count(execution);
      ADD_FAILURE() << threads << " threads were accepted";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(std::to_string(threads)), std::string::npos) << error.what();
    }
  }
}

TEST(RunningThreads, AreTheFourthWord) {
  struct Case {
    const char* loadavg;
    int running;
  };
  constexpr Case cases[] = {{"0.07 0.02 0.00 1/205 546\n", 1},
                            {"14.80 5.68 2.06 17/227 3818", 17},
                            {"0.07 0.02 0.00 12", 0},
                            {"0.07 0.02 0.00 x/205 546", 0},
                            {"0.07", 0},
                            {"", 0}};
  for (const Case& each : cases) EXPECT_EQ(running_threads(each.loadavg), each.running) << each.loadavg;
}

TEST(ThreadsWithProcessor, AreSomeOfThoseAskedFor) {
  EXPECT_EQ(threads_with_processor(1), 1);
  for (const int threads : {2, 3, usable_cores(), 1000}) {
    EXPECT_GE(threads_with_processor(threads), 1);
    EXPECT_LE(threads_with_processor(threads), threads);
  }
}

TEST(PinningOrder, IsAPermutationOfTheAllowedProcessors) {
  EXPECT_TRUE(pinning_order(Pinning::none).empty());
  ASSERT_FALSE(allowed_processors().empty());
  EXPECT_TRUE(std::ranges::is_sorted(allowed_processors()));
  for (const Pinning pinning : {Pinning::compact, Pinning::scatter}) {
    std::vector<int> order = pinning_order(pinning);
    std::ranges::sort(order);
    EXPECT_EQ(order, allowed_processors());
  }
}

/// Synthetic machines. A description has a list after `pu`, which gives the numbers of the CPUs.
class Synthetic {
 public:
  explicit Synthetic(const char* description) {
    hwloc_topology_init(&topology_);
    EXPECT_EQ(hwloc_topology_set_synthetic(topology_, description), 0);
    EXPECT_EQ(hwloc_topology_load(topology_), 0);
  }
  Synthetic(const Synthetic&) = delete;
  Synthetic& operator=(const Synthetic&) = delete;
  ~Synthetic() { hwloc_topology_destroy(topology_); }
  hwloc_topology_t get() const { return topology_; }

 private:
  hwloc_topology_t topology_ = nullptr;
};

using Order = std::vector<int>;

Order up_to(int count) {
  Order order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

TEST(PinningOrder, OnTwoPackagesWithTwoCachesAndTwoHardwareThreads) {
  const Synthetic machine("pack:2 [numa] l3:2 core:2 pu:2");
  EXPECT_EQ(core_count(machine.get(), up_to(16)), 8);
  EXPECT_EQ(compact_order(machine.get(), up_to(16)), up_to(16));
  EXPECT_EQ(scatter_order(machine.get(), up_to(16)), (Order{0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15}));
}

TEST(PinningOrder, FollowsTheTopologyAndNotTheNumbers) {
  // Two packages with two cores each, and two hardware threads per core. CPUs are numbered as Linux usually does: the
  // first hardware threads of all cores precede the second ones.
  const Synthetic machine("pack:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)");
  EXPECT_EQ(compact_order(machine.get(), up_to(8)), (Order{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(scatter_order(machine.get(), up_to(8)), (Order{0, 2, 1, 3, 4, 6, 5, 7}));
}

TEST(PinningOrder, KeepsToTheAllowedProcessors) {
  const Synthetic machine("pack:2 [numa] l3:2 core:2 pu:2");
  const Order allowed = {1, 2, 3, 8, 9, 15, 99};  // CPU 99 is not in the topology
  EXPECT_EQ(core_count(machine.get(), allowed), 5);
  EXPECT_EQ(compact_order(machine.get(), allowed), allowed);
  // The first package has the cores {1} and {2 3}. The second package has the cores {8 9} and {15}, which do not share
  // a cache.
  EXPECT_EQ(scatter_order(machine.get(), allowed), (Order{1, 8, 2, 15, 99, 9, 3}));
}

TEST(PinningOrder, WithoutATopologyEveryProcessorIsACore) {
  EXPECT_EQ(core_count(nullptr, {3, 5}), 2);
  EXPECT_EQ(compact_order(nullptr, {3, 5}), (Order{3, 5}));
  EXPECT_EQ(scatter_order(nullptr, {3, 5}), (Order{3, 5}));
}

TEST(PinningOrder, DoesNotShrinkInABoundThread) {
  const std::vector<int> before = pinning_order(Pinning::compact);
  const PinnedTeam team(1, Pinning::compact);
  EXPECT_EQ(pinning_order(Pinning::compact), before);
}

/// Returns the affinity of each thread that the runtime provides for a team of `threads`.
std::vector<std::vector<int>> team_affinity(int threads) {
  std::vector<std::vector<int>> affinity(static_cast<std::size_t>(threads));
#pragma omp parallel num_threads(threads)
  affinity[static_cast<std::size_t>(omp_get_thread_num())] = thread_affinity();
  std::erase(affinity, std::vector<int>{});
  return affinity;
}

void expect_pinned_and_restored(int threads, Pinning pinning) {
  const auto before = team_affinity(threads);
  {
    const PinnedTeam team(threads, pinning);
    const auto inside = team_affinity(threads);
    const std::vector<int> order = pinning_order(pinning);
    for (std::size_t number = 0; number < inside.size(); ++number) {
      if (pinning == Pinning::none) EXPECT_EQ(inside[number], before[number]);
      else EXPECT_EQ(inside[number], std::vector<int>{order[number % order.size()]}) << "thread " << number;
    }
  }
  EXPECT_EQ(team_affinity(threads), before);
}

TEST(SharedWork, HandsOutEverythingOnce) {
  for (const int parts : {1, 2, 5}) {
    for (const std::int64_t count : {0, 1, 7, 64, 1000}) {
      SharedWork work(count, parts, 8);
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
#pragma omp parallel for num_threads(3) schedule(static, 1)
      for (int part = 0; part < parts; ++part)
        for (Range piece = work.next(part); piece.size() > 0; piece = work.next(part))
          for (std::int64_t index = piece.begin; index < piece.end; ++index) ++seen[static_cast<std::size_t>(index)];
      for (const std::atomic<int>& times : seen) EXPECT_EQ(times.load(), 1);
      EXPECT_EQ(work.next(0).size(), 0);
    }
  }
}

TEST(SharedWork, BeginsWithThePartsOwnShare) {
  SharedWork work(100, 4, 5);
  for (int part = 0; part < 4; ++part) EXPECT_EQ(work.next(part).begin, share(100, part, 4, 5).begin);
}

TEST(PinnedTeam, BindsAndRestores) {
  for (const Pinning pinning : {Pinning::none, Pinning::compact, Pinning::scatter})
    for (const int threads : {1, 2, 3, 2 * static_cast<int>(allowed_processors().size()) + 1})
      expect_pinned_and_restored(threads, pinning);
}

TEST(PinnedTeam, WorksFromAnotherThread) {
  const std::vector<int> before = thread_affinity();
  std::thread([] { expect_pinned_and_restored(3, Pinning::scatter); }).join();
  EXPECT_EQ(thread_affinity(), before);
}

TEST(PinnedTeam, RestoresThreadsThatTheRuntimeReplaced) {
  const std::vector<std::vector<int>> before = team_affinity(4);
  {
    const PinnedTeam team(4, Pinning::compact);
    // GNU's OpenMP runtime ends two threads of the team here. It starts new threads for the next region. The new
    // threads are pinned like thread 0.
    team_affinity(2);
    team_affinity(4);
  }
  EXPECT_EQ(team_affinity(4), before);
}

/// A fake /proc and /sys.
class ControlGroupTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "control_group_" + std::to_string(getpid());
    std::filesystem::remove_all(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  ControlGroup read() const { return read_control_group(root_); }

  std::string root_;
};

TEST_F(ControlGroupTest, NothingThereIsNoLimit) {
  const ControlGroup group = read();
  EXPECT_EQ(group.processors, std::numeric_limits<double>::infinity());
  EXPECT_EQ(group.memory_limit, ControlGroup::no_limit);
  EXPECT_EQ(group.memory_left, ControlGroup::no_limit);
}

TEST_F(ControlGroupTest, Version2TakesTheLeastOfTheAncestors) {
  write("/proc/self/cgroup", "0::/work/job\n");
  write("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
  write("/sys/fs/cgroup/work/job/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/work/job/memory.max", "1000000\n");
  write("/sys/fs/cgroup/work/job/memory.current", "400000\n");
  write("/sys/fs/cgroup/work/job/memory.stat", "anon 300000\ninactive_file 100000\n");
  write("/sys/fs/cgroup/work/cpu.max", "250000 100000\n");
  write("/sys/fs/cgroup/work/memory.max", "2000000\n");
  write("/sys/fs/cgroup/work/memory.current", "1900000\n");
  const ControlGroup group = read();
  EXPECT_EQ(group.processors, 2.5);
  EXPECT_EQ(group.memory_limit, 1000000U);
  EXPECT_EQ(group.memory_left, 100000U);
}

TEST_F(ControlGroupTest, Version1) {
  write("/proc/self/cgroup", "4:memory:/box\n2:cpu,cpuacct:/box\n0::/\n");
  write("/proc/self/mountinfo",
        "32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
        "35 31 0:32 / /cg/memory rw - cgroup cgroup rw,memory\n");
  write("/cg/cpu/box/cpu.cfs_quota_us", "150000\n");
  write("/cg/cpu/box/cpu.cfs_period_us", "100000\n");
  write("/cg/cpu/cpu.cfs_quota_us", "-1\n");
  write("/cg/cpu/cpu.cfs_period_us", "100000\n");
  write("/cg/memory/box/memory.limit_in_bytes", "5000\n");
  write("/cg/memory/box/memory.usage_in_bytes", "6000\n");
  write("/cg/memory/memory.limit_in_bytes", "9223372036854771712\n");
  const ControlGroup group = read();
  EXPECT_EQ(group.processors, 1.5);
  EXPECT_EQ(group.memory_limit, 5000U);
  EXPECT_EQ(group.memory_left, 0U);
}

TEST_F(ControlGroupTest, AContainerSeesItsOwnPartOfTheHierarchy) {
  write("/proc/self/cgroup", "0::/docker/abc/inner\n");
  write("/proc/self/mountinfo", "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
  write("/sys/fs/cgroup/cpu.max", "300000 100000\n");
  write("/sys/fs/cgroup/inner/cpu.max", "400000 100000\n");
  EXPECT_EQ(read().processors, 3.0);
  write("/proc/self/cgroup", "0::/elsewhere\n");  // a path that is not in the mounted part
  EXPECT_EQ(read().processors, 3.0);
  write("/proc/self/cgroup", "0::/../../other\n");
  EXPECT_EQ(read().processors, 3.0);
}

TEST_F(ControlGroupTest, RubbishIsNoLimit) {
  write("/proc/self/cgroup", "rubbish\n0\n:\n\n0::\n0::x\n");
  write("/proc/self/mountinfo", "- cgroup2\n1 2 3 / /cg rw - cgroup2 cgroup2 rw\n");
  write("/cg/cpu.max", "-5 x\n");
  write("/cg/memory.max", "lots\n");
  const ControlGroup group = read();
  EXPECT_EQ(group.processors, std::numeric_limits<double>::infinity());
  EXPECT_EQ(group.memory_left, ControlGroup::no_limit);
}

TEST(PayingTeam, rests_after_a_pass_that_lasted_longer_than_its_work) {
  const auto wait = [](PayingTeam& team) {
    PayingTeam::Pass pass(team);
    const PayingTeam::Share share(pass);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // simulates a thread that has to wait for a core
  };
  PayingTeam team(4, true);
  EXPECT_EQ(team.threads(), 4);
  wait(team);
  for (int pass = 0; pass < 8; ++pass) {
    EXPECT_EQ(team.threads(), 1) << pass;
    wait(team);
  }
  EXPECT_EQ(team.threads(), 4);  // after eight passes on one thread, the next pass uses the whole team
  PayingTeam asked_for(4, false);
  wait(asked_for);
  EXPECT_EQ(asked_for.threads(), 4);
}

}  // namespace
}  // namespace gradus::cpu
