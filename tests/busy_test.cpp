// Tests small jobs while other programs keep all CPUs busy. The jobs must not wait for threads that get no CPU. The
// test runs alone.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/phases.hpp"
#include "cpu/threads.hpp"
#include "gradus/kmeans.hpp"
#include "gradus/kmeans_criteria.hpp"
#include "gradus/life.hpp"
#include "gradus/matmul.hpp"
#include "gradus/pair_histogram.hpp"
#include "gradus/shortest_paths.hpp"

namespace gradus {
namespace {

/// Runs one process per CPU. Each process computes endlessly unless it is paused.
class BusyProcesses {
 public:
  BusyProcesses() {
    for (int process = 0; process < cpu::usable_cores(); ++process) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile unsigned int count = 0;;) count = count + 1;
      }
      if (child > 0) children_.push_back(child);
    }
    pause();
  }
  BusyProcesses(const BusyProcesses&) = delete;
  BusyProcesses& operator=(const BusyProcesses&) = delete;
  ~BusyProcesses() {
    signal(SIGKILL);
    for (const pid_t child : children_) ::waitpid(child, nullptr, 0);
  }
  void pause() {
    signal(SIGSTOP);
    running_ = false;
  }
  void resume() {
    signal(SIGCONT);
    running_ = true;
  }
  bool running() const { return running_; }

 private:
  void signal(int number) const {
    for (const pid_t child : children_) ::kill(child, number);
    ::usleep(30'000);  // waits until the library, which caches the load for at most 20 ms, reads it again
  }
  std::vector<pid_t> children_;
  bool running_ = false;
};

double median_seconds(const std::function<void()>& call) {
  std::array<double, 9> seconds{};
  for (double& each : seconds) {
    const auto start = core::Clock::now();
    call();
    each = core::seconds_since(start);
  }
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

using Call = std::function<void(const Execution&)>;

/// The time of a call while other programs run, divided by three other times.
struct Slowdown {
  double of_quiet;             ///< divided by the time of the same call while the other programs are paused
  double of_one_thread;        ///< divided by the time on one thread while the other programs run
  double of_one_quiet_thread;  ///< divided by the time on one thread while the other programs are paused
};

double median(std::array<double, 5> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Measures over several rounds and returns the median of each ratio.
Slowdown slowdown(BusyProcesses& others, const Call& call) {
  const Execution chosen{.device = Device::cpu};
  const Execution one_thread{.device = Device::cpu, .threads = 1};
  call(chosen);
  std::array<double, 5> of_quiet{};
  std::array<double, 5> of_one_thread{};
  std::array<double, 5> of_one_quiet_thread{};
  for (std::size_t turn = 0; turn < of_quiet.size(); ++turn) {
    const double quiet = median_seconds([&] { call(chosen); });
    const double quiet_alone = median_seconds([&] { call(one_thread); });
    others.resume();
    const double busy = median_seconds([&] { call(chosen); });
    const double alone = median_seconds([&] { call(one_thread); });
    others.pause();
    of_quiet[turn] = busy / quiet;
    of_one_thread[turn] = busy / alone;
    of_one_quiet_thread[turn] = busy / quiet_alone;
  }
  return {median(of_quiet), median(of_one_thread), median(of_one_quiet_thread)};
}

constexpr double most_of_quiet = 3;
constexpr double most_of_one_thread = 2;
// More than 2, because another program on each CPU takes half of the CPU's time.
constexpr double most_of_one_quiet_thread = 2.5;

/// Returns true if the call got its share of the CPUs. A thread that runs longer than a time slice gets at most half of
/// its CPU.
bool is_share(const Slowdown& times) {
  return times.of_one_thread <= most_of_one_thread &&
         (times.of_quiet <= most_of_quiet || times.of_one_quiet_thread <= most_of_one_quiet_thread);
}

/// Measures up to three times, until the call gets its share, and returns the last measurement. Noise can only slow
/// calls down.
Slowdown least_slowdown(BusyProcesses& others, const Call& call) {
  Slowdown times = slowdown(others, call);
  for (int more = 2; more > 0 && !is_share(times); --more) times = slowdown(others, call);
  return times;
}

template <class T>
Matrix<T> matrix_of(std::int64_t rows, std::int64_t columns) {
  Matrix<T> matrix(rows, columns);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      matrix(row, column) = static_cast<T>((row * 7919 + column * 104729 + row % 13 * column) % 9973) / T(100);
  return matrix;
}

struct SmallCall {
  const char* name;
  Call run;
};

std::vector<SmallCall> small_calls() {
  static const Matrix<float> flowers = matrix_of<float>(150, 4);
  static const Matrix<float> table = matrix_of<float>(9000, 60);
  static const Matrix<float> centroids = matrix_of<float>(20, 60);
  static const Matrix<float> atoms = matrix_of<float>(1000, 3);
  static const Matrix<float> many_atoms = matrix_of<float>(6000, 3);
  static const Matrix<float> towns = matrix_of<float>(60, 60);
  static const Matrix<float> cities = matrix_of<float>(300, 300);
  static const std::vector<std::int32_t> labels = [] {
    std::vector<std::int32_t> all(9000);
    for (std::size_t row = 0; row < all.size(); ++row) all[row] = static_cast<std::int32_t>(row % 7);
    return all;
  }();
  static const LifeGrid soup = [] {
    LifeGrid grid(300, 320);
    for (std::int64_t y = 0; y < 300; ++y)
      for (std::int64_t word = 0; word < 5; ++word)
        grid.span().row(y)[word] = 0x9E3779B97F4A7C15U * static_cast<std::uint64_t>(y * 5 + word + 1);
    return grid;
  }();
  const auto counts = [](const Matrix<float>& points, const Execution& execution) {
    PairHistogramOptions options;
    options.bins.bin_width = 1;
    options.bins.bins = 20;
    pair_histogram(points, options, execution);
  };
  const auto generations = [](LifeBoundary boundary, const Execution& execution) {
    LifeOptions options;
    options.boundary = boundary;
    options.generations = 300;
    life(soup.view(), options, {}, execution);
  };
  return {
      {"kmeans of 150 x 4", [=](const Execution& execution) { kmeans(flowers, {.clusters = 3}, execution); }},
      {"kmeans of 9000 x 60",
       [=](const Execution& execution) { kmeans(table, {.clusters = 8, .max_iterations = 10}, execution); }},
      {"kmeans_predict",
       [=](const Execution& execution) { kmeans_predict(centroids, table, KMeansMetric::euclidean, execution); }},
      {"kmeans_transform",
       [=](const Execution& execution) { kmeans_transform(centroids, table, KMeansMetric::euclidean, execution); }},
      {"kmeans_criteria",
       [=](const Execution& execution) {
         const std::array<VectorView<const std::int32_t>, 1> all{VectorView<const std::int32_t>(labels.data(), 9000)};
         kmeans_criteria(table, all, {.silhouette_points = 500}, execution);
       }},
      {"pair_histogram of 1000", [=](const Execution& execution) { counts(atoms, execution); }},
      {"pair_histogram of 6000", [=](const Execution& execution) { counts(many_atoms, execution); }},
      {"shortest_paths of 60", [=](const Execution& execution) { shortest_paths(towns, {}, execution); }},
      {"shortest_paths of 300", [=](const Execution& execution) { shortest_paths(cities, {}, execution); }},
      {"shortest_paths of chosen vertices",
       [=](const Execution& execution) {
         shortest_paths(cities, {.sources = {0, 7, 9}}, execution);
       }},
      {"matmul of 60", [=](const Execution& execution) { matmul(towns, towns, {}, execution); }},
      {"matmul of 300", [=](const Execution& execution) { matmul(cities, cities, {}, execution); }},
      {"life on a torus", [=](const Execution& execution) { generations(LifeBoundary::torus, execution); }},
      {"life on a plane", [=](const Execution& execution) { generations(LifeBoundary::plane, execution); }},
  };
}

TEST(BusyProcessors, SlowNoSmallCallDownByMoreThanTheirShare) {
  BusyProcesses others;
  for (const SmallCall& call : small_calls()) {
    const Slowdown times = least_slowdown(others, call.run);
    std::printf(
        "%-35s next to other programs %5.2f times as long as without, %5.2f as one thread without, %5.2f as with\n",
        call.name, times.of_quiet, times.of_one_quiet_thread, times.of_one_thread);
    EXPECT_TRUE(is_share(times)) << call.name;
  }
}

TEST(BusyProcessors, AreNoticedByThisTest) {
  BusyProcesses others;
  // Imitates a call that works for a millisecond. If other programs run and the call has several threads, it waits in
  // addition, like threads at a barrier. This test must notice such a call.
  const Slowdown times = least_slowdown(others, [&](const Execution& execution) {
    const auto start = core::Clock::now();
    while (core::seconds_since(start) < 1e-3) {
    }
    if (execution.threads != 1 && others.running()) ::usleep(30'000);
  });
  EXPECT_FALSE(is_share(times));
  EXPECT_GT(times.of_quiet, most_of_quiet);
  EXPECT_GT(times.of_one_thread, most_of_one_thread);
}

}  // namespace
}  // namespace gradus
