// Jobs in forked children. A single test, for what a process did before a fork is what it is about.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "kmeans/tests/job.hpp"
#include "pair_histogram/tests/job.hpp"

namespace gradus {
namespace {

/// What a child made of `job`: "", the message of its UnsupportedError, or how else it ended.
std::string in_child(const std::function<bool()>& job) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(60);
    int status = 1;
    std::string message;
    try {
      status = job() ? 0 : 1;
    } catch (const UnsupportedError& error) {
      message = error.what();
      status = 4;
    } catch (const std::exception& error) {
      message = error.what();
    }
    const bool told = ::write(ends[1], message.data(), message.size()) == static_cast<ssize_t>(message.size());
    ::_exit(told ? status : 2);
  }
  ::close(ends[1]);
  std::string message;
  char buffer[1024];
  for (ssize_t size = 0; (size = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    message.append(buffer, static_cast<std::size_t>(size));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGALRM ? "it hung" : "it was killed";
  if (WEXITSTATUS(status) == 0) return "";
  return WEXITSTATUS(status) == 4 ? message : "it failed: " + message;
}

std::vector<float> some_points() {
  std::vector<float> points;
  for (int value = 0; value < 6000; ++value) points.push_back(static_cast<float>((value * 7919 + 13) % 1000) / 8);
  return points;
}

TEST(Fork, AChildSaysThatItCannotRunAJobOfSeveralThreads) {
  const std::vector<float> values = some_points();
  const MatrixView<const float> points(values.data(), 2000, 3);
  Execution execution;
  execution.device = Device::cpu;
  const auto fit = [&](int threads, const char* variant = "") {
    KMeansJob<float> options;
    options.clusters = 5;
    execution.threads = threads;
    execution.variant = variant;
    return kmeans(points, options, execution);
  };
  const auto count = [&](int threads) {
    PairHistogramJob<float> options;
    options.bins.bin_width = 1;
    options.bins.bins = 50;
    execution.threads = threads;
    execution.variant = "";
    return pair_histogram(points, options, execution);
  };

  // Before the first job of several threads, and after one of a single thread, every child can do all.
  const double inertia = fit(1).inertia;
  const std::vector<std::uint64_t> counts = count(1).counts;
  const auto fits = [&](int threads) { return fit(threads).inertia == inertia; };
  const auto counts_all = [&](int threads) { return count(threads).counts == counts; };
  EXPECT_EQ(in_child([&] { return fits(2) && counts_all(2); }), "");
  KMeansJob<float> options;
  options.clusters = 5;
  execution.threads = 2;
  EXPECT_GT(kmeans_memory({2000, 3}, options, execution).host, 0u);
  EXPECT_EQ(in_child([&] { return counts_all(3) && fits(3); }), "");

  EXPECT_TRUE(fits(2));
  EXPECT_TRUE(fit(2, "tbb_flow_graph").inertia > 0);
  const std::vector<std::function<bool()>> jobs{
      [&] { return fits(2); },
      [&] { return counts_all(3); },
      [&] { return fit(2, "tbb_flow_graph").inertia > 0; },
      [&] { return fit(2, "openmp_reduce").inertia > 0; },
      [&] {
        execution.threads = 2;
        return kmeans_predict(points.slice(0, 5), points, KMeansMetric::euclidean, execution).inertia > 0;
      },
      [&] {
        execution.threads = 2;
        return kmeans_transform(points.slice(0, 5), points, KMeansMetric::euclidean, execution).rows() == 2000;
      }};
  for (const auto& job : jobs) {
    const std::string message = in_child(job);
    EXPECT_NE(message.find("forked"), std::string::npos) << message;
    EXPECT_NE(message.find("'spawn'"), std::string::npos) << message;
  }
  // A child of the child is one, too.
  EXPECT_EQ(in_child([&] { return in_child([&] { return fits(2); }).find("'spawn'") != std::string::npos; }), "");
  // One thread needs none that are gone.
  EXPECT_EQ(in_child([&] { return fits(1) && counts_all(1); }), "");
  EXPECT_EQ(in_child([&] { return fit(1, "tbb_flow_graph").inertia > 0; }), "");
  for (const char* variant : {"openmp_shared", "openmp_critical", "openmp_reduce", "openmp_reduce_first_touch",
                              "simd_float_sums", "simd_small_dim", "simd_grid", "simd_large_dim", "simd_bounds"})
    EXPECT_EQ(in_child([&] { return fit(1, variant).inertia > 0; }), "") << variant;
  // And the parent goes on.
  EXPECT_TRUE(fits(2) && counts_all(2));
}

}  // namespace
}  // namespace gradus
