#include "pair_histogram/problem.hpp"

#include "core/stop.hpp"

namespace gradus::pair_histogram_detail {

void Shape::take(const Bins& of_job) {
  bins = of_job.count();
  uniform = of_job.width() > 0;
  reach = of_job.reach();
  const std::span<const double> edges = of_job.edges();
  least_width = edges[1] - edges[0];
  for (std::size_t edge = 1; edge < edges.size(); ++edge)
    least_width = std::min(least_width, edges[edge] - edges[edge - 1]);
}

template <class T>
Shape Problem<T>::shape() const {
  Shape shape;
  shape.points = n();
  shape.others = cross ? others.rows() : 0;
  shape.dimensions = d();
  shape.take(bins);
  shape.element_bytes = static_cast<int>(sizeof(T));
  shape.cross = cross;
  shape.periodic = periodic;
  shape.triclinic = triclinic;
  shape.weighted = weighted();
  shape.sum_words = sums.words();
  const Brick brick = triclinic ? Brick(cell) : Brick();
  for (std::size_t dim = 0; dim < shape.extent.size(); ++dim)
    shape.extent[dim] = triclinic  ? brick.edge(static_cast<int>(dim))
                        : periodic ? box[dim]
                                   : highest[dim] - lowest[dim];
  return shape;
}

template struct Problem<float>;
template struct Problem<double>;

void Histogram::add(const Histogram& other, const std::stop_token& stop) {
  const auto slots = static_cast<std::int64_t>(counts.size());
  const std::int64_t stretch = core::chunk_length(slots, 1 + sum_words);
  for (std::int64_t first = 0; first < slots; first += stretch) {
    core::honour_stop(stop, while_adding_up);
    const std::int64_t end = std::min(first + stretch, slots);
    for (auto slot = static_cast<std::size_t>(first); slot < static_cast<std::size_t>(end); ++slot)
      counts[slot] += other.counts[slot];
    for (std::int64_t slot = first; sum_words > 0 && slot < end; ++slot)
      WeightSums::add_sum(sum(slot), other.sum(slot), sum_words);
  }
  rechecked += other.rechecked;
}

}  // namespace gradus::pair_histogram_detail
