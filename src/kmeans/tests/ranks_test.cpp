// Tests that k-means on any number of ranks has the same bits as in a single process, and that an error on one rank
// ends the job on all ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "gradus/kmeans_criteria.hpp"
#include "kmeans/means/cluster_shares.hpp"
#include "kmeans/problem.hpp"
#include "kmeans/tests/ranks_job.hpp"
#include "ranks/ranks.hpp"
#include "tests/helpers.hpp"
#include "tests/thread_ranks.hpp"

namespace gradus {
namespace {

using kmeans_detail::Variant;
using kmeans_detail::variants;
using tests::all_inits;
using tests::common_error;
using tests::contains;
using tests::Data;
using tests::ForceSharedUpdate;
using tests::Job;
using tests::make_job;
using tests::make_points;
using tests::same_bits;
using tests::Size;
using tests::split;
using tests::ThreadRanks;

enum class Fault { none, own_greatest, rows_from_zero, own_rows_alone, next_ranks_share };

class Faulty final : public Communicator {
 public:
  Faulty(Communicator& right, Fault fault) : right_(right), fault_(fault) {}
  int rank() const override { return right_.rank(); }
  int size() const override { return right_.size(); }
  int neighbours() const override { return right_.neighbours(); }
  void sum(std::span<std::uint64_t> words) override { right_.sum(words); }
  void least(std::span<double> numbers) override { right_.least(numbers); }
  void greatest(std::span<double> numbers) override {
    const std::vector<double> own(numbers.begin(), numbers.end());
    right_.greatest(numbers);
    if (fault_ == Fault::own_greatest) std::ranges::copy(own, numbers.begin());
  }
  void broadcast(std::span<std::byte> bytes, int root) override { right_.broadcast(bytes, root); }
  void gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    right_.gather(own, all);
    if (fault_ == Fault::next_ranks_share) {
      // Messages of more than 64 bytes contain centroids. In this case, shifts all messages by one rank.
      if (own.size() > 64) std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(own.size()), all.end());
      return;
    }
    if (std::exchange(gathered_, true) || fault_ == Fault::none || fault_ == Fault::own_greatest) return;
    // In the first call, the first word of each rank's message is its number of rows.
    for (int other = 0; other < size(); ++other)
      if (other < rank() || (other > rank() && fault_ == Fault::own_rows_alone)) {
        std::byte* const said = all.data() + own.size() * static_cast<std::size_t>(other);
        const std::int64_t none = 0;
        std::int64_t rows = 0;
        std::memcpy(&rows, said, sizeof rows);
        std::memcpy(said, &none, sizeof none);
        if (fault_ == Fault::own_rows_alone) continue;
        // Adds the number of rows of this rank to the number of rows of the last rank. On the last rank itself, its
        // number is lost.
        std::byte* const last = all.data() + own.size() * static_cast<std::size_t>(size() - 1);
        std::int64_t behind = 0;
        std::memcpy(&behind, last, sizeof behind);
        behind += rank() + 1 < size() ? rows : 0;
        std::memcpy(last, &behind, sizeof behind);
      }
  }
  void give_up() noexcept override { right_.give_up(); }

 private:
  Communicator& right_;
  Fault fault_;
  bool gathered_ = false;
};

/// Returns the first difference on any rank, or the message of an error that a rank threw.
template <class T>
std::string differs(const Job<T>& job, int size, const std::string& how, Fault fault = Fault::none) {
  const std::int64_t n = job.points.rows();
  const KMeansResult<T> one = kmeans(job.points, job.options, job.memory(0, n), job.execution(nullptr));
  return tests::differs(one, size, how, [&](Communicator& communicator, std::int64_t from, std::int64_t rows) {
    Faulty faulty(communicator, fault);
    return kmeans(job.rows(from, rows), job.options, job.memory(from, rows), job.execution(&faulty));
  });
}

template <class T>
class KMeansRanks : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(KMeansRanks, Elements);

// ---------------------------------------------------------------------------------------------------------------------

TYPED_TEST(KMeansRanks, give_the_bits_of_one_process) {
  using T = TypeParam;
  // The sizes include fewer rows than ranks, a single column, numbers of rows that are not multiples of the block size,
  // and few and many clusters. Every variant and every seeding method runs.
  const Size sizes[] = {{1, 1, 1}, {5, 2, 3}, {700, 1, 6}, {611, 2, 9}, {300, 3, 70}, {523, 20, 5}, {400, 40, 33}};
  const std::string hows[] = {"even", "last", "holes"};
  int number = 0;
  for (const Size size : sizes)
    for (const KMeansInit init : all_inits)
      for (const bool weighted : {false, true})
        for (const Data data : {Data::plain, Data::wild, Data::duplicates, Data::ends}) {
          Job<T> job = make_job<T>(size.n, size.d, size.k, data, init, weighted);
          const int ranks[] = {1, 2, 3, 5, 8};
          const int count = ranks[number % 5];
          const std::string how = hows[number % 3];
          ++number;
          EXPECT_EQ(differs(job, count, how), "")
              << count << " ranks, " << how << ", " << size.n << " x " << size.d << ", k " << size.k << ", init "
              << static_cast<int>(init) << ", weighted " << weighted << ", data " << static_cast<int>(data);
        }
}

TYPED_TEST(KMeansRanks, move_points_to_empty_clusters) {
  using T = TypeParam;
  int number = 0;
  for (const auto& [name, job, is_for_gpu] : tests::fits_with_empty_clusters<T>())
    EXPECT_EQ(differs(job, 2 + number % 2, number++ % 3 == 0 ? "even" : "holes"), "") << name;
}

TYPED_TEST(KMeansRanks, know_all_options) {
  using T = TypeParam;
  for (const auto& [name, change] : tests::changes_of_options)
    for (const KMeansInit init : all_inits)
      for (const bool weighted : {false, true})
        for (const int ranks : {2, 5}) {
          Job<T> job = make_job<T>(400, 4, 11, Data::plain, init, weighted);
          job.given(0, 0) = 1;  // with the cosine metric, a row of zeros would have no direction
          change(job.options);
          EXPECT_EQ(differs(job, ranks, "holes"), "")
              << name << ", init " << static_cast<int>(init) << ", weighted " << weighted << ", " << ranks << " ranks";
        }
}

TYPED_TEST(KMeansRanks, share_the_update_to_the_bit) {
  using T = TypeParam;
  // The sizes include more clusters than ranks, and fewer. So some ranks have a smaller share of the clusters than
  // others, or none.
  const Size sizes[] = {{5, 2, 3}, {700, 1, 6}, {611, 2, 9}, {300, 3, 70}, {523, 20, 17}, {400, 40, 33}};
  const std::string hows[] = {"even", "last", "holes"};
  int number = 0;
  const ForceSharedUpdate shared(true);
  for (const Size size : sizes)
    for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::first, KMeansInit::given})
      for (const bool weighted : {false, true})
        for (const Data data : {Data::plain, Data::wild, Data::duplicates, Data::ends}) {
          const Job<T> job = make_job<T>(size.n, size.d, size.k, data, init, weighted);
          const int ranks[] = {2, 3, 5, 8, 16};
          const int count = ranks[number % 5];
          const std::string how = hows[number % 3];
          ++number;
          EXPECT_EQ(differs(job, count, how), "")
              << count << " ranks, " << how << ", " << size.n << " x " << size.d << ", k " << size.k << ", init "
              << static_cast<int>(init) << ", weighted " << weighted << ", data " << static_cast<int>(data);
        }
}

TYPED_TEST(KMeansRanks, share_the_update_with_all_options) {
  using T = TypeParam;
  const ForceSharedUpdate shared(true);
  for (const auto& [name, change] : tests::changes_of_options)
    for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::given})
      for (const bool weighted : {false, true})
        for (const int ranks : {3, 16})
          for (const bool surplus : {false, true}) {
            Job<T> job =
                make_job<T>(400, 4, surplus ? 40 : 11, surplus ? Data::duplicates : Data::plain, init, weighted);
            job.given(0, 0) = 1;
            change(job.options);
            // Some rows are zero and therefore have no direction.
            if (surplus && job.options.metric == KMeansMetric::cosine) continue;
            EXPECT_EQ(differs(job, ranks, "holes"), "") << name << ", init " << static_cast<int>(init) << ", weighted "
                                                        << weighted << ", " << ranks << " ranks, surplus " << surplus;
          }
}

// The tests below let the library decide whether the ranks share the update.
TYPED_TEST(KMeansRanks, share_the_update_of_many_centroids) {
  using T = TypeParam;
  const std::int64_t k = 150;
  const std::int64_t d = 130;
  ASSERT_TRUE(kmeans_detail::pays_to_share(k, d, sizeof(T), 5, 1));
  for (const Data data : {Data::plain, Data::wild}) {
    Job<T> job = make_job<T>(1300, d, k, data, KMeansInit::first, false);
    job.options.max_iterations = 6;
    EXPECT_EQ(differs(job, 5, "even"), "") << static_cast<int>(data);
  }
}

TYPED_TEST(KMeansRanks, run_every_variant_that_says_so) {
  using T = TypeParam;
  int run = 0;
  for (const Variant& variant : variants()) {
    if (!variant.on_ranks || tests::runs_on_gpu(variant)) continue;  // gpu_ranks_test.cpp tests the GPU variants
    for (const std::int64_t d : {1, 3, 16}) {
      if (!variant.supports({900, d, 12, sizeof(T), false}, execution::this_machine())) continue;
      Job<T> job = make_job<T>(900, d, 12, Data::plain, KMeansInit::kmeans_plus_plus, false);
      job.variant = variant.name;
      EXPECT_EQ(differs(job, 3, "even"), "") << variant.name << ", " << d << " columns";
      ++run;
    }
  }
  EXPECT_GE(run, 4);
}

// If the communicator does not combine the data of the ranks, the comparison must find a difference.
TYPED_TEST(KMeansRanks, differ_where_a_rank_takes_its_rows_for_all) {
  using T = TypeParam;
  const auto found = [](KMeansInit init, bool weighted, Data data, Fault fault) {
    return !differs(make_job<T>(611, 3, 9, data, init, weighted), 3, "even", fault).empty();
  };
  EXPECT_TRUE(found(KMeansInit::first, false, Data::ends, Fault::own_greatest)) << "ranges";
  EXPECT_TRUE(found(KMeansInit::random, true, Data::plain, Fault::own_greatest)) << "the largest weight";
  EXPECT_TRUE(found(KMeansInit::kmeans_plus_plus, false, Data::plain, Fault::own_rows_alone)) << "rows to draw from";
  EXPECT_TRUE(found(KMeansInit::kmeans_parallel, false, Data::plain, Fault::rows_from_zero)) << "rows in a draw";
  EXPECT_TRUE(found(KMeansInit::given, false, Data::duplicates, Fault::rows_from_zero)) << "the farthest of equals";
  EXPECT_FALSE(found(KMeansInit::kmeans_parallel, false, Data::plain, Fault::none));
  const ForceSharedUpdate shared(true);
  EXPECT_TRUE(found(KMeansInit::first, false, Data::plain, Fault::next_ranks_share)) << "another rank's centroids";
  EXPECT_FALSE(found(KMeansInit::first, false, Data::plain, Fault::none));
}

TYPED_TEST(KMeansRanks, choose_the_rows_of_one_process) {
  using T = TypeParam;
  for (const KMeansInit init :
       {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel, KMeansInit::random, KMeansInit::first})
    for (const auto& [data, standardize] :
         {std::pair{Data::plain, false}, {Data::duplicates, false}, {Data::plain, true}}) {
      Job<T> job = make_job<T>(500, 8, 20, data, init, false);
      job.options.standardize = standardize;
      const KMeansInitialCentroids<T> one =
          kmeans_initial_centroids(job.points, job.options, job.memory(0, 500), job.execution(nullptr));
      ThreadRanks ranks(3);
      const std::vector<std::int64_t> first = split(500, 3, "even");
      const auto thrown = ranks.run([&](Communicator& communicator) {
        const std::int64_t from = first[static_cast<std::size_t>(communicator.rank())];
        const std::int64_t rows = first[static_cast<std::size_t>(communicator.rank()) + 1] - from;
        const KMeansInitialCentroids<T> own = kmeans_initial_centroids(
            job.rows(from, rows), job.options, job.memory(from, rows), job.execution(&communicator));
        EXPECT_EQ(own.rows, one.rows);
        EXPECT_TRUE(same_bits(own.centroids, one.centroids));
      });
      for (const std::exception_ptr& each : thrown) EXPECT_EQ(each, nullptr);
    }
}

TYPED_TEST(KMeansRanks, standardize_by_all_rows) {
  using T = TypeParam;
  // The last two shapes have more columns than the code sums at a time. A rank has some of the rows, all of them, or
  // none.
  for (const auto& [n, d] : {std::pair{1, 1}, {2, 3}, {333, 5}, {40, 600}, {11, 1100}})
    for (const Data data : {Data::plain, Data::wild, Data::ends})
      for (const auto& [size, how] : {std::pair{1, "even"}, {3, "even"}, {3, "last"}, {5, "holes"}}) {
        SCOPED_TRACE(testing::Message() << n << " x " << d << ", " << size << " ranks, " << how);
        const Matrix<T> points = make_points<T>(n, d, data);
        const KMeansStandardization one = kmeans_standardization(points);
        ThreadRanks ranks(size);
        const std::vector<std::int64_t> first = split(n, size, how);
        const auto thrown = ranks.run([&](Communicator& communicator) {
          const std::int64_t from = first[static_cast<std::size_t>(communicator.rank())];
          const std::int64_t rows = first[static_cast<std::size_t>(communicator.rank()) + 1] - from;
          const KMeansStandardization own = kmeans_standardization(
              points.view().slice(from, rows), {.threads = 1 + communicator.rank(), .communicator = &communicator});
          EXPECT_EQ(own.mean, one.mean);
          EXPECT_EQ(own.scale, one.scale);
        });
        for (const std::exception_ptr& each : thrown) EXPECT_EQ(each, nullptr);
      }
}

TYPED_TEST(KMeansRanks, label_by_a_standardizing_model) {
  using T = TypeParam;
  Job<T> job = make_job<T>(333, 5, 7, Data::plain, KMeansInit::first, true);
  job.options.standardize = true;
  const KMeansResult<T> fit = kmeans(job.points, job.options);
  const KMeansModel<T> model = kmeans_model(fit);
  const KMeansPrediction one = kmeans_predict(model, job.points, job.memory(0, 333));
  const Matrix<T> distances = kmeans_transform(model, job.points);
  ThreadRanks ranks(4);
  const std::vector<std::int64_t> first = split(333, 4, "holes");
  const auto thrown = ranks.run([&](Communicator& communicator) {
    const std::int64_t from = first[static_cast<std::size_t>(communicator.rank())];
    const std::int64_t rows = first[static_cast<std::size_t>(communicator.rank()) + 1] - from;
    const Execution execution = job.execution(&communicator);
    const KMeansPrediction own = kmeans_predict(model, job.rows(from, rows), job.memory(from, rows), execution);
    EXPECT_TRUE(same_bits(&own.inertia, &one.inertia, 1));
    EXPECT_TRUE(same_bits(own.labels.data(), one.labels.data() + from, rows));
    const Matrix<T> made = kmeans_transform(model, job.rows(from, rows), execution);
    EXPECT_TRUE(same_bits(made.data(), distances.row(from), rows * 7));
    Matrix<T> given(rows, 7);
    kmeans_transform(model, job.rows(from, rows), given.view(), execution);
    EXPECT_TRUE(same_bits(given, made));
  });
  for (const std::exception_ptr& each : thrown) EXPECT_EQ(each, nullptr);
}

TYPED_TEST(KMeansRanks, predict_and_transform_their_rows) {
  using T = TypeParam;
  for (const KMeansMetric metric : {KMeansMetric::euclidean, KMeansMetric::cosine}) {
    Job<T> job = make_job<T>(333, 5, 7, Data::plain, KMeansInit::first, true);
    const Matrix<T> centroids = kmeans(job.points, job.options).centroids;
    const KMeansPrediction one =
        kmeans_predict(centroids, job.points, job.memory(0, 333), metric, job.execution(nullptr));
    const Matrix<T> distances = kmeans_transform(centroids, job.points, metric);
    ThreadRanks ranks(4);
    const std::vector<std::int64_t> first = split(333, 4, "holes");
    const auto thrown = ranks.run([&](Communicator& communicator) {
      const std::int64_t from = first[static_cast<std::size_t>(communicator.rank())];
      const std::int64_t rows = first[static_cast<std::size_t>(communicator.rank()) + 1] - from;
      const Execution execution = job.execution(&communicator);
      const KMeansPrediction own =
          kmeans_predict(centroids, job.rows(from, rows), job.memory(from, rows), metric, execution);
      EXPECT_TRUE(same_bits(&own.inertia, &one.inertia, 1));
      EXPECT_TRUE(same_bits(own.labels.data(), one.labels.data() + from, rows));
      std::vector<std::int32_t> labels(static_cast<std::size_t>(rows), -1);
      if (rows > 0) {
        kmeans_predict(centroids, job.rows(from, rows), VectorView<std::int32_t>(labels), metric, execution);
        EXPECT_TRUE(same_bits(labels.data(), one.labels.data() + from, rows));
      } else {
        kmeans_predict(centroids, job.rows(from, rows), VectorView<std::int32_t>(), metric, execution);
      }
      const Matrix<T> own_distances = kmeans_transform(centroids, job.rows(from, rows), metric, execution);
      EXPECT_TRUE(same_bits(own_distances.data(), distances.row(from), rows * 7));
    });
    for (const std::exception_ptr& each : thrown) EXPECT_EQ(each, nullptr);
  }
}

// In each iteration, the ranks make one sum and, if they share the update, one gather. The rest of the job needs only a
// few calls.
TEST(KMeansRanks, meet_once_in_an_iteration) {
  const auto calls = [](int iterations, bool is_shared) {
    const ForceSharedUpdate shared(is_shared);
    Job<double> job = make_job<double>(700, 3, 12, Data::plain, KMeansInit::first, false);
    job.options.max_iterations = iterations;
    job.options.tolerance = 0;
    ThreadRanks ranks(3);
    const std::vector<std::int64_t> first = split(700, 3, "even");
    ranks.run([&](Communicator& communicator) {
      const std::int64_t from = first[static_cast<std::size_t>(communicator.rank())];
      const std::int64_t rows = first[static_cast<std::size_t>(communicator.rank()) + 1] - from;
      EXPECT_EQ(kmeans(job.rows(from, rows), job.options, {}, job.execution(&communicator)).iterations, iterations);
    });
    return ranks.calls();
  };
  EXPECT_EQ(calls(5, false) - calls(2, false), 3);
  EXPECT_EQ(calls(5, true) - calls(2, true), 6);
}

TEST(KMeansRanks, share_the_update_where_that_pays) {
  using kmeans_detail::pays_to_share;
  EXPECT_FALSE(pays_to_share(16, 16, 8, 16, 1));
  EXPECT_TRUE(pays_to_share(1024, 128, 4, 16, 1));
  EXPECT_TRUE(pays_to_share(1024, 128, 4, 2, 1));
  EXPECT_FALSE(pays_to_share(1024, 128, 4, 4, 16));
  EXPECT_FALSE(pays_to_share(std::int64_t{1} << 20, 128, 8, 1000, 64));
  EXPECT_FALSE(pays_to_share(std::int64_t{1} << 28, 128, 8, 16, 1)) << "a share of 16 GiB";
  // The shares must be contiguous, and together they must cover all clusters.
  for (const std::int64_t clusters : {1, 2, 7, 16, 17, 1024})
    for (const int ranks : {1, 2, 3, 5, 16}) {
      const kmeans_detail::ClusterShares shares(clusters, ranks);
      std::int64_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(shares.of(rank).begin, next);
        EXPECT_LE(shares.of(rank).size(), shares.largest());
        next = shares.of(rank).end;
      }
      EXPECT_EQ(next, clusters);
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Errors

class KMeansRanksErrors : public testing::Test {
 protected:
  static constexpr std::int64_t rows = 50;  // number of rows per rank

  /// The options and the memory of a call. change() may change them on some ranks.
  struct Call {
    Matrix<double> points = make_points<double>(rows, 3, Data::plain);
    std::vector<double> weights;
    KMeansOptions options{.clusters = 4};
    Execution execution;
  };
  template <class E>
  static std::string error(const std::function<void(int rank, Call&)>& change) {
    return common_error<E>(4, [&](Communicator& communicator) {
      Call call;
      call.execution.threads = 1;
      call.execution.communicator = &communicator;
      change(communicator.rank(), call);
      KMeansMemory<double> memory;
      memory.weights = call.weights;
      kmeans(call.points, call.options, memory, call.execution);
    });
  }
};

TEST_F(KMeansRanksErrors, name_the_lowest_rank_and_the_row_among_all) {
  const std::string nan = error<InputError>([](int rank, Call& call) {
    if (rank >= 2) call.points(7, 1) = std::numeric_limits<double>::quiet_NaN();
  });
  EXPECT_TRUE(contains(nan, "rank 2 of 4: points: the value in row 107, column 1")) << nan;
  const std::string negative = error<InputError>([](int rank, Call& call) {
    call.weights.assign(rows, 1.0);
    if (rank == 3) call.weights[9] = -1;
  });
  EXPECT_TRUE(contains(negative, "rank 3 of 4: weights: the weight in row 159")) << negative;
  const std::string zero = error<InputError>([](int rank, Call& call) {
    call.options.metric = KMeansMetric::cosine;
    if (rank == 1)
      for (std::int64_t dim = 0; dim < 3; ++dim) call.points(5, dim) = 0;
  });
  EXPECT_TRUE(contains(zero, "rank 1 of 4: points: row 55")) << zero;
}

TEST_F(KMeansRanksErrors, end_where_the_calls_differ) {
  const std::string clusters = error<UsageError>([](int rank, Call& call) { call.options.clusters += rank == 3; });
  EXPECT_TRUE(contains(clusters, "'clusters=5' here, but 'clusters=4' on rank 0")) << clusters;
  const std::string tolerance = error<UsageError>([](int rank, Call& call) {
    if (rank == 1) call.options.tolerance = std::nextafter(call.options.tolerance, 1);
  });
  EXPECT_TRUE(contains(tolerance, "rank 1 of 4: 'tolerance=")) << tolerance;
  const std::string columns = error<UsageError>([](int rank, Call& call) {
    if (rank == 2) call.points = make_points<double>(rows, 2, Data::plain);
  });
  EXPECT_TRUE(contains(columns, "'columns=2' here, but 'columns=3'")) << columns;
  const std::string weights = error<InputError>([](int rank, Call& call) {
    if (rank != 2) call.weights.assign(rows, 1.0);
  });
  EXPECT_TRUE(contains(weights, "rank 2 of 4: weights: there are none for the 50 rows here")) << weights;
  const std::string element = common_error<UsageError>(2, [](Communicator& communicator) {
    Execution execution;
    execution.communicator = &communicator;
    if (communicator.rank() == 0) kmeans(make_points<float>(20, 2, Data::plain), {.clusters = 2}, execution);
    else kmeans(make_points<double>(20, 2, Data::plain), {.clusters = 2}, execution);
  });
  EXPECT_TRUE(contains(element, "'kmeans of f64' here, but 'kmeans of f32'")) << element;
  const std::string call = common_error<UsageError>(2, [](Communicator& communicator) {
    Execution execution;
    execution.communicator = &communicator;
    const Matrix<float> points = make_points<float>(20, 2, Data::plain);
    if (communicator.rank() == 0) kmeans_transform(points, points, KMeansMetric::euclidean, execution);
    else kmeans_predict(points, points, KMeansMetric::euclidean, execution);
  });
  EXPECT_TRUE(contains(call, "'kmeans_predict of f32' here, but 'kmeans_transform of f32'")) << call;
  const std::string given = common_error<UsageError>(2, [](Communicator& communicator) {
    Execution execution;
    execution.communicator = &communicator;
    const Matrix<float> points = make_points<float>(20, 2, Data::plain);
    kmeans(points, {.clusters = 3, .init = KMeansInit::given},
           {.initial_centroids = points.view().slice(communicator.rank(), 3)}, execution);
  });
  EXPECT_TRUE(contains(given, "'initial centroids=")) << given;
  const std::string standardize = error<UsageError>([](int rank, Call& call) { call.options.standardize = rank == 2; });
  EXPECT_TRUE(contains(standardize, "rank 2 of 4: 'standardize=true' here, but 'standardize=false' on rank 0"))
      << standardize;
}

TEST_F(KMeansRanksErrors, end_where_the_models_differ) {
  const Matrix<double> points = make_points<double>(60, 3, Data::plain);
  const KMeansResult<double> fit = kmeans(points, {.clusters = 4, .standardize = true});
  const auto call = [&](bool transforms, const KMeansModel<double>& model, Communicator& communicator) {
    if (transforms) kmeans_transform(model, points, {.communicator = &communicator});
    else kmeans_predict(model, points, {}, {.communicator = &communicator});
  };
  for (const bool transforms : {false, true}) {
    const std::string none = common_error<UsageError>(3, [&](Communicator& communicator) {
      KMeansModel<double> model = kmeans_model(fit);
      if (communicator.rank() == 1) model.standardization = {};
      call(transforms, model, communicator);
    });
    EXPECT_TRUE(contains(none, "rank 1 of 3: 'means=")) << none;
    const std::string scale = common_error<UsageError>(3, [&](Communicator& communicator) {
      KMeansModel<double> model = kmeans_model(fit);
      if (communicator.rank() == 2) model.standardization.scale[1] *= 2;
      call(transforms, model, communicator);
    });
    EXPECT_TRUE(contains(scale, "rank 2 of 3: 'scales=")) << scale;
  }
}

TEST_F(KMeansRanksErrors, of_standardizing_name_the_row_among_all) {
  const std::string nan = error<InputError>([](int rank, Call& call) {
    call.options.standardize = true;
    if (rank >= 2) call.points(5, 1) = std::nan("");
  });
  EXPECT_TRUE(contains(nan, "rank 2 of 4: points: row 105, column 1 (counted from 0) is NaN")) << nan;
  const std::string large = error<InputError>([](int rank, Call& call) {
    call.options.standardize = true;
    if (rank == 1) call.points(0, 2) = 1e308;
  });
  EXPECT_TRUE(contains(large, "column 2 (counted from 0) are too large to be standardized")) << large;
  const std::string memory = error<OutOfMemoryError>([](int rank, Call& call) {
    call.options.standardize = true;
    if (rank == 3) call.execution.memory_limit = 1000;
  });
  EXPECT_TRUE(contains(memory, "rank 3 of 4: the job needs") && contains(memory, "a standardized copy of the points"))
      << memory;
}

TEST_F(KMeansRanksErrors, are_those_of_one_process) {
  EXPECT_TRUE(contains(error<InputError>([](int, Call& call) { call.options.clusters = 201; }),
                       "201 clusters were asked for, but there are only 200 points"));
  EXPECT_TRUE(contains(error<UsageError>([](int, Call& call) { call.options.clusters = 0; }), "at least 1, not 0"));
  EXPECT_TRUE(
      contains(error<InputError>([](int, Call& call) { call.weights.assign(rows, 0.0); }), "all weights are zero"));
  EXPECT_TRUE(
      contains(error<InputError>([](int, Call& call) { call.points = Matrix<double>(0, 3); }), "no rank has any"));
  EXPECT_TRUE(contains(error<InputError>([](int, Call& call) { std::fill_n(call.points.data(), 3 * rows, 1.5); }),
                       "there is only 1 different point"));
  EXPECT_TRUE(contains(error<Error>([](int, Call& call) {
                         call.points = make_points<double>(rows, 3, Data::duplicates);
                         call.options = {.clusters = 6, .init = KMeansInit::first, .empty = KMeansEmptyCluster::error};
                         accept_coinciding_points(call.options);
                       }),
                       "became empty in iteration 1"));
}

TEST_F(KMeansRanksErrors, name_the_variants_that_run) {
  const std::string teaching =
      error<UnsupportedError>([](int, Call& call) { call.execution.variant = "openmp_reduce"; });
  EXPECT_TRUE(contains(teaching, "'openmp_reduce' does not run on several ranks")) << teaching;
  EXPECT_TRUE(contains(teaching, "'simd_small_dim', 'simd_grid', 'simd_large_dim', 'simd_bounds', 'cuda_small_dim'"))
      << teaching;
  if (!execution::why_no_gpu(execution::this_machine()).empty()) {
    const std::string gpu = error<UnsupportedError>([](int rank, Call& call) {
      if (rank == 1) call.execution.device = Device::gpu;
    });
    EXPECT_TRUE(contains(gpu, "rank 1 of 4: no GPU can be used: ")) << gpu;
  }
  const std::string pinned =
      error<UnsupportedError>([](int, Call& call) { call.execution.pinning = Pinning::compact; });
  EXPECT_TRUE(contains(pinned, "--bind-to")) << pinned;
}

TEST_F(KMeansRanksErrors, come_from_calls_that_know_no_ranks) {
  ThreadRanks ranks(1);
  const auto thrown = ranks.run([](Communicator& communicator) {
    Execution execution;
    execution.communicator = &communicator;
    const Matrix<double> points = make_points<double>(20, 2, Data::plain);
    const std::vector<std::int32_t> labels(20, 0);
    kmeans_criteria(points, VectorView<const std::int32_t>(labels), {}, execution);
  });
  EXPECT_TRUE(contains(tests::error_of<UnsupportedError>([&] { std::rethrow_exception(thrown.front()); }),
                       "does not run on several ranks"));
}

TEST_F(KMeansRanksErrors, a_stop_request_on_one_rank_ends_all) {
  for (const int at : {0, 1, 4, -1, -4}) {
    const ForceSharedUpdate shared(at < 0);
    const std::string stopped = common_error<InterruptedError>(3, [&](Communicator& communicator) {
      Execution execution;
      execution.threads = 1;
      execution.communicator = &communicator;
      std::stop_source source;
      execution.stop = source.get_token();
      if (communicator.rank() == 1) {
        if (at == 0) source.request_stop();
        execution.progress = [&](const Progress& progress) {
          if (progress.phase == "iteration" && progress.done == std::abs(at)) source.request_stop();
        };
      }
      kmeans(make_points<double>(500, 3, Data::wild), {.clusters = 30, .max_iterations = 1000, .tolerance = 0},
             execution);
    });
    EXPECT_TRUE(contains(stopped, "rank 1 of 3: stopped")) << stopped;
  }
}

// A rank may fail even while it updates its share of the clusters.
TEST_F(KMeansRanksErrors, of_an_exchange_are_common) {
  for (const int size : {1, 2, 5})
    for (const std::size_t bytes : {0, 1, 7, 8, 13}) {
      ThreadRanks ranks(size);
      const auto thrown = ranks.run([&](Communicator& communicator) {
        core::Ranks met(communicator, {});
        std::vector<std::byte> all;
        met.exchange(
            bytes,
            [&](std::span<std::byte> own) {
              EXPECT_EQ(own.size(), bytes);
              std::ranges::fill(own, static_cast<std::byte>(10 + met.rank()));
            },
            [&](int rank, std::span<const std::byte> of_rank) {
              EXPECT_EQ(rank * bytes, all.size());
              EXPECT_EQ(reinterpret_cast<std::uintptr_t>(of_rank.data()) % 8, 0);
              all.insert(all.end(), of_rank.begin(), of_rank.end());
            });
        for (std::size_t index = 0; index < bytes * static_cast<std::size_t>(size); ++index)
          EXPECT_EQ(all.at(index), static_cast<std::byte>(10 + index / bytes));
      });
      for (const std::exception_ptr& each : thrown) EXPECT_EQ(each, nullptr);
      const std::string failed = common_error<InputError>(size, [&](Communicator& communicator) {
        core::Ranks met(communicator, {});
        met.exchange(
            bytes,
            [&](std::span<std::byte>) {
              if (met.rank() == size - 1) throw InputError("it cannot be");
            },
            [](int, std::span<const std::byte>) { ADD_FAILURE() << "after a failure"; });
      });
      EXPECT_EQ(failed, "rank " + std::to_string(size - 1) + " of " + std::to_string(size) + ": it cannot be");
    }
}

// A rank may fail in such a way that it cannot report the failure to the other ranks in time.
TEST_F(KMeansRanksErrors, nobody_waits_for_a_rank_that_has_left) {
  ThreadRanks ranks(3);
  const auto thrown = ranks.run([](Communicator& communicator) {
    Execution execution;
    execution.threads = 1;
    execution.communicator = &communicator;
    if (communicator.rank() == 2)
      execution.progress = [](const Progress& progress) {
        if (progress.phase == "iteration") throw std::runtime_error("a caller's own");
      };
    kmeans(make_points<double>(500, 3, Data::wild), {.clusters = 30, .tolerance = 0}, execution);
  });
  EXPECT_EQ(tests::error_of<std::runtime_error>([&] { std::rethrow_exception(thrown[2]); }), "a caller's own");
  for (const std::size_t rank : {0, 1})
    EXPECT_EQ(tests::error_of<Error>([&] { std::rethrow_exception(thrown[rank]); }), "rank 2 gave up");
}

}  // namespace
}  // namespace gradus
