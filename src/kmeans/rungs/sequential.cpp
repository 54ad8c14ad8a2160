// sequential: Lloyd's iteration as in every textbook. One loop visits the points. For each point it computes the
// distance to every centroid, picks the nearest, and adds the point to the sum of that cluster. Then every centroid
// moves to the mean of its cluster.
//
// Work per iteration: n k d subtractions, multiplications and additions, n (d + 2) additions, and k d divisions. Memory
// traffic: n d elements; the centroids stay in cache. The variant uses one core and no vector instructions across
// points. It is the baseline of all speed-ups.
// Limits: none.
// Source: S. Lloyd, "Least squares quantization in PCM", IEEE Trans. Inf. Theory 28 (1982).
#include "kmeans/lloyd/textbook.hpp"
#include "kmeans/problem.hpp"

namespace gradus::kmeans_detail {

namespace {

template <class T>
class Sequential {
 public:
  explicit Sequential(const Problem<T>& problem) : problem_(problem), sums_(problem) {}

  /// Assigns every point to its nearest centroid and adds it to the sum of its cluster.
  Outcome pass(MatrixView<const T> centroids, std::int32_t* labels) {
    const std::int64_t n = problem_.n();
    const std::int64_t d = problem_.d();
    Outcome outcome{0, 0.0};
    sums_.clear();
    const std::int64_t block = points_between_polls(problem_);
    for (std::int64_t first = 0; first < n && !problem_.stop.stop_requested(); first += block)
      for (std::int64_t point = first; point < std::min(first + block, n); ++point) {
        const T* const row = problem_.points.row(point);

        // Find the nearest centroid.
        std::int32_t nearest = 0;
        T least = std::numeric_limits<T>::infinity();
        for (std::int64_t cluster = 0; cluster < centroids.rows(); ++cluster) {
          const T* const centroid = centroids.row(cluster);
          T squared_distance = 0;
          for (std::int64_t dim = 0; dim < d; ++dim) {
            const T difference = row[dim] - centroid[dim];
            squared_distance += difference * difference;
          }
          if (squared_distance < least) {  // the lowest index wins a tie
            nearest = static_cast<std::int32_t>(cluster);
            least = squared_distance;
          }
        }

        // Add the point to its cluster, in double even if the data are floats.
        const double weight = problem_.weight(point);
        double* const sum = sums_.sums.data() + nearest * d;
        for (std::int64_t dim = 0; dim < d; ++dim) sum[dim] += weight * static_cast<double>(row[dim]);
        sums_.weights[nearest] += weight;
        ++sums_.counts[nearest];

        outcome.inertia += weight * static_cast<double>(least);
        outcome.changed += labels[point] != nearest;
        labels[point] = nearest;
      }
    return outcome;
  }

  /// Moves every centroid to the mean of its cluster. The driver handles empty clusters.
  void update(MatrixView<T> centroids) const {
    const std::int64_t d = problem_.d();
    for (std::int64_t cluster = 0; cluster < centroids.rows() && !problem_.stop.stop_requested(); ++cluster) {
      if (!(sums_.weight(cluster) > 0)) continue;
      T* const centroid = centroids.row(cluster);
      for (std::int64_t dim = 0; dim < d; ++dim)
        centroid[dim] = static_cast<T>(sums_.sums[cluster * d + dim] / sums_.weights[cluster]);
    }
  }

  const FloatSums<T>& sums() const { return sums_; }
  double finish(MatrixView<const T> centroids, std::int32_t* labels, bool /*labels_are_current*/) {
    return pass(centroids, labels).inertia;
  }
  static double rechecked() { return 0; }

 private:
  const Problem<T>& problem_;
  FloatSums<T> sums_;
};

}  // namespace

template <class T>
KMeansResult<T> sequential(const Problem<T>& problem, const Execution& execution, std::vector<Phase>& phases) {
  Execution one_thread = execution;
  one_thread.threads = 1;
  Sequential<T> engine(problem);
  return lloyd(problem, one_thread, engine, phases);
}

extern constinit const Variant sequential_rung{
    .name = "sequential",
    .summary = "the textbook's loop on one core",
    .change = "the first rung, and the baseline of all speed-ups",
    .contract = textbook,
    .backend = core::Backend::sequential,
    .memory = one_float_sum,
    .run = {sequential<float>, sequential<double>},
};

}  // namespace gradus::kmeans_detail
