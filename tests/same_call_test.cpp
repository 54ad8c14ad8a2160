// Tests ranks that make different calls. No rank may wait forever, and all ranks must receive an error that names these
// calls.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gradus/kmeans.hpp"
#include "gradus/pair_histogram.hpp"
#include "tests/helpers.hpp"
#include "tests/thread_ranks.hpp"

namespace gradus {
namespace {

struct Call {
  std::string name;
  std::function<void(const Execution&)> make;
};

/// Adds to `calls` every call that several ranks can make together, for one element type.
template <class T>
void add_calls(const std::string& type, std::vector<Call>& calls) {
  static const Matrix<T> points = [] {
    Matrix<T> some(40, 3);
    for (std::int64_t index = 0; index < 120; ++index) some.data()[index] = static_cast<T>((index * 37) % 101);
    return some;
  }();
  static const MatrixView<const T> centroids = points.view().slice(0, 4);
  const auto add = [&](const std::string& name, const std::function<void(const Execution&)>& make) {
    calls.push_back({name + " of " + type, make});
  };
  add("kmeans", [](const Execution& execution) { kmeans(points, {.clusters = 4}, execution); });
  add("kmeans_initial_centroids",
      [](const Execution& execution) { kmeans_initial_centroids(points, {.clusters = 4}, execution); });
  add("kmeans_predict",
      [](const Execution& execution) { kmeans_predict(centroids, points, KMeansMetric::euclidean, execution); });
  add("kmeans_transform",
      [](const Execution& execution) { kmeans_transform(centroids, points, KMeansMetric::euclidean, execution); });
  add("pair_histogram",
      [](const Execution& execution) { pair_histogram(points, {.bins = {.bin_width = 5, .bins = 10}}, execution); });
}

std::vector<Call> all_calls() {
  std::vector<Call> calls;
  add_calls<float>("f32", calls);
  add_calls<double>("f64", calls);
  return calls;
}

Execution on(Communicator& communicator) {
  Execution execution;
  execution.threads = 1;
  execution.communicator = &communicator;
  return execution;
}

TEST(SameCall, EveryPairOfCallsEndsOnAllRanks) {
  const std::vector<Call> calls = all_calls();
  for (const Call& first : calls)
    for (const Call& other : calls) {
      SCOPED_TRACE(first.name + " beside " + other.name);
      const auto job = [&](Communicator& communicator) {
        (communicator.rank() < 2 ? first : other).make(on(communicator));
      };
      if (&first == &other) {
        for (const std::exception_ptr& thrown : tests::ThreadRanks(3).run(job)) EXPECT_FALSE(thrown);
        continue;
      }
      EXPECT_EQ(tests::common_error<UsageError>(3, job), "rank 2 of 3: '" + other.name + "' here, but '" + first.name +
                                                             "' on rank 0; all ranks must make the same call");
    }
}

// The error names the different calls. Other errors of these calls are not reported.
TEST(SameCall, IsToldBeforeAnythingElse) {
  const std::string told = tests::common_error<UsageError>(2, [](Communicator& communicator) {
    const Matrix<float> points(5, 2);
    if (communicator.rank() == 0) kmeans(points, {.clusters = -1}, on(communicator));
    else pair_histogram(points, {.bins = {.bin_width = -1}}, on(communicator));
  });
  EXPECT_TRUE(tests::contains(told, "'pair_histogram of f32' here, but 'kmeans of f32' on rank 0")) << told;
}

}  // namespace
}  // namespace gradus
