// Tests ranks whose engine makes single passes and keeps its labels, as GPU engines do. In one job, these ranks work
// together with other kinds of ranks.
#include <gtest/gtest.h>

#include "kmeans/assign/simd_rows.hpp"
#include "kmeans/gpu/rank_passes.hpp"
#include "kmeans/lloyd/idle_rank.hpp"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/points/host_points.hpp"
#include "kmeans/seeding/known_rows.hpp"
#include "kmeans/tests/ranks_job.hpp"

namespace gradus::kmeans_detail {
namespace {

using tests::Data;
using tests::Job;
using tests::make_job;
using tests::split;
using tests::ThreadRanks;

/// Counts the calls of an engine's functions, and selects the call that must fail.
struct EngineCalls {
  int started = 0;
  int passes = 0;
  int labels = 0;
  bool fails_to_start = false;
  bool fails_to_bring_labels = false;
};

/// An engine that follows the definition point by point.
template <class T>
class PlainPasses final : public RankPasses<T> {
 public:
  PlainPasses(const Problem<T>& problem, EngineCalls& calls)
      : problem_(problem), calls_(calls), sums_(problem), labels_(static_cast<std::size_t>(problem.n()), -1) {
    ++calls.started;
    if (calls.fails_to_start) throw OutOfMemoryError("the GPU is full");
  }

  std::int64_t make_pass(MatrixView<const T> centroids) override {
    ++calls_.passes;
    centroids_ = Matrix<T>::copy_of(centroids);
    std::int64_t changed = 0;
    for (std::int64_t point = 0; point < problem_.n(); ++point) {
      std::int32_t& label = labels_[static_cast<std::size_t>(point)];
      const T* const row = problem_.points.row(point);
      const std::int32_t nearest = nearest_to(row);
      if (label == nearest) continue;
      if (label >= 0) sums_.remove(point, row, label);
      sums_.add(point, row, nearest);
      label = nearest;
      ++changed;
    }
    return changed;
  }

  const ExactSums<T>& sums() const override { return sums_; }

  void bring_labels(std::int32_t* labels) override {
    ++calls_.labels;
    if (calls_.fails_to_bring_labels) throw Error("the GPU has fallen off the bus");
    std::ranges::copy(labels_, labels);
  }

  core::ExactAccumulator own_inertia() override {
    core::ExactTotal total;
    BlockRows<T> block(problem_.rows(), block_points);
    for (std::int64_t first = 0; first < problem_.n(); first += block_points) {
      block.begin({first, std::min(first + block_points, problem_.n())});
      add_inertia<T>(problem_, std::as_const(centroids_).view(), labels_.data(), block, total);
    }
    return total.sum(problem_.statistics.inertia, problem_.statistics.weight_exponent);
  }

  double rechecked() const override { return 0.5; }

 private:
  std::int32_t nearest_to(const T* point) const {
    std::int32_t nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t cluster = 0; cluster < problem_.k(); ++cluster) {
      const double distance = squared_distance(point, centroids_.row(cluster), problem_.d());
      if (!(distance < least)) continue;
      least = distance;
      nearest = static_cast<std::int32_t>(cluster);
    }
    return nearest;
  }

  const Problem<T>& problem_;
  EngineCalls& calls_;
  ExactSums<T> sums_;
  std::vector<std::int32_t> labels_;
  Matrix<T> centroids_;
};

/// Runs one rank's part of a fit. `calls` is the record of an engine that makes single passes. If `calls` is null, an
/// ordinary engine runs.
template <class T>
KMeansResult<T> fit_of_rank(const Job<T>& job, Communicator& communicator, std::int64_t from, std::int64_t rows,
                            EngineCalls* calls) {
  core::Ranks ranks(communicator, {});
  return ranks.run([&] {
    core::ExactAccumulator inertia;
    Problem<T> problem;
    problem.points = job.rows(from, rows);
    problem.weights = job.memory(from, rows).weights;
    if (rows == 0 && !job.weights.empty()) problem.weights = weights_of_no_rows<T>();
    problem.initial_centroids = job.given.view();
    const HostPoints<T> source(problem.points, problem.weights, 1, ranks.stop(), core::RankRows(ranks, rows));
    problem.source = &source;
    problem.statistics = examine(source, problem.initial_centroids);
    problem.max_iterations = job.options.max_iterations;
    problem.empty = job.options.empty;
    problem.rank_inertia = &inertia;
    problem.stop = ranks.stop();
    const Execution execution = job.execution(&communicator);
    std::vector<Phase> phases;
    if (rows == 0) return idle_rank(problem, execution, phases);
    if (calls == nullptr)
      return core::find_variant(variants(), "simd_small_dim", Room::name).run(problem, execution, phases);
    return fit_by_passes<T>(problem, execution, phases,
                            [&](std::vector<Phase>&) { return std::make_shared<PlainPasses<T>>(problem, *calls); });
  });
}

template <class T>
Job<T> fit_from_given(Data data, bool weighted, KMeansEmptyCluster empty = KMeansEmptyCluster::relocate) {
  Job<T> job = make_job<T>(400, 3, 9, data, KMeansInit::given, weighted);
  job.options.tolerance = 0;
  job.options.max_iterations = 20;
  job.options.empty = empty;
  return job;
}

/// Returns one pointer per rank. If the rank makes single passes, the pointer is its record; otherwise it is null. If
/// `all` is true, all ranks make single passes, otherwise every second rank does.
std::vector<EngineCalls*> calls_of(std::vector<EngineCalls>& calls, bool all) {
  std::vector<EngineCalls*> some;
  for (std::size_t rank = 0; rank < calls.size(); ++rank) some.push_back(all || rank % 2 == 0 ? &calls[rank] : nullptr);
  return some;
}

template <class T>
class KMeansRankPasses : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(KMeansRankPasses, Elements);

TYPED_TEST(KMeansRankPasses, give_the_bits_of_one_process) {
  using T = TypeParam;
  for (const Data data : {Data::plain, Data::wild, Data::ends})
    for (const bool weighted : {false, true})
      for (const KMeansEmptyCluster empty : {KMeansEmptyCluster::relocate, KMeansEmptyCluster::keep})
        for (const bool all : {false, true})
          for (const int size : {1, 2, 5}) {
            const tests::ForceSharedUpdate shared(all == weighted);
            const Job<T> job = fit_from_given<T>(data, weighted, empty);
            const KMeansResult<T> one = kmeans(job.points, job.options, job.memory(0, 400), job.execution(nullptr));
            std::vector<EngineCalls> calls(static_cast<std::size_t>(size));
            const std::vector<EngineCalls*> some = calls_of(calls, all);
            const auto call = [&](Communicator& communicator, std::int64_t from, std::int64_t rows) {
              return fit_of_rank(job, communicator, from, rows, some[static_cast<std::size_t>(communicator.rank())]);
            };
            EXPECT_EQ(tests::differs(one, size, "holes", call), "")
                << static_cast<int>(data) << ", weighted " << weighted << ", empty " << static_cast<int>(empty) << ", "
                << size << " ranks, all " << all;
            EXPECT_EQ(calls.front().started, 1);
            EXPECT_GE(calls.front().passes, one.iterations);
          }
}

// Labels must be transferred only if the caller needs them.
TYPED_TEST(KMeansRankPasses, keep_their_labels_to_the_end) {
  using T = TypeParam;
  const auto brought = [](Job<T> job, bool from_rows) {
    if (from_rows)
      for (std::int64_t cluster = 0; cluster < job.given.rows(); ++cluster)
        std::copy_n(job.points.row(cluster), job.points.columns(), job.given.row(cluster));
    std::vector<EngineCalls> calls(3);
    const std::vector<EngineCalls*> some = calls_of(calls, true);
    const KMeansResult<T> one = kmeans(job.points, job.options, job.memory(0, 400), job.execution(nullptr));
    EXPECT_EQ(tests::differs(one, 3, "even",
                             [&](Communicator& communicator, std::int64_t from, std::int64_t rows) {
                               return fit_of_rank(job, communicator, from, rows,
                                                  some[static_cast<std::size_t>(communicator.rank())]);
                             }),
              "");
    EXPECT_GT(one.iterations, 2);
    EXPECT_LE(calls[1].labels, calls[1].passes + 1);
    return calls[1].labels;
  };
  EXPECT_EQ(brought(fit_from_given<T>(Data::plain, false), true), 1);
  EXPECT_GT(brought(fit_from_given<T>(Data::wild, false), false), 1) << "means that the sums do not decide";
}

TYPED_TEST(KMeansRankPasses, fail_on_all_ranks) {
  using T = TypeParam;
  const auto error = [](const std::function<void(EngineCalls&)>& change) {
    const Job<T> job = fit_from_given<T>(Data::wild, false);
    std::vector<EngineCalls> calls(3);
    change(calls[1]);
    const std::vector<std::int64_t> first = split(400, 3, "even");
    ThreadRanks ranks(3);
    const auto thrown = ranks.run([&](Communicator& communicator) {
      const auto rank = static_cast<std::size_t>(communicator.rank());
      fit_of_rank(job, communicator, first[rank], first[rank + 1] - first[rank], rank == 1 ? &calls[rank] : nullptr);
    });
    std::string common;
    for (const std::exception_ptr& each : thrown) try {
        if (each) std::rethrow_exception(each);
        ADD_FAILURE() << "no error";
      } catch (const Error& one) {
        if (common.empty()) common = one.what();
        EXPECT_EQ(one.what(), common);
      }
    return common;
  };
  EXPECT_EQ(error([](EngineCalls& calls) { calls.fails_to_start = true; }), "rank 1 of 3: the GPU is full");
  EXPECT_EQ(error([](EngineCalls& calls) { calls.fails_to_bring_labels = true; }),
            "rank 1 of 3: the GPU has fallen off the bus");
}

}  // namespace
}  // namespace gradus::kmeans_detail
