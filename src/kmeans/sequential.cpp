// sequential: Lloyd's iteration as every textbook has it. One loop over the points; each looks at every centroid, takes
// the nearest, and adds itself to that cluster's sum.
//
// Work of an iteration: n k d subtractions, multiplications and additions; n d element reads from memory (the centroids
// stay in cache). One core, no vector instructions across points: the rung from which all speed-ups are counted.
// Limits: none. Source: S. Lloyd, "Least squares quantization in PCM", IEEE Trans. Inf. Theory 28 (1982).
#include "kmeans/textbook.hpp"
#include "kmeans/variants.hpp"

namespace gradus::kmeans_detail {

template <class T>
KMeansResult<T> sequential(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  const auto assign_and_sum = [](const Problem<T>& job, MatrixView<const T> centroids, std::int32_t* labels,
                                 FloatSums<T>& sums) {
    Outcome outcome{0, 0.0};
    const std::int64_t stretch = points_between_looks(job);
    for (std::int64_t first = 0; first < job.n() && !job.stop.stop_requested(); first += stretch)
      for (std::int64_t point = first; point < std::min(first + stretch, job.n()); ++point) {
        const Nearest<T> nearest = nearest_centroid(job.points.row(point), centroids);
        outcome.changed += labels[point] != nearest.cluster;
        outcome.inertia += job.weight(point) * static_cast<double>(nearest.distance);
        labels[point] = nearest.cluster;
        sums.add(point, nearest.cluster);
      }
    return outcome;
  };
  Execution one_thread = execution;
  one_thread.threads = 1;
  TextbookEngine engine(problem, assign_and_sum);
  return lloyd(problem, one_thread, engine, phases);
}

template KMeansResult<float> sequential(const Problem<float>&, const Execution&, std::vector<Phase>&);
template KMeansResult<double> sequential(const Problem<double>&, const Execution&, std::vector<Phase>&);

}  // namespace gradus::kmeans_detail
