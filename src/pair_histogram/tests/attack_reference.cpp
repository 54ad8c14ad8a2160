#include "pair_histogram/tests/attack_reference.hpp"
#include "pair_histogram/tests/job.hpp"

#include <algorithm>
#include <cmath>

#include "tests/attack/exact.hpp"

namespace gradus::attack {

namespace {

/// Where each bin begins nominally, and the end of the last: what the result calls edges.
std::vector<double> nominal_edges(const PairHistogramBins& bins) {
  const auto largest_before = [](double value) { return std::nextafter(value, 0.0); };
  std::vector<double> edges;
  const std::size_t wanted = bins.edges.empty() ? static_cast<std::size_t>(bins.bins) : bins.edges.size() - 1;
  for (std::size_t edge = 0; edge <= wanted; ++edge) {
    const auto index = static_cast<double>(edge);
    const double begin = bins.edges.empty() ? index * bins.bin_width : bins.edges[edge];
    // A bin is left out where it begins at the cutoff or farther, or where rounding leaves it no distance below that.
    const bool cut = bins.cutoff > 0 && (begin >= bins.cutoff ||
                                         (bins.edges.empty() && largest_before(bins.cutoff) / bins.bin_width < index));
    edges.push_back(cut ? bins.cutoff : begin);
    if (cut) break;
  }
  return edges;
}

template <class T>
double distance(const PairHistogramJob<T>& options, const T* a, const T* b, std::int64_t columns) {
  double separation[3] = {0, 0, 0};
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

/// The bin, `below` or `beyond`.
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
