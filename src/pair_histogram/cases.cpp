#include "pair_histogram/cases.hpp"

#include <cmath>
#include <cstring>
#include <utility>

#include "core/generate.hpp"
#include "core/text.hpp"
#include "pair_histogram/oracle.hpp"
#include "pair_histogram/prepare.hpp"

namespace gradus::pair_histogram_detail {

namespace {

Matrix<double> uniform(std::int64_t n, std::int64_t d, std::uint64_t seed, double low = 0, double high = 10) {
  Matrix<double> points(n, d);
  core::PointSpecification specification;
  specification.seed = seed;
  specification.low = low;
  specification.high = high;
  core::generate_points(specification, 0, points.view(), 1);
  return points;
}

Matrix<double> scaled(Matrix<double> points, double factor, double offset = 0) {
  for (std::int64_t index = 0; index < points.rows() * points.columns(); ++index)
    points.data()[index] = points.data()[index] * factor + offset;
  return points;
}

// Returns all points of an integer lattice in a scrambled order.
Matrix<double> lattice(std::int64_t side, std::int64_t d) {
  std::int64_t n = 1;
  for (std::int64_t dim = 0; dim < d; ++dim) n *= side;
  Matrix<double> points(n, d);
  constexpr std::int64_t step = 7919;  // a prime that divides none of the sides used here
  for (std::int64_t row = 0; row < n; ++row) {
    std::int64_t rest = row * step % n;
    for (std::int64_t dim = 0; dim < d; ++dim, rest /= side) points(row, dim) = static_cast<double>(rest % side);
  }
  return points;
}

// Returns points in groups of very different density. Such points are hard for cells and trees.
Matrix<double> groups(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  Matrix<double> points(n, d);
  core::PointSpecification specification;
  specification.kind = core::Generator::blobs;
  specification.seed = seed;
  specification.clusters = 5;
  specification.spread = 0.1;
  core::generate_points(specification, 0, points.view(), 1);
  return points;
}

std::vector<double> random_weights(std::int64_t n, std::uint64_t seed, double low, double high) {
  const Matrix<double> values = uniform(n, 1, seed + 1000, low, high);
  return {values.data(), values.data() + n};
}

CaseData plain(Matrix<double> points, double width, std::int64_t bins) {
  CaseData data;
  data.points = std::move(points);
  data.bins.bin_width = width;
  data.bins.bins = bins;
  return data;
}

CaseData between(Matrix<double> points, std::vector<double> edges) {
  CaseData data;
  data.points = std::move(points);
  data.bins.edges = std::move(edges);
  return data;
}

CaseData crossed(CaseData data, Matrix<double> others) {
  data.others = std::move(others);
  return data;
}

CaseData boxed(CaseData data, std::vector<double> lengths, std::vector<double> origin = {}) {
  data.box = std::move(lengths);
  data.box_origin = std::move(origin);
  return data;
}

CaseData cut(CaseData data, double cutoff) {
  data.bins.cutoff = cutoff;
  return data;
}

std::vector<double> square_roots(std::int64_t from, std::int64_t to) {
  std::vector<double> edges;
  for (std::int64_t square = from; square <= to; ++square) edges.push_back(std::sqrt(static_cast<double>(square)));
  return edges;
}

// Returns points on a lattice with a step of one ulp (2^-26) at an offset of 1e8. The lattice extends over `ulps`
// steps.
Matrix<double> few_ulps_apart(std::int64_t n, std::int64_t d, std::uint64_t seed, std::int64_t ulps) {
  Matrix<double> points = uniform(n, d, seed, 0, static_cast<double>(ulps + 1));
  for (std::int64_t index = 0; index < n * d; ++index)
    points.data()[index] = 1e8 + std::floor(points.data()[index]) * 0x1p-26;
  for (std::int64_t dim = 0; dim < d && n > 1; ++dim) {
    points(0, dim) = 1e8;
    points(n - 1, dim) = 1e8 + static_cast<double>(ulps) * 0x1p-26;
  }
  return points;
}

using Add = std::function<void(const std::string& name, std::function<CaseData(std::uint64_t seed)> make)>;

void add_sizes(const Add& add) {
  for (const std::int64_t n : {0, 1, 2, 3, 17, 64, 65, 255, 700})
    for (const std::int64_t d : {1, 2, 3})
      add("uniform_" + std::to_string(n) + "x" + std::to_string(d),
          [n, d](auto seed) { return plain(uniform(n, d, seed), 0.25, 40); });
  add("one_bin", [](auto seed) { return plain(uniform(300, 3, seed), 4, 1); });
  add("one_bin_for_all", [](auto seed) { return plain(uniform(300, 3, seed), 100, 1); });
  add("many_bins", [](auto seed) { return plain(uniform(300, 3, seed), 0.0017, 10007); });
  add("all_beyond", [](auto seed) { return plain(uniform(200, 3, seed), 1e-9, 5); });
  add("padded_rows", [](auto seed) {
    CaseData data = plain(uniform(301, 3, seed), 0.5, 30);
    data.padding = 2;
    return data;
  });
  add("groups", [](auto seed) { return plain(groups(600, 3, seed), 0.3, 60); });
  add("groups_2d", [](auto seed) { return plain(groups(600, 2, seed), 0.07, 200); });
}

void add_ties(const Add& add) {
  add("lattice_1d", [](auto) { return plain(lattice(300, 1), 1, 290); });
  add("lattice_2d", [](auto) { return plain(lattice(20, 2), 1, 25); });
  add("lattice_3d", [](auto) { return plain(lattice(8, 3), 1, 12); });
  add("lattice_fine_bins", [](auto) { return plain(lattice(8, 3), 0.5, 20); });
  add("lattice_tenths", [](auto) { return plain(scaled(lattice(8, 3), 0.1), 0.1, 12); });
  add("lattice_thirds", [](auto) { return plain(scaled(lattice(300, 1), 1.0 / 3), 1.0 / 3, 250); });
  for (const std::int64_t d : {1, 2, 3})
    add("lattice_every_distance_an_edge_" + std::to_string(d) + "d", [d](auto) {
      return between(lattice(d == 1 ? 90 : d == 2 ? 16 : 7, d), square_roots(0, 100));
    });
  add("lattice_periodic", [](auto) { return boxed(plain(lattice(8, 3), 1, 4), {8, 8, 8}); });
  add("lattice_periodic_edges", [](auto) { return boxed(between(lattice(8, 3), square_roots(1, 16)), {8, 8, 8}); });
  add("lattice_offset", [](auto) { return plain(scaled(lattice(7, 3), 1, 1048576), 1, 9); });
  add("duplicates", [](auto seed) {
    CaseData data = plain(uniform(400, 3, seed), 0.5, 20);
    for (std::int64_t row = 0; row < 400; ++row)
      for (std::int64_t dim = 0; dim < 3; ++dim) data.points(row, dim) = data.points(row % 37, dim);
    return data;
  });
  add("all_points_equal", [](auto) { return plain(scaled(Matrix<double>(lattice(300, 1)), 0, 1.0 / 3), 1, 3); });
  add("all_points_equal_below", [](auto) { return between(scaled(lattice(300, 1), 0, 1.0 / 3), {0x1p-1074, 1.0}); });
}

void add_bins(const Add& add) {
  add("uneven_edges", [](auto seed) { return between(uniform(400, 3, seed), {0, 0.1, 0.11, 1, 4, 4.5, 9, 20}); });
  add("first_edge_above_zero", [](auto seed) { return between(uniform(400, 3, seed), {2, 3, 3.5, 7}); });
  add("two_edges", [](auto seed) { return between(uniform(400, 2, seed), {1, 3}); });
  add("logarithmic_edges", [](auto seed) {
    std::vector<double> edges;
    for (int power = -20; power <= 4; ++power) edges.push_back(std::ldexp(1.1, power));
    return between(groups(500, 3, seed), edges);
  });
  add("edges_too_close_for_squares", [](auto seed) {
    const double one = 5;
    return between(uniform(300, 3, seed), {1, one, std::nextafter(one, 6), std::nextafter(one, 6) + 1e-15, 8});
  });
  add("cutoff_off_the_grid", [](auto seed) { return cut(plain(uniform(500, 3, seed), 0.3, 40), 2.5); });
  add("cutoff_on_the_grid", [](auto) { return cut(plain(lattice(8, 3), 1, 40), 3); });
  add("cutoff_a_rounding_past_a_bin", [](auto) {
    // 0.009 / 0.001 rounds to 9, but 9 * 0.001 rounds to 0.009000000000000001.
    CaseData data = cut(plain(scaled(lattice(20, 1), 0.001), 0.001, 20), 9 * 0.001);
    data.points(3, 0) = 0.009;
    data.points(4, 0) = 0;
    return data;
  });
  add("cutoff_past_the_bins", [](auto seed) { return cut(plain(uniform(300, 2, seed), 0.3, 7), 50); });
  add("cutoff_in_the_first_bin", [](auto seed) { return cut(plain(uniform(500, 3, seed), 3, 4), 0.7); });
  add("cutoff_between_edges", [](auto seed) { return cut(between(uniform(300, 3, seed), {0.5, 2, 4, 8}), 3); });
  // With this many points, trees have several nodes, and most pairs are in one bin.
  add("wide_bins", [](auto seed) { return plain(uniform(1500, 3, seed), 4, 5); });
  add("wide_bins_2d", [](auto seed) { return plain(groups(1300, 2, seed), 3, 9); });
  add("wide_edges", [](auto seed) { return between(uniform(1500, 3, seed), {2, 3, 7, 15}); });
  add("wide_bins_periodic", [](auto seed) { return boxed(plain(uniform(1400, 3, seed), 2.5, 2), {10, 10, 10}); });
  add("wide_bins_lattice", [](auto) { return plain(lattice(11, 3), 4, 4); });
  add("wide_bins_cross",
      [](auto seed) { return crossed(plain(uniform(800, 3, seed), 4, 4), uniform(1100, 3, seed + 5)); });
  add("small_cutoff", [](auto seed) { return cut(plain(uniform(900, 3, seed), 0.05, 20), 0.9); });
}

void add_boxes(const Add& add) {
  for (const std::int64_t d : {1, 2, 3})
    add("periodic_" + std::to_string(d) + "d", [d](auto seed) {
      return boxed(plain(uniform(400, d, seed), 0.25, 20), std::vector<double>(static_cast<std::size_t>(d), 10));
    });
  add("periodic_uneven", [](auto seed) { return boxed(plain(uniform(400, 3, seed), 0.3, 17), {11, 10.5, 37}); });
  add("periodic_origin", [](auto seed) {
    return boxed(plain(uniform(400, 3, seed, -5, 5), 0.3, 16), {10, 10, 10}, {-5, -5, -5});
  });
  add("periodic_cutoff", [](auto seed) {
    return cut(boxed(plain(uniform(900, 3, seed), 0.1, 50), {10, 10, 10}), 1.23);
  });
  add("periodic_on_the_border", [](auto) {
    return boxed(plain(scaled(lattice(3, 3), 5), 0.5, 10), {10, 10, 10});  // in this box, 0 and 10 are the same place
  });
  add("periodic_half_a_box_apart", [](auto) { return boxed(plain(scaled(lattice(4, 3), 2.5), 2.5, 2), {10, 10, 10}); });
  add("periodic_groups", [](auto seed) {
    return boxed(plain(groups(500, 3, seed), 0.2, 30), {16, 16, 16}, {-3, -3, -3});
  });
  add("periodic_cross", [](auto seed) {
    return crossed(boxed(plain(uniform(200, 3, seed), 0.3, 16), {10, 10, 10}), uniform(333, 3, seed + 9));
  });
}

/// Returns points in a triclinic cell whose corner is at zero. The first `whole` points are at eighths of the cell's
/// vectors.
Matrix<double> in_cell(std::int64_t n, std::uint64_t seed, const std::vector<double>& cell, std::int64_t whole = 0) {
  const Matrix<double> fractions = uniform(n, 3, seed, 0, 1);
  Matrix<double> points(n, 3);
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      double sum = 0;
      for (std::int64_t vector = 0; vector < 3; ++vector) {
        double fraction = fractions(row, vector);
        if (row < whole) fraction = std::floor(fraction * 8) / 8;
        sum += fraction * cell[static_cast<std::size_t>(3 * vector + axis)];
      }
      points(row, axis) = static_cast<double>(static_cast<float>(sum));
    }
  return points;
}

struct Cells {
  std::vector<double> tilted{10, 0, 0, 3, 9, 0, -2, 4, 11};
  std::vector<double> face_centred{0, 8, 8, 8, 0, 8, 8, 8, 0};
  std::vector<double> permuted{0, 10, 0, 0, 0, 12, 9, 0, 0};
  std::vector<double> skewed{10, 0, 0, 27, 10, 0, -14, 33, 10};
  std::vector<double> rotated{7.3, 2.1, -0.4, -1.7, 8.9, 0.6, 0.3, -1.1, 9.7};
  std::vector<double> wide_range{1e3, 1, 0.5, 0.25, 1.5, 0.125, -3, 0.0625, 40};
  std::vector<double> long_vectors{10, 0, 0, 37, 10, 0, -55, 23, 10};
  std::vector<double> hexagonal{40, 0, 0, 20.000000000000004, 34.64101615137754, 0, 0, 0, 40};
};

void add_cells(const Add& add, const Cells& cells) {
  struct Named {
    const char* name;
    std::vector<double> cell;
    double width;
    std::int64_t bins;
  };
  for (const Named& one :
       {Named{"tilted", cells.tilted, 0.2, 20}, Named{"face_centred", cells.face_centred, 0.25, 18},
        Named{"permuted", cells.permuted, 0.3, 14}, Named{"skewed", cells.skewed, 0.05, 9},
        Named{"rotated", cells.rotated, 0.1, 34}, Named{"long_vectors", cells.long_vectors, 0.25, 17},
        Named{"hexagonal", cells.hexagonal, 0.5, 34}, Named{"flat", {20, 0, 0, 7, 18, 0, 1, -1, 2.5}, 0.05, 24},
        Named{"elongated", {4, 0, 0, 1.5, 4, 0, 11, -7, 90}, 0.1, 17}, Named{"wide_range", cells.wide_range, 0.01, 70}})
    add("triclinic_" + std::string(one.name),
        [one](auto seed) { return boxed(plain(in_cell(400, seed, one.cell, 150), one.width, one.bins), one.cell); });
  for (const double cutoff : {0.6, 1.5, 2.5})
    add("triclinic_cutoff_of_" + std::to_string(static_cast<int>(10 * cutoff)) + "_tenths", [=](auto seed) {
      return boxed(cut(plain(in_cell(1100, seed, cells.face_centred, 90), 0.05, 60), cutoff), cells.face_centred);
    });
  add("triclinic_groups", [=](auto seed) {  // most points are in three clumps, and the other points are alone
    CaseData data = boxed(cut(plain(in_cell(700, seed, cells.long_vectors), 0.1, 30), 2.2), cells.long_vectors);
    for (std::int64_t row = 100; row < 700; ++row)
      for (std::int64_t axis = 0; axis < 3; ++axis)
        data.points(row, axis) =
            data.points(row % 3, axis) + (data.points(row, axis) - data.points(row % 3, axis)) / 64;
    return data;
  });
  // The bins end at half of the least height, where rounding alone decides which image is nearest.
  add("triclinic_to_half_a_height", [=](auto seed) {
    return boxed(
        cut(plain(in_cell(500, seed, cells.tilted, 250), 0.25, 40), Cell::reduced(cells.tilted).least_height() / 2),
        cells.tilted);
  });
  add("triclinic_face_centred_to_half_a_height", [=](auto seed) {
    return boxed(cut(plain(in_cell(500, seed, cells.face_centred, 500), 0.5, 40),
                     Cell::reduced(cells.face_centred).least_height() / 2),
                 cells.face_centred);
  });
}

void add_jobs_in_cells(const Add& add, const Cells& cells) {
  add("triclinic_without_tilt", [](auto seed) {
    return boxed(plain(in_cell(300, seed, {10, 0, 0, 0, 10, 0, 0, 0, 10}, 150), 0.5, 10),
                 {10, 0, 0, 0, 10, 0, 0, 0, 10});
  });
  add("triclinic_lattice", [](auto) {
    return boxed(plain(lattice(8, 3), 0.5, 6), {8, 0, 0, 4, 8, 0, 0, 4, 8}, {0, 0, 0});
  });
  add("triclinic_edges", [=](auto seed) {
    return boxed(between(in_cell(400, seed, cells.face_centred, 200), {0.5, 1, 2, 2.1, std::sqrt(8.0), 4.5}),
                 cells.face_centred);
  });
  add("triclinic_many_bins",
      [=](auto seed) { return boxed(plain(in_cell(300, seed, cells.rotated, 0), 0.0005, 6800), cells.rotated); });
  add("triclinic_origin", [=](auto seed) {
    return boxed(plain(scaled(in_cell(300, seed, cells.tilted), 1, -64), 0.2, 20), cells.tilted, {-64, -64, -64});
  });
  add("triclinic_offset", [=](auto seed) {
    return boxed(plain(scaled(in_cell(300, seed, cells.tilted), 1, 1024), 0.2, 20), cells.tilted, {1024, 1024, 1024});
  });
  add("triclinic_around_it", [](auto seed) {  // the points are in the box around the cell, but not in the cell
    return boxed(plain(uniform(400, 3, seed, 0, 10.9), 0.2, 20), {10, 0, 0, 3, 9, 0, -2, 4, 11});
  });
  add("triclinic_cross", [=](auto seed) {
    CaseData data = crossed(boxed(plain(in_cell(200, seed, cells.rotated), 0.1, 34), cells.rotated),
                            in_cell(333, seed + 9, cells.rotated, 90));
    data.padding = 1;
    return data;
  });
  add("triclinic_weights", [=](auto seed) {
    CaseData data = boxed(plain(in_cell(300, seed, cells.tilted, 100), 0.2, 20), cells.tilted);
    data.weights = random_weights(300, seed, -1, 2);
    return data;
  });
  for (const double scale : {0x1p-130, 0x1p100})
    add(scale < 1 ? "triclinic_tiny" : "triclinic_huge", [=](auto seed) {
      std::vector<double> cell = cells.tilted;
      for (double& number : cell) number *= scale;
      CaseData data = boxed(plain(scaled(in_cell(300, seed, cells.tilted), scale), 0.2 * scale, 20), cell);
      return data;
    });
  for (const std::int64_t n : {0, 1, 2, 17})
    add("triclinic_of_" + std::to_string(n),
        [=](auto seed) { return boxed(plain(in_cell(n, seed, cells.tilted), 0.2, 20), cells.tilted); });
}

void add_extremes(const Add& add) {
  add("offset_1e8", [](auto seed) { return plain(uniform(300, 3, seed, 1e8, 1e8 + 100), 7, 20); });
  add("offset_1e15", [](auto seed) { return plain(uniform(300, 3, seed, 1e15, 1e15 + 100), 7, 20); });
  add("denormals", [](auto seed) { return plain(scaled(uniform(300, 3, seed), 1e-40), 1e-41, 90); });
  add("squares_below_double", [](auto seed) { return plain(scaled(uniform(300, 2, seed), 1e-162), 1e-163, 100); });
  add("denormals_of_double", [](auto seed) { return plain(scaled(uniform(300, 2, seed), 0x1p-1060), 0x1p-1061, 9); });
  add("huge_values", [](auto seed) { return plain(scaled(uniform(300, 3, seed), 1e30, -3e30), 1e29, 150); });
  add("greatest_values", [](auto seed) { return plain(uniform(300, 3, seed, -3e38, 3e38), 1e37, 99); });
  add("one_far_away", [](auto seed) {
    CaseData data = plain(uniform(400, 3, seed), 0.25, 50);
    data.points(7, 1) = 1e12;
    return data;
  });
  add("column_without_extent", [](auto seed) {
    CaseData data = plain(uniform(400, 3, seed), 0.25, 50);
    for (std::int64_t row = 0; row < 400; ++row) data.points(row, 1) = 1.0 / 3;
    return data;
  });
  add("columns_of_different_scale", [](auto seed) {
    CaseData data = plain(uniform(400, 3, seed), 0.3, 100);
    for (std::int64_t row = 0; row < 400; ++row) {
      data.points(row, 0) *= 1e-9;
      data.points(row, 2) *= 1e3;
    }
    return data;
  });
}

// Adds cases of points that are an odd number of ulps apart, so that the middle of their extent is not a double. Some
// of the bins are narrower than an ulp.
void add_ulps(const Add& add) {
  for (const std::int64_t ulps : {1, 3, 9})
    for (const double width : {1e-10, 1e-9, 0x1p-26, 0.7 * 0x1p-26}) {
      const std::string name = std::to_string(ulps) + "_ulps_apart_bins_of_" +
                               (width == 1e-10    ? "a_hundredth"
                                : width == 1e-9   ? "a_tenth"
                                : width < 0x1p-26 ? "less_than_one"
                                                  : "one");
      add(name, [=](auto seed) { return plain(few_ulps_apart(300, 3, seed, ulps), width, 4); });
    }
  add("two_points_at_the_end_of_an_ulp", [](auto) {
    Matrix<double> points(3, 1);
    points(0, 0) = 1e8;
    points(1, 0) = points(2, 0) = 1e8 + 0x1p-26;
    return plain(std::move(points), 1e-9, 1);
  });
  add("ulps_apart_2d_cutoff",
      [](auto seed) { return cut(plain(few_ulps_apart(400, 2, seed, 31), 0x1p-27, 60), 4e-8); });
  add("ulps_apart_edges", [](auto seed) {
    return between(few_ulps_apart(400, 3, seed, 7), {0x1p-1074, 1e-9, 0x1p-26, 1.5 * 0x1p-26, 4 * 0x1p-26});
  });
  add("ulps_apart_cross", [](auto seed) {
    return crossed(plain(few_ulps_apart(200, 3, seed, 9), 1e-9, 1), few_ulps_apart(300, 3, seed + 5, 9));
  });
  for (const std::int64_t ulps : {1, 9, 10}) {
    const std::vector<double> box(3, static_cast<double>(ulps) * 0x1p-26);
    add("ulps_apart_periodic_" + std::to_string(ulps), [=](auto seed) {
      return boxed(plain(few_ulps_apart(300, 3, seed, ulps), box[0] / 16, 8), box, {1e8, 1e8, 1e8});
    });
  }
  add("offset_1e15_bins_of_a_tenth_of_an_ulp", [](auto seed) {
    Matrix<double> points = few_ulps_apart(300, 3, seed, 9);
    for (std::int64_t index = 0; index < 900; ++index)
      points.data()[index] = 1e15 + (points.data()[index] - 1e8) * 0x1p23;
    return plain(std::move(points), 0.0125, 1);
  });
  add("one_column_of_ulps_one_wide", [](auto seed) {
    CaseData data = plain(few_ulps_apart(1200, 3, seed, 3), 1e-9, 1);
    for (std::int64_t row = 0; row < 1200; ++row) data.points(row, 0) = static_cast<double>(row % 5) * 1e-10;
    return data;
  });
}

CaseData weighted(CaseData data, std::uint64_t seed, double low, double high) {
  data.weights = random_weights(data.points.rows(), seed, low, high);
  if (data.others.columns() > 0) data.other_weights = random_weights(data.others.rows(), seed + 1, low, high);
  return data;
}

CaseData weighing(CaseData data, const std::function<double(std::int64_t)>& weight) {
  for (std::int64_t row = 0; row < data.points.rows(); ++row) data.weights.push_back(weight(row));
  for (std::int64_t row = 0; row < data.others.rows(); ++row) data.other_weights.push_back(weight(row + 7));
  return data;
}

void add_weights(const Add& add) {
  add("weights", [=](auto seed) { return weighted(plain(uniform(400, 3, seed), 0.5, 30), seed, 0, 3); });
  add("weights_of_both_signs", [=](auto seed) { return weighted(plain(uniform(400, 2, seed), 0.5, 20), seed, -1, 1); });
  add("weights_of_many_magnitudes", [=](auto seed) {
    CaseData data = weighted(plain(uniform(300, 3, seed), 0.5, 30), seed, 1, 2);
    for (std::size_t row = 0; row < data.weights.size(); ++row)
      data.weights[row] = std::ldexp(data.weights[row], static_cast<int>(row % 61) - 30);
    return data;
  });
  add("weights_all_zero", [=](auto seed) { return weighted(plain(uniform(50, 3, seed), 0.5, 30), seed, 0, 0); });
  add("weights_periodic_cutoff", [=](auto seed) {
    return weighted(cut(boxed(plain(uniform(500, 3, seed), 0.2, 25), {10, 10, 10}), 1.5), seed, 0, 1);
  });
  add("weights_cross", [=](auto seed) {
    return weighted(crossed(plain(uniform(100, 3, seed), 0.5, 30), uniform(250, 3, seed + 3)), seed, -2, 5);
  });
}

/// Adds cases with weights whose sums have different forms (see WeightSums).
void add_sums_of_weights(const Add& add) {
  for (const auto& [name, heavy] : {std::pair("1e12", 1e12), std::pair("1e20", 1e20), std::pair("1e38", 1e38)})
    add("weights_one_of_" + std::string(name), [=, heavy = heavy](auto) {
      return weighing(plain(lattice(4, 1), 1, 4), [=](std::int64_t row) { return row == 0 ? heavy : 1; });
    });
  for (const auto& [name, light] : {std::pair("1e_minus_30", 1e-30), std::pair("1e_minus_140", 1e-140),
                                    std::pair("1e_minus_150", 1e-150), std::pair("the_least_double", 0x1p-1074)})
    add("weights_all_near_" + std::string(name), [=, light = light](auto seed) {
      return weighing(plain(uniform(60, 2, seed), 4, 4),
                      [=](std::int64_t row) { return light * static_cast<double>(row % 5 - 1); });
    });
  add("weights_of_three_words", [=](auto seed) {
    return weighing(plain(uniform(300, 3, seed), 3, 6), [](std::int64_t row) {
      return std::ldexp(1 + std::fmod(0.618033988749895 * static_cast<double>(row), 1.0), static_cast<int>(row % 9)) *
             (row % 3 == 0 ? -1 : 1);
    });
  });
  add("weights_of_every_exponent", [=](auto seed) {
    return weighing(plain(uniform(300, 3, seed), 3, 6), [](std::int64_t row) {
      return std::ldexp(static_cast<double>(row % 11 - 5) / 3, static_cast<int>(row * 37 % 1194) - 1073);
    });
  });
  add("weights_of_every_exponent_periodic", [=](auto seed) {
    return weighing(cut(boxed(plain(uniform(300, 3, seed), 0.2, 25), {10, 10, 10}), 1.5), [](std::int64_t row) {
      return std::ldexp(static_cast<double>(row % 7 - 3) / 7, static_cast<int>(row * 37 % 240) - 120);
    });
  });
  // In these bins, products of 2^120 and -2^120 cancel and leave 2^-240 or nothing.
  add("weights_that_cancel", [=](auto) {
    return weighing(crossed(plain(scaled(lattice(90, 1), 0), 1, 2), scaled(lattice(60, 1), 0)),
                    [](std::int64_t row) { return row % 30 == 13 ? 0x1p-120 : (row % 2 == 0 ? 0x1p120 : -0x1p120); });
  });
  // 2^53 + 1 and 2^53 + 3 are halfway between two doubles. They round to even, unless a much lower bit is added.
  for (const auto& [name, last] : {std::pair("tie", 0.0), std::pair("bit_past_a_tie", 0x1p-60),
                                   std::pair("bit_before_a_tie", -0x1p-60), std::pair("far_bit_past_a_tie", 0x1p-140)})
    add("weights_with_a_" + std::string(name), [=, last = last](auto) {
      CaseData data = crossed(plain(scaled(lattice(1, 1), 0), 1, 2), scaled(lattice(3, 1), 0.5));
      data.weights = {1};
      data.other_weights = {0x1p53, 1, last};
      data.points(0, 0) = 0.125;
      data.others(2, 0) = 0;
      return data;
    });
  add("weights_zero_against_heavy_ones", [=](auto) {
    CaseData data = crossed(plain(lattice(40, 1), 1, 9), lattice(50, 1));
    data.weights.assign(40, -0.0);
    data.other_weights.assign(50, 3e38);
    return data;
  });
  add("weights_cross_of_different_scale", [=](auto seed) {
    CaseData data = crossed(plain(uniform(200, 3, seed), 2, 6), uniform(300, 3, seed + 3));
    for (int row = 0; row < 200; ++row) data.weights.push_back(std::ldexp(row - 99.5, -100 - row % 40));
    for (int row = 0; row < 300; ++row) data.other_weights.push_back(std::ldexp(row - 149, row % 100));
    return data;
  });
  for (const std::int64_t n : {0, 1, 2})
    add("weights_of_" + std::to_string(n),
        [=](auto seed) { return weighted(plain(uniform(n, 2, seed), 1, 9), seed, 1, 2); });
}

// Returns points in a periodic box of edge 10. A quarter of them are uniform. The rest are in clumps: around a corner
// of the box, around a point that is on a border of cells, and at 7 points.
Matrix<double> clumps(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  Matrix<double> points = uniform(n, d, seed);
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t dim = 0; dim < d; ++dim) {
      double& at = points(row, dim);
      if (row % 4 == 1) at = std::fmod(9.8 + at / 25, 10);
      if (row % 4 == 2) at = 4.9 + at / 50;
      if (row % 4 == 3) at = points(row % 7 * 4, dim);
    }
  return points;
}

std::vector<double> powers(double first, double ratio, int count) {
  std::vector<double> edges;
  for (int edge = 0; edge < count; ++edge) edges.push_back(first * std::pow(ratio, edge));
  return edges;
}

/// Adds cases of clustered points, and of edges whose bins vectors find in tables.
void add_clustered(const Add& add) {
  const std::vector<double> in_table = powers(0.02, 1.4, 14);
  for (const std::int64_t d : {1, 2, 3}) {
    const std::string dimensions = std::to_string(d) + "d";
    add("clumps_" + dimensions, [=](auto seed) { return between(clumps(500, d, seed), in_table); });
    add("clumps_periodic_" + dimensions, [=](auto seed) {
      return boxed(between(clumps(500, d, seed), in_table), std::vector<double>(static_cast<std::size_t>(d), 10));
    });
  }
  add("clumps_of_one_width", [](auto seed) { return boxed(plain(clumps(500, 3, seed), 0.1, 16), {10, 10, 10}); });
  add("clumps_cross",
      [=](auto seed) { return crossed(between(clumps(200, 3, seed), in_table), clumps(400, 3, seed)); });
  add("clumps_weighted", [=](auto seed) {
    return weighted(boxed(between(clumps(500, 3, seed), in_table), {10, 10, 10}), seed, -1, 1);
  });
  add("clumps_cross_weighted", [=](auto seed) {
    return weighted(crossed(between(clumps(200, 3, seed), in_table), clumps(400, 3, seed)), seed, 1, 2);
  });
  add("clumps_weighted_in_many_bins",
      [=](auto seed) { return weighted(plain(clumps(500, 3, seed), 0.01, 200), seed, 1, 2); });
  add("clumps_with_weights_of_many_magnitudes", [=](auto seed) {
    return weighing(between(clumps(300, 3, seed), in_table), [](std::int64_t row) {
      return std::ldexp(static_cast<double>(row % 7 - 3) / 7, static_cast<int>(row * 37 % 240) - 120);
    });
  });
  add("clump_in_one_cell", [=](auto seed) {
    CaseData data = between(scaled(uniform(500, 3, seed), 1e-4, 3), powers(1e-5, 1.4, 14));
    data.points(0, 0) = 1000;
    return data;
  });
  // A word cannot hold the sum of the weights of all pairs of a point, which are in one bin.
  add("clump_longer_than_a_list", [=](auto seed) {
    CaseData data = weighted(between(scaled(uniform(2300, 3, seed), 5e-4), {0, 0.02, 0.05, 0.2}), seed, 1, 2);
    data.points(0, 0) = 10;
    return data;
  });
  add("few_points_often", [=](auto seed) {
    CaseData data = between(uniform(600, 3, seed), in_table);
    for (std::int64_t row = 0; row < 600; ++row)
      for (std::int64_t dim = 0; dim < 3; ++dim) data.points(row, dim) = data.points(row % 5, dim) / 10;
    return data;
  });
  add("lattice_between_powers", [](auto) { return between(lattice(9, 3), powers(0.25, 2, 6)); });
  add("lattice_between_even_edges", [](auto) { return between(lattice(9, 3), {0, 1, 2, 3, 4, 5}); });
  add("lattice_between_nearly_even_edges", [](auto) {
    return between(lattice(9, 3), {0, std::nextafter(1, 0), 2 + 1e-11, 3 - 1e-11, 4, 5});
  });
  add("even_edges_from_above_zero", [](auto seed) { return between(clumps(400, 3, seed), {0.5, 1, 1.5, 2, 2.5}); });
  for (const int bins : {1, 2, 28, 29, 30, 31, 40})  // tables have at most 32 slots
    add("clumps_in_" + std::to_string(bins) + "_bins",
        [bins](auto seed) { return between(clumps(300, 3, seed), powers(0.001, 1.3, bins + 1)); });
}

void add_crosses(const Add& add) {
  for (const std::int64_t m : {0, 1, 5, 600})
    add("cross_with_" + std::to_string(m),
        [m](auto seed) { return crossed(plain(uniform(150, 3, seed), 0.5, 25), uniform(m, 3, seed + 5)); });
  add("cross_of_none", [](auto seed) { return crossed(plain(uniform(0, 3, seed), 0.5, 25), uniform(9, 3, seed + 5)); });
  add("cross_1d", [](auto seed) { return crossed(plain(uniform(150, 1, seed), 0.1, 25), uniform(70, 1, seed + 5)); });
  add("cross_with_itself",
      [](auto seed) { return crossed(plain(uniform(150, 2, seed), 0.5, 25), uniform(150, 2, seed)); });
  add("cross_lattices", [](auto) { return crossed(plain(lattice(6, 3), 1, 9), scaled(lattice(5, 3), 1, 2)); });
  add("cross_far_apart", [](auto seed) {
    return crossed(plain(uniform(150, 3, seed), 0.5, 25), uniform(100, 3, seed + 5, 1e6, 1e6 + 1));
  });
  add("cross_padded", [](auto seed) {
    CaseData data = crossed(cut(plain(uniform(150, 3, seed), 0.5, 25), 3.3), uniform(400, 3, seed + 5, 5, 15));
    data.padding = 1;
    return data;
  });
}

std::vector<Case> make_cases() {
  std::vector<Case> list;
  const Add add = [&list](const std::string& name, std::function<CaseData(std::uint64_t)> make) {
    list.push_back({name, std::move(make)});
  };
  add_sizes(add);
  add_ties(add);
  add_bins(add);
  add_boxes(add);
  add_cells(add, {});
  add_jobs_in_cells(add, {});
  add_extremes(add);
  add_ulps(add);
  add_weights(add);
  add_sums_of_weights(add);
  add_clustered(add);
  add_crosses(add);
  return list;
}

std::string differs(const std::string& what, const std::string& is, const std::string& should_be) {
  return what + " is " + is + " instead of " + should_be;
}

template <class T>
Buffer<T> in_type(const std::vector<double>& values) {
  Buffer<T> converted(static_cast<std::int64_t>(values.size()));
  for (std::int64_t index = 0; index < converted.size(); ++index)
    converted[index] = static_cast<T>(values[static_cast<std::size_t>(index)]);
  return converted;
}

template <class T>
Buffer<T> padded(const Matrix<double>& rows, std::int64_t padding) {
  const std::int64_t stride = rows.columns() + padding;
  Buffer<T> converted(rows.rows() * stride, static_cast<T>(-12345));
  for (std::int64_t row = 0; row < rows.rows(); ++row)
    for (std::int64_t dim = 0; dim < rows.columns(); ++dim)
      converted[row * stride + dim] = static_cast<T>(rows(row, dim));
  return converted;
}

}  // namespace

const std::vector<Case>& cases() {
  static const std::vector<Case> list = make_cases();
  return list;
}

std::string compare(const PairHistogramResult& result, const PairHistogramResult& truth) {
  if (result.edges != truth.edges) return "the edges differ";
  if (result.counts.size() != truth.counts.size())
    return differs("the number of bins", std::to_string(result.counts.size()), std::to_string(truth.counts.size()));
  const auto named = [](const std::string& what, std::uint64_t is, std::uint64_t should_be) {
    return is == should_be ? "" : differs(what, std::to_string(is), std::to_string(should_be));
  };
  for (std::size_t bin = 0; bin < truth.counts.size(); ++bin)
    if (auto text = named("the count of bin " + std::to_string(bin), result.counts[bin], truth.counts[bin]);
        !text.empty())
      return text;
  if (auto text = named("the count below", result.below, truth.below); !text.empty()) return text;
  if (auto text = named("the count beyond", result.beyond, truth.beyond); !text.empty()) return text;
  if (auto text = named("the number of pairs", result.pairs, truth.pairs); !text.empty()) return text;
  if (result.weighted.size() != truth.weighted.size())
    return differs("the number of weighted sums", std::to_string(result.weighted.size()),
                   std::to_string(truth.weighted.size()));
  for (std::size_t bin = 0; bin < truth.weighted.size(); ++bin)
    if (std::memcmp(&result.weighted[bin], &truth.weighted[bin], sizeof(double)) != 0)
      return differs("the weight of bin " + std::to_string(bin), core::number_text(result.weighted[bin]),
                     core::number_text(truth.weighted[bin]));
  if (!(result.report.rechecked >= 0 && result.report.rechecked <= 1))
    return differs("the share of re-checked pairs", core::number_text(result.report.rechecked), "between 0 and 1");
  return "";
}

template <class T>
PreparedCase<T>::PreparedCase(const CaseData& data)
    : points_(padded<T>(data.points, data.padding)), others_(padded<T>(data.others, data.padding)),
      weights_(in_type<T>(data.weights)), other_weights_(in_type<T>(data.other_weights)) {
  const auto view = [&](const Buffer<T>& rows, const Matrix<double>& shape) {
    return MatrixView<const T>(rows.data(), shape.rows(), shape.columns(), shape.columns() + data.padding);
  };
  options_.bins = data.bins;
  if (data.others.columns() > 0) memory_.others = view(others_, data.others);
  options_.box = data.box;
  options_.box_origin = data.box_origin;
  memory_.weights = std::as_const(weights_).view();
  memory_.other_weights = std::as_const(other_weights_).view();
  problem_ = prepare(view(points_, data.points), options_, memory_, {});
}

template <class T>
const PairHistogramResult& PreparedCase<T>::truth() const {
  if (!truth_) truth_ = oracle(problem_);
  return *truth_;
}

template <class T>
std::string PreparedCase<T>::check(const Variant& variant, const Execution& execution) const {
  Execution named = execution;
  named.variant = variant.name;
  return compare_with_truth(pair_histogram(problem_.points, options_, memory_, named));
}

template class PreparedCase<float>;
template class PreparedCase<double>;

}  // namespace gradus::pair_histogram_detail
