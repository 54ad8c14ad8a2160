// Tests kmeans_parts() on the CPU: points in several arrays give the bits of one array. gpus_test.cpp tests GPUs.
#include "gradus/kmeans_parts.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "kmeans/tests/ranks_job.hpp"

namespace gradus {
namespace {

using tests::Data;
using tests::error_of;
using tests::Job;
using tests::make_job;

Execution on_processor(int threads) {
  Execution execution;
  execution.device = Device::cpu;
  execution.threads = threads;
  return execution;
}

/// Returns copies of the rows in separate arrays, so that the parts are not adjacent in memory.
template <class T>
class Copies {
 public:
  Copies(const Matrix<T>& rows, const std::vector<std::int64_t>& first) {
    for (std::size_t part = 0; part + 1 < first.size(); ++part)
      arrays_.push_back(Matrix<T>::copy_of(rows.view().slice(first[part], first[part + 1] - first[part])));
  }
  std::vector<MatrixView<const T>> views() const {
    std::vector<MatrixView<const T>> views;
    for (const Matrix<T>& array : arrays_) views.push_back(array.view());
    return views;
  }

 private:
  std::vector<Matrix<T>> arrays_;
};

template <class T>
class KMeansParts : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(KMeansParts, Elements);

TYPED_TEST(KMeansParts, have_the_bits_of_one_array) {
  using T = TypeParam;
  // One array, an empty array, arrays of one row, uneven arrays, and more clusters than some arrays have rows.
  const std::vector<std::int64_t> cuts[] = {{0, 611}, {0, 0, 611}, {0, 1, 2, 611}, {0, 300, 300, 611}, {0, 500, 611}};
  for (const KMeansInit init : tests::all_inits)
    for (const bool weighted : {false, true}) {
      const Job<T> job = make_job<T>(611, 3, 9, Data::wild, init, weighted);
      const KMeansMemory<T> memory = job.memory(0, 611);
      const KMeansResult<T> one = kmeans(job.points, job.options, memory, on_processor(1));
      for (const std::vector<std::int64_t>& first : cuts) {
        const Copies<T> copies(job.points, first);
        EXPECT_EQ(tests::difference(one, kmeans_parts(copies.views(), job.options, memory, on_processor(3)), 0, 611),
                  "")
            << first.size() - 1 << " parts";
      }
    }
}

TYPED_TEST(KMeansParts, support_every_option) {
  using T = TypeParam;
  for (const tests::Change& change : tests::changes_of_options) {
    Job<T> job = make_job<T>(700, 8, 12, Data::plain, KMeansInit::kmeans_parallel, true);
    change.make(job.options);
    KMeansMemory<T> memory = job.memory(0, 700);
    KMeansResult<T> one = kmeans(job.points, job.options, memory, on_processor(1));
    std::vector<std::int32_t> labels(700, -1);
    memory.labels = labels;
    KMeansResult<T> found = kmeans_parts(Copies<T>(job.points, {0, 100, 700}).views(), job.options, memory);
    EXPECT_EQ(found.labels.size(), 0) << change.name;
    EXPECT_TRUE(std::ranges::equal(labels, std::span(one.labels.data(), 700))) << change.name;
    one.labels = {};
    EXPECT_EQ(tests::difference(one, found, 0, 0), "") << change.name;
  }
}

TYPED_TEST(KMeansParts, refuse_what_does_not_fit_together) {
  using T = TypeParam;
  Job<T> job = make_job<T>(40, 5, 4, Data::plain, KMeansInit::random, false);
  const auto fails = [&]<class E>(const std::vector<MatrixView<const T>>& parts, const KMeansMemory<T>& memory,
                                  const Execution& execution, const std::string& says, E) {
    const std::string message = error_of<E>([&] { kmeans_parts(parts, job.options, memory, execution); });
    EXPECT_TRUE(tests::contains(message, says)) << message;
    EXPECT_FALSE(tests::contains(message, "rank ")) << message;
  };
  const Copies<T> halves(job.points, {0, 20, 40});
  const Matrix<T> narrow(3, 4);
  const std::vector<T> weights(39, T{1});
  Execution gpus;
  gpus.gpus = {0, 0, 0};
  fails({}, {}, {}, "the list of arrays is empty", UsageError(""));
  fails({job.points.view(), narrow.view()}, {}, {}, "array 1 has 4 columns, but array 0 has 5", InputError(""));
  fails(halves.views(), {.weights = {weights.data(), 39}}, {}, "39 weights for 40 points", InputError(""));
  fails(halves.views(), {}, gpus, "3 GPUs for 2 arrays", UsageError(""));
  job.options.clusters = 41;
  fails(halves.views(), {}, {}, "41 clusters", InputError(""));
  job.options.clusters = 4;
  job.points(33, 2) = std::numeric_limits<T>::quiet_NaN();
  fails(Copies<T>(job.points, {0, 20, 40}).views(), {}, {}, "row 33, column 2", InputError(""));
}

}  // namespace
}  // namespace gradus
