// Tests three properties of the initial centroids: they do not depend on the number of threads, they are the same as
// with the plain algorithms, and they lead to good fits.
#include "kmeans/seeding/initialize.hpp"
#include "kmeans/tests/job.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/exact_sum.hpp"
#include "core/philox.hpp"
#include "kmeans/points/host_points.hpp"
#include "kmeans/problem.hpp"
#include "tests/helpers.hpp"

namespace gradus::kmeans_detail {
namespace {

template <class T>
struct Data {
  Matrix<T> points;
  std::vector<T> weights;
  MatrixView<const T> view() const { return points.view(); }
};

/// Returns points in `blobs` normal clouds of unit variance. The average distance between the centres of the clouds is
/// `distance`. One sixth of the weights are zero.
template <class T>
Data<T> blobs(std::int64_t n, std::int64_t d, std::int64_t blobs, double distance, bool weighted, double offset = 0) {
  std::mt19937_64 random(static_cast<unsigned>(n + d));
  std::normal_distribution<double> normal;
  std::vector<double> centres(static_cast<std::size_t>(blobs * d));
  for (double& coordinate : centres) coordinate = distance * normal(random);
  Data<T> data{Matrix<T>(n, d), {}};
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t dim = 0; dim < d; ++dim)
      data.points(row, dim) =
          static_cast<T>(offset + centres[static_cast<std::size_t>(row % blobs * d + dim)] + normal(random));
  if (weighted)
    for (std::int64_t row = 0; row < n; ++row) data.weights.push_back(static_cast<T>(random() % 6));
  return data;
}

template <class T>
Matrix<T> run(const Data<T>& data, KMeansInit init, std::int64_t k, std::uint64_t seed = 0, int threads = 1,
              int restart = 0) {
  KMeansJob<T> options;
  options.clusters = k;
  options.init = init;
  options.seed = seed;
  options.weights = {data.weights.data(), static_cast<std::int64_t>(data.weights.size())};
  Execution execution;
  execution.threads = threads;
  return initialize(HostPoints<T>(data.view(), options.weights, threads), options, {}, execution, restart).centroids;
}

template <class T>
bool same(const T* a, const T* b, std::int64_t count) {
  return std::memcmp(a, b, static_cast<std::size_t>(count) * sizeof(T)) == 0;
}

template <class T>
std::vector<std::int64_t> rows_found(const Data<T>& data, const Matrix<T>& centroids) {
  std::map<std::string, std::int64_t> rows;
  const auto key = [&](const T* row) {
    return std::string(reinterpret_cast<const char*>(row), static_cast<std::size_t>(data.points.columns()) * sizeof(T));
  };
  for (std::int64_t row = data.points.rows() - 1; row >= 0; --row) rows[key(data.points.row(row))] = row;
  std::vector<std::int64_t> found;
  for (std::int64_t cluster = 0; cluster < centroids.rows(); ++cluster) {
    const auto at = rows.find(key(centroids.row(cluster)));
    found.push_back(at == rows.end() ? -1 : at->second);
  }
  return found;
}

/// Greedy k-means++ and k-means|| in plain code. Each step computes all distances and sums again.
template <class T>
class Plain {
 public:
  /// `draw` is the index of the first random number.
  Plain(const Data<T>& data, const core::Philox& random, std::uint64_t draw = 0)
      : data_(data), random_(random), draw_(draw), closest_(static_cast<std::size_t>(rows()), 1.0) {
    for (const T each : data.weights) heaviest_ = std::max(heaviest_, static_cast<double>(each));
    if (data.weights.empty()) heaviest_ = 1;
    else unit_ = std::ldexp(1.0, -core::exponent_above(heaviest_));
    heaviest_ *= unit_;
    scale_ = scale_for(heaviest_);
  }

  std::vector<std::int64_t> plus_plus(std::int64_t k) {
    const int trials = 2 + static_cast<int>(std::log(static_cast<double>(k)));
    while (std::ssize(chosen_) < k) {
      std::int64_t best = -1;
      std::uint64_t least = ~std::uint64_t{0};
      for (int trial = 0; trial < (chosen_.empty() ? 1 : trials); ++trial) {
        const std::int64_t candidate = drawn_row();
        std::uint64_t potential = 0;
        if (!chosen_.empty())
          for (std::int64_t row = 0; row < rows(); ++row)
            potential += integer(row, std::min(closest_[static_cast<std::size_t>(row)], distance(row, candidate)));
        if (potential < least) {
          least = potential;
          best = candidate;
        }
      }
      choose({best});
    }
    return chosen_;
  }

  std::vector<std::int64_t> parallel(std::int64_t k) {
    choose({drawn_row()});
    for (int round = 0; round < 5 && total() > 0; ++round) {
      std::vector<std::int64_t> drawn;
      for (std::int64_t row = 0; row < rows(); ++row) {
        const std::uint64_t share = integer(row, closest_[static_cast<std::size_t>(row)]);
        const std::uint64_t bits =
            random_.bits(static_cast<std::uint64_t>(round + 1) << 48 | static_cast<std::uint64_t>(row));
        // The row is drawn if bits / 2^64 < 2 k share / total.
        __extension__ using Wide = unsigned __int128;
        const Wide wanted = Wide{2} * static_cast<Wide>(k) * share;
        if (wanted >= total() || Wide{bits} * total() < (wanted << 64)) drawn.push_back(row);
      }
      choose(drawn);
    }
    // The weight of a chosen row is the sum of the weights of all points whose nearest chosen row is this row.
    std::vector<std::uint64_t> weights(chosen_.size());
    const double grid = scale_for(heaviest_);
    for (std::int64_t row = 0; row < rows(); ++row) {
      std::size_t nearest = 0;
      for (std::size_t place = 1; place < chosen_.size(); ++place)
        if (distance(row, chosen_[place]) < distance(row, chosen_[nearest])) nearest = place;
      weights[nearest] += data_.weights.empty() ? 1 : static_cast<std::uint64_t>(std::nearbyint(weight(row) * grid));
    }
    std::vector<std::int64_t> sample;
    Data<T> of_sample{Matrix<T>(std::ssize(weights) - std::ranges::count(weights, 0u), data_.points.columns()), {}};
    for (std::size_t place = 0; place < chosen_.size(); ++place) {
      if (weights[place] == 0) continue;
      std::copy_n(data_.view().row(chosen_[place]), data_.points.columns(), of_sample.points.row(std::ssize(sample)));
      of_sample.weights.push_back(static_cast<T>(weights[place]));
      sample.push_back(chosen_[place]);
    }
    std::vector<std::int64_t> rows = Plain(of_sample, random_, draw_).plus_plus(k);
    for (std::int64_t& row : rows) row = sample[static_cast<std::size_t>(row)];
    return rows;
  }

 private:
  std::int64_t rows() const { return data_.points.rows(); }
  double scale_for(double largest) const { return core::Grid(core::exponent_above(largest), rows()).to_high; }
  double weight(std::int64_t row) const {
    return data_.weights.empty() ? 1.0 : static_cast<double>(data_.weights[static_cast<std::size_t>(row)]) * unit_;
  }
  std::uint64_t integer(std::int64_t row, double distance) const {
    return static_cast<std::uint64_t>(std::nearbyint(weight(row) * distance * scale_));
  }
  std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (std::int64_t row = 0; row < rows(); ++row) sum += integer(row, closest_[static_cast<std::size_t>(row)]);
    return sum;
  }
  std::int64_t drawn_row() {
    std::uint64_t target = random_.below(draw_++, total());
    std::int64_t row = 0;
    for (; target >= integer(row, closest_[static_cast<std::size_t>(row)]); ++row)
      target -= integer(row, closest_[static_cast<std::size_t>(row)]);
    return row;
  }
  double distance(std::int64_t a, std::int64_t b) const {
    return squared_distance(data_.view().row(a), data_.view().row(b), data_.points.columns());
  }

  /// Adds the chosen rows of a step or round. Computes the integers again if the sum has fallen below a quarter of its
  /// value at the last such computation.
  void choose(const std::vector<std::int64_t>& rows_of_step) {
    for (const std::int64_t chosen : rows_of_step) {
      for (std::int64_t row = 0; row < rows(); ++row) {
        double& nearest = closest_[static_cast<std::size_t>(row)];
        nearest = chosen_.empty() ? distance(row, chosen) : std::min(nearest, distance(row, chosen));
      }
      chosen_.push_back(chosen);
    }
    if (chosen_.size() > 1 && total() >= mark_ / 4) return;
    double largest = 0;
    for (std::int64_t row = 0; row < rows(); ++row)
      largest = std::max(largest, weight(row) * closest_[static_cast<std::size_t>(row)]);
    scale_ = scale_for(largest);
    mark_ = total();
  }

  const Data<T>& data_;
  const core::Philox& random_;
  std::uint64_t draw_;
  double heaviest_ = 0;
  double unit_ = 1;
  double scale_ = 1;
  std::uint64_t mark_ = 0;
  std::vector<double> closest_;
  std::vector<std::int64_t> chosen_;
};

template <class T>
std::vector<std::int64_t> plain_plus_plus(const Data<T>& data, std::int64_t k, std::uint64_t seed) {
  const core::Philox random(seed, 0);
  return Plain<T>(data, random).plus_plus(k);
}

template <class T>
double inertia_after_lloyd(const Data<T>& data, KMeansInit init, std::int64_t k, std::uint64_t seed) {
  KMeansJob<T> options;
  options.clusters = k;
  options.init = init;
  options.seed = seed;
  Execution execution;
  execution.threads = 2;
  return kmeans(data.view(), options, execution).inertia;
}

constexpr KMeansInit all_inits[] = {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel, KMeansInit::random,
                                    KMeansInit::first};
constexpr KMeansInit drawing_inits[] = {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel, KMeansInit::random};

template <class T>
class Initialize : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Initialize, Types);

TYPED_TEST(Initialize, IsTheSameForAnyNumberOfThreads) {
  using T = TypeParam;
  for (const bool weighted : {false, true})
    for (const std::int64_t k : {1, 12}) {
      const Data<T> data = blobs<T>(16500, 16, 20, 8, weighted);
      for (const KMeansInit init : all_inits) {
        const Matrix<T> one = run(data, init, k, 5, 1);
        for (const int threads : {2, 3, 7, 16}) {
          const Matrix<T> other = run(data, init, k, 5, threads);
          EXPECT_TRUE(same(one.data(), other.data(), k * 16)) << "init " << static_cast<int>(init) << ", k " << k
                                                              << ", " << threads << " threads, weights " << weighted;
        }
      }
    }
}

TYPED_TEST(Initialize, TakesRowsOfTheDataThatHaveWeight) {
  using T = TypeParam;
  const Data<T> data = blobs<T>(3000, 4, 10, 5, true);
  for (const KMeansInit init : drawing_inits) {
    const std::vector<std::int64_t> rows = rows_found(data, run(data, init, 200));
    EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), 200u) << "init " << static_cast<int>(init);
    for (const std::int64_t row : rows) {
      ASSERT_GE(row, 0) << "init " << static_cast<int>(init) << " gave a centroid that is no row";
      ASSERT_GT(data.weights[static_cast<std::size_t>(row)], 0) << "init " << static_cast<int>(init) << ", row " << row;
    }
  }
}

// Only the ratios of the weights matter. The test uses double, because a weight of type float cannot be small enough to
// cause difficulties.
TEST(InitializeTiny, DrawsByTheSmallestWeightsAsByOrdinaryOnes) {
  const Data<double> data = blobs<double>(3000, 4, 10, 5, true);
  for (const int exponent : {-300, -800, -942, -960, -1000, -1022, -1050, -1074}) {
    Data<double> tiny{Matrix<double>::copy_of(data.view()), data.weights};
    for (double& weight : tiny.weights) weight = std::ldexp(weight, exponent);
    for (const KMeansInit init : drawing_inits)
      EXPECT_TRUE(same(run(data, init, 40).data(), run(tiny, init, 40).data(), 160))
          << "init " << static_cast<int>(init) << ", weights times 2^" << exponent;
  }
}

// When all heavy rows have been drawn, light rows are drawn with probabilities proportional to their weights.
TEST(InitializeTiny, DrawsTheSmallestWeightsAfterOrdinaryOnes) {
  Data<double> data = blobs<double>(50, 2, 10, 5, true);
  for (std::size_t row = 0; row < 50; ++row) data.weights[row] = row < 5 ? 1.0 : 0x1p-1074;
  for (const KMeansInit init : drawing_inits) {
    const std::vector<std::int64_t> rows = rows_found(data, run(data, init, 20));
    EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), 20u) << "init " << static_cast<int>(init);
  }
}

TYPED_TEST(Initialize, SeedsAndRestartsDiffer) {
  using T = TypeParam;
  const Data<T> data = blobs<T>(2000, 2, 1, 0, false);
  for (const KMeansInit init : drawing_inits) {
    const Matrix<T> one = run(data, init, 8, 1);
    EXPECT_FALSE(same(one.data(), run(data, init, 8, 2).data(), 16)) << "init " << static_cast<int>(init);
    EXPECT_FALSE(same(one.data(), run(data, init, 8, 1, 1, 1).data(), 16)) << "init " << static_cast<int>(init);
  }
}

TYPED_TEST(Initialize, AsManyClustersAsPoints) {
  using T = TypeParam;
  const Data<T> data = blobs<T>(150, 3, 4, 10, false);
  for (const KMeansInit init : drawing_inits) {
    std::vector<std::int64_t> rows = rows_found(data, run(data, init, 150));
    std::sort(rows.begin(), rows.end());
    for (std::int64_t row = 0; row < 150; ++row)
      ASSERT_EQ(rows[static_cast<std::size_t>(row)], row) << "init " << static_cast<int>(init);
  }
}

TYPED_TEST(Initialize, PlusPlusIsThePlainAlgorithm) {
  using T = TypeParam;
  const auto check = [](const Data<T>& data, std::int64_t k, std::uint64_t seed) {
    EXPECT_EQ(rows_found(data, run(data, KMeansInit::kmeans_plus_plus, k, seed, 2)), plain_plus_plus(data, k, seed))
        << data.points.rows() << " x " << data.points.columns() << ", k " << k << ", seed " << seed;
  };
  for (const bool weighted : {false, true}) {
    check(blobs<T>(2500, 2, 30, 20, weighted), 40, 1);
    check(blobs<T>(1500, 3, 5, 1, weighted), 50, 2);
    check(blobs<T>(1100, 40, 12, 3, weighted), 20, 3);
    check(blobs<T>(1100, 1, 1, 0, weighted), 80, 4);
    check(blobs<T>(1500, 5, 8, 1000, weighted, 1e5), 25, 5);
  }
  // The points are on a grid, so some distances meet the bound of the triangle inequality exactly. Some rows are equal,
  // so the test compares coordinates and not row numbers.
  Data<T> grid{Matrix<T>(2048, 2), {}};
  for (std::int64_t row = 0; row < 2048; ++row) {
    grid.points(row, 0) = static_cast<T>(row * 37 % 32);
    grid.points(row, 1) = static_cast<T>(row * 11 / 32 % 32);
  }
  const Matrix<T> found = run(grid, KMeansInit::kmeans_plus_plus, 60, 6, 3);
  const std::vector<std::int64_t> truth = plain_plus_plus(grid, 60, 6);
  for (std::int64_t cluster = 0; cluster < 60; ++cluster)
    ASSERT_TRUE(same(found.row(cluster), std::as_const(grid.points).row(truth[static_cast<std::size_t>(cluster)]), 2))
        << "step " << cluster;
}

// The points have 6 to 48 columns, for which the first steps compare tiles of floats. Cases: few clusters (all steps
// use tiles), more than 96 rows (later steps use bytes), an offset, distances that float cannot hold, equal rows, and a
// first row far from the other rows.
TYPED_TEST(Initialize, TilesChooseThePlainRows) {
  using T = TypeParam;
  struct Case {
    std::int64_t rows, columns, clusters;
    double scale = 1, offset = 0;
    int copies = 1;
  };
  constexpr double far = sizeof(T) == 4 ? 0x1p55 : 0x1p300;
  const Case cases[] = {{1500, 6, 40},           {1100, 24, 30},        {1300, 48, 130},
                        {1500, 8, 40, 1, 1e5},   {1100, 16, 35, far},   {1100, 16, 35, 1 / far},
                        {1200, 9, 25, 1, 0, 40}, {1100, 12, 110, 1, 3}, {700, 7, 40, 0x1p45, -2}};
  for (const Case& each : cases) {
    Data<T> data = blobs<T>(each.rows, each.columns, 12, 3, false, each.offset);
    for (std::int64_t row = each.rows; --row >= 0;)  // descending, so that the rows to copy are unchanged
      for (std::int64_t dim = 0; dim < each.columns; ++dim)
        data.points(row, dim) = static_cast<T>(data.points(row / each.copies, dim) * each.scale);
    data.points(each.rows / 2, 0) += static_cast<T>(1e6 * each.scale);
    for (const std::uint64_t seed : {1, 2}) {
      const std::vector<std::int64_t> truth = plain_plus_plus(data, each.clusters, seed);
      const Matrix<T> found = run(data, KMeansInit::kmeans_plus_plus, each.clusters, seed, 2);
      for (std::int64_t cluster = 0; cluster < each.clusters; ++cluster)
        ASSERT_TRUE(same(found.row(cluster), std::as_const(data.points).row(truth[static_cast<std::size_t>(cluster)]),
                         each.columns))
            << each.columns << " columns, scale " << each.scale << ", seed " << seed << ", step " << cluster;
    }
  }
}

// Each round chooses more rows than any implementation adds at once.
TYPED_TEST(Initialize, ParallelIsThePlainAlgorithm) {
  using T = TypeParam;
  const auto check = [](const Data<T>& data, std::int64_t k, std::uint64_t seed) {
    const core::Philox random(seed, 0);
    EXPECT_EQ(rows_found(data, run(data, KMeansInit::kmeans_parallel, k, seed, 2)), Plain<T>(data, random).parallel(k))
        << data.points.rows() << " x " << data.points.columns() << ", k " << k << ", seed " << seed;
  };
  for (const bool weighted : {false, true}) {
    check(blobs<T>(2500, 2, 30, 20, weighted), 40, 1);
    check(blobs<T>(1500, 3, 5, 1, weighted), 50, 2);
    check(blobs<T>(1100, 40, 12, 3, weighted), 20, 3);
    check(blobs<T>(1200, 4, 100, 100, weighted), 550, 4);
    check(blobs<T>(1500, 5, 8, 1000, weighted, 1e5), 25, 5);
  }
}

/// Draws `count` of n rows by Floyd's algorithm in plain code, in ascending order.
std::vector<std::int64_t> plain_draw(std::int64_t n, std::int64_t count, const core::Philox& random) {
  std::set<std::int64_t> rows;
  for (std::int64_t step = 0; step < count; ++step) {
    const std::int64_t last = n - count + step;
    const auto row =
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(last) + 1));
    rows.insert(rows.contains(row) ? last : row);
  }
  return {rows.begin(), rows.end()};
}

// The choice among some rows is the choice of the plain algorithm on these rows, which have their weights or weight 1.
TYPED_TEST(Initialize, ChoosesAmongSomeRows) {
  using T = TypeParam;
  constexpr std::int64_t n = 2500;
  constexpr std::int64_t some = 300;
  constexpr std::int64_t k = 20;
  for (const bool weighted : {false, true})
    for (const int restart : {0, 1}) {
      const Data<T> data = blobs<T>(n, 6, 30, 20, weighted);
      const std::vector<std::int64_t> rows = plain_draw(n, some, core::Philox(9, ~static_cast<std::uint64_t>(restart)));
      ASSERT_EQ(std::ssize(rows), some);
      Data<T> drawn{Matrix<T>(some, 6), {}};
      for (std::int64_t row = 0; row < some; ++row) {
        const std::int64_t from = rows[static_cast<std::size_t>(row)];
        std::copy_n(data.view().row(from), 6, drawn.points.row(row));
        drawn.weights.push_back(weighted ? data.weights[static_cast<std::size_t>(from)] : T{1});
      }
      KMeansOptions options{.clusters = k, .seed = 9};
      for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel}) {
        const core::Philox random(9, static_cast<std::uint64_t>(restart));
        std::vector<std::int64_t> truth = init == KMeansInit::kmeans_plus_plus ? Plain<T>(drawn, random).plus_plus(k)
                                                                               : Plain<T>(drawn, random).parallel(k);
        for (std::int64_t& row : truth) row = rows[static_cast<std::size_t>(row)];
        options.init = init;
        options.init_rows = some;
        const VectorView<const T> weights{data.weights.data(), static_cast<std::int64_t>(data.weights.size())};
        for (const int threads : {1, 3}) {
          const HostPoints<T> points(data.view(), weights, threads);
          EXPECT_EQ(initialize(points, options, {}, Execution{}, restart).rows, truth)
              << "init " << static_cast<int>(init) << ", weighted " << weighted << ", restart " << restart;
        }
        options.init_rows = n;
        const HostPoints<T> points(data.view(), weights);
        const auto of_more = initialize(points, options, {}, Execution{}, restart).rows;
        options.init_rows = 0;
        EXPECT_EQ(of_more, initialize(points, options, {}, Execution{}, restart).rows) << "all rows";
      }
      options.init = KMeansInit::random;  // with as many rows as clusters, all are chosen
      options.clusters = options.init_rows = 7;
      const HostPoints<T> points(data.view(), {});
      std::vector<std::int64_t> all = initialize(points, options, {}, Execution{}, restart).rows;
      std::ranges::sort(all);
      EXPECT_EQ(all, plain_draw(n, 7, core::Philox(9, ~static_cast<std::uint64_t>(restart))));
    }
}

TEST(InitializeSome, RefusesTooFewRows) {
  Matrix<double> points(1000, 2);
  std::fill_n(points.data(), 2000, 0.0);
  points(500, 0) = 1;  // one row differs from the others
  KMeansOptions options{.clusters = 2, .init_rows = 1};
  EXPECT_THROW(kmeans(points.view(), options), UsageError);
  options.init_rows = 2;
  try {
    kmeans(points.view(), options);
    ADD_FAILURE() << "the drawn rows differ";
  } catch (const InputError& error) {
    EXPECT_EQ(error.fields().argument, "init_rows");
    EXPECT_EQ(error.code(), error_code::too_few_points);
  }
  options.init_rows = 1000;
  EXPECT_EQ(kmeans(points.view(), options).counts, (std::vector<std::int64_t>{999, 1}));
}

TEST(InitializeSome, RefusesRowsWithoutWeight) {
  Matrix<double> points(1000, 2);
  Matrix<double> weights(1000, 1);
  std::iota(points.data(), points.data() + 2000, 0.0);
  std::fill_n(weights.data(), 1000, 0.0);
  weights(500, 0) = 1;
  for (const KMeansInit init : {KMeansInit::random, KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel}) {
    KMeansOptions options{.clusters = 2, .init = init, .init_rows = 3};
    accept_coinciding_points(options);
    const std::string message = tests::error_of<InputError>([&] {
      kmeans(points.view(), options, {.weights = {weights.data(), 1000}});
    });
    EXPECT_NE(message.find("(KMeansOptions::init_rows), none has positive weight"), std::string::npos) << message;
  }
}

TYPED_TEST(Initialize, EveryBlobIsHit) {
  using T = TypeParam;
  for (const double offset : {0.0, sizeof(T) == 4 ? 1e5 : 1e8})
    for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel})
      for (std::uint64_t seed = 0; seed < 5; ++seed) {
        const Data<T> data = blobs<T>(6000, 4, 25, 1000, seed % 2 == 1, offset);
        std::set<std::int64_t> hit;
        for (const std::int64_t row : rows_found(data, run(data, init, 25, seed, 2))) hit.insert(row % 25);
        EXPECT_EQ(hit.size(), 25u) << "init " << static_cast<int>(init) << ", offset " << offset << ", seed " << seed;
      }
}

TYPED_TEST(Initialize, ParallelIsAsGoodAsPlusPlus) {
  using T = TypeParam;
  const Data<T> data = blobs<T>(5000, 6, 40, 4, false);
  double plus_plus = 0;
  double parallel = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    plus_plus += inertia_after_lloyd(data, KMeansInit::kmeans_plus_plus, 40, seed);
    parallel += inertia_after_lloyd(data, KMeansInit::kmeans_parallel, 40, seed);
  }
  EXPECT_TRUE(parallel <= 1.5 * plus_plus) << parallel << " against " << plus_plus;
}

TYPED_TEST(Initialize, DuplicatesAreChosenOnce) {
  using T = TypeParam;
  Data<T> data{Matrix<T>(1000, 2), {}};
  for (std::int64_t row = 0; row < 1000; ++row) {
    data.points(row, 0) = static_cast<T>(row % 12);
    data.points(row, 1) = static_cast<T>(row % 12 % 3);
  }
  for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel}) {
    const std::vector<std::int64_t> rows = rows_found(data, run(data, init, 12));
    EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), 12u) << "init " << static_cast<int>(init);
  }
}

TEST(InitializeExtremes, DistancesThatVanish) {
  Data<double> data{Matrix<double>(40, 1), {}};
  for (std::int64_t row = 0; row < 40; ++row) data.points(row, 0) = 1e-310 * static_cast<double>(row % 20);
  for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel}) {
    const std::vector<std::int64_t> rows = rows_found(data, run(data, init, 20));
    EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), 20u) << "init " << static_cast<int>(init);
  }
}

TEST(InitializeExtremes, WeightsOfEverySize) {
  Data<double> data = blobs<double>(600, 2, 3, 4, false);
  for (int row = 0; row < 600; ++row) data.weights.push_back(std::ldexp(1.0, row - 300));
  for (const KMeansInit init : drawing_inits) {
    const std::vector<std::int64_t> rows = rows_found(data, run(data, init, 600));
    EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), 600u) << "init " << static_cast<int>(init);
  }
}

TEST(InitializeExtremes, HugeCoordinatesAndWeights) {
  Data<double> data = blobs<double>(500, 2, 5, 100, true);
  for (std::int64_t row = 0; row < 500; ++row)
    for (std::int64_t dim = 0; dim < 2; ++dim) data.points(row, dim) *= 0x1p480;
  for (double& weight : data.weights) weight *= 0x1p490;
  for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel}) {
    std::set<std::int64_t> hit;
    for (const std::int64_t row : rows_found(data, run(data, init, 5))) hit.insert(row % 5);
    EXPECT_EQ(hit.size(), 5u) << "init " << static_cast<int>(init);
  }
}

TEST(InitializeExtremes, WeightedRandomFollowsTheWeights) {
  Data<float> data = blobs<float>(4, 1, 1, 0, false);
  data.weights = {1, 2, 3, 4};
  std::vector<int> count(4);
  for (std::uint64_t seed = 0; seed < 4000; ++seed)
    ++count[static_cast<std::size_t>(rows_found(data, run(data, KMeansInit::random, 1, seed))[0])];
  // The tolerance is four standard deviations.
  for (std::size_t row = 0; row < 4; ++row)
    EXPECT_NEAR(count[row], 400.0 * static_cast<double>(row + 1), 120) << "row " << row;
}

TEST(InitializeExtremes, StopIsHonoured) {
  const Data<float> data = blobs<float>(1000, 2, 4, 3, false);
  for (const KMeansInit init : {KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel}) {
    KMeansJob<float> options;
    options.clusters = 100;
    options.init = init;
    std::stop_source source;
    Execution execution;
    execution.threads = 1;
    execution.stop = source.get_token();
    int reports = 0;
    execution.progress = [&](const Progress& progress) {
      EXPECT_EQ(progress.phase, "initialize");
      EXPECT_LE(progress.done, progress.total);
      if (++reports == 3) source.request_stop();
    };
    EXPECT_THROW(initialize(HostPoints<float>(data.view(), {}, 1, execution.stop), options, {}, execution, 0),
                 InterruptedError);
    EXPECT_EQ(reports, 3);
  }
}

}  // namespace
}  // namespace gradus::kmeans_detail
