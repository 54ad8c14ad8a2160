// Tests kmeans_batch(): every problem has the bits of a separate call, and errors name the problem.
#include "gradus/kmeans_batch.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kmeans/problems/schedule.hpp"
#include "kmeans/tests/ranks_job.hpp"

namespace gradus {
namespace {

using tests::contains;
using tests::Data;
using tests::error_of;

Execution on_threads(int threads) {
  Execution execution;
  execution.device = Device::cpu;
  execution.threads = threads;
  return execution;
}

/// Five matrices of 203 x 3 in one array, in different layouts.
constexpr std::int64_t problems = 5;
constexpr std::int64_t rows = 203;
constexpr std::int64_t columns = 3;

enum class Layout { contiguous, padded, interleaved, reversed, repeated };
constexpr Layout layouts[] = {Layout::contiguous, Layout::padded, Layout::interleaved, Layout::reversed,
                              Layout::repeated};

template <class T>
struct Layouts {
  Matrix<T> all = tests::make_points<T>(problems * rows, columns + 2, Data::plain);

  MatrixBatch<MatrixView<const T>> batch(Layout layout) const {
    const T* const data = all.data();
    switch (layout) {
      case Layout::contiguous: return {{data, rows, columns}, problems, rows * columns};
      case Layout::padded: return {{data, rows, columns, columns + 2}, problems, rows * (columns + 2)};
      case Layout::interleaved: return {{data, rows, columns, problems * columns}, problems, columns};
      case Layout::reversed:
        return {{data + (problems - 1) * rows * columns, rows, columns}, problems, -rows * columns};
      case Layout::repeated: return {{data, rows, columns}, problems, 0};
    }
    return {};
  }
};

template <class T>
MatrixView<const T> matrix_of(const MatrixBatch<MatrixView<const T>>& batch, std::int64_t problem) {
  const MatrixView<const T>& first = batch.first;
  return {first.data() + problem * batch.stride, first.rows(), first.columns(), first.row_stride()};
}

/// Returns the first difference between the batch and separate calls, or "".
template <class T>
std::string difference(const KMeansBatchResult<T>& found, const MatrixBatch<MatrixView<const T>>& points,
                       const KMeansOptions& options, const std::vector<KMeansMemory<T>>& memory = {}) {
  if (std::ssize(found.problems) != points.count) return "the number of problems";
  for (std::int64_t problem = 0; problem < points.count; ++problem) {
    const auto index = static_cast<std::size_t>(problem);
    const MatrixView<const T> matrix = matrix_of(points, problem);
    const KMeansResult<T> one =
        kmeans(matrix, options, memory.empty() ? KMeansMemory<T>{} : memory[index], on_threads(1));
    const std::string what = tests::difference(one, found.problems[index], 0, matrix.rows());
    if (!what.empty()) return what + " of problem " + std::to_string(problem);
  }
  return "";
}

template <class T>
class KMeansBatch : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(KMeansBatch, Elements);

TYPED_TEST(KMeansBatch, has_the_bits_of_separate_calls_in_every_layout) {
  const Layouts<TypeParam> points;
  for (const Layout layout : layouts)
    for (const int threads : {0, 1, 2, 3, 8}) {
      const auto batch = points.batch(layout);
      const KMeansOptions options{.clusters = 7, .seed = 3};
      EXPECT_EQ(difference(kmeans_batch(batch, options, {}, on_threads(threads)), batch, options), "")
          << static_cast<int>(layout) << " on " << threads;
    }
}

TYPED_TEST(KMeansBatch, supports_every_option) {
  const Layouts<TypeParam> points;
  const auto batch = points.batch(Layout::interleaved);
  for (const tests::Change& change : tests::changes_of_options) {
    KMeansOptions options{.clusters = 12};
    change.make(options);
    EXPECT_EQ(difference(kmeans_batch(batch, options, {}, on_threads(2)), batch, options), "") << change.name;
  }
  for (const KMeansInit init : {KMeansInit::kmeans_parallel, KMeansInit::random, KMeansInit::first}) {
    const KMeansOptions options{.clusters = 12, .init = init};
    EXPECT_EQ(difference(kmeans_batch(batch, options, {}, on_threads(2)), batch, options), "") << to_string(init);
  }
  const KMeansOptions balanced{.clusters = 5, .balanced = true};
  EXPECT_EQ(difference(kmeans_batch(batch, balanced, {}, on_threads(2)), batch, balanced), "");
}

TYPED_TEST(KMeansBatch, reads_weights_and_centroids_and_writes_labels) {
  using T = TypeParam;
  const Layouts<T> points;
  const auto batch = points.batch(Layout::padded);
  const std::vector<T> weights = tests::make_weights<T>(problems * rows);
  const Matrix<T> given = tests::make_points<T>(problems * 4, columns, Data::wild);
  for (const std::int64_t stride : {std::int64_t{0}, 4 * columns})
    for (const std::int64_t weighted : {std::int64_t{0}, std::int64_t{1}, problems}) {
      const KMeansOptions options{.clusters = 4, .init = KMeansInit::given};
      KMeansBatchMemory<T> memory;
      memory.initial_centroids = {{given.data(), 4, columns}, stride == 0 ? 1 : problems, stride};
      if (weighted > 0) memory.weights = {weights.data(), weighted, rows};
      std::vector<KMeansMemory<T>> separate(problems);
      for (std::int64_t problem = 0; problem < problems; ++problem) {
        KMeansMemory<T>& one = separate[static_cast<std::size_t>(problem)];
        one.initial_centroids = {given.data() + problem * stride, 4, columns};
        if (weighted > 0) one.weights = {weights.data() + (weighted == 1 ? 0 : problem) * rows, rows};
      }
      const KMeansBatchResult<T> found = kmeans_batch(batch, options, memory, on_threads(2));
      EXPECT_EQ(difference(found, batch, options, separate), "") << stride << ", " << weighted;

      Matrix<std::int32_t> labels(problems, rows + 1);
      memory.labels = {labels.data(), problems, rows, rows + 1};
      const KMeansBatchResult<T> written = kmeans_batch(batch, options, memory, on_threads(2));
      for (std::int64_t problem = 0; problem < problems; ++problem) {
        const auto index = static_cast<std::size_t>(problem);
        EXPECT_EQ(written.problems[index].labels.size(), 0);
        EXPECT_TRUE(tests::same_bits(labels.row(problem), found.problems[index].labels.data(), rows));
      }
    }
}

TYPED_TEST(KMeansBatch, has_the_same_bits_next_to_each_other_and_one_by_one) {
  using T = TypeParam;
  constexpr std::int64_t many = 12000;
  const Matrix<T> points = tests::make_points<T>(many, 12, Data::plain);
  const KMeansOptions options{.clusters = 40, .max_iterations = 3};
  const MatrixBatch<MatrixView<const T>> batch = column_groups(points.view(), 3);
  const KMeansShape shape{many, 4, sizeof(T), false};
  ASSERT_EQ(kmeans_detail::schedule_of_batch(shape, 3, options, on_threads(2)).side_by_side, 2);
  EXPECT_EQ(difference(kmeans_batch(batch, options, {}, on_threads(2)), batch, options), "");
}

TEST(KMeansBatches, fits_stored_points) {
  constexpr std::int64_t n = 150;
  std::vector<std::uint8_t> bytes;
  Matrix<float> wide(n, 8);
  for (std::int64_t index = 0; index < n * 8; ++index) {
    bytes.push_back(static_cast<std::uint8_t>(index * index % 251));
    wide.data()[index] = bytes.back();
  }
  const KMeansOptions options{.clusters = 9};
  const MatrixBatch<MatrixView<const float>> batch = column_groups(std::as_const(wide).view(), 4);
  const StoredMatrixView stored(bytes.data(), StoredType::u8, n, 8);
  EXPECT_EQ(difference(kmeans_batch(column_groups(stored, 4), options, {}, on_threads(2)), batch, options), "");
}

TEST(KMeansBatches, are_scheduled_by_the_length_of_a_pass_and_by_memory) {
  struct Row {
    std::int64_t n, count;
    int threads;
    std::int64_t side_by_side;
  };
  // A pass over 100 rows is worth one thread, and a pass over a million rows is worth all of them.
  for (const Row& row : {Row{100, 7, 4, 7}, Row{100, 3, 4, 3}, Row{1000000, 7, 4, 4}, Row{1000000, 3, 4, 0},
                         Row{1000000, 8, 4, 8}, Row{1000000, 7, 1, 7}}) {
    const auto schedule =
        kmeans_detail::schedule_of_batch({row.n, 16}, row.count, {.clusters = 16}, on_threads(row.threads));
    EXPECT_EQ(schedule.side_by_side, row.side_by_side) << row.n << ", " << row.count;
    EXPECT_EQ(schedule.threads, row.threads);
  }
  const KMeansShape shape{200000, 16};
  const KMeansOptions options{.clusters = 16};
  Execution execution = on_threads(4);
  const std::uint64_t enough = kmeans_batch_memory(shape, 8, options, execution).host;
  execution.memory_limit = enough;
  EXPECT_EQ(kmeans_detail::schedule_of_batch(shape, 8, options, execution).side_by_side, 8);
  // The results of eight problems, and the memory of two fits.
  execution.memory_limit = 1;
  const std::uint64_t least = kmeans_memory(shape, options, execution).host;
  execution.memory_limit =
      std::uint64_t{8} * (std::uint64_t{4} * 200000 + std::uint64_t{16} * (16 * 4 + 8) + 1024) + 2 * least;
  EXPECT_EQ(kmeans_detail::schedule_of_batch(shape, 8, options, execution).side_by_side, 0);
  EXPECT_LE(kmeans_batch_memory(shape, 8, options, execution).host, execution.memory_limit);
}

TEST(KMeansBatches, name_the_first_problem_that_fails) {
  Layouts<float> points;
  for (const std::int64_t problem : {4, 2, 3})
    points.all(problem * rows + 9, 1) = std::numeric_limits<float>::quiet_NaN();
  const auto batch = points.batch(Layout::padded);
  for (const int threads : {1, 2, 5}) {
    const std::string message =
        error_of<InputError>([&] { kmeans_batch(batch, {.clusters = 4}, {}, on_threads(threads)); });
    EXPECT_TRUE(contains(message, "points: problem 2: ")) << message;
    EXPECT_TRUE(contains(message, "row 9")) << message;
  }
  Matrix<float> wide = tests::make_points<float>(40000, 6, Data::plain);
  wide(5, 4) = std::numeric_limits<float>::infinity();
  const std::string message =
      error_of<InputError>([&] { kmeans_batch(column_groups(wide.view(), 3), {.clusters = 40}, {}, on_threads(4)); });
  EXPECT_TRUE(contains(message, "points: subspace 2: ")) << message;
}

TEST(KMeansBatches, refuse_what_belongs_to_one_fit) {
  const Layouts<float> points;
  const auto batch = points.batch(Layout::contiguous);
  const KMeansOptions options{.clusters = 4};
  const auto with_options = [&](auto change) {
    return [&, change] {
      KMeansOptions changed = options;
      change(changed);
      kmeans_batch(batch, changed);
    };
  };
  const auto with_execution = [&](auto change) {
    return [&, change] {
      Execution execution;
      change(execution);
      kmeans_batch(batch, options, {}, execution);
    };
  };
  EXPECT_TRUE(contains(error_of<UsageError>(with_options([](KMeansOptions& o) { o.checkpoint.file = "x.npz"; })),
                       "checkpoint"));
  EXPECT_TRUE(contains(error_of<InputError>(with_options([](KMeansOptions& o) { o.clusters = 204; })), "203 points"));
  EXPECT_TRUE(contains(error_of<UsageError>(with_options([](KMeansOptions& o) { o.restarts = -1; })), "restarts"));
  error_of<UnsupportedError>(with_execution([](Execution& e) { e.gpus = {0, 99}; }));
  error_of<UsageError>(with_execution([](Execution& e) {
    e.device = Device::cpu;
    e.gpus = {0};
  }));
  error_of<UsageError>(with_execution([](Execution& e) { e.variant = "cuda_naivete"; }));
  error_of<OutOfMemoryError>(with_execution([](Execution& e) { e.memory_limit = 1000; }));
  tests::ThreadRanks ranks(1);
  for (const std::exception_ptr& thrown : ranks.run([&](Communicator& communicator) {
         error_of<UnsupportedError>(with_execution([&](Execution& e) { e.communicator = &communicator; }));
       }))
    EXPECT_FALSE(thrown);
  EXPECT_TRUE(contains(error_of<InputError>([&] {
                         kmeans_batch(MatrixBatch{batch.first, 0, 0}, options);
                       }),
                       "0 problems"));
  error_of<UsageError>([&] {
    kmeans_batch(MatrixBatch{batch.first, 1 << 20, std::numeric_limits<std::int64_t>::max() / 4}, options);
  });
  error_of<UnsupportedError>([&] {
    const MatrixView<const float> there(batch.first.data(), rows, columns, MemoryPlace::on_gpu(0));
    Execution execution;
    execution.gpus = {0, 0};
    kmeans_batch(MatrixBatch{there, 2, 0}, options, {}, execution);
  });
  for (const std::int64_t groups : {0, -1, 2, 4})
    EXPECT_TRUE(contains(error_of<UsageError>([&] { column_groups(batch.first, groups); }), "a divisor of 3"));
}

TEST(KMeansBatches, refuse_memory_of_the_wrong_shape_or_place) {
  const Layouts<float> points;
  const auto batch = points.batch(Layout::contiguous);
  Matrix<float> numbers(problems * rows, columns);
  Matrix<std::int32_t> labels(problems, rows);
  const auto call = [&](const KMeansBatchMemory<float>& memory, KMeansInit init = KMeansInit::first) {
    return [&, memory, init] { kmeans_batch(batch, {.clusters = 4, .init = init}, memory); };
  };
  error_of<InputError>(call({.weights = {numbers.data(), 2, rows}}));
  error_of<InputError>(call({.weights = {numbers.data(), problems, rows - 1}}));
  error_of<InputError>(call({.labels = {labels.data(), 1, rows}}));
  error_of<InputError>(call({.initial_centroids = {{numbers.data(), 4, columns}, 2, 12}}, KMeansInit::given));
  error_of<InputError>(call({.initial_centroids = {{numbers.data(), 3, columns}, problems, 9}}, KMeansInit::given));
  error_of<InputError>(call({}, KMeansInit::given));
  error_of<UsageError>(call({.initial_centroids = {{numbers.data(), 4, columns}, problems, 12}}));
  // The labels of the last problem are in the points of the first problem.
  auto* const inside = reinterpret_cast<std::int32_t*>(const_cast<float*>(points.all.data())) - (problems - 1) * rows;
  EXPECT_TRUE(contains(error_of<UsageError>(call({.labels = {inside, problems, rows}})), "overlaps"));
}

TEST(KMeansBatches, report_completed_problems_and_stop) {
  const Layouts<float> points;
  const auto batch = points.batch(Layout::contiguous);
  for (const int threads : {1, 3}) {
    const std::thread::id caller = std::this_thread::get_id();
    std::int64_t last = 0;
    Execution execution = on_threads(threads);
    execution.progress = [&](const Progress& progress) {
      EXPECT_EQ(progress.phase, "problems");
      EXPECT_EQ(progress.total, problems);
      EXPECT_GE(progress.done, last);
      EXPECT_EQ(std::this_thread::get_id(), caller);
      last = progress.done;
    };
    const KMeansBatchResult<float> found = kmeans_batch(batch, {.clusters = 4}, {}, execution);
    EXPECT_EQ(last, problems);
    EXPECT_EQ(found.report.threads, threads);
    EXPECT_EQ(found.report.phases.back().name, "total");

    std::stop_source source;
    execution.stop = source.get_token();
    execution.progress = {};
    if (threads == 1) execution.progress = [&](const Progress&) { source.request_stop(); };
    else source.request_stop();
    const std::string message =
        error_of<InterruptedError>([&] { kmeans_batch(batch, {.clusters = 4}, {}, execution); });
    EXPECT_TRUE(contains(message, "stopped after 0 of 5 problems")) << message;

    execution.stop = {};
    execution.progress = [&](const Progress&) { throw std::range_error("from the callback"); };
    EXPECT_EQ(error_of<std::range_error>([&] { kmeans_batch(batch, {.clusters = 4}, {}, execution); }),
              "from the callback");
  }
}

}  // namespace
}  // namespace gradus
