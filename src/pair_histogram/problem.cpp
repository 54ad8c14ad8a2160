#include "pair_histogram/problem.hpp"

namespace gradus::pair_histogram_detail {

template <class T>
Shape Problem<T>::shape() const {
  Shape shape;
  shape.points = n();
  shape.others = cross ? others.rows() : 0;
  shape.dimensions = d();
  shape.bins = bins.count();
  shape.element_bytes = static_cast<int>(sizeof(T));
  shape.cross = cross;
  shape.uniform = bins.width() > 0;
  shape.periodic = periodic;
  shape.weighted = weighted();
  shape.sum_words = sums.words();
  shape.reach = bins.reach();
  const std::span<const double> edges = bins.edges();
  shape.least_width = edges[1] - edges[0];
  for (std::size_t edge = 1; edge < edges.size(); ++edge)
    shape.least_width = std::min(shape.least_width, edges[edge] - edges[edge - 1]);
  for (std::size_t dim = 0; dim < shape.extent.size(); ++dim)
    shape.extent[dim] = periodic ? box[dim] : highest[dim] - lowest[dim];
  return shape;
}

template struct Problem<float>;
template struct Problem<double>;

void Histogram::add(const Histogram& other) {
  for (std::size_t slot = 0; slot < counts.size(); ++slot) counts[slot] += other.counts[slot];
  for (std::size_t sum = 0; sum < weights.size(); sum += static_cast<std::size_t>(sum_words))
    WeightSums::add_sum(&weights[sum], &other.weights[sum], sum_words);
  rechecked += other.rechecked;
}

}  // namespace gradus::pair_histogram_detail
