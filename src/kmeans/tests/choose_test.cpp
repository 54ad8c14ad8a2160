// Compares kmeans_choose() with separate calls of kmeans() and kmeans_criteria().
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gradus/kmeans_choose.hpp"
#include "tests/helpers.hpp"
#include "tests/thread_ranks.hpp"

namespace gradus {
namespace {

using tests::contains;
using tests::error_of;
using tests::same_bits;

constexpr KMeansCriterion criteria[] = {KMeansCriterion::silhouette, KMeansCriterion::calinski_harabasz,
                                        KMeansCriterion::davies_bouldin, KMeansCriterion::elbow};

template <class T>
class Choose : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(Choose, Elements);

/// Returns points in four groups. An additional column has large values that do not depend on the group.
template <class T>
Matrix<T> four_groups(std::int64_t n) {
  std::mt19937 random(8);
  std::normal_distribution<double> normal;
  Matrix<T> points(n, 3);
  for (std::int64_t row = 0; row < n; ++row) {
    points(row, 0) = static_cast<T>(normal(random) * 0.5 + static_cast<double>(row % 2) * 9 + 20);
    points(row, 1) = static_cast<T>(normal(random) * 0.5 + static_cast<double>(row / 2 % 2) * 7 + 20);
    points(row, 2) = static_cast<T>(normal(random) * 1000);
  }
  return points;
}

std::optional<std::size_t> plainly_recommended(const std::vector<KMeansCandidate>& candidates,
                                               KMeansCriterion criterion) {
  const auto value_of = [&](const KMeansCandidate& one) -> std::optional<double> {
    const KMeansCandidate& first = candidates.front();
    const KMeansCandidate& last = candidates.back();
    const auto share = [](double from, double at, double to) { return (at - from) / (to - from); };
    if (criterion == KMeansCriterion::elbow)
      return share(first.inertia, one.inertia, last.inertia) - share(static_cast<double>(first.clusters),
                                                                     static_cast<double>(one.clusters),
                                                                     static_cast<double>(last.clusters));
    if (!one.criteria) return std::nullopt;
    if (criterion == KMeansCriterion::silhouette) return one.criteria->silhouette;
    return criterion == KMeansCriterion::calinski_harabasz ? one.criteria->calinski_harabasz
                                                           : -one.criteria->davies_bouldin;
  };
  std::optional<std::size_t> best;
  for (std::size_t index = 0; index < candidates.size(); ++index) {
    const std::optional<double> value = value_of(candidates[index]);
    if (value && (!best || *value > *value_of(candidates[*best]))) best = index;
  }
  return best;
}

TYPED_TEST(Choose, ComparesTheFitsThatAreMadeAlone) {
  const Matrix<TypeParam> points = four_groups<TypeParam>(80);
  std::vector<TypeParam> weights;
  for (int row = 0; row < 80; ++row) weights.push_back(static_cast<TypeParam>(1 + row % 3));
  const std::vector<std::int64_t> numbers{1, 2, 4, 6, 80};
  for (const KMeansMetric metric : {KMeansMetric::euclidean, KMeansMetric::cosine})
    for (const bool standardize : {false, true})
      for (const KMeansCriterion criterion : criteria) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(metric) << standardize << static_cast<int>(criterion));
        KMeansOptions options{
            .clusters = 99999, .restarts = 2, .metric = metric, .standardize = standardize, .seed = 4};
        const KMeansMemory<TypeParam> memory{.weights = weights};
        const KMeansChoice<TypeParam> choice =
            kmeans_choose(points, options, {.clusters = numbers, .criterion = criterion}, memory, {.threads = 1});
        ASSERT_EQ(choice.candidates.size(), numbers.size());
        EXPECT_EQ(choice.silhouette_points, 80);
        for (std::size_t index = 0; index < numbers.size(); ++index) {
          options.clusters = numbers[index];
          const KMeansResult<TypeParam> alone = kmeans(points, options, memory, {.threads = 1});
          const KMeansCandidate& one = choice.candidates[index];
          EXPECT_EQ(one.clusters, numbers[index]);
          EXPECT_EQ(one.inertia, alone.inertia);
          EXPECT_EQ(one.iterations, alone.iterations);
          ASSERT_EQ(one.criteria.has_value(), numbers[index] > 1 && numbers[index] < 80);
          if (one.criteria) {
            const Matrix<TypeParam> rows = standardize ? kmeans_standardize(points, alone.standardization)
                                                       : Matrix<TypeParam>::copy_of(points.view());
            const KMeansCriteria expected =
                kmeans_criteria(rows, alone.labels.view(), {.metric = metric, .seed = 4}, {.threads = 1})
                    .labelings.at(0);
            EXPECT_EQ(one.criteria->silhouette, expected.silhouette);
            EXPECT_EQ(one.criteria->calinski_harabasz, expected.calinski_harabasz);
            EXPECT_EQ(one.criteria->davies_bouldin, expected.davies_bouldin);
          }
          if (index != choice.chosen) continue;
          EXPECT_TRUE(same_bits(choice.result.labels.data(), alone.labels.data(), 80));
          EXPECT_TRUE(same_bits(choice.result.centroids, alone.centroids));
          EXPECT_TRUE(same_bits(choice.result.standardized_centroids, alone.standardized_centroids));
          EXPECT_EQ(choice.result.standardization.mean, alone.standardization.mean);
          EXPECT_EQ(choice.result.inertia, alone.inertia);
        }
        for (const KMeansCriterion each : criteria)
          EXPECT_EQ(kmeans_recommended(choice.candidates, each), plainly_recommended(choice.candidates, each));
        EXPECT_EQ(choice.chosen, plainly_recommended(choice.candidates, criterion).value());
        EXPECT_EQ(choice.report.variant, choice.result.report.variant);
        EXPECT_EQ(choice.report.phases.front().name, standardize ? "standardize" : "fit");
        EXPECT_EQ(choice.report.phases.back().name, "total");
      }
}

TYPED_TEST(Choose, LeavesTheLabelsInTheCallersMemory) {
  const Matrix<TypeParam> points = four_groups<TypeParam>(60);
  const KMeansChoiceOptions numbers{.clusters = {2, 3, 4}};
  const KMeansChoice<TypeParam> expected = kmeans_choose(points, {}, numbers);
  std::vector<std::int32_t> labels(60, -1);
  const KMeansChoice<TypeParam> choice = kmeans_choose(points, {}, numbers, {.labels = labels});
  EXPECT_EQ(choice.result.labels.size(), 0);
  EXPECT_TRUE(same_bits(labels.data(), expected.result.labels.data(), 60));
}

TYPED_TEST(Choose, DrawsTheSilhouettesPointsByTheSeed) {
  const Matrix<TypeParam> points = four_groups<TypeParam>(300);
  const KMeansOptions options{.seed = 9};
  const KMeansChoice<TypeParam> choice = kmeans_choose(points, options, {.clusters = {4}, .silhouette_points = 50});
  EXPECT_EQ(choice.silhouette_points, 50);
  EXPECT_EQ(choice.candidates[0].criteria->silhouette,
            kmeans_criteria(points, choice.result.labels.view(), {.silhouette_points = 50, .seed = 9})
                .labelings.at(0)
                .silhouette);
}

TEST(Recommended, IsTheFirstOfEqualOnesAndNothingWhereNoneHasAValue) {
  const auto with = [](std::optional<double> silhouette, double calinski_harabasz, double davies_bouldin) {
    return KMeansCandidate{.criteria = KMeansCriteria{silhouette, calinski_harabasz, davies_bouldin},
                           .elbow = -davies_bouldin};
  };
  const std::vector<KMeansCandidate> none{{}, {}};
  for (const KMeansCriterion criterion : criteria) {
    EXPECT_EQ(kmeans_recommended({}, criterion), std::nullopt);
    EXPECT_EQ(kmeans_recommended(none, criterion), std::nullopt);
  }
  const std::vector<KMeansCandidate> some{{}, with({}, 1, 3), with(0.5, 2, 2), with(0.5, 2, 2), with(-1, 1, 4)};
  for (const KMeansCriterion criterion : criteria) EXPECT_EQ(kmeans_recommended(some, criterion), 2U);
  EXPECT_EQ(kmeans_criterion(some[0], KMeansCriterion::davies_bouldin), std::nullopt);
  EXPECT_EQ(kmeans_criterion(some[1], KMeansCriterion::silhouette), std::nullopt);
  EXPECT_EQ(kmeans_criterion(some[4], KMeansCriterion::davies_bouldin), 4);
}

TEST(ChooseCalls, FindTheElbow) {
  const Matrix<double> points = four_groups<double>(300);
  const std::vector<KMeansCandidate> some =
      kmeans_choose(points, {.standardize = true, .seed = 1}, {.clusters = {1, 2, 3, 4, 5, 6, 9, 12}}).candidates;
  EXPECT_EQ(some.front().elbow, 0);
  EXPECT_EQ(some.back().elbow, 0);
  EXPECT_EQ(kmeans_recommended(some, KMeansCriterion::elbow), 3U);
  for (const std::vector<std::int64_t>& clusters : {std::vector<std::int64_t>{4}, {2, 9}})
    for (const KMeansCandidate& one : kmeans_choose(points, {}, {.clusters = clusters}).candidates)
      EXPECT_EQ(one.elbow, std::nullopt);
}

TEST(ChooseCalls, WithoutACriterionKeepTheFirstFit) {
  const Matrix<double> points = four_groups<double>(12);
  const KMeansChoice<double> choice = kmeans_choose(points, {}, {.clusters = {1, 12}});
  EXPECT_EQ(choice.chosen, 0U);
  EXPECT_EQ(choice.result.centroids.rows(), 1);
}

TEST(ChooseCalls, RefuseWhatCannotBe) {
  const Matrix<float> points = four_groups<float>(40);
  struct Wrong {
    std::string says;
    KMeansChoiceOptions choice;
    KMeansOptions options = {};
    Execution execution = {};
  };
  KMeansOptions given{.init = KMeansInit::given};
  Execution graph;
  graph.variant_options = {{"dump_graph", "graph.dot"}};
  KMeansOptions kept;
  kept.checkpoint.file = "fit.npz";
  for (const auto& [says, choice, options, execution] :
       std::vector<Wrong>{{"at least one is needed", {}},
                          {"2 follows 3; ascending numbers", {.clusters = {3, 2}}},
                          {"3 follows 3", {.clusters = {3, 3}}},
                          {"at least 1, not 0", {.clusters = {0, 3}}},
                          {"criterion: 9", {.clusters = {2, 3}, .criterion = static_cast<KMeansCriterion>(9)}},
                          {"at least 2 points, not 1", {.clusters = {2, 3}, .silhouette_points = 1}},
                          {"init: the given centroids belong to one fit", {.clusters = {2, 3}}, given},
                          {"dump_graph: the graph belongs to one fit", {.clusters = {2, 3}}, {}, graph},
                          {"checkpoint: the file belongs to one fit", {.clusters = {2, 3}}, kept},
                          {"restarts must be at least", {.clusters = {2, 3}}, {.restarts = -1}}}) {
    const std::string message = error_of<UsageError>([&, &choice = choice, &options = options, &execution = execution] {
      kmeans_choose(points, options, choice, {}, execution);
    });
    EXPECT_TRUE(contains(message, says)) << message;
  }
  std::vector<std::int32_t> labels(39);
  EXPECT_THROW(kmeans_choose(points, {}, {.clusters = {2}}, {.labels = labels}), UsageError);
  EXPECT_THROW(kmeans_choose(MatrixView<const float>(nullptr, 4, 4), {}, {.clusters = {2}}), UsageError);

  tests::ThreadRanks ranks(1);
  const auto thrown = ranks.run([&](Communicator& communicator) {
    kmeans_choose(points, {}, {.clusters = {2}}, {}, {.communicator = &communicator});
  });
  EXPECT_THROW(std::rethrow_exception(thrown.front()), UnsupportedError);
}

TEST(ChooseCalls, OnGpusNeedTheGpus) {
  const Matrix<float> points = four_groups<float>(40);
  const KMeansChoiceOptions numbers{.clusters = {2, 3}};
  Execution execution;
  execution.gpus = {0, 999};
  const std::string missing = error_of<UnsupportedError>([&] { kmeans_choose(points, {}, numbers, {}, execution); });
  EXPECT_TRUE(contains(missing, "GPU")) << missing;
  execution.device = Device::cpu;
  EXPECT_THROW(kmeans_choose(points, {}, numbers, {}, execution), UsageError);
  EXPECT_THROW(kmeans_choose_memory({40, 3, 4}, {}, numbers, execution), UsageError);
}

TEST(ChooseCalls, RefuseTooManyClustersAndTooMuchMemoryBeforeTheFirstFit) {
  const Matrix<float> points = four_groups<float>(200);
  int reports = 0;
  Execution execution{.progress = [&](const Progress&) { ++reports; }};
  std::vector<std::int64_t> numbers;
  for (std::int64_t number = 2; number <= 300; ++number) numbers.push_back(number);
  const std::string message =
      error_of<InputError>([&] { kmeans_choose(points, {}, {.clusters = numbers}, {}, execution); });
  EXPECT_TRUE(contains(message, "201 clusters were asked for, but there are only 200 points")) << message;
  numbers.resize(199);
  const std::uint64_t needed = kmeans_choose_memory({200, 3, 4}, {}, {.clusters = numbers}, execution).host;
  execution.memory_limit = needed / 2;
  EXPECT_THROW(kmeans_choose(points, {}, {.clusters = numbers}, {}, execution), OutOfMemoryError);
  EXPECT_EQ(reports, 0);
  execution.memory_limit = needed;
  EXPECT_NO_THROW(kmeans_choose(points, {}, {.clusters = numbers}, {}, execution));
  EXPECT_GE(reports, 199);
}

TEST(ChooseMemory, CountsTheResultsOfAllFits) {
  constexpr KMeansShape shape{1000, 8, 4};
  const std::uint64_t one = kmeans_choose_memory(shape, {}, {.clusters = {9}}).host;
  const std::uint64_t two = kmeans_choose_memory(shape, {}, {.clusters = {8, 9}}).host;
  EXPECT_GE(two - one, 4U * 1000 + 8 * (8 * 4 + 8));
  EXPECT_GE(one, kmeans_memory(shape, {.clusters = 9}).host);
  EXPECT_EQ(kmeans_choose_memory(shape, {.standardize = true}, {.clusters = {9}}).host,
            one + std::uint64_t{1000} * 8 * 4);
  EXPECT_THROW(kmeans_choose_memory(shape, {}, {.clusters = {1001}}), UsageError);
}

TEST(ChooseCalls, ReportTheFitsAndStopBetweenThem) {
  const Matrix<float> points = four_groups<float>(40);
  std::stop_source stop;
  std::vector<std::string> told;
  const Execution execution{.progress =
                                [&](const Progress& progress) {
                                  if (progress.phase != "clusters") return;
                                  told.push_back(std::to_string(progress.done) + " of " +
                                                 std::to_string(progress.total) + ", " + std::string(progress.detail));
                                  if (progress.done == 1) stop.request_stop();
                                },
                            .stop = stop.get_token()};
  EXPECT_THROW(kmeans_choose(points, {}, {.clusters = {2, 5, 7}}, {}, execution), InterruptedError);
  EXPECT_EQ(told, (std::vector<std::string>{"0 of 3, k = 2", "1 of 3, k = 5"}));
}

}  // namespace
}  // namespace gradus
