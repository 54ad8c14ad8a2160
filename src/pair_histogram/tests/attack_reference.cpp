#include "pair_histogram/tests/attack_reference.hpp"
#include "pair_histogram/tests/job.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/attack/exact.hpp"

namespace gradus::attack {

namespace {

/// Returns the nominal start of each bin and the end of the last bin, as the result's edges give them.
std::vector<double> nominal_edges(const PairHistogramBins& bins) {
  const auto largest_before = [](double value) { return std::nextafter(value, 0.0); };
  std::vector<double> edges;
  const std::size_t wanted = bins.edges.empty() ? static_cast<std::size_t>(bins.bins) : bins.edges.size() - 1;
  for (std::size_t edge = 0; edge <= wanted; ++edge) {
    const auto index = static_cast<double>(edge);
    const double begin = bins.edges.empty() ? index * bins.bin_width : bins.edges[edge];
    // Leaves out a bin that begins at or past the cutoff, or in which rounding leaves no distance below the cutoff.
    const bool cut = bins.cutoff > 0 && (begin >= bins.cutoff ||
                                         (bins.edges.empty() && largest_before(bins.cutoff) / bins.bin_width < index));
    edges.push_back(cut ? bins.cutoff : begin);
    if (cut) break;
  }
  return edges;
}

/// A triclinic cell, computed by the public header's formula, vector by vector.
struct ReferenceCell {
  double vectors[3][3];
  double shares[3][3];

  explicit ReferenceCell(const std::vector<double>& box) {
    for (std::size_t at = 0; at < 9; ++at) vectors[at / 3][at % 3] = box[at];
    mpz_class whole[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (;;) {
      take_shares();
      std::size_t shortened = 0;
      // these multiples of the other two reciprocal vectors were added to the shortened one
      double times[3] = {0, 0, 0};
      if (!find_step(shortened, times)) return;
      for (std::size_t vector = 0; vector < 3; ++vector) {
        if (times[vector] == 0) continue;
        for (std::size_t part = 0; part < 3; ++part)
          whole[vector][part] -= mpz_class(times[vector]) * whole[shortened][part];
        for (std::size_t axis = 0; axis < 3; ++axis) {
          mpz_class sum = 0;
          for (std::size_t part = 0; part < 3; ++part) sum += whole[vector][part] * in_steps(box[3 * part + axis]);
          vectors[vector][axis] = round_once<double>(sum, step_exponent);
        }
      }
    }
  }

  void take_shares() {
    const auto& [a, b, c] = vectors;
    const double b_c[3] = {b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]};
    const double c_a[3] = {c[1] * a[2] - c[2] * a[1], c[2] * a[0] - c[0] * a[2], c[0] * a[1] - c[1] * a[0]};
    const double a_b[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    const double volume = (a[0] * b_c[0] + a[1] * b_c[1]) + a[2] * b_c[2];
    for (std::size_t axis = 0; axis < 3; ++axis) {
      shares[0][axis] = b_c[axis] / volume;
      shares[1][axis] = c_a[axis] / volume;
      shares[2][axis] = a_b[axis] / volume;
    }
  }

  /// Tries the steps in the order of the public header. Finds the first step that makes a reciprocal vector
  /// sufficiently shorter. Returns false if there is no such step.
  bool find_step(std::size_t& shortened, double (&times)[3]) const {
    const auto product = [](const double* p, const double* q) { return (p[0] * q[0] + p[1] * q[1]) + p[2] * q[2]; };
    const auto is_done = [&](std::size_t i, std::size_t j, double of_j, std::size_t k, double of_k) {
      double sum[3];
      for (std::size_t axis = 0; axis < 3; ++axis)
        sum[axis] = (shares[i][axis] + of_j * shares[j][axis]) + of_k * shares[k][axis];
      if (!(product(sum, sum) < 1023.0 / 1024 * product(shares[i], shares[i]))) return false;
      shortened = i;
      times[j] = of_j;
      times[k] = of_k;
      return true;
    };
    for (const auto& [i, j] :
         {std::pair(0, 1), std::pair(0, 2), std::pair(1, 0), std::pair(1, 2), std::pair(2, 0), std::pair(2, 1)}) {
      const double nearest = std::nearbyint(product(shares[i], shares[j]) / product(shares[j], shares[j]));
      if (is_done(static_cast<std::size_t>(i), static_cast<std::size_t>(j), -nearest,
                  static_cast<std::size_t>(3 - i - j), 0))
        return true;
    }
    for (std::size_t i = 0; i < 3; ++i)
      for (const auto& [of_next, of_last] : {std::pair(1, 1), std::pair(1, -1), std::pair(-1, 1), std::pair(-1, -1)})
        if (is_done(i, (i + 1) % 3, of_next, (i + 2) % 3, of_last)) return true;
    return false;
  }

  double image(const double (&apart)[3], std::size_t vector) const {
    return std::nearbyint((apart[0] * shares[vector][0] + apart[1] * shares[vector][1]) + apart[2] * shares[vector][2]);
  }

  double distance(const double (&apart)[3]) const {
    const double images[3] = {image(apart, 0), image(apart, 1), image(apart, 2)};
    double left[3];
    for (std::size_t axis = 0; axis < 3; ++axis)
      left[axis] =
          ((apart[axis] - images[0] * vectors[0][axis]) - images[1] * vectors[1][axis]) - images[2] * vectors[2][axis];
    return std::sqrt((left[0] * left[0] + left[1] * left[1]) + left[2] * left[2]);
  }

  /// Returns the exact squared distance to the nearest image. Searches the images up to three vectors away from a given
  /// image.
  mpq_class exact_square(const mpq_class (&apart)[3], const double (&around)[3]) const {
    mpq_class least = -1;
    for (int first = -3; first <= 3; ++first)
      for (int second = -3; second <= 3; ++second)
        for (int third = -3; third <= 3; ++third) {
          mpq_class square = 0;
          for (std::size_t axis = 0; axis < 3; ++axis) {
            const mpq_class left = apart[axis] - mpq_class(around[0] + first) * mpq_class(vectors[0][axis]) -
                                   mpq_class(around[1] + second) * mpq_class(vectors[1][axis]) -
                                   mpq_class(around[2] + third) * mpq_class(vectors[2][axis]);
            square += left * left;
          }
          if (least < 0 || square < least) least = square;
        }
    return least;
  }
};

/// Checks the promise of the public header: if the nearest image is within reach, up to rounding, the formula finds it.
template <class T>
void check_nearest(const ReferenceCell& cell, const T* a, const T* b, double reach) {
  mpq_class apart[3];
  double rounded[3];
  for (std::size_t axis = 0; axis < 3; ++axis) {
    apart[axis] = mpq_class(static_cast<double>(a[axis])) - mpq_class(static_cast<double>(b[axis]));
    rounded[axis] = static_cast<double>(a[axis]) - static_cast<double>(b[axis]);
  }
  double extent = 0;
  for (const auto& vector : cell.vectors)
    for (const double number : vector) extent = std::max(extent, std::abs(number));
  const double little = extent * 0x1p-42;
  const double around[3] = {cell.image(rounded, 0), cell.image(rounded, 1), cell.image(rounded, 2)};
  const double exact = std::sqrt(cell.exact_square(apart, around).get_d());
  const double canonical = cell.distance(rounded);
  const bool right = exact < reach - little ? std::abs(canonical - exact) <= little : canonical >= reach - 2 * little;
  if (!right)
    throw std::logic_error("the formula gives a distance of " + std::to_string(canonical) +
                           " where the nearest image is " + std::to_string(exact) + " away");
}

template <class T>
double distance(const PairHistogramJob<T>& options, const T* a, const T* b, std::int64_t columns) {
  double separation[3] = {0, 0, 0};
  if (options.box.size() == 9) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      separation[axis] = static_cast<double>(a[axis]) - static_cast<double>(b[axis]);
    return ReferenceCell(options.box).distance(separation);
  }
  for (std::int64_t column = 0; column < columns; ++column) {
    separation[column] = std::abs(static_cast<double>(a[column]) - static_cast<double>(b[column]));
    if (!options.box.empty())
      separation[column] =
          std::min(separation[column], options.box[static_cast<std::size_t>(column)] - separation[column]);
  }
  const auto [dx, dy, dz] = separation;
  return std::sqrt((dx * dx + dy * dy) + dz * dz);
}

enum Place : std::int64_t { below = -1, beyond = -2 };

std::int64_t place_of(double distance, const PairHistogramBins& bins, const std::vector<double>& edges) {
  const auto count = static_cast<std::int64_t>(edges.size()) - 1;
  if (bins.cutoff > 0 && distance >= bins.cutoff) return beyond;
  if (bins.edges.empty()) {
    const double bin = std::floor(distance / bins.bin_width);
    return bin < static_cast<double>(count) ? static_cast<std::int64_t>(bin) : beyond;
  }
  if (distance < edges.front()) return below;
  for (std::int64_t bin = 0; bin < count; ++bin)
    if (distance < edges[static_cast<std::size_t>(bin) + 1]) return bin;
  return beyond;
}

}  // namespace

double half_of_cell(const std::vector<double>& box) {
  const ReferenceCell cell(box);
  double least = std::numeric_limits<double>::infinity();
  for (const auto& share : cell.shares)
    least = std::min(least, 1 / std::sqrt(share[0] * share[0] + share[1] * share[1] + share[2] * share[2]));
  return least / 2;
}

template <class T>
PairHistogramResult pair_reference(MatrixView<const T> points, const PairHistogramJob<T>& options) {
  const bool cross = options.others.columns() > 0;
  const bool weighted = !options.weights.empty();
  const MatrixView<const T> seconds = cross ? options.others : points;
  const auto exact_weights = [&](VectorView<const T> weights) {
    std::vector<mpz_class> exact;
    for (const T weight : weights) exact.push_back(in_steps(static_cast<double>(weight)));
    return exact;
  };
  const std::vector<mpz_class> first_weights = exact_weights(options.weights);
  const std::vector<mpz_class> second_weights = cross ? exact_weights(options.other_weights) : first_weights;

  PairHistogramResult result;
  result.edges = nominal_edges(options.bins);
  result.counts.assign(result.edges.size() - 1, 0);
  std::vector<mpz_class> sums(weighted ? result.counts.size() : 0);
  for (std::int64_t first = 0; first < points.rows(); ++first)
    for (std::int64_t second = cross ? 0 : first + 1; second < seconds.rows(); ++second) {
      const double apart = distance(options, points.row(first), seconds.row(second), points.columns());
      if (options.box.size() == 9 && result.pairs % 1009 == 0 && result.pairs < 12 * 1009)
        check_nearest(ReferenceCell(options.box), points.row(first), seconds.row(second), result.edges.back());
      const std::int64_t place = place_of(apart, options.bins, result.edges);
      ++result.pairs;
      if (place == below) {
        ++result.below;
      } else if (place == beyond) {
        ++result.beyond;
      } else {
        const auto bin = static_cast<std::size_t>(place);
        ++result.counts[bin];
        if (weighted)
          sums[bin] +=
              first_weights[static_cast<std::size_t>(first)] * second_weights[static_cast<std::size_t>(second)];
      }
    }
  for (const mpz_class& sum : sums) result.weighted.push_back(round_once<double>(sum, product_exponent));
  return result;
}

template PairHistogramResult pair_reference(MatrixView<const float>, const PairHistogramJob<float>&);
template PairHistogramResult pair_reference(MatrixView<const double>, const PairHistogramJob<double>&);

}  // namespace gradus::attack
