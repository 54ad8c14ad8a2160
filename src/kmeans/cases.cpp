#include "kmeans/cases.hpp"

#include <cmath>
#include <cstring>

#include "core/philox.hpp"
#include "cpu/threads.hpp"
#include "kmeans/lloyd/statistics.hpp"
#include "kmeans/oracle.hpp"
#include "kmeans/points/host_points.hpp"

namespace gradus::kmeans_detail {

namespace {

Matrix<double> uniform(std::int64_t n, std::int64_t d, std::uint64_t seed, double low = 0, double high = 10) {
  Matrix<double> points(n, d);
  const core::Philox random(seed, 77);
  for (std::int64_t index = 0; index < n * d; ++index)
    points.data()[index] = low + (high - low) * random.uniform(static_cast<std::uint64_t>(index));
  return points;
}

// Returns points with small integer coordinates. Many of them are equally far from several centroids.
Matrix<double> lattice(std::int64_t n, std::int64_t d, std::int64_t side, std::uint64_t seed) {
  Matrix<double> points = uniform(n, d, seed, 0, static_cast<double>(side));
  for (std::int64_t index = 0; index < n * d; ++index) points.data()[index] = std::floor(points.data()[index]);
  return points;
}

Matrix<double> blobs(std::int64_t n, std::int64_t d, std::int64_t centers, double spread, std::uint64_t seed) {
  const Matrix<double> middle = uniform(centers, d, seed + 1, -10, 10);
  Matrix<double> points = uniform(n, d, seed, -spread, spread);
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t dim = 0; dim < d; ++dim) points(row, dim) += middle(row % centers, dim);
  return points;
}

CaseData plain(Matrix<double> points, std::int64_t clusters, int max_iterations = 10) {
  CaseData data;
  data.points = std::move(points);
  data.clusters = clusters;
  data.max_iterations = max_iterations;
  return data;
}

Case sized(std::int64_t n, std::int64_t d, std::int64_t k) {
  return {"uniform_" + std::to_string(n) + "x" + std::to_string(d) + "_k" + std::to_string(k),
          [=](std::uint64_t seed) { return plain(uniform(n, d, seed), k); }};
}

/// Returns a case of one column with the given values. `first` contains the numbers of the rows that are the initial
/// centroids.
CaseData column(const std::vector<double>& values, const std::vector<std::int64_t>& first) {
  CaseData data =
      plain(Matrix<double>(static_cast<std::int64_t>(values.size()), 1), static_cast<std::int64_t>(first.size()), 20);
  std::copy(values.begin(), values.end(), data.points.data());
  data.first_rows = first;
  data.well_conditioned = false;
  return data;
}

/// Adds a case in which sums on a grid, or squares, can lose significant digits.
void add_extreme(std::vector<Case>& list, const std::string& name, const std::function<CaseData(std::uint64_t)>& make) {
  list.push_back({"extreme_" + name, [make](std::uint64_t seed) {
                    CaseData data = make(seed);
                    data.well_conditioned = false;
                    return data;
                  }});
}

void add_extreme_weights(std::vector<Case>& list) {
  add_extreme(list, "weights_and_squares_near_overflow", [](auto seed) {
    CaseData data = plain(uniform(33, 33, seed, -3e150, 3e150), 6);
    const core::Philox random(seed, 6);
    for (std::uint64_t row = 0; row < 33; ++row) data.weights.push_back(std::pow(10, 12 * random.uniform(row) - 6));
    data.float_scale = 1e-130;
    return data;
  });
  add_extreme(list, "one_heavy_point", [](auto) {
    CaseData data = column({0, 1e-9, 5e-9, 3e-9}, {0, 1});
    data.weights = {1e97, 1e17, 1e17, 1e17};
    data.float_weight_scale = 1e-60;
    return data;
  });
  add_extreme(list, "light_points_beside_a_heavy_one", [](auto) {
    CaseData data = column({0, 3, 3, 3.5, 3.1}, {0, 4});
    data.weights = {1, 1.853e-23, 1.588e-23, 1.615e-23, 0};
    return data;
  });
  add_extreme(list, "light_cluster_is_not_empty", [](auto) {
    CaseData data = column({0, 10, 11, 9}, {0, 3});
    data.weights = {1, 1e-24, 1e-24, 0};
    data.empty = EmptyCluster::error;
    return data;
  });
  add_extreme(list, "weights_of_any_spread", [](auto seed) {
    CaseData data = plain(uniform(900, 5, seed), 12);
    const core::Philox random(seed, 8);
    for (std::uint64_t row = 0; row < 900; ++row) data.weights.push_back(std::pow(10, 60 * random.uniform(row) - 30));
    return data;
  });
  add_extreme(list, "weights_of_any_spread_many_columns", [](auto seed) {
    CaseData data = plain(uniform(700, 40, seed), 30);
    const core::Philox random(seed, 8);
    for (std::uint64_t row = 0; row < 700; ++row) data.weights.push_back(std::pow(10, 60 * random.uniform(row) - 30));
    return data;
  });
}

void add_extreme_scales(std::vector<Case>& list) {
  add_extreme(list, "small_points_of_small_weight", [](auto) {
    CaseData data = column({1e-150, 2e-150, 5e-150, 6e-150}, {0, 3});
    data.weights = {1e-150, 1e-150, 1e-150, 1e-150};
    data.float_scale = 1e115;
    data.float_weight_scale = 1e115;
    return data;
  });
  add_extreme(list, "small_points", [](auto seed) {
    CaseData data = plain(uniform(500, 3, seed, 0, 1e-150), 7);
    data.float_scale = 1e110;
    return data;
  });
  // Column 0 is constant. In the other columns, the differences are so small that a factor that scales them to 1 makes
  // column 0 overflow. kmeans_test has this case for doubles.
  add_extreme(list, "floats_beside_a_constant_column", [](auto seed) {
    CaseData data = plain(uniform(300, 3, seed, -1e-42, 1e-42), 90);
    for (std::int64_t row = 0; row < 300; ++row) data.points(row, 0) = 1e37;
    return data;
  });
  add_extreme(list, "floats_beside_a_constant_column_few_clusters", [](auto seed) {
    CaseData data = plain(uniform(300, 3, seed, -1e-42, 1e-42), 7);
    for (std::int64_t row = 0; row < 300; ++row) data.points(row, 0) = 1e37;
    return data;
  });
  add_extreme(list, "columns_of_any_scale", [](auto seed) {
    CaseData data = plain(uniform(500, 6, seed, -1, 1), 7);
    for (std::int64_t row = 0; row < 500; ++row)
      for (std::int64_t dim = 0; dim < 6; ++dim) data.points(row, dim) *= std::pow(10.0, 6 * dim - 15);
    return data;
  });
}

void add_extreme_directions(std::vector<Case>& list) {
  add_extreme(list, "cosine_of_rows_of_any_length", [](auto seed) {
    CaseData data = plain(uniform(300, 4, seed, -1, 1), 5);
    const core::Philox random(seed, 9);
    for (std::int64_t row = 0; row < 300; ++row) {
      const double length = std::pow(10, 60 * random.uniform(static_cast<std::uint64_t>(row)) - 25);
      for (std::int64_t dim = 0; dim < 4; ++dim) data.points(row, dim) *= length;
    }
    data.metric = Metric::cosine;
    return data;
  });
  add_extreme(list, "cosine_of_tiny_rows", [](auto seed) {
    CaseData data = plain(uniform(300, 5, seed, -1e-165, 1e-165), 5);
    data.metric = Metric::cosine;
    data.float_scale = 1e125;
    return data;
  });
  add_extreme(list, "cosine_of_a_centroid_beside_its_point", [](auto) {
    // The mean of one unit row already has unit length. If it is scaled to unit length again, it moves by one ulp and
    // leaves the bounding box of points and centroids.
    CaseData data = plain(Matrix<double>(2, 2), 1);
    const double rows[] = {-1, 1, -1, 1};
    std::copy_n(rows, 4, data.points.data());
    data.metric = Metric::cosine;
    return data;
  });
  add_extreme(list, "cosine_without_a_direction", [](auto) {
    CaseData data = plain(Matrix<double>(4, 2), 1);
    const double rows[] = {1, 0, -1, 0, 0, 1, 0, -1};
    std::copy_n(rows, 8, data.points.data());
    data.metric = Metric::cosine;
    return data;
  });
}

// Centroids near the origin, and points at growing distances from it. The farthest points are so far away that their
// distances to different centroids differ only by rounding. If the far points have no weight, they do not move the
// centroids. The fit then takes several iterations, so the far points also test filters that use results of earlier
// iterations.
CaseData with_far_points(std::uint64_t seed, std::int64_t d, std::int64_t clusters, bool weightless) {
  constexpr std::int64_t n = 600;
  const std::int64_t near = weightless ? n / 2 : clusters;
  CaseData data = plain(lattice(n, d, 9, seed), clusters, weightless ? 20 : 1);
  for (std::int64_t row = 0; row < n; ++row) {
    if (weightless) data.weights.push_back(row < near ? 1 : 0);
    for (std::int64_t dim = 0; dim < d; ++dim) {
      double& value = data.points(row, dim);
      value = 0.25 * (value - 4);
      if (row < near) continue;
      // Half of the far points are on an axis, so that integers represent them without rounding.
      if (row % 2 == 0 && dim != row / 2 % d) value = 0;
      value = std::ldexp(value, static_cast<int>((row - near) * 53 / (n - near)));
    }
  }
  return data;
}

void add_extreme_far_points(std::vector<Case>& list) {
  add_extreme(list, "a_tight_heap_and_an_outlier", [](auto seed) {
    CaseData data = plain(uniform(241, 1, seed, 0, 5e-5), 7, 100);
    data.points(240, 0) = 1e9;
    return data;
  });
  add_extreme(list, "far_points_at_ties_by_rounding", [](auto) {
    // Some far points are nearer to the second centroid than to the first. The canonical chain rounds the two distances
    // to the same number.
    CaseData data = plain(Matrix<double>(7, 2), 3, 1);
    const double far = 0x1p52;
    const double rows[] = {1.75, 1, 2, 0, 0, 0, far, 0, far, 1, far, 0, -far, 0};
    std::copy_n(rows, 14, data.points.data());
    return data;
  });
  for (const std::int64_t d : {2, 40}) {
    const std::string columns = std::to_string(d) + "_columns";
    for (const std::int64_t clusters : {8, 90})
      add_extreme(list, "far_points_" + columns + "_k" + std::to_string(clusters),
                  [=](auto seed) { return with_far_points(seed, d, clusters, false); });
    add_extreme(list, "far_points_without_weight_" + columns,
                [=](auto seed) { return with_far_points(seed, d, d == 2 ? 12 : 90, true); });
  }
}

// Adds cases whose values differ by one ulp, or whose squares underflow.
void add_extreme_close_values(std::vector<Case>& list) {
  // The centroids have nearly the same direction. Their coordinates differ by only a few ulps.
  add_extreme(list, "cosine_of_close_centroids", [](auto seed) {
    CaseData data = plain(uniform(300, 20, seed, -1, 1), 9, 1);
    for (std::int64_t row = 0; row < 9; ++row)
      for (std::int64_t dim = 0; dim < 20; ++dim)
        data.points(row, dim) = 1 + static_cast<double>((7 * row + 3 * dim) % 5) * 0x1p-52;
    data.metric = Metric::cosine;
    return data;
  });
  add_extreme(list, "squares_that_vanish", [](auto) {
    CaseData data = column({0, 0, 1e-170, 1e-130}, {0, 2, 3});
    data.float_scale = 1e130;
    data.max_iterations = 300;
    return data;
  });
  // The coordinates are multiples of a small step. In double, the squares of differences of up to 45 steps underflow.
  // In float, the step is the smallest number. If a filter scales the coordinates to 1, it must not overflow. No filter
  // may distinguish distances that are equal in the canonical chain. All centroids except the first are on one side of
  // the middle of the points.
  add_extreme(list, "steps_of_the_least_numbers", [](auto) {
    std::vector<double> values;
    for (int step = 0; step < 100; ++step) values.push_back(std::ldexp(step, -543));
    std::vector<std::int64_t> first = {99};
    for (std::int64_t row = 1; row < 32; ++row) first.push_back(row);
    CaseData data = column(values, first);
    data.max_iterations = 1;
    data.float_scale = 0x1p394;
    return data;
  });
  // Some means of few points are exactly halfway between two numbers of the type, so sums on a grid cannot determine
  // how these means round.
  for (const std::int64_t d : {2, 40})
    add_extreme(list, d == 2 ? "means_in_the_middle" : "means_in_the_middle_many_columns", [d](auto seed) {
      CaseData data = plain(blobs(400, d, 100, 1e-3, seed), 100);
      return data;
    });
  add_extreme(list, "means_in_the_middle_beside_tiny_values", [](auto seed) {
    CaseData data = plain(blobs(400, 3, 100, 1e-3, seed), 100);
    for (std::int64_t row = 0; row < 400; row += 7) data.points(row, 1) = std::ldexp(data.points(row, 0), -80);
    return data;
  });
  add_extreme(list, "tolerance_of_values_far_apart", [](auto seed) {
    CaseData data = plain(uniform(500, 3, seed), 5, 300);
    for (std::int64_t row = 0; row < 500; row += 5) data.points(row, 2) *= 1e-35;
    data.tolerance = 1e-3;
    return data;
  });
}

// Adds cases with many columns and many clusters, which stress the 8-bit and 16-bit filters.
void add_many_clusters(std::vector<Case>& list) {
  const auto add = [&list](const std::string& name, CaseData (*make)(std::uint64_t seed)) {
    list.push_back({"many_clusters_" + name, [make](std::uint64_t seed) {
                      CaseData data = make(seed);
                      data.well_conditioned = false;
                      return data;
                    }});
  };
  // The numbers of clusters and dimensions are near the sizes of panels. A panel has 16, 32 or 64 clusters and 2, 4, 8
  // or 16 dimensions.
  add("65x17", [](auto seed) { return plain(uniform(300, 17, seed), 65); });
  add("129x33", [](auto seed) { return plain(uniform(350, 33, seed), 129); });
  add("100x66", [](auto seed) { return plain(uniform(301, 66, seed), 100); });
  add("193x23", [](auto seed) { return plain(uniform(450, 23, seed), 193); });
  add("until_convergence", [](auto seed) { return plain(uniform(1500, 20, seed), 66, 200); });
  add("blobs", [](auto seed) { return plain(blobs(1500, 24, 90, 2.0, seed), 70, 100); });
  add("crowded_blobs", [](auto seed) { return plain(blobs(800, 40, 3, 0.01, seed), 80, 30); });
  add("lattice", [](auto seed) { return plain(lattice(700, 20, 2, seed), 96); });
  add("almost_equal_points", [](auto seed) {
    CaseData data = plain(uniform(500, 20, seed, 0, 1e-6), 70);
    for (std::int64_t row = 100; row < 500; ++row)
      for (std::int64_t dim = 0; dim < 20; ++dim) data.points(row, dim) = 0;
    for (std::int64_t index = 0; index < 10000; ++index) data.points.data()[index] += 1.0 / 3.0;
    return data;
  });
  add("offset", [](auto seed) {
    CaseData data = plain(blobs(600, 40, 90, 3.0, seed), 70);
    for (std::int64_t index = 0; index < 24000; ++index) data.points.data()[index] += 1e7;
    return data;
  });
  add("outlier_column", [](auto seed) {
    CaseData data = plain(uniform(500, 24, seed), 80);
    for (std::int64_t row = 0; row < 500; ++row) data.points(row, 7) *= 1e6;
    return data;
  });
  // One outlier is a coordinate of an initial centroid. The second outlier is a coordinate of a point that remains far
  // from its centroid.
  add("outlier_value", [](auto seed) {
    CaseData data = plain(uniform(500, 24, seed), 80);
    data.points(5, 3) = 1e9;
    data.points(300, 4) = -1e5;
    return data;
  });
  add("two_scales", [](auto seed) {  // one quantization step contains half of the centroids
    CaseData data = plain(uniform(600, 20, seed), 70, 30);
    for (std::int64_t row = 0; row < 600; row += 2)
      for (std::int64_t dim = 0; dim < 20; ++dim) data.points(row, dim) *= 1e-4;
    return data;
  });
  add("denormals", [](auto seed) {
    CaseData data = plain(uniform(300, 20, seed), 70);
    for (std::int64_t index = 0; index < 6000; ++index) data.points.data()[index] *= 1e-42;
    return data;
  });
  add("squares_beyond_float", [](auto seed) {
    CaseData data = plain(uniform(300, 20, seed), 70);
    for (std::int64_t index = 0; index < 6000; ++index) data.points.data()[index] *= 1e28;
    return data;
  });
  add("squares_below_float", [](auto seed) {
    CaseData data = plain(uniform(300, 20, seed), 70);
    for (std::int64_t index = 0; index < 6000; ++index) data.points.data()[index] *= 1e-22;
    return data;
  });
}

/// Returns n rows. They repeat the rows of `different` in turn.
Matrix<double> repeated(const Matrix<double>& different, std::int64_t n) {
  Matrix<double> points(n, different.columns());
  for (std::int64_t row = 0; row < n; ++row)
    std::copy_n(different.row(row % different.rows()), different.columns(), points.row(row));
  return points;
}

void add_fewer_points(std::vector<Case>& list) {
  const auto add = [&list](const std::string& name, const std::function<CaseData(std::uint64_t)>& make) {
    list.push_back({"fewer_points_" + name, [make](std::uint64_t seed) {
                      CaseData data = make(seed);
                      accept_coinciding_points(data);
                      return data;
                    }});
  };
  // With textbook arithmetic, the mean of equal values may differ from these values.
  const auto rounded = [](CaseData data) {
    data.well_conditioned = false;
    return data;
  };
  add("all_equal", [=](auto seed) { return rounded(plain(repeated(uniform(1, 3, seed), 300), 3, 30)); });
  add("all_equal_kept", [=](auto seed) {
    CaseData data = rounded(plain(repeated(uniform(1, 3, seed), 300), 3, 30));
    data.empty = EmptyCluster::keep;
    return data;
  });
  add("two_of_five_with_weight", [](auto) {
    CaseData data = column({0, 10, 3, 7, 9}, {0, 2, 4});
    data.weights = {1, 1, 0, 0, 0};
    return data;
  });
  add("two_of_five_far_away", [](auto) {
    // Two of the initial centroids are points without weight. Each point with weight is nearer to another initial
    // centroid.
    CaseData data = column({0, 10, 500, -300, 3}, {2, 0, 3, 1});
    data.weights = {2, 1, 0, 0, 0};
    return data;
  });
  add("lattice", [](auto seed) { return plain(lattice(500, 2, 2, seed), 9, 30); });
  add("lattice_tolerance", [](auto seed) {
    CaseData data = plain(lattice(500, 3, 2, seed), 20, 30);
    data.tolerance = 1e-4;
    return data;
  });
  add("few_columns", [=](auto seed) { return rounded(plain(repeated(uniform(20, 3, seed), 900), 40, 30)); });
  add("many_columns", [=](auto seed) { return rounded(plain(repeated(uniform(5, 20, seed), 400), 70, 30)); });
  add("many_columns_kept", [=](auto seed) {
    CaseData data = rounded(plain(repeated(uniform(5, 20, seed), 400), 70, 30));
    data.empty = EmptyCluster::keep;
    return data;
  });
  add("weights", [=](auto seed) {
    CaseData data = rounded(plain(repeated(uniform(30, 2, seed), 1000), 40, 30));
    const core::Philox random(seed, 5);
    for (std::uint64_t row = 0; row < 1000; ++row)
      data.weights.push_back(row % 30 % 4 == 0 ? 0.0 : random.uniform(row) * 3);
    return data;
  });
  add("cosine", [=](auto seed) {
    CaseData data = rounded(plain(repeated(uniform(3, 4, seed, -1, 1), 200), 7, 30));
    for (std::int64_t row = 0; row < 200; ++row)
      for (std::int64_t dim = 0; dim < 4; ++dim) data.points(row, dim) = std::ldexp(data.points(row, dim), row % 5);
    data.metric = Metric::cosine;
    return data;
  });
  add("cosine_kept", [=](auto seed) {
    CaseData data = rounded(plain(repeated(uniform(4, 20, seed, -1, 1), 200), 9, 30));
    data.metric = Metric::cosine;
    data.empty = EmptyCluster::keep;
    return data;
  });
  add("until_convergence", [=](auto seed) {
    // The initial centroids have only two different positions. Relocations find the remaining positions one by one.
    CaseData data = rounded(plain(repeated(uniform(12, 2, seed), 600), 20, 300));
    for (std::int64_t cluster = 0; cluster < 20; ++cluster) data.first_rows.push_back(cluster % 2);
    return data;
  });
}

void add_case(std::vector<Case>& list, std::string name, std::function<CaseData(std::uint64_t)> make) {
  list.push_back({std::move(name), std::move(make)});
}

void add_shapes(std::vector<Case>& list) {
  add_case(list, "blobs", [](auto seed) { return plain(blobs(3000, 2, 8, 1.5, seed), 8, 100); });
  add_case(list, "blobs_many_dimensions", [](auto seed) { return plain(blobs(1500, 96, 24, 2.0, seed), 24, 100); });
  add_case(list, "blobs_many_clusters", [](auto seed) { return plain(blobs(4000, 8, 120, 1.0, seed), 120, 60); });
  add_case(list, "until_convergence", [](auto seed) { return plain(uniform(1500, 5, seed), 12, 500); });
  for (const std::int64_t d : {1, 2, 3, 24})
    add_case(list, "lattice_ties_" + std::to_string(d), [d](auto seed) {
      CaseData data = plain(lattice(1200, d, d == 1 ? 40 : 4, seed), 9);
      data.well_conditioned = false;
      for (std::int64_t row = 0; static_cast<std::int64_t>(data.first_rows.size()) < data.clusters; ++row)
        data.first_rows.push_back(row * 13);
      return data;
    });
  add_case(list, "duplicated_centroids", [](auto seed) {
    CaseData data = plain(lattice(500, 2, 6, seed), 6);
    data.first_rows = {3, 3, 3, 50, 50, 7};
    data.well_conditioned = false;
    return data;
  });
  add_case(list, "duplicated_centroids_kept", [](auto seed) {
    CaseData data = plain(lattice(500, 30, 6, seed), 6);
    data.first_rows = {3, 3, 3, 50, 50, 7};
    data.empty = EmptyCluster::keep;
    data.well_conditioned = false;
    return data;
  });
  add_case(list, "empty_clusters", [](auto seed) {  // the last points have no weight and are the farthest ones
    CaseData data = plain(lattice(400, 24, 2, seed), 60);
    std::fill_n(data.points.row(380), 20 * 24, 1000.0);
    for (std::int64_t row = 0; row < 400; ++row) data.weights.push_back(row >= 380 ? 0 : 1 + row % 2);
    for (std::int64_t cluster = 0; cluster < 60; ++cluster) data.first_rows.push_back(cluster < 8 ? cluster : 380);
    data.well_conditioned = false;
    return data;
  });
  add_case(list, "all_points_equal", [](auto) {
    CaseData data = plain(Matrix<double>(300, 3), 1);
    std::fill_n(data.points.data(), 900, 1.0 / 3.0);
    data.well_conditioned = false;
    return data;
  });
}

void add_values(std::vector<Case>& list) {
  for (const double offset : {1e6, 1e8})
    for (const std::int64_t d : {2, 40})
      add_case(list, "offset_1e" + std::to_string(std::lround(std::log10(offset))) + "_d" + std::to_string(d),
               [offset, d](auto seed) {
                 CaseData data = plain(blobs(900, d, 6, 3.0, seed), 6);
                 for (std::int64_t index = 0; index < 900 * d; ++index) data.points.data()[index] += offset;
                 data.well_conditioned = false;
                 return data;
               });
  add_case(list, "columns_of_different_scale", [](auto seed) {
    CaseData data = plain(uniform(800, 4, seed), 7);
    const double scales[] = {1e-9, 1.0, 1e6, 1e-3};
    for (std::int64_t row = 0; row < 800; ++row)
      for (std::int64_t dim = 0; dim < 4; ++dim) data.points(row, dim) *= scales[dim];
    return data;
  });
  add_case(list, "one_outlier", [](auto seed) {
    CaseData data = plain(uniform(800, 20, seed), 9);
    for (std::int64_t dim = 0; dim < 20; ++dim) data.points(5, dim) = 1e7;
    data.well_conditioned = false;
    return data;
  });
  add_case(list, "denormals", [](auto seed) {
    CaseData data = plain(uniform(400, 2, seed), 5);
    for (std::int64_t index = 0; index < 800; ++index) data.points.data()[index] *= 1e-42;
    data.well_conditioned = false;
    return data;
  });
  add_case(list, "huge_values", [](auto seed) {
    CaseData data = plain(uniform(400, 3, seed), 5);
    for (std::int64_t index = 0; index < 1200; ++index) data.points.data()[index] *= 1e17;
    return data;
  });
  for (const std::int64_t d : {3, 50})
    add_case(list, "weights_d" + std::to_string(d), [d](auto seed) {
      CaseData data = plain(uniform(1000, d, seed), 8);
      const core::Philox random(seed, 5);
      for (std::uint64_t row = 0; row < 1000; ++row)
        data.weights.push_back(row % 11 == 10 ? 0.0 : random.uniform(row) * 3);
      return data;
    });
  for (const std::int64_t d : {3, 60})
    add_case(list, "cosine_d" + std::to_string(d), [d](auto seed) {
      CaseData data = plain(uniform(700, d, seed, -1, 1), 6);
      data.metric = Metric::cosine;
      return data;
    });
}

// Adds difficult cases for the grid of simd_grid.
void add_grids(std::vector<Case>& list) {
  for (const std::int64_t d : {1, 2, 3})
    add_case(list, "on_cell_edges_d" + std::to_string(d), [d](auto seed) {
      // Coordinates are integers from 0 to 64. Many points, and many borders between clusters, are exactly on edges of
      // cells.
      CaseData data = plain(lattice(5000, d, 64, seed), 16);
      for (std::int64_t dim = 0; dim < d; ++dim) {
        data.points(0, dim) = 0;
        data.points(1, dim) = 64;
      }
      data.well_conditioned = false;
      return data;
    });
  add_case(list, "few_cells_of_a_fine_grid", [](auto seed) {
    // Like the colours of a picture, the points have few different integer coordinates, and each point occurs many
    // times.
    CaseData data = plain(lattice(20000, 3, 9, seed), 40);
    for (std::int64_t row = 0; row < 20000; ++row) data.points(row, 2) = data.points(row, 0) + 3 * data.points(row, 1);
    data.well_conditioned = false;
    return data;
  });
  add_case(list, "column_without_width", [](auto seed) {
    CaseData data = plain(uniform(3000, 3, seed), 12);
    for (std::int64_t row = 0; row < 3000; ++row) data.points(row, 1) = 1.0 / 3.0;
    return data;
  });
  add_case(list, "clusters_far_below_the_extent", [](auto seed) {
    // Nearly all points and centroids are close together, and a few outliers are far away.
    CaseData data = plain(uniform(4000, 2, seed, 5, 5.001), 40);
    for (std::int64_t row = 100; row < 4000; row += 1000)
      for (std::int64_t dim = 0; dim < 2; ++dim) data.points(row, dim) *= 1e6 * static_cast<double>(row);
    data.well_conditioned = false;
    return data;
  });
  add_case(list, "two_spots_far_apart", [](auto seed) {
    CaseData data = plain(uniform(3000, 3, seed), 60);
    for (std::int64_t row = 0; row < 3000; row += 2)
      for (std::int64_t dim = 0; dim < 3; ++dim) data.points(row, dim) -= 1e5;
    data.well_conditioned = false;
    return data;
  });
  add_case(list, "planar_many_clusters", [](auto seed) { return plain(uniform(6000, 2, seed), 700, 4); });
  add_case(list, "nearly_on_a_line", [](auto seed) {
    CaseData data = plain(uniform(3000, 2, seed), 20);
    for (std::int64_t row = 0; row < 3000; ++row)
      data.points(row, 1) = 1e-7 * data.points(row, 1) + data.points(row, 0);
    return data;
  });
  add_case(list, "offset_1e8_d1", [](auto seed) {
    CaseData data = plain(uniform(2000, 1, seed, 1e8, 1e8 + 1000), 9);
    // If these rows are rounded to float, only about 125 different values remain.
    data.well_conditioned = false;
    return data;
  });
  add_case(list, "greatest_values", [](auto seed) {
    // The difference between the largest and the smallest value of a column exceeds the largest float.
    CaseData data = plain(uniform(2000, 2, seed, -3.4e38, 3.4e38), 6);
    data.well_conditioned = false;
    return data;
  });
}

// Adds cases for stopping rules and for rows with padding.
void add_layouts(std::vector<Case>& list) {
  add_case(list, "padded_rows_few_dimensions", [](auto seed) {
    CaseData data = plain(uniform(2901, 2, seed), 6);
    data.padding = 3;
    return data;
  });
  add_case(list, "tolerance", [](auto seed) {
    CaseData data = plain(uniform(2000, 2, seed), 5, 300);
    data.tolerance = 1e-3;
    return data;
  });
  add_case(list, "changed_fraction", [](auto seed) {
    CaseData data = plain(uniform(2000, 2, seed), 5, 300);
    data.changed_fraction = 0.02;
    return data;
  });
  add_case(list, "padded_rows", [](auto seed) {
    CaseData data = plain(uniform(901, 5, seed), 6);
    data.padding = 3;
    return data;
  });
  add_case(list, "padded_rows_many_dimensions", [](auto seed) {
    CaseData data = plain(uniform(401, 70, seed), 20);
    data.padding = 5;
    return data;
  });
}

std::vector<Case> make_cases() {
  std::vector<Case> list;
  // Adds sizes below, at and above every tile size, with one and with many dimensions, and with k = 1 and k = n.
  list.push_back(sized(1, 1, 1));
  list.push_back(sized(2, 3, 2));
  list.push_back(sized(17, 1, 17));
  list.push_back(sized(1000, 1, 7));
  list.push_back(sized(4097, 2, 16));
  list.push_back(sized(3001, 3, 5));
  list.push_back(sized(2048, 3, 256));
  list.push_back(sized(1023, 4, 33));
  list.push_back(sized(777, 7, 100));
  list.push_back(sized(2111, 16, 16));
  list.push_back(sized(1111, 17, 31));
  list.push_back(sized(600, 31, 65));
  list.push_back(sized(513, 64, 10));
  list.push_back(sized(700, 128, 130));
  list.push_back(sized(130, 129, 17));
  list.push_back(sized(65, 1000, 9));
  list.push_back(sized(40, 1025, 40));
  add_shapes(list);
  add_values(list);
  add_grids(list);
  add_layouts(list);
  add_many_clusters(list);
  add_fewer_points(list);
  add_extreme_weights(list);
  add_extreme_scales(list);
  add_extreme_directions(list);
  add_extreme_far_points(list);
  add_extreme_close_values(list);
  return list;
}

std::string describe(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

}  // namespace

void accept_coinciding_points(KMeansOptions& options) { options.fewer_distinct = KMeansFewerDistinct::accept; }

const std::vector<Case>& cases() {
  static const std::vector<Case> list = make_cases();
  return list;
}

namespace {

std::string of_centroid(std::int64_t index, std::int64_t columns) {
  return "centroid " + std::to_string(index / columns) + ", column " + std::to_string(index % columns);
}

template <class T>
std::string wrong_sizes(const KMeansResult<T>& result, const KMeansResult<T>& truth) {
  if (result.centroids.rows() != truth.centroids.rows() || result.centroids.columns() != truth.centroids.columns())
    return "centroids have the wrong shape";
  if (result.labels.size() != truth.labels.size())
    return "there are " + std::to_string(result.labels.size()) + " labels";
  if (result.counts.size() != truth.counts.size())
    return "there are " + std::to_string(result.counts.size()) + " counts";
  return "";
}

/// Checks properties that the result of every variant must have. Returns "" or a description of the defect.
template <class T>
std::string broken_invariant(const KMeansResult<T>& result) {
  std::vector<std::int64_t> counts(result.counts.size());
  for (std::int64_t point = 0; point < result.labels.size(); ++point) {
    const std::int32_t label = result.labels[point];
    if (label < 0 || label >= std::ssize(counts))
      return "label " + std::to_string(point) + " is " + std::to_string(label);
    ++counts[static_cast<std::size_t>(label)];
  }
  return counts == result.counts ? "" : "the counts do not match the labels";
}

/// Returns the scale of an inertia's rounding errors: the squared extent of the data times the sum of the weights.
template <class T>
double inertia_scale(const Problem<T>& problem) {
  double scale = 0;
  for (std::size_t dim = 0; dim < problem.statistics.lowest.size(); ++dim) {
    const double magnitude =
        std::max(std::abs(problem.statistics.lowest[dim]), std::abs(problem.statistics.highest[dim]));
    scale += magnitude * (problem.statistics.highest[dim] - problem.statistics.lowest[dim]);
  }
  double weight = 0;
  for (std::int64_t point = 0; point < problem.n(); ++point) weight += problem.weight(point);
  return weight * scale;
}

template <class T>
std::string different_bits(const KMeansResult<T>& result, const KMeansResult<T>& truth, const Problem<T>& problem) {
  const std::int64_t columns = truth.centroids.columns();
  for (std::int64_t index = 0; index < truth.centroids.rows() * columns; ++index)
    if (std::memcmp(result.centroids.data() + index, truth.centroids.data() + index, sizeof(T)) != 0)
      return of_centroid(index, columns) + " is " + describe(static_cast<double>(result.centroids.data()[index])) +
             " instead of " + describe(static_cast<double>(truth.centroids.data()[index]));
  for (std::int64_t point = 0; point < truth.labels.size(); ++point)
    if (result.labels[point] != truth.labels[point])
      return "label " + std::to_string(point) + " is " + std::to_string(result.labels[point]) + " instead of " +
             std::to_string(truth.labels[point]);
  if (result.counts != truth.counts) return "the counts differ";
  if (std::memcmp(&result.inertia, &truth.inertia, sizeof(double)) != 0)
    return "the inertia is " + describe(result.inertia) + " instead of " + describe(truth.inertia);
  if (result.iterations != truth.iterations)
    return "it took " + std::to_string(result.iterations) + " iterations instead of " +
           std::to_string(truth.iterations);
  if (result.history.size() != truth.history.size())
    return "the history holds " + std::to_string(result.history.size()) + " iterations";
  if (result.stop_reason != truth.stop_reason || result.converged != truth.converged)
    return "it stopped for another reason";
  // The history's inertias are computed from sums, so they may differ from the oracle's inertias by rounding.
  const double rounding = 1e-13 * inertia_scale(problem) + 1e-300;
  for (std::size_t step = 0; step < truth.history.size(); ++step) {
    const KMeansIteration& is = result.history[step];
    const KMeansIteration& should_be = truth.history[step];
    if (is.changed != should_be.changed)
      return "iteration " + std::to_string(step + 1) + " changed " + std::to_string(is.changed) +
             " labels instead of " + std::to_string(should_be.changed);
    if (is.shift != should_be.shift) return "the shift of an iteration differs";
    if (is.inertia != should_be.inertia && !(std::abs(is.inertia - should_be.inertia) <= rounding))
      return "the inertia of iteration " + std::to_string(step + 1) + " is " + describe(is.inertia) + " instead of " +
             describe(should_be.inertia);
  }
  return "";
}

template <class T>
std::string too_far(const KMeansResult<T>& result, const KMeansResult<T>& truth, const Problem<T>& problem,
                    const core::Contract& contract, bool well_conditioned) {
  if (!contract.allows(result.inertia, truth.inertia, 1e-12 * inertia_scale(problem)))
    return "the inertia is " + describe(result.inertia) + ", too far from " + describe(truth.inertia);
  const std::int64_t columns = truth.centroids.columns();
  for (std::int64_t index = 0; well_conditioned && index < truth.centroids.rows() * columns; ++index) {
    const auto dim = static_cast<std::size_t>(index % columns);
    const double extent = problem.statistics.highest[dim] - problem.statistics.lowest[dim];
    const auto should_be = static_cast<double>(truth.centroids.data()[index]);
    const double difference = std::abs(static_cast<double>(result.centroids.data()[index]) - should_be);
    if (!(difference <= contract.bound * extent + 1e-6 * std::abs(should_be)))
      return of_centroid(index, columns) + " is off by " + describe(difference);
  }
  return "";
}

}  // namespace

template <class T>
std::string compare(const KMeansResult<T>& result, const KMeansResult<T>& truth, const Problem<T>& problem,
                    const core::Contract& contract, bool well_conditioned) {
  if (std::string wrong = wrong_sizes(result, truth); !wrong.empty()) return wrong;
  if (contract == core::Contract::same_bits) return different_bits(result, truth, problem);
  if (std::string wrong = broken_invariant(result); !wrong.empty() || contract == core::Contract::invariants)
    return wrong;
  return too_far(result, truth, problem, contract, well_conditioned);
}

namespace {

// Scales rows to unit length. For such rows, the cosine metric and the Euclidean metric give the same result.
template <class T>
void to_unit_rows(MatrixView<T> rows) {
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    double largest = 0;
    for (std::int64_t dim = 0; dim < rows.columns(); ++dim)
      largest = std::max(largest, std::abs(static_cast<double>(rows(row, dim))));
    int exponent = 0;
    std::frexp(largest, &exponent);
    double squares = 0;
    const auto near_one = [&](std::int64_t dim) { return std::ldexp(static_cast<double>(rows(row, dim)), -exponent); };
    for (std::int64_t dim = 0; dim < rows.columns(); ++dim) squares = std::fma(near_one(dim), near_one(dim), squares);
    for (std::int64_t dim = 0; dim < rows.columns(); ++dim)
      rows(row, dim) = static_cast<T>(near_one(dim) / std::sqrt(squares));
  }
}

}  // namespace

template <class T>
PreparedCase<T>::PreparedCase(const CaseData& data)
    : points_(data.points.rows() * (data.points.columns() + data.padding), static_cast<T>(-12345)),
      weights_(static_cast<std::int64_t>(data.weights.size())), first_(data.clusters, data.points.columns()) {
  well_conditioned_ = data.well_conditioned;
  const std::int64_t n = data.points.rows();
  const std::int64_t d = data.points.columns();
  const std::int64_t stride = d + data.padding;
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t dim = 0; dim < d; ++dim)
      points_[row * stride + dim] = static_cast<T>(data.points(row, dim) * (sizeof(T) == 4 ? data.float_scale : 1));
  for (std::int64_t row = 0; row < weights_.size(); ++row)
    weights_[row] =
        static_cast<T>(data.weights[static_cast<std::size_t>(row)] * (sizeof(T) == 4 ? data.float_weight_scale : 1));
  rows_ = {points_.data(), n, d, stride};
  for (std::int64_t cluster = 0; cluster < data.clusters; ++cluster)
    std::copy_n(rows_.row(data.first_rows.empty() ? cluster : data.first_rows[static_cast<std::size_t>(cluster)]), d,
                first_.row(cluster));

  options_ = data;
  memory_.weights = std::as_const(weights_).view();
  memory_.initial_centroids = std::as_const(first_).view();

  problem_.points = rows_;
  problem_.initial_centroids = memory_.initial_centroids;
  if (data.metric == Metric::cosine) {
    unit_points_ = Buffer<T>(points_.size());
    std::copy(points_.begin(), points_.end(), unit_points_.begin());
    unit_first_ = Matrix<T>::copy_of(memory_.initial_centroids);
    const MatrixView<T> unit_rows(unit_points_.data(), n, d, stride);
    to_unit_rows(unit_rows);
    to_unit_rows(unit_first_.view());
    problem_.points = unit_rows;
    problem_.initial_centroids = std::as_const(unit_first_).view();
  }
  problem_.weights = memory_.weights;
  problem_.max_iterations = data.max_iterations;
  problem_.changed_limit = static_cast<std::int64_t>(data.changed_fraction * static_cast<double>(n));
  problem_.empty = data.empty;
  const HostPoints<T> points(problem_.points, problem_.weights);
  problem_.different_points = count_different<T>(points, data.clusters);
  problem_.metric = data.metric;
  problem_.statistics = examine<T>(problem_.points, problem_.weights, problem_.initial_centroids, 1);
  if (data.metric == Metric::cosine) allow_unit_centroids(problem_.statistics, n);
  if (data.tolerance > 0) problem_.shift_limit = data.tolerance * mean_column_variance<T>(points, problem_.statistics);
}

template <class T>
const KMeansResult<T>& PreparedCase<T>::truth() const {
  if (!truth_) truth_ = oracle(problem_);
  return *truth_;
}

template <class T>
Shape PreparedCase<T>::shape() const {
  return {rows_.rows(), rows_.columns(), first_.rows(), static_cast<int>(sizeof(T)), weights_.size() > 0};
}

template <class T>
std::string PreparedCase<T>::check(const Variant& variant, const Execution& execution) const {
  Execution named = execution;
  named.variant = variant.name;
  return compare_with_truth(kmeans(rows_, options_, memory_, named), variant.contract);
}

#define GRADUS_INSTANTIATE(T)                                                                     \
  template std::string compare(const KMeansResult<T>&, const KMeansResult<T>&, const Problem<T>&, \
                               const core::Contract&, bool);                                      \
  template class PreparedCase<T>
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kmeans_detail
