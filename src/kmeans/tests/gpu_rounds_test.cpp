// Tests sizes at which every loop of the exact GPU variants runs several rounds. Data that a round leaves in shared
// memory must not disturb the next round. The cases of the ladder are too small for this, because a GPU with 132
// multiprocessors processes a few hundred thousand points at once. On a machine without a GPU, the tests are skipped
// with a message.
#include <cmath>
#include <string>
#include <vector>

#include "core/philox.hpp"
#include "kmeans/cases.hpp"
#include "kmeans/tests/job.hpp"
#include "tests/on_gpu.hpp"

namespace gradus::kmeans_detail {
namespace {

using tests::same_bits;

Matrix<double> uniform(std::int64_t n, std::int64_t d) {
  Matrix<double> points(n, d);
  const core::Philox random(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(d));
  for (std::int64_t index = 0; index < n * d; ++index)
    points.data()[index] = 10 * random.uniform(static_cast<std::uint64_t>(index));
  return points;
}

CaseData spread(std::int64_t n, std::int64_t d, std::int64_t clusters) {
  CaseData data;
  data.points = uniform(n, d);
  data.clusters = clusters;
  data.max_iterations = 3;
  return data;
}

CaseData weighted(CaseData data) {
  for (std::int64_t row = 0; row < data.points.rows(); ++row)
    data.weights.push_back(0.25 * static_cast<double>(row % 7));
  return data;
}

/// Returns a case in which several initial centroids are equal, so that no filter can find the nearest one. One half of
/// the centroids are all equal. The other half consists of pairs of equal centroids.
CaseData doubtful(std::int64_t n, std::int64_t d, std::int64_t clusters) {
  CaseData data = spread(n, d, clusters);
  for (std::int64_t index = 0; index < n * d; ++index)
    data.points.data()[index] = std::floor(data.points.data()[index] / 5);
  for (std::int64_t cluster = 0; cluster < clusters; ++cluster)
    data.first_rows.push_back(cluster < clusters / 2 ? 0 : 1 + cluster / 2);
  data.empty = KMeansEmptyCluster::keep;
  data.max_iterations = 2;
  data.well_conditioned = false;
  return data;
}

class Rounds : public tests::OnGpu {
 protected:
  static std::vector<const Variant*> exact_gpu_variants(const Shape& shape) {
    std::vector<const Variant*> exact;
    for (const Variant& variant : variants())
      if (variant.backend == core::Backend::cuda && variant.contract == core::Contract::same_bits &&
          variant.supports(shape, execution::this_machine()))
        exact.push_back(&variant);
    return exact;
  }

  template <class T>
  static void expect_oracle(const CaseData& data) {
    const PreparedCase<T> prepared(data);
    const Shape shape = prepared.shape();
    for (const Variant* variant : exact_gpu_variants(shape))
      EXPECT_EQ(prepared.check(*variant, {}), "")
          << variant->name << ", " << shape.points << " x " << shape.dimensions << (shape.weighted ? ", weights" : "");
  }
  static void expect_oracle_in_both_types(const CaseData& data) {
    expect_oracle<float>(data);
    expect_oracle<double>(data);
  }

  /// Compares the variants with an exact CPU variant, for sizes at which the oracle would take minutes.
  template <class T>
  static void expect_processor(std::int64_t n, std::int64_t d, std::int64_t clusters, int block_size,
                               const std::vector<std::string>& names, int iterations = 2) {
    const Matrix<double> wide = uniform(n, d);
    Matrix<T> points(n, d);
    for (std::int64_t index = 0; index < n * d; ++index) points.data()[index] = static_cast<T>(wide.data()[index]);
    KMeansJob<T> options;
    options.clusters = clusters;
    options.init = KMeansInit::first;
    options.max_iterations = iterations;
    Execution execution;
    execution.device = Device::cpu;
    const KMeansResult<T> truth = kmeans(points.view(), options, execution);
    execution.device = Device::gpu;
    execution.block_size = block_size;
    for (const std::string& name : names) {
      execution.variant = name;
      const KMeansResult<T> result = kmeans(points.view(), options, execution);
      const std::string what = name + ", " + std::to_string(n) + " x " + std::to_string(d) + ", blocks of " +
                               std::to_string(block_size) + ", " + std::to_string(8 * sizeof(T)) + " bits";
      EXPECT_EQ(result.counts, truth.counts) << what;
      EXPECT_EQ(result.inertia, truth.inertia) << what;
      EXPECT_TRUE(same_bits(result.labels.data(), truth.labels.data(), n)) << what;
      EXPECT_TRUE(same_bits(result.centroids.data(), truth.centroids.data(), clusters * d)) << what;
    }
  }
};

// In the second iteration, more than half a million points move, but fewer than half of all points. This tests both
// ways to order entries: the first iteration orders all points, and the second iteration orders only the moved points.
TEST_F(Rounds, many_points_move) {
  CaseData data = spread(3000000, 1, 2);
  data.points(0, 0) = 0;
  data.points(1, 0) = 1;
  expect_oracle_in_both_types(data);
}

// Tests the kernels for fixed numbers of columns: with few points (below 2048 per multiprocessor) and with many points.
TEST_F(Rounds, few_columns) {
  for (const std::int64_t d : {1, 2, 3, 4}) {
    expect_oracle_in_both_types(spread(200001, d, 5));
    expect_oracle_in_both_types(spread(d == 1 ? 1200001 : 700001, d, 5));
  }
  expect_oracle_in_both_types(weighted(spread(1200001, 1, 3)));
  CaseData directions = spread(400001, 2, 5);
  directions.metric = KMeansMetric::cosine;
  expect_oracle_in_both_types(directions);
}

TEST_F(Rounds, more_columns) {
  for (const std::int64_t d : {5, 8, 13, 16}) expect_oracle_in_both_types(spread(300001, d, 6));
  expect_oracle_in_both_types(weighted(spread(300001, 7, 6)));
}

// The canonical chain decides all points. There are more candidates than fit in the memory for candidates. Points with
// 20 columns are resident, points with 257 columns are streamed.
TEST_F(Rounds, all_points_are_doubtful) {
  expect_oracle_in_both_types(doubtful(80000, 20, 24));
  expect_oracle_in_both_types(doubtful(80000, 257, 8));
}

// There are more clusters than counters in shared memory, and more clusters than threads in a block.
TEST_F(Rounds, thousands_of_clusters) {
  expect_processor<float>(1200001, 1, 9000, 0, {"cuda_tensor"});
  expect_processor<double>(30000, 1, 9000, 0, {"cuda_tensor"});
  expect_processor<float>(30000, 100, 3500, 0, {"cuda_tensor"});
}

// Tests every kind of tile, with more points than all multiprocessors process at once. After enough iterations, few
// labels change, and the points are ordered by label.
TEST_F(Rounds, tiles_of_ordered_points) {
  expect_processor<float>(70001, 20, 300, 0, {"cuda_tensor"}, 9);
  expect_processor<float>(70001, 100, 400, 0, {"cuda_tensor"}, 9);
  expect_processor<double>(40001, 128, 200, 0, {"cuda_tensor"}, 9);
  expect_processor<float>(40001, 140, 100, 0, {"cuda_tensor"}, 9);
  expect_processor<float>(40001, 200, 500, 0, {"cuda_tensor"}, 9);
}

// With this number of clusters, a multiprocessor has room for only one block of two warps. The queue of the block is
// filled several times.
TEST_F(Rounds, small_blocks_with_large_tables) {
  const std::vector<std::string> resident = {"cuda_small_dim", "cuda_ordered"};
  expect_processor<float>(2400001, 1, 1500, 64, resident);
  expect_processor<double>(2400001, 1, 1500, 64, resident);
  expect_processor<float>(2400001, 2, 1000, 64, resident);
  expect_processor<float>(2400001, 3, 800, 64, resident);
  expect_processor<float>(2400001, 4, 700, 64, resident);
}

// Tests the rungs whose contract is a tolerance.
TEST_F(Rounds, teaching_rungs) {
  const CaseData data = spread(600001, 3, 5);
  const PreparedCase<float> prepared(data);
  for (const Variant& variant : variants()) {
    if (variant.backend != core::Backend::cuda || variant.contract != core::Contract::within) continue;
    EXPECT_EQ(prepared.check(variant, {}), "") << variant.name;
  }
}

}  // namespace
}  // namespace gradus::kmeans_detail
